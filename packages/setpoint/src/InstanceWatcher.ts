/**
 * What an instance wants to hear about, asked for from inside its pass.
 *
 * A reconciler that finds out while it runs which objects it depends on asks for them here. The engine keeps the requests
 * of each key from pass to pass, routes every matching change to it, and drops what was not asked for again.
 *
 * **Delivery**
 *
 * - D2: a pass that ends in an Outcome, in `Terminal` or in give-up commits its watch set: what it asked for replaces what
 *   the pass before it had asked for. Any other failure, a defect, a time-out or an interruption rolls back: what was
 *   committed before stays, and the retry asks again. `NotFound` of the requested object and deregistration release
 *   everything. The engine does this; a reconciler cannot forget it.
 * - D6: with `track: true` in a reconciler's options its own `get` and `list` calls through `Store` are its watch set, so
 *   that what it read is what wakes it. A `get` that found nothing counts too, so that creation wakes it, and so does a
 *   `list` by selector. The requested object is never in the set: its own events are judged by the registration's
 *   predicate alone. An extra read costs a look-up in the watch set of the pass before; a new one costs an index entry.
 *
 * **Consistency**
 *
 * A request routes from the moment it is made, and {@link watch} never waits (D1 of `WatchCoordinator`): ask before you
 * read. What the pass read, and what it left unread or wrote, is compared when the cache of the kind has synced; where the
 * cache shows something else, or nothing was read, the key runs once more. A cache that does not sync is told to who asks
 * next ({@link NotSynced}) and as a part of `Health`, which takes no readiness.
 *
 * **Memory** Of the reads before a first sync up to 100 a key and kind are kept.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { AnyKind } from "./Kind.ts"
import type { Transform } from "./Reconciler.ts"
import type { Any } from "./Resource.ts"
import type { Selector } from "./Selector.ts"
import type * as Store from "./Store.ts"

/**
 * Which objects: one by name, those that a selector matches, or those that an object owns. A namespace that is left out
 * is `"default"` for one object of a namespaced kind, and all namespaces elsewhere.
 *
 * @category models
 * @since 0.1.0
 */
export type Request =
  & {
    readonly kind: AnyKind
    /** Another store than the registration's own. */
    readonly store?: Store.Service | undefined
    /**
     * Share a cache of metadata alone; reads of the kind then go to the store (E10). `false` keeps whole objects. Default
     * `true`.
     */
    readonly metadataOnly?: boolean | undefined
    /** Changes each object before it is cached; named, since caches are shared by it. */
    readonly transform?: Transform | undefined
  }
  & (
    | { readonly name: string; readonly namespace?: string | undefined }
    | { readonly selector: Selector | string; readonly namespace?: string | undefined }
    | { readonly ownedBy: Any }
  )

/**
 * A request that cannot be: an invalid selector, a name that cannot exist, a namespace on a cluster kind. Nothing is
 * registered; the pass may go on.
 *
 * @category reasons
 * @since 0.1.0
 */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("InvalidRequest", {
  field: Schema.String,
  why: Schema.String
}) {}

/**
 * The cache of the kind did not sync, and is tried again after its cooldown. The request is registered all the same: it
 * routes when the cache has synced.
 *
 * @category reasons
 * @since 0.1.0
 */
export class NotSynced extends Schema.TaggedError<NotSynced>()("NotSynced", {
  why: Schema.String,
  retryInMillis: Schema.Finite
}) {}

/**
 * {@link watch} was called outside of a pass: nobody could be told.
 *
 * @category reasons
 * @since 0.1.0
 */
export class NoPass extends Schema.TaggedError<NoPass>()("NoPass", {}) {}

/**
 * A watch request that is not live.
 *
 * @category errors
 * @since 0.1.0
 */
export class WatchError extends Schema.TaggedError<WatchError>()("WatchError", {
  kind: Schema.String,
  reason: Schema.Union([InvalidRequest, NotSynced, NoPass])
}) {
  override get message(): string {
    const { reason } = this
    switch (reason._tag) {
      case "InvalidRequest":
        return `watch ${this.kind}: ${reason.field} ${reason.why}`
      case "NotSynced":
        return `watch ${this.kind}: its cache is not synced (${reason.why}); tried again in ${
          Math.round(reason.retryInMillis)
        } ms`
      case "NoPass":
        return `watch ${this.kind}: not inside of a pass; ask in the Effect that the reconciler returns`
    }
  }
}

/**
 * Takes the requests of one pass. Synchronous: `undefined` when all is well.
 *
 * @category models
 * @since 0.1.0
 */
export interface Watcher {
  readonly ask: (request: Request) => InvalidRequest | NotSynced | undefined
}

/**
 * The watcher of the current pass, set by the Controller; `undefined` outside of one.
 *
 * @category references
 * @since 0.1.0
 */
export const Current: Context.Reference<Watcher | undefined> = Context.Reference<Watcher | undefined>(
  "setpoint/InstanceWatcher/Current",
  { defaultValue: () => undefined }
)

/**
 * Accepts everything and hears nothing: for tests of a reconcile function alone.
 *
 * @category models
 * @since 0.1.0
 */
export const noop: Watcher = { ask: () => undefined }

/**
 * Asks to hear about objects from now on, for the key that this pass is of. Never waits (D1). Asking again for the same
 * costs next to nothing and changes nothing. Of the requested object nothing is heard by it: its events are the
 * registration's.
 *
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 * import { InstanceWatcher, Kind, Reconciler, Store } from "setpoint"
 *
 * const App = Kind.make({
 *   group: "example.dev",
 *   version: "v1",
 *   kind: "App",
 *   spec: Schema.Struct({ config: Schema.String })
 * })
 *
 * const Config = Kind.make({
 *   group: "",
 *   version: "v1",
 *   kind: "ConfigMap",
 *   fields: { data: Schema.Record(Schema.String, Schema.String) }
 * })
 *
 * const apps = Reconciler.make(App, {
 *   reconcile: Effect.fn("App.reconcile")(function*(request) {
 *     const app = yield* Store.get(App, request)
 *     yield* InstanceWatcher.watch({ kind: Config, name: app.spec.config })
 *     const config = yield* Store.get(Config, { name: app.spec.config })
 *     yield* Effect.log(config.data)
 *   })
 * })
 * ```
 *
 * @category watching
 * @since 0.1.0
 */
export const watch = (request: Request): Effect.Effect<void, WatchError> =>
  Effect.withFiber((fiber) => {
    const watcher = fiber.getRef(Current)
    const problem = watcher === undefined ? new NoPass() : watcher.ask(request)
    return problem === undefined
      ? Effect.void
      : Effect.fail(new WatchError({ kind: request.kind.groupKind, reason: problem }))
  })
