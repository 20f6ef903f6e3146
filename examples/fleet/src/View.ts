/**
 * What the fleet is like now: a cache of its objects that the store's watches keep in step, in the supervisor or in any
 * other process that has the store.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { Informer, type Kind, type Resource, Store } from "setpoint"
import { Process, Service } from "./Kinds.ts"

export interface View {
  readonly services: ReadonlyArray<Service>
  readonly processes: ReadonlyArray<Process>
}

/** What is cached of a kind, typed; what does not decode is left out. */
const typed = <A extends Resource.Any>(kind: Kind.Kind<A>, informer: Informer.Informer): ReadonlyArray<A> =>
  Informer.list(informer).flatMap((raw) => Result.getOrUndefined(kind.decode(raw)) ?? [])

/** Views, the first at once, then one after each change, as long as the Scope is open. */
export const make = Effect.gen(function*() {
  const { driver } = yield* Store.Store
  const services = yield* Informer.make(driver, Service.address)
  const processes = yield* Informer.make(driver, Process.address)
  yield* Informer.awaitSynced(services)
  yield* Informer.awaitSynced(processes)
  const now = (): View => ({ services: typed(Service, services), processes: typed(Process, processes) })
  return {
    now: Effect.sync(now),
    changes: Stream.merge(Informer.changes(services), Informer.changes(processes)).pipe(Stream.map(now))
  }
})
