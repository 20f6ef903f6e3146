/** Finalizing needs a sibling that was deleted first. cloudfoundry/korifi#2591 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Resource, Store } from "setpoint"
import { App, createApp, found, kind, layerOf, removeApp } from "./kit.ts"

const Config = kind("Config")
const finalizers = ["example.dev/config"]
const config = { name: "config" }

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    if (!Resource.isMarkedForDeletion(app)) return
    yield* found(Store.latest(Config, config))
    yield* Store.update(App, { ...app, metadata: { ...app.metadata, finalizers: [] } })
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([
    Sim.act("create Config", Store.create(Config, { metadata: config, spec: { size: 1 } })),
    createApp(1, finalizers),
    Sim.act("delete Config", Store.deleteUnconditionally(Config, config)),
    removeApp
  ])
}
