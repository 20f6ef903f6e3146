/** A pass that fails moves the generation mark, and leaves Ready as the old spec had it. knative/pkg PR#1284 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { Condition, Kind, Reconciler, Store } from "setpoint"
import { kind, layerOf } from "./kit.ts"

const Pod = kind("Pod")
const App = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "App",
  spec: Schema.Struct({ size: Schema.Int }),
  status: Schema.Struct({ observedGeneration: Schema.Int, conditions: Condition.List })
})
type App = Kind.Resource<typeof App>

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const observedGeneration = app.metadata.generation ?? 0
    const exit = yield* Effect.exit(Store.ensure(Pod, { name }, () => ({ metadata: { name }, spec: app.spec })))
    const before = app.status?.conditions ?? []
    const condition = Condition.ready({ reason: "Made" })
    const conditions = Exit.isFailure(exit) ? before : Condition.set(before, condition)
    yield* Store.updateStatus(App, app, { observedGeneration, conditions })
    yield* exit
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([
    Sim.create(App, { metadata: { name: "a" }, spec: { size: 1 } }),
    Sim.edit(App, { name: "a" }, () => ({ spec: { size: 2 } }))
  ]),
  matches: ({ metadata, spec }, world) => world.get(Pod, metadata.name)?.spec.size === spec.size
}
