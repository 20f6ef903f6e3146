/** The volume of a pod that leaves is deleted by name; an old view shows the mark of an earlier pod. instaclustr/cassandra-operator#407 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Owner, Reconciler, Resource, Store } from "setpoint"
import { App, createApp, found, kind, layerOf, removedOf, resizeApp } from "./kit.ts"

const Pod = kind("Pod")
const Volume = kind("Volume")
const finalizers = ["example.dev/volume"]

/** Size 1: with a pod. Before a volume goes it is looked whether this pod is still the one that leaves. */
const apps = Reconciler.make(App, {
  owns: [Pod],
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const pod = yield* found(Store.get(Pod, { name }))
    if (pod !== undefined && !Owner.isOwnedBy(pod, app)) return
    if (pod !== undefined && Resource.isMarkedForDeletion(pod)) {
      if ((yield* Store.latest(Pod, { name })).metadata.uid !== pod.metadata.uid) return
      const volume = yield* found(Store.latest(Volume, { name }))
      if (volume !== undefined) yield* found(Store.delete(Volume, volume))
      yield* Store.update(Pod, { ...pod, metadata: { ...pod.metadata, finalizers: [] } })
    } else if (app.spec.size === 0) {
      if (pod !== undefined) yield* Store.delete(Pod, pod)
    } else {
      yield* Store.ensure(Volume, { name }, () => ({ metadata: {}, spec: app.spec }))
      if (pod !== undefined) return
      yield* Store.create(Pod, yield* Owner.setController({ metadata: { name, finalizers }, spec: app.spec }, app))
    }
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  faults: [...Sim.defaultFaults, "old-kind"],
  workload: Sim.script([createApp(1), resizeApp(0), resizeApp(1)]),
  matches: ({ spec }, world) => world.list(Pod).length === spec.size && world.list(Volume).length === spec.size,
  never: {
    "the volume of a live pod was deleted": (world, change) =>
      removedOf(Volume, change) !== undefined && world.list(Pod).some((pod) => !Resource.isMarkedForDeletion(pod))
  }
}
