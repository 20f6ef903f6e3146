/** A start is noted before it is made; who finds the note only waits. cass-operator K8SSAND-1362 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Outcome, Reconciler, Store } from "setpoint"
import { App, Cloud, createApp, fakeCloud, layerOf } from "./kit.ts"

const cloud = fakeCloud()

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const machines = yield* Cloud
    const isUp = (yield* machines.find(name)) !== undefined
    if (isUp && app.status?.phase === "Running") return
    if (isUp) return void (yield* Store.updateStatus(App, app, { phase: "Running" }))
    if (app.status?.phase !== "Starting") {
      yield* Store.updateStatus(App, app, { phase: "Starting" })
      yield* machines.make(name)
    }
    return Outcome.requeueAfter("5 seconds")
  })
})

export const options: Sim.Options<App, Cloud> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1)]),
  external: [cloud],
  matches: (app) => app.status?.phase === "Running"
}
