/** "The last in the list is the newest": a cache has no order of age. instaclustr/cassandra-operator#400 */
import { Sim } from "@setpoint/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Informer, Reconciler, Store } from "setpoint"
import { App, createApp, found, kind, layerOf, resizeApp } from "./kit.ts"

const Version = kind("Version")

class Versions extends Context.Service<Versions, Informer.Informer>()("corpus/Versions") {
  static readonly layer = Layer.effect(
    Versions,
    Effect.flatMap(Store.Store, ({ driver }) => Informer.make(driver, Version.address))
  )
}

/** The name of a version follows from what is in it, as a hash would; its size says in which order they came. */
const nameOf = (size: number) => `v-${(size * 7) % 10}`

const apps = Reconciler.make(App, {
  watches: [Reconciler.watch(Version, () => [{ name: "a" }])],
  reconcile: Effect.fnUntraced(function*({ name }) {
    const versions = yield* Versions
    const { metadata, spec } = yield* Store.get(App, { name })
    const wanted = { name: nameOf(spec.size) }
    const order = metadata.generation ?? 0
    const version = yield* found(Store.latest(Version, wanted))
    if (version === undefined) yield* Store.create(Version, { metadata: wanted, spec: { size: order } })
    for (const old of Informer.list(versions).slice(0, -2)) {
      yield* Store.deleteUnconditionally(Version, { name: old.metadata.name })
    }
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps).pipe(Layer.provide(Versions.layer)),
  workload: Sim.script([createApp(1), resizeApp(2), resizeApp(3), resizeApp(4)]),
  matches: ({ spec }, world) => world.get(Version, nameOf(spec.size)) !== undefined,
  never: {
    "the version in use is deleted": (world, { object, type }) =>
      type === "removed" && object.kind === "Version" &&
      world.list(App).some(({ spec }) => object.metadata.name === nameOf(spec.size))
  }
}
