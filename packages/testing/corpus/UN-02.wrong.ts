/** Only single steps down are handled, and two are seen as one. casskop#342 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, kind, layerOf, resizeApp } from "./kit.ts"

const Pod = kind("Pod")

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const { spec } = yield* Store.get(App, { name })
    const { items } = yield* Store.list(Pod)
    for (let index = items.length; index < spec.size; index++) {
      yield* Store.create(Pod, { metadata: { name: `${name}-${index}` }, spec: { size: 1 } })
    }
    const last = items[spec.size]
    if (last !== undefined && items.length === spec.size + 1) yield* Store.delete(Pod, last)
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(2), resizeApp(1), Sim.soon(resizeApp(0))]),
  matches: ({ spec }, world) => world.list(Pod).length === spec.size
}
