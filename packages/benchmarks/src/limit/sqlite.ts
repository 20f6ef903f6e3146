/**
 * The limit of SqliteStore: the plain statements that an update needs, in one transaction for as many writes as there are
 * writers. The present revision is read, a version is added, the object is moved to it, and now and then what history no
 * longer holds is deleted. Nothing is validated, compared, watched or waited for.
 */
import { DatabaseSync } from "node:sqlite"
import type { Raw } from "setpoint/Resource"
import type { Subject } from "../bench.ts"
import { inTemporaryFolder } from "../folder.ts"
import { collect, cpuSeconds, type Figures, nowMillis, rate } from "../measure.ts"
import { parseVariant } from "../ours/sqlite.ts"
import { list, objects, updated } from "../work.ts"

const tables = `
  CREATE TABLE versions (revision INTEGER PRIMARY KEY, kind INTEGER NOT NULL, key TEXT NOT NULL, write_id TEXT NOT NULL,
    previous INTEGER, removed INTEGER NOT NULL, object TEXT) STRICT;
  CREATE TABLE objects (kind INTEGER NOT NULL, key TEXT NOT NULL, revision INTEGER NOT NULL, PRIMARY KEY (kind, key))
    STRICT, WITHOUT ROWID;`

const history = 10_000
const trimmed = 500

const prepare = (db: DatabaseSync) => ({
  begin: db.prepare("BEGIN IMMEDIATE"),
  commit: db.prepare("COMMIT"),
  present: db.prepare("SELECT revision FROM objects WHERE kind = ? AND key = ?"),
  addVersion: db.prepare("INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?)"),
  addObject: db.prepare("INSERT INTO objects VALUES (?, ?, ?)"),
  moveObject: db.prepare("UPDATE objects SET revision = ? WHERE kind = ? AND key = ?"),
  trim: db.prepare(`DELETE FROM versions WHERE revision IN
    (SELECT previous FROM versions WHERE revision > ? AND revision <= ? AND previous IS NOT NULL)`)
})

const keyOf = ({ metadata }: Raw): string => `${metadata.namespace}/${metadata.name}`

const onFile = (filename: string, durability: "power" | "process", writers: number, n: number): Figures => {
  const db = new DatabaseSync(filename)
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${durability === "power" ? "FULL" : "NORMAL"}; ${tables}`)
  const sql = prepare(db)
  const all = list(1024, objects("object"))
  let revision = 0
  let floor = 0
  sql.begin.run()
  for (const object of all) {
    revision++
    sql.addVersion.run(revision, 1, keyOf(object), "0123456789abcdef", null, 0, JSON.stringify(object))
    sql.addObject.run(1, keyOf(object), revision)
  }
  sql.commit.run()
  const run = (count: number) => {
    for (let at = 0; at < count; at += writers) {
      sql.begin.run()
      for (let writer = 0; writer < writers; writer++) {
        const object = updated(all[(at + writer) % all.length] as Raw, ++revision)
        const key = keyOf(object)
        const previous = sql.present.get(1, key)?.["revision"] ?? null
        sql.addVersion.run(revision, 1, key, "0123456789abcdef", previous, 0, JSON.stringify(object))
        sql.moveObject.run(revision, 1, key)
      }
      if (revision - history - floor >= trimmed) {
        sql.trim.run(floor, revision - history)
        floor = revision - history
      }
      sql.commit.run()
    }
  }
  run(n)
  collect()
  const cpu = cpuSeconds()
  const start = nowMillis()
  run(n)
  const millis = nowMillis() - start
  db.close()
  return { ...rate(millis, n), writes_per_s: (n * 1000) / millis, cpu_s: cpuSeconds() - cpu }
}

export const onSqlite: Subject = ({ n, variant }) => {
  const { durability, writers } = parseVariant(variant)
  return inTemporaryFolder((folder) => onFile(`${folder}/plain.sqlite`, durability, writers, n))
}
