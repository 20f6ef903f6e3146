/**
 * The rules of the in-memory store: one state record, and synchronous functions that change it.
 *
 * A change goes this way: `write` asks the shared rules (`StoreRules.decide`) what to do, `commit` does it: the object
 * is put or removed, the change goes into the history and into the buffer of every watch that it concerns. No time, no
 * randomness and no waiting: what is needed of these is an argument.
 */
import * as Result from "effect/Result"
import { groupKind, type Key, type Raw } from "../Resource.ts"
import type * as Revision from "../Revision.ts"
import * as Selector from "../Selector.ts"
import type * as Driver from "../StoreDriver.ts"
import { Conflict, Expired, type Field, Invalid, type Reason } from "../StoreError.ts"
import * as StoreRules from "../StoreRules.ts"
import * as WatchBuffer from "../WatchBuffer.ts"
import * as SortedKeys from "./sortedKeys.ts"
import * as Timeline from "./timeline.ts"

/** @category models @since 0.1.0 */
export interface Options {
  /** Changes that are kept for resumed watches and for pages. */
  readonly history: number
  /** Freeze objects deeply. */
  readonly freeze: boolean
  readonly maxObjectBytes: number
  /** Every watch gets a bookmark once in so many changes of the store. */
  readonly bookmarkEvery: number
}

/** @category constants @since 0.1.0 */
export const defaults: Options = {
  history: 10_000,
  freeze: true,
  maxObjectBytes: StoreRules.defaultMaxObjectBytes,
  bookmarkEvery: 1_000
}

/** One change of the store: `before` absent: a creation; `after` absent: a removal, of which `last` is the last state. */
interface Change extends Timeline.Made {
  readonly kind: Objects
  readonly key: string
  readonly before: Raw | undefined
  readonly after: Raw | undefined
  readonly last: Raw | undefined
}

/** The objects of one kind. */
interface Objects {
  address: Driver.KindAddress
  /** By `namespace/name`; the truth. */
  readonly byKey: Map<string, Raw>
  /** The keys of `byKey`, in order. */
  readonly keys: SortedKeys.SortedKeys
  /** Keys of the objects that refer to an owner, by its uid: a collector asks for them. */
  readonly byOwner: Map<string, Set<string>>
  readonly watches: Set<WatchBuffer.WatchBuffer>
}

/**
 * All that a store in memory is. Changed by the functions of this module alone.
 *
 * @category models
 * @since 0.1.0
 */
export interface State {
  readonly options: Options
  readonly kinds: Map<string, Objects>
  readonly fences: Map<string, number>
  timeline: Timeline.Timeline<Change>
}

/** @category models @since 0.1.0 */
export interface Watch {
  readonly kind: Objects
  readonly buffer: WatchBuffer.WatchBuffer
  /** What was there when the watch began: taken before the buffer, in slices. */
  backlog: Iterator<ReadonlyArray<Driver.WatchEvent>> | undefined
}

/** @category constructors @since 0.1.0 */
export const make = (birthId: string, options: Options = defaults): State => ({
  options,
  kinds: new Map(),
  fences: new Map(),
  timeline: Timeline.begin(0, birthId, options.history)
})

const kindOf = (state: State, at: Driver.KindAddress): Objects => {
  const name = groupKind(at)
  const known = state.kinds.get(name)
  if (known !== undefined) {
    known.address = at // that of an import was a guess
    return known
  }
  const kind: Objects = {
    address: at,
    byKey: new Map(),
    keys: SortedKeys.make(),
    byOwner: new Map(),
    watches: new Set()
  }
  state.kinds.set(name, kind)
  return kind
}

const textOf = (key: Key): string => `${key.namespace}/${key.name}`

const invalid = (...fields: ReadonlyArray<Field>): Result.Result<never, Reason> => Result.fail(new Invalid({ fields }))

// ---------------------------------------------------------------------------------------------------------------------
// reading
// ---------------------------------------------------------------------------------------------------------------------

/** The kinds that have objects. @category reading @since 0.1.0 */
export const kinds = (state: State): ReadonlyArray<Driver.KindAddress> =>
  [...state.kinds.values()].filter((kind) => kind.byKey.size > 0).map((kind) => kind.address)

/** @category reading @since 0.1.0 */
export const get = (
  state: State,
  at: Driver.KindAddress,
  key: Key,
  options: { readonly metadataOnly?: boolean | undefined } = {}
): Result.Result<Raw, Reason> => {
  const object = kindOf(state, at).byKey.get(textOf(key))
  if (object !== undefined) {
    return Result.succeed(options.metadataOnly === true ? WatchBuffer.metadataOf(object) : object)
  }
  return Result.fail(StoreRules.notFound(at, key))
}

/** A snapshot, or a page of one (S8). @category reading @since 0.1.0 */
export const list = (
  state: State,
  at: Driver.KindAddress,
  options: Omit<Driver.ListOptions, "consistency">
): Result.Result<Driver.Page, Reason> => {
  const selector = WatchBuffer.selector(options.selector)
  if (Result.isFailure(selector)) return Result.fail(selector.failure)
  const { limit } = options
  if (limit !== undefined && !(Number.isInteger(limit) && limit > 0)) {
    return invalid({ path: "limit", why: `must be a whole number above 0, but is ${limit}` })
  }
  const from = options.page === undefined ? firstPage(state) : parsePage(state, options.page)
  if (Result.isFailure(from)) return Result.fail(from.failure)
  const { after, revision, writeId } = from.success
  const kind = kindOf(state, at)
  const was = revision === state.timeline.latest.revision ? undefined : valuesAt(state, kind, revision)
  const items: Array<Raw> = []
  let next: string | undefined
  let lastKey = ""
  for (const key of keysOf(kind, was, options, after)) {
    const object = was !== undefined && was.has(key) ? was.get(key) : kind.byKey.get(key)
    if (object === undefined || !selects(object, selector.success, options)) continue
    if (items.length === limit) {
      next = JSON.stringify([revision, writeId, lastKey])
      break
    }
    items.push(options.metadataOnly === true ? WatchBuffer.metadataOf(object) : object)
    lastKey = key
  }
  const page = { items, revision: String(revision), cursor: StoreRules.cursor(String(revision), writeId) }
  return Result.succeed(next === undefined ? page : { ...page, next })
}

type Place = { readonly revision: number; readonly writeId: string; readonly after: string }

const firstPage = (state: State): Result.Result<Place, Reason> =>
  Result.succeed({ revision: state.timeline.latest.revision, writeId: state.timeline.latest.writeId, after: "" })

const parsePage = (state: State, text: string): Result.Result<Place, Reason> => {
  const token = Result.try(() => JSON.parse(text) as unknown)
  const [revision, writeId, after]: ReadonlyArray<unknown> = Result.isSuccess(token) && Array.isArray(token.success)
    ? token.success
    : []
  if (typeof revision !== "number" || typeof writeId !== "string" || typeof after !== "string") {
    return invalid({ path: "page", why: "is not the `next` of an earlier page" })
  }
  return Result.map(Timeline.retained(state.timeline, revision, writeId), () => ({ revision, writeId, after }))
}

/** Keys in order after `after`, those that the filter can mean. */
const keysOf = (
  kind: Objects,
  was: ReadonlyMap<string, Raw | undefined> | undefined,
  options: Pick<Driver.ListOptions, "namespace" | "name" | "ownerUid">,
  after: string
): Iterable<string> => {
  const { name, namespace, ownerUid } = options
  if (name !== undefined && namespace !== undefined) {
    const key = textOf({ namespace, name })
    return key > after ? [key] : []
  }
  if (ownerUid !== undefined) return keysOfOwner(kind, was, ownerUid, after)
  const prefix = namespace === undefined ? "" : `${namespace}/`
  return range(kind, was, prefix > after ? prefix : after, after, prefix, name === undefined ? "" : `/${name}`)
}

/** In order; of whatever namespace and name, which are looked at afterwards: these are few. */
const keysOfOwner = (
  kind: Objects,
  was: ReadonlyMap<string, Raw | undefined> | undefined,
  ownerUid: string,
  after: string
): Iterable<string> => {
  const keys = new Set(kind.byOwner.get(ownerUid))
  for (const [key, object] of was ?? []) if (object !== undefined && refersTo(object, ownerUid)) keys.add(key)
  return [...keys].filter((key) => key > after).toSorted(byBytes)
}

function* range(
  kind: Objects,
  was: ReadonlyMap<string, Raw | undefined> | undefined,
  from: string,
  after: string,
  prefix: string,
  suffix: string
) {
  const keys = SortedKeys.from(kind.keys, from)
  for (const key of was === undefined ? keys : merged(keys, vanished(kind, was, from))) {
    if (!key.startsWith(prefix)) return
    if (key !== after && key.endsWith(suffix)) yield key
  }
}

/** The keys, from one on, that were there at an earlier revision and are no more. */
const vanished = (kind: Objects, was: ReadonlyMap<string, Raw | undefined>, from: string): ReadonlyArray<string> =>
  [...was]
    .filter(([key, object]) => object !== undefined && key >= from && !kind.byKey.has(key))
    .map(([key]) => key)
    .toSorted(byBytes)

/** Two sequences in order as one. */
function* merged(keys: Iterable<string>, others: ReadonlyArray<string>): Generator<string> {
  let next = 0
  for (const key of keys) {
    while (next < others.length && others[next] < key) yield others[next++]
    yield key
  }
  while (next < others.length) yield others[next++]
}

/** Names are ASCII, so the order of UTF-16 units is that of UTF-8 bytes (S8). */
const byBytes = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** What the objects of a kind that have changed since were at an earlier revision. */
const valuesAt = (state: State, kind: Objects, revision: number): ReadonlyMap<string, Raw | undefined> => {
  const values = new Map<string, Raw | undefined>()
  for (const change of Timeline.after(state.timeline, revision)) {
    if (change.kind === kind && !values.has(change.key)) values.set(change.key, change.before)
  }
  return values
}

const selects = (
  object: Raw,
  selector: Selector.Selector | undefined,
  options: Pick<Driver.ListOptions, "namespace" | "name" | "ownerUid">
): boolean => {
  const { name, namespace, ownerUid } = options
  if (ownerUid !== undefined && !refersTo(object, ownerUid)) return false
  if (namespace !== undefined && namespace !== (object.metadata.namespace ?? "")) return false
  if (name !== undefined && name !== object.metadata.name) return false
  return selector === undefined || Selector.matches(selector, object.metadata.labels)
}

const refersTo = (object: Raw, ownerUid: string): boolean =>
  object.metadata.ownerReferences?.some((owner) => owner.uid === ownerUid) ?? false

/** Whether a write was applied, as far as the history reaches. @category reading @since 0.1.0 */
export const outcome = (state: State, writeId: string): "applied" | "notApplied" | "forgotten" =>
  Timeline.outcome(state.timeline, writeId)

// ---------------------------------------------------------------------------------------------------------------------
// writing
// ---------------------------------------------------------------------------------------------------------------------

/** @category writing @since 0.1.0 */
export const fence = (state: State, lease: string, epoch: number): Result.Result<void, Reason> => {
  const highest = state.fences.get(lease)
  const refused = StoreRules.fenced(lease, epoch, highest)
  if (refused !== undefined) return Result.fail(refused)
  if (highest !== epoch) state.fences.set(lease, epoch)
  return Result.succeed(undefined)
}

/** What a write needs of the world. @category models @since 0.1.0 */
export interface Given {
  readonly nowText: string
  /** Called for writes that can create an object. */
  readonly uid: () => string
}

/** One write, from its fence to the buffers of the watches. @category writing @since 0.1.0 */
export const write = (
  state: State,
  at: Driver.KindAddress,
  write: Driver.Write,
  options: Driver.WriteOptions,
  given: Given
): Result.Result<Driver.Written, Reason> => {
  const fenced = options.fence === undefined ? undefined : fence(state, options.fence.lease, options.fence.epoch)
  if (fenced !== undefined && Result.isFailure(fenced)) return Result.fail(fenced.failure)
  const key = StoreRules.keyOf(write)
  const kind = kindOf(state, at)
  const text = textOf(key)
  const stored = kind.byKey.get(text)
  if (stored === undefined && write.op !== "create") {
    const flaws = StoreRules.checkKey(at, key)
    if (flaws.length > 0) return invalid(...flaws)
  }
  const decision = StoreRules.decide(stored, write, options, {
    at,
    nowText: given.nowText,
    uid: stored === undefined && (write.op === "create" || write.op === "apply") ? given.uid() : "",
    revision: String(state.timeline.latest.revision + 1),
    maxObjectBytes: state.options.maxObjectBytes,
    freeze: state.options.freeze
  })
  switch (decision._tag) {
    case "Refused":
      return Result.fail(decision.reason)
    case "Unchanged":
      return Result.succeed({ object: decision.object, changed: false, removed: false })
    case "Put":
      if (options.dryRun !== true) change(state, kind, text, stored, decision.object, undefined, options.writeId)
      return Result.succeed({ object: decision.object, changed: true, removed: false })
    case "Remove":
      if (options.dryRun !== true) change(state, kind, text, stored, undefined, decision.last, options.writeId)
      return Result.succeed({ object: decision.last, changed: true, removed: true })
  }
}

/** Readers go on only now that all is done: they run at once, and may write. */
const change = (...args: Parameters<typeof commit>): void => {
  commit(...args)
  const [state, kind] = args
  if (isMarked(state)) wakeAll(state)
  else WatchBuffer.wake(kind.watches)
}

const isMarked = ({ options, timeline }: State): boolean => timeline.latest.revision % options.bookmarkEvery === 0

const commit = (
  state: State,
  kind: Objects,
  key: string,
  before: Raw | undefined,
  after: Raw | undefined,
  last: Raw | undefined,
  writeId: string
): void => {
  if (after === undefined) {
    kind.byKey.delete(key)
    SortedKeys.remove(kind.keys, key)
  } else {
    kind.byKey.set(key, after)
    if (before === undefined) SortedKeys.insert(kind.keys, key)
  }
  noteOwners(kind, key, before, after)
  const change: Change = { kind, key, before, after, last, revision: state.timeline.latest.revision + 1, writeId }
  Timeline.remember(state.timeline, change)
  WatchBuffer.publish(change, kind.watches)
  if (isMarked(state)) mark(state)
}

/** What did not change is the same reference (`takeIn`), so that most writes have nothing to do here. */
const noteOwners = (kind: Objects, key: string, before: Raw | undefined, after: Raw | undefined): void => {
  const was = before?.metadata.ownerReferences
  const is = after?.metadata.ownerReferences
  if (was === is) return
  for (const { uid } of was ?? []) {
    const keys = kind.byOwner.get(uid)
    if (keys?.delete(key) === true && keys.size === 0) kind.byOwner.delete(uid)
  }
  for (const { uid } of is ?? []) {
    const keys = kind.byOwner.get(uid)
    if (keys === undefined) kind.byOwner.set(uid, new Set([key]))
    else keys.add(key)
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// watching
// ---------------------------------------------------------------------------------------------------------------------

const sliceSize = 500
/** Opens a watch. It is fed until {@link close}. @category watching @since 0.1.0 */
export const watch = (
  state: State,
  at: Driver.KindAddress,
  options: Driver.WatchOptions
): Result.Result<Watch, Reason> => {
  const made = WatchBuffer.make(options)
  if (Result.isFailure(made)) return Result.fail(made.failure)
  const buffer = made.success
  const kind = kindOf(state, at)
  const backlog = options.from === "current" ? initial(state, kind, buffer) : replay(state, kind, buffer, options.from)
  return Result.map(backlog, (backlog) => {
    kind.watches.add(buffer)
    return { kind, buffer, backlog }
  })
}

/** Ends a watch: nothing more is kept for it. @category watching @since 0.1.0 */
export const close = (self: Watch): void => {
  self.kind.watches.delete(self.buffer)
  self.backlog = undefined
  self.buffer.events = []
}

/** What is there for the reader: events, or why the watch ends, or nothing yet. @category watching @since 0.1.0 */
export const take = (self: Watch): ReadonlyArray<Driver.WatchEvent> | Reason | undefined => {
  const slice = self.backlog?.next()
  if (slice !== undefined && slice.done !== true) return slice.value
  self.backlog = undefined
  return WatchBuffer.take(self.buffer)
}

/** Tells every watch how far it is (S4); one that is full learns nothing new. @category watching @since 0.1.0 */
export const bookmark = (state: State): void => {
  mark(state)
  wakeAll(state)
}

const mark = (state: State): void => {
  const { revision, writeId } = state.timeline.latest
  for (const kind of state.kinds.values()) {
    for (const watch of kind.watches) WatchBuffer.bookmark(watch, revision, writeId)
  }
}

const wakeAll = (state: State): void => {
  for (const kind of state.kinds.values()) WatchBuffer.wake(kind.watches)
}

/** The objects that are there, in slices, then the mark: all of one revision, however late they are read. */
const initial = (
  state: State,
  kind: Objects,
  watch: WatchBuffer.WatchBuffer
): Result.Result<Iterator<ReadonlyArray<Driver.WatchEvent>>, Reason> => {
  const { namespace } = watch
  const { revision, writeId } = state.timeline.latest
  const cursor = StoreRules.cursor(String(revision), writeId)
  const objects: Array<Raw> = []
  for (const key of keysOf(kind, undefined, { namespace }, "")) {
    const object = kind.byKey.get(key)
    if (object !== undefined && selects(object, watch.selector, { namespace })) objects.push(object)
  }
  return Result.succeed(initialSlices(watch, objects, String(revision), cursor))
}

// A generator made anew for each watch would keep all that it sees alive until the whole heap is collected.
function* initialSlices(
  watch: WatchBuffer.WatchBuffer,
  objects: ReadonlyArray<Raw>,
  revision: string,
  cursor: Revision.Cursor
): Generator<ReadonlyArray<Driver.WatchEvent>> {
  for (let i = 0; i < objects.length; i += sliceSize) {
    yield objects.slice(i, i + sliceSize).map((object) => ({
      _tag: "Added",
      object: WatchBuffer.shown(watch, object),
      initial: true,
      cursor
    }))
  }
  yield [{ _tag: "InitialDone", revision, cursor }]
}

/** The changes after a cursor that the watch would have seen. */
const replay = (
  state: State,
  kind: Objects,
  watch: WatchBuffer.WatchBuffer,
  from: Revision.Cursor
): Result.Result<Iterator<ReadonlyArray<Driver.WatchEvent>>, Reason> => {
  const cursor = StoreRules.parseCursor(from)
  if (Result.isFailure(cursor)) return Result.fail(cursor.failure)
  const { writeId } = cursor.success
  const revision = Number(cursor.success.revision)
  return Result.map(Timeline.retained(state.timeline, revision, writeId), () => {
    const events: Array<Driver.WatchEvent> = []
    for (const change of Timeline.after(state.timeline, revision)) {
      const event = change.kind === kind ? WatchBuffer.eventFor(watch, change) : undefined
      if (event !== undefined) events.push(event)
    }
    return slices(events)
  })
}

function* slices<A>(all: ReadonlyArray<A>): Generator<ReadonlyArray<A>> {
  for (let i = 0; i < all.length; i += sliceSize) yield all.slice(i, i + sliceSize)
}

// ---------------------------------------------------------------------------------------------------------------------
// export and import
// ---------------------------------------------------------------------------------------------------------------------

/** All objects at one revision, by kind and key. @category backup @since 0.1.0 */
export const exported = (state: State): ReadonlyArray<Raw> =>
  [...state.kinds.keys()].toSorted(byBytes).flatMap((name) => {
    const kind = state.kinds.get(name)
    return kind === undefined
      ? []
      : [...kind.byKey.keys()].toSorted(byBytes).flatMap((key) => kind.byKey.get(key) ?? [])
  })

/**
 * Takes exported objects into an empty store, all or none: each gets a new revision, in the old order, in a new
 * timeline (S5). `gap` is random, at least 1: the new revisions begin so far above the old ones that no revision of the
 * old timeline fits an object of the new one.
 *
 * @category backup
 * @since 0.1.0
 */
export const imported = (
  state: State,
  objects: ReadonlyArray<unknown>,
  given: { readonly birthId: string; readonly gap: number; readonly writeId: () => string }
): Result.Result<void, Reason> => {
  if (kinds(state).length > 0) {
    return Result.fail(new Conflict({ why: "the store has objects; import into an empty one" }))
  }
  const read = StoreRules.importAll(objects, state.options)
  if (Result.isFailure(read)) return Result.fail(read.failure)
  const highest = Math.max(read.success.highest, state.timeline.latest.revision)
  const imported = new Expired({ why: "another timeline was imported", otherTimeline: true })
  const ended = [...state.kinds.values()].flatMap((kind) => [...kind.watches])
  for (const watch of ended) WatchBuffer.end(watch, imported)
  state.kinds.clear()
  state.timeline = Timeline.begin(highest + given.gap, given.birthId, state.options.history)
  for (const { at, key, object } of read.success.objects) {
    const resourceVersion = String(state.timeline.latest.revision + 1)
    const next: Raw = { ...object, metadata: { ...object.metadata, resourceVersion } }
    if (state.options.freeze) Object.freeze(Object.freeze(next).metadata)
    commit(state, kindOf(state, at), textOf(key), undefined, next, undefined, given.writeId())
  }
  WatchBuffer.wake(ended)
  return Result.succeed(undefined)
}
