/** A rendered list has no fixed order, so that each pass writes another permutation. operator-lifecycle-manager PR#1816 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { Predicate, Reconciler, Store } from "setpoint"
import { App, createApp, layerOf } from "./kit.ts"

const hosts = ["a", "b", "c", "d", "e", "f", "g", "h"]

const apps = Reconciler.make(App, {
  predicate: Predicate.revisionChanged,
  reconcile: Effect.fnUntraced(function*(request) {
    const app = yield* Store.get(App, request)
    const phase = (yield* Random.shuffle(hosts)).join()
    yield* Store.updateStatus(App, app, { phase })
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1)]),
  matches: (app) => app.status !== undefined
}
