/**
 * The pass of an engine: what `Store` asks and tells while it runs (E10, E11).
 */
import * as Result from "effect/Result"
import type * as Tracer from "effect/Tracer"
import * as Informer from "../Informer.ts"
import { InvalidRequest, NotSynced, type Request as WatchRequest, type Watcher } from "../InstanceWatcher.ts"
import type { AnyKind } from "../Kind.ts"
import type { Cause, Pass, Reader, ReaderListOptions, Tracker, Writes } from "../Pass.ts"
import type { Key, Raw } from "../Resource.ts"
import * as Revision from "../Revision.ts"
import * as Dynamic from "./dynamic.ts"
import type { StaleAt } from "./endPass.ts"
import * as Feeds from "./feeds.ts"
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
  readonly #tracks: boolean
  #hasAsked = false
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
    readsStore: boolean
  ) {
    this.#host = host
    this.request = request
    this.causes = causes
    this.otherCauses = otherCauses
    this.number = number
    this.#readsStore = readsStore
    this.#tracks = request.registration.behaviour.options.track === true
    this.#before = readsStore ? new Set(request.memory?.pending) : undefined
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
    if (this.#tracks) Dynamic.tracksOne(this.#host.dynamic, this.request, store, kind, key)
  }

  asksForMany(store: string, kind: AnyKind, options: ReaderListOptions): void {
    if (this.#tracks) Dynamic.tracksMany(this.#host.dynamic, this.request, store, kind, options)
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
    const cooling = Dynamic.cooldown(dynamic, source)
    return cooling && new NotSynced(cooling)
  }

  #mayAskCaches(store: string, kind: string): boolean {
    return !this.#readsStore && (this.#wroteKinds === undefined || !this.#wroteKinds.has(`${store} ${kind}`))
  }

  /** The requested object, which hangs on the request: most passes read it, and nothing else. */
  #requested(store: string, kind: string, key: Key): Raw | undefined {
    const { name, namespace, object, registration } = this.request
    const isRequested = name === key.name && namespace === key.namespace && kind === registration.kind.groupKind &&
      store === registration.store.name
    const informer = registration.own?.feed.informer
    return isRequested && informer?.full === true && Informer.isSynced(informer) ? object?.raw : undefined
  }

  get(store: string, kind: string, key: Key): Raw | "absent" | undefined {
    const { counters } = this.request.registration
    const found = this.#mayAskCaches(store, kind)
      ? this.#requested(store, kind, key) ?? Feeds.get(this.#host.feeds, store, kind, key)
      : undefined
    if (found === undefined) counters.storeReads++
    else counters.cacheReads++
    return found
  }

  list(store: string, kind: string, options: ReaderListOptions): ReadonlyArray<Raw> | undefined {
    const { counters } = this.request.registration
    const found = this.#mayAskCaches(store, kind) ? Feeds.list(this.#host.feeds, store, kind, options) : undefined
    if (found === undefined) counters.storeReads++
    else counters.cacheReads++
    return found
  }

  #noteKind(store: string, kind: string): void {
    this.#wroteKinds ??= new Set()
    this.#wroteKinds.add(`${store} ${kind}`)
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
    if (!written.changed && !written.removed) return
    this.#noteWrite(store, kind)
    const { object } = written
    if (this.span !== undefined) Spans.wrote(this.#host.spans, store, object.metadata.resourceVersion, this.span)
    for (const feed of Feeds.of(this.#host.feeds, store, kind)) {
      if (!Feeds.willShow(feed, key, object)) continue // what no cache covers is not remembered
      const memory = (this.request.memory ??= KeyMemory.make())
      const write: KeyMemory.Pending<Feed> = {
        cache: feed,
        object: Feeds.objectText(key),
        uid: object.metadata.uid,
        revision: object.metadata.resourceVersion,
        removed: written.removed,
        holds: feed.informer.full
      }
      KeyMemory.wrote(memory, write, Feeds.seen(feed, key), this.#host.now())
      if (memory.pending.includes(write)) Feeds.wait(feed, write.object, this.request)
    }
  }

  unknown(store: string, kind: string, _key: Key): void {
    this.#noteKind(store, kind)
    this.#noteWrite(store, kind)
    if (Feeds.of(this.#host.feeds, store, kind).some((feed) => feed.informer.full)) {
      KeyMemory.outcomeUnknown(this.request.memory ??= KeyMemory.make())
    }
  }

  conflicted(store: string, kind: string, key: Key, revision: string | undefined): void {
    if (revision === undefined) return
    for (const feed of Feeds.of(this.#host.feeds, store, kind)) {
      if (!feed.informer.full) continue
      const seen = Feeds.seen(feed, key)
      this.staleAt = { stale: { cache: feed, object: Feeds.objectText(key), revision }, seen }
      if (seen !== undefined && Revision.compare(seen.revision, revision) === "same") return
    }
  }

  /** The pass is over: what it was started without waiting for is dropped, if it read the store. */
  ended(): void {
    this.#hasEnded = true
    const { memory } = this.request
    if (memory === undefined || this.#before === undefined) return
    for (const write of this.#before) Feeds.stopWaiting(write.cache, write.object, this.request)
    KeyMemory.storeWasRead(memory, this.#before)
  }
}
