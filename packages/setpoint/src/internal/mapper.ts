/**
 * Mapping functions: whom a change of a watched object concerns.
 *
 * A function that answers at once is called in the informer's own step. One that answers with an Effect is run by a fiber
 * of its own, one object after another: what changed again meanwhile is asked once more, with the state it has then. One
 * that fails is asked again later, with a growing delay, so that no change is lost. Whom an object concerned last is
 * remembered on its cache entry, and runs when the object changes or vanishes (E6).
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Informer from "../Informer.ts"
import type * as Predicate from "../Predicate.ts"
import type { Mapping } from "../Reconciler.ts"
import type { Target } from "../Request.ts"
import { type Any, keyText } from "../Resource.ts"

/** A change whose targets are still to be found: one an object, whatever came since. */
interface Waiting {
  readonly entry: Informer.Entry
  readonly lookups: Array<Predicate.Change<Any>>
  deliver: (targets: ReadonlyArray<Target>) => void
}

export interface Mapper {
  /** Finds the targets of a change and hands them on, now or later. */
  readonly map: (
    change: Informer.Change,
    lookup: Predicate.Change<Any>,
    deliver: (targets: ReadonlyArray<Target>) => void
  ) => void
  /** Answers what needs an Effect, for ever. */
  readonly run: Effect.Effect<never>
}

const firstPauseMillis = 100
const longestPauseMillis = 30_000

/** States of one object kept for a function that is behind: the oldest and the newest ones tell enough. */
const maxLookups = 8

const union = (...lists: ReadonlyArray<ReadonlyArray<Target>>): ReadonlyArray<Target> => {
  const seen = new Map<string, Target>()
  for (const targets of lists) for (const target of targets) seen.set(keyText(target), target)
  return Array.from(seen.values())
}

export const make = (
  map: Mapping<never>,
  lastTargets: () => Informer.Subscription<ReadonlyArray<Target>> | undefined,
  listener: { readonly onDefect: (cause: Cause.Cause<unknown>) => void; readonly onAnswer: () => void }
): Mapper => {
  const waiting = new Map<string, Waiting>()
  const latch = Latch.makeUnsafe(false)

  const ask = (lookup: Predicate.Change<Any>, state: "new" | "old") => {
    const object = state === "new" ? lookup.object : lookup.old
    // The kind of the input decodes what its mapping function declares.
    return object === undefined ? [] : map(object as never, lookup as Predicate.Change<never>)
  }

  const remember = (entry: Informer.Entry, targets: ReadonlyArray<Target>): ReadonlyArray<Target> => {
    const subscription = lastTargets()
    const last = subscription?.get(entry) ?? []
    subscription?.set(entry, entry.raw === undefined || targets.length === 0 ? undefined : targets)
    return last
  }

  const later = (change: Informer.Change, lookup: Predicate.Change<Any>, deliver: Waiting["deliver"]): void => {
    const key = keyText(change.entry)
    const known = waiting.get(key)
    if (known === undefined) waiting.set(key, { entry: change.entry, lookups: [lookup], deliver })
    else {
      if (known.lookups.length >= maxLookups) known.lookups.splice(1, 1)
      known.lookups.push(lookup)
      known.deliver = deliver
    }
    latch.openUnsafe()
  }

  const answer = Effect.fnUntraced(function*({ deliver, entry, lookups }: Waiting) {
    const found: Array<ReadonlyArray<Target>> = []
    let newest: ReadonlyArray<Target> = []
    for (const lookup of lookups) {
      for (const state of ["old", "new"] as const) {
        const answered = yield* Effect.suspend(() => {
          const targets = ask(lookup, state)
          return Effect.isEffect(targets) ? targets : Effect.succeed(targets)
        })
        found.push(answered)
        if (state === "new") newest = answered
      }
    }
    deliver(union(...found, remember(entry, newest)))
  })

  const run = Effect.gen(function*() {
    let pauseMillis = firstPauseMillis
    while (true) {
      const first = waiting.entries().next()
      if (first.done === true) {
        latch.closeUnsafe()
        yield* latch.await
        continue
      }
      const [key, next] = first.value
      waiting.delete(key)
      const exit = yield* Effect.exit(answer(next))
      if (exit._tag === "Success") {
        pauseMillis = firstPauseMillis
        listener.onAnswer()
        continue
      }
      listener.onDefect(exit.cause)
      const since = waiting.get(key)
      waiting.set(
        key,
        since === undefined ? next : { ...since, lookups: [...next.lookups, ...since.lookups].slice(-maxLookups) }
      )
      yield* Effect.sleep(pauseMillis)
      pauseMillis = Math.min(pauseMillis * 2, longestPauseMillis)
    }
  })

  return {
    map: (change, lookup, deliver) => {
      const key = keyText(change.entry)
      if (waiting.has(key)) return later(change, lookup, deliver)
      try {
        const fresh = ask(lookup, "new")
        const stale = Effect.isEffect(fresh) ? fresh : ask(lookup, "old")
        if (Effect.isEffect(fresh) || Effect.isEffect(stale)) return later(change, lookup, deliver)
        deliver(union(fresh, stale, remember(change.entry, fresh)))
      } catch (defect) {
        listener.onDefect(Cause.die(defect))
        later(change, lookup, deliver)
      }
    },
    run
  }
}
