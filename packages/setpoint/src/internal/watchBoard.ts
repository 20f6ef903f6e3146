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

/** Who asks: `told` is the last event that it was told of. */
export interface Asker {
  told: number
}

/** What a board needs to know of a request. */
export interface Asked<A extends Asker> {
  readonly set: A
  readonly target: Target
}

/** The lone request for a thing stands for itself. */
type Posting<A extends Asker, R extends Asked<A>> = R | Map<A, R>
type Postings<A extends Asker, R extends Asked<A>> = NameMap.NameMap<Posting<A, R>>

interface Index<A extends Asker, R extends Asked<A>> {
  readonly values: (object: Raw) => ReadonlyArray<string>
  readonly postings: Postings<A, R>
}

export interface Counts {
  Name: number
  Selector: number
  Owner: number
  Index: number
}

export interface State<A extends Asker, R extends Asked<A>> {
  readonly names: Map<string, Postings<A, R>>
  /** By namespace; `undefined` is all of them. */
  readonly selectors: Map<string | undefined, SelectorIndex.State<Posting<A, R>>>
  readonly owners: Postings<A, R>
  readonly indexes: Map<string, Index<A, R>>
  readonly counts: Counts
}

export type Indexes = { readonly [name: string]: (object: Raw) => ReadonlyArray<string> }

export const make = <A extends Asker, R extends Asked<A>>(indexes: Indexes): State<A, R> => ({
  names: new Map(),
  selectors: new Map(),
  owners: NameMap.make(),
  indexes: new Map(Object.entries(indexes).map(([name, values]) => [name, { values, postings: NameMap.make() }])),
  counts: { Name: 0, Selector: 0, Owner: 0, Index: 0 }
})

export const size = ({ counts }: { readonly counts: Counts }): number =>
  counts.Name + counts.Selector + counts.Owner + counts.Index

/** Whether two requests ask for the same thing. */
export const same = (a: Target, b: Target): boolean => {
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

const indexOf = <A extends Asker, R extends Asked<A>>({ indexes }: State<A, R>, name: string): Index<A, R> => {
  const index = indexes.get(name)
  if (index === undefined) throw new Error(`this source has no index "${name}": it has ${[...indexes.keys()].join()}`)
  return index
}

const postingOf = <A extends Asker, R extends Asked<A>>(state: State<A, R>, target: Target) => {
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

/** `undefined`: nobody asks for it any more, and nothing of it is kept. */
const setPosting = <A extends Asker, R extends Asked<A>>(
  state: State<A, R>,
  target: Target,
  posting: Posting<A, R> | undefined
): void => {
  switch (target._tag) {
    case "Name": {
      const names = getOrMake(state.names, target.namespace, NameMap.make<Posting<A, R>>)
      put(names, target.name, posting)
      if (names.size === 0) state.names.delete(target.namespace)
      return
    }
    case "Selector": {
      const selectors = getOrMake(state.selectors, target.namespace, SelectorIndex.empty<Posting<A, R>>)
      if (posting === undefined) SelectorIndex.remove(selectors, target.selector.text)
      else SelectorIndex.set(selectors, target.selector, posting)
      if (SelectorIndex.size(selectors) === 0) state.selectors.delete(target.namespace)
      return
    }
    case "Owner":
      return put(state.owners, target.uid, posting)
    case "Index":
      return put(indexOf(state, target.index).postings, target.value, posting)
  }
}

const getOrMake = <K, V>(map: Map<K, V>, key: K, make: () => V): V => {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

const put = <V>(map: NameMap.NameMap<V>, key: string, value: V | undefined): void => {
  if (value === undefined) NameMap.remove(map, key)
  else NameMap.set(map, key, value)
}

/** What this asker asked for, if it did. */
export const find = <A extends Asker, R extends Asked<A>>(
  state: State<A, R>,
  target: Target,
  set: A
): R | undefined => {
  const posting = postingOf(state, target)
  return posting instanceof Map ? posting.get(set) : posting?.set === set ? posting : undefined
}

/** The request routes from now on. The asker has no other for the same thing. */
export const add = <A extends Asker, R extends Asked<A>>(state: State<A, R>, request: R): void => {
  const { set, target } = request
  const posting = postingOf(state, target)
  if (posting instanceof Map) posting.set(set, request)
  else setPosting(state, target, posting === undefined ? request : new Map([[posting.set, posting], [set, request]]))
  state.counts[target._tag]++
}

export const remove = <A extends Asker, R extends Asked<A>>(state: State<A, R>, request: R): void => {
  const { set, target } = request
  const posting = postingOf(state, target)
  const wasThere = posting instanceof Map ? posting.delete(set) : posting === request
  if (!wasThere) throw new Error(`D1 is broken: a request for ${JSON.stringify(target)} is not on its board`)
  if (!(posting instanceof Map) || posting.size === 0) setPosting(state, target, undefined)
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

/**
 * Who asked for an object that is, or was, like this. Each asker once: `event` is a number that no other event of any
 * board has. All are found before any is told, so that who is told may ask for more.
 */
export const matching = <A extends Asker, R extends Asked<A>>(
  state: State<A, R>,
  { object, old }: Change,
  event: number
): ReadonlyArray<A> => {
  const found: Array<A> = []
  const foundOne = ({ set }: R): void => {
    if (set.told === event) return
    set.told = event
    found.push(set)
  }
  const foundAll = (posting: Posting<A, R> | undefined): void => {
    if (posting === undefined) return
    if (posting instanceof Map) { for (const request of posting.values()) foundOne(request) }
    else foundOne(posting)
  }
  if (object !== undefined) lookUp(state, object, foundAll, true)
  if (old !== undefined && old !== object) {
    lookUp(state, old, foundAll, object === undefined || !sameLabels(object, old))
  }
  return found
}

const lookUp = <A extends Asker, R extends Asked<A>>(
  { counts, indexes, names, owners, selectors }: State<A, R>,
  object: Raw,
  found: (posting: Posting<A, R> | undefined) => void,
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
