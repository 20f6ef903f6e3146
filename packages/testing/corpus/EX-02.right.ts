/** A create outside times out but happened, and the retry makes another. kubernetes-sigs/vsphere-csi-driver#2507 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, Cloud, createApp, fakeCloud, layerOf } from "./kit.ts"

const cloud = fakeCloud()

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const outside = yield* Cloud
    const { uid } = app.metadata
    if (app.status !== undefined) return
    const id = (yield* outside.find(uid)) ?? (yield* outside.make(uid))
    yield* Store.updateStatus(App, app, { phase: id })
  })
})

export const options: Sim.Options<App, Cloud> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1)]),
  external: [cloud],
  matches: (app) => app.status !== undefined,
  atRest: { "one volume an App": (world) => world.external(cloud).things.length <= world.list(App).length }
}
