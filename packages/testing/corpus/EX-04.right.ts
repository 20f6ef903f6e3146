/** To grow, a live member must be asked, and after a scale-down to none there is none. anvil-verifier/anvil#269 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, kind, layerOf, resizeApp } from "./kit.ts"

const Member = kind("Member")

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const names = Array.from({ length: app.spec.size }, (_, index) => `${name}-${index}`)
    const { items } = yield* Store.list(Member)
    for (const surplus of items.filter(({ metadata }) => !names.includes(metadata.name))) {
      yield* Store.delete(Member, surplus)
    }
    for (const missing of names.filter((name) => !items.some(({ metadata }) => metadata.name === name))) {
      yield* Store.create(Member, { metadata: { name: missing }, spec: { size: 1 } })
    }
    yield* Store.updateStatus(App, app, { phase: "Formed" })
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(2), resizeApp(0), resizeApp(2)]),
  matches: ({ spec }, world) => world.list(Member).length === spec.size
}
