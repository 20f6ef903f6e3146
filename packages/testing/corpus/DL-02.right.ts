/** "Not found" from a delete outside is taken for a failure, and the finalizer stays. kubernetes-sigs/cluster-api-provider-gcp#1647 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Resource, Store } from "setpoint"
import { App, Cloud, createApp, fakeCloud, layerOf, removeApp } from "./kit.ts"

const cloud = fakeCloud()
const finalizers = ["example.dev/cloud"]

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const outside = yield* Cloud
    const { uid } = app.metadata
    if (!Resource.isMarkedForDeletion(app)) {
      if ((yield* outside.find(uid)) === undefined) yield* outside.make(uid)
      return
    }
    yield* outside.drop(uid).pipe(
      Effect.catchIf((error) => error.why === "not found", () => Effect.void)
    )
    yield* Store.update(App, { ...app, metadata: { ...app.metadata, finalizers: [] } })
  })
})

export const options: Sim.Options<App, Cloud> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1, finalizers), removeApp]),
  external: [cloud],
  atRest: { "nothing is left outside": (world) => world.external(cloud).things.length <= world.list(App).length }
}
