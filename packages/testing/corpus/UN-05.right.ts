/** A child that somebody deletes is not made again: its kind is not watched. elastic/cloud-on-k8s#545 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Owner, Reconciler, Store } from "setpoint"
import { App, createApp, kind, layerOf } from "./kit.ts"

const Pod = kind("Pod")

const apps = Reconciler.make(App, {
  owns: [Pod],
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const owned = yield* Owner.setController({ metadata: { name }, spec: app.spec }, app)
    yield* Store.ensure(Pod, { name }, () => owned)
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1)]),
  faults: [...Sim.defaultFaults, "delete"],
  matches: ({ metadata }, world) => world.get(Pod, metadata.name) !== undefined
}
