/** An owner that the cache does not have is taken for deleted, and what it owned is deleted by name. elastic/cloud-on-k8s#5249 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Resource, Store } from "setpoint"
import { App, createApp, found, kind, layerOf, removeApp, removedOf } from "./kit.ts"

/** Belongs to the App of its name, without a reference: users copy it. */
const Secret = kind("Secret")

const apps = Reconciler.make(App, {
  watches: [Reconciler.watch(Secret, (secret) => [Resource.key(secret)])],
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* found(Store.get(App, { name }))
    const secret = yield* found(Store.get(Secret, { name }))
    if (app === undefined) yield* found(Store.deleteUnconditionally(Secret, { name }))
    else if (secret === undefined) yield* Store.create(Secret, { metadata: { name }, spec: app.spec })
  })
})

export const guarded: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1), removeApp, createApp(2)]),
  matches: ({ metadata }, world) => world.get(Secret, metadata.name) !== undefined,
  atRest: { "no secret without its App": (world) => world.list(Secret).length <= world.list(App).length },
  never: {
    "the secret of a live App was deleted": (world, change) =>
      world.list(App).some(({ spec }) => spec.size === removedOf(Secret, change)?.spec.size)
  }
}

export const options: Sim.Options<App> = { ...guarded, faults: [...Sim.defaultFaults, "old"] }
