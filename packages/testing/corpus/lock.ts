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

/** Takes the lease, or keeps it, for 15 s: gives its epoch, or `undefined` where another has it. */
export class Lock extends Context.Service<Lock, {
  readonly hold: (who: string) => Effect.Effect<number | undefined, LockError>
}>()("corpus/Lock") {}

export const fakeLock = () =>
  Sim.external(Lock, () => {
    const lease = { holder: "", epoch: 0, until: 0n }
    const hold = (who: string) =>
      Effect.map(Clock.monotonicTimeNanos, (now) => {
        if (lease.holder !== who && now < lease.until) return undefined
        if (lease.holder !== who) lease.epoch++
        lease.holder = who
        lease.until = now + 15_000_000_000n
        return lease.epoch
      })
    return { lease, hold }
  }, { fails: () => new LockError({ why: "no answer" }) })

/** Waits for the lease, then leads in a Scope, which closes when `lost` ends; for ever. */
export const elect = <E, R>(
  lost: (hold: Effect.Effect<number | undefined, LockError>) => Effect.Effect<void>,
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
      yield* Effect.scoped(Effect.andThen(lead(epoch), lost(hold))).pipe(
        Effect.catch(() => Effect.sleep("5 seconds")) // it could not begin: another term
      )
    })
    return yield* Effect.forkScoped(Effect.forever(term))
  })

/** Its epoch is that of the leader that gave it its size. */
export const Pod = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Pod",
  spec: Schema.Struct({ size: Schema.Int, epoch: Schema.Int })
})
