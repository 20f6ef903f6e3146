/** What a store in SQLite answers, and how it goes over the objects of one revision while the store changes (S8). */
import * as Result from "effect/Result"
import * as Resource from "setpoint/Resource"
import type { Key, Raw } from "setpoint/Resource"
import * as Selector from "setpoint/Selector"
import type * as Driver from "setpoint/StoreDriver"
import type { Reason } from "setpoint/StoreError"
import * as StoreRules from "setpoint/StoreRules"
import * as WatchBuffer from "setpoint/WatchBuffer"
import {
  addressOf,
  floorOf,
  invalid,
  kindOf,
  type KindRow,
  type Point,
  present,
  retained,
  revisionOf,
  type State,
  textOf,
  versionRow
} from "./tables.ts"

/** The kinds that have objects. */
export const kinds = (state: State): ReadonlyArray<Driver.KindAddress> =>
  state.sql.kinds.all().map((row) => {
    const address = addressOf(row)
    return state.kinds.get(Resource.groupKind(address))?.address ?? address
  })

export const get = (
  state: State,
  at: Driver.KindAddress,
  key: Key,
  metadataOnly: boolean | undefined
): Result.Result<Raw, Reason> => {
  const kind = kindOf(state, at)
  const revision = kind === undefined ? undefined : revisionOf(state, kind, textOf(key))
  if (revision !== undefined) {
    const object = present(state, revision)
    return Result.succeed(metadataOnly === true ? WatchBuffer.metadataOf(object) : object)
  }
  return Result.fail(StoreRules.notFound(at, key))
}

/** A snapshot, or a page of one (S8). Runs in a snapshot. */
export const list = (
  state: State,
  at: Driver.KindAddress,
  options: Omit<Driver.ListOptions, "consistency">
): Result.Result<Driver.Page, Reason> => {
  const selector = WatchBuffer.selector(options.selector)
  if (Result.isFailure(selector)) return Result.fail(selector.failure)
  const limit = options.limit ?? Number.MAX_SAFE_INTEGER
  if (!(Number.isInteger(limit) && limit > 0)) {
    return invalid("limit", `must be a whole number above 0, but is ${limit}`)
  }
  const place = options.page === undefined
    ? Result.succeed({ ...state.latest, after: "" })
    : parsePage(state, options.page)
  if (Result.isFailure(place)) return Result.fail(place.failure)
  const { after, revision, writeId } = place.success
  const walk = startWalk(state, at, { ...options, selector: selector.success }, { revision, writeId }, after)
  const items: Array<Raw> = []
  let lastKey = after
  let next: string | undefined
  while (next === undefined && !walk.done) {
    const slice = step(state, walk, Math.min(Math.max(limit - items.length + 1, 32), 1_000))
    if (Result.isFailure(slice)) return Result.fail(slice.failure)
    for (const [key, object] of slice.success) {
      if (items.length === limit) {
        next = JSON.stringify([revision, writeId, lastKey])
        break
      }
      items.push(options.metadataOnly === true ? WatchBuffer.metadataOf(object) : object)
      lastKey = key
    }
  }
  const page = { items, revision: String(revision), cursor: StoreRules.cursor(String(revision), writeId) }
  return Result.succeed(next === undefined ? page : { ...page, next })
}

const parsePage = (state: State, text: string): Result.Result<Point & { readonly after: string }, Reason> => {
  const token = Result.try(() => JSON.parse(text) as unknown)
  const [revision, writeId, after]: ReadonlyArray<unknown> = Result.isSuccess(token) && Array.isArray(token.success)
    ? token.success
    : []
  if (typeof revision !== "number" || typeof writeId !== "string" || typeof after !== "string") {
    return invalid("page", "is not the `next` of an earlier page")
  }
  return Result.map(retained(state, { revision, writeId }), () => ({ revision, writeId, after }))
}

/** Whether a write was applied, as far as the history reaches. Runs in a snapshot. */
export const outcome = (state: State, writeId: string): "applied" | "notApplied" | "forgotten" => {
  const floor = floorOf(state)
  if (state.sql.hasWriteId.get(floor, writeId) !== undefined) return "applied"
  return floor === 0 ? "notApplied" : "forgotten"
}

// ---------------------------------------------------------------------------------------------------------------------
// walking over the objects of one revision
// ---------------------------------------------------------------------------------------------------------------------

export interface Filter {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly selector?: Selector.Selector | undefined
  readonly ownerUid?: string | undefined
}

/**
 * Goes over the objects of a kind in the order of their keys, as they were at one revision, a slice at a time; the store
 * may change in between. What has changed since is found in the history, so the walk expires with it.
 */
export interface Walk {
  readonly at: Driver.KindAddress
  readonly filter: Filter
  readonly point: Point
  /** Keys that have changed since the walk's revision, and which version they had then: `undefined`: none. */
  readonly was: Map<string, number | undefined>
  /** Up to here `was` knows. */
  seen: number
  after: string
  done: boolean
}

export const startWalk = (
  state: State,
  at: Driver.KindAddress,
  filter: Filter,
  point: Point = state.latest,
  after = ""
): Walk => ({ at, filter, point, was: new Map(), seen: point.revision, after, done: false })

/** The next slice, out of at most `limit` keys. Empty slices are not the end: `done` is. Runs in a snapshot. */
export const step = (
  state: State,
  walk: Walk,
  limit: number
): Result.Result<ReadonlyArray<readonly [key: string, object: Raw]>, Reason> => {
  const kind = kindOf(state, walk.at)
  if (kind === undefined) {
    walk.done = true
    return Result.succeed([])
  }
  if (walk.point.revision !== state.latest.revision) {
    const expired = retained(state, walk.point)
    if (Result.isFailure(expired)) return Result.fail(expired.failure)
    learn(state, kind, walk)
  }
  const { name } = walk.filter
  return Result.succeed(
    nextPlaces(state, kind, walk, limit).flatMap(({ key, revision }) => {
      if (name !== undefined && !key.endsWith(`/${name}`)) return []
      const object = present(state, revision)
      return selects(object, walk.filter) ? [[key, object] as const] : []
    })
  )
}

/** The next keys of the walk's range, each with the version that it had at the walk's revision. */
const nextPlaces = (state: State, kind: KindRow, walk: Walk, limit: number): ReadonlyArray<Place> => {
  const { name, namespace } = walk.filter
  const prefix = namespace === undefined ? "" : `${namespace}/`
  const from = prefix > walk.after ? prefix : walk.after
  const to = namespace === undefined ? endOfKeys : `${namespace}0` // the character after the slash
  const live = name !== undefined && namespace !== undefined
    ? namedKey(state, kind, `${prefix}${name}`, walk.after)
    : keysBetween(state, kind, walk.filter, from, to, limit)
  walk.done = live.length < limit
  const last = walk.done ? to : live[live.length - 1].key
  walk.after = last
  if (walk.was.size === 0) return live
  const places = live.filter(({ key }) => !walk.was.has(key))
  for (const [key, revision] of walk.was) {
    if (revision !== undefined && key > from && key < to && key <= last) places.push({ key, revision })
  }
  return places.toSorted((a, b) => (a.key < b.key ? -1 : 1)) // names are ASCII: this is the order of UTF-8 bytes
}

interface Place {
  readonly key: string
  readonly revision: number
}

/** Above every key. */
const endOfKeys = "\u{10FFFF}"

const namedKey = (state: State, kind: KindRow, key: string, after: string): Array<Place> => {
  const revision = key > after ? revisionOf(state, kind, key) : undefined
  return revision === undefined ? [] : [{ key, revision }]
}

/** By the narrowest index that there is: the owner's, a label's, or that of the keys. */
const keysBetween = (
  state: State,
  kind: KindRow,
  { ownerUid, selector }: Filter,
  from: string,
  to: string,
  limit: number
): Array<Place> => {
  const label = selector?.requirements.find(({ operator, values }) => operator === "In" && values.length === 1)
  const rows = ownerUid !== undefined
    ? state.sql.keysOwned.all(kind.id, ownerUid, from, to, limit)
    : label !== undefined
    ? state.sql.keysLabelled.all(kind.id, label.key, label.values[0], from, to, limit)
    : state.sql.keys.all(kind.id, from, to, limit)
  return rows.map(({ key, revision }) => ({ key: String(key), revision: Number(revision) }))
}

/** What has changed since the last slice. Only the first change of a key after the walk's revision counts. */
const learn = (state: State, kind: KindRow, walk: Walk): void => {
  if (walk.seen === state.latest.revision) return
  for (const row of state.sql.changesOf.all(walk.seen, state.latest.revision, kind.id, -1)) {
    const { key, previous } = versionRow(row)
    if (!walk.was.has(key)) walk.was.set(key, previous)
  }
  walk.seen = state.latest.revision
}

const selects = (object: Raw, { ownerUid, selector }: Filter): boolean => {
  if (ownerUid !== undefined && !object.metadata.ownerReferences?.some((owner) => owner.uid === ownerUid)) return false
  return selector === undefined || Selector.matches(selector, object.metadata.labels)
}

/** Walks over all objects, by kind and key, all of one revision. Runs in a snapshot. */
export const walks = (state: State): ReadonlyArray<Walk> =>
  state.sql.allKinds.all().map(addressOf).toSorted((a, b) => (Resource.groupKind(a) < Resource.groupKind(b) ? -1 : 1))
    .map((at) => startWalk(state, at, {}))
