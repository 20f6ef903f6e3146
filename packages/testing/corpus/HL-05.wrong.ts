/** Every pass begins with a write that the store always rejects, so that nothing behind it ever runs. OT-CONTAINER-KIT/redis-operator#757 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, kind, layerOf, resizeApp } from "./kit.ts"

const Claim = kind("Claim")
const Pod = kind("Pod")

/** The server never lets a claim have another size. */
const immutable = Sim.admission(
  Claim,
  (claim, { before }) => before === undefined || before.spec.size === claim.spec.size ? claim : "the size is immutable"
)

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const { spec } = yield* Store.get(App, { name })
    yield* Store.ensure(Claim, { name }, () => ({ metadata: { name }, spec }))
    yield* Store.ensure(Pod, { name }, () => ({ metadata: { name }, spec }))
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1), resizeApp(2)]),
  admit: [immutable],
  matches: ({ metadata, spec }, world) => world.get(Pod, metadata.name)?.spec.size === spec.size
}
