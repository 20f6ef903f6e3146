/** A lock service, and who leads by it: for shapes of two leaders. */
import { Sim } from "@setpoint/testing"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { Kind } from "setpoint"

export class LockError extends Schema.TaggedError<LockError>()("LockError", { why: Schema.String }) {}

export class Lock extends Context.Service<Lock, {
  /** Takes the lease, or keeps it, for 15 s: gives its epoch, or `undefined` where another has it. */
  readonly hold: (who: string) => Effect.Effect<number | undefined, LockError>
  /** Who holds an epoch leads from now on, and whoever led before does no more. */
  readonly begin: (epoch: number) => Effect.Effect<void, LockError>
}>()("corpus/Lock") {}

export const fakeLock = () =>
  Sim.external(Lock, () => {
    const lease = { holder: "", epoch: 0, until: 0n }
    const leader = { epoch: 0 }
    const hold = (who: string) =>
      Effect.map(Clock.monotonicTimeNanos, (now) => {
        if (lease.holder !== who && now < lease.until) return undefined
        if (lease.holder !== who) lease.epoch++
        lease.holder = who
        lease.until = now + 15_000_000_000n
        return lease.epoch
      })
    const begin = (epoch: number) =>
      Effect.sync(() => {
        leader.epoch = Math.max(leader.epoch, epoch)
      })
    return { leader, hold, begin }
  }, { fails: () => new LockError({ why: "no answer" }) })

/** Waits for the lease, then leads in a Scope, which closes when `lost` ends; for ever. */
export const elect = <E, R>(
  lost: (hold: Effect.Effect<number | undefined, LockError>, epoch: number) => Effect.Effect<void>,
  lead: (epoch: number) => Effect.Effect<unknown, E, R | Scope.Scope>
) =>
  Effect.gen(function*() {
    const lock = yield* Lock
    const who = `process ${yield* Random.nextInt}`
    const hold = lock.hold(who)
    const term = Effect.gen(function*() {
      const epoch = yield* hold.pipe( // an answer that comes late may be of a lease that is over
        Effect.timeoutOrElse({ duration: "5 seconds", orElse: () => Effect.undefined }),
        Effect.catch(() => Effect.undefined)
      )
      if (epoch === undefined) return yield* Effect.sleep("5 seconds")
      yield* Effect.scoped(Effect.andThen(lead(epoch), lost(hold, epoch))).pipe(
        Effect.catch(() => Effect.sleep("5 seconds")) // it could not begin: another term
      )
    })
    return yield* Effect.forkScoped(Effect.forever(term))
  })

/** A leader is ready to lead. What another one does before that comes before, and is not too late. */
export const begin = (epoch: number) => Effect.flatMap(Lock, (lock) => lock.begin(epoch))

/** Its epoch is that of the leader that gave it its size. */
export const Pod = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Pod",
  spec: Schema.Struct({ size: Schema.Int, epoch: Schema.Int })
})
