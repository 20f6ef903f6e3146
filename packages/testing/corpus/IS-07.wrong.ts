/** A keystore is made empty and filled later, by a step that is skipped once it exists. cass-operator K8SSAND-1023 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, found, kind, layerOf } from "./kit.ts"

const Keystore = kind("Keystore")

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const { spec } = yield* Store.get(App, { name })
    const keystore = yield* found(Store.get(Keystore, { name }))
    if (keystore !== undefined) return
    const empty = yield* Store.create(Keystore, { metadata: { name }, spec: { size: 0 } })
    yield* Store.update(Keystore, { ...empty, spec })
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1)]),
  matches: ({ metadata, spec }, world) => world.get(Keystore, metadata.name)?.spec.size === spec.size
}
