/**
 * The index of selectors, each with a value: pure rules over one value, the index.
 *
 * A few selectors are simply tried. Of more, each hangs on one of its requirements. One that asks for a label (`In`,
 * `Exists`, `Gt`, `Lt`) is found by that label: of several, the one whose posting is shortest is taken, so that a common
 * label does not gather all. Where no requirement asks for a label, one that asks for the absence of a key is found by
 * that key; else the selector is tried for every label set, since one of `NotIn` alone, or the empty one, matches nearly
 * all of them.
 */
import * as NameMap from "./nameMap.ts"
import type { Labels, Requirement } from "./selector.ts"

type Matcher = {
  readonly text: string
  readonly requirements: ReadonlyArray<Requirement>
  readonly test: (labels: Labels) => boolean
}

/** One of many selectors. There may be as many as there are objects, so it is small. */
interface Entry<V> {
  /** `undefined`: whatever the hook finds matches, and there is nothing left to try. */
  readonly selector: Matcher | undefined
  readonly hook: Requirement | undefined
  value: V
}

/** One of few: it is tried, whatever the labels are. */
interface Tried<V> {
  readonly selector: Matcher
  value: V
}

/** The lone entry of a label stands for itself: most labels that selectors ask for are asked for by one. */
type Posting<V> = Entry<V> | Set<Entry<V>>

/** `entries` is the truth, by the selector's text. The postings only say where an entry is looked for. */
interface Many<V> {
  readonly entries: NameMap.NameMap<Entry<V>>
  readonly byValue: Map<string, NameMap.NameMap<Posting<V>>>
  readonly byKey: NameMap.NameMap<Posting<V>>
  readonly byAbsence: NameMap.NameMap<Posting<V>>
  readonly always: Set<Entry<V>>
}

/** Few selectors, tried one by one, or many. */
export type Index<V> = ReadonlyArray<Tried<V>> | Many<V>

/** With one more they are indexed, until none is left. */
const fewAtMost = 8

const isFew = <V>(index: Index<V>): index is ReadonlyArray<Tried<V>> => Array.isArray(index)

export const empty: Index<never> = []

/** Distinct selectors. */
export const size = <V>(index: Index<V>): number => isFew(index) ? index.length : index.entries.size

const entryOf = <V>(index: Index<V>, text: string): Entry<V> | Tried<V> | undefined =>
  isFew(index) ? index.find(({ selector }) => selector.text === text) : NameMap.get(index.entries, text)

/** The value of the selector with this text. */
export const get = <V>(index: Index<V>, text: string): V | undefined => entryOf(index, text)?.value

/** The index from now on, in which the selector has this value. The one before is no longer of use. */
export const set = <V>(index: Index<V>, selector: Matcher, value: V): Index<V> => {
  const known = entryOf(index, selector.text)
  if (known !== undefined) known.value = value
  else if (!isFew(index)) insert(index, selector, value)
  else if (index.length < fewAtMost) return [...index, { selector, value }] // of exact length
  else {
    const many = makeMany<V>()
    for (const few of index) insert(many, few.selector, few.value)
    insert(many, selector, value)
    return many
  }
  return index
}

/** The index from now on, without the selector. The one before is no longer of use. */
export const remove = <V>(index: Index<V>, text: string): Index<V> => {
  if (isFew(index)) return index.filter(({ selector }) => selector.text !== text)
  const entry = NameMap.get(index.entries, text)
  if (entry === undefined) return index
  NameMap.remove(index.entries, text)
  unpost(index, entry)
  return index.entries.size === 0 ? empty : index
}

/** Tells of the value of each selector that matches the labels, once. */
export const visit = <V>(index: Index<V>, labels: Labels, found: (value: V) => void): void => {
  if (isFew(index)) {
    for (const entry of index) tryOne(entry, labels, found)
    return
  }
  const { always, byAbsence, byKey, byValue } = index
  for (const key of Object.keys(labels)) {
    const values = byValue.get(key)
    if (values !== undefined) tryAll(NameMap.get(values, labels[key]), labels, found)
    if (byKey.size > 0) tryAll(NameMap.get(byKey, key), labels, found)
  }
  if (byAbsence.size > 0) {
    for (const shard of byAbsence.shards) {
      for (const [key, posting] of shard) if (!Object.hasOwn(labels, key)) tryAll(posting, labels, found)
    }
  }
  if (always.size > 0) tryAll(always, labels, found)
}

const tryAll = <V>(posting: Posting<V> | undefined, labels: Labels, found: (value: V) => void): void => {
  if (posting === undefined) return
  if (posting instanceof Set) { for (const entry of posting) tryOne(entry, labels, found) }
  else tryOne(posting, labels, found)
}

const tryOne = <V>({ selector, value }: Entry<V> | Tried<V>, labels: Labels, found: (value: V) => void): void => {
  if (selector === undefined || selector.test(labels)) found(value)
}

// ---------------------------------------------------------------------------------------------------------------------
// many selectors
// ---------------------------------------------------------------------------------------------------------------------

const makeMany = <V>(): Many<V> => ({
  entries: NameMap.make(),
  byValue: new Map(),
  byKey: NameMap.make(),
  byAbsence: NameMap.make(),
  always: new Set()
})

const insert = <V>(many: Many<V>, selector: Matcher, value: V): void => {
  const hook = hookOf(many, selector)
  const entry: Entry<V> = { selector: isAll(hook, selector) ? undefined : selector, hook, value }
  NameMap.set(many.entries, selector.text, entry)
  post(many, entry)
}

/** Whether what the hook finds satisfies the whole selector. */
const isAll = (hook: Requirement | undefined, { requirements }: Matcher): boolean =>
  hook === undefined
    ? requirements.length === 0
    : requirements.length === 1 && hook.operator !== "Gt" && hook.operator !== "Lt"

/** The requirement that finds the selector with the fewest others on the same postings; the fewest postings decide ties. */
const hookOf = <V>(many: Many<V>, { requirements }: Matcher): Requirement | undefined => {
  if (requirements.length === 1 && requirements[0].operator !== "NotIn") return requirements[0]
  let best: Requirement | undefined
  let bestCost = Infinity
  for (const requirement of requirements) {
    const cost = costOf(many, requirement)
    if (cost >= bestCost) continue
    best = requirement
    bestCost = cost
  }
  return best
}

const costOf = <V>({ byKey, byValue }: Many<V>, { key, operator, values }: Requirement): number => {
  switch (operator) {
    case "In": {
      const postings = byValue.get(key)
      let cost = values.length / (values.length + 1)
      if (postings !== undefined) { for (const value of values) cost += lengthOf(NameMap.get(postings, value)) }
      return cost
    }
    case "Exists":
    case "Gt":
    case "Lt":
      return lengthOf(NameMap.get(byKey, key)) + 1
    case "DoesNotExist":
      return Number.MAX_VALUE // only where no label is asked for
    case "NotIn":
      return Infinity
  }
}

const lengthOf = <V>(posting: Posting<V> | undefined): number =>
  posting === undefined ? 0 : posting instanceof Set ? posting.size : 1

const post = <V>(many: Many<V>, entry: Entry<V>): void => {
  const { hook } = entry
  if (hook === undefined) many.always.add(entry)
  else if (hook.operator === "In") {
    let postings = many.byValue.get(hook.key)
    if (postings === undefined) many.byValue.set(hook.key, postings = NameMap.make())
    for (const value of hook.values) join(postings, value, entry)
  } else join(keyed(many, hook), hook.key, entry)
}

const unpost = <V>(many: Many<V>, entry: Entry<V>): void => {
  const { hook } = entry
  if (hook === undefined) many.always.delete(entry)
  else if (hook.operator === "In") {
    const postings = many.byValue.get(hook.key)
    if (postings === undefined) throw new Error(`D4 is broken: no postings for the label "${hook.key}" of an entry`)
    for (const value of hook.values) leave(postings, value, entry)
    if (postings.size === 0) many.byValue.delete(hook.key)
  } else leave(keyed(many, hook), hook.key, entry)
}

const keyed = <V>(many: Many<V>, hook: Requirement): NameMap.NameMap<Posting<V>> =>
  hook.operator === "DoesNotExist" ? many.byAbsence : many.byKey

const join = <V>(postings: NameMap.NameMap<Posting<V>>, at: string, entry: Entry<V>): void => {
  const posting = NameMap.get(postings, at)
  if (posting === undefined) NameMap.set(postings, at, entry)
  else if (posting instanceof Set) posting.add(entry)
  else NameMap.set(postings, at, new Set([posting, entry]))
}

const leave = <V>(postings: NameMap.NameMap<Posting<V>>, at: string, entry: Entry<V>): void => {
  const posting = NameMap.get(postings, at)
  const wasThere = posting instanceof Set ? posting.delete(entry) : posting === entry
  if (!wasThere) throw new Error(`D4 is broken: an entry is not on its posting "${at}"`)
  if (posting instanceof Set && posting.size > 0) return
  NameMap.remove(postings, at)
}
