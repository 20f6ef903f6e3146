/** Spec and status are written one after the other with the version of the first read. volcano-sh/volcano#5683 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, layerOf } from "./kit.ts"

const defaulted = 3

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const read = yield* Store.get(App, { name })
    const app = read.spec.size === 0 ? yield* Store.update(App, { ...read, spec: { size: defaulted } }) : read
    yield* Store.updateStatus(App, app, { phase: "Defaulted" })
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(0)]),
  matches: (app) => app.status?.phase === "Defaulted"
}
