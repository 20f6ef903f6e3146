/** Every pass begins with a write that the store always rejects, so that nothing behind it ever runs. OT-CONTAINER-KIT/redis-operator#757 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, found, kind, layerOf } from "./kit.ts"

const Pod = kind("Pod")
const immutable = { merge: { metadata: { labels: { "not a label!": "x" } } } }

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    yield* Store.patch(App, app, immutable)
    if ((yield* found(Store.get(Pod, { name }))) === undefined) {
      yield* Store.create(Pod, { metadata: { name }, spec: app.spec })
    }
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1)]),
  matches: ({ metadata }, world) => world.get(Pod, metadata.name) !== undefined
}
