import { assert, describe, it } from "@effect/vitest"
import { SqliteStore } from "@setpoint/sql"
import * as OpenFile from "@setpoint/sql/internal/openFile"
import * as Schema from "@setpoint/sql/internal/schema"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { StoreError } from "setpoint/StoreError"
import { temporaryFile, temporaryFolder } from "./support/files.ts"
import * as Things from "./support/things.ts"

describe("a new file", () => {
  it.effect("[F36] the first start begins a timeline, and reopening keeps it", () =>
    Effect.gen(function*() {
      const filename = yield* temporaryFile
      const cursorOf = Effect.scoped(Effect.gen(function*() {
        const driver = yield* SqliteStore.make({ filename })
        return (yield* Things.list(driver)).cursor
      }))
      const first = yield* cursorOf
      assert.strictEqual(yield* cursorOf, first)
      assert.notStrictEqual(first, "")
    }))

  it.effect("may be there, and empty", () =>
    Effect.gen(function*() {
      const filename = yield* temporaryFile
      Fs.writeFileSync(filename, "")
      yield* Things.create(yield* SqliteStore.make({ filename }), "a")
    }))

  it.effect("may be made by several at once: all have the same store", () =>
    Effect.gen(function*() {
      const filename = yield* temporaryFile
      const drivers = yield* Effect.all(Array.from({ length: 5 }, () => SqliteStore.make({ filename })), {
        concurrency: "unbounded"
      })
      const cursors = yield* Effect.forEach(
        drivers,
        (driver) => Effect.map(Things.list(driver), ({ cursor }) => cursor)
      )
      assert.strictEqual(new Set(cursors).size, 1)
    }))
})

describe("a file that cannot be a store", () => {
  it.effect("is no SQLite file: NotOurs", () =>
    Effect.gen(function*() {
      const filename = yield* temporaryFile
      Fs.writeFileSync(filename, "a letter to a friend\n".repeat(500))
      yield* refused(filename, "NotOurs", "file is not a database")
    }))

  for (const mode of ["delete", "wal"]) {
    it.effect(`is another program's SQLite file, in ${mode} mode: NotOurs`, () =>
      Effect.gen(function*() {
        const filename = yield* temporaryFile
        using(filename, (db) => db.exec(`PRAGMA journal_mode = ${mode}; CREATE TABLE songs (title TEXT)`))
        yield* refused(filename, "NotOurs", "of another program")
      }))
  }

  it.effect("is another program's, which has it open: NotOurs, and that program goes on", () =>
    Effect.gen(function*() {
      const filename = yield* temporaryFile
      const db = yield* open(filename)
      db.exec("PRAGMA journal_mode = wal; CREATE TABLE songs (title TEXT); INSERT INTO songs VALUES ('one')")
      yield* refused(filename, "NotOurs", "of another program")
      db.exec("INSERT INTO songs VALUES ('two')")
    }))

  it.effect("is of a newer schema version: NewerSchema, both versions named", () =>
    Effect.gen(function*() {
      const filename = yield* store
      const newer = Schema.migrations.length + 1
      using(filename, (db) => db.exec(`PRAGMA user_version = ${newer}`))
      yield* refused(filename, "NewerSchema", `its schema version is ${newer}, this program knows up to ${newer - 1}`)
    }))

  it.effect("is cut off: Damaged", () =>
    Effect.gen(function*() {
      const filename = yield* store
      Fs.truncateSync(filename, 3 * 4096 + 100)
      yield* refused(filename, "Damaged", "")
    }))

  it.effect("has a page of garbage: Damaged", () =>
    Effect.gen(function*() {
      const filename = yield* store
      const bytes = Fs.readFileSync(filename)
      for (const page of [2, 3, 4, 5]) bytes.fill(0xa5, page * 4096, page * 4096 + 2000)
      Fs.writeFileSync(filename, bytes)
      yield* refused(filename, "Damaged", "")
    }))

  it.effect("lacks a table, or the row that says its timeline: Damaged", () =>
    Effect.gen(function*() {
      const filename = yield* store
      using(filename, (db) => db.exec("DELETE FROM timeline"))
      yield* refused(filename, "Damaged", "timeline has not one row")
      using(filename, (db) => db.exec("DROP TABLE labels"))
      yield* refused(filename, "Damaged", "it has no table labels")
    }))

  it.effect("is a folder, or lies in none: CannotOpen", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      yield* refused(folder, "CannotOpen", "it is not a file")
      yield* refused(Path.join(folder, "absent", "store.db"), "CannotOpen", "there is no folder")
    }))

  it.effect("may not be written, or its folder not: ReadOnly", () =>
    Effect.gen(function*() {
      const filename = yield* store
      const folder = Path.dirname(filename)
      for (const [file, mode] of [[filename, 0o444], [folder, 0o555]] as const) {
        Fs.chmodSync(folder, 0o777)
        Fs.chmodSync(filename, 0o666)
        Fs.chmodSync(file, mode)
        const before = Fs.readFileSync(filename)
        const error = yield* asOrdinaryUser(Effect.flip(Effect.scoped(SqliteStore.make({ filename }))))
        assert.strictEqual(error.reason, "ReadOnly", error.message)
        assert.deepStrictEqual(Fs.readFileSync(filename), before)
      }
      Fs.chmodSync(folder, 0o777)
    }))

  it.effect("is held by a program that lets no other in: Locked after lockTimeout, and opened if it is let go before", () =>
    Effect.gen(function*() {
      const filename = yield* store
      const holder = yield* Effect.forkChild(
        Effect.scoped(Effect.gen(function*() {
          const db = yield* open(filename)
          db.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
          return yield* Effect.never
        })),
        { startImmediately: true }
      )
      const failing = yield* Effect.forkChild(refused(filename, "Locked", "another program holds it"))
      yield* TestClock.adjust("4 seconds")
      assert.isUndefined(failing.pollUnsafe())
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(failing)

      const opening = yield* Effect.forkScoped(SqliteStore.make({ filename }))
      yield* TestClock.adjust("1 seconds")
      assert.isUndefined(opening.pollUnsafe())
      yield* Fiber.interrupt(holder)
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual((yield* Things.get(yield* Fiber.join(opening), "a")).metadata.name, "a")
    }))
})

describe("options", () => {
  const wrong: ReadonlyArray<readonly [Partial<SqliteStore.Options>, string]> = [
    [{ filename: "" }, "filename"],
    [{ filename: "file:x.db?mode=memory" }, "filename"],
    [{ filename: "a\0b" }, "filename"],
    [{ history: -1 }, "history"],
    [{ history: 1.5 }, "history"],
    [{ history: Number.NaN }, "history"],
    [{ maxObjectBytes: 0 }, "maxObjectBytes"],
    [{ bookmarkEvery: 0 }, "bookmarkEvery"],
    [{ pollInterval: 0 }, "pollInterval"],
    [{ pollInterval: "-1 seconds" }, "pollInterval"],
    [{ bookmarkInterval: Number.NaN }, "bookmarkInterval"]
  ]
  for (const [options, name] of wrong) {
    it.effect(`${JSON.stringify(options)} is refused when the Layer is built`, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(Effect.scoped(SqliteStore.make({ filename: ":memory:", ...options })))
        assert.strictEqual(error.reason, "InvalidOption")
        assert.include(error.message, name)
      }))
  }
})

describe("schema versions", () => {
  const next = [
    ...Schema.migrations,
    "CREATE TABLE notes (text TEXT) STRICT; INSERT INTO notes SELECT key FROM objects"
  ]
  const openWith = (filename: string, steps: ReadonlyArray<string>, look: (db: DatabaseSync) => unknown) =>
    OpenFile.open({ filename, synchronous: "FULL", steps, birthId: "birth" }, (db) => {
      const seen = look(db)
      db.close()
      return seen
    })
  const version = (db: DatabaseSync) => db.prepare("PRAGMA user_version").get()?.user_version

  it.effect("an older file is brought forward, step by step, with what is in it", () =>
    Effect.gen(function*() {
      const filename = yield* store
      const notes = yield* Effect.fromResult(openWith(filename, next, (db) => [
        version(db),
        db.prepare("SELECT text FROM notes").get()?.text
      ]))
      assert.deepStrictEqual(notes, [next.length, "default/a"])
      assert.deepStrictEqual(yield* Effect.fromResult(openWith(filename, next, version)), next.length)
    }))

  it.effect("a store whose file a newer program brings forward meanwhile writes no more to it", () =>
    Effect.gen(function*() {
      const filename = yield* store
      const driver = yield* SqliteStore.make({ filename })
      yield* Things.create(driver, "b")
      yield* Effect.fromResult(openWith(filename, next, version))
      for (const call of [Things.create(driver, "c"), Effect.asVoid(Things.list(driver))]) {
        const error = yield* Effect.flip(Effect.asVoid<unknown, StoreError, never>(call))
        assert.include(error.message, `another program has brought the file to schema version ${next.length}`)
      }
    }))

  it.effect("a step that fails leaves the file as it was, and the store opens as before", () =>
    Effect.gen(function*() {
      const filename = yield* store
      const steps = [...next, "CREATE TABLE more (x TEXT) STRICT; INSERT INTO absent VALUES (1)"]
      const result = openWith(filename, steps, version)
      assert.include(JSON.stringify(result), "no such table")
      using(filename, (db) => assert.strictEqual(version(db), Schema.migrations.length))
      assert.deepStrictEqual(yield* Things.names(yield* SqliteStore.make({ filename })), ["a"])
    }))
})

/** A closed store of one object. */
const store = Effect.tap(temporaryFile, (filename) =>
  Effect.scoped(Effect.gen(function*() {
    yield* Things.create(yield* SqliteStore.make({ filename }), "a")
  })))

const open = (filename: string) =>
  Effect.acquireRelease(
    Effect.sync(() => new DatabaseSync(filename)),
    (db) => Effect.sync(() => db.close())
  )

const using = (filename: string, use: (db: DatabaseSync) => void): void => {
  const db = new DatabaseSync(filename)
  use(db)
  db.close()
}

/** The superuser may write everything. */
const asOrdinaryUser = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  process.geteuid?.() !== 0 ? effect : Effect.acquireUseRelease(
    Effect.sync(() => process.seteuid?.(65_534)),
    () => effect,
    () => Effect.sync(() => process.seteuid?.(0))
  )

/** It fails with this reason, and leaves everything as it was. */
const refused = (filename: string, reason: SqliteStore.OpenError["reason"], why: string) =>
  Effect.gen(function*() {
    const before = snapshot(filename)
    const scope = yield* Scope.make()
    const error = yield* Effect.flip(Scope.provide(SqliteStore.make({ filename }), scope))
    yield* Scope.close(scope, Exit.void)
    assert.strictEqual(error.reason, reason, error.message)
    assert.include(error.message, why)
    assert.include(error.message, filename)
    assert.deepStrictEqual(snapshot(filename), before)
  })

/** The names that lie in the file's folder, and the file's bytes. */
const snapshot = (filename: string) => {
  const folder = Path.dirname(filename)
  return [
    Fs.existsSync(folder) ? Fs.readdirSync(folder) : [],
    Fs.statSync(filename, { throwIfNoEntry: false })?.isFile() === true ? Fs.readFileSync(filename, "base64") : ""
  ]
}
