/** More pods than wanted are made, since the cache lags, and any of them trimmed: one with state, too. ray-project/kuberay#715 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Informer, Reconciler, Store } from "setpoint"
import { App, changesOf, createApp, kind, layerWithCache, removedOf, resizeApp } from "./kit.ts"

const Pod = kind("Pod")

/** Puts work on each pod, as soon as it is there. */
const scheduler = Sim.actor(
  "sched",
  Pod,
  (pod, { type }) => type === "created" ? Store.updateStatus(Pod, pod, { phase: "busy" }) : Effect.void
)

/** The same lagging cache: names that follow from the App make none twice, and the last one goes first. */
const withCache = layerWithCache(Pod, (pods) =>
  Reconciler.make(App, {
    sources: [changesOf(pods, "a")],
    reconcile: Effect.fnUntraced(function*({ name }) {
      const { spec } = yield* Store.get(App, { name })
      const names = Array.from({ length: spec.size }, (_, index) => `${name}-${index}`)
      for (const name of names) yield* Store.ensure(Pod, { name }, () => ({ metadata: {}, spec: { size: 1 } }))
      for (const { metadata } of Informer.list(pods)) {
        if (!names.includes(metadata.name)) yield* Store.deleteUnconditionally(Pod, metadata)
      }
    })
  }))

export const options: Sim.Options<App> = {
  controllers: withCache,
  actors: [scheduler],
  workload: Sim.script([createApp(1), resizeApp(2), Sim.soon(resizeApp(3))]),
  matches: ({ spec }, world) => world.list(Pod).length === spec.size,
  never: { "a busy pod was deleted": (_, change) => removedOf(Pod, change)?.status?.phase === "busy" }
}
