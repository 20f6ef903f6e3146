/**
 * Redelivery at a registration's own pace: each cached object is handed on once a period, ±10 %, spread evenly, so that
 * it is never a burst.
 */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Informer from "../Informer.ts"
import type { Raw } from "../Resource.ts"

/** At most this many waits a period; more objects than waits are handed on in small groups. */
const maxSteps = 1000

/** Goes through the cache once a period, for ever. */
export const forEver = Effect.fnUntraced(function*(
  informer: Informer.Informer,
  periodMillis: number,
  deliver: (raw: Raw) => void
) {
  if (periodMillis === Infinity) return yield* Effect.never
  while (true) {
    const objects = Informer.list(informer)
    const steps = Math.max(1, Math.min(objects.length, maxSteps))
    const pauseMillis = periodMillis * (0.9 + 0.2 * (yield* Random.next)) / steps
    for (let step = 0; step < steps; step++) {
      yield* Effect.sleep(pauseMillis)
      const end = Math.ceil((step + 1) * objects.length / steps)
      for (const raw of objects.slice(Math.ceil(step * objects.length / steps), end)) deliver(raw)
    }
  }
})
