/**
 * Work that is begun anew with a growing pause when it fails. A run that lasted a while begins the pauses anew.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

const firstPauseMillis = 200
const longestPauseMillis = 30_000
const wellAfterMillis = 60_000

export interface Listener {
  readonly onFailure: (cause: Cause.Cause<unknown>) => Effect.Effect<void>
  /** It has run for a minute. */
  readonly onWell: () => void
}

/** Runs the work until it succeeds. */
export const forEver = Effect.fnUntraced(function*<E, R>(work: Effect.Effect<unknown, E, R>, listener: Listener) {
  let pauseMillis = firstPauseMillis
  const well = Effect.map(Effect.sleep(wellAfterMillis), () => {
    pauseMillis = firstPauseMillis
    listener.onWell()
  })
  while (true) {
    const exit = yield* Effect.exit(Effect.raceFirst(work, Effect.andThen(well, Effect.never)))
    if (Exit.isSuccess(exit)) return
    yield* listener.onFailure(exit.cause)
    yield* Effect.sleep(pauseMillis)
    pauseMillis = Math.min(pauseMillis * 2, longestPauseMillis)
  }
})
