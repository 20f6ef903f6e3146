/** A bad spec makes a child unready; the corrected one waits until it is ready. OT-CONTAINER-KIT/redis-operator#480 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Outcome, Reconciler, Store } from "setpoint"
import { App, createApp, found, kind, layerOf, resizeApp } from "./kit.ts"

const Pod = kind("Pod")
const bad = 13

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const { spec } = yield* Store.get(App, { name })
    const pod = yield* found(Store.get(Pod, { name }))
    if (pod === undefined) return void (yield* Store.create(Pod, { metadata: { name }, spec }))
    const isReady = pod.spec.size !== bad
    if (!isReady) return Outcome.requeueAfter("30 seconds")
    yield* Store.update(Pod, { ...pod, spec })
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1), resizeApp(bad), resizeApp(2)]),
  matches: ({ metadata, spec }, world) => world.get(Pod, metadata.name)?.spec.size === spec.size
}
