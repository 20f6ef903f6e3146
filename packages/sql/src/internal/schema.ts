/**
 * The tables of a store in SQLite, and how they came to be: one step a schema version, never changed afterwards.
 *
 * Every change of the store is a row of `versions`, which holds the object as it was made; `objects` says which version
 * of each key is the present one. So an object's text is stored once, a watch resumes and a page is read from the same
 * rows, and a change is one new row at the end and one small row moved.
 */
import type { DatabaseSync } from "node:sqlite"

/** In the file's header: says that a file is a store of ours. The letters "SETP". */
export const applicationId = 0x53_45_54_50

/** Step i makes schema version i + 1 out of version i. */
export const migrations: ReadonlyArray<string> = [
  `
  -- One row: the timeline that the store is in (birth), and where the retained changes begin (floor).
  CREATE TABLE timeline (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    birth INTEGER NOT NULL,
    birth_id TEXT NOT NULL,
    floor INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE kinds (
    id INTEGER PRIMARY KEY,
    "group" TEXT NOT NULL,
    kind TEXT NOT NULL,
    version TEXT NOT NULL,
    plural TEXT NOT NULL,
    scope TEXT NOT NULL,
    UNIQUE ("group", kind)
  ) STRICT;

  -- Every change after the floor, and of the others those whose object is still there. previous: the version before.
  -- A removed one holds an object only where its last state is another than that of the version before.
  CREATE TABLE versions (
    revision INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    key TEXT NOT NULL,
    write_id TEXT NOT NULL,
    previous INTEGER,
    removed INTEGER NOT NULL,
    object TEXT
  ) STRICT;

  -- key is namespace/name: a namespace is a range of keys, and the order is that of lists.
  CREATE TABLE objects (
    kind INTEGER NOT NULL,
    key TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE labels (
    kind INTEGER NOT NULL,
    label TEXT NOT NULL,
    value TEXT NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (kind, label, value, key)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE owners (
    kind INTEGER NOT NULL,
    uid TEXT NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (kind, uid, key)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE fences (
    lease TEXT PRIMARY KEY,
    epoch INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `
]

/** What a store of the newest version consists of. */
export const tables: ReadonlyArray<string> = ["fences", "kinds", "labels", "objects", "owners", "timeline", "versions"]

/** Brings a store to the newest version, in the caller's transaction. `birthId` is for one that is made anew. */
export const migrate = (db: DatabaseSync, from: number, steps: ReadonlyArray<string>, birthId: string): void => {
  for (const step of steps.slice(from)) db.exec(step)
  if (from === 0) {
    db.exec(`PRAGMA application_id = ${applicationId}`)
    db.prepare("INSERT INTO timeline (id, birth, birth_id, floor) VALUES (1, 0, ?, 0)").run(birthId)
  }
  db.exec(`PRAGMA user_version = ${steps.length}`)
}
