/**
 * Dynamic watches: the sources of changes that instances asked for, opened and closed as they are used.
 *
 * A request routes from the moment it is made, whether or not its cache runs yet (D1). What a pass read before the cache
 * has synced is kept and compared when it has: a difference wakes the instance. Opening and closing go through one fiber a
 * source, one after the other, by what is wanted when its turn comes: so nothing is closed between a request and its use.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Informer from "../Informer.ts"
import type * as InstanceWatcher from "../InstanceWatcher.ts"
import type { AnyKind } from "../Kind.ts"
import type { Cause, ReaderListOptions } from "../Pass.ts"
import type { Transform } from "../Reconciler.ts"
import { type Key, keyText, type Raw } from "../Resource.ts"
import * as Selector from "../Selector.ts"
import type * as Store from "../Store.ts"
import * as WatchCoordinator from "../WatchCoordinator.ts"
import * as Registrations from "./registration.ts"

type EngineRequest = Registrations.EngineRequest

/** What a pass knows of a target whose cache has not synced. */
type Snapshot =
  | { readonly _tag: "One"; readonly key: Key; readonly seen: string | undefined }
  | { readonly _tag: "Many"; readonly options: ReaderListOptions; readonly seen: string }
  /** Asked for and not read, or written since: whatever the cache shows is news. */
  | { readonly _tag: "Unknown"; readonly what: string }

interface Open {
  readonly scope: Scope.Closeable
  readonly informer: Informer.Informer
  /** Its feed alone, as what answers reads. */
  readonly feeds: ReadonlyArray<Registrations.Feed>
}

/** One cache that instances hear of: metadata alone, or whole objects. */
export class Source {
  readonly store: Store.Service
  readonly kind: AnyKind
  readonly metadataOnly: boolean
  readonly transform: Transform | undefined
  readonly board: WatchCoordinator.Board<EngineRequest, Source>
  /** Reads made before the first sync, by instance and by what was read. */
  readonly reads = new Map<EngineRequest, Map<string, Snapshot>>()
  open: Open | undefined = undefined
  /** A fiber brings it in step with what is wanted. */
  isBusy = false
  constructor(
    coordinator: WatchCoordinator.WatchCoordinator<EngineRequest, Source>,
    store: Store.Service,
    kind: AnyKind,
    metadataOnly: boolean,
    transform: Transform | undefined
  ) {
    this.store = store
    this.kind = kind
    this.metadataOnly = metadataOnly
    this.transform = transform
    this.board = WatchCoordinator.makeBoard(coordinator, this)
  }
  get isSynced(): boolean {
    return this.open !== undefined && Informer.isSynced(this.open.informer)
  }
}

/** Opens the cache of a source: given by the engine, which shares informers. */
export type Hold = (source: Source) => Effect.Effect<Registrations.Feed, never, Scope.Scope>

export interface Dynamic {
  readonly coordinator: WatchCoordinator.WatchCoordinator<EngineRequest, Source>
  readonly sources: Map<Store.Service, Map<string, Array<Source>>>
  /** What was found last: a pass mostly asks for one kind many times. */
  lastSource: Source | undefined
  /** Stores by name, so that a tracked read finds its own. */
  readonly stores: Map<string, Store.Service>
  /** Sources that have synced during an instance's pass: what it read before is compared when the pass ends. */
  readonly syncedMeanwhile: Map<EngineRequest, Set<Source>>
  readonly spawn: (work: Effect.Effect<void>) => void
  readonly hold: Hold
  readonly now: () => number
  readonly add: (request: EngineRequest, cause: Cause, lane: 0 | 2) => void
}

export const make = (options: Pick<Dynamic, "spawn" | "hold" | "now" | "add">): Dynamic => ({
  ...options,
  coordinator: WatchCoordinator.make({ groupOf: (request) => request.registration }),
  sources: new Map(),
  lastSource: undefined,
  stores: new Map(),
  syncedMeanwhile: new Map()
})

const findSource = (
  self: Dynamic,
  store: Store.Service,
  kind: AnyKind,
  metadataOnly: boolean,
  transform: Transform | undefined
): Source | undefined => {
  const isIt = (source: Source): boolean =>
    source.store === store && source.kind.groupKind === kind.groupKind && source.metadataOnly === metadataOnly &&
    source.transform?.name === transform?.name
  if (self.lastSource !== undefined && isIt(self.lastSource)) return self.lastSource
  const found = self.sources.get(store)?.get(kind.groupKind)?.find(isIt)
  if (found !== undefined) self.lastSource = found
  return found
}

const sourceOf = (
  self: Dynamic,
  store: Store.Service,
  kind: AnyKind,
  metadataOnly: boolean,
  transform: Transform | undefined
): Source => {
  const known = findSource(self, store, kind, metadataOnly, transform)
  if (known !== undefined) return known
  let kinds = self.sources.get(store)
  if (kinds === undefined) self.sources.set(store, kinds = new Map())
  let variants = kinds.get(kind.groupKind)
  if (variants === undefined) kinds.set(kind.groupKind, variants = [])
  const source = new Source(self.coordinator, store, kind, metadataOnly, transform)
  variants.push(source)
  return source
}

// ---------------------------------------------------------------------------------------------------------------------
// asking
// ---------------------------------------------------------------------------------------------------------------------

/** The request routes when this returns; its cache is opened by a fiber of its own. */
const ask = (self: Dynamic, request: EngineRequest, source: Source, target: WatchCoordinator.Target): void => {
  request.isWatching = true
  if (WatchCoordinator.watch(source.board, request, target) === "known") return
  if (source.open === undefined) kick(self, source)
  if (!source.isSynced) remember(source, request, { _tag: "Unknown", what: targetText(target) })
}

/**
 * Asks again for what this instance has asked for before, and gives its source; `undefined`, and nothing is done, where it
 * has not. What is known was checked when it was new: so most requests of most passes are neither checked nor parsed.
 */
export const askAgain = (
  self: Dynamic,
  request: EngineRequest,
  wanted: InstanceWatcher.Request,
  sought: WatchCoordinator.Sought
): Source | undefined => {
  const store = wanted.store ?? request.registration.store
  const source = findSource(self, store, wanted.kind, wanted.metadataOnly ?? true, wanted.transform)
  return source !== undefined && WatchCoordinator.watchAgain(source.board, request, sought) ? source : undefined
}

/** Asks for what an `InstanceWatcher` request names, which was checked. */
export const askFor = (
  self: Dynamic,
  request: EngineRequest,
  wanted: InstanceWatcher.Request,
  target: WatchCoordinator.Target
): Source => {
  const store = wanted.store ?? request.registration.store
  if (!self.stores.has(store.name)) self.stores.set(store.name, store)
  const source = sourceOf(self, store, wanted.kind, wanted.metadataOnly ?? true, wanted.transform)
  ask(self, request, source, target)
  return source
}

/** Why the cache of a source is not synced, and when it is tried again; `undefined` where no attempt has failed. */
export const cooldown = (
  self: Dynamic,
  source: Source
): { readonly why: string; readonly retryInMillis: number } | undefined =>
  source.open === undefined || source.isSynced ? undefined : Informer.cooldown(source.open.informer, self.now())

/** The source of a tracked read, where its store is known: whole objects, so that it answers the next read. */
const trackedSource = (self: Dynamic, store: string, kind: AnyKind): Source | undefined => {
  const known = self.stores.get(store)
  return known && sourceOf(self, known, kind, false, undefined)
}

const isOwn = (request: EngineRequest, store: string, kind: AnyKind, key: Key): boolean =>
  key.name === request.name && key.namespace === request.namespace && kind.groupKind === request.kind &&
  store === request.store

/** The requested object is never in the set: its own events are the predicate's alone (D6). */
export const tracksOne = (
  self: Dynamic,
  request: EngineRequest,
  store: string,
  kind: AnyKind,
  key: Key
): Source | undefined => {
  if (isOwn(request, store, kind, key)) return undefined
  const source = trackedSource(self, store, kind)
  if (source !== undefined) ask(self, request, source, { _tag: "Name", namespace: key.namespace, name: key.name })
  return source
}

export const tracksMany = (
  self: Dynamic,
  request: EngineRequest,
  store: string,
  kind: AnyKind,
  options: ReaderListOptions
): Source | undefined => {
  const source = trackedSource(self, store, kind)
  if (source === undefined) return undefined
  const sought = soughtBy(options)
  if (WatchCoordinator.watchAgain(source.board, request, sought)) return source
  const target = targetOf(sought)
  if (target === undefined) return undefined
  ask(self, request, source, target)
  return source
}

const soughtBy = ({ name, namespace, ownerUid, selector }: ReaderListOptions): WatchCoordinator.Sought => {
  if (ownerUid !== undefined) return { _tag: "Owner", uid: ownerUid }
  if (name !== undefined && namespace !== undefined) return { _tag: "Name", namespace, name }
  return { _tag: "Selector", namespace, selector: selector === undefined ? Selector.everything : { text: selector } }
}

const targetOf = (sought: WatchCoordinator.Sought): WatchCoordinator.Target | undefined => {
  if (sought._tag !== "Selector") return sought
  const { namespace, selector: { text } } = sought
  const selector = Selector.parse(text)
  return Result.isSuccess(selector) ? { _tag: "Selector", namespace, selector: selector.success } : undefined
}

// ---------------------------------------------------------------------------------------------------------------------
// reads before the sync (D1)
// ---------------------------------------------------------------------------------------------------------------------

const snapshotKey = (snapshot: Snapshot): string => {
  switch (snapshot._tag) {
    case "One":
      return `one ${keyText(snapshot.key)}`
    case "Many":
      return `many ${JSON.stringify(snapshot.options)}`
    case "Unknown":
      return snapshot.what
  }
}

const targetText = (target: WatchCoordinator.Sought): string =>
  target._tag === "Selector" ? `${target.namespace ?? "*"} ${target.selector.text}` : JSON.stringify(target)

/** So many reads of one instance are compared with a cache that has not synced; of more, that they were. */
const mostReads = 100
const tooMany: Snapshot = { _tag: "Unknown", what: "more" }

/** What was read of a target replaces that nothing was. */
const remember = (source: Source, request: EngineRequest, snapshot: Snapshot): void => {
  let reads = source.reads.get(request)
  if (reads === undefined) source.reads.set(request, reads = new Map())
  if (reads.size >= mostReads) {
    reads.clear()
    reads.set(snapshotKey(tooMany), tooMany)
  }
  reads.set(snapshotKey(snapshot), snapshot)
  const { _tag } = snapshot
  const target = _tag === "One"
    ? { _tag: "Name" as const, ...snapshot.key }
    : _tag === "Many" && soughtBy(snapshot.options)
  if (target) reads.delete(targetText(target))
}

const stateOf = (raw: Raw | undefined): string | undefined =>
  raw === undefined ? undefined : `${raw.metadata.uid} ${raw.metadata.resourceVersion}`

const stateOfAll = (raws: ReadonlyArray<Raw>): string =>
  raws.map((raw) => `${raw.metadata.namespace ?? ""}/${raw.metadata.name} ${stateOf(raw)}`).toSorted().join("\n")

/** The store answered a read of this pass: kept at every source of the kind that has not synced. */
export const gotOne = (
  self: Dynamic,
  request: EngineRequest,
  store: string,
  kind: AnyKind,
  key: Key,
  raw: Raw | undefined
): void => {
  for (const source of unsynced(self, store, kind.groupKind, request)) {
    remember(source, request, { _tag: "One", key, seen: stateOf(raw) })
  }
}

export const gotMany = (
  self: Dynamic,
  request: EngineRequest,
  store: string,
  kind: AnyKind,
  options: ReaderListOptions,
  raws: ReadonlyArray<Raw>
): void => {
  for (const source of unsynced(self, store, kind.groupKind, request)) {
    remember(source, request, { _tag: "Many", options, seen: stateOfAll(raws) })
  }
}

/** The pass wrote an object of the kind: what it had read of it is not what it left. */
export const wrote = (self: Dynamic, request: EngineRequest, store: string, kind: string): void => {
  for (const source of unsynced(self, store, kind, request)) remember(source, request, written)
}

const written: Snapshot = { _tag: "Unknown", what: "written" }
const none: ReadonlyArray<never> = []

const variantsOf = (self: Dynamic, store: string, kind: string): ReadonlyArray<Source> => {
  const known = self.stores.get(store)
  return (known && self.sources.get(known)?.get(kind)) ?? none
}

/** The sources of a kind that keep reads of this request until they have synced. */
const unsynced = (self: Dynamic, store: string, kind: string, request: EngineRequest): ReadonlyArray<Source> => {
  const variants = variantsOf(self, store, kind)
  return variants.some((source) => source.reads.has(request))
    ? variants.filter((source) => source.reads.has(request))
    : none
}

/** The open caches of a kind with which the reads of this request are not compared anyway. */
export const feedsOf = (
  self: Dynamic,
  store: string,
  kind: string,
  request: EngineRequest
): ReadonlyArray<Registrations.Feed> =>
  variantsOf(self, store, kind).flatMap(({ open, reads }) => open === undefined || reads.has(request) ? [] : open.feeds)

/** Whether the instance watches anything in this cache. */
export const isFedBy = (self: Dynamic, request: EngineRequest, feed: Registrations.Feed): boolean =>
  WatchCoordinator.requestsOf(self.coordinator, request).some(({ source }) =>
    source.open?.feeds.includes(feed) === true
  )

const differs = (informer: Informer.Informer, snapshot: Snapshot): boolean => {
  switch (snapshot._tag) {
    case "One":
      return stateOf(Informer.get(informer, snapshot.key)) !== snapshot.seen
    case "Many":
      return stateOfAll(listed(informer, snapshot.options)) !== snapshot.seen
    case "Unknown":
      return true
  }
}

const listed = (informer: Informer.Informer, options: ReaderListOptions): ReadonlyArray<Raw> => {
  const { name, namespace, ownerUid, selector } = options
  const parsed = selector === undefined ? undefined : Selector.parse(selector)
  return Informer.list(informer, {
    name,
    namespace,
    ownerUid,
    selector: parsed === undefined ? undefined : Result.getOrUndefined(parsed)
  })
}

const lateSync: Cause = { _tag: "Relist" }

/** Instances that are compared before the event loop has its turn. */
const comparedAtOnce = 1000

/**
 * The cache has synced: whoever read something else before is woken. What changes meanwhile is routed, so that it does not
 * matter when an instance's turn comes. Where the source is closed meanwhile, nobody waits for the rest. Whose pass runs is
 * compared when it ends: one that fails asks again after its delay, and must not be woken at once by its own first watch.
 */
const compareReads = (self: Dynamic, source: Source, informer: Informer.Informer): void => {
  if (source.reads.size === 0) return
  self.spawn(Effect.gen(function*() {
    let compared = 0
    for (const request of source.reads.keys()) {
      if (source.open?.informer !== informer) return
      if (request.running === undefined) compare(self, source, informer, request)
      else meanwhile(self, request).add(source)
      if (++compared % comparedAtOnce === 0) yield* Effect.yieldNow
    }
  }))
}

/** Its reads of a cache that has synced are not kept any longer; one that differs from what is there wakes it. */
const compare = (self: Dynamic, source: Source, informer: Informer.Informer, request: EngineRequest): void => {
  const snapshots = source.reads.get(request)
  source.reads.delete(request)
  for (const snapshot of snapshots?.values() ?? none) {
    if (differs(informer, snapshot)) return self.add(request, lateSync, 2)
  }
}

const meanwhile = ({ syncedMeanwhile }: Dynamic, request: EngineRequest): Set<Source> => {
  const known = syncedMeanwhile.get(request)
  if (known !== undefined) return known
  const sources = new Set<Source>()
  syncedMeanwhile.set(request, sources)
  return sources
}

/** The pass has ended: what it read of caches that have synced meanwhile, and still watches, is compared. */
const compareEnded = (self: Dynamic, request: EngineRequest): void => {
  const sources = self.syncedMeanwhile.get(request)
  if (sources === undefined) return
  self.syncedMeanwhile.delete(request)
  const watched = WatchCoordinator.requestsOf(self.coordinator, request)
  for (const source of sources) {
    const { open } = source
    if (open === undefined || !Informer.isSynced(open.informer)) continue // opened anew: compared when that has synced
    if (watched.some((asked) => asked.source === source)) compare(self, source, open.informer, request)
    else source.reads.delete(request)
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// routing
// ---------------------------------------------------------------------------------------------------------------------

const relisted: Cause = { _tag: "Relist" }
const newTimeline: Cause = { _tag: "NewTimeline" }

/** The first list is compared with what was read, and redelivery brings nothing: all else is told. */
const onChange = (self: Dynamic, source: Source) => (change: Informer.Change): void => {
  if (change.via === "initial" || change.via === "redelivery") return
  const isNews = change.via === "watch"
  const cause: Cause = isNews
    ? {
      _tag: "Event",
      type: change.type,
      via: "watches",
      object: `${source.kind.groupKind} ${keyText(change.entry)}`,
      revision: change.revision
    }
    : change.via === "relist"
    ? relisted
    : newTimeline
  // Of a deletion both count: the last state, and the one that the cache held before it.
  const seen = { object: change.object, old: change.type === "Added" ? undefined : change.old }
  WatchCoordinator.route(source.board, seen, (request) => {
    if (!isOwn(request, source.store.name, source.kind, change.entry)) self.add(request, cause, isNews ? 0 : 2)
  })
}

// ---------------------------------------------------------------------------------------------------------------------
// the end of a pass, of an instance, of a registration (D2)
// ---------------------------------------------------------------------------------------------------------------------

export const commit = (self: Dynamic, request: EngineRequest): void =>
  settle(self, request, WatchCoordinator.commit(self.coordinator, request))

export const abort = (self: Dynamic, request: EngineRequest): void =>
  settle(self, request, WatchCoordinator.abort(self.coordinator, request))

export const release = (self: Dynamic, request: EngineRequest): void =>
  settle(self, request, WatchCoordinator.remove(self.coordinator, request))

/** Everything that the instances of a registration asked for. */
export const releaseAll = (self: Dynamic, registration: Registrations.Registration): void => {
  for (const request of WatchCoordinator.members(self.coordinator, registration)) release(self, request)
}

export const instancesOf = (self: Dynamic, registration: Registrations.Registration): ReadonlyArray<EngineRequest> =>
  WatchCoordinator.members(self.coordinator, registration)

/** How many requests the instances of a registration have. */
export const sizeOf = (self: Dynamic, registration: Registrations.Registration): number =>
  WatchCoordinator.size(self.coordinator, registration)

const settle = (self: Dynamic, request: EngineRequest, unused: ReadonlyArray<Source>): void => {
  request.isWatching = WatchCoordinator.isWatching(self.coordinator, request)
  compareEnded(self, request)
  for (const source of unused) kick(self, source)
  if (request.isWatching) return
  for (const variants of self.sources.values()) {
    for (const sources of variants.values()) for (const source of sources) source.reads.delete(request)
  }
  Registrations.forgetIfIdle(request)
}

// ---------------------------------------------------------------------------------------------------------------------
// opening and closing
// ---------------------------------------------------------------------------------------------------------------------

const kick = (self: Dynamic, source: Source): void => {
  if (source.isBusy) return
  source.isBusy = true
  self.spawn(keepInStep(self, source))
}

/** Opens a source that is used and closes one that is not, until it is as it should be. */
const keepInStep = (self: Dynamic, source: Source): Effect.Effect<void> =>
  Effect.suspend(() => {
    const isUsed = WatchCoordinator.isUsed(source.board)
    if (isUsed && source.open === undefined) return Effect.andThen(open(self, source), keepInStep(self, source))
    if (!isUsed && source.open !== undefined) return Effect.andThen(close(source), keepInStep(self, source))
    source.isBusy = false
    if (!isUsed) forget(self, source)
    return Effect.void
  })

const open = (self: Dynamic, source: Source): Effect.Effect<void> =>
  Effect.gen(function*() {
    const scope = Scope.makeUnsafe()
    const feed = yield* Scope.provide(self.hold(source), scope)
    const { informer } = feed
    const synced = () => compareReads(self, source, informer)
    yield* Scope.provide(Informer.subscribe(informer, { onChange: onChange(self, source), onSynced: synced }), scope)
    source.open = { scope, informer, feeds: [feed] } // reads count as made before the sync until changes are heard
    if (Informer.isSynced(informer)) synced()
  })

const close = (source: Source): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { open } = source
    source.open = undefined
    return open === undefined ? Effect.void : Scope.close(open.scope, Exit.void)
  })

const forget = (self: Dynamic, source: Source): void => {
  if (self.lastSource === source) self.lastSource = undefined
  const kinds = self.sources.get(source.store)
  const left = kinds?.get(source.kind.groupKind)?.filter((other) => other !== source) ?? []
  if (left.length > 0) kinds?.set(source.kind.groupKind, left)
  else kinds?.delete(source.kind.groupKind)
  if (kinds?.size === 0) self.sources.delete(source.store)
}
