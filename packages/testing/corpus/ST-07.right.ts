/** A budget is made anew whenever its limit differs from that of the spec, also from that of an old one. casskop#321 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Kind, Reconciler, Store } from "setpoint"
import { App, createApp, found, layerOf, removedOf, resizeApp } from "./kit.ts"

/** Cannot be edited: another limit is another budget. It knows for which spec it was made: an older one changes nothing. */
const Budget = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Budget",
  spec: Schema.Struct({ size: Schema.Int, generation: Schema.Int })
})

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const { metadata: { generation = 0 }, spec: { size } } = yield* Store.get(App, { name })
    const budget = yield* found(Store.latest(Budget, { name }))
    if (budget !== undefined && (budget.spec.size === size || budget.spec.generation > generation)) return
    if (budget !== undefined) yield* Store.delete(Budget, budget)
    yield* Store.create(Budget, { metadata: { name }, spec: { size, generation } })
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1), resizeApp(2)]),
  faults: [...Sim.defaultFaults, "old"],
  matches: ({ metadata, spec }, world) => world.get(Budget, metadata.name)?.spec.size === spec.size,
  never: {
    "a budget of the wanted limit was deleted": (world, change) =>
      world.list(App).some(({ spec }) => spec.size === removedOf(Budget, change)?.spec.size)
  }
}
