/** A small controller that keeps so many pods as its App wants, as the simulator takes it: a right one. */
import { Sim } from "@setpoint/testing"
import { bare, type Spec } from "@setpoint/testing/internal/sim/spec"
import * as Effect from "effect/Effect"
import { Owner, Reconciler, Store } from "setpoint"
import { App, createApp, kind, layerOf, removeApp, resizeApp } from "../../corpus/kit.ts"

export const Pod = kind("Pod")

/** One pod for each of the App's size. */
export const apps = Reconciler.make(App, {
  owns: [Pod],
  reconcile: Effect.fnUntraced(function*(request) {
    const app = yield* Store.get(App, request)
    for (let index = 0; index < app.spec.size; index++) {
      const name = `${request.name}-${index}`
      const owned = yield* Owner.setController({ metadata: { name }, spec: { size: 1 } }, app)
      yield* Store.ensure(Pod, { name }, () => owned)
    }
    const { items } = yield* Store.list(Pod)
    for (const pod of items.slice(app.spec.size)) yield* Store.delete(Pod, pod)
  })
})

const workload = Sim.script([createApp(2), resizeApp(1), resizeApp(2), removeApp])

export const spec: Spec = {
  ...bare,
  layer: layerOf(apps),
  steps: workload.steps,
  kinds: [App],
  of: [App],
  faults: new Set(Sim.defaultFaults)
}
