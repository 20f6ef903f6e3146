/** More pods than wanted are made, since the cache lags, and any of them trimmed: one with state, too. ray-project/kuberay#715 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { Informer, Reconciler, type Resource, Store } from "setpoint"
import { App, changesOf, createApp, kind, layerOf, layerWithCache, removedOf, resizeApp } from "./kit.ts"

const Pod = kind("Pod")

/** Puts work on each pod, as soon as it is there. */
const scheduler = Sim.actor(
  "sched",
  Pod,
  (pod, { type }) => type === "created" ? Store.updateStatus(Pod, pod, { phase: "busy" }) : Effect.void
)

const reconcile = <R>(list: Effect.Effect<ReadonlyArray<Resource.Any>, unknown, R>) =>
  Effect.fnUntraced(function*({ name }: { readonly name: string }) {
    const { spec } = yield* Store.get(App, { name })
    const pods = yield* list
    for (let index = pods.length; index < spec.size; index++) {
      yield* Store.create(Pod, { metadata: { generateName: `${name}-` }, spec: { size: 1 } })
    }
    const shuffled = yield* Random.shuffle(pods)
    for (const { metadata } of shuffled.slice(spec.size)) yield* Store.deleteUnconditionally(Pod, metadata)
  })

const withCache = layerWithCache(
  Pod,
  (pods) =>
    Reconciler.make(App, {
      sources: [changesOf(pods, "a")],
      reconcile: reconcile(Effect.sync(() => Informer.list(pods)))
    })
)

export const options: Sim.Options<App> = {
  controllers: withCache,
  actors: [scheduler],
  workload: Sim.script([createApp(1), resizeApp(2), Sim.soon(resizeApp(3))]),
  matches: ({ spec }, world) => world.list(Pod).length === spec.size,
  never: { "a busy pod was deleted": (_, change) => removedOf(Pod, change)?.status?.phase === "busy" }
}

/** Read through Store, the list has seen what this key wrote (E10). */
const throughStore = Reconciler.make(App, {
  watches: [Reconciler.watch(Pod, () => [{ name: "a" }])],
  reconcile: reconcile(Effect.map(Store.list(Pod), ({ items }) => items))
})

export const guarded: Sim.Options<App> = { ...options, controllers: layerOf(throughStore) }
