/** Drives a search from an Effect: it gives way between batches of runs, so that it can be interrupted and be told of. */
import * as Effect from "effect/Effect"
import type { Progress, Search } from "./search.ts"

/** Steps of the loop in one batch: some tens of milliseconds. A single run of more is not cut. */
const batchSteps = 2_000

export const drive = <A>(
  search: Search<A>,
  onProgress: (progress: Progress) => Effect.Effect<void>
): Effect.Effect<A> =>
  Effect.suspend(() => {
    const batch = (until: number): Effect.Effect<A> => {
      for (;;) {
        const next = search.next()
        if (next.done === true) return Effect.succeed(next.value)
        const { steps } = next.value
        if (steps < until) continue
        return onProgress(next.value).pipe(
          Effect.andThen(Effect.yieldNow),
          Effect.andThen(Effect.suspend(() => batch(steps + batchSteps)))
        )
      }
    }
    return batch(batchSteps)
  })
