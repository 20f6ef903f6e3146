/**
 * The index of many selectors, each with a value: pure rules over one state record.
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

/** One distinct selector. */
interface Entry<V> {
  readonly selector: Matcher
  value: V
  readonly hook: Requirement | undefined
  /** What is found by the hook matches: there is nothing left to try. */
  readonly isExact: boolean
}

/** The lone entry of a label stands for itself: most labels that selectors ask for are asked for by one. */
type Posting<V> = Entry<V> | Set<Entry<V>>

/** Selectors that are tried one by one; with one more they are indexed, until none is left. */
const fewAtMost = 8

export interface State<V> {
  /** The truth while `many` is not there. Of exact length: there may be as many of these as namespaces. */
  few: ReadonlyArray<Entry<V>>
  many: Many<V> | undefined
}

/** `entries` is the truth. The postings only say where an entry is looked for. */
interface Many<V> {
  readonly entries: NameMap.NameMap<Entry<V>>
  readonly byValue: Map<string, NameMap.NameMap<Posting<V>>>
  readonly byKey: NameMap.NameMap<Posting<V>>
  readonly byAbsence: NameMap.NameMap<Posting<V>>
  readonly always: Set<Entry<V>>
}

export const empty = <V>(): State<V> => ({ few: [], many: undefined })

/** Distinct selectors. */
export const size = <V>({ few, many }: State<V>): number => many === undefined ? few.length : many.entries.size

const entryOf = <V>({ few, many }: State<V>, text: string): Entry<V> | undefined =>
  many === undefined ? few.find(({ selector }) => selector.text === text) : NameMap.get(many.entries, text)

/** The value of the selector with this text. */
export const get = <V>(state: State<V>, text: string): V | undefined => entryOf(state, text)?.value

export const set = <V>(state: State<V>, selector: Matcher, value: V): void => {
  const known = entryOf(state, selector.text)
  if (known !== undefined) known.value = value
  else if (state.many !== undefined) insert(state.many, selector, value)
  else if (state.few.length < fewAtMost) {
    state.few = [...state.few, { selector, value, hook: undefined, isExact: selector.requirements.length === 0 }]
  } else {
    state.many = makeMany()
    for (const few of state.few) insert(state.many, few.selector, few.value)
    insert(state.many, selector, value)
    state.few = []
  }
}

export const remove = <V>(state: State<V>, text: string): void => {
  const { many } = state
  if (many === undefined) {
    state.few = state.few.filter(({ selector }) => selector.text !== text)
    return
  }
  const entry = NameMap.get(many.entries, text)
  if (entry === undefined) return
  NameMap.remove(many.entries, text)
  unpost(many, entry)
  if (many.entries.size === 0) state.many = undefined
}

/** Tells of the value of each selector that matches the labels, once. */
export const visit = <V>({ few, many }: State<V>, labels: Labels, found: (value: V) => void): void => {
  for (const entry of few) tryOne(entry, labels, found)
  if (many === undefined) return
  for (const key of Object.keys(labels)) {
    const byValue = many.byValue.get(key)
    if (byValue !== undefined) tryAll(NameMap.get(byValue, labels[key]), labels, found)
    if (many.byKey.size > 0) tryAll(NameMap.get(many.byKey, key), labels, found)
  }
  if (many.byAbsence.size > 0) {
    for (const [key, posting] of NameMap.entries(many.byAbsence)) {
      if (!Object.hasOwn(labels, key)) tryAll(posting, labels, found)
    }
  }
  if (many.always.size > 0) tryAll(many.always, labels, found)
}

const tryAll = <V>(posting: Posting<V> | undefined, labels: Labels, found: (value: V) => void): void => {
  if (posting === undefined) return
  if (posting instanceof Set) { for (const entry of posting) tryOne(entry, labels, found) }
  else tryOne(posting, labels, found)
}

const tryOne = <V>(entry: Entry<V>, labels: Labels, found: (value: V) => void): void => {
  if (entry.isExact || entry.selector.test(labels)) found(entry.value)
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
  const count = selector.requirements.length
  const isExact = count === 0 || (count === 1 && hook !== undefined && hook.operator !== "Gt" && hook.operator !== "Lt")
  const entry: Entry<V> = { selector, value, hook, isExact }
  NameMap.set(many.entries, selector.text, entry)
  post(many, entry)
}

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
