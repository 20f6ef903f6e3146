/** An old spec has a feature switched off that is on by now: what runs is deleted, then made again. K8SPXC-725 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, found, kind, layerOf, resizeApp } from "./kit.ts"

/** Size 1: with a proxy. */
const Proxy = kind("Proxy")

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const proxy = yield* found(Store.latest(Proxy, { name }))
    if (app.spec.size === 1 && proxy === undefined) yield* Store.create(Proxy, { metadata: { name }, spec: app.spec })
    if (app.spec.size === 1 || proxy === undefined) return
    yield* Store.delete(Proxy, proxy)
  })
})

export const guarded: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(0), resizeApp(1)]),
  matches: ({ metadata, spec }, world) => (world.get(Proxy, metadata.name) !== undefined) === (spec.size === 1),
  never: {
    "a wanted proxy was deleted": (world, { object, type }) =>
      type === "removed" && object.kind === "Proxy" && world.list(App).some(({ spec }) => spec.size === 1)
  }
}

export const options: Sim.Options<App> = { ...guarded, faults: [...Sim.defaultFaults, "old"] }
