/** A cache that is taken for synced too early shows no root, a second one is made, and one of the two goes with all it owns. scylladb/scylla-operator#2492 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Informer, Owner, Reconciler, type Resource, Store } from "setpoint"
import { App, changesOf, createApp, kind, layerOf, layerWithCache, removedOf } from "./kit.ts"

const Root = kind("Root")
const Data = kind("Data")

const reconcile = <R>(list: Effect.Effect<ReadonlyArray<Resource.Any>, unknown, R>) =>
  Effect.fnUntraced(function*({ name }: { readonly name: string }) {
    const { spec } = yield* Store.get(App, { name })
    const [first, ...others] = yield* list
    for (const { metadata } of others) yield* Store.deleteUnconditionally(Root, metadata)
    const root = first ?? (yield* Store.create(Root, { metadata: { generateName: `${name}-` }, spec }))
    const data = yield* Owner.setController({ metadata: { name: root.metadata.name }, spec }, root)
    yield* Store.ensure(Data, { name: root.metadata.name }, () => data)
  })

const withCache = layerWithCache(Root, (roots) =>
  Reconciler.make(App, {
    sources: [changesOf(roots, "a")],
    reconcile: reconcile(Effect.sync(() => Informer.list(roots)))
  }))

export const options: Sim.Options<App> = {
  controllers: withCache,
  workload: Sim.script([createApp(1)]),
  matches: (_, world) => world.list(Data).length === 1,
  never: { "a root was deleted with all it owns": (_, change) => removedOf(Root, change) !== undefined }
}

/** No pass before what it watches is synced (E4), and what it wrote is seen (E10). */
const throughStore = Reconciler.make(App, {
  watches: [Reconciler.watch(Root, () => [{ name: "a" }])],
  reconcile: reconcile(Effect.map(Store.list(Root), ({ items }) => items))
})

export const guarded: Sim.Options<App> = { ...options, controllers: layerOf(throughStore) }
