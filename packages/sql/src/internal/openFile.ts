/**
 * How a file becomes a store: looked at without a write, then opened, then brought to the newest schema version.
 *
 * A file that is refused is as it was before, and nothing lies beside it. So the look goes through a connection that
 * cannot write; where no other connection is (no write-ahead log lies beside the file) it also takes no lock.
 */
import * as Result from "effect/Result"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as Url from "node:url"
import { OpenError } from "./openError.ts"
import * as Schema from "./schema.ts"
import * as Sqlite from "./sqlite.ts"

/** @category models */
export interface Options {
  readonly filename: string
  readonly synchronous: "FULL" | "NORMAL"
  /** Steps of the schema: tests give older ones. */
  readonly steps: ReadonlyArray<string>
  readonly birthId: string
}

/** Files up to this size are read whole before they are opened. */
const verifiedBytes = 64 * 1024 * 1024

/** `begin` makes what is wanted of the connection. `Busy` where another try can help. */
export const open = <A>(
  options: Options,
  begin: (db: DatabaseSync) => A
): Result.Result<A, OpenError | Sqlite.Busy> => {
  const looked = Sqlite.attempt(() => look(options))
  if (Result.isSuccess(looked) && looked.success !== undefined) return Result.fail(refusal(options, looked.success))
  const result = Result.flatMap(looked, () => Sqlite.attempt(() => opened(options, begin)))
  return Result.mapError(
    result,
    (failure) => failure._tag === "Busy" ? failure : refusal(options, [reasons[failure._tag], failure.why])
  )
}

type Refusal = readonly [reason: OpenError["reason"], why: string]

const refusal = ({ filename }: Options, [reason, why]: Refusal): OpenError => new OpenError({ filename, reason, why })

const reasons: Readonly<Record<Sqlite.Refused["_tag"], OpenError["reason"]>> = {
  Damaged: "Damaged",
  NotADatabase: "NotOurs",
  ReadOnly: "ReadOnly",
  CannotOpen: "CannotOpen",
  Full: "CannotOpen",
  Io: "CannotOpen",
  Other: "Damaged"
}

// ---------------------------------------------------------------------------------------------------------------------
// the look
// ---------------------------------------------------------------------------------------------------------------------

/** Why the file cannot be a store; `undefined` where it is one, or is empty, or is not there yet. */
const look = (options: Options): Refusal | undefined => {
  if (options.filename === ":memory:") return undefined
  const file = Path.resolve(options.filename)
  const folder = Path.dirname(file)
  if (!Fs.existsSync(folder)) return ["CannotOpen", `there is no folder ${JSON.stringify(folder)}`]
  if (!isAllowed(folder, Fs.constants.W_OK | Fs.constants.X_OK)) return ["ReadOnly", "its folder may not be written"]
  const before = Fs.statSync(file, { throwIfNoEntry: false })
  if (before?.isFile() === false) return ["CannotOpen", "it is not a file"]
  if (before === undefined || before.size === 0) return undefined
  if (!isAllowed(file, Fs.constants.R_OK | Fs.constants.W_OK)) return ["ReadOnly", "it may not be read and written"]
  const alone = !Fs.existsSync(`${file}-wal`)
  const db = alone
    ? new DatabaseSync(new URL(`${Url.pathToFileURL(file).href}?immutable=1`), { readOnly: true, timeout: 0 })
    : new DatabaseSync(file, { readOnly: true, timeout: 0 })
  try {
    const refusal = judge(db, before.size, alone, options.steps.length)
    const after = Fs.statSync(file, { throwIfNoEntry: false })
    if (refusal !== undefined && after?.mtimeMs !== before.mtimeMs) {
      throw new Sqlite.Refusal(5, "another program has just changed the file") // another try may see it at rest
    }
    return refusal
  } finally {
    db.close()
  }
}

const isAllowed = (path: string, mode: number): boolean => {
  try {
    Fs.accessSync(path, mode)
    return true
  } catch {
    return false // whatever the reason
  }
}

const judge = (db: DatabaseSync, size: number, alone: boolean, newest: number): Refusal | undefined => {
  const id = pragma(db, "application_id")
  const version = pragma(db, "user_version")
  const names = tablesOf(db)
  if (id === 0 && version === 0 && names.length === 0) return undefined // empty: to be made a store
  if (id !== Schema.applicationId) return ["NotOurs", "it is a SQLite database of another program"]
  if (version > newest) return ["NewerSchema", `its schema version is ${version}, this program knows up to ${newest}`]
  const missing = version < newest ? [] : Schema.tables.filter((table) => !names.includes(table))
  if (missing.length > 0) return ["Damaged", `it has no table ${missing.join(", ")}`]
  if (version > 0 && db.prepare("SELECT count(*) AS n FROM timeline").get()?.n !== 1) {
    return ["Damaged", "its table timeline has not one row"]
  }
  if (alone && pragma(db, "page_count") * pragma(db, "page_size") > size) return ["Damaged", "it has been cut off"]
  if (size > verifiedBytes) return undefined
  const found = db.prepare("PRAGMA quick_check(1)").get()?.quick_check
  return found === "ok" ? undefined : ["Damaged", String(found)]
}

const pragma = (db: DatabaseSync, name: string): number => Number(db.prepare(`PRAGMA ${name}`).get()?.[name])

const tablesOf = (db: DatabaseSync): ReadonlyArray<string> =>
  db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all().map(({ name }) => String(name))

// ---------------------------------------------------------------------------------------------------------------------
// the opening
// ---------------------------------------------------------------------------------------------------------------------

/** What SQLite refuses is thrown, after the connection is closed. */
const opened = <A>(options: Options, begin: (db: DatabaseSync) => A): A => {
  const db = new DatabaseSync(options.filename, { timeout: 0 })
  try {
    const mode = db.prepare("PRAGMA journal_mode = WAL").get()?.journal_mode
    if (mode !== "wal" && options.filename !== ":memory:") {
      throw new Sqlite.Refusal(14, `its file system lets it have no write-ahead log (journal mode ${String(mode)})`)
    }
    db.exec(`PRAGMA synchronous = ${options.synchronous}`)
    if (pragma(db, "user_version") < options.steps.length) migrated(db, options)
    db.exec("DELETE FROM timeline WHERE false") // where SQLite may only read, it says so at a write, and not before
    return begin(db)
  } catch (error) {
    db.close()
    throw error
  }
}

const migrated = (db: DatabaseSync, { birthId, steps }: Options): void => {
  db.exec("BEGIN IMMEDIATE")
  try {
    const version = pragma(db, "user_version") // of whoever was first
    if (version < steps.length) Schema.migrate(db, version, steps, birthId)
    db.exec("COMMIT")
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK")
    throw error
  }
}
