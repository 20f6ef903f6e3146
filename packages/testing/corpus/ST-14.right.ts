/** What was written is remembered until a cache shows it; somebody deletes it first, and it is remembered for ever. kubernetes/kubernetes#140063 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Owner, Reconciler, Store } from "setpoint"
import { App, createApp, found, kind, layerOf } from "./kit.ts"

const Pod = kind("Pod")

/** The engine remembers what a key wrote, and no longer than its caches need to show it (E10). */
const apps = Reconciler.make(App, {
  owns: [Pod],
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    if ((yield* found(Store.get(Pod, { name }))) !== undefined) return
    yield* Store.create(Pod, yield* Owner.setController({ metadata: { name }, spec: app.spec }, app))
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([
    createApp(1),
    Sim.soon(Sim.act("delete Pod", Store.deleteUnconditionally(Pod, { name: "a" })), "1 second")
  ]),
  matches: ({ metadata }, world) => world.get(Pod, metadata.name) !== undefined
}
