/** The statements of a store, prepared once. */
import type { DatabaseSync, StatementSync } from "node:sqlite"

export type Statements = ReturnType<typeof prepare>

export const prepare = (db: DatabaseSync) => {
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
    schemaVersion: sql("PRAGMA user_version"),
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
