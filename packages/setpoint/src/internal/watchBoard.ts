/**
 * A board: the watch requests on one source, found by what they ask for. Pure rules over one record.
 *
 * A *posting* holds the requests that ask for the same thing, one an instance. It is kept where an event looks for it: by
 * namespace and name, on the index of the selectors of a namespace or of all, by uid, by value of an index. So a request
 * is found again by what it asks for, and nothing else has to be kept in step.
 */
import type { Raw } from "../Resource.ts"
import type { Selector } from "../Selector.ts"
import * as NameMap from "./nameMap.ts"
import * as SelectorIndex from "./selectorIndex.ts"

export type Target =
  | { readonly _tag: "Name"; readonly namespace: string; readonly name: string }
  | { readonly _tag: "Selector"; readonly namespace: string | undefined; readonly selector: Selector }
  | { readonly _tag: "Owner"; readonly uid: string }
  | { readonly _tag: "Index"; readonly index: string; readonly value: string }

/** A target, as far as finding it needs to know it. */
export type Sought =
  | Exclude<Target, { readonly _tag: "Selector" }>
  | {
    readonly _tag: "Selector"
    readonly namespace: string | undefined
    readonly selector: { readonly text: string }
  }

/** What a board needs to know of a request. */
export interface Asked<I> {
  readonly instance: I
  readonly target: Target
}

/** The lone request for a thing stands for itself. */
type Posting<I, R extends Asked<I>> = R | Map<I, R>
type Postings<I, R extends Asked<I>> = NameMap.NameMap<Posting<I, R>>

interface Index<I, R extends Asked<I>> {
  readonly values: (object: Raw) => ReadonlyArray<string>
  readonly postings: Postings<I, R>
}

export interface Counts {
  Name: number
  Selector: number
  Owner: number
  Index: number
}

export interface State<I, R extends Asked<I>> {
  readonly names: Map<string, Postings<I, R>>
  /** By namespace; `undefined` is all of them. */
  readonly selectors: Map<string | undefined, SelectorIndex.Index<Posting<I, R>>>
  readonly owners: Postings<I, R>
  readonly indexes: Map<string, Index<I, R>>
  readonly counts: Counts
}

export type Indexes = { readonly [name: string]: (object: Raw) => ReadonlyArray<string> }

export const make = <I, R extends Asked<I>>(indexes: Indexes): State<I, R> => ({
  names: new Map(),
  selectors: new Map(),
  owners: NameMap.make(),
  indexes: new Map(Object.entries(indexes).map(([name, values]) => [name, { values, postings: NameMap.make() }])),
  counts: { Name: 0, Selector: 0, Owner: 0, Index: 0 }
})

export const size = ({ counts }: { readonly counts: Counts }): number =>
  counts.Name + counts.Selector + counts.Owner + counts.Index

/** Whether two requests ask for the same thing. */
export const same = (a: Target, b: Sought): boolean => {
  switch (a._tag) {
    case "Name":
      return b._tag === "Name" && a.name === b.name && a.namespace === b.namespace
    case "Selector":
      return b._tag === "Selector" && a.namespace === b.namespace && a.selector.text === b.selector.text
    case "Owner":
      return b._tag === "Owner" && a.uid === b.uid
    case "Index":
      return b._tag === "Index" && a.value === b.value && a.index === b.index
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// requests come and go
// ---------------------------------------------------------------------------------------------------------------------

const indexOf = <I, R extends Asked<I>>({ indexes }: State<I, R>, name: string): Index<I, R> => {
  const index = indexes.get(name)
  if (index === undefined) throw new Error(`this source has no index "${name}": it has ${[...indexes.keys()].join()}`)
  return index
}

/** The requests for the same thing. */
export const postingOf = <I, R extends Asked<I>>(state: State<I, R>, target: Sought): Posting<I, R> | undefined => {
  switch (target._tag) {
    case "Name": {
      const names = state.names.get(target.namespace)
      return names === undefined ? undefined : NameMap.get(names, target.name)
    }
    case "Selector": {
      const selectors = state.selectors.get(target.namespace)
      return selectors === undefined ? undefined : SelectorIndex.get(selectors, target.selector.text)
    }
    case "Owner":
      return NameMap.get(state.owners, target.uid)
    case "Index":
      return NameMap.get(indexOf(state, target.index).postings, target.value)
  }
}

export const requestOf = <I, R extends Asked<I>>(posting: Posting<I, R> | undefined, instance: I): R | undefined =>
  posting instanceof Map ? posting.get(instance) : posting?.instance === instance ? posting : undefined

/** Where there was none, or another. */
const setPosting = <I, R extends Asked<I>>(state: State<I, R>, target: Target, posting: Posting<I, R>): void => {
  switch (target._tag) {
    case "Name":
      return NameMap.set(getOrMake(state.names, target.namespace, NameMap.make<Posting<I, R>>), target.name, posting)
    case "Selector": {
      const before = state.selectors.get(target.namespace) ?? SelectorIndex.empty
      const after = SelectorIndex.set(before, target.selector, posting)
      if (after !== before) state.selectors.set(target.namespace, after)
      return
    }
    case "Owner":
      return NameMap.set(state.owners, target.uid, posting)
    case "Index":
      return NameMap.set(indexOf(state, target.index).postings, target.value, posting)
  }
}

/** Nobody asks for it any more: nothing of it is kept. */
const removePosting = <I, R extends Asked<I>>(state: State<I, R>, target: Target): void => {
  switch (target._tag) {
    case "Name": {
      const names = state.names.get(target.namespace)
      if (names === undefined) return
      NameMap.remove(names, target.name)
      if (names.size === 0) state.names.delete(target.namespace)
      return
    }
    case "Selector": {
      const before = state.selectors.get(target.namespace) ?? SelectorIndex.empty
      const after = SelectorIndex.remove(before, target.selector.text)
      if (SelectorIndex.size(after) === 0) state.selectors.delete(target.namespace)
      else state.selectors.set(target.namespace, after)
      return
    }
    case "Owner":
      return void NameMap.remove(state.owners, target.uid)
    case "Index":
      return void NameMap.remove(indexOf(state, target.index).postings, target.value)
  }
}

const getOrMake = <K, V>(map: Map<K, V>, key: K, make: () => V): V => {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

/** The request routes from now on. `posting` is that of its target; its instance has no request there. */
export const add = <I, R extends Asked<I>>(
  state: State<I, R>,
  posting: Posting<I, R> | undefined,
  request: R
): void => {
  const { instance, target } = request
  if (posting === undefined) setPosting(state, target, request)
  else if (posting instanceof Map) posting.set(instance, request)
  else setPosting(state, target, new Map([[posting.instance, posting], [instance, request]]))
  state.counts[target._tag]++
}

export const remove = <I, R extends Asked<I>>(state: State<I, R>, request: R): void => {
  const { instance, target } = request
  const posting = postingOf(state, target)
  const wasThere = posting instanceof Map ? posting.delete(instance) : posting === request
  if (!wasThere) throw new Error(`D1 is broken: a request for ${JSON.stringify(target)} is not on its board`)
  if (!(posting instanceof Map) || posting.size === 0) removePosting(state, target)
  state.counts[target._tag]--
}

// ---------------------------------------------------------------------------------------------------------------------
// events
// ---------------------------------------------------------------------------------------------------------------------

/** An object as it is and as it was; `undefined` where it does not exist. */
export interface Change {
  readonly object: Raw | undefined
  readonly old: Raw | undefined
}

/** Instances that one look after another finds sooner than by hash. */
const fewAtMost = 8

/**
 * Who asked for an object that is, or was, like this, each once. All are found before any is told, so that who is told
 * may ask for more.
 */
export const matching = <I, R extends Asked<I>>(state: State<I, R>, { object, old }: Change): ReadonlyArray<I> => {
  const few: Array<I> = []
  let many: Set<I> | undefined
  const foundOne = ({ instance }: R): void => {
    if (many !== undefined) many.add(instance)
    else if (few.includes(instance)) return
    else if (few.push(instance) > fewAtMost) many = new Set(few)
  }
  const foundAll = (posting: Posting<I, R> | undefined): void => {
    if (posting === undefined) return
    if (posting instanceof Map) { for (const request of posting.values()) foundOne(request) }
    else foundOne(posting)
  }
  if (object !== undefined) lookUp(state, object, foundAll, true)
  if (old !== undefined && old !== object) {
    lookUp(state, old, foundAll, object === undefined || !sameLabels(object, old))
  }
  return many === undefined ? few : Array.from(many)
}

const lookUp = <I, R extends Asked<I>>(
  { counts, indexes, names, owners, selectors }: State<I, R>,
  object: Raw,
  found: (posting: Posting<I, R> | undefined) => void,
  byLabels: boolean
): void => {
  const { labels = noLabels, name, namespace = "", ownerReferences } = object.metadata
  if (counts.Name > 0) {
    const here = names.get(namespace)
    if (here !== undefined) found(NameMap.get(here, name))
  }
  if (byLabels && counts.Selector > 0) {
    const here = selectors.get(namespace)
    if (here !== undefined) SelectorIndex.visit(here, labels, found)
    const everywhere = selectors.get(undefined)
    if (everywhere !== undefined) SelectorIndex.visit(everywhere, labels, found)
  }
  if (counts.Owner > 0 && ownerReferences !== undefined) {
    for (const { uid } of ownerReferences) found(NameMap.get(owners, uid))
  }
  if (counts.Index === 0) return
  for (const { postings, values } of indexes.values()) {
    if (postings.size > 0) { for (const value of values(object)) found(NameMap.get(postings, value)) }
  }
}

const noLabels: { readonly [key: string]: string } = {}

const sameLabels = (a: Raw, b: Raw): boolean => {
  const { labels: now = noLabels } = a.metadata
  const { labels: before = noLabels } = b.metadata
  if (now === before) return true
  const keys = Object.keys(now)
  return keys.length === Object.keys(before).length && keys.every((key) => now[key] === before[key])
}
