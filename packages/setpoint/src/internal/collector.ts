/**
 * The rules of the garbage collector: who depends on whom, and what is due for one object. Synchronous: no Effect, no
 * clock, no fiber. The caller brings changes in ({@link observed}, {@link vanished}), asks what is due ({@link due}),
 * and carries it out.
 *
 * The graph may lag behind the store. So a step that writes is decided again on the object as it is stored, and is
 * carried out under that object's uid and revision; and that an owner is absent is confirmed by a read.
 */
import { groupKind, isMarkedForDeletion, type OwnerReference, type Raw } from "../Resource.ts"
import type { KindAddress, Propagation } from "../StoreDriver.ts"
import { foregroundFinalizer, orphanFinalizer } from "../StoreRules.ts"

/** Keeps a Namespace until the collector has emptied it. */
export const namespaceFinalizer = "setpoint.dev/namespace"

export interface Node {
  readonly at: KindAddress
  /** Metadata, and the whole object where the kind is Event. */
  object: Raw
}

export interface State {
  /** By uid: what has owners or is one, Namespaces, Events, and what waits for the collector. Of others nothing is kept. */
  readonly nodes: Map<string, Node>
  /** The uids of those that name a uid as owner, whether that one is here or not. */
  readonly dependents: Map<string, Set<string>>
  /** Owners of someone here that were here too at some time. */
  readonly seen: Set<string>
  /** The uids of a kind: what a new list lacks has vanished. */
  readonly kinds: Map<string, Set<string>>
  /** `namespace uid` of owners that a read did not find. A uid lives once (S7), so it stays true in its timeline. */
  readonly absent: Set<string>
  /** The uids of Events by what they are about. */
  readonly events: Map<string, Set<string>>
  /** What a read that is under way may have missed: how many went, the last of them, how many lists were taken in. */
  readonly missed: { removals: number; readonly last: Set<string>; lists: number }
  readonly settings: Settings
}

export interface Settings {
  readonly eventMillis: number
  readonly eventsPerObject: number
}

export const make = (settings: Settings): State => ({
  nodes: new Map(),
  dependents: new Map(),
  seen: new Set(),
  kinds: new Map(),
  absent: new Set(),
  events: new Map(),
  missed: { removals: 0, last: new Set(), lists: 0 },
  settings
})

/** Bounds `missed.last`. */
const maxLast = 1000

/** Bounds `absent`: it is a memory of reads, which can be made again. */
const maxAbsent = 1000

export const isEvent = (at: KindAddress): boolean =>
  at.kind === "Event" && (at.group === "" || at.group === "events.k8s.io")

const isNamespace = (at: KindAddress): boolean => at.kind === "Namespace" && at.group === ""

const ownersOf = (object: Raw): ReadonlyArray<OwnerReference> => object.metadata.ownerReferences ?? []

const holds = (object: Raw, finalizer: string): boolean => object.metadata.finalizers?.includes(finalizer) === true

const isForeground = (object: Raw): boolean => isMarkedForDeletion(object) && holds(object, foregroundFinalizer)

const awaitsCollector = (object: Raw): boolean =>
  isMarkedForDeletion(object) &&
  [foregroundFinalizer, orphanFinalizer, namespaceFinalizer].some((finalizer) => holds(object, finalizer))

// What happened

const none: ReadonlyArray<string> = []

/** An object is as it says. Gives the uids for which something may be due now. */
export const observed = (state: State, at: KindAddress, object: Raw): ReadonlyArray<string> => {
  const node = state.nodes.get(object.metadata.uid)
  if (node === undefined) return matters(state, at, object) ? keep(state, { at, object }) : none
  const before = node.object
  node.object = object
  return isAsBefore(before, object) && !isEvent(at) ? none : changed(state, node, before)
}

const matters = (state: State, at: KindAddress, object: Raw): boolean =>
  ownersOf(object).length > 0 || state.dependents.has(object.metadata.uid) || isNamespace(at) || isEvent(at) ||
  awaitsCollector(object)

/** Whether nothing changed that anything here depends on. */
const isAsBefore = ({ metadata: before }: Raw, { metadata: now }: Raw): boolean =>
  before === now || (
    before.deletionTimestamp === now.deletionTimestamp &&
    sameFinalizers(before.finalizers, now.finalizers) && sameOwners(before.ownerReferences, now.ownerReferences)
  )

const sameFinalizers = (before: ReadonlyArray<string> = none, now: ReadonlyArray<string> = none): boolean =>
  before === now || (before.length === now.length && before.every((finalizer, i) => finalizer === now[i]))

const sameOwners = (before: ReadonlyArray<OwnerReference> = [], now: ReadonlyArray<OwnerReference> = []): boolean =>
  before === now ||
  (before.length === now.length &&
    before.every((owner, i) => owner.uid === now[i].uid && owner.blockOwnerDeletion === now[i].blockOwnerDeletion))

const keep = (state: State, node: Node): ReadonlyArray<string> => {
  const { uid } = node.object.metadata
  state.nodes.set(uid, node)
  add(state.kinds, groupKind(node.at), uid)
  if (state.dependents.has(uid)) state.seen.add(uid)
  return changed(state, node, undefined)
}

const changed = (state: State, { at, object }: Node, before: Raw | undefined): ReadonlyArray<string> => {
  const { uid } = object.metadata
  const wasOwned = before === undefined ? [] : ownersOf(before)
  for (const owner of wasOwned) removeDependent(state, owner.uid, uid)
  for (const owner of ownersOf(object)) {
    add(state.dependents, owner.uid, uid)
    if (state.nodes.has(owner.uid)) state.seen.add(owner.uid)
  }
  const uids: Array<string> = [uid]
  if (isForeground(object) && (before === undefined || !isForeground(before))) uids.push(...dependentsOf(state, uid))
  for (const owner of wasOwned) if (awaits(state, owner.uid)) uids.push(owner.uid)
  if (isEvent(at)) {
    add(state.events, subjectOf(object), uid)
    uids.push(...surplus(state, object))
  }
  return uids
}

/** An object is gone. Gives the uids for which something may be due now. */
export const vanished = (state: State, uid: string): ReadonlyArray<string> => {
  const { last } = state.missed
  state.missed.removals++
  last.add(uid)
  if (last.size > maxLast) forgetOldest(last)
  return drop(state, uid)
}

const forgetOldest = (last: Set<string>): void => {
  for (const oldest of last) {
    last.delete(oldest)
    return
  }
}

const drop = (state: State, uid: string): ReadonlyArray<string> => {
  const node = state.nodes.get(uid)
  const uids = dependentsOf(state, uid)
  if (node === undefined) return uids
  state.nodes.delete(uid)
  remove(state.kinds, groupKind(node.at), uid)
  if (isEvent(node.at)) remove(state.events, subjectOf(node.object), uid)
  for (const owner of ownersOf(node.object)) {
    removeDependent(state, owner.uid, uid)
    if (awaits(state, owner.uid)) uids.push(owner.uid)
  }
  return uids
}

/** A kind was listed anew: of what is kept it holds these uids only. */
export const relisted = (state: State, at: KindAddress, present: ReadonlySet<string>): ReadonlyArray<string> => {
  state.missed.lists++
  return [...state.kinds.get(groupKind(at)) ?? []].filter((uid) => !present.has(uid)).flatMap((uid) => drop(state, uid))
}

/** Whether an owner was here at some time: if it is absent now, it went. */
export const wasSeen = (state: State, owner: OwnerReference): boolean => state.seen.has(owner.uid)

/** A moment before a read: tells what its answer may have missed. */
export type Moment = { readonly removals: number; readonly lists: number }

export const moment = ({ missed: { lists, removals } }: State): Moment => ({ removals, lists })

/** A read found an owner. Gives whether the graph has it now: not where it may have gone since the read began. */
export const learned = (state: State, at: KindAddress, object: Raw, { lists, removals }: Moment): boolean => {
  const { uid } = object.metadata
  if (state.nodes.has(uid)) return true
  const { missed } = state
  if (missed.lists !== lists || missed.removals - removals > maxLast || missed.last.has(uid)) return false
  keep(state, { at, object })
  return true
}

/** A read did not find this owner of an object in `namespace`. */
export const confirmedAbsent = (state: State, namespace: string, uid: string): void => {
  if (state.absent.size >= maxAbsent) state.absent.clear()
  state.absent.add(`${namespace} ${uid}`)
}

/** Another timeline may hold what this one had lost (S5). */
export const newTimeline = (state: State): void => state.absent.clear()

const awaits = (state: State, uid: string): boolean => {
  const node = state.nodes.get(uid)
  return node !== undefined && awaitsCollector(node.object)
}

const dependentsOf = (state: State, uid: string): Array<string> => [...state.dependents.get(uid) ?? []]

const add = (index: Map<string, Set<string>>, at: string, uid: string): void => {
  const set = index.get(at)
  if (set === undefined) index.set(at, new Set([uid]))
  else set.add(uid)
}

const remove = (index: Map<string, Set<string>>, at: string, uid: string): void => {
  const set = index.get(at)
  if (set?.delete(uid) === true && set.size === 0) index.delete(at)
}

const removeDependent = (state: State, owner: string, uid: string): void => {
  remove(state.dependents, owner, uid)
  if (!state.dependents.has(owner)) state.seen.delete(owner)
}

// What is due

/**
 * - `Confirm`: read these owners, tell what was found, then ask again.
 * - `Delete`: no owner is left, or the Event is over.
 * - `Cut`: remove the references to these uids.
 * - `Hold`: give the Namespace the collector's finalizer.
 * - `Finalize`: the object waits for the collector by this finalizer.
 * - `Later`: an Event that is over in so many milliseconds.
 */
export type Step =
  | { readonly _tag: "Nothing" }
  | { readonly _tag: "Confirm"; readonly owners: ReadonlyArray<OwnerReference> }
  | { readonly _tag: "Delete"; readonly propagation: Propagation }
  | { readonly _tag: "Cut"; readonly owners: ReadonlySet<string> }
  | { readonly _tag: "Hold" }
  | { readonly _tag: "Finalize"; readonly finalizer: string }
  | { readonly _tag: "Later"; readonly millis: number }

const nothing: Step = { _tag: "Nothing" }

/** What is due for an object, whose metadata may be newer than the graph's. */
export const due = (state: State, { at, object }: Node, nowMillis: number): Step => {
  if (isMarkedForDeletion(object)) return dueWhenMarked(state, object)
  if (isNamespace(at) && !holds(object, namespaceFinalizer)) return { _tag: "Hold" }
  const owned = dueByOwners(state, object)
  return owned === nothing && isEvent(at) ? dueAsEvent(state, object, nowMillis) : owned
}

const dueWhenMarked = (state: State, object: Raw): Step => {
  if (holds(object, orphanFinalizer)) return { _tag: "Finalize", finalizer: orphanFinalizer }
  if (holds(object, foregroundFinalizer)) {
    // Each dependent is attempted on its own, and the end of a blocking one brings this object back here.
    const dependents = dependentsOf(state, object.metadata.uid).flatMap((uid) => state.nodes.get(uid)?.object ?? [])
    const isBlocked = dependents.some((dependent) => blocks(state, dependent, object))
    return isBlocked ? nothing : { _tag: "Finalize", finalizer: foregroundFinalizer }
  }
  return holds(object, namespaceFinalizer) ? { _tag: "Finalize", finalizer: namespaceFinalizer } : nothing
}

/** Whether a foreground deletion of the owner waits for the dependent. Owners in a cycle do not wait for each other. */
export const blocks = (state: State, dependent: Raw, owner: Raw): boolean =>
  isInReach(owner, dependent) &&
  ownersOf(dependent).some((reference) =>
    reference.uid === owner.metadata.uid && reference.blockOwnerDeletion === true
  ) &&
  !(isForeground(dependent) && waitsFor(state, dependent.metadata.uid, owner.metadata.uid))

/** Whether one foreground deletion waits, by way of others, for another. */
const waitsFor = (state: State, from: string, to: string): boolean => {
  const seen = new Set([from])
  for (const uid of seen) {
    if (uid === to) return true
    for (const next of dependentsOf(state, uid)) {
      const node = state.nodes.get(next)
      if (node !== undefined && isForeground(node.object)) seen.add(next)
    }
  }
  return false
}

/** An owner is in its dependent's namespace, or cluster-scoped. */
const isInReach = (owner: Raw, dependent: Raw): boolean => {
  const namespace = owner.metadata.namespace ?? ""
  return namespace === "" || namespace === (dependent.metadata.namespace ?? "")
}

type Standing = "solid" | "waiting" | "absent" | "outOfReach" | "unknown"

/** How an owner stands to a dependent. `waiting`: it is being deleted in the foreground, and waits for dependents. */
export const standing = (state: State, dependent: Raw, owner: OwnerReference): Standing => {
  const node = state.nodes.get(owner.uid)
  if (node !== undefined) {
    if (!isInReach(node.object, dependent)) return "outOfReach"
    return isForeground(node.object) ? "waiting" : "solid"
  }
  return state.absent.has(`${dependent.metadata.namespace ?? ""} ${owner.uid}`) ? "absent" : "unknown"
}

const dueByOwners = (state: State, object: Raw): Step => {
  const owners = ownersOf(object)
  if (owners.length === 0) return nothing
  const standings = owners.map((owner) => standing(state, object, owner))
  const those = (...wanted: ReadonlyArray<Standing>) => owners.filter((_, i) => wanted.includes(standings[i]))
  if (standings.includes("unknown")) return { _tag: "Confirm", owners: those("unknown") }
  if (standings.includes("solid")) {
    const others = those("absent", "outOfReach", "waiting")
    return others.length === 0 ? nothing : { _tag: "Cut", owners: uidsOf(others) }
  }
  // Dependents first: they are told to go before this one does, and it waits for those that block.
  if (standings.includes("waiting") && state.dependents.has(object.metadata.uid)) {
    return { _tag: "Delete", propagation: "foreground" }
  }
  return { _tag: "Delete", propagation: propagationOf(object) }
}

const uidsOf = (owners: ReadonlyArray<OwnerReference>): ReadonlySet<string> => new Set(owners.map((owner) => owner.uid))

/** A finalizer of the collector's on an object that is not marked asks for that way of deletion. */
const propagationOf = (object: Raw): Propagation =>
  holds(object, orphanFinalizer) ? "orphan" : holds(object, foregroundFinalizer) ? "foreground" : "background"

// What a write makes of the references

/** The references without those to `owners`. */
export const cut = (object: Raw, owners: ReadonlySet<string>): ReadonlyArray<OwnerReference> =>
  ownersOf(object).filter((owner) => !owners.has(owner.uid))

// Events

const text = (value: unknown, field: string): string | undefined => {
  if (typeof value !== "object" || value === null) return undefined
  const found: unknown = Reflect.get(value, field)
  return typeof found === "string" ? found : undefined
}

const subjectOf = (event: Raw): string => {
  const subject = event.involvedObject ?? event.regarding
  return text(subject, "uid") ??
    ["kind", "namespace", "name"].map((field) => text(subject, field) ?? "").join(" ")
}

/** When it last happened, in milliseconds. */
const lastOf = (event: Raw): number => {
  const series = event.series
  const times = [
    text(event, "lastTimestamp"),
    text(event, "deprecatedLastTimestamp"),
    text(series, "lastObservedTime"),
    text(event, "eventTime"),
    event.metadata.creationTimestamp
  ]
  for (const time of times) {
    const millis = time === undefined ? NaN : Date.parse(time)
    if (!Number.isNaN(millis)) return millis
  }
  return 0
}

const dueAsEvent = (state: State, event: Raw, nowMillis: number): Step => {
  const left = lastOf(event) + state.settings.eventMillis - nowMillis
  if (left <= 0 || surplus(state, event).includes(event.metadata.uid)) {
    return { _tag: "Delete", propagation: "background" }
  }
  return { _tag: "Later", millis: left }
}

/** The oldest Events about the same object that are over the bound. */
const surplus = (state: State, event: Raw): ReadonlyArray<string> => {
  const uids = state.events.get(subjectOf(event))
  const over = (uids?.size ?? 0) - state.settings.eventsPerObject
  if (uids === undefined || over <= 0) return []
  const ages = [...uids].map((uid) => ({ uid, last: lastOf(state.nodes.get(uid)?.object ?? event) }))
  return ages.toSorted((a, b) => a.last - b.last).slice(0, over).map(({ uid }) => uid)
}
