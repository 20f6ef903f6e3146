/**
 * The informers of a process, shared: whoever asks for the same objects in the same form gets the same informer.
 *
 * **Delivery** (D3) An informer is identified by its store, kind, namespace, selector, the name of its transform, and
 * whether it holds metadata alone. It starts with its first owner and stops with its last, after `idle`. Acquire and
 * release are atomic: an owner never holds an informer that is about to stop. The first owner's other options stand for
 * all. {@link share} never waits; {@link acquire} waits for the first sync, and not while a cooldown runs that grows from
 * 5 seconds to 5 minutes: a kind that is forbidden or missing costs one attempt a cooldown, and never another kind.
 *
 * **Shutdown** Closing the manager's Scope stops every informer, whoever owns it.
 *
 * **Memory** One informer an identity; nothing is kept of one that stopped.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Schema } from "effect"
 * import { Kind, MemoryStore, Store, WatchManager } from "setpoint"
 *
 * const Note = Kind.make({ group: "example.dev", version: "v1", kind: "Note", fields: { text: Schema.String } })
 *
 * const program = Effect.gen(function*() {
 *   const store = yield* Store.Store
 *   const manager = yield* WatchManager.make()
 *   const one = yield* WatchManager.acquire(manager, store, Note.address)
 *   const two = yield* WatchManager.acquire(manager, store, Note.address)
 *   assert.equal(one, two)
 * })
 *
 * Effect.runFork(Effect.scoped(Effect.provide(program, MemoryStore.layer)))
 * ```
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Informer from "./Informer.ts"
import type * as StoreDriver from "./StoreDriver.ts"

const TypeId = "~setpoint/WatchManager"

/**
 * Where the objects come from: what an informer needs to know of a `Store`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Source {
  readonly name: string
  readonly driver: StoreDriver.Service
}

/** @category models @since 0.1.0 */
export interface Options {
  /** How long an informer without owners is kept. Default: not at all. */
  readonly idle?: Duration.Input | undefined
}

/**
 * Shares informers by owner count.
 *
 * @category models
 * @since 0.1.0
 */
export interface WatchManager {
  readonly [TypeId]: typeof TypeId
  readonly idleMillis: number
  /** Informers run in it, not in the Scope of whoever acquires them. */
  readonly scope: Scope.Scope
  /** Informers run with it, so that nothing of a pass that acquires one goes on in them. */
  readonly context: Context.Context<never>
  /** By identity. Written by this module only. */
  readonly shared: Map<string, Shared>
  readonly drivers: WeakMap<StoreDriver.Service, number>
  driverCount: number
}

/** One informer and who owns it. */
interface Shared {
  readonly identity: string
  readonly informer: Informer.Informer
  readonly scope: Scope.Closeable
  owners: number
  /** Counts the acquires, so that an idle wait knows whether it is still the last word. */
  acquired: number
}

/**
 * A manager whose informers live at most as long as the Scope.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): Effect.Effect<WatchManager, never, Scope.Scope> =>
  Effect.contextWith((context: Context.Context<Scope.Scope>) =>
    Effect.sync(() => ({
      [TypeId]: TypeId,
      idleMillis: Math.max(0, Duration.toMillis(options.idle ?? 0)),
      scope: Scope.forkUnsafe(Context.get(context, Scope.Scope)),
      context,
      shared: new Map(),
      drivers: new WeakMap(),
      driverCount: 0
    }))
  )

/**
 * The informer of these objects, owned until the Scope closes. It runs at once and syncs on its own: nothing is waited
 * for.
 *
 * @category sharing
 * @since 0.1.0
 */
export const share = (
  self: WatchManager,
  source: Source,
  at: StoreDriver.KindAddress,
  options: Omit<Informer.Options, "storeName"> = {}
): Effect.Effect<Informer.Informer, Informer.InvalidOptions, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.suspend(() => own(self, source, at, { ...options, storeName: source.name })),
      (shared) => Effect.suspend(() => disown(self, shared))
    ),
    ({ informer }) => informer
  )

/**
 * The cache of these objects did not sync in time, or is between two attempts: why, and when the next one begins.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotSynced extends Schema.TaggedError<NotSynced>()("WatchManager/NotSynced", {
  kind: Schema.String,
  why: Schema.String,
  retryInMillis: Schema.Finite
}) {
  override get message(): string {
    return `the cache of ${this.kind} is not synced: ${this.why}; tried again in ${Math.round(this.retryInMillis)} ms`
  }
}

/**
 * As {@link share}, and waits until the cache is synced: for `syncTimeout` (default 30 seconds) at most, and not at all
 * while its cooldown runs. Who fails owns nothing.
 *
 * @category sharing
 * @since 0.1.0
 */
export const acquire = (
  self: WatchManager,
  source: Source,
  at: StoreDriver.KindAddress,
  options: Omit<Informer.Options, "storeName"> = {}
): Effect.Effect<Informer.Informer, Informer.InvalidOptions | NotSynced, Scope.Scope> =>
  Effect.gen(function*() {
    const outer = yield* Effect.scope
    const clock = yield* Clock.Clock
    const cooldown = (informer: Informer.Informer) =>
      Informer.cooldown(informer, Number(clock.monotonicTimeNanosUnsafe()) / 1e6)
    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const scope = yield* Scope.fork(outer)
        const synced = Effect.gen(function*() {
          const informer = yield* Scope.provide(share(self, source, at, { cooldown: {}, ...options }), scope)
          const cooling = cooldown(informer)
          if (cooling !== undefined) return yield* new NotSynced({ kind: informer.kind, ...cooling })
          yield* Effect.mapError(
            Informer.awaitSynced(informer),
            ({ kind, why }) => new NotSynced({ kind, why, retryInMillis: cooldown(informer)?.retryInMillis ?? 0 })
          )
          return informer
        })
        return yield* Effect.onError(restore(synced), (cause) => Scope.close(scope, Exit.failCause(cause)))
      })
    )
  })

/**
 * The informers that run now.
 *
 * @category getters
 * @since 0.1.0
 */
export const informers = (self: WatchManager): ReadonlyArray<Informer.Informer> =>
  Array.from(self.shared.values(), ({ informer }) => informer)

/** What makes two wishes one. Drivers are told apart by number: two stores of one name are two stores. */
const identityOf = (
  self: WatchManager,
  source: Source,
  at: StoreDriver.KindAddress,
  options: Informer.Options,
  selector: string | undefined
): string => {
  const known = self.drivers.get(source.driver)
  const driver = known ?? ++self.driverCount
  if (known === undefined) self.drivers.set(source.driver, driver)
  const { metadataOnly = false, namespace, transform } = options
  return JSON.stringify([
    source.name,
    driver,
    at.group,
    at.kind,
    namespace ?? null,
    selector ?? null,
    transform?.name ?? null,
    metadataOnly
  ])
}

/** Finds or makes, and counts, in one step; only who made the informer starts it. */
const own = (
  self: WatchManager,
  source: Source,
  at: StoreDriver.KindAddress,
  options: Informer.Options
): Effect.Effect<Shared, Informer.InvalidOptions> => {
  const selector = Informer.selectorText(options.selector)
  if (Result.isFailure(selector)) return Effect.fail(selector.failure)
  const identity = identityOf(self, source, at, options, selector.success)
  const known = self.shared.get(identity)
  if (known !== undefined) {
    known.owners++
    known.acquired++
    return Effect.succeed(known)
  }
  const prepared = Informer.prepare(source.driver, at, options)
  if (Result.isFailure(prepared)) return Effect.fail(prepared.failure)
  const informer = prepared.success
  const shared: Shared = { identity, informer, scope: Scope.forkUnsafe(self.scope), owners: 1, acquired: 1 }
  self.shared.set(identity, shared)
  return Effect.as(
    Effect.updateContext(Scope.provide(Informer.start(informer), shared.scope), () => self.context),
    shared
  )
}

const disown = (self: WatchManager, shared: Shared): Effect.Effect<void> => {
  shared.owners--
  if (shared.owners > 0) return Effect.void
  if (self.idleMillis === 0) return stop(self, shared)
  const { acquired } = shared
  const later = Effect.andThen(
    Effect.sleep(self.idleMillis),
    Effect.suspend(() => shared.acquired === acquired ? stop(self, shared) : Effect.void)
  )
  return Effect.asVoid(Effect.forkIn(later, self.scope))
}

/** Off the map before anything waits: from here on an acquire makes a new one. */
const stop = (self: WatchManager, shared: Shared): Effect.Effect<void> => {
  if (self.shared.get(shared.identity) === shared) self.shared.delete(shared.identity)
  return Scope.close(shared.scope, Exit.void)
}
