/** A set that may only grow is made anew whenever its size differs, also from an old spec. rabbitmq/cluster-operator#653 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, found, kind, layerOf, resizeApp } from "./kit.ts"

const Set = kind("Set")

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const { spec } = yield* Store.get(App, { name })
    const set = yield* found(Store.latest(Set, { name }))
    if (set === undefined) return void (yield* Store.create(Set, { metadata: { name }, spec }))
    if (set.spec.size === spec.size) return
    yield* Store.delete(Set, set)
    yield* Store.create(Set, { metadata: { name }, spec })
  })
})

export const guarded: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1), resizeApp(2)]),
  matches: ({ metadata, spec }, world) => world.get(Set, metadata.name)?.spec.size === spec.size,
  never: {
    "a set of the wanted size was deleted": (world, { object, type }) => {
      const set = type === "removed" && object.kind === "Set" ? Set.decode(object) : undefined
      return set?._tag === "Success" && world.list(App).some(({ spec }) => spec.size === set.success.spec.size)
    }
  }
}

export const options: Sim.Options<App> = { ...guarded, faults: [...Sim.defaultFaults, "old"] }
