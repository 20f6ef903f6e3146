/**
 * A store in SQLite: one state record over one connection, and synchronous functions that read and change it.
 *
 * The truth is in the file, since other processes write to it too; the record holds what is worth not reading again, and
 * {@link refresh}, called first in every transaction that needs it, brings it up to date and hands to the watches what
 * the others have written. What SQLite refuses is thrown (`Sqlite.attempt` catches it).
 *
 * A change goes this way: `write` asks the shared rules what to do and puts rows; `committed` hands the changes to the
 * watches once the transaction has ended well.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import * as Result from "effect/Result"
import type { Key, Raw } from "setpoint/Resource"
import * as Selector from "setpoint/Selector"
import type * as Driver from "setpoint/StoreDriver"
import { Conflict, Expired, Fenced, Invalid, NotFound, type Reason } from "setpoint/StoreError"
import * as StoreRules from "setpoint/StoreRules"
import * as WatchBuffer from "setpoint/WatchBuffer"
import * as Parsed from "./parsed.ts"

export interface Options {
  /** Changes that are kept for resumed watches and for pages. */
  readonly history: number
  readonly freeze: boolean
  readonly maxObjectBytes: number
  /** Every watch gets a bookmark once in so many changes of the store. */
  readonly bookmarkEvery: number
}

/** A change and the random id of the write that made it; of a timeline's begin, the birth id. */
interface Point {
  readonly revision: number
  readonly writeId: string
}

interface KindRow {
  readonly id: number
  readonly name: string
  address: Driver.KindAddress
  /** The address differs from what the file says. */
  renamed: boolean
}

type Change = WatchBuffer.Change & { readonly kind: string }

/** Changed by the functions of this module alone. */
export interface State {
  readonly db: DatabaseSync
  readonly sql: Statements
  readonly options: Options
  readonly parsed: Parsed.Parsed
  /** By name (`Website.example.dev`); those that the file has, as far as they were asked for. */
  readonly kinds: Map<string, KindRow>
  /** Watches by the name of their kind. */
  readonly watches: Map<string, Set<WatchBuffer.WatchBuffer>>
  /** SQLite's count of what other connections have committed. */
  dataVersion: number
  birth: Point
  /** The oldest change after which all are retained, as the file says. */
  floor: number
  /** The latest change that was committed: all up to it were handed to the watches. */
  latest: Point
  /** Changes of the transaction that runs. */
  pending: Array<Change>
  /** Watches were given something since their readers were last woken. */
  published: boolean
  /** The transaction's end has been asked for: if SQLite fails now, it may have been reached all the same. */
  committing: boolean
}

export const make = (db: DatabaseSync, options: Options): State => {
  const state: State = {
    db,
    sql: statements(db),
    options,
    parsed: Parsed.make(parsedLimit),
    kinds: new Map(),
    watches: new Map(),
    dataVersion: -1,
    birth: { revision: 0, writeId: "" },
    floor: 0,
    latest: { revision: -1, writeId: "" },
    pending: [],
    published: false,
    committing: false
  }
  inSnapshot(state, () => undefined)
  return state
}

const parsedLimit = 16 * 1024 * 1024

// ---------------------------------------------------------------------------------------------------------------------
// statements
// ---------------------------------------------------------------------------------------------------------------------

type Statements = ReturnType<typeof statements>

const statements = (db: DatabaseSync) => {
  const sql = (text: string): StatementSync => db.prepare(text)
  const keys = (from: string) =>
    `SELECT o.key AS key, o.revision AS revision FROM ${from} AND o.key > ? AND o.key < ? ORDER BY o.key LIMIT ?`
  const indexed = (table: string, where: string) =>
    `${table} i JOIN objects o ON o.kind = i.kind AND o.key = i.key WHERE i.kind = ? AND ${where}`
  return {
    begin: sql("BEGIN"),
    beginImmediate: sql("BEGIN IMMEDIATE"),
    commit: sql("COMMIT"),
    rollback: sql("ROLLBACK"),
    dataVersion: sql("PRAGMA data_version"),
    timeline: sql("SELECT birth, birth_id, floor FROM timeline"),
    setTimeline: sql("UPDATE timeline SET birth = ?, birth_id = ?, floor = ?"),
    setFloor: sql("UPDATE timeline SET floor = ?"),
    latest: sql("SELECT revision, write_id FROM versions ORDER BY revision DESC LIMIT 1"),
    writeIdAt: sql("SELECT write_id FROM versions WHERE revision = ?"),
    hasWriteId: sql("SELECT 1 FROM versions WHERE revision > ? AND write_id = ?"),
    kinds: sql(`SELECT id, "group", kind, version, plural, scope FROM kinds k
      WHERE EXISTS (SELECT 1 FROM objects o WHERE o.kind = k.id)`),
    kindAt: sql(`SELECT "group", kind FROM kinds WHERE id = ?`),
    allKinds: sql(`SELECT id, "group", kind, version, plural, scope FROM kinds`),
    kindNamed: sql(`SELECT id, version, plural, scope FROM kinds WHERE "group" = ? AND kind = ?`),
    addKind: sql(`INSERT INTO kinds ("group", kind, version, plural, scope) VALUES (?, ?, ?, ?, ?)`),
    setKind: sql("UPDATE kinds SET version = ?, plural = ?, scope = ? WHERE id = ?"),
    object: sql("SELECT revision FROM objects WHERE kind = ? AND key = ?"),
    addObject: sql("INSERT INTO objects (kind, key, revision) VALUES (?, ?, ?)"),
    setObject: sql("UPDATE objects SET revision = ? WHERE kind = ? AND key = ?"),
    removeObject: sql("DELETE FROM objects WHERE kind = ? AND key = ?"),
    version: sql("SELECT object FROM versions WHERE revision = ?"),
    addVersion: sql(`INSERT INTO versions (revision, kind, key, write_id, previous, removed, object)
      VALUES (?, ?, ?, ?, ?, ?, ?)`),
    changesOf: sql(`SELECT revision, kind, key, write_id, previous, removed FROM versions
      WHERE revision > ? AND revision <= ? AND kind = ? ORDER BY revision LIMIT ?`),
    changes: sql(`SELECT revision, kind, key, write_id, previous, removed FROM versions
      WHERE revision > ? ORDER BY revision`),
    trimReplaced: sql(`DELETE FROM versions WHERE revision IN
      (SELECT previous FROM versions WHERE revision > ? AND revision <= ? AND previous IS NOT NULL)`),
    trimRemoved: sql("DELETE FROM versions WHERE revision >= ? AND revision < ? AND removed = 1"),
    keys: sql(keys("objects o WHERE o.kind = ?")),
    keysLabelled: sql(keys(indexed("labels", "i.label = ? AND i.value = ?"))),
    keysOwned: sql(keys(indexed("owners", "i.uid = ?"))),
    addLabel: sql("INSERT INTO labels (kind, label, value, key) VALUES (?, ?, ?, ?)"),
    removeLabel: sql("DELETE FROM labels WHERE kind = ? AND label = ? AND value = ? AND key = ?"),
    addOwner: sql("INSERT OR IGNORE INTO owners (kind, uid, key) VALUES (?, ?, ?)"),
    removeOwner: sql("DELETE FROM owners WHERE kind = ? AND uid = ? AND key = ?"),
    fence: sql("SELECT epoch FROM fences WHERE lease = ?"),
    setFence: sql("INSERT INTO fences (lease, epoch) VALUES (?, ?) ON CONFLICT DO UPDATE SET epoch = excluded.epoch"),
    hasObjects: sql("SELECT 1 FROM objects LIMIT 1"),
    removeVersions: sql("DELETE FROM versions")
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// transactions
// ---------------------------------------------------------------------------------------------------------------------

/** Reads at one revision, with what other processes have written until now. */
export const inSnapshot = <A>(state: State, read: () => A): A => {
  state.sql.begin.run()
  try {
    refresh(state)
    return read()
  } finally {
    if (state.db.isTransaction) state.sql.rollback.run()
    wake(state)
  }
}

/** One commit: all of the writes, or, where SQLite fails, none. */
export const inCommit = (state: State, writes: () => void): void => {
  state.committing = false
  state.sql.beginImmediate.run()
  try {
    refresh(state)
    writes()
    trim(state)
    state.committing = true
    state.sql.commit.run()
  } catch (error) {
    abandon(state)
    throw error
  }
  committed(state)
}

const abandon = (state: State): void => {
  if (state.db.isTransaction) state.sql.rollback.run()
  state.pending = []
  state.kinds.clear()
  state.dataVersion = -1 // read all of it again
  Parsed.clear(state.parsed)
  wake(state)
}

const committed = (state: State): void => {
  const { pending } = state
  state.pending = []
  for (const change of pending) publish(state, change)
  wake(state)
}

/** Readers run at once, and may call the store: after a transaction, never in one. */
const wake = (state: State): void => {
  if (!state.published) return
  state.published = false
  for (const watches of state.watches.values()) WatchBuffer.wake(watches)
}

const publish = (state: State, change: Change): void => {
  const { revision, writeId } = change
  state.latest = { revision, writeId }
  const watches = state.watches.get(change.kind)
  if (watches !== undefined) {
    WatchBuffer.publish(change, watches)
    state.published = true
  }
  if (revision % state.options.bookmarkEvery === 0) mark(state)
}

/** The latest change as the transaction that runs sees it. */
const newest = (state: State): Point => state.pending.at(-1) ?? state.latest

/** Takes in what other processes have committed since the last time. */
export const refresh = (state: State): void => {
  const version = Number(state.sql.dataVersion.get()?.data_version)
  if (version === state.dataVersion) return
  const { birth, birth_id, floor } = one(state.sql.timeline)
  const isAnother = birth_id !== state.birth.writeId
  if (isAnother) {
    const why = "another timeline was imported"
    endAll(state, new Expired({ why }))
    state.birth = { revision: Number(birth), writeId: String(birth_id) }
    Parsed.clear(state.parsed)
  }
  state.kinds.clear() // of addresses that others have corrected
  state.floor = Number(floor)
  if (isAnother || state.latest.revision < state.floor || state.watches.size === 0) {
    if (!isAnother) endAll(state, new Expired({ why: "other processes wrote more than the history retains" }))
    state.latest = latestInFile(state)
  } else {
    for (const row of state.sql.changes.all(state.latest.revision)) publish(state, changeOf(state, versionRow(row)))
  }
  state.dataVersion = version
}

const latestInFile = (state: State): Point => {
  const row = state.sql.latest.get()
  return row === undefined ? state.birth : { revision: Number(row.revision), writeId: String(row.write_id) }
}

const one = (statement: StatementSync) => {
  const row = statement.get()
  if (row === undefined) throw new Error("the store's timeline row is missing")
  return row
}

// ---------------------------------------------------------------------------------------------------------------------
// kinds and objects
// ---------------------------------------------------------------------------------------------------------------------

const nameOf = (at: Driver.KindAddress): string => at.group === "" ? at.kind : `${at.kind}.${at.group}`

/** `undefined`: the file has no such kind, hence no object of it. */
const kindOf = (state: State, at: Driver.KindAddress): KindRow | undefined => {
  const name = nameOf(at)
  const known = state.kinds.get(name) ?? readKind(state, name, at)
  if (known === undefined || sameAddress(known.address, at)) return known
  known.address = at // that of an import was a guess
  known.renamed = true
  return known
}

const readKind = (state: State, name: string, { group, kind }: Driver.KindAddress): KindRow | undefined => {
  const row = state.sql.kindNamed.get(group, kind)
  if (row === undefined) return undefined
  const { id, plural, scope, version } = row
  const known: KindRow = { id: Number(id), name, address: addressOf({ group, kind, plural, scope, version }), renamed: false }
  state.kinds.set(name, known)
  return known
}

const sameAddress = (a: Driver.KindAddress, b: Driver.KindAddress): boolean =>
  a === b || (a.version === b.version && a.plural === b.plural && a.scope === b.scope)

const addressOf = (row: { readonly [column: string]: unknown }): Driver.KindAddress => ({
  group: String(row.group),
  kind: String(row.kind),
  version: String(row.version),
  plural: String(row.plural),
  scope: row.scope === "Cluster" ? "Cluster" : "Namespaced"
})

/** The kind of a write: made where it is new, corrected where the file has another address. */
const ensureKind = (state: State, at: Driver.KindAddress): KindRow => {
  const known = kindOf(state, at)
  if (known !== undefined) {
    if (known.renamed) {
      state.sql.setKind.run(at.version, at.plural, at.scope, known.id)
      known.renamed = false
    }
    return known
  }
  const { lastInsertRowid } = state.sql.addKind.run(at.group, at.kind, at.version, at.plural, at.scope)
  const kind: KindRow = { id: Number(lastInsertRowid), name: nameOf(at), address: at, renamed: false }
  state.kinds.set(kind.name, kind)
  return kind
}

const kindNameAt = (state: State, id: number): string => {
  for (const { id: known, name } of state.kinds.values()) if (known === id) return name
  const row = state.sql.kindAt.get(id)
  if (row === undefined) throw new Error(`kind ${id} has changes, but no row`)
  return nameOf(addressOf(row))
}

const textOf = (key: Key): string => `${key.namespace}/${key.name}`

const revisionOf = (state: State, kind: KindRow, key: string): number | undefined => {
  const row = state.sql.object.get(kind.id, key)
  return row === undefined ? undefined : Number(row.revision)
}

/** The object of a retained version; `undefined` where the row has none of its own. */
const objectAt = (state: State, revision: number): Raw | undefined => {
  const known = Parsed.get(state.parsed, revision)
  if (known !== undefined) return known
  const text = state.sql.version.get(revision)?.object
  if (typeof text !== "string") return undefined
  const object = parse(state, text)
  Parsed.set(state.parsed, revision, object, text.length)
  return object
}

/** What was stored was checked when it came in. */
const parse = (state: State, text: string): Raw => {
  const object = JSON.parse(text) as Raw
  return state.options.freeze ? frozen(object) : object
}

const frozen = <A>(value: A): A => {
  if (typeof value !== "object" || value === null) return value
  for (const part of Object.values(value)) frozen(part)
  return Object.freeze(value)
}

const present = (state: State, revision: number): Raw => {
  const object = objectAt(state, revision)
  if (object === undefined) throw new Error(`S8 is broken: revision ${revision} is listed, but its object is not there`)
  return object
}

// ---------------------------------------------------------------------------------------------------------------------
// reading
// ---------------------------------------------------------------------------------------------------------------------

/** The kinds that have objects. */
export const kinds = (state: State): ReadonlyArray<Driver.KindAddress> =>
  state.sql.kinds.all().map((row) => {
    const address = addressOf(row)
    return state.kinds.get(nameOf(address))?.address ?? address
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
  const flaws = StoreRules.checkKey(at, key)
  return Result.fail(flaws.length > 0 ? new Invalid({ fields: flaws }) : new NotFound())
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
  const place = options.page === undefined ? Result.succeed({ ...state.latest, after: "" }) : parsePage(state, options.page)
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
  const page = { items, revision: String(revision), cursor: WatchBuffer.cursor(revision, writeId) }
  return Result.succeed(next === undefined ? page : { ...page, next })
}

const parsePage = (state: State, text: string): Result.Result<Point & { readonly after: string }, Reason> => {
  const token = Result.try(() => JSON.parse(text) as unknown)
  const [revision, writeId, after]: ReadonlyArray<unknown> =
    Result.isSuccess(token) && Array.isArray(token.success) ? token.success : []
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

const invalid = (path: string, why: string): Result.Result<never, Reason> =>
  Result.fail(new Invalid({ fields: [{ path, why }] }))

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
  return Result.succeed(nextPlaces(state, kind, walk, limit).flatMap(({ key, revision }) => {
    if (name !== undefined && !key.endsWith(`/${name}`)) return []
    const object = present(state, revision)
    return selects(object, walk.filter) ? [[key, object] as const] : []
  }))
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
  return places.sort((a, b) => (a.key < b.key ? -1 : 1)) // names are ASCII: this is the order of UTF-8 bytes
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

// ---------------------------------------------------------------------------------------------------------------------
// history
// ---------------------------------------------------------------------------------------------------------------------

/** The changes after it are all there. Another process may retain fewer. */
const floorOf = (state: State): number =>
  Math.max(state.floor, state.birth.revision, state.latest.revision - state.options.history)

/** That the changes after this one are all there, and that it is a change of this timeline (S5). */
export const retained = (state: State, { revision, writeId }: Point): Result.Result<void, Reason> => {
  const expired = (why: string) => Result.fail(new Expired({ why }))
  if (!(revision >= state.birth.revision && revision <= state.latest.revision)) {
    return expired(`revision ${revision} is not of this store's timeline`)
  }
  const floor = floorOf(state)
  if (revision < floor) return expired(`revision ${revision} is no longer retained; the oldest is ${floor}`)
  const known = revision === state.birth.revision
    ? state.birth.writeId
    : state.sql.writeIdAt.get(revision)?.write_id
  return known === writeId
    ? Result.succeed(undefined)
    : expired(`revision ${revision} was another change: the store was restored or made anew`)
}

interface VersionRow {
  readonly revision: number
  readonly kind: number
  readonly key: string
  readonly writeId: string
  readonly previous: number | undefined
  readonly removed: boolean
}

const versionRow = (row: { readonly [column: string]: unknown }): VersionRow => ({
  revision: Number(row.revision),
  kind: Number(row.kind),
  key: String(row.key),
  writeId: String(row.write_id),
  previous: row.previous === null ? undefined : Number(row.previous),
  removed: row.removed === 1
})

const changeOf = (state: State, row: VersionRow): Change => ({
  kind: kindNameAt(state, row.kind),
  before: row.previous === undefined ? undefined : objectAt(state, row.previous),
  after: row.removed ? undefined : present(state, row.revision),
  last: row.removed ? objectAt(state, row.revision) : undefined,
  revision: row.revision,
  writeId: row.writeId
})

/** Deletes what no watch may resume to see and no page may show. In portions, so that no commit has much to do. */
const trim = (state: State): void => {
  const { history } = state.options
  const floor = newest(state).revision - history
  const portion = Math.min(Math.max(1, Math.floor(history / 16)), 500)
  if (floor - state.floor < portion) return
  state.sql.trimReplaced.run(state.floor, floor)
  state.sql.trimRemoved.run(state.floor, floor)
  state.sql.setFloor.run(floor)
  state.floor = floor
}

// ---------------------------------------------------------------------------------------------------------------------
// writing: in a commit
// ---------------------------------------------------------------------------------------------------------------------

export const fence = (state: State, lease: string, epoch: number): Result.Result<void, Reason> => {
  const row = state.sql.fence.get(lease)
  const highest = row === undefined ? undefined : Number(row.epoch)
  if (highest !== undefined && epoch < highest) return Result.fail(new Fenced({ lease, epoch, highest }))
  if (highest !== epoch) state.sql.setFence.run(lease, epoch)
  return Result.succeed(undefined)
}

/** What a write needs of the world. */
export interface Given {
  readonly nowText: string
  /** Called for writes that create an object. */
  readonly uid: () => string
}

export const write = (
  state: State,
  at: Driver.KindAddress,
  write: Driver.Write,
  options: Driver.WriteOptions,
  given: Given
): Result.Result<Driver.Written, Reason> => {
  const fenced = options.fence === undefined ? undefined : fence(state, options.fence.lease, options.fence.epoch)
  if (fenced !== undefined && Result.isFailure(fenced)) return Result.fail(fenced.failure)
  const key = StoreRules.keyOf(write)
  const text = textOf(key)
  const kind = kindOf(state, at)
  const previous = kind === undefined ? undefined : revisionOf(state, kind, text)
  const stored = previous === undefined ? undefined : present(state, previous)
  if (stored === undefined && write.op !== "create") {
    const flaws = StoreRules.checkKey(at, key)
    if (flaws.length > 0) return Result.fail(new Invalid({ fields: flaws }))
  }
  const revision = newest(state).revision + 1
  const decision = StoreRules.decide(stored, write, options, {
    at,
    nowText: given.nowText,
    uid: stored === undefined && (write.op === "create" || write.op === "apply") ? given.uid() : "",
    revision: String(revision),
    maxObjectBytes: state.options.maxObjectBytes,
    freeze: state.options.freeze
  })
  const { dryRun, writeId } = options
  switch (decision._tag) {
    case "Refused":
      return Result.fail(decision.reason)
    case "Unchanged":
      return Result.succeed({ object: decision.object, changed: false, removed: false })
    case "Put":
      if (dryRun !== true) put(state, ensureKind(state, at), text, previous, stored, decision.object, revision, writeId)
      return Result.succeed({ object: decision.object, changed: true, removed: false })
    case "Remove":
      if (dryRun !== true && stored !== undefined && previous !== undefined) {
        remove(state, ensureKind(state, at), text, previous, stored, decision.last, revision, writeId)
      }
      return Result.succeed({ object: decision.last, changed: true, removed: true })
  }
}

const put = (
  { parsed, pending, sql }: State,
  kind: KindRow,
  key: string,
  previous: number | undefined,
  before: Raw | undefined,
  after: Raw,
  revision: number,
  writeId: string
): void => {
  const text = JSON.stringify(after)
  sql.addVersion.run(revision, kind.id, key, writeId, previous ?? null, 0, text)
  if (previous === undefined) sql.addObject.run(kind.id, key, revision)
  else sql.setObject.run(revision, kind.id, key)
  index(sql, kind, key, before, after)
  Parsed.set(parsed, revision, after, text.length)
  pending.push({ kind: kind.name, before, after, last: undefined, revision, writeId })
}

const remove = (
  { pending, sql }: State,
  kind: KindRow,
  key: string,
  previous: number,
  before: Raw,
  last: Raw,
  revision: number,
  writeId: string
): void => {
  sql.addVersion.run(revision, kind.id, key, writeId, previous, 1, last === before ? null : JSON.stringify(last))
  sql.removeObject.run(kind.id, key)
  index(sql, kind, key, before, undefined)
  pending.push({ kind: kind.name, before, after: undefined, last, revision, writeId })
}

/** Keeps the indexes of labels and owners. What did not change kept its identity. */
const index = (sql: Statements, { id }: KindRow, key: string, before: Raw | undefined, after: Raw | undefined): void => {
  const labels = after?.metadata.labels
  const oldLabels = before?.metadata.labels
  if (labels !== oldLabels) {
    for (const [label, value] of Object.entries(oldLabels ?? {})) sql.removeLabel.run(id, label, value, key)
    for (const [label, value] of Object.entries(labels ?? {})) sql.addLabel.run(id, label, value, key)
  }
  const owners = after?.metadata.ownerReferences
  const oldOwners = before?.metadata.ownerReferences
  if (owners !== oldOwners) {
    for (const { uid } of oldOwners ?? []) sql.removeOwner.run(id, uid, key)
    for (const { uid } of owners ?? []) sql.addOwner.run(id, uid, key)
  }
}

/**
 * Takes exported objects into an empty store, all or none: each gets a new revision, in the old order, in a new timeline
 * (S5). `gap` is random, at least 1: the new revisions begin so far above the old ones that no revision of the old
 * timeline fits an object of the new one.
 */
export const importAll = (
  state: State,
  inputs: ReadonlyArray<unknown>,
  given: { readonly birthId: string; readonly gap: number; readonly writeId: () => string }
): Result.Result<void, Reason> => {
  if (state.sql.hasObjects.get() !== undefined) {
    return Result.fail(new Conflict({ why: "the store has objects; import into an empty one" }))
  }
  const taken: Array<StoreRules.Imported & { readonly was: number }> = []
  const seen = new Set<string>()
  for (const [i, input] of inputs.entries()) {
    const next = StoreRules.importObject(input, i, state.options.freeze)
    if (Result.isFailure(next)) return Result.fail(next.failure)
    const id = `${nameOf(next.success.at)} ${textOf(next.success.key)}`
    if (seen.has(id)) return invalid(`[${i}]`, `${id} is there twice`)
    seen.add(id)
    taken.push({ ...next.success, was: revisionNumber(next.success.object) })
  }
  taken.sort((a, b) => a.was - b.was)
  const birth = Math.max(newest(state).revision, taken.at(-1)?.was ?? 0) + given.gap
  endAll(state, new Expired({ why: "another timeline was imported" }))
  state.sql.removeVersions.run()
  state.sql.setTimeline.run(birth, given.birthId, birth)
  state.birth = { revision: birth, writeId: given.birthId }
  state.floor = birth
  state.latest = state.birth
  state.pending = []
  for (const [i, { at, key, object }] of taken.entries()) {
    const revision = birth + 1 + i
    const next: Raw = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } }
    if (state.options.freeze) Object.freeze(Object.freeze(next).metadata)
    const writeId = given.writeId()
    put(state, ensureKind(state, at), textOf(key), undefined, undefined, next, revision, writeId)
  }
  return Result.succeed(undefined)
}

/** Revisions of other stores may be no numbers, or too large for one: they fit no object of ours. */
const revisionNumber = (object: Raw): number => {
  const revision = Number(object.metadata.resourceVersion)
  return Number.isSafeInteger(revision) && revision >= 0 && revision < 2 ** 52 ? revision : 0
}

// ---------------------------------------------------------------------------------------------------------------------
// watching
// ---------------------------------------------------------------------------------------------------------------------

/** A watch: what it begins with, then its buffer. */
export interface Watch {
  readonly kind: string
  readonly at: Driver.KindAddress
  readonly buffer: WatchBuffer.WatchBuffer
  readonly birthId: string
  /** The objects that were there, or the changes up to where the buffer begins; `undefined`: all of it was taken. */
  opening: Walk | Replay | undefined
}

interface Replay {
  seen: number
  readonly until: number
}

/** Opens a watch. It is fed until {@link close}. Runs in a snapshot. */
export const watch = (
  state: State,
  at: Driver.KindAddress,
  options: Driver.WatchOptions
): Result.Result<Watch, Reason> => {
  const buffer = WatchBuffer.make(options)
  if (Result.isFailure(buffer)) return Result.fail(buffer.failure)
  const opening: Result.Result<Walk | Replay, Reason> = options.from === "current"
    ? Result.succeed(startWalk(state, at, { namespace: options.namespace, selector: buffer.success.selector }))
    : startReplay(state, options.from)
  return Result.map(opening, (opening) => {
    const self: Watch = { kind: nameOf(at), at, buffer: buffer.success, birthId: state.birth.writeId, opening }
    const watches = state.watches.get(self.kind)
    if (watches === undefined) state.watches.set(self.kind, new Set([self.buffer]))
    else watches.add(self.buffer)
    return self
  })
}

const startReplay = (state: State, from: string): Result.Result<Replay, Reason> => {
  const point = WatchBuffer.parseCursor(from)
  if (Result.isFailure(point)) return Result.fail(point.failure)
  return Result.map(retained(state, point.success), () => ({ seen: point.success.revision, until: state.latest.revision }))
}

/** Ends a watch: nothing more is kept for it. */
export const close = (state: State, self: Watch): void => {
  const watches = state.watches.get(self.kind)
  watches?.delete(self.buffer)
  if (watches?.size === 0) state.watches.delete(self.kind)
}

const sliceSize = 500

/** The next slice of what a watch begins with; may be empty. Runs in a snapshot. */
export const open = (
  state: State,
  self: Watch,
  opening: Walk | Replay
): Result.Result<ReadonlyArray<Driver.WatchEvent>, Reason> => {
  if (self.birthId !== state.birth.writeId) return Result.fail(new Expired({ why: "another timeline was imported" }))
  return "until" in opening ? replay(state, self, opening) : initial(state, self, opening)
}

/** The objects that are there, all of one revision, however late they are read; then the mark. */
const initial = (state: State, self: Watch, walk: Walk): Result.Result<ReadonlyArray<Driver.WatchEvent>, Reason> => {
  const { revision, writeId } = walk.point
  const cursor = WatchBuffer.cursor(revision, writeId)
  return Result.map(step(state, walk, sliceSize), (slice) => {
    const events = slice.map(([, object]): Driver.WatchEvent => ({
      _tag: "Added",
      object: WatchBuffer.shown(self.buffer, object),
      initial: true,
      cursor
    }))
    if (!walk.done) return events
    self.opening = undefined
    return [...events, { _tag: "InitialDone" as const, revision: String(revision), cursor }]
  })
}

/** The changes after a cursor that the watch would have seen. */
const replay = (state: State, self: Watch, opening: Replay): Result.Result<ReadonlyArray<Driver.WatchEvent>, Reason> => {
  const floor = floorOf(state)
  if (opening.seen < floor) {
    const why = `revision ${opening.seen} is no longer retained; the oldest is ${floor}`
    return Result.fail(new Expired({ why }))
  }
  const kind = kindOf(state, self.at)
  const rows = kind === undefined ? [] : state.sql.changesOf.all(opening.seen, opening.until, kind.id, sliceSize)
  const changes = rows.map((row) => changeOf(state, versionRow(row)))
  if (changes.length < sliceSize) self.opening = undefined
  else opening.seen = changes[changes.length - 1].revision
  return Result.succeed(changes.flatMap((change) => WatchBuffer.eventFor(self.buffer, change) ?? []))
}

/** Tells every watch how far it is (S4). */
const mark = (state: State): void => {
  const { revision, writeId } = state.latest
  for (const watches of state.watches.values()) {
    for (const watch of watches) WatchBuffer.bookmark(watch, revision, writeId)
  }
  state.published = true
}

const endAll = (state: State, reason: Reason): void => {
  for (const watches of state.watches.values()) for (const watch of watches) WatchBuffer.end(watch, reason)
  state.published = true
}

/** Tells every watch how far it is (S4). Not in a transaction. */
export const bookmark = (state: State): void => {
  mark(state)
  wake(state)
}

/** Ends every watch. Not in a transaction. */
export const endWatches = (state: State, reason: Reason): void => {
  endAll(state, reason)
  wake(state)
}

/** Walks over all objects, by kind and key, all of one revision. Runs in a snapshot. */
export const walks = (state: State): ReadonlyArray<Walk> =>
  state.sql.allKinds.all().map(addressOf).sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)).map((at) =>
    startWalk(state, at, {})
  )
