/** A connection is kept by the cluster's name, and used for another cluster that registers under it. karmada-io/karmada PR#7152 */
import { Sim } from "@setpoint/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Reconciler, Store } from "setpoint"
import { App, Cloud, createApp, fakeCloud, found, layerOf, removeApp } from "./kit.ts"

const cloud = fakeCloud()

class Connections extends Context.Service<Connections, Map<string, string>>()("corpus/Connections") {
  static readonly layer = Layer.sync(Connections, () => new Map())
}

/** An App is a cluster here, its size an endpoint. What is kept belongs to one life of the name. */
const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const connections = yield* Connections
    const app = yield* found(Store.get(App, { name }))
    if (app === undefined) return
    const { uid } = app.metadata
    const outside = yield* Cloud
    const endpoint = connections.get(uid) ?? `endpoint ${app.spec.size}`
    connections.set(uid, endpoint)
    if ((yield* outside.find(endpoint)) === undefined) yield* outside.make(endpoint)
  })
})

export const options: Sim.Options<App, Cloud> = {
  controllers: layerOf(apps).pipe(Layer.provide(Connections.layer)),
  workload: Sim.script([createApp(1), removeApp, createApp(2)]),
  external: [cloud],
  matches: ({ spec }, world) => world.external(cloud).things.some(({ tag }) => tag === `endpoint ${spec.size}`)
}
