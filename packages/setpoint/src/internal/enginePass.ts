/**
 * The pass of an engine: what `Store` asks and tells while it runs (E10, E11).
 */
import * as Result from "effect/Result"
import type * as Tracer from "effect/Tracer"
import * as Informer from "../Informer.ts"
import { InvalidRequest, NotSynced, type Request as WatchRequest, type Watcher } from "../InstanceWatcher.ts"
import type { AnyKind } from "../Kind.ts"
import type { Cause, Pass, Reader, ReaderListOptions, Tracker, Writes } from "../Pass.ts"
import { type Key, key as keyOf, keyText, type Raw } from "../Resource.ts"
import * as Revision from "../Revision.ts"
import * as Dynamic from "./dynamic.ts"
import type { StaleAt } from "./endPass.ts"
import * as Feeds from "./feeds.ts"
import * as Inputs from "./inputs.ts"
import * as KeyMemory from "./keyMemory.ts"
import type { EngineRequest, Feed } from "./registration.ts"
import * as Spans from "./spans.ts"
import * as WatchTarget from "./watchTarget.ts"

/** What a pass needs of its engine. */
export interface Host {
  readonly feeds: Feeds.Feeds<EngineRequest>
  readonly spans: Spans.Spans
  readonly dynamic: Dynamic.Dynamic
  readonly now: () => number
}

const none: ReadonlyArray<never> = []

const isLoss = (cause: Cause): boolean => cause._tag === "Event" && cause.via === "owns" && cause.type === "Deleted"

export class EnginePass implements Pass, Reader, Tracker, Watcher, Writes {
  readonly request: EngineRequest
  readonly number: number
  readonly causes: ReadonlyArray<Cause>
  readonly otherCauses: number
  calls = 0
  /** The span of the pass, where a tracer listens. */
  span: Tracer.AnySpan | undefined = undefined
  /** A revision was made. */
  wrote = false
  /** Where the last stale write was refused. */
  staleAt: StaleAt = undefined
  readonly #host: Host
  readonly #readsStore: boolean
  /** It is not known what became of writes of earlier passes. */
  readonly #isInDoubt: boolean
  readonly #tracks: boolean
  /** Something that its object owned was deleted: the object may be gone too, and its cache not know yet. */
  readonly #lostOwned: boolean
  #hasAsked = false
  /** By kind that was asked for: the source that answers its reads; nothing: the store does. */
  #answering: Map<string, Dynamic.Source | undefined> | undefined = undefined
  #lastAsked: Dynamic.Source | undefined = undefined
  #hasEnded = false
  /** Kinds that this pass wrote: their reads go to the store. */
  #wroteKinds: Set<string> | undefined = undefined
  /** Writes of earlier passes that this one was started without waiting for. */
  readonly #before: ReadonlySet<KeyMemory.Pending<Feed>> | undefined

  constructor(
    host: Host,
    request: EngineRequest,
    causes: ReadonlyArray<Cause>,
    otherCauses: number,
    number: number,
    view: { readonly readStore: boolean; readonly isInDoubt: boolean }
  ) {
    this.#host = host
    this.request = request
    this.causes = causes
    this.otherCauses = otherCauses
    this.number = number
    this.#readsStore = view.readStore
    this.#isInDoubt = view.isInDoubt
    this.#tracks = request.registration.behaviour.options.track === true
    this.#lostOwned = causes.some(isLoss)
    this.#before = view.readStore ? new Set(request.memory?.pending) : undefined
  }

  get registration(): string {
    return this.request.registration.name
  }

  get reader(): Reader {
    return this
  }

  get writes(): Writes {
    return this
  }

  /** Where reads are tracked, or watches were asked for: what is read is compared when its cache syncs (D1). */
  get tracker(): Tracker | undefined {
    return (this.#tracks || this.#hasAsked) && !this.#hasEnded ? this : undefined
  }

  asksForOne(store: string, kind: AnyKind, key: Key): void {
    if (!this.#tracks) return
    const source = Dynamic.tracksOne(this.#host.dynamic, this.request, store, kind, key)
    if (source !== undefined) this.#answersBy(source)
  }

  asksForMany(store: string, kind: AnyKind, options: ReaderListOptions): void {
    if (!this.#tracks) return
    const source = Dynamic.tracksMany(this.#host.dynamic, this.request, store, kind, options)
    if (source !== undefined) this.#answersBy(source)
  }

  gotOne(store: string, kind: AnyKind, key: Key, object: Raw | undefined): void {
    Dynamic.gotOne(this.#host.dynamic, this.request, store, kind, key, object)
  }

  gotMany(store: string, kind: AnyKind, options: ReaderListOptions, objects: ReadonlyArray<Raw>): void {
    Dynamic.gotMany(this.#host.dynamic, this.request, store, kind, options, objects)
  }

  /** Asks for a dynamic watch. After the pass has ended nobody would commit it, so it is not taken. */
  ask(request: WatchRequest): InvalidRequest | NotSynced | undefined {
    if (this.#hasEnded) return new InvalidRequest({ field: "pass", why: "has ended; ask while it runs" })
    const { dynamic } = this.#host
    let source = Dynamic.askAgain(dynamic, this.request, request, WatchTarget.sought(request))
    if (source === undefined) {
      const target = WatchTarget.of(request)
      if (Result.isFailure(target)) return new InvalidRequest(target.failure)
      source = Dynamic.askFor(dynamic, this.request, request, target.success)
    }
    this.#hasAsked = true
    this.#answersBy(source)
    const cooling = Dynamic.cooldown(dynamic, source)
    return cooling && new NotSynced(cooling)
  }

  /** The cache that wakes the key is the one that answers, for another may lag behind it; no such cache: the store. */
  #answersBy(source: Dynamic.Source): void {
    if (source === this.#lastAsked) return
    this.#lastAsked = source
    this.#answering ??= new Map()
    const key = Feeds.kindKey(source.store.name, source.kind.groupKind)
    const isOther = this.#answering.has(key) && this.#answering.get(key) !== source
    this.#answering.set(key, isOther || source.metadataOnly ? undefined : source)
  }

  #mayAskCaches(kindKey: string): boolean {
    return !this.#readsStore && (this.#wroteKinds === undefined || !this.#wroteKinds.has(kindKey))
  }

  /** Which caches may answer reads of a kind: those that wake the key, if there are any. */
  #caches(kindKey: string): ReadonlyArray<Feed> {
    if (this.#answering?.has(kindKey) === true) return this.#answering.get(kindKey)?.open?.feeds ?? none
    return this.request.registration.caches.get(kindKey) ?? Feeds.of(this.#host.feeds, kindKey)
  }

  #isRequested(store: string, kind: string, key: Key): boolean {
    const { name, namespace, registration } = this.request
    return name === key.name && namespace === key.namespace && kind === registration.kind.groupKind &&
      store === registration.store.name
  }

  /** The requested object, which hangs on the request: most passes read it, and nothing else. */
  #requested(): Raw | undefined {
    const { object, registration } = this.request
    const informer = registration.own?.feed.informer
    return informer?.full === true && Informer.isSynced(informer) ? object?.raw : undefined
  }

  /** From a cache; nothing: the store must answer. */
  #cached(store: string, kind: string, kindKey: string, key: Key): Raw | "absent" | undefined {
    if (!this.#mayAskCaches(kindKey)) return undefined
    if (!this.#isRequested(store, kind, key)) return Feeds.get(this.#caches(kindKey), key)
    return this.#lostOwned ? undefined : this.#requested() ?? Feeds.get(this.#caches(kindKey), key)
  }

  get(store: string, kind: string, key: Key): Raw | "absent" | undefined {
    const { counters } = this.request.registration
    const found = this.#cached(store, kind, Feeds.kindKey(store, kind), key)
    if (found === undefined) counters.storeReads++
    else counters.cacheReads++
    return found
  }

  list(store: string, kind: string, options: ReaderListOptions): ReadonlyArray<Raw> | undefined {
    const { counters } = this.request.registration
    const kindKey = Feeds.kindKey(store, kind)
    const found = this.#mayAskCaches(kindKey) ? Feeds.list(this.#caches(kindKey), options) : undefined
    if (found === undefined) counters.storeReads++
    else counters.cacheReads++
    return found
  }

  fetched(store: string, kind: string, objects: ReadonlyArray<Raw>): void {
    const feeds = this.#feedsOf(store, kind)
    for (const object of objects) {
      this.#knows(feeds, object)
      const key = keyOf(object)
      const isAhead = this.#isInDoubt || (this.#lostOwned && this.#isRequested(store, kind, key))
      if (isAhead) this.#awaits(store, kind, key, { object, removed: false }, KeyMemory.found) // the next sees no less
    }
  }

  /** The caches of a kind that wake the key. */
  #feedsOf(store: string, kind: string): ReadonlyArray<Feed> {
    const { request } = this
    const inputs = request.registration.caches.get(Feeds.kindKey(store, kind)) ?? none
    return request.isWatching ? [...inputs, ...Dynamic.feedsOf(this.#host.dynamic, store, kind, request)] : inputs
  }

  /** Caches that wake the key may not have shown this yet; where one never will, the key runs again. */
  #knows(feeds: ReadonlyArray<Feed>, object: Raw): void {
    const { request } = this
    for (const feed of feeds) {
      if (Feeds.knows(feed, request, object)) Inputs.addKey(request.registration, request, Inputs.relisted, 2)
    }
  }

  #noteKind(store: string, kind: string): void {
    this.#wroteKinds ??= new Set()
    this.#wroteKinds.add(Feeds.kindKey(store, kind))
  }

  #noteWrite(store: string, kind: string): void {
    this.wrote = true
    if (this.tracker !== undefined) Dynamic.wrote(this.#host.dynamic, this.request, store, kind)
  }

  acknowledged(
    store: string,
    kind: string,
    key: Key,
    written: { readonly object: Raw; readonly changed: boolean; readonly removed: boolean }
  ): void {
    this.#noteKind(store, kind)
    const { object } = written
    if (!written.removed) this.#knows(this.#feedsOf(store, kind), object)
    if (!written.changed && !written.removed) return
    this.#noteWrite(store, kind)
    if (this.span !== undefined) Spans.wrote(this.#host.spans, store, object.metadata.resourceVersion, this.span)
    this.#awaits(store, kind, key, written, KeyMemory.wrote)
  }

  /** Remembers a write until the covering caches have shown it; what no cache covers is not remembered. */
  #awaits(
    store: string,
    kind: string,
    key: Key,
    { object, removed }: { readonly object: Raw; readonly removed: boolean },
    remember: typeof KeyMemory.wrote<Feed>
  ): void {
    for (const feed of Feeds.of(this.#host.feeds, Feeds.kindKey(store, kind))) {
      if (!Feeds.willShow(feed, key, object)) continue
      const memory = (this.request.memory ??= KeyMemory.make())
      const write: KeyMemory.Pending<Feed> = {
        cache: feed,
        object: keyText(key),
        uid: object.metadata.uid,
        revision: object.metadata.resourceVersion,
        removed,
        holds: feed.informer.full
      }
      remember(memory, write, Feeds.seen(feed, key), Feeds.upTo(feed), this.#host.now())
      if (memory.pending.includes(write)) Feeds.wait(feed, write.object, this.request)
    }
  }

  unknown(store: string, kind: string, _key: Key): void {
    this.#noteKind(store, kind)
    this.#noteWrite(store, kind)
    if (Feeds.of(this.#host.feeds, Feeds.kindKey(store, kind)).some((feed) => feed.informer.full)) {
      KeyMemory.outcomeUnknown(this.request.memory ??= KeyMemory.make())
    }
  }

  conflicted(store: string, kind: string, key: Key, revision: string | undefined): void {
    if (revision === undefined) return
    for (const feed of Feeds.of(this.#host.feeds, Feeds.kindKey(store, kind))) {
      if (!feed.informer.full) continue
      const seen = Feeds.seen(feed, key)
      this.staleAt = { stale: { cache: feed, object: keyText(key), revision }, seen }
      if (seen !== undefined && Revision.compare(seen.revision, revision) === "same") return
    }
  }

  /**
   * The pass is over: what it was started without waiting for is dropped, if it read the store. Where it failed it may not
   * have come to that, and its retry reads the store as well.
   */
  ended(hasFailed: boolean): void {
    this.#hasEnded = true
    if (hasFailed && this.#isInDoubt) KeyMemory.outcomeUnknown(this.request.memory ??= KeyMemory.make())
    const { memory } = this.request
    if (hasFailed || memory === undefined || this.#before === undefined) return
    for (const write of this.#before) Feeds.stopWaiting(write.cache, write.object, this.request)
    KeyMemory.storeWasRead(memory, this.#before)
  }
}
