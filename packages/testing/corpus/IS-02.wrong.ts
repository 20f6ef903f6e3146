/** The phase of a scale-down is stored after its side effect. Orange-OpenSource/casskop#370 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, found, kind, layerOf, resizeApp } from "./kit.ts"

const Pod = kind("Pod")
const Claim = kind("Claim")

const apps = Reconciler.make(App, {
  predicate: () => true, // each phase is stored, and leads to the next
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    for (let index = 0; index < app.spec.size; index++) {
      const part = { metadata: { name: `${name}-${index}` }, spec: { size: 1 } }
      if ((yield* found(Store.get(Claim, part.metadata))) === undefined) yield* Store.create(Claim, part)
      if ((yield* found(Store.get(Pod, part.metadata))) === undefined) yield* Store.create(Pod, part)
    }
    const last = { name: `${name}-${app.spec.size}` }
    const claim = yield* found(Store.get(Claim, last))
    if (claim === undefined) return
    switch (app.status?.phase) {
      case undefined:
        return void (yield* Store.updateStatus(App, app, { phase: "Ongoing" }))
      case "Ongoing": {
        const pod = yield* Store.get(Pod, last)
        yield* Store.delete(Pod, pod)
        return void (yield* Store.updateStatus(App, app, { phase: "Finalizing" }))
      }
      default:
        yield* Store.delete(Claim, claim)
    }
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(2), resizeApp(1)]),
  matches: ({ spec }, world) => world.list(Claim).length === spec.size && world.list(Pod).length === spec.size
}
