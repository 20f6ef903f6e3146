/** "Pending" is stored before something is made outside, and whoever finds it refuses to go on. crossplane/crossplane#3037 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, Cloud, createApp, fakeCloud, layerOf } from "./kit.ts"

const cloud = fakeCloud()

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const outside = yield* Cloud
    if (app.status?.phase === "Made") return
    if (app.status?.phase === "Pending") return yield* Effect.fail("made or not? a person must look")
    const pending = yield* Store.updateStatus(App, app, { phase: "Pending" })
    yield* outside.make(app.metadata.uid)
    yield* Store.updateStatus(App, pending, { phase: "Made" })
  })
})

export const options: Sim.Options<App, Cloud> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1)]),
  external: [cloud],
  matches: (app) => app.status?.phase === "Made"
}
