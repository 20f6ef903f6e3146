/** A replica that does not lead looks its keys up under the wrong kind, finds nothing, and forgets them. kubernetes-sigs/kueue PR#3612 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import { Outcome, Reconciler, Store } from "setpoint"
import { App, createApp, found, kind, layerOf, resizeApp } from "./kit.ts"
import { fakeLock, Lock } from "./lock.ts"

const Flavor = kind("Flavor")
const Queue = kind("Queue")
const lock = fakeLock()

/** Who leads works; who does not looks again later, as long as the object is there. */
const apps = (me: string) =>
  Reconciler.make(App, {
    reconcile: Effect.fnUntraced(function*({ name }) {
      const { hold } = yield* Lock
      if ((yield* hold(me)) === undefined) {
        const isThere = (yield* found(Store.get(Queue, { name }))) !== undefined
        return isThere ? Outcome.requeueAfter("15 seconds") : Outcome.done
      }
      const { spec } = yield* Store.get(App, { name })
      yield* Store.ensure(Flavor, { name }, () => ({ metadata: {}, spec }))
    })
  })

export const options: Sim.Options<App, Lock> = {
  controllers: Layer.unwrap(Effect.map(Random.nextInt, (id) => layerOf(apps(`process ${id}`)))),
  workload: Sim.script([createApp(1), resizeApp(2)]),
  replicas: 2,
  external: [lock],
  matches: ({ metadata, spec }, world) => world.get(Flavor, metadata.name)?.spec.size === spec.size
}
