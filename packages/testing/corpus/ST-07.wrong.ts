/** A budget is made anew whenever its limit differs from that of the spec, also from that of an old one. casskop#321 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, found, kind, layerOf, removedOf, resizeApp } from "./kit.ts"

/** Cannot be edited: another limit is another budget. */
const Budget = kind("Budget")

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const { spec } = yield* Store.get(App, { name })
    const budget = yield* found(Store.latest(Budget, { name }))
    if (budget?.spec.size === spec.size) return
    if (budget !== undefined) yield* Store.delete(Budget, budget)
    yield* Store.create(Budget, { metadata: { name }, spec })
  })
})

export const guarded: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1), resizeApp(2)]),
  matches: ({ metadata, spec }, world) => world.get(Budget, metadata.name)?.spec.size === spec.size,
  never: {
    "a budget of the wanted limit was deleted": (world, change) =>
      world.list(App).some(({ spec }) => spec.size === removedOf(Budget, change)?.spec.size)
  }
}

export const options: Sim.Options<App> = { ...guarded, faults: [...Sim.defaultFaults, "old"] }
