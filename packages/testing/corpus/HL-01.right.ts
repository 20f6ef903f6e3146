/** A status with the time of day: each write is an event, each event a pass. strimzi/strimzi-kafka-operator#13079 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Predicate, Reconciler, Store } from "setpoint"
import { App, createApp, layerOf } from "./kit.ts"

const apps = Reconciler.make(App, {
  predicate: Predicate.revisionChanged, // the default would hide the loop: status writes do not wake their own writer (E7)
  reconcile: Effect.fnUntraced(function*(request) {
    const app = yield* Store.get(App, request)
    const phase = "seen"
    yield* Store.updateStatus(App, app, { phase })
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1)]),
  matches: (app) => app.status !== undefined
}
