/**
 * Informers: a cache of a kind's objects that a list fills and a watch keeps in step, shared by all who read it.
 *
 * An informer works alone: a store's driver and an informer are a useful cache. It holds objects as the store keeps
 * them, frozen and shared, never copied, and tells its handlers of every change synchronously, in the step that takes
 * the change into the cache.
 *
 * **Ordering** Per object, changes are told in the order of the store, never across a uid: where a life ended unseen,
 * `Deleted` of the old life comes before `Added` of the new one. The cache never moves back: an event from before what
 * was seen is refused and leads to a relist, and a most-recent list below it counts only when it comes twice in a row,
 * as a new timeline.
 *
 * **Delivery** Every handler's last word about an object is the store's: a handler that joins late is first told of
 * every cached object, and a relist tells the difference between the cache and the list, deletions included, as one
 * batch with nothing in between (E6). After a new timeline every object is told again. A handler that dies is counted
 * and logged; neither the other handlers nor the informer notice.
 *
 * **Consistency** A change is in the cache, in its indexes and told in one synchronous step. A list is staged beside
 * the cache and taken over in one step: no reader sees a part of it. `revision` is what the cache has seen, bookmarks
 * included (E10).
 *
 * **Shutdown** Closing the Scope ends the watch and all fibers of the informer; no handler hears anything after.
 *
 * **Memory** One entry an object beside the object itself. A relist stages entries, not copies: what did not change
 * is dropped page by page. {@link changes} keeps what its reader has not taken yet, coalesced to at most two changes a
 * key; keys that came and went unread are dropped.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Schema } from "effect"
 * import { Informer, Kind, MemoryStore, Store } from "setpoint"
 *
 * const Note = Kind.make({ group: "example.dev", version: "v1", kind: "Note", fields: { text: Schema.String } })
 *
 * const program = Effect.gen(function*() {
 *   const { driver } = yield* Store.Store
 *   yield* Store.create(Note, { metadata: { name: "first", labels: { topic: "caches" } }, text: "hello" })
 *
 *   const informer = yield* Informer.make(driver, Note.address)
 *   yield* Informer.awaitSynced(informer)
 *   assert.equal(Informer.get(informer, { namespace: "default", name: "first" })?.["text"], "hello")
 *
 *   const heard: Array<string> = []
 *   yield* Informer.subscribe(informer, { onChange: ({ entry, type }) => heard.push(`${type} ${entry.name}`) })
 *   assert.deepEqual(heard, ["Added first"])
 * })
 *
 * Effect.runFork(Effect.scoped(Effect.provide(program, MemoryStore.layer)))
 * ```
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Pull from "effect/Pull"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Rules from "./internal/informer.ts"
import * as Buffer from "./internal/informerBuffer.ts"
import * as Cache from "./internal/informerCache.ts"
import * as Machine from "./internal/informerMachine.ts"
import * as Run from "./internal/informerRun.ts"
import { seriesOf } from "./internal/informerSeries.ts"
import * as Names from "./internal/names.ts"
import * as Metrics from "./Metrics.ts"
import { groupKind, type Key, type Raw } from "./Resource.ts"
import type { Revision } from "./Revision.ts"
import * as Selector from "./Selector.ts"
import type * as StoreDriver from "./StoreDriver.ts"

const TypeId = "~setpoint/Informer"

/**
 * Changes each object before it is cached, to keep less of it or to hide parts. It must keep name, namespace, uid and
 * resourceVersion. Where it fails, the object is cached with its metadata alone (no annotations, no managed fields), so
 * that nothing is shown that it would have hidden; health counts it. Informers are shared by its name.
 *
 * @category models
 * @since 0.1.0
 */
export interface Transform {
  readonly name: string
  readonly f: (object: Raw) => Raw
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Name of the store, for logs and health. Default `"default"`. */
  readonly storeName?: string | undefined
  /** Only this namespace. Default: all. */
  readonly namespace?: string | undefined
  /** Only objects that match. Default: all. */
  readonly selector?: Selector.Selector | string | undefined
  /** Keep metadata alone. Default `false`. */
  readonly metadataOnly?: boolean | undefined
  readonly transform?: Transform | undefined
  /** By which texts objects can be found with {@link list}, by name of the index. */
  readonly indexes?: { readonly [name: string]: (object: Raw) => ReadonlyArray<string> } | undefined
  /**
   * How the first list and relists come: in pages, or streamed through the watch (pages where the store refuses).
   * Default `"paged"`.
   */
  readonly initial?: "paged" | "streamed" | undefined
  /** Objects a page. Default 500. */
  readonly pageSize?: number | undefined
  /** Events that the store buffers for the watch before it ends with `Lagged`. Default 1,024. */
  readonly bufferSize?: number | undefined
  /**
   * Every object is handed again to the handlers that ask for it, once in this time, ±10 %, spread evenly. Default 10
   * hours.
   */
  readonly redelivery?: Duration.Input | undefined
  /** Lists anew after this time, ±10 %, even where the watch is fine. Default: never. */
  readonly relist?: Duration.Input | undefined
  /** A watch that brings nothing for this long, not even a bookmark, is begun anew. Default 5 minutes. */
  readonly idleTimeout?: Duration.Input | undefined
  /** How long {@link awaitSynced} waits. Default 30 seconds. */
  readonly syncTimeout?: Duration.Input | undefined
  /**
   * Waits between the attempts at the first list, doubling from `base` (default 5 seconds) to `cap` (default 5 minutes);
   * each attempt may then take no longer than `syncTimeout`. A kind that is missing or forbidden costs one attempt a
   * cooldown. Default: as after any other failure.
   */
  readonly cooldown?: {
    readonly base?: Duration.Input | undefined
    readonly cap?: Duration.Input | undefined
  } | undefined
  /** Waits after failures in a row: doubling from `base` to `cap`, jittered by 0.8 to 1.2, forgotten after `reset`. */
  readonly backoff?: {
    /** Default 800 ms. */
    readonly base?: Duration.Input | undefined
    /** Default 30 seconds. */
    readonly cap?: Duration.Input | undefined
    /** Default 2 minutes. */
    readonly reset?: Duration.Input | undefined
  } | undefined
}

/**
 * An option that cannot be right: which, and what would be.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidOptions extends Schema.TaggedError<InvalidOptions>()("Informer/InvalidOptions", {
  option: Schema.String,
  why: Schema.String
}) {
  override get message(): string {
    return `informer option ${this.option} ${this.why}`
  }
}

/**
 * The first list was not complete in time; `why` says what holds it.
 *
 * @category errors
 * @since 0.1.0
 */
export class SyncTimeout extends Schema.TaggedError<SyncTimeout>()("Informer/SyncTimeout", {
  kind: Schema.String,
  waitedMillis: Schema.Finite,
  why: Schema.String
}) {
  override get message(): string {
    return `the cache of ${this.kind} did not sync in ${this.waitedMillis} ms: ${this.why}`
  }
}

/**
 * One cached object, interned: the same entry as long as its key is cached. `raw` is the object of now, `undefined` once
 * it left the cache.
 *
 * @category models
 * @since 0.1.0
 */
export interface Entry extends Key {
  readonly raw: Raw | undefined
}

/**
 * How a change came to be known: live, by the first list (or a replay to a late handler), as difference found by a
 * relist, handed again though unchanged, or after a new timeline (then every object is told).
 *
 * @category models
 * @since 0.1.0
 */
export type Via = Rules.Via

/**
 * What became of an object. `object` is its new state, of `Deleted` its last; `old` what the cache held before. Of a
 * redelivery, and of what a new timeline did not change, `old` is `object`. `revision` of `Deleted` is that of the
 * delete, found by a relist that of the list.
 *
 * @category models
 * @since 0.1.0
 */
export interface Change {
  readonly type: "Added" | "Modified" | "Deleted"
  readonly via: Via
  readonly entry: Entry
  readonly object: Raw
  readonly old: Raw | undefined
  readonly revision: Revision
  readonly writeId: string | undefined
}

/**
 * Hears of every change, synchronously, in the informer's own step: a handler must not wait and should cost little. For
 * readers that take their time there is {@link changes}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Handler {
  readonly onChange: (change: Change) => void
  /** After a batch: the cache has seen everything up to `revision` (E10). */
  readonly onRevision?: ((revision: Revision) => void) | undefined
  /** A list was told whole: the first, or a relist. */
  readonly onSynced?: (() => void) | undefined
  /** The store is another one than it was; every object follows, via `"newTimeline"`. */
  readonly onNewTimeline?: (() => void) | undefined
  /** The informer was closed: nothing follows. */
  readonly onClosed?: (() => void) | undefined
  /** Whether unchanged objects are handed again now and then. Default `false`. */
  readonly redelivery?: boolean | undefined
}

/**
 * A handler's place at an informer: `A` is what it hangs on entries.
 *
 * @category models
 * @since 0.1.0
 */
export interface Subscription<in out A = never> {
  /** What was hung on the entry by this subscription. */
  readonly get: (entry: Entry) => A | undefined
  /** Without effect once the subscription is closed. */
  readonly set: (entry: Entry, value: A | undefined) => void
}

/** @category models @since 0.1.0 */
export interface Counters extends Readonly<Rules.Counters> {}

/** @category models @since 0.1.0 */
export interface Health {
  readonly store: string
  readonly kind: string
  /** The cache is whole: it holds a list, and no gap is known. */
  readonly synced: boolean
  readonly state: "Idle" | "Listing" | "Watching" | "BackingOff" | "Closed"
  /** How long it has been in this state. */
  readonly sinceMillis: number
  readonly lastError: string | undefined
  /** Why there is no live watch over a whole cache, in one sentence; `undefined` where there is. */
  readonly why: string | undefined
  readonly objects: number
  readonly revision: Revision | undefined
  readonly handlers: number
  readonly counters: Counters
}

/**
 * Which objects to list from a cache.
 *
 * @category models
 * @since 0.1.0
 */
export interface ListOptions {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  /** Only dependents of this uid. */
  readonly ownerUid?: string | undefined
  readonly selector?: Selector.Selector | undefined
  /** Only those that the index of this name gives `value` for. */
  readonly index?: { readonly name: string; readonly value: string } | undefined
  /** In the store's order, the UTF-8 bytes of `namespace/name` (S8). Default `false`: in any order. */
  readonly sorted?: boolean | undefined
}

/**
 * A cache of a kind's objects, kept in step by a watch.
 *
 * @category models
 * @since 0.1.0
 */
export interface Informer {
  readonly [TypeId]: typeof TypeId
  readonly at: StoreDriver.KindAddress
  /** `Website.example.dev`. */
  readonly kind: string
  readonly store: string
  readonly namespace: string | undefined
  /** Canonical text; `undefined` for all objects. */
  readonly selector: string | undefined
  /** Whether it holds whole objects: neither metadata alone nor transformed ones. */
  readonly full: boolean
  /** What the informer works with. Written by this module only. */
  readonly work: Run.Work
}

/**
 * Leaves `managedFields` out, which are often a third of an object and seldom read. Reads that need whole objects then
 * go to the store.
 *
 * @category transforms
 * @since 0.1.0
 */
export const withoutManagedFields: Transform = {
  name: "withoutManagedFields",
  f: (object) => {
    if (object.metadata.managedFields === undefined) return object
    const { managedFields: _managedFields, ...metadata } = object.metadata
    return { ...object, metadata }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * An informer that runs until the Scope closes. It is there at once and syncs on its own: {@link awaitSynced} waits for
 * it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: (
  driver: StoreDriver.Service,
  at: StoreDriver.KindAddress,
  options?: Options
) => Effect.Effect<Informer, InvalidOptions, Scope.Scope> = Effect.fnUntraced(function*(driver, at, options) {
  const informer = yield* Effect.fromResult(prepare(driver, at, options))
  yield* start(informer)
  return informer
})

/**
 * Runs a prepared informer until the Scope closes.
 *
 * @internal
 */
export const start = (self: Informer): Effect.Effect<void, never, Scope.Scope> =>
  Effect.andThen(
    Metrics.register(seriesOf(self.store, self.full, self.work)),
    Effect.asVoid(Effect.acquireRelease(
      Effect.forkScoped(Run.run(self.work), { startImmediately: true }),
      () => Effect.map(Run.now, (millis) => Rules.close(self.work.state, millis))
    ))
  )

/**
 * An informer that does not run yet: synchronous, so that who shares informers can make and note one in one step.
 *
 * @internal
 */
export const prepare = (
  driver: StoreDriver.Service,
  at: StoreDriver.KindAddress,
  options: Options = {}
): Result.Result<Informer, InvalidOptions> => {
  const flaws: Array<InvalidOptions> = []
  const refuse = (option: string, why: string) => flaws.push(new InvalidOptions({ option, why }))
  const duration = (option: string, input: Duration.Input | undefined, byDefault: number, least: number): number => {
    if (input === undefined) return byDefault
    const millis = toMillis(input)
    if (millis >= least) return millis
    refuse(option, `must be a duration of at least ${least} ms, or "Infinity" for never`)
    return byDefault
  }
  const count = (option: string, input: number | undefined, byDefault: number): number => {
    if (input === undefined) return byDefault
    if (Number.isSafeInteger(input) && input > 0) return input
    refuse(option, "must be a whole number above 0")
    return byDefault
  }
  const base = duration("backoff.base", options.backoff?.base, 800, 1)
  const cap = duration("backoff.cap", options.backoff?.cap, 30_000, 1)
  if (!Number.isFinite(base) || !Number.isFinite(cap)) {
    refuse("backoff", "must be finite, else a failure is never retried")
  }
  if (cap < base) refuse("backoff.cap", "must not be below backoff.base")
  if (options.namespace !== undefined) {
    const flaw = at.scope === "Cluster"
      ? `cannot be given: ${at.kind} is a cluster kind`
      : Names.checkLabel(options.namespace)
    if (flaw !== undefined) refuse("namespace", flaw)
  }
  if (options.transform?.name === "") refuse("transform.name", "must not be empty: informers are shared by it")
  const settings: Run.Settings = {
    metadataOnly: options.metadataOnly ?? false,
    pageSize: count("pageSize", options.pageSize, 500),
    bufferSize: count("bufferSize", options.bufferSize, 1024),
    redeliveryMillis: duration("redelivery", options.redelivery, 36_000_000, 1),
    relistMillis: duration("relist", options.relist, Infinity, 1),
    idleMillis: duration("idleTimeout", options.idleTimeout, 300_000, 1),
    syncMillis: duration("syncTimeout", options.syncTimeout, 30_000, 0)
  }
  const cooldown = options.cooldown && {
    baseMillis: duration("cooldown.base", options.cooldown.base, 5_000, 1),
    capMillis: duration("cooldown.cap", options.cooldown.cap, 300_000, 1)
  }
  if (cooldown !== undefined && cooldown.capMillis < cooldown.baseMillis) {
    refuse("cooldown.cap", "must not be below cooldown.base")
  }
  const policy: Machine.Policy = {
    streamed: options.initial === "streamed",
    cooldown,
    backoffBaseMillis: base,
    backoffCapMillis: cap,
    resetAfterMillis: duration("backoff.reset", options.backoff?.reset, 120_000, 0)
  }
  const selector = selectorText(options.selector)
  if (Result.isFailure(selector)) flaws.push(selector.failure)
  const flaw = flaws[0]
  if (flaw !== undefined) return Result.fail(flaw)
  const state = Rules.make(Machine.make(policy), {
    transform: options.transform?.f,
    snapshots: driver.capabilities.snapshotPages
  })
  const indexes = new Map<string, Cache.Values>()
  for (const [name, f] of Object.entries(options.indexes ?? {})) {
    const values = contained(state, name, f)
    indexes.set(name, values)
    Cache.useIndex(state.cache, `index:${name}`, values)
  }
  const kind = groupKind(at)
  const where = { at, kind, namespace: options.namespace, selector: Result.getOrUndefined(selector) }
  return Result.succeed({
    [TypeId]: TypeId,
    ...where,
    store: options.storeName ?? "default",
    full: !settings.metadataOnly && options.transform === undefined,
    work: {
      ...where,
      driver,
      settings,
      state,
      synced: Latch.makeUnsafe(false),
      indexes,
      lastSignMillis: 0,
      relistAtMillis: Infinity
    }
  })
}

/**
 * The canonical text of a selector, `undefined` where it selects everything.
 *
 * @internal
 */
export const selectorText = (
  selector: Selector.Selector | string | undefined
): Result.Result<string | undefined, InvalidOptions> => {
  const parsed = typeof selector === "string" ? Selector.parse(selector) : Result.succeed(selector)
  return Result.mapBoth(parsed, {
    onSuccess: (_) => _ === undefined || _.text === "" ? undefined : _.text,
    onFailure: (error) => new InvalidOptions({ option: "selector", why: error.message })
  })
}

/** `NaN` for what is no duration. */
const toMillis = (input: Duration.Input): number => {
  if (typeof input === "number") return input
  const duration = Duration.fromInput(input)
  return duration._tag === "Some" ? Duration.toMillis(duration.value) : Number.NaN
}

/** An index function that dies indexes the object under nothing. */
const contained = (
  state: Rules.State,
  name: string,
  f: (object: Raw) => ReadonlyArray<string>
): Cache.Values =>
(raw) => {
  try {
    return f(raw)
  } catch (defect) {
    Rules.noteDefect(state, `the index ${name} failed on ${raw.metadata.name}`, defect)
    return []
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// reading
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The cached object, `undefined` where there is none.
 *
 * @category reads
 * @since 0.1.0
 */
export const get = (self: Informer, key: Key): Raw | undefined =>
  Cache.find(self.work.state.cache, key.namespace, key.name)?.raw

/**
 * The entry of a cached object, `undefined` where there is none.
 *
 * @category reads
 * @since 0.1.0
 */
export const entry = (self: Informer, key: Key): Entry | undefined =>
  Cache.find(self.work.state.cache, key.namespace, key.name)

/**
 * The cached objects that fit. Owner uids, labels and indexes are looked up; the look-up table of an owner or a label
 * is built when first asked for and kept in step from then on.
 *
 * @category reads
 * @since 0.1.0
 */
export const list = (self: Informer, options: ListOptions = {}): ReadonlyArray<Raw> => {
  const found: Array<Cache.Entry> = []
  for (const entry of candidates(self, options)) {
    const { raw } = entry
    if (raw === undefined) continue
    if (options.namespace !== undefined && entry.namespace !== options.namespace) continue
    if (options.name !== undefined && entry.name !== options.name) continue
    if (options.selector !== undefined && !Selector.matches(options.selector, raw.metadata.labels)) continue
    if (options.ownerUid !== undefined && !ownerUids(raw).includes(options.ownerUid)) continue
    found.push(entry)
  }
  if (options.sorted === true) found.sort(Cache.inStoreOrder)
  const objects: Array<Raw> = []
  for (const { raw } of found) if (raw !== undefined) objects.push(raw)
  return objects
}

const candidates = (self: Informer, options: ListOptions): Iterable<Cache.Entry> => {
  const { cache } = self.work.state
  const { index, name, namespace, ownerUid, selector } = options
  if (index !== undefined) {
    const values = self.work.indexes.get(index.name)
    return values === undefined ? [] : Cache.indexed(cache, `index:${index.name}`, values, index.value)
  }
  if (ownerUid !== undefined) return Cache.indexed(cache, "owner", ownerUids, ownerUid)
  if (name !== undefined && namespace !== undefined) {
    const entry = Cache.find(cache, namespace, name)
    return entry === undefined ? [] : [entry]
  }
  const label = selector?.requirements.find(({ operator, values }) => operator === "In" && values.length === 1)
  const value = label?.values[0]
  if (label !== undefined && value !== undefined) {
    return Cache.indexed(cache, `label:${label.key}`, labelValues(label.key), value)
  }
  return Cache.entries(cache, namespace)
}

const ownerUids: Cache.Values = (raw) => raw.metadata.ownerReferences?.map(({ uid }) => uid) ?? []

const labelValues = (key: string): Cache.Values => (raw) => {
  const value = raw.metadata.labels?.[key]
  return value === undefined ? [] : [value]
}

/** @category reads @since 0.1.0 */
export const size = (self: Informer): number => self.work.state.cache.content.size

/**
 * Everything up to this revision is in the cache, bookmarks included; `undefined` before the first list.
 *
 * @category reads
 * @since 0.1.0
 */
export const revision = (self: Informer): Revision | undefined => self.work.state.machine.revision

/**
 * Whether the cache is whole now: it holds a list and no gap is known. Between an expired watch and the relist that
 * cures it, it is not.
 *
 * @category reads
 * @since 0.1.0
 */
export const isSynced = (self: Informer): boolean => self.work.state.machine.synced

/**
 * Whether the cache holds all that a read asks for: its namespace, its selector (canonical text), and whole objects
 * where `full` (the default).
 *
 * @category reads
 * @since 0.1.0
 */
export const covers = (
  self: Informer,
  read: {
    readonly namespace?: string | undefined
    readonly selector?: string | undefined
    readonly full?: boolean | undefined
  } = {}
): boolean =>
  (self.full || read.full === false) &&
  (self.namespace === undefined || self.namespace === read.namespace) &&
  (self.selector === undefined || self.selector === read.selector)

/**
 * Waits until the first list is in the cache and was told to the handlers.
 *
 * @category synchronization
 * @since 0.1.0
 */
export const synced = (self: Informer): Effect.Effect<void> => self.work.synced.await

/**
 * As {@link synced}, but at most for the informer's `syncTimeout`: then it fails and says what holds the list.
 *
 * @category synchronization
 * @since 0.1.0
 */
export const awaitSynced = (self: Informer): Effect.Effect<void, SyncTimeout> => {
  const waitedMillis = self.work.settings.syncMillis
  return Effect.timeoutOrElse(synced(self), {
    duration: waitedMillis,
    orElse: () => {
      const why = Machine.why(self.work.state.machine) ?? "its handlers are still being told"
      return Effect.fail(new SyncTimeout({ kind: self.kind, waitedMillis, why }))
    }
  })
}

/**
 * Why the last attempt at the first list failed, and when the next one begins; `undefined` where no cooldown runs.
 *
 * @category getters
 * @since 0.1.0
 */
export const cooldown = (
  self: Informer,
  nowMillis: number
): { readonly why: string; readonly retryInMillis: number } | undefined =>
  Machine.cooldown(self.work.state.machine, nowMillis)

/**
 * Why there is no live watch over a whole cache, in one sentence; `undefined` where there is one.
 *
 * @category getters
 * @since 0.1.0
 */
export const why = (self: Informer): string | undefined => Machine.why(self.work.state.machine)

/**
 * How the informer is, and why it is not well.
 *
 * @category health
 * @since 0.1.0
 */
export const health = (self: Informer): Effect.Effect<Health> =>
  Effect.map(Run.now, (millis) => {
    const { state } = self.work
    const { machine } = state
    return {
      store: self.store,
      kind: self.kind,
      synced: machine.synced,
      state: machine.place._tag,
      sinceMillis: Math.max(0, millis - machine.sinceMillis),
      lastError: machine.lastError,
      why: Machine.why(machine),
      objects: state.cache.content.size,
      revision: machine.revision,
      handlers: state.subscriptions.length,
      counters: { ...state.counters }
    }
  })

// ---------------------------------------------------------------------------------------------------------------------
// subscribing
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Joins a handler until the Scope closes. What is cached already is told first, as `Added` via `"initial"`, in slices
 * between which others run; live changes meanwhile are told in their order per object. When this returns, the handler
 * knows all that is cached.
 *
 * @category subscribing
 * @since 0.1.0
 */
export const subscribe = Effect.fnUntraced(function*<A = never>(
  self: Informer,
  handler: Handler
): Effect.fn.Return<Subscription<A>, never, Scope.Scope> {
  const { state } = self.work
  const subscription = yield* Effect.acquireRelease(
    Effect.sync(() => Rules.subscribe(state, handler)),
    (subscription) => unsubscribe(state, subscription)
  )
  if (subscription.told !== undefined) {
    yield* Run.sliced(Cache.entries(state.cache), (entry) => Rules.replay(state, subscription, entry))
    Rules.replayed(subscription)
  }
  yield* Run.logDefects(self.work)
  return {
    get: (entry) =>
      subscription.index === undefined
        ? undefined
        : Cache.slot(entry as Cache.Entry, subscription.index) as A | undefined, // what `set` of this slot put there
    set: (entry, value) => {
      if (subscription.active) Cache.setSlot(entry as Cache.Entry, Rules.slotOf(state, subscription), value)
    }
  }
})

const unsubscribe = Effect.fnUntraced(function*(state: Rules.State, subscription: Rules.Subscription) {
  Rules.unsubscribe(state, subscription)
  const { index } = subscription
  if (index === undefined) return
  yield* Run.sliced(Cache.entries(state.cache), (entry) => Cache.setSlot(entry, index, undefined))
  Rules.slotIsCleared(state, subscription)
})

/**
 * Every change, for readers that take their time: first what is cached, as `Added`, then live. What was not taken yet is
 * coalesced: changes of one life of an object are one change, never across a uid, and a life that came and went
 * meanwhile is left out. The stream ends when the informer is closed.
 *
 * @category subscribing
 * @since 0.1.0
 */
export const changes = (
  self: Informer,
  options?: {
    /** Whether unchanged objects come again now and then. Default `false`. */
    readonly redelivery?: boolean | undefined
  }
): Stream.Stream<Change> =>
  Stream.scoped(Stream.fromPull(Effect.gen(function*() {
    const buffer = Buffer.make()
    const news = Latch.makeUnsafe(false)
    yield* subscribe(self, {
      onChange: (change) => {
        Buffer.add(buffer, change)
        news.openUnsafe()
      },
      onClosed: () => news.openUnsafe(),
      redelivery: options?.redelivery
    })
    const pull: Pull.Pull<Arr.NonEmptyReadonlyArray<Change>> = Effect.suspend(() => {
      const taken = Buffer.takeAll(buffer)
      if (Arr.isReadonlyArrayNonEmpty(taken)) return Effect.succeed(taken)
      if (self.work.state.machine.place._tag === "Closed") return Cause.done()
      news.closeUnsafe()
      return Effect.andThen(news.await, pull)
    })
    return pull
  })))
