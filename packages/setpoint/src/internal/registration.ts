/**
 * A registration's state: its queue, its requests, what it counts, and the behaviour that a swap replaces.
 *
 * Requests are interned, one a live key. Of an object that the cache holds the request hangs on the cache's entry; of any
 * other (deleted, or only asked for) it is a *stray*, kept while the queue knows it.
 */
import type * as Context from "effect/Context"
import type * as Deferred from "effect/Deferred"
import type * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Informer from "../Informer.ts"
import type { AnyKind } from "../Kind.ts"
import type { Outcome } from "../Outcome.ts"
import type { Cause } from "../Pass.ts"
import type * as RateLimiter from "../RateLimiter.ts"
import type { Options as ReconcilerOptions } from "../Reconciler.ts"
import type { Request } from "../Request.ts"
import type { Raw } from "../Resource.ts"
import type * as Store from "../Store.ts"
import type * as WorkQueue from "../WorkQueue.ts"
import type * as Breaker from "./breaker.ts"
import type * as Feeds from "./feeds.ts"
import type * as KeyMemory from "./keyMemory.ts"
import type { Ordered } from "./passEnd.ts"

export type Queue = WorkQueue.WorkQueue<EngineRequest, Cause, unknown>
export type Ticket = WorkQueue.Ticket<EngineRequest, Cause, unknown>

/** An informer, and the keys that wait for it. */
export type Feed = Feeds.Feed<EngineRequest>

/** A pass that runs: its fiber, and why the engine interrupted it, if it did. */
export interface Running {
  readonly fiber: Fiber.Fiber<unknown, unknown>
  readonly number: number
  ordered: Ordered | undefined
}

/** One live key of a registration: the interned request, and what hangs on it. */
export class EngineRequest implements Request {
  readonly registration: Registration
  readonly namespace: string
  readonly name: string
  /** The cache's entry of its object, where the cache of its kind holds one: nothing is looked up by key. */
  object: Informer.Entry | undefined = undefined
  /** The queue's entry, so that the queue looks nothing up. */
  entry: WorkQueue.Entry<EngineRequest, Cause, unknown> | undefined = undefined
  memory: KeyMemory.KeyMemory<Feed> | undefined = undefined
  running: Running | undefined = undefined
  breaker: Breaker.State | undefined = undefined
  /** Its last pass failed for good: redelivery alone does not run it (E2). */
  isTerminal = false
  /** It has asked for dynamic watches, which are kept under this very request. */
  isWatching = false
  /** Stopped by its annotation, when last looked at. */
  isPaused = false
  /** Not in the cache: kept by `Registration.strays`. */
  isStray: boolean
  constructor(registration: Registration, namespace: string, name: string, isStray: boolean) {
    this.registration = registration
    this.namespace = namespace
    this.name = name
    this.isStray = isStray
  }
  get kind(): string {
    return this.registration.kind.groupKind
  }
  get store(): string {
    return this.registration.store.name
  }
}

/** What a swap replaces: everything that the reconciler and its options say. */
export interface Behaviour {
  /** Services of the reconciler, as they were where it was registered. */
  readonly context: Context.Context<never>
  readonly reconcile: (request: Request) => Effect.Effect<Outcome | void, unknown>
  readonly options: ReconcilerOptions<never, never, never>
  readonly retry: RateLimiter.Policy<unknown>
  readonly requeue: RateLimiter.Policy
  /** The first delay of a fresh retry: of a conflict that no cache can settle. */
  readonly firstDelayMillis: () => number
  readonly maxRetries: number
  readonly deadlineMillis: number | undefined
  readonly recheckMillis: number
  /** Undefined: as the informer does it. */
  readonly redeliveryMillis: number | undefined
  readonly breaker: { readonly passes: number; readonly perMillis: number } | undefined
  /** Whether a tracer listens: without one a pass makes no span. */
  readonly traced: boolean
}

/** Plain counters, read when scraped. */
export interface Counters {
  success: number
  requeue: number
  requeueAfter: number
  error: number
  terminal: number
  panic: number
  conflict: number
  timeout: number
  giveUp: number
  superseded: number
  hotLoop: number
  skippedPaused: number
  storeReads: number
  cacheReads: number
  heldByLag: number
  handlerDefects: number
}

const makeCounters = (): Counters => ({
  success: 0,
  requeue: 0,
  requeueAfter: 0,
  error: 0,
  terminal: 0,
  panic: 0,
  conflict: 0,
  timeout: 0,
  giveUp: 0,
  superseded: 0,
  hotLoop: 0,
  skippedPaused: 0,
  storeReads: 0,
  cacheReads: 0,
  heldByLag: 0,
  handlerDefects: 0
})

/** One reconciler under one name on one store. */
export interface Registration {
  readonly name: string
  readonly kind: AnyKind
  readonly store: Store.Service
  readonly queue: Queue
  readonly counters: Counters
  readonly strays: Map<string, EngineRequest>
  /** Keys that the paused annotation stops, by request. */
  readonly pausedKeys: Set<EngineRequest>
  /** Requests in a worker. */
  readonly running: Set<EngineRequest>
  behaviour: Behaviour
  /** The cache of its own kind; undefined until its inputs are started. */
  own: OwnFeed | undefined
  /** Its inputs are being started: no pass begins. */
  isStarting: boolean
  /** The caches of its inputs, by store and kind: they wake its keys, so they answer their reads. */
  caches: Map<string, ReadonlyArray<Feed>>
  /** Inputs that must be synced before the first pass (E4), and are not yet. */
  unsynced: Set<Feed>
  /** What is in the way, a sentence an input or source. */
  readonly troubles: Map<string, string>
  synced: Deferred.Deferred<void>
  /** Done when it is closed and its last pass has ended. */
  readonly idle: Deferred.Deferred<void>
  /** Done when its close is. */
  readonly closed: Deferred.Deferred<void>
  /** Ends with the registration. */
  readonly scope: Scope.Closeable
  /** The Scope of its inputs: closed and made anew by a swap. */
  inputs: Scope.Closeable | undefined
  passes: number
  isPaused: boolean
  isClosed: boolean
  /** Who may close it: the Scope of the latest swap. */
  owner: Owner
}

export interface Owner {
  readonly drainMillis: number
  isClosed: boolean
}

export const make = (
  options: Pick<
    Registration,
    "name" | "kind" | "store" | "queue" | "behaviour" | "scope" | "synced" | "idle" | "closed"
  >
): Registration => ({
  ...options,
  counters: makeCounters(),
  strays: new Map(),
  pausedKeys: new Set(),
  running: new Set(),
  own: undefined,
  caches: new Map(),
  isStarting: true,
  unsynced: new Set(),
  troubles: new Map(),
  inputs: undefined,
  passes: 0,
  isPaused: false,
  isClosed: false,
  owner: { drainMillis: 0, isClosed: false }
})

/** The cache of a registration's own kind, and the slot on its entries where requests hang. */
export interface OwnFeed {
  readonly feed: Feed
  readonly requests: Informer.Subscription<EngineRequest>
}

/** The settings of a registration's queue: those of its behaviour as it is at the time. */
export const policies = (behaviour: () => Behaviour): {
  readonly retry: RateLimiter.Policy<unknown>
  readonly requeue: RateLimiter.Policy
} => ({
  retry: { start: (random) => behaviour().retry.start(random) },
  requeue: { start: (random) => behaviour().requeue.start(random) }
})

/**
 * Where the queue keeps its entry of a request: on the request. A stray is known as long as the queue knows it, and what the
 * queue forgets is forgotten whole (Q7), save what the pass that ends has still to settle.
 */
export const slotOnRequest: WorkQueue.Slot<EngineRequest, Cause, unknown> = {
  get: (request) => request.entry,
  set: (request, entry) => {
    request.entry = entry
    const { isStray, memory, registration, running } = request
    if (entry === undefined && running === undefined && memory?.pending.length === 0) request.memory = undefined
    if (!isStray) return
    const key = strayKey(request.namespace, request.name)
    if (entry !== undefined) registration.strays.set(key, request)
    else if (!request.isWatching) registration.strays.delete(key)
  }
}

const strayKey = (namespace: string, name: string): string => `${namespace}/${name}`

/** The request that hangs on a cache entry: interned on first use. A stray of the same key comes home. */
export const requestOf = (registration: Registration, own: OwnFeed, entry: Informer.Entry): EngineRequest => {
  const known = own.requests.get(entry)
  if (known !== undefined) return known
  const stray = registration.strays.size === 0
    ? undefined
    : registration.strays.get(strayKey(entry.namespace, entry.name))
  if (stray !== undefined) {
    stray.isStray = false
    registration.strays.delete(strayKey(entry.namespace, entry.name))
  }
  const request = stray ?? new EngineRequest(registration, entry.namespace, entry.name, false)
  request.object = entry
  own.requests.set(entry, request)
  return request
}

/** Whether the annotation of its object stops the request, as the engine last saw it. */
export const notePaused = (request: EngineRequest, isPaused: boolean): void => {
  request.isPaused = isPaused
  if (isPaused) request.registration.pausedKeys.add(request)
  else request.registration.pausedKeys.delete(request)
}

/** The object is gone from the cache: its request, where the queue knows it, is a stray from now on. */
export const becomeStray = (registration: Registration, request: EngineRequest): void => {
  if (request.isPaused) notePaused(request, false)
  if (request.isStray) return
  request.isStray = true
  request.object = undefined
  registration.strays.set(strayKey(request.namespace, request.name), request)
}

/** The request of a key, whether or not the cache holds its object. */
export const intern = (registration: Registration, namespace: string, name: string): EngineRequest => {
  const { own } = registration
  const entry = own && Informer.entry(own.feed.informer, { namespace, name })
  if (own !== undefined && entry !== undefined) return requestOf(registration, own, entry)
  const key = strayKey(namespace, name)
  const known = registration.strays.get(key)
  if (known !== undefined) return known
  const request = new EngineRequest(registration, namespace, name, true)
  registration.strays.set(key, request)
  return request
}

/** The object of a request as the cache of its kind holds it. */
export const cached = (request: EngineRequest): Raw | undefined => request.object?.raw

/** A stray that no queue took and that watches nothing: nobody will forget it otherwise. */
export const forgetIfIdle = (request: EngineRequest): void => {
  if (request.isStray && request.entry === undefined && !request.isWatching) {
    request.registration.strays.delete(strayKey(request.namespace, request.name))
  }
}
