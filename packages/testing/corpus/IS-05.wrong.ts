/** A config is written first, and the restart that it needs is read off the difference that is then gone. konpyutaika/nifikop#49 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, found, kind, layerOf, resizeApp } from "./kit.ts"

const Config = kind("Config")
const Pod = kind("Pod")

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const { spec } = yield* Store.get(App, { name })
    const config = yield* found(Store.get(Config, { name }))
    const pod = yield* found(Store.get(Pod, { name }))
    if (config === undefined) yield* Store.create(Config, { metadata: { name }, spec })
    else if (config.spec.size !== spec.size) yield* Store.update(Config, { ...config, spec })
    if (pod === undefined) return void (yield* Store.create(Pod, { metadata: { name }, spec }))
    const isOutOfSync = config !== undefined && config.spec.size !== spec.size
    if (isOutOfSync) yield* Store.update(Pod, { ...pod, spec })
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1), resizeApp(2)]),
  matches: ({ metadata, spec }, world) => world.get(Pod, metadata.name)?.spec.size === spec.size
}
