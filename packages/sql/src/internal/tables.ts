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
import * as Result from "effect/Result"
import type { DatabaseSync, StatementSync } from "node:sqlite"
import * as Resource from "setpoint/Resource"
import type { Key, Raw } from "setpoint/Resource"
import type * as Driver from "setpoint/StoreDriver"
import { Expired, Invalid, type Reason } from "setpoint/StoreError"
import * as WatchBuffer from "setpoint/WatchBuffer"
import * as Parsed from "./parsed.ts"
import { migrations } from "./schema.ts"
import * as Sqlite from "./sqlite.ts"
import * as Statements from "./statements.ts"

export interface Options {
  /** Changes that are kept for resumed watches and for pages. */
  readonly history: number
  readonly freeze: boolean
  readonly maxObjectBytes: number
  /** Every watch gets a bookmark once in so many changes of the store. */
  readonly bookmarkEvery: number
}

/** A change and the random id of the write that made it; of a timeline's begin, the birth id. */
export interface Point {
  readonly revision: number
  readonly writeId: string
}

export interface KindRow {
  readonly id: number
  readonly name: string
  address: Driver.KindAddress
  /** The address differs from what the file says. */
  renamed: boolean
}

export type Change = WatchBuffer.Change & { readonly kind: string }

/** Changed by the functions of this module alone. */
export interface State {
  readonly db: DatabaseSync
  readonly sql: Statements.Statements
  readonly options: Options
  readonly parsed: Parsed.Parsed
  /** Lets objects share what they repeat. */
  readonly share: (decoded: Raw) => Raw
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
    sql: Statements.prepare(db),
    options,
    parsed: Parsed.make(parsedLimit),
    share: Resource.sharing(),
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

const parsedLimit = 8 * 1024 * 1024

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
export const wake = (state: State): void => {
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

/** Tells every watch how far it is (S4). */
const mark = (state: State): void => {
  const { revision, writeId } = state.latest
  for (const watches of state.watches.values()) {
    for (const watch of watches) WatchBuffer.bookmark(watch, revision, writeId)
  }
  state.published = true
}

/** What another timeline is to what was open (S5). */
export const imported = (): Expired => new Expired({ why: "another timeline was imported", otherTimeline: true })

export const endAll = (state: State, reason: Reason): void => {
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

/** The latest change as the transaction that runs sees it. */
export const newest = (state: State): Point => state.pending.at(-1) ?? state.latest

/** Takes in what other processes have committed since the last time. */
export const refresh = (state: State): void => {
  const version = Number(state.sql.dataVersion.get()?.data_version)
  if (version === state.dataVersion) return
  const schema = Number(state.sql.schemaVersion.get()?.user_version)
  if (schema !== migrations.length) {
    throw new Sqlite.Refusal(17, `another program has brought the file to schema version ${schema}: use that one`)
  }
  const { birth, birth_id, floor } = one(state.sql.timeline)
  const isAnother = birth_id !== state.birth.writeId
  if (isAnother) {
    endAll(state, imported())
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
  if (row === undefined) throw new Sqlite.Unreadable("the table timeline is empty")
  return row
}

// ---------------------------------------------------------------------------------------------------------------------
// kinds and objects
// ---------------------------------------------------------------------------------------------------------------------

/** `undefined`: the file has no such kind, hence no object of it. */
export const kindOf = (state: State, at: Driver.KindAddress): KindRow | undefined => {
  const name = Resource.groupKind(at)
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
  const known: KindRow = {
    id: Number(id),
    name,
    address: addressOf({ group, kind, plural, scope, version }),
    renamed: false
  }
  state.kinds.set(name, known)
  return known
}

const sameAddress = (a: Driver.KindAddress, b: Driver.KindAddress): boolean =>
  a === b || (a.version === b.version && a.plural === b.plural && a.scope === b.scope)

export const addressOf = (row: { readonly [column: string]: unknown }): Driver.KindAddress => ({
  group: String(row.group),
  kind: String(row.kind),
  version: String(row.version),
  plural: String(row.plural),
  scope: row.scope === "Cluster" ? "Cluster" : "Namespaced"
})

/** The kind of a write: made where it is new, corrected where the file has another address. */
export const ensureKind = (state: State, at: Driver.KindAddress): KindRow => {
  const known = kindOf(state, at)
  if (known !== undefined) {
    if (known.renamed) {
      state.sql.setKind.run(at.version, at.plural, at.scope, known.id)
      known.renamed = false
    }
    return known
  }
  const { lastInsertRowid } = state.sql.addKind.run(at.group, at.kind, at.version, at.plural, at.scope)
  const kind: KindRow = { id: Number(lastInsertRowid), name: Resource.groupKind(at), address: at, renamed: false }
  state.kinds.set(kind.name, kind)
  return kind
}

const kindNameAt = (state: State, id: number): string => {
  for (const { id: known, name } of state.kinds.values()) if (known === id) return name
  const row = state.sql.kindAt.get(id)
  if (row === undefined) throw new Error(`kind ${id} has changes, but no row`)
  return Resource.groupKind(addressOf(row))
}

export const textOf = (key: Key): string => `${key.namespace}/${key.name}`

export const revisionOf = (state: State, kind: KindRow, key: string): number | undefined => {
  const row = state.sql.object.get(kind.id, key)
  return row === undefined ? undefined : Number(row.revision)
}

/** The object of a retained version; `undefined` where the row has none of its own. */
export const objectAt = (state: State, revision: number): Raw | undefined => {
  const known = Parsed.get(state.parsed, revision)
  if (known !== undefined) return known
  const text = state.sql.version.get(revision)?.object
  if (typeof text !== "string") return undefined
  const object = parse(state, text, revision)
  Parsed.set(state.parsed, revision, object, text.length)
  return object
}

/** What was stored was checked when it came in. */
const parse = (state: State, text: string, revision: number): Raw => {
  const object = Result.try(() => state.share(JSON.parse(text) as Raw))
  if (Result.isFailure(object)) throw new Sqlite.Unreadable(`the object of revision ${revision} is no JSON`)
  return state.options.freeze ? frozen(object.success) : object.success
}

const frozen = <A>(value: A): A => {
  if (typeof value !== "object" || value === null) return value
  for (const part of Object.values(value)) frozen(part)
  return Object.freeze(value)
}

export const present = (state: State, revision: number): Raw => {
  const object = objectAt(state, revision)
  if (object === undefined) throw new Error(`S8 is broken: revision ${revision} is listed, but its object is not there`)
  return object
}

// ---------------------------------------------------------------------------------------------------------------------
// history
// ---------------------------------------------------------------------------------------------------------------------

/** The changes after it are all there. Another process may retain fewer. */
export const floorOf = (state: State): number =>
  Math.max(state.floor, state.birth.revision, state.latest.revision - state.options.history)

/** That the changes after this one are all there, and that it is a change of this timeline (S5). */
export const retained = (state: State, { revision, writeId }: Point): Result.Result<void, Reason> => {
  const expired = (why: string) => Result.fail(new Expired({ why }))
  const other = (why: string) => Result.fail(new Expired({ why, otherTimeline: true }))
  if (!(revision >= state.birth.revision && revision <= state.latest.revision)) {
    return other(`revision ${revision} is not of this store's timeline`)
  }
  const floor = floorOf(state)
  if (revision < floor) return expired(`revision ${revision} is no longer retained; the oldest is ${floor}`)
  const known = revision === state.birth.revision
    ? state.birth.writeId
    : state.sql.writeIdAt.get(revision)?.write_id
  return known === writeId
    ? Result.succeed(undefined)
    : other(`revision ${revision} was another change: the store was restored or made anew`)
}

interface VersionRow {
  readonly revision: number
  readonly kind: number
  readonly key: string
  readonly writeId: string
  readonly previous: number | undefined
  readonly removed: boolean
}

export const versionRow = (row: { readonly [column: string]: unknown }): VersionRow => ({
  revision: Number(row.revision),
  kind: Number(row.kind),
  key: String(row.key),
  writeId: String(row.write_id),
  previous: row.previous === null ? undefined : Number(row.previous),
  removed: row.removed === 1
})

export const changeOf = (state: State, row: VersionRow): Change => ({
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

export const invalid = (path: string, why: string): Result.Result<never, Reason> =>
  Result.fail(new Invalid({ fields: [{ path, why }] }))
