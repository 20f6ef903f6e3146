/**
 * Gives a service its processes: `serviceRules.ts` says which.
 */
import * as Effect from "effect/Effect"
import { Owner, Reconciler, Store } from "setpoint"
import { Process, Service } from "./Kinds.ts"
import * as Rules from "./serviceRules.ts"

export const services = Reconciler.make(Service, {
  owns: [Process],
  // Ports are given to one service after the other.
  concurrency: 1,
  reconcile: Effect.fn("Service.reconcile")(function*(request) {
    const service = yield* Store.get(Service, request)
    // Past the cache, since it may not know yet what another service was given.
    const { items } = yield* Store.list(Process, { consistency: "mostRecent" })
    const plan = Rules.plan(service, items)
    yield* Effect.forEach(
      plan.create,
      ({ name, spec }) =>
        Owner.setController({ metadata: { name }, spec }, service).pipe(
          Effect.flatMap((input) => Store.create(Process, input))
        )
    )
    yield* Effect.forEach(plan.update, (process) => Store.update(Process, process))
    yield* Effect.forEach(plan.remove, (process) => Store.delete(Process, process))
    yield* Store.updateStatus(Service, service, Rules.statusOf(service, items, plan.waits))
  })
})
