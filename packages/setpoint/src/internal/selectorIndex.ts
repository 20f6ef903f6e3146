/**
 * The index of many selectors: pure rules over one state record. `entries` is the truth, one entry a distinct
 * selector; the postings only say under which labels an entry is looked for.
 *
 * Each entry hangs on one of its requirements. One that asks for a label (`In`, `Exists`, `Gt`, `Lt`) is found by that
 * label: of several, the one whose postings are shortest is taken, so that a common label does not gather all. Where no
 * requirement asks for a label, one that asks for the absence of a key is found by that key; else the entry is tried
 * for every label set, since a selector of `NotIn` alone, or the empty one, matches nearly all of them.
 */
import type { Labels, Requirement } from "./selector.ts"

type Matcher = {
  readonly text: string
  readonly requirements: ReadonlyArray<Requirement>
  readonly test: (labels: Labels) => boolean
}
type Entry<A> = { readonly selector: Matcher; readonly values: Set<A>; readonly hook: Requirement | undefined }
type Posting<A> = Set<Entry<A>>

export type State<A> = {
  readonly entries: Map<string, Entry<A>>
  readonly byValue: Map<string, Map<string, Posting<A>>>
  readonly byKey: Map<string, Posting<A>>
  readonly byAbsence: Map<string, Posting<A>>
  readonly always: Posting<A>
}

export const empty = <A>(): State<A> => ({
  entries: new Map(),
  byValue: new Map(),
  byKey: new Map(),
  byAbsence: new Map(),
  always: new Set()
})

export const add = <A>(state: State<A>, selector: Matcher, value: A): void => {
  let entry = state.entries.get(selector.text)
  if (entry === undefined) {
    entry = { selector, values: new Set(), hook: hookOf(state, selector) }
    state.entries.set(selector.text, entry)
    post(state, entry)
  }
  entry.values.add(value)
}

export const remove = <A>(state: State<A>, selector: Matcher, value: A): void => {
  const entry = state.entries.get(selector.text)
  if (entry === undefined) return
  entry.values.delete(value)
  if (entry.values.size > 0) return
  state.entries.delete(selector.text)
  unpost(state, entry)
}

/** Adds to `into` each value whose selector matches the labels. */
export const collect = <A>(state: State<A>, labels: Labels, into: Set<A>): void => {
  const visit = (posting: Posting<A> | undefined): void => {
    if (posting === undefined) return
    for (const entry of posting) {
      if (entry.selector.test(labels)) { for (const value of entry.values) into.add(value) }
    }
  }
  for (const key of Object.keys(labels)) {
    visit(state.byValue.get(key)?.get(labels[key]))
    visit(state.byKey.get(key))
  }
  for (const [key, posting] of state.byAbsence) if (!Object.hasOwn(labels, key)) visit(posting)
  visit(state.always)
}

/** The requirement that finds the selector with the fewest others on the same postings; the fewest postings decide ties. */
const hookOf = <A>(state: State<A>, { requirements }: Matcher): Requirement | undefined => {
  let best: Requirement | undefined
  let bestCost = Infinity
  for (const requirement of requirements) {
    const cost = costOf(state, requirement)
    if (cost >= bestCost) continue
    best = requirement
    bestCost = cost
  }
  return best
}

const costOf = <A>(state: State<A>, { key, operator, values }: Requirement): number => {
  switch (operator) {
    case "In": {
      const postings = state.byValue.get(key)
      return values.reduce((cost, value) => cost + (postings?.get(value)?.size ?? 0), 0) +
        values.length / (values.length + 1)
    }
    case "Exists":
    case "Gt":
    case "Lt":
      return (state.byKey.get(key)?.size ?? 0) + 1
    case "DoesNotExist":
      return Number.MAX_VALUE // only where no label is asked for
    case "NotIn":
      return Infinity
  }
}

const post = <A>(state: State<A>, entry: Entry<A>): void => {
  const { hook } = entry
  if (hook === undefined) state.always.add(entry)
  else if (hook.operator === "In") {
    const postings = getOrMake(state.byValue, hook.key, () => new Map<string, Posting<A>>())
    for (const value of hook.values) getOrMake(postings, value, () => new Set()).add(entry)
  } else getOrMake(keyed(state, hook), hook.key, () => new Set()).add(entry)
}

const unpost = <A>(state: State<A>, entry: Entry<A>): void => {
  const { hook } = entry
  if (hook === undefined) state.always.delete(entry)
  else if (hook.operator === "In") {
    const postings = state.byValue.get(hook.key)
    if (postings === undefined) throw new Error(`D4 is broken: no postings for the label "${hook.key}" of an entry`)
    for (const value of hook.values) drop(postings, value, entry)
    if (postings.size === 0) state.byValue.delete(hook.key)
  } else drop(keyed(state, hook), hook.key, entry)
}

const keyed = <A>(state: State<A>, hook: Requirement): Map<string, Posting<A>> =>
  hook.operator === "DoesNotExist" ? state.byAbsence : state.byKey

const drop = <A>(postings: Map<string, Posting<A>>, key: string, entry: Entry<A>): void => {
  const posting = postings.get(key)
  if (posting?.delete(entry) !== true) throw new Error(`D4 is broken: an entry is not on its posting "${key}"`)
  if (posting.size === 0) postings.delete(key)
}

const getOrMake = <K, V>(map: Map<K, V>, key: K, make: () => V): V => {
  const existing = map.get(key)
  if (existing !== undefined) return existing
  const made = make()
  map.set(key, made)
  return made
}
