/** The volume of a pod is cleaned up while the pod is seen on its way out, which may never be seen. instaclustr/cassandra-operator#398 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Resource, Store } from "setpoint"
import { App, createApp, found, kind, layerOf } from "./kit.ts"

const Pod = kind("Pod")
const Volume = kind("Volume")

const apps = Reconciler.make(App, {
  watches: [Reconciler.watch(Pod, (pod) => [Resource.key(pod)])],
  reconcile: Effect.fnUntraced(function*({ name }) {
    yield* Store.get(App, { name })
    const pod = yield* found(Store.get(Pod, { name }))
    const volume = yield* found(Store.latest(Volume, { name }))
    const isLeaving = pod !== undefined && Resource.isMarkedForDeletion(pod)
    if (pod !== undefined && !isLeaving && volume === undefined) {
      yield* Store.create(Volume, { metadata: { name }, spec: { size: 1 } })
    }
    if (isLeaving && volume !== undefined) yield* Store.delete(Volume, volume)
  })
})

const pod = { name: "a" }
const kubelet = Effect.flatMap(
  Store.get(Pod, pod),
  (pod) => Store.update(Pod, { ...pod, metadata: { ...pod.metadata, finalizers: [] } })
)

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([
    createApp(1),
    Sim.act(
      "create Pod",
      Store.create(Pod, { metadata: { ...pod, finalizers: ["example.dev/kubelet"] }, spec: { size: 1 } })
    ),
    Sim.act("delete Pod", Store.deleteUnconditionally(Pod, pod)),
    Sim.soon(Sim.act("the kubelet is done", kubelet))
  ]),
  atRest: { "no volume without its pod": (world) => world.list(Volume).length <= world.list(Pod).length }
}
