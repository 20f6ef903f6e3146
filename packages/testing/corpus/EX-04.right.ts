/** To grow, a live member must be asked, and after a scale-down to none there is none. anvil-verifier/anvil#269 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, kind, layerOf, resizeApp } from "./kit.ts"

const Member = kind("Member")

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const { items } = yield* Store.list(Member)
    for (const surplus of items.slice(app.spec.size)) yield* Store.delete(Member, surplus)
    for (let index = items.length; index < app.spec.size; index++) {
      yield* Store.create(Member, { metadata: { name: `${name}-${index}` }, spec: { size: 1 } })
    }
    yield* Store.updateStatus(App, app, { phase: "Formed" })
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(2), resizeApp(0), resizeApp(2)]),
  matches: ({ spec }, world) => world.list(Member).length === spec.size
}
