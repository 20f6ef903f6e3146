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
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Pull from "effect/Pull"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Rules from "./internal/informer.ts"
import * as Buffer from "./internal/informerBuffer.ts"
import * as Cache from "./internal/informerCache.ts"
import * as Machine from "./internal/informerMachine.ts"
import * as Pass from "./Pass.ts"
import type { Key, Raw } from "./Resource.ts"
import type { Cursor, Revision } from "./Revision.ts"
import * as Selector from "./Selector.ts"
import type * as StoreDriver from "./StoreDriver.ts"
import type { StoreError } from "./StoreError.ts"

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
  readonly work: Work
}

/** What an informer works with. */
interface Work {
  readonly driver: StoreDriver.Service
  readonly settings: Settings
  readonly state: Rules.State
  /** Opens when the first list was told. */
  readonly synced: Latch.Latch
  readonly indexes: ReadonlyMap<string, Cache.Values>
  lastSignMillis: number
  relistAtMillis: number
}

interface Settings {
  readonly metadataOnly: boolean
  readonly pageSize: number
  readonly bufferSize: number
  readonly redeliveryMillis: number
  readonly relistMillis: number
  readonly idleMillis: number
  readonly syncMillis: number
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
  Effect.asVoid(Effect.acquireRelease(
    Effect.forkScoped(run(self), { startImmediately: true }),
    () => Effect.map(now, (millis) => Rules.close(self.work.state, millis))
  ))

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
  if (options.namespace !== undefined && at.scope === "Cluster") {
    refuse("namespace", `cannot be given: ${at.kind} is a cluster kind`)
  }
  if (options.transform?.name === "") refuse("transform.name", "must not be empty: informers are shared by it")
  const settings: Settings = {
    metadataOnly: options.metadataOnly ?? false,
    pageSize: count("pageSize", options.pageSize, 500),
    bufferSize: count("bufferSize", options.bufferSize, 1024),
    redeliveryMillis: duration("redelivery", options.redelivery, 36_000_000, 1),
    relistMillis: duration("relist", options.relist, Infinity, 1),
    idleMillis: duration("idleTimeout", options.idleTimeout, 300_000, 1),
    syncMillis: duration("syncTimeout", options.syncTimeout, 30_000, 0)
  }
  const policy: Machine.Policy = {
    streamed: options.initial === "streamed",
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
  return Result.succeed({
    [TypeId]: TypeId,
    at,
    kind: at.group === "" ? at.kind : `${at.kind}.${at.group}`,
    store: options.storeName ?? "default",
    namespace: options.namespace,
    selector: Result.getOrUndefined(selector),
    full: !settings.metadataOnly && options.transform === undefined,
    work: {
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
  Effect.map(now, (millis) => {
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
export const subscribe = <A = never>(
  self: Informer,
  handler: Handler
): Effect.Effect<Subscription<A>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { state } = self.work
    const subscription = yield* Effect.acquireRelease(
      Effect.sync(() => Rules.subscribe(state, handler)),
      (subscription) => Effect.sync(() => Rules.unsubscribe(state, subscription))
    )
    if (subscription.told !== undefined) {
      yield* sliced(Cache.entries(state.cache), (entry) => Rules.replay(state, subscription, entry))
      Rules.replayed(subscription)
    }
    yield* logDefects(self)
    const { index } = subscription
    return {
      get: (entry) => Cache.slot(entry as Cache.Entry, index) as A | undefined, // what `set` of this slot put there
      set: (entry, value) => Cache.setSlot(entry as Cache.Entry, index, value)
    }
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

// ---------------------------------------------------------------------------------------------------------------------
// running
// ---------------------------------------------------------------------------------------------------------------------

/** Monotonic milliseconds. */
const now: Effect.Effect<number> = Effect.map(Clock.Clock, (clock) => millisOf(clock))

const millisOf = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

/** Objects between two pauses: about a millisecond. */
const sliceSize = 1000

/** Does something for each, and lets others run now and then. */
const sliced = Effect.fnUntraced(function*<A>(items: Iterable<A>, f: (item: A) => void) {
  let count = 0
  for (const item of items) {
    f(item)
    if (++count % sliceSize === 0) yield* Effect.yieldNow
  }
})

/** Lists, watches and waits until interrupted. Outside of any pass, whoever started it. */
const run = (self: Informer): Effect.Effect<never> =>
  Effect.raceFirst(keepInStep(self), redeliverForEver(self)).pipe(
    Effect.provideService(Pass.Current, undefined),
    Effect.provideService(Pass.Caller, `informer/${self.kind}`)
  )

const keepInStep = Effect.fnUntraced(function*(self: Informer) {
  const { machine } = self.work.state
  Machine.start(machine, yield* now)
  while (true) {
    const { place } = machine
    if (place._tag === "Listing") yield* attempt(self, listAll(self, place.paged))
    else if (place._tag === "Watching") yield* attempt(self, watch(self, place.from))
    else if (place._tag === "BackingOff") {
      yield* Effect.sleep(place.delayMillis)
      Machine.goOn(machine, yield* now)
    } else return yield* Effect.never
  }
})

/** A list or a watch that ends in whatever way: the machine decides what follows. */
const attempt = (self: Informer, work: Effect.Effect<void, StoreError | Machine.Failure>): Effect.Effect<void> =>
  work.pipe(
    Effect.catch((error) => failed(self, error._tag === "StoreError" ? ofStore(error) : error)),
    Effect.catchDefect((defect) => failed(self, { _tag: "Defect", message: `defect: ${String(defect)}` }))
  )

const ofStore = (error: StoreError): Machine.Failure => ({
  _tag: "Store",
  reason: error.reason,
  message: error.message
})

const failed = Effect.fnUntraced(function*(self: Informer, failure: Machine.Failure) {
  const { state } = self.work
  const { counters, machine } = state
  const random = yield* Random.next
  state.staged = undefined
  state.early.length = 0
  state.wentBack = false
  counters.failures++
  if (failure._tag === "Store" && failure.reason._tag === "Expired") counters.expired++
  if (failure._tag === "Store" && failure.reason._tag === "Lagged") counters.lagged++
  Machine.failed(machine, failure, yield* now, random)
  const text = `informer ${self.kind}: ${failure.message}`
  // The first of a row is news; an outage is not told at each attempt.
  yield* machine.place._tag === "BackingOff" && machine.failures === 1 ? Effect.logWarning(text) : Effect.logDebug(text)
})

const listAll = Effect.fnUntraced(function*(self: Informer, paged: boolean) {
  const { driver, settings, state } = self.work
  const staged = Cache.stage(state.cache)
  let first: StoreDriver.Page | undefined
  let page: string | undefined
  do {
    const got: StoreDriver.Page = yield* driver.list(self.at, {
      consistency: "mostRecent",
      metadataOnly: settings.metadataOnly,
      namespace: self.namespace,
      selector: self.selector,
      limit: paged ? settings.pageSize : undefined,
      page
    })
    yield* sliced(got.items, (raw) => Rules.stageObject(state, staged, raw))
    first ??= got // pages that are no snapshot: a watch from the first misses nothing
    page = got.next
    if (page !== undefined) yield* Effect.yieldNow
  } while (page !== undefined)
  yield* takeOver(self, staged, first.revision, first.cursor)
})

/** Not to be interrupted: handlers would miss what the cache has. It ends when the informer is closed. */
const takeOver = (self: Informer, staged: Cache.Staged, revision: Revision, cursor: Cursor) =>
  Effect.uninterruptible(Effect.gen(function*() {
    const { state } = self.work
    const verdict = Machine.judgeList(state.machine, revision)
    if (verdict === "refuse") {
      return yield* Effect.fail<Machine.Failure>({
        _tag: "WentBack",
        message: `a most-recent list is at ${revision}, below ${state.machine.revision} that was seen before`
      })
    }
    yield* sliced(Cache.entries(state.cache), (entry) => Cache.stageGone(staged, entry))
    const list = { revision, cursor, newTimeline: verdict === "newTimeline", now: yield* now }
    yield* sliced(Rules.takeOver(state, staged, list), () => {})
    const clock = yield* Clock.Clock
    self.work.lastSignMillis = millisOf(clock)
    self.work.relistAtMillis = self.work.lastSignMillis + jittered(self.work.settings.relistMillis, yield* Random.next)
    self.work.synced.openUnsafe()
    yield* settle(self)
  }))

/** ±10 %. */
const jittered = (millis: number, random: number): number => millis * (0.9 + 0.2 * random)

const watch = (
  self: Informer,
  from: "current" | Cursor
): Effect.Effect<void, StoreError | Machine.Failure> =>
  Effect.flatMap(Clock.Clock, (clock) => {
    const { driver, settings, state } = self.work
    state.staged = from === "current" ? Cache.stage(state.cache) : undefined
    state.early.length = 0
    if (from !== "current" && state.counters.events + state.counters.bookmarks > 0) state.counters.reconnects++
    self.work.lastSignMillis = millisOf(clock)
    const events = driver.watch(self.at, {
      from,
      namespace: self.namespace,
      selector: self.selector,
      metadataOnly: settings.metadataOnly,
      bufferSize: settings.bufferSize
    })
    const live = Effect.andThen(
      Stream.runForEachArray(events, (frames) => take(self, clock, frames)),
      Effect.fail<Machine.Failure>({ _tag: "Ended", message: "the watch ended without an error" })
    )
    return live.pipe(
      settings.idleMillis === Infinity ? (_) => _ : Effect.raceFirst(untilSilent(self, clock)),
      settings.relistMillis === Infinity ? (_) => _ : Effect.raceFirst(untilRelist(self, clock))
    )
  })

const untilSilent = Effect.fnUntraced(function*(self: Informer, clock: Clock.Clock) {
  const { settings } = self.work
  while (true) {
    const left = self.work.lastSignMillis + settings.idleMillis - millisOf(clock)
    if (left <= 0) {
      return yield* Effect.fail<Machine.Failure>({
        _tag: "Silent",
        message: `the watch brought nothing for ${settings.idleMillis} ms`
      })
    }
    yield* Effect.sleep(left)
  }
})

const untilRelist = Effect.fnUntraced(function*(self: Informer, clock: Clock.Clock) {
  while (true) {
    const left = self.work.relistAtMillis - millisOf(clock)
    if (left <= 0) return Machine.relist(self.work.state.machine, millisOf(clock))
    yield* Effect.sleep(Math.min(left, self.work.settings.relistMillis))
  }
})

type Frames = ReadonlyArray<ReadonlyArray<StoreDriver.WatchEvent>>

/** The hot path: what came is applied at once, with no fiber, timer or look at the clock an event. */
const take = (
  self: Informer,
  clock: Clock.Clock,
  frames: Frames
): Effect.Effect<void, StoreError | Machine.Failure> => {
  const { state } = self.work
  self.work.lastSignMillis = millisOf(clock)
  Machine.isAlive(state.machine, self.work.lastSignMillis)
  let count = 0
  for (const frame of frames) count += frame.length
  if (state.staged !== undefined || count > sliceSize) return takeSliced(self, frames)
  for (const frame of frames) for (const event of frame) Rules.applyEvent(state, event)
  return settle(self)
}

const takeSliced = Effect.fnUntraced(function*(self: Informer, frames: Frames) {
  const { state } = self.work
  let count = 0
  for (const frame of frames) {
    for (const event of frame) {
      const { staged } = state
      if (event._tag === "InitialDone" && staged !== undefined) {
        yield* takeOver(self, staged, event.revision, event.cursor)
        for (const early of state.early.splice(0)) Rules.applyEvent(state, early)
      } else Rules.applyEvent(state, event)
      if (++count % sliceSize === 0) yield* Effect.yieldNow
    }
  }
  yield* settle(self)
})

/** After a batch: tell how far the cache is, log what died, and give up a watch that went back. */
const settle = (self: Informer): Effect.Effect<void, Machine.Failure> => {
  const { state } = self.work
  Rules.tellRevision(state)
  if (state.wentBack) {
    return Effect.fail<Machine.Failure>({
      _tag: "WentBack",
      message: `the watch brought an event from before ${state.machine.revision}`
    })
  }
  return state.defects.length === 0 ? Effect.void : logDefects(self)
}

const logDefects = (self: Informer): Effect.Effect<void> =>
  Effect.suspend(() =>
    Effect.forEach(
      self.work.state.defects.splice(0),
      ({ defect, what }) => Effect.logWarning(`informer ${self.kind}: ${what}`, defect),
      { discard: true }
    )
  )

/** At most this many waits a period; more objects than waits are handed out in small groups. */
const redeliverySteps = 1000

/** Goes through the cache once a period. */
const redeliverForEver = Effect.fnUntraced(function*(self: Informer) {
  const { settings, state } = self.work
  const { redeliveryMillis } = settings
  if (redeliveryMillis === Infinity) return yield* Effect.never
  while (true) {
    const size = Rules.wantsRedelivery(state) ? state.cache.content.size : 0
    if (size === 0) yield* Effect.sleep(redeliveryMillis / redeliverySteps)
    else yield* redeliverOnce(self, size, (yield* now) + jittered(redeliveryMillis, yield* Random.next))
  }
})

/** What a relist takes out on the way is skipped, what it brings was told by it. */
const redeliverOnce = Effect.fnUntraced(function*(self: Informer, size: number, endsAt: number) {
  const { state } = self.work
  const entries = Cache.entries(state.cache)[Symbol.iterator]()
  for (let left = size, step = Math.min(size, redeliverySteps); step > 0; step--) {
    yield* Effect.sleep(Math.max(0, (endsAt - (yield* now)) / step))
    while (state.delivering) yield* Effect.yieldNow // a list is told first
    for (let group = Math.ceil(left / step); group > 0; group--, left--) {
      const next = entries.next()
      if (next.done === true) return
      Rules.redeliver(state, next.value)
    }
    yield* logDefects(self)
  }
})
