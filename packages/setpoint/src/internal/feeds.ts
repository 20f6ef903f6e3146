/**
 * Feeds: the informers that a Controller's registrations hold, as E10 sees them. They answer the reads of passes, and know
 * who (`W`) waits for a cache to show an object.
 */
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Informer from "../Informer.ts"
import type { AnyKind } from "../Kind.ts"
import type { ReaderListOptions } from "../Pass.ts"
import { type Key, key, type Raw } from "../Resource.ts"
import * as Revision from "../Revision.ts"
import * as Selector from "../Selector.ts"
import * as Ahead from "./ahead.ts"
import type * as KeyMemory from "./keyMemory.ts"

/** One informer, who waits for what on it, and who knows more than it has shown. */
export interface Feed<in out W> {
  readonly informer: Informer.Informer
  readonly kind: AnyKind
  readonly waiters: Map<string, Set<W>>
  readonly ahead: Ahead.Ahead<W>
  /** Up to where its last list went, which told no change on the way. */
  listed: Revision.Revision | undefined
  /** What is to end when nobody holds it any more. */
  readonly scope: Scope.Closeable
  holders: number
}

/** The feeds of one Controller, by store name and kind. */
export interface Feeds<in out W> {
  readonly byKind: Map<string, Array<Feed<W>>>
}

export const make = <W>(): Feeds<W> => ({ byKind: new Map() })

export const kindKey = (store: string, kind: string): string => `${store} ${kind}`

const none: ReadonlyArray<never> = []

export const of = <W>(feeds: Feeds<W>, kindKey: string): ReadonlyArray<Feed<W>> => feeds.byKind.get(kindKey) ?? none

/** Enters an informer, once however often it is held; gives the feed and what gives it back: true for the last holder. */
export const hold = <W>(
  feeds: Feeds<W>,
  store: string,
  kind: AnyKind,
  informer: Informer.Informer
): { readonly feed: Feed<W>; readonly release: () => boolean } => {
  const key = kindKey(store, kind.groupKind)
  const known = feeds.byKind.get(key) ?? []
  const feed = known.find((feed) => feed.informer === informer) ?? enter(feeds, key, known, kind, informer)
  feed.holders++
  return { feed, release: () => leave(feeds, key, feed) }
}

const enter = <W>(
  feeds: Feeds<W>,
  key: string,
  known: Array<Feed<W>>,
  kind: AnyKind,
  informer: Informer.Informer
): Feed<W> => {
  const feed: Feed<W> = {
    informer,
    kind,
    waiters: new Map(),
    ahead: new Map(),
    listed: undefined,
    scope: Scope.makeUnsafe(),
    holders: 0
  }
  known.push(feed)
  feeds.byKind.set(key, known)
  return feed
}

const leave = <W>(feeds: Feeds<W>, key: string, feed: Feed<W>): boolean => {
  feed.holders--
  if (feed.holders > 0) return false
  const left = (feeds.byKind.get(key) ?? []).filter((other) => other !== feed)
  if (left.length === 0) feeds.byKind.delete(key)
  else feeds.byKind.set(key, left)
  return true
}

// Reads (E10)

/** Full, synced, and of the namespace: the selector is for the caller to judge. */
const isInReach = <W>({ informer }: Feed<W>, namespace: string | undefined): boolean =>
  informer.full && (informer.namespace === undefined || informer.namespace === namespace) &&
  Informer.isSynced(informer)

/** What caches of its kind say of an object: its state, `"absent"`, or nothing where none covers it. */
export const get = <W>(caches: ReadonlyArray<Feed<W>>, key: Key): Raw | "absent" | undefined => {
  for (const feed of caches) {
    if (!isInReach(feed, key.namespace)) continue
    const raw = Informer.get(feed.informer, key)
    if (raw !== undefined) return raw
    if (feed.informer.selector === undefined) return "absent" // a selection does not tell what is outside of it
  }
  return undefined
}

export const list = <W>(
  caches: ReadonlyArray<Feed<W>>,
  options: ReaderListOptions
): ReadonlyArray<Raw> | undefined => {
  for (const feed of caches) {
    if (!isInReach(feed, options.namespace)) continue
    if (feed.informer.selector !== undefined && feed.informer.selector !== options.selector) continue
    return select(feed.informer, options)
  }
  return undefined
}

const select = (informer: Informer.Informer, options: ReaderListOptions): ReadonlyArray<Raw> | undefined => {
  const { name, namespace, ownerUid, selector } = options
  if (selector === undefined || selector === informer.selector) {
    return Informer.list(informer, { namespace, name, ownerUid, sorted: true })
  }
  const parsed = Selector.parse(selector)
  if (Result.isFailure(parsed)) return undefined // the store says what is wrong with it
  return Informer.list(informer, { namespace, name, ownerUid, selector: parsed.success, sorted: true })
}

// What was written (E10, E11)

export const seen = <W>(feed: Feed<W>, key: Key): KeyMemory.Seen | undefined => {
  const raw = Informer.get(feed.informer, key)
  return raw === undefined ? undefined : seenOf(raw)
}

export const seenOf = (raw: Raw): KeyMemory.Seen => ({
  uid: raw.metadata.uid,
  revision: raw.metadata.resourceVersion
})

/** Whether the cache will show this object: it is in its namespace, and matches or is held already. */
export const willShow = <W>({ informer }: Feed<W>, key: Key, object: Raw): boolean => {
  if (informer.namespace !== undefined && informer.namespace !== key.namespace) return false
  if (informer.selector === undefined || Informer.get(informer, key) !== undefined) return true
  const selector = Selector.parse(informer.selector)
  return Result.isFailure(selector) || Selector.matches(selector.success, object.metadata.labels)
}

/** Up to where the cache has shown everything. */
export const upTo = <W>({ informer }: Feed<W>): Revision.Revision | undefined =>
  Informer.isSynced(informer) ? Informer.revision(informer) : undefined

/** Notes that a key knows an object's state, which this cache may not have shown. True: a list has passed it over since. */
export const knows = <W>(feed: Feed<W>, who: W, object: Raw): boolean => {
  const { ahead, listed } = feed
  const revision = object.metadata.resourceVersion
  Ahead.knows(ahead, who, revision, upTo(feed))
  return listed !== undefined && Revision.reaches(listed, revision) && isPassedOver(feed, object)
}

const isPassedOver = <W>(feed: Feed<W>, object: Raw): boolean => {
  const at = key(object)
  const now = seen(feed, at)
  const isHere = now?.uid === object.metadata.uid && now.revision === object.metadata.resourceVersion
  return !isHere && willShow(feed, at, object)
}

export const wait = <W>(feed: Feed<W>, object: string, waiter: W): void => {
  const waiters = feed.waiters.get(object)
  if (waiters === undefined) feed.waiters.set(object, new Set([waiter]))
  else waiters.add(waiter)
}

export const stopWaiting = <W>(feed: Feed<W>, object: string, waiter: W): void => {
  const waiters = feed.waiters.get(object)
  if (waiters === undefined) return
  waiters.delete(waiter)
  if (waiters.size === 0) feed.waiters.delete(object)
}

/** Who waits for this object. */
export const waitersOf = <W>(feed: Feed<W>, object: string): ReadonlyArray<W> => {
  const waiters = feed.waiters.get(object)
  return waiters === undefined ? none : Array.from(waiters)
}

/** Takes everybody who waits for anything. */
export const takeWaiters = <W>(feed: Feed<W>): ReadonlySet<W> => {
  const all = new Set<W>()
  for (const waiters of feed.waiters.values()) for (const waiter of waiters) all.add(waiter)
  feed.waiters.clear()
  return all
}
