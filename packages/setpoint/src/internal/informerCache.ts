/**
 * The rules of an informer's cache: one interned entry a key, indexes kept in step, and a relist staged beside the
 * cache and taken over in one step. Synchronous; only these functions write a `Cache`.
 */
import type { Key, Raw } from "../Resource.ts"
import * as json from "./json.ts"
import * as NameMap from "./nameMap.ts"

/** An entry as consumers see it. */
export interface View extends Key {
  readonly raw: Raw | undefined
}

/**
 * One object of the cache, interned: as long as an object of this key is cached, its entry is the same. Consumers hang
 * what they know of the object on it (slots by subscription), so that no event looks it up again. Two fields, since
 * there are as many entries as objects: the key is the object's own.
 */
export class Entry implements View {
  object: Raw | Gone
  /** The value of slot 0, or `Slots` once another slot is used: most informers have one consumer. */
  slots: unknown = undefined
  constructor(object: Raw) {
    this.object = object
  }
  get namespace(): string {
    return this.object.metadata.namespace ?? ""
  }
  get name(): string {
    return this.object.metadata.name
  }
  /** `undefined`: no longer in the cache. */
  get raw(): Raw | undefined {
    return this.object instanceof Gone ? undefined : this.object
  }
}

/** What is left of an object that left the cache: its key. */
class Gone {
  readonly metadata: { readonly name: string; readonly namespace: string | undefined }
  constructor({ metadata: { name, namespace } }: Raw | Gone) {
    this.metadata = { name, namespace }
  }
}

/** As many values as there are slots in use, and no room for more: an array that grows by itself takes five times that. */
class Slots {
  readonly values: Array<unknown>
  constructor(values: ReadonlyArray<unknown>, index: number, value: unknown) {
    const length = Math.max(values.length, index + 1)
    this.values = Array.from({ length }, (_, i) => (i === index ? value : values[i]))
  }
}

export const slot = ({ slots }: Entry, index: number): unknown =>
  slots instanceof Slots ? slots.values[index] : index === 0 ? slots : undefined

export const setSlot = (entry: Entry, index: number, value: unknown): void => {
  const { slots } = entry
  if (slots instanceof Slots) {
    if (index < slots.values.length) slots.values[index] = value
    else entry.slots = new Slots(slots.values, index, value)
  } else if (index === 0) entry.slots = value
  else if (value !== undefined) entry.slots = new Slots([slots], index, value)
}

/** By which texts an object is found. Never throws: what a user's function throws is contained where it is declared. */
export type Values = (raw: Raw) => ReadonlyArray<string>

interface Index {
  readonly values: Values
  /** The lone entry of a value stands for itself: most owners have few dependents, most uids one. */
  readonly postings: Map<string, Entry | Set<Entry>>
}

type Names = NameMap.NameMap<Entry>
type Namespaces = Map<string, Names>

interface Content {
  readonly namespaces: Namespaces
  readonly indexes: Map<string, Index>
  size: number
}

export interface Cache {
  content: Content
}

export const make = (): Cache => ({ content: { namespaces: new Map(), indexes: new Map(), size: 0 } })

// ---------------------------------------------------------------------------------------------------------------------
// reading
// ---------------------------------------------------------------------------------------------------------------------

export const find = (cache: Cache, namespace: string, name: string): Entry | undefined =>
  findIn(cache.content, namespace, name)

const findIn = ({ namespaces }: Content, namespace: string, name: string): Entry | undefined => {
  const names = namespaces.get(namespace)
  return names === undefined ? undefined : NameMap.get(names, name)
}

export function* entries(cache: Cache, namespace?: string | undefined): IterableIterator<Entry> {
  const { namespaces } = cache.content // the content of now: a relist leaves it as it is, but for what vanished
  if (namespace !== undefined) {
    const names = namespaces.get(namespace)
    if (names !== undefined) yield* NameMap.values(names)
    return
  }
  for (const names of namespaces.values()) yield* NameMap.values(names)
}

/** The entries that `values` gives `value` for; the index is built on first use and kept in step from then on. */
export const indexed = (cache: Cache, name: string, values: Values, value: string): ReadonlyArray<Entry> => {
  const posting = useIndex(cache, name, values).postings.get(value)
  if (posting === undefined) return []
  return posting instanceof Set ? Array.from(posting) : [posting]
}

export const useIndex = (cache: Cache, name: string, values: Values): Index => {
  const known = cache.content.indexes.get(name)
  if (known !== undefined) return known
  const index: Index = { values, postings: new Map() }
  cache.content.indexes.set(name, index)
  for (const entry of entries(cache)) if (entry.raw !== undefined) post(index, entry, entry.raw)
  return index
}

/** S8: the UTF-8 bytes of `namespace/name`, which is the order of code points. */
export const inStoreOrder = (a: Entry, b: Entry): number =>
  a.namespace === b.namespace
    ? compareCodePoints(a.name, b.name)
    : compareCodePoints(`${a.namespace}/`, `${b.namespace}/`)

const compareCodePoints = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    // A surrogate stands for a code point above all others, whatever its own number is.
    if (x !== y) return isSurrogate(x) === isSurrogate(y) ? x - y : isSurrogate(x) ? 1 : -1
  }
  return a.length - b.length
}

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff

// ---------------------------------------------------------------------------------------------------------------------
// one change
// ---------------------------------------------------------------------------------------------------------------------

/** An object whose key is not cached. */
export const add = (cache: Cache, raw: Raw): Entry => {
  const { content } = cache
  const entry = new Entry(raw)
  include(content, entry)
  for (const index of content.indexes.values()) post(index, entry, raw)
  return entry
}

/** Another state, or another life, of a cached object. */
export const replace = (cache: Cache, entry: Entry, raw: Raw): void => {
  const old = entry.raw
  entry.object = raw
  for (const index of cache.content.indexes.values()) repost(index, entry, old, raw)
}

export const remove = (cache: Cache, entry: Entry): void => {
  const { content } = cache
  const { name, namespace, raw } = entry
  const names = content.namespaces.get(namespace)
  if (names === undefined || !NameMap.remove(names, name)) return
  content.size--
  if (names.size === 0) content.namespaces.delete(namespace)
  if (raw !== undefined) { for (const index of content.indexes.values()) unpost(index, entry, raw) }
  entry.object = new Gone(entry.object)
}

const include = (content: Content, entry: Entry): void => {
  const { name, namespace } = entry
  const known = content.namespaces.get(namespace)
  const names = known ?? NameMap.make<Entry>()
  if (known === undefined) content.namespaces.set(namespace, names)
  NameMap.set(names, name, entry)
  content.size++
}

const post = (index: Index, entry: Entry, raw: Raw): void => {
  for (const value of index.values(raw)) {
    const posting = index.postings.get(value)
    if (posting === undefined) index.postings.set(value, entry)
    else if (posting instanceof Set) posting.add(entry)
    else if (posting !== entry) index.postings.set(value, new Set([posting, entry]))
  }
}

const unpost = (index: Index, entry: Entry, raw: Raw): void => {
  for (const value of index.values(raw)) {
    const posting = index.postings.get(value)
    if (posting === entry) index.postings.delete(value)
    else if (posting instanceof Set && posting.delete(entry) && posting.size === 0) index.postings.delete(value)
  }
}

const repost = (index: Index, entry: Entry, old: Raw | undefined, raw: Raw): void => {
  if (old !== undefined) unpost(index, entry, old)
  post(index, entry, raw)
}

// ---------------------------------------------------------------------------------------------------------------------
// a relist: staged beside the cache, taken over in one step
// ---------------------------------------------------------------------------------------------------------------------

/** What a relist found, while the cache goes on as it was. */
export interface Staged {
  readonly content: Content
  /** The history has a gap that may hide another timeline: equal revisions are compared by content. */
  readonly distrust: boolean
  /** An object differs at an equal revision: no one history has both. */
  disproved: boolean
  readonly added: Array<Entry>
  /** Known entries with another revision or another life; `raw` is what they become. */
  readonly changed: Array<{ readonly entry: Entry; raw: Raw }>
  readonly unchanged: Array<Entry>
  /** Filled by `stageGone`. */
  readonly gone: Array<Entry>
}

export const stage = (cache: Cache, distrust: boolean): Staged => {
  const indexes = new Map<string, Index>()
  for (const [name, { values }] of cache.content.indexes) indexes.set(name, { values, postings: new Map() })
  return {
    content: { namespaces: new Map(), indexes, size: 0 },
    distrust,
    disproved: false,
    added: [],
    changed: [],
    unchanged: [],
    gone: []
  }
}

/** The same life at the same revision. */
export const isSame = (a: Raw, b: Raw): boolean =>
  a.metadata.resourceVersion === b.metadata.resourceVersion && a.metadata.uid === b.metadata.uid

const hasSameContent = (a: Raw, b: Raw): boolean => a === b || json.equal(a as json.JsonObject, b as json.JsonObject)

/** Takes in one listed object. An object listed twice counts once, as it was last. */
export const stageObject = (cache: Cache, staged: Staged, raw: Raw): void => {
  const { content } = staged
  const { name, namespace = "" } = raw.metadata
  const twice = findIn(content, namespace, name)
  if (twice !== undefined) return stageAgain(staged, twice, raw)
  const known = find(cache, namespace, name)
  const entry = known ?? new Entry(raw)
  include(content, entry)
  for (const index of content.indexes.values()) post(index, entry, raw)
  if (known?.raw === undefined) staged.added.push(entry)
  else if (!isSame(known.raw, raw)) staged.changed.push({ entry, raw })
  else if (staged.distrust && !hasSameContent(known.raw, raw)) {
    staged.disproved = true
    staged.changed.push({ entry, raw })
  } else staged.unchanged.push(known)
}

const stageAgain = (staged: Staged, entry: Entry, raw: Raw): void => {
  const change = staged.changed.find((change) => change.entry === entry)
  const before = change?.raw ?? entry.raw
  if (before === undefined || isSame(before, raw)) return
  for (const index of staged.content.indexes.values()) repost(index, entry, before, raw)
  if (change !== undefined) change.raw = raw
  else if (staged.added.includes(entry)) entry.object = raw
  else staged.changed.push({ entry, raw })
}

/** Goes through cached entries and notes those that the list does not have. */
export const stageGone = (staged: Staged, entry: Entry): void => {
  if (findIn(staged.content, entry.namespace, entry.name) === undefined) staged.gone.push(entry)
}

/** What one object became; `last` is the state before it. */
export interface Difference {
  readonly entry: Entry
  readonly last: Raw | undefined
  readonly raw: Raw | undefined
}

/**
 * The list becomes the cache, in one step: no reader sees a part of it. Gives the differences, those that vanished
 * first; added entries follow from `staged.added`.
 */
export const takeOver = (cache: Cache, staged: Staged): Array<Difference> => {
  cache.content = staged.content
  const differences: Array<Difference> = []
  for (const entry of staged.gone) {
    differences.push({ entry, last: entry.raw, raw: undefined })
    entry.object = new Gone(entry.object)
  }
  for (const { entry, raw } of staged.changed) {
    differences.push({ entry, last: entry.raw, raw })
    entry.object = raw
  }
  return differences
}
