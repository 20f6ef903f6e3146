/** "Ready" while the set below still works on the size before. VictoriaMetrics/operator#1970 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Condition, Controller, Kind, Owner, Reconciler, Store } from "setpoint"
import { kind } from "./kit.ts"

const Pods = kind("Pods")
const App = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "App",
  spec: Schema.Struct({ size: Schema.Int }),
  status: Schema.Struct({ observedGeneration: Schema.Int, conditions: Condition.List })
})
type App = Kind.Resource<typeof App>

const apps = Reconciler.make(App, {
  owns: [Pods],
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const owned = yield* Owner.setController({ metadata: { name }, spec: app.spec }, app)
    const { object: pods } = yield* Store.ensure(Pods, { name }, () => owned)
    const isReady = pods.status?.phase === "Ready" && pods.status.observedGeneration === pods.metadata.generation
    const condition = isReady ? Condition.ready({ reason: "Up" }) : Condition.notReady({ reason: "Waits" })
    const conditions = Condition.set(app.status?.conditions ?? [], condition)
    yield* Store.updateStatus(App, app, { observedGeneration: app.metadata.generation ?? 0, conditions })
  })
})

/** The set's own controller, elsewhere: its status says which generation it is about. */
const sets = Reconciler.make(Pods, {
  reconcile: Effect.fnUntraced(function*(request) {
    const pods = yield* Store.get(Pods, request)
    const observedGeneration = pods.metadata.generation ?? 0
    if (pods.status?.observedGeneration === observedGeneration) return
    yield* Store.updateStatus(Pods, pods, { phase: "Ready", observedGeneration })
  })
})

/** As many pods run as the set had when it was last worked on. */
const runs = ({ metadata, spec }: App, world: Sim.World): boolean => {
  const pods = world.get(Pods, metadata.name)
  return pods?.spec.size === spec.size && pods.status?.observedGeneration === pods.metadata.generation
}

export const options: Sim.Options<App> = {
  controllers: Layer.mergeAll(Controller.layerFor(apps), Controller.layerFor(sets)).pipe(
    Layer.provide(Controller.layer())
  ),
  workload: Sim.script([
    Sim.create(App, { metadata: { name: "a" }, spec: { size: 1 } }),
    Sim.edit(App, { name: "a" }, () => ({ spec: { size: 2 } }))
  ]),
  matches: runs
}
