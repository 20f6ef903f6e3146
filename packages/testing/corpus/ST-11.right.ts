/** A cache that is taken for synced too early shows no root, a second one is made, and one of the two goes with all it owns. scylladb/scylla-operator#2492 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Informer, Owner, Reconciler, Store } from "setpoint"
import { App, changesOf, createApp, kind, layerWithCache, removedOf } from "./kit.ts"

const Root = kind("Root")
const Data = kind("Data")

/** The same early cache: a name that follows from the App, so that there is no second root. */
const withCache = layerWithCache(Root, (roots) =>
  Reconciler.make(App, {
    sources: [changesOf(roots, "a")],
    reconcile: Effect.fnUntraced(function*({ name }) {
      const { spec } = yield* Store.get(App, { name })
      const others = Informer.list(roots).filter(({ metadata }) => metadata.name !== name)
      for (const { metadata } of others) yield* Store.deleteUnconditionally(Root, metadata)
      const { object } = yield* Store.ensure(Root, { name }, () => ({ metadata: {}, spec }))
      const data = yield* Owner.setController({ metadata: { name }, spec }, object)
      yield* Store.ensure(Data, { name }, () => data)
    })
  }))

export const options: Sim.Options<App> = {
  controllers: withCache,
  workload: Sim.script([createApp(1)]),
  matches: (_, world) => world.list(Data).length === 1,
  never: { "a root was deleted with all it owns": (_, change) => removedOf(Root, change) !== undefined }
}
