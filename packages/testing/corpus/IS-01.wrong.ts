/** A resize deletes the set and makes it anew at the new size; the claim below must grow with it. rabbitmq/cluster-operator#782 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, found, kind, layerOf, resizeApp } from "./kit.ts"

const Set = kind("Set")
const Claim = kind("Claim")

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const { spec } = yield* Store.get(App, { name })
    const claim = (yield* found(Store.get(Claim, { name }))) ??
      (yield* Store.create(Claim, { metadata: { name }, spec }))
    let set = yield* found(Store.get(Set, { name }))
    if (set !== undefined && set.spec.size < spec.size) {
      yield* Store.delete(Set, set)
      yield* Store.update(Claim, { ...claim, spec })
      set = undefined
    }
    if (set === undefined) yield* Store.create(Set, { metadata: { name }, spec })
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1), resizeApp(2)]),
  matches: ({ metadata, spec }, world) =>
    world.get(Set, metadata.name)?.spec.size === spec.size && world.get(Claim, metadata.name)?.spec.size === spec.size
}
