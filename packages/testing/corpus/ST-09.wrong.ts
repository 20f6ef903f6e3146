/** Missing machines are counted in a cache that has not seen the last ones made. k0sproject/k0smotron#1534 */
import { Sim } from "@setpoint/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Informer, Reconciler, Store } from "setpoint"
import { App, createApp, kind, layerOf, resizeApp } from "./kit.ts"

const Machine = kind("Machine")

class Machines extends Context.Service<Machines, Informer.Informer>()("corpus/Machines") {
  static readonly layer = Layer.effect(
    Machines,
    Effect.flatMap(Store.Store, ({ driver }) => Informer.make(driver, Machine.address))
  )
}

/** A cache of its own: the engine does not know what it lacks (E10), as it would of Store.list. */
const apps = Reconciler.make(App, {
  watches: [Reconciler.watch(Machine, () => [{ name: "a" }])],
  reconcile: Effect.fnUntraced(function*({ name }) {
    const machines = yield* Machines
    const { spec } = yield* Store.get(App, { name })
    for (let index = Informer.list(machines).length; index < spec.size; index++) {
      yield* Store.create(Machine, { metadata: { generateName: `${name}-` }, spec: { size: 1 } })
    }
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps).pipe(Layer.provide(Machines.layer)),
  workload: Sim.script([createApp(1), resizeApp(2)]),
  matches: ({ spec }, world) => world.list(Machine).length === spec.size,
  never: { "more machines than wanted": (world) => world.list(Machine).length > 2 }
}
