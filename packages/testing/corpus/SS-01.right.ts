/** observedGeneration is stored only when the state's word changes. k8ssandra/cass-operator#657 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, layerOf, resizeApp } from "./kit.ts"

const observed = ({ metadata }: App) => metadata.generation ?? 0

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    yield* Store.updateStatus(App, app, { phase: "Ready", observedGeneration: observed(app) })
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1), resizeApp(2)]),
  matches: (app) => app.status?.phase === "Ready"
}
