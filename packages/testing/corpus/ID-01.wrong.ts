/** A table in memory, keyed by name, keeps what is true of the object that had the name before. zalando/postgres-operator PR#3019 */
import { Sim } from "@setpoint/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Owner, Reconciler, Store } from "setpoint"
import { App, createApp, kind, layerOf, removeApp } from "./kit.ts"

const Pod = kind("Pod")

class Made extends Context.Service<Made, Set<string>>()("corpus/Made") {
  static readonly layer = Layer.sync(Made, () => new Set())
}

const apps = Reconciler.make(App, {
  owns: [Pod],
  reconcile: Effect.fnUntraced(function*({ name }) {
    const made = yield* Made
    const app = yield* Store.get(App, { name })
    if (made.has(name)) return
    const owned = yield* Owner.setController({ metadata: { name }, spec: app.spec }, app)
    yield* Store.ensure(Pod, { name }, () => owned)
    made.add(name)
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps).pipe(Layer.provide(Made.layer)),
  workload: Sim.script([createApp(1), removeApp, createApp(2)]),
  matches: ({ metadata, spec }, world) => world.get(Pod, metadata.name)?.spec.size === spec.size
}
