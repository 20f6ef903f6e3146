/**
 * Who waits for a cache to show an object (E10), and who is ahead of it (E6): told after a batch, when all handlers of the
 * cache have heard it.
 */
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as Informer from "../Informer.ts"
import { keyText } from "../Resource.ts"
import * as Ahead from "./ahead.ts"
import * as Dynamic from "./dynamic.ts"
import * as Feeds from "./feeds.ts"
import * as Inputs from "./inputs.ts"
import * as KeyMemory from "./keyMemory.ts"
import type { EngineRequest, Feed } from "./registration.ts"
import { settleMemory } from "./runPass.ts"

/** What is needed of the engine. */
export interface Host {
  readonly dynamic: Dynamic.Dynamic
  readonly now: () => number
}

/** Keys that wait for this cache are told after a batch, when all handlers have heard it. */
export const listen = (engine: Host, feed: Feed): Effect.Effect<void> => {
  const moved: Array<Informer.Change> = []
  const flush = () => {
    for (const change of moved.splice(0)) {
      const object = keyText(change.entry)
      for (const request of Feeds.waitersOf(feed, object)) cacheMoved(engine, request, feed, object, change)
    }
  }
  return Effect.asVoid(Scope.provide(
    Informer.subscribe(feed.informer, {
      onChange: (change) => {
        if (feed.waiters.size > 0 && change.via !== "redelivery") moved.push(change)
      },
      onRevision: (revision) => {
        flush()
        if (feed.ahead.size > 0) Ahead.caughtUp(feed.ahead, revision)
      },
      onSynced: () => {
        flush()
        feed.listed = Informer.revision(feed.informer)
        cacheListed(engine, feed)
        wakeAhead(engine, feed)
      },
      onNewTimeline: () => letGo(engine, feed)
    }),
    feed.scope
  ))
}

/** The cache was listed: who knew more than it had shown may have missed what no difference tells, and runs again (E6). */
const wakeAhead = (engine: Host, feed: Feed): void => {
  for (const request of Ahead.take(feed.ahead)) {
    const { registration } = request
    if (!registration.isClosed && isFedBy(engine, request, feed)) {
      Inputs.addKey(registration, request, Inputs.relisted, 2)
    }
  }
}

/** Whether changes of this cache may wake the key. */
const isFedBy = (engine: Host, request: EngineRequest, feed: Feed): boolean => {
  for (const caches of request.registration.caches.values()) if (caches.includes(feed)) return true
  return request.isWatching && Dynamic.isFedBy(engine.dynamic, request, feed)
}

/** The cache shows nothing any more of what was written: a new timeline, or nobody holds it. */
export const letGo = (engine: Host, feed: Feed): void => {
  for (const request of Feeds.takeWaiters(feed)) timelineBegan(engine, request, feed)
}

/** A cache moved: what the key waited for there may be over. */
const cacheMoved = (
  engine: Host,
  request: EngineRequest,
  feed: Feed,
  object: string,
  change: Informer.Change
): void => {
  const { memory } = request
  if (memory === undefined) return Feeds.stopWaiting(feed, object, request)
  const { raw } = change.entry
  const deleted = change.type === "Deleted"
    ? { uid: change.object.metadata.uid, revision: change.revision }
    : undefined
  KeyMemory.cacheMoved(memory, feed, object, raw === undefined ? undefined : Feeds.seenOf(raw), deleted)
  if (!KeyMemory.waitsFor(memory, feed, object)) Feeds.stopWaiting(feed, object, request)
  if (request.running === undefined) settleIdle(request, engine.now())
}

/** A cache was listed: who waited for an object that came and went in between waits no longer. */
const cacheListed = (engine: Host, feed: Feed): void => {
  const upTo = Informer.revision(feed.informer)
  if (upTo === undefined) return
  for (const [object, waiters] of feed.waiters) {
    for (const request of waiters) {
      const { memory } = request
      if (memory !== undefined) KeyMemory.listed(memory, feed, upTo)
      if (memory === undefined || !KeyMemory.waitsFor(memory, feed, object)) Feeds.stopWaiting(feed, object, request)
      if (request.running === undefined) settleIdle(request, engine.now())
    }
  }
}

const timelineBegan = (engine: Host, request: EngineRequest, feed: Feed): void => {
  if (request.memory === undefined) return
  KeyMemory.timelineBegan(request.memory, feed)
  if (request.running === undefined) settleIdle(request, engine.now())
}

/** A key that neither runs nor stands in the queue, and has nothing pending: its events have come, or never will. */
const settleIdle = (request: EngineRequest, now: number): void => {
  const { memory } = request
  if (memory !== undefined && memory.pending.length === 0 && !isQueued(request)) memory.ownRevisions.clear()
  settleMemory(request, now)
}

const isQueued = (request: EngineRequest): boolean => {
  const place = request.entry?.place
  return place === "Ready" || place === "Held" || place === "Waiting"
}
