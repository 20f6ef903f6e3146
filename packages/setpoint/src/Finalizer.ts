/**
 * Finalizers: a clean-up that a store waits for before it removes an object, declared as one thing.
 *
 * A finalizer is a name in `metadata.finalizers` and what must be done before the name may go. {@link run} wraps the
 * work of a pass with it: it adds the name before anything else is done, so that no crash can leave work behind that
 * nothing cleans up; once the object is marked for deletion it runs the clean-up instead of the work, and then takes
 * the name away.
 *
 * **Ordering** The name is stored before the work of the first pass begins, and goes only after the clean-up succeeded.
 *
 * **Delivery** The clean-up runs at least once: a crash between it and the removal of the name runs it again, so it
 * must be able to find its work done already. A clean-up that fails keeps the name, and the failure is the pass's.
 *
 * **Consistency** The name is added and taken away under the object's uid and revision; names of others are never
 * touched, and none is added after the mark (S6).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { type Kind } from "./Kind.ts"
import { type Any, isMarkedForDeletion, key } from "./Resource.ts"
import { Store } from "./Store.ts"
import { type StoreError } from "./StoreError.ts"

/**
 * A name, and the clean-up that it stands for.
 *
 * @category models
 * @since 0.1.0
 */
export interface Finalizer<A extends Any, B = never, E = never, R = never> {
  readonly kind: Kind<A>
  readonly name: string
  readonly cleanup: (object: A) => Effect.Effect<void | NotYet<B>, E, R>
  readonly last: boolean
}

/**
 * What {@link make} takes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<A extends Any, B, E, R> {
  /** A qualified name under a domain of yours, such as `example.dev/dns`. */
  readonly name: string
  /** Must be idempotent. Success means done; {@link notYet} keeps the name without being a failure. */
  readonly cleanup: (object: A) => Effect.Effect<void | NotYet<B>, E, R>
  /** Run the clean-up only when no other finalizer is left on the object. Default `false`. */
  readonly last?: boolean | undefined
}

/**
 * Declares a finalizer of a kind.
 *
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import { Finalizer, Kind } from "setpoint"
 *
 * const Website = Kind.make({ group: "example.dev", version: "v1", kind: "Website" })
 *
 * const dns = Finalizer.make(Website, {
 *   name: "example.dev/dns",
 *   cleanup: (site) => Effect.log(`removing the DNS record of ${site.metadata.name}`)
 * })
 *
 * export const pass = (site: Kind.Resource<typeof Website>) =>
 *   Finalizer.run(dns, site, (site) => Effect.log(`writing the DNS record of ${site.metadata.name}`))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <A extends Any, B = never, E = never, R = never>(
  kind: Kind<A>,
  options: Options<A, B, E, R>
): Finalizer<A, B, E, R> => ({
  kind,
  name: options.name,
  cleanup: options.cleanup,
  last: options.last ?? false
})

/**
 * The clean-up goes on elsewhere: the name stays, and the pass ends with `outcome`.
 *
 * @category models
 * @since 0.1.0
 */
export interface NotYet<B> {
  readonly _tag: "NotYet"
  readonly outcome: B
}

/**
 * Ends a clean-up that is not done yet: `return Finalizer.notYet(Outcome.requeueAfter("10 seconds"))`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const notYet = <B>(outcome: B): NotYet<B> => ({ _tag: "NotYet", outcome })

/**
 * Runs the work of a pass under one finalizer or several.
 *
 * - The object is not marked: adds the names that are missing, in one write, then runs `apply` with the stored object.
 * - It is marked and holds the names: runs the clean-ups, the last declared first, and takes each name away after its
 *   clean-up. `apply` does not run; the result is `undefined`, or what a {@link notYet} carries.
 * - It is marked and holds none of the names: nothing is left to do, the result is `undefined`.
 *
 * Fails with what the work or the clean-up fails with, and with a `StoreError`: `Conflict` where the object is no
 * longer the one that was read.
 *
 * @category combinators
 * @since 0.1.0
 */
export const run = Effect.fnUntraced(function*<A extends Any, B, E, R, B2, E2, R2>(
  finalizers: Finalizer<A, B, E, R> | ReadonlyArray<Finalizer<A, B, E, R>>,
  object: A,
  apply: (object: A) => Effect.Effect<B2, E2, R2>
): Effect.fn.Return<B | B2 | undefined, E | E2 | StoreError, R | R2 | Store> {
  const all = "name" in finalizers ? [finalizers] : finalizers
  if (!isMarkedForDeletion(object)) return yield* apply(yield* hold(all, object))
  return yield* cleanUp(all, object)
})

/** Adds the names that are missing, in one write. */
const hold = <A extends Any, B, E, R>(
  finalizers: ReadonlyArray<Finalizer<A, B, E, R>>,
  object: A
): Effect.Effect<A, StoreError, Store> => {
  const missing = finalizers.filter((finalizer) => !holds(object, finalizer.name))
  if (missing.length === 0) return Effect.succeed(object)
  const names = [...object.metadata.finalizers ?? [], ...missing.map((finalizer) => finalizer.name)]
  return Effect.flatMap(
    Store,
    (store) => store.patch(missing[0].kind, object, { merge: { metadata: { finalizers: names } } })
  )
}

const cleanUp = Effect.fnUntraced(function*<A extends Any, B, E, R>(
  finalizers: ReadonlyArray<Finalizer<A, B, E, R>>,
  marked: A
): Effect.fn.Return<B | undefined, E | StoreError, R | Store> {
  let object: A | undefined = marked
  for (const finalizer of finalizers.toReversed()) {
    if (object === undefined) return undefined
    if (!holds(object, finalizer.name)) continue
    // Others' names going is a change of the object, which makes another pass.
    if (finalizer.last && (object.metadata.finalizers ?? []).length > 1) continue
    const done = yield* finalizer.cleanup(object)
    if (done !== undefined) return done.outcome
    object = yield* removeName(finalizer.kind, finalizer.name, object)
  }
  return undefined
})

const holds = (object: Any, name: string): boolean => object.metadata.finalizers?.includes(name) === true

/** How often the removal of a name starts anew because others wrote the object meanwhile. */
const removals = 5

/**
 * Compares, then removes. The clean-up may have written the object (its status, say), so a stale revision means: look
 * at what is stored now. Gives the object as stored, `undefined` where this life of it is over.
 */
const removeName = Effect.fnUntraced(function*<A extends Any>(
  kind: Kind<A>,
  name: string,
  marked: A
): Effect.fn.Return<A | undefined, StoreError, Store> {
  const store = yield* Store
  const attempt = (object: A): Effect.Effect<A | undefined, StoreError> => {
    const rest = (object.metadata.finalizers ?? []).filter((other) => other !== name)
    return store.patch(kind, object, { merge: { metadata: { finalizers: rest } } })
  }
  const again: Effect.Effect<A | undefined, StoreError> = Effect.flatMap(
    store.latest(kind, key(marked)),
    (object) => {
      if (object.metadata.uid !== marked.metadata.uid) return Effect.undefined
      return holds(object, name) ? attempt(object) : Effect.succeed(object)
    }
  )
  return yield* attempt(marked).pipe(
    Effect.catchReason(
      "StoreError",
      "Conflict",
      () => Effect.retry(again, { times: removals, while: (error) => error.reason._tag === "Conflict" })
    ),
    Effect.catchReason("StoreError", "NotFound", () => Effect.undefined)
  )
})
