/**
 * Reconcilers: how the objects of one kind are brought to their desired state, declared as a value.
 *
 * **Delivery** (E2) A pass ends in an {@link Outcome} or in a failure; which end leads to what stands in one switch.
 * - `done`, `requeue`, `requeueAfter(d)`: the failures of the key are forgotten.
 * - Any typed error retries by the registration's `retry` Schedule. A pass that fails before its pending retry was due,
 *   because an event came first, does not step the Schedule, and the retry keeps its time.
 * - {@link Terminal} is not retried: the key waits for a wake-up other than redelivery, with a slow safety recheck.
 * - A defect is a failure, counted apart, and never fatal.
 * - `Conflict` of a store holds the key until the covering cache has another revision than the write carried, at most
 *   10 s; it is counted apart, and an ordinary failure from the fifth in a row.
 * - An interruption that the engine ordered is no failure: a newer spec runs again at once; shutdown, deregistration and
 *   the drain deadline drop the key. Any other interruption, and the pass's own deadline (E9), is a failure.
 * - `TooManyRequests`: the later of its `retryAfter` and the Schedule's time.
 * - `NotFound` of the requested object ends the key quietly.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { AnyKind, Kind } from "./Kind.ts"
import type { Outcome } from "./Outcome.ts"
import type { Change, Predicate } from "./Predicate.ts"
import type { Request, Target } from "./Request.ts"
import type { Any, Raw } from "./Resource.ts"
import type { Selector } from "./Selector.ts"
import type * as Store from "./Store.ts"

/**
 * The failure that no retry cures: a spec that cannot be carried out, an immutable field. The key waits for a change,
 * with a slow safety recheck (default 30 minutes).
 *
 * @category errors
 * @since 0.1.0
 */
export class Terminal extends Schema.TaggedError<Terminal>()("Terminal", {
  why: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {
  override get message(): string {
    return this.why
  }
}

/**
 * A failure that no retry cures.
 *
 * @category constructors
 * @since 0.1.0
 */
export const terminal = (why: string, cause?: unknown): Terminal =>
  new Terminal(cause === undefined ? { why } : { why, cause })

/**
 * Changes each object before it is cached; named, since informers are shared by it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Transform {
  readonly name: string
  readonly f: (object: Raw) => Raw
}

/**
 * Which objects of a kind an input watches, and from which store.
 *
 * @category models
 * @since 0.1.0
 */
export interface InputOptions<A extends Any> {
  /** Which watch events count. Default {@link Predicate.revisionChanged}. */
  readonly predicate?: Predicate<A> | undefined
  /** Only this namespace. Default: all. */
  readonly namespace?: string | undefined
  /** Only objects that match. Default: all. */
  readonly selector?: Selector | string | undefined
  /** Keep metadata alone in the cache; reads of the kind then go to the store. Default `false`. */
  readonly metadataOnly?: boolean | undefined
  readonly transform?: Transform | undefined
  /** Do not wait for this cache before the first pass (E4). Default `false`. */
  readonly optional?: boolean | undefined
  /** Another store than the one in the Layer's context. */
  readonly store?: Store.Service | undefined
}

/** What all inputs have, whatever the type of their objects. */
interface AnyInput {
  readonly kind: AnyKind
  readonly predicate: Predicate<never> | undefined
  readonly namespace: string | undefined
  readonly selector: Selector | string | undefined
  readonly metadataOnly: boolean
  readonly transform: Transform | undefined
  readonly optional: boolean
  readonly store: Store.Service | undefined
}

/**
 * Objects that the reconciled ones own: a change of one runs its owner, which is found by owner reference. Made by
 * {@link own}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Owned extends AnyInput {
  readonly _tag: "Owned"
  readonly controllerOnly: boolean
}

/**
 * Objects that the reconciled ones depend on. Made by {@link watch}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Watched<out R = never> extends AnyInput {
  readonly _tag: "Watched"
  readonly map: Mapping<never, R>
}

/**
 * Whom a change concerns: asked for the new and for the old state of an object; duplicates collapse.
 *
 * @category models
 * @since 0.1.0
 */
export type Mapping<in A, out R = never> = (
  object: A,
  change: Change<A>
) => ReadonlyArray<Target> | Effect.Effect<ReadonlyArray<Target>, unknown, R>

/**
 * Requests from anywhere: a webhook, a timer, a message queue. Made by {@link fromStream}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Source<out R = never> {
  readonly name: string
  readonly targets: Stream.Stream<Target, unknown, R>
}

/**
 * Slows a key that flaps and never drops it: after more than `passes` within `per`, the next ones are spread so that the
 * rate is kept. Of a key that has no object nothing is remembered between passes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Breaker {
  readonly passes: number
  readonly per: Duration.Input
}

/**
 * What {@link make} takes. Everything but `reconcile` has a default that is right for production.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<A extends Any, R, R2 = never> {
  /** One pass: make the world match the object. Returning nothing means `Outcome.done`. */
  readonly reconcile: (request: Request) => Effect.Effect<Outcome | void, unknown, R>
  /** Name of the registration, in metrics and logs. Default: the kind's plural. */
  readonly name?: string | undefined
  /** Which events of its own objects cause a pass. Default {@link Predicate.intentChanged} (E7). */
  readonly predicate?: Predicate<A> | undefined
  /** Only this namespace. Default: all. */
  readonly namespace?: string | undefined
  /** Only objects that match. Default: all. */
  readonly selector?: Selector | string | undefined
  readonly transform?: Transform | undefined
  /** Kinds whose objects the reconciled ones own: a kind alone, or {@link own} with options. */
  readonly owns?: ReadonlyArray<AnyKind | Owned> | undefined
  readonly watches?: ReadonlyArray<Watched<R2>> | undefined
  readonly sources?: ReadonlyArray<Source<R2>> | undefined
  /** Passes at once. Default: the Controller's workers. */
  readonly concurrency?: number | undefined
  /** Share of the workers beside other registrations. Default 1. */
  readonly weight?: number | undefined
  /** Delay after failures. Default 5 ms doubling to 5 min, jitter 0.8 to 1.2. When it ends, the key gives up (E3). */
  readonly retry?: Schedule.Schedule<unknown> | undefined
  /** Retries in a row after which a key gives up (E3). Default: never. */
  readonly maxRetries?: number | undefined
  /** Delay of `Outcome.requeue`, stepped by requeues in a row. Default as `retry`. */
  readonly requeue?: Schedule.Schedule<unknown> | undefined
  /** A pass that takes longer is interrupted and fails (E9). Default: none. */
  readonly deadline?: Duration.Input | undefined
  /** Waits for quiet before a key is queued: each add restarts the window, up to `maxWait` (default five windows). */
  readonly debounce?: { readonly window: Duration.Input; readonly maxWait?: Duration.Input | undefined } | undefined
  /** Slow recheck after `Terminal` and give-up. Default 30 minutes. */
  readonly recheck?: Duration.Input | undefined
  /** Hands unchanged objects to the reconciler again, spread with jitter. Default 10 hours. */
  readonly redelivery?: Duration.Input | undefined
  /** Interrupts a running pass when its object's desired state changes. Default `false`. */
  readonly cancelOnNewerSpec?: boolean | undefined
  /**
   * Whether an object is suspended: its passes are skipped until it is not, and it goes on hearing of its changes. Deletion
   * runs all the same. Beside the annotation `setpoint.dev/paused: "true"`. A status that declares `paused` shows it.
   * Default: never.
   */
  readonly suspended?: ((object: A) => boolean) | undefined
  /**
   * Make the reads of a pass its watch set: what it read through `Store` is what wakes it (D6 of `InstanceWatcher`).
   * Default `false`.
   */
  readonly track?: boolean | undefined
  /** Default: none. */
  readonly breaker?: Breaker | undefined
}

/**
 * A reconciler of one kind, which needs services `R`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reconciler<out R> {
  readonly kind: AnyKind
  readonly name: string
  readonly options: Options<never, R, R>
}

/**
 * Declares a reconciler.
 *
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 * import { Kind, Outcome, Reconciler, Store } from "setpoint"
 *
 * const Website = Kind.make({
 *   group: "example.dev",
 *   version: "v1",
 *   kind: "Website",
 *   spec: Schema.Struct({ host: Schema.String })
 * })
 *
 * const websites = Reconciler.make(Website, {
 *   reconcile: Effect.fn("Website.reconcile")(function*(request) {
 *     const site = yield* Store.get(Website, request)
 *     yield* Effect.log(`${site.spec.host} is as it should be`)
 *     return Outcome.requeueAfter("10 seconds")
 *   })
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <A extends Any, R = never, R2 = never>(
  kind: Kind<A>,
  options: Options<A, R, R2>
): Reconciler<Exclude<R, Scope.Scope> | R2> => ({
  kind,
  name: options.name ?? kind.address.plural,
  // Each pass has a Scope of its own; the object type stays with the kind, which decodes what predicates are given.
  options: options as Options<never, Exclude<R, Scope.Scope> | R2, Exclude<R, Scope.Scope> | R2>
})

const input = <A extends Any>(kind: Kind<A>, options: InputOptions<A>): AnyInput => ({
  kind,
  predicate: options.predicate,
  namespace: options.namespace,
  selector: options.selector,
  metadataOnly: options.metadataOnly ?? false,
  transform: options.transform,
  optional: options.optional ?? false,
  store: options.store
})

/**
 * An owned kind with options; a kind alone in `owns` has the defaults.
 *
 * @category constructors
 * @since 0.1.0
 */
export const own = <A extends Any>(
  kind: Kind<A>,
  options: InputOptions<A> & {
    /** Only the owner that is marked as controller. Default `true`. */
    readonly controllerOnly?: boolean | undefined
  } = {}
): Owned => ({ _tag: "Owned", ...input(kind, options), controllerOnly: options.controllerOnly ?? true })

/**
 * A kind that others depend on, and whom its changes concern.
 *
 * @example
 * ```ts
 * import { Kind, Reconciler } from "setpoint"
 * import * as Schema from "effect/Schema"
 *
 * const Config = Kind.make({ group: "", version: "v1", kind: "ConfigMap", fields: { data: Schema.Record(Schema.String, Schema.String) } })
 *
 * const configs = Reconciler.watch(Config, (config) => [{ namespace: "default", name: config.metadata.name }])
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const watch = <A extends Any, R = never>(
  kind: Kind<A>,
  map: Mapping<A, R>,
  options: InputOptions<A> = {}
): Watched<R> => ({ _tag: "Watched", ...input(kind, options), map })

/**
 * Requests from a stream, restarted with backoff when it ends or fails.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromStream = <E, R>(name: string, targets: Stream.Stream<Target, E, R>): Source<R> => ({ name, targets })
