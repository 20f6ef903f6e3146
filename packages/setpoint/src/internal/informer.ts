/**
 * The rules of an informer: what an event does to cache, cursor and handlers. Synchronous: a change is in the cache and
 * told to every handler in one step. Only these functions write a `State`.
 */
import type { Raw } from "../Resource.ts"
import * as Revision from "../Revision.ts"
import type { WatchEvent } from "../StoreDriver.ts"
import * as Cache from "./informerCache.ts"
import * as Machine from "./informerMachine.ts"
import * as json from "./json.ts"

/** How a change came to be known. */
export type Via = "watch" | "initial" | "relist" | "redelivery" | "newTimeline"

export interface Change {
  readonly type: "Added" | "Modified" | "Deleted"
  readonly via: Via
  readonly entry: Cache.View
  readonly object: Raw
  readonly old: Raw | undefined
  readonly revision: Revision.Revision
  readonly writeId: string | undefined
}

export interface Handler {
  readonly onChange: (change: Change) => void
  readonly onRevision?: ((revision: Revision.Revision) => void) | undefined
  readonly onSynced?: (() => void) | undefined
  readonly onNewTimeline?: (() => void) | undefined
  readonly onClosed?: (() => void) | undefined
  readonly redelivery?: boolean | undefined
}

export interface Subscription {
  /** Its slot on entries, from when it first hangs something there. */
  index: number | undefined
  readonly handler: Handler
  active: boolean
  /** While what is cached is replayed to a late subscriber: the entries that it was told of. */
  told: Set<Cache.View> | undefined
}

export interface Counters {
  /** Watch events taken, marks not counted. */
  events: number
  bookmarks: number
  /** Events that told what the cache holds already. */
  duplicates: number
  /** Events from before what was seen; each leads to a relist. */
  stale: number
  /** Frames and list items that are no objects. */
  broken: number
  /** Lists taken into the cache after the first. */
  relists: number
  /** Listed objects that a relist found as they were. */
  unchanged: number
  newTimelines: number
  expired: number
  lagged: number
  /** Watches begun. */
  watches: number
  /** Lists and watches that failed. */
  failures: number
  redeliveries: number
  handlerDefects: number
  transformDefects: number
}

export interface State {
  readonly cache: Cache.Cache
  readonly machine: Machine.Machine
  /** The named transform, `undefined` for none. */
  readonly transform: ((raw: Raw) => Raw) | undefined
  /** Whether a list's pages are one snapshot; else events may be older than the listed state of their object. */
  readonly snapshots: boolean
  /** Slots of entries that are a subscription's, or were and are not cleared yet. */
  readonly slots: Set<number>
  /** Replaced, never changed in place: whoever goes through it sees who was there when it began. */
  subscriptions: ReadonlyArray<Subscription>
  /** A list that comes through the watch. */
  staged: Cache.Staged | undefined
  /** Live events that came before such a list was complete. */
  readonly early: Array<WatchEvent>
  /** A list is being told to the handlers: nothing else is, until it is over. */
  delivering: boolean
  /** An event from before what was seen came: the watch is not to be trusted. */
  wentBack: boolean
  toldRevision: Revision.Revision | undefined
  readonly counters: Counters
  /** The last defects of handlers, transforms and frames, to be logged; bounded. */
  readonly defects: Array<{ readonly what: string; readonly defect: unknown }>
}

export const make = (
  machine: Machine.Machine,
  options: { readonly transform: ((raw: Raw) => Raw) | undefined; readonly snapshots: boolean }
): State => ({
  cache: Cache.make(),
  machine,
  ...options,
  slots: new Set(),
  subscriptions: [],
  staged: undefined,
  early: [],
  delivering: false,
  wentBack: false,
  toldRevision: undefined,
  counters: {
    events: 0,
    bookmarks: 0,
    duplicates: 0,
    stale: 0,
    broken: 0,
    relists: 0,
    unchanged: 0,
    newTimelines: 0,
    expired: 0,
    lagged: 0,
    watches: 0,
    failures: 0,
    redeliveries: 0,
    handlerDefects: 0,
    transformDefects: 0
  },
  defects: []
})

const maxDefects = 16

export const noteDefect = (state: State, what: string, defect: unknown): void => {
  if (state.defects.length < maxDefects) state.defects.push({ what, defect })
}

/** From here on no handler hears anything. */
export const close = (state: State, now: number, why?: string): void => {
  Machine.close(state.machine, now, why)
  signal(state, state.subscriptions, "onClosed")
  for (const subscription of state.subscriptions) subscription.active = false
  state.subscriptions = []
}

const keyText = (entry: Cache.View): string => entry.namespace === "" ? entry.name : `${entry.namespace}/${entry.name}`

// ---------------------------------------------------------------------------------------------------------------------
// handlers
// ---------------------------------------------------------------------------------------------------------------------

/** Joins at once: from here on the handler hears every change. The replay of what is cached follows. */
export const subscribe = (state: State, handler: Handler): Subscription => {
  const subscription: Subscription = {
    index: undefined,
    handler,
    active: true,
    told: state.cache.content.size === 0 ? undefined : new Set()
  }
  state.subscriptions = [...state.subscriptions, subscription]
  return subscription
}

/** The slot of a subscription: the lowest that is free, so that one consumer that hangs something on entries has the first. */
export const slotOf = (state: State, subscription: Subscription): number => {
  if (subscription.index !== undefined) return subscription.index
  let index = 0
  while (state.slots.has(index)) index++
  state.slots.add(index)
  subscription.index = index
  return index
}

/** From here on the handler hears nothing. Its slot is another's when every entry was cleared of what it left. */
export const unsubscribe = (state: State, subscription: Subscription): void => {
  subscription.active = false
  subscription.told = undefined
  state.subscriptions = state.subscriptions.filter((other) => other !== subscription)
}

export const slotIsCleared = (state: State, { index }: Subscription): void => {
  if (index !== undefined) state.slots.delete(index)
}

/** Tells a late subscriber of one cached object, unless a live event did. */
export const replay = (state: State, subscription: Subscription, entry: Cache.Entry): void => {
  if (entry.raw === undefined || subscription.told === undefined || subscription.told.has(entry)) return
  tell(state, subscription, {
    type: "Added",
    via: "initial",
    entry,
    object: entry.raw,
    old: undefined,
    revision: entry.raw.metadata.resourceVersion,
    writeId: undefined
  })
}

export const replayed = (subscription: Subscription): void => {
  subscription.told = undefined
}

const tell = (state: State, subscription: Subscription, change: Change): void => {
  if (!subscription.active) return
  let told = change
  if (subscription.told !== undefined) {
    if (change.type === "Deleted") {
      if (!subscription.told.delete(change.entry)) return // it never heard of the object
    } else if (!subscription.told.has(change.entry)) {
      subscription.told.add(change.entry)
      if (change.type === "Modified") told = { ...change, type: "Added", old: undefined }
    }
  }
  try {
    subscription.handler.onChange(told)
  } catch (defect) {
    handlerDefect(state, `${change.type} of ${keyText(change.entry)}`, defect)
  }
}

const handlerDefect = (state: State, what: string, defect: unknown): void => {
  state.counters.handlerDefects++
  noteDefect(state, `a handler died of ${what}`, defect)
}

export const tellAll = (state: State, subscriptions: ReadonlyArray<Subscription>, change: Change): void => {
  for (let i = 0; i < subscriptions.length; i++) {
    const subscription = subscriptions[i]
    if (subscription !== undefined) tell(state, subscription, change)
  }
}

const signal = (
  state: State,
  subscriptions: ReadonlyArray<Subscription>,
  name: "onSynced" | "onNewTimeline" | "onClosed"
): void => {
  for (const { active, handler } of subscriptions) {
    if (!active) continue
    try {
      handler[name]?.()
    } catch (defect) {
      handlerDefect(state, name, defect)
    }
  }
}

/** After a batch: the cache holds everything up to a new revision. */
export const tellRevision = (state: State): void => {
  const { revision } = state.machine
  if (revision === undefined || revision === state.toldRevision) return
  state.toldRevision = revision
  for (const { active, handler } of state.subscriptions) {
    if (!active || handler.onRevision === undefined) continue
    try {
      handler.onRevision(revision)
    } catch (defect) {
      handlerDefect(state, "onRevision", defect)
    }
  }
}

/** Hands an unchanged object again to the handlers that ask for it. */
export const redeliver = (state: State, entry: Cache.Entry): void => {
  if (entry.raw === undefined) return
  const change: Change = {
    type: "Modified",
    via: "redelivery",
    entry,
    object: entry.raw,
    old: entry.raw,
    revision: entry.raw.metadata.resourceVersion,
    writeId: undefined
  }
  state.counters.redeliveries++
  for (const subscription of state.subscriptions) {
    // Who is still being told of the cache hears of it anyway.
    if (subscription.handler.redelivery === true && subscription.told === undefined) tell(state, subscription, change)
  }
}

export const wantsRedelivery = (state: State): boolean =>
  state.subscriptions.some(({ handler }) => handler.redelivery === true)

// ---------------------------------------------------------------------------------------------------------------------
// objects at the door
// ---------------------------------------------------------------------------------------------------------------------

const isObject = (u: unknown): u is { readonly [field: string]: unknown } => typeof u === "object" && u !== null

/** What every object of a store has; a frame without it is broken, and concerns nobody. */
const assertObject = (raw: unknown): void => {
  const metadata = isObject(raw) ? raw["metadata"] : undefined
  if (
    !isObject(metadata) || typeof metadata["name"] !== "string" || typeof metadata["uid"] !== "string" ||
    typeof metadata["resourceVersion"] !== "string"
  ) throw new Error("not an object of a store: metadata.name, uid or resourceVersion is missing")
}

/** The object as it is cached. A transform that dies or breaks identity leaves the object's bare metadata. */
const prepare = (state: State, raw: Raw): Raw => {
  if (state.transform === undefined) return raw
  try {
    const transformed = state.transform(raw)
    assertObject(transformed)
    const { metadata } = transformed
    if (
      metadata.name !== raw.metadata.name || metadata.namespace !== raw.metadata.namespace ||
      !Cache.isSame(transformed, raw)
    ) throw new Error("a transform must keep name, namespace, uid and resourceVersion")
    return json.deepFreeze(transformed)
  } catch (defect) {
    state.counters.transformDefects++
    noteDefect(state, `the transform failed on ${raw.metadata.namespace ?? ""}/${raw.metadata.name}`, defect)
    return bare(raw)
  }
}

/** What a failed transform may not hide and cannot have meant to keep: identity, labels, owners and deletion. */
const bare = (raw: Raw): Raw => {
  const { annotations: _annotations, managedFields: _managedFields, ...metadata } = raw.metadata
  return Object.freeze({ apiVersion: raw.apiVersion, kind: raw.kind, metadata: Object.freeze(metadata) })
}

const broken = (state: State, defect: unknown): void => {
  state.counters.broken++
  noteDefect(state, "a frame or a list item is broken", defect)
}

/** Takes in one listed object; a broken one concerns no other. */
export const stageObject = (state: State, staged: Cache.Staged, raw: Raw): void => {
  try {
    assertObject(raw)
    Cache.stageObject(state.cache, staged, prepare(state, raw))
  } catch (defect) {
    broken(state, defect)
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// the connection
// ---------------------------------------------------------------------------------------------------------------------

export const beginWatch = (state: State, from: "current" | Revision.Cursor): void => {
  state.counters.watches++
  state.staged = from === "current" ? Cache.stage(state.cache, Machine.distrusts(state.machine)) : undefined
  state.early.length = 0
}

/** A list or a watch ended: what it left half-done is forgotten, what the cache has stays. */
export const failed = (state: State, failure: Machine.Failure, now: number, random: number): void => {
  const { counters } = state
  counters.failures++
  if (failure._tag === "Store" && failure.reason._tag === "Expired") counters.expired++
  if (failure._tag === "Store" && failure.reason._tag === "Lagged") counters.lagged++
  state.staged = undefined
  state.early.length = 0
  state.wentBack = false
  state.delivering = false
  Machine.failed(state.machine, failure, now, random)
}

// ---------------------------------------------------------------------------------------------------------------------
// watch events
// ---------------------------------------------------------------------------------------------------------------------

/** Applies one event: cache, cursor, handlers. A broken one concerns no other. */
export const applyEvent = (state: State, event: WatchEvent): void => {
  try {
    switch (event._tag) {
      case "Added":
      case "Modified":
        assertObject(event.object)
        if (state.staged === undefined) return applyObject(state, event)
        if (event.initial) return stageObject(state, state.staged, event.object)
        state.early.push(event)
        return
      case "Deleted":
        assertObject(event.last)
        if (state.staged === undefined) return applyDeleted(state, event)
        state.early.push(event)
        return
      case "Bookmark":
      case "InitialDone":
        state.counters.bookmarks++
        if (state.staged === undefined) Machine.sawUpTo(state.machine, event.revision, event.cursor)
    }
  } catch (defect) {
    broken(state, defect)
  }
}

const applyObject = (state: State, event: WatchEvent & { readonly _tag: "Added" | "Modified" }): void => {
  const { cache, counters, machine, subscriptions } = state
  const { name, namespace, resourceVersion, uid } = event.object.metadata
  const known = Cache.find(cache, namespace ?? "", name)
  const old = known?.raw
  counters.events++
  if (old !== undefined && isKnown(state, old, resourceVersion, uid)) {
    counters.duplicates++
    if (!Machine.isPast(machine, resourceVersion)) Machine.sawUpTo(machine, resourceVersion, event.cursor)
    return
  }
  if (Machine.isPast(machine, resourceVersion)) return refuse(state)
  const raw = prepare(state, event.object)
  const entry = known ?? Cache.add(cache, raw)
  if (known !== undefined) Cache.replace(cache, known, raw)
  Machine.sawUpTo(machine, resourceVersion, event.cursor)
  const { writeId } = event
  const sameLife = old !== undefined && old.metadata.uid === uid
  if (old !== undefined && !sameLife) {
    // The old life ended unseen: a change never goes across a uid.
    tellAll(state, subscriptions, {
      type: "Deleted",
      via: "watch",
      entry,
      object: old,
      old,
      revision: resourceVersion,
      writeId: undefined
    })
  }
  tellAll(state, subscriptions, {
    type: sameLife ? "Modified" : "Added",
    via: "watch",
    entry,
    object: raw,
    old: sameLife ? old : undefined,
    revision: resourceVersion,
    writeId
  })
}

const applyDeleted = (state: State, event: WatchEvent & { readonly _tag: "Deleted" }): void => {
  const { cache, counters, machine, subscriptions } = state
  const { name, namespace, resourceVersion } = event.last.metadata
  const entry = Cache.find(cache, namespace ?? "", name)
  const old = entry?.raw
  counters.events++
  if (Machine.isPast(machine, event.revision)) {
    if (old !== undefined) return refuse(state)
    counters.duplicates++
    return
  }
  Machine.sawUpTo(machine, event.revision, event.cursor)
  if (entry === undefined || old === undefined || isAhead(state, old, event.revision)) {
    counters.duplicates++
    return
  }
  const object = old.metadata.resourceVersion === resourceVersion ? old : prepare(state, event.last)
  Cache.remove(cache, entry)
  tellAll(state, subscriptions, {
    type: "Deleted",
    via: "watch",
    entry,
    object,
    old,
    revision: event.revision,
    writeId: undefined
  })
}

const refuse = (state: State): void => {
  state.counters.stale++
  state.wentBack = true
}

const isKnown = (state: State, old: Raw, revision: Revision.Revision, uid: string): boolean =>
  old.metadata.resourceVersion === revision ? old.metadata.uid === uid : isAhead(state, old, revision)

/** Pages that are no snapshot may hold an object at a later state than the watch, which began at the first page. */
const isAhead = (state: State, old: Raw, revision: Revision.Revision): boolean =>
  !state.snapshots && Revision.compare(old.metadata.resourceVersion, revision) === "after"

// ---------------------------------------------------------------------------------------------------------------------
// lists
// ---------------------------------------------------------------------------------------------------------------------

/** What a list is to tell, in order: a generator, so that the shell can pause between two changes. */
export function* takeOver(
  state: State,
  staged: Cache.Staged,
  list: {
    readonly revision: Revision.Revision
    readonly cursor: Revision.Cursor
    readonly newTimeline: boolean
    readonly now: number
  }
): Generator<void> {
  const { cache, counters, machine } = state
  const first = machine.revision === undefined
  const { subscriptions } = state
  const differences = Cache.takeOver(cache, staged)
  Machine.listed(machine, list.revision, list.cursor, list.now)
  state.staged = undefined
  state.delivering = true
  if (!first) counters.relists++
  if (list.newTimeline) counters.newTimelines++
  counters.unchanged += staged.unchanged.length
  const via: Via = list.newTimeline ? "newTimeline" : first ? "initial" : "relist"
  if (list.newTimeline) signal(state, subscriptions, "onNewTimeline")
  for (const { entry, last, raw } of differences) {
    const sameLife = last !== undefined && raw !== undefined && last.metadata.uid === raw.metadata.uid
    if (last !== undefined && !sameLife) {
      tellAll(state, subscriptions, {
        type: "Deleted",
        via,
        entry,
        object: last,
        old: last,
        revision: list.revision,
        writeId: undefined
      })
      yield
    }
    if (raw !== undefined) {
      tellListed(state, subscriptions, via, entry, raw, sameLife ? last : undefined)
      yield
    }
  }
  for (const entry of staged.added) {
    if (entry.raw !== undefined) tellListed(state, subscriptions, via, entry, entry.raw, undefined)
    yield
  }
  if (list.newTimeline) {
    for (const entry of staged.unchanged) {
      if (entry.raw !== undefined) tellListed(state, subscriptions, via, entry, entry.raw, entry.raw)
      yield
    }
  }
  state.delivering = false
  signal(state, state.subscriptions, "onSynced")
}

const tellListed = (
  state: State,
  subscriptions: ReadonlyArray<Subscription>,
  via: Via,
  entry: Cache.Entry,
  object: Raw,
  old: Raw | undefined
): void =>
  tellAll(state, subscriptions, {
    type: old === undefined ? "Added" : "Modified",
    via,
    entry,
    object,
    old,
    revision: object.metadata.resourceVersion,
    writeId: undefined
  })
