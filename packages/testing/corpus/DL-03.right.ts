/** The last step does not wait: the owner is finalized before its last pod is gone. k8ssandra/cass-operator#323 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Controller, Outcome, Reconciler, Resource, Store } from "setpoint"
import { App, createApp, found, kind, removeApp } from "./kit.ts"

const Pod = kind("Pod")

/** Pods are drained one at a time, and are gone when their node says so. */
const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    if (Resource.isMarkedForDeletion(app)) {
      const pods = (yield* Store.list(Pod)).items
      for (const pod of pods.slice(0, 1)) yield* Store.delete(Pod, pod)
      if (pods.length > 0) return Outcome.requeueAfter("2 seconds")
      return void (yield* Store.update(App, { ...app, metadata: { ...app.metadata, finalizers: [] } }))
    }
    for (let index = 0; index < app.spec.size; index++) {
      const metadata = { name: `${name}-${index}`, finalizers: ["example.dev/node"] }
      const pod = yield* found(Store.get(Pod, metadata))
      if (pod === undefined) yield* Store.create(Pod, { metadata, spec: { size: 1 } })
    }
  })
})

const nodes = Reconciler.make(Pod, {
  reconcile: Effect.fnUntraced(function*(request) {
    const pod = yield* Store.get(Pod, request)
    if (!Resource.isMarkedForDeletion(pod)) return
    yield* Store.update(Pod, { ...pod, metadata: { ...pod.metadata, finalizers: [] } })
  })
})

export const options: Sim.Options<App> = {
  controllers: Layer.mergeAll(Controller.layerFor(apps), Controller.layerFor(nodes)).pipe(
    Layer.provide(Controller.layer())
  ),
  workload: Sim.script([createApp(2, ["example.dev/pods"]), removeApp]),
  never: {
    "an App is gone, and a pod of it is not": (world, { object, type }) =>
      type === "removed" && object.kind === "App" && world.list(Pod).length > 0
  }
}
