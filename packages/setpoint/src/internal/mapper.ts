/**
 * Mapping functions: whom a change of a watched object concerns.
 *
 * A function that answers at once is called in the informer's own step. One that answers with an Effect is run by a fiber
 * of its own, one object after another: what changed again meanwhile is asked once more, with the state it has then. One
 * that fails is asked again later, with a growing delay, so that no change is lost, and holds no other up. A state that
 * does not decode concerns nobody that can be told (S12). Whom an object concerned last is remembered on its cache entry,
 * and runs when the object changes or vanishes (E6).
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
  hasFailed: boolean
}

/** Hears how the function does. */
export interface Listener {
  readonly onFailure: (cause: Cause.Cause<unknown>) => void
  readonly onUndecodable: () => void
  /** It answers again. */
  readonly onAnswer: () => void
}

type LastTargets = Informer.Subscription<ReadonlyArray<Target>>

export interface Mapper {
  /** Finds the targets of a change and hands them on, now or later. */
  readonly map: (
    change: Informer.Change,
    lookup: Predicate.Change<Any>,
    deliver: (targets: ReadonlyArray<Target>) => void
  ) => void
  /** Where the last targets of an object are kept: told before the first change is. */
  readonly remembers: (lastTargets: LastTargets) => void
  /** Answers what needs an Effect, for ever. */
  readonly run: Effect.Effect<never>
}

const firstPauseMillis = 100
const longestPauseMillis = 30_000

/** An answer that takes longer has failed: it would hold all others up. */
const longestAnswerMillis = 30_000

/** States of one object kept for a function that is behind: the oldest and the newest ones tell enough. */
const maxLookups = 8

const union = (...lists: ReadonlyArray<ReadonlyArray<Target>>): ReadonlyArray<Target> => {
  const seen = new Map<string, Target>()
  for (const targets of lists) for (const target of targets) seen.set(keyText(target), target)
  return Array.from(seen.values())
}

const none: ReadonlyArray<Target> = []

export const make = (map: Mapping<never>, listener: Listener): Mapper => {
  let lastTargets: LastTargets | undefined = undefined
  const waiting = new Map<string, Waiting>()
  const failed = new Map<string, Waiting>()
  /** Whose answer is under way. */
  let asked: string | undefined = undefined
  let pauseMillis = firstPauseMillis
  const latch = Latch.makeUnsafe(false)

  const ask = (lookup: Predicate.Change<Any>, state: "new" | "old") => {
    let object: Any | undefined
    try {
      object = state === "new" ? lookup.object : lookup.old
    } catch {
      listener.onUndecodable()
      return none
    }
    // The kind of the input decodes what its mapping function declares.
    return object === undefined ? none : map(object as never, lookup as Predicate.Change<never>)
  }

  const remember = (entry: Informer.Entry, targets: ReadonlyArray<Target>): ReadonlyArray<Target> => {
    const last = lastTargets?.get(entry) ?? none
    lastTargets?.set(entry, entry.raw === undefined || targets.length === 0 ? undefined : targets)
    return last
  }

  const wait = (key: string, known: Waiting): void => {
    waiting.set(key, known)
    latch.openUnsafe()
  }

  const later = (change: Informer.Change, lookup: Predicate.Change<Any>, deliver: Waiting["deliver"]): void => {
    const key = keyText(change.entry)
    const known = waiting.get(key) ?? failed.get(key)
    if (known === undefined) return wait(key, { entry: change.entry, lookups: [lookup], deliver, hasFailed: false })
    if (known.lookups.length >= maxLookups) known.lookups.splice(1, 1)
    known.lookups.push(lookup)
    known.deliver = deliver
    failed.delete(key) // news may cure it
    wait(key, known)
  }

  const answer = Effect.fnUntraced(function*({ deliver, entry, lookups }: Waiting) {
    const found: Array<ReadonlyArray<Target>> = []
    let newest = none
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

  /** Asks all that failed again after a pause: one timer for all of them. */
  const askAgain = Effect.andThen(
    Effect.suspend(() => Effect.sleep(pauseMillis)),
    Effect.sync(() => {
      pauseMillis = Math.min(pauseMillis * 2, longestPauseMillis)
      const again = Array.from(failed)
      failed.clear() // before anybody wakes, who may fail at once
      for (const [key, next] of again) wait(key, next)
    })
  )

  const fail = (key: string, next: Waiting): void => {
    const since = waiting.get(key)
    waiting.delete(key)
    const lookups = since === undefined ? next.lookups : [...next.lookups, ...since.lookups].slice(-maxLookups)
    failed.set(key, { ...since ?? next, lookups, hasFailed: true })
  }

  const run = Effect.gen(function*() {
    while (true) {
      const first = waiting.entries().next()
      if (first.done === true) {
        latch.closeUnsafe()
        yield* latch.await
        continue
      }
      const [key, next] = first.value
      waiting.delete(key)
      asked = key
      const exit = yield* Effect.exit(Effect.timeout(answer(next), longestAnswerMillis))
      asked = undefined
      if (exit._tag === "Success") {
        if (next.hasFailed) pauseMillis = firstPauseMillis
        if (failed.size === 0) listener.onAnswer()
        continue
      }
      listener.onFailure(exit.cause)
      if (failed.size === 0) yield* Effect.forkChild(askAgain)
      fail(key, next)
    }
  })

  return {
    map: (change, lookup, deliver) => {
      const key = keyText(change.entry)
      if (asked === key || waiting.has(key) || failed.has(key)) return later(change, lookup, deliver)
      try {
        const fresh = ask(lookup, "new")
        const stale = Effect.isEffect(fresh) ? fresh : ask(lookup, "old")
        if (Effect.isEffect(fresh) || Effect.isEffect(stale)) return later(change, lookup, deliver)
        deliver(union(fresh, stale, remember(change.entry, fresh)))
      } catch (defect) {
        listener.onFailure(Cause.die(defect))
        later(change, lookup, deliver)
      }
    },
    remembers: (targets) => void (lastTargets = targets),
    run
  }
}
