/**
 * The rules of an informer's cache: one interned entry a key, indexes kept in step, and a relist staged beside the
 * cache and taken over in one step. Synchronous; only these functions write a `Cache`.
 */
import type { Key, Raw } from "../Resource.ts"
import * as json from "./json.ts"

/** An entry as consumers see it. */
export interface View extends Key {
  readonly raw: Raw | undefined
}

/**
 * One object of the cache, interned: as long as an object of this key is cached, its entry is the same. Consumers hang
 * what they know of the object on it (`first` and `more` are slots by subscription), so that no event looks it up again.
 */
export interface Entry extends View {
  /** `undefined`: no longer in the cache. */
  raw: Raw | undefined
  /** Slot 0, inline, since most informers have one consumer. */
  first: unknown
  /** Slots 1 and up. */
  more: Array<unknown> | undefined
}

const makeEntry = (namespace: string, name: string, raw: Raw): Entry => ({
  namespace,
  name,
  raw,
  first: undefined,
  more: undefined
})

export const slot = (entry: Entry, index: number): unknown => index === 0 ? entry.first : entry.more?.[index - 1]

export const setSlot = (entry: Entry, index: number, value: unknown): void => {
  if (index === 0) entry.first = value
  else if (value !== undefined || entry.more !== undefined) (entry.more ??= [])[index - 1] = value
}

/** By which texts an object is found. Never throws: what a user's function throws is contained where it is declared. */
export type Values = (raw: Raw) => ReadonlyArray<string>

interface Index {
  readonly values: Values
  /** The lone entry of a value stands for itself: most owners have few dependents, most uids one. */
  readonly postings: Map<string, Entry | Set<Entry>>
}

/** Names in a namespace; the key of `Namespaces` is the one string that all its entries share. */
type Names = Map<string, Entry>
type Namespaces = Map<string, { readonly namespace: string; readonly names: Names }>

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
  cache.content.namespaces.get(namespace)?.names.get(name)

export function* entries(cache: Cache, namespace?: string | undefined): IterableIterator<Entry> {
  const { namespaces } = cache.content // the content of now: a relist leaves it as it is, but for what vanished
  if (namespace !== undefined) {
    const names = namespaces.get(namespace)?.names
    if (names !== undefined) yield* names.values()
    return
  }
  for (const { names } of namespaces.values()) yield* names.values()
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

/** Puts an object in: its entry is the one of its key, or a new one. */
export const put = (cache: Cache, raw: Raw): Entry => {
  const { content } = cache
  const entry = intern(content, raw)
  const old = entry.raw === raw ? undefined : entry.raw
  entry.raw = raw
  for (const index of content.indexes.values()) repost(index, entry, old, raw)
  return entry
}

export const remove = (cache: Cache, entry: Entry): void => {
  const { content } = cache
  const group = content.namespaces.get(entry.namespace)
  if (group === undefined || !group.names.delete(entry.name)) return
  content.size--
  if (group.names.size === 0) content.namespaces.delete(entry.namespace)
  if (entry.raw !== undefined) { for (const index of content.indexes.values()) unpost(index, entry, entry.raw) }
  entry.raw = undefined
}

const groupOf = (content: Content, namespace: string): { readonly namespace: string; readonly names: Names } => {
  const known = content.namespaces.get(namespace)
  if (known !== undefined) return known
  const group = { namespace, names: new Map<string, Entry>() }
  content.namespaces.set(namespace, group)
  return group
}

const intern = (content: Content, raw: Raw): Entry => {
  const { name } = raw.metadata
  const { names, namespace } = groupOf(content, raw.metadata.namespace ?? "")
  const known = names.get(name)
  if (known !== undefined) return known
  const entry = makeEntry(namespace, name, raw)
  names.set(name, entry)
  content.size++
  return entry
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
  const { name } = raw.metadata
  const { names, namespace } = groupOf(content, raw.metadata.namespace ?? "")
  const twice = names.get(name)
  if (twice !== undefined) return stageAgain(staged, twice, raw)
  const known = find(cache, namespace, name)
  const entry = known ?? makeEntry(namespace, name, raw)
  names.set(name, entry)
  content.size++
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
  else if (staged.added.includes(entry)) entry.raw = raw
  else staged.changed.push({ entry, raw })
}

/** Goes through cached entries and notes those that the list does not have. */
export const stageGone = (staged: Staged, entry: Entry): void => {
  if (staged.content.namespaces.get(entry.namespace)?.names.get(entry.name) === undefined) staged.gone.push(entry)
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
    entry.raw = undefined
  }
  for (const { entry, raw } of staged.changed) {
    differences.push({ entry, last: entry.raw, raw })
    entry.raw = raw
  }
  return differences
}
