/** Missing machines are counted in a cache that has not seen the last ones made. k0sproject/k0smotron#1534 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, found, kind, layerOf, resizeApp } from "./kit.ts"

const Machine = kind("Machine")

/** Read through Store, the list has seen what this key wrote (E10); names that follow from the App close the rest. */
const apps = Reconciler.make(App, {
  watches: [Reconciler.watch(Machine, () => [{ name: "a" }])],
  reconcile: Effect.fnUntraced(function*({ name }) {
    const { spec } = yield* Store.get(App, { name })
    for (let index = 0; index < spec.size; index++) {
      const key = { name: `${name}-${index}` }
      const machine = yield* found(Store.get(Machine, key))
      if (machine === undefined) yield* Store.create(Machine, { metadata: key, spec: { size: 1 } })
    }
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1), Sim.soon(resizeApp(2))]),
  matches: ({ spec }, world) => world.list(Machine).length === spec.size,
  never: { "more machines than wanted": (world) => world.list(Machine).length > 2 }
}
