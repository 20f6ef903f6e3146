/** Missing machines are counted in a cache that has not seen the last ones made. k0sproject/k0smotron#1534 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Informer, Reconciler, Store } from "setpoint"
import { App, createApp, kind, layerOf, layerWithCache, resizeApp } from "./kit.ts"

const Machine = kind("Machine")

const reconcile = <R>(count: Effect.Effect<number, unknown, R>) =>
  Effect.fnUntraced(function*({ name }: { readonly name: string }) {
    const { spec } = yield* Store.get(App, { name })
    for (let index = yield* count; index < spec.size; index++) {
      yield* Store.create(Machine, { metadata: { generateName: `${name}-` }, spec: { size: 1 } })
    }
  })

const withCache = layerWithCache(
  Machine,
  (machines) => Reconciler.make(App, { reconcile: reconcile(Effect.sync(() => Informer.list(machines).length)) })
)

export const options: Sim.Options<App> = {
  controllers: withCache,
  workload: Sim.script([createApp(1), Sim.soon(resizeApp(2))]),
  matches: ({ spec }, world) => world.list(Machine).length === spec.size,
  never: { "more machines than wanted": (world) => world.list(Machine).length > 2 }
}

/** Read through Store, the list has seen what this key wrote (E10). */
const throughStore = Reconciler.make(App, {
  watches: [Reconciler.watch(Machine, () => [{ name: "a" }])],
  reconcile: reconcile(Effect.map(Store.list(Machine), ({ items }) => items.length))
})

export const guarded: Sim.Options<App> = { ...options, controllers: layerOf(throughStore) }
