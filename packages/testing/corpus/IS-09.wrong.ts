/** What must be cleaned up is made before the finalizer that cleans it up is stored. outscale/cluster-api-provider-outscale#917 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Resource, Store } from "setpoint"
import { App, createApp, found, kind, layerOf } from "./kit.ts"

const Network = kind("Network")
const finalizers = ["example.dev/network"]

const withFinalizers = (app: App, finalizers: ReadonlyArray<string>) =>
  Store.update(App, { ...app, metadata: { ...app.metadata, finalizers } })

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const network = yield* found(Store.get(Network, { name }))
    if (Resource.isMarkedForDeletion(app)) {
      if (network !== undefined) yield* Store.delete(Network, network)
      return void (yield* withFinalizers(app, []))
    }
    if (network === undefined) {
      yield* Store.create(Network, { metadata: { name }, spec: app.spec })
      yield* Effect.sleep("30 seconds") // until it is up
    }
    yield* withFinalizers(app, finalizers)
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1), Sim.remove(App, { name: "a" })]),
  atRest: { "no network without its App": (world) => world.list(Network).length === world.list(App).length }
}
