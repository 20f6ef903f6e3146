import { assert, describe, it } from "@effect/vitest"
import { SqliteStore } from "@setpoint/sql"
import * as GroupCommit from "@setpoint/sql/internal/groupCommit"
import * as OpenFile from "@setpoint/sql/internal/openFile"
import * as Schema from "@setpoint/sql/internal/schema"
import * as Tables from "@setpoint/sql/internal/tables"
import * as Writing from "@setpoint/sql/internal/writing"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Fs from "node:fs"
import { DatabaseSync } from "node:sqlite"
import type { StoreError } from "setpoint/StoreError"
import { temporaryFile } from "./support/files.ts"
import * as Things from "./support/things.ts"

describe("group commit", () => {
  it.effect("writes that arrive together share one commit, and each is answered after it", () =>
    Effect.gen(function*() {
      const filename = yield* temporaryFile
      const driver = yield* SqliteStore.make({ filename })
      const before = commitsOf(filename)
      yield* Effect.forEach(hundred, (i) => Things.create(driver, `a-${i}`), { concurrency: "unbounded" })
      assert.strictEqual(commitsOf(filename), before + 1)
      yield* Effect.forEach(hundred, (i) => Things.create(driver, `b-${i}`))
      assert.strictEqual(commitsOf(filename), before + 101)
    }))

  it.effect("writes that change nothing commit nothing", () =>
    Effect.gen(function*() {
      const filename = yield* temporaryFile
      const driver = yield* SqliteStore.make({ filename })
      yield* Things.create(driver, "a")
      const before = commitsOf(filename)
      yield* Things.resize(driver, "a", 1)
      yield* Effect.flip(Things.create(driver, "a"))
      yield* Effect.flip(Things.remove(driver, "b"))
      yield* driver.write(Things.at, { op: "create", object: Things.thing("c", 1) }, Things.options({ dryRun: true }))
      assert.strictEqual(commitsOf(filename), before)
    }))

  it.effect("a write that is refused, or dies, takes none of its commit with it", () =>
    Effect.gen(function*() {
      const driver = yield* SqliteStore.make({ filename: ":memory:" })
      yield* Things.create(driver, "taken")
      const dying = driver.write(
        Things.at,
        { op: "patch", key: Things.key("taken"), type: "merge", patch: { spec: { size: 2 } } },
        Things.options({
          admit: () => {
            throw new Error("a check that is broken")
          }
        })
      )
      const exits = yield* Effect.all({
        a: Effect.exit(Things.create(driver, "a")),
        taken: Effect.exit(Things.create(driver, "taken")),
        dying: Effect.exit(dying),
        b: Effect.exit(Things.create(driver, "b"))
      }, { concurrency: "unbounded" })
      assert.isTrue(Exit.isSuccess(exits.a) && Exit.isSuccess(exits.b))
      assert.isTrue(Exit.hasFails(exits.taken))
      assert.isTrue(Exit.hasDies(exits.dying))
      assert.deepStrictEqual(yield* Things.names(driver), ["a", "b", "taken"])
    }))

  it.effect("a full disk is StoreFull for all of the commit, none of it is there, and the store goes on", () =>
    Effect.gen(function*() {
      const { create, names, state } = yield* store
      yield* create("a", 10)
      state.db.exec("PRAGMA max_page_count = 20")
      const full = yield* Effect.all([Effect.flip(create("b", 10)), Effect.flip(create("c", 100_000))], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(full.map(({ _tag }) => _tag), ["StoreFull", "StoreFull"])
      yield* create("d", 10)
      yield* create("b", 10)
      assert.deepStrictEqual(names(), ["default/a", "default/b", "default/d"])
    }))

  it.effect("[S1] a disk that fails while it flushes leaves the outcome unknown, and says so", () =>
    Effect.gen(function*() {
      const failing: { now: boolean } = { now: false }
      const { create, names } = yield* storeWith((state) => ({
        ...state,
        sql: {
          ...state.sql,
          commit: new Proxy(state.sql.commit, {
            get: (target, name) =>
              name !== "run" || !failing.now ? Reflect.get(target, name).bind(target) : () => {
                throw Object.assign(new Error("disk I/O error"), { errcode: 10 })
              }
          })
        }
      }))
      yield* create("a", 10)
      failing.now = true
      assert.strictEqual((yield* Effect.flip(create("b", 10)))._tag, "UnknownOutcome")
      failing.now = false
      yield* create("c", 10)
      assert.deepStrictEqual(names(), ["default/a", "default/c"])
    }))
})

describe("a file that another process has locked", () => {
  it.effect("writes wait without blocking, reads go on, and the write is applied once the lock is gone", () =>
    Effect.gen(function*() {
      const filename = yield* temporaryFile
      const driver = yield* SqliteStore.make({ filename })
      yield* Things.create(driver, "a")
      const other = yield* locked(filename)
      const writing = yield* Effect.forkChild(Things.create(driver, "b"), { startImmediately: true })
      yield* TestClock.adjust("2 seconds")
      assert.isUndefined(writing.pollUnsafe())
      assert.deepStrictEqual(yield* Things.names(driver), ["a"])
      other.exec("ROLLBACK")
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(writing)
      assert.deepStrictEqual(yield* Things.names(driver), ["a", "b"])
    }))

  it.effect("past lockTimeout a write is Unavailable: it was not applied, and is not later", () =>
    Effect.gen(function*() {
      const filename = yield* temporaryFile
      const driver = yield* SqliteStore.make({ filename, lockTimeout: "1 second" })
      const other = yield* locked(filename)
      const writing = yield* Effect.forkChild(Effect.flip(Things.create(driver, "a")), { startImmediately: true })
      yield* TestClock.adjust("2 seconds")
      const error = yield* Fiber.join(writing)
      assert.strictEqual(error.reason._tag, "Unavailable")
      assert.strictEqual(error.applied, "no")
      assert.include(error.message, "another process has held the file for too long")
      other.exec("ROLLBACK")
      yield* TestClock.adjust("1 second")
      yield* Things.create(driver, "b")
      assert.deepStrictEqual(yield* Things.names(driver), ["b"])
    }))

  it.effect("a write that is interrupted while it waits is not applied", () =>
    Effect.gen(function*() {
      const filename = yield* temporaryFile
      const driver = yield* SqliteStore.make({ filename })
      const other = yield* locked(filename)
      const writing = yield* Effect.forkChild(Things.create(driver, "a"), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(writing)
      other.exec("ROLLBACK")
      yield* TestClock.adjust("1 second")
      yield* Things.create(driver, "b")
      assert.deepStrictEqual(yield* Things.names(driver), ["b"])
    }))
})

describe("closing", () => {
  it.effect("fails the writes that wait and ends the watches with Unavailable, as all calls after it", () =>
    Effect.gen(function*() {
      const filename = yield* temporaryFile
      const scope = yield* Effect.scope
      const [driver, writing, watching] = yield* Effect.scoped(Effect.gen(function*() {
        const driver = yield* SqliteStore.make({ filename })
        const watch = yield* Things.follow(driver).pipe(Effect.provideService(Scope.Scope, scope))
        assert.strictEqual(yield* watch, "InitialDone")
        const watching = yield* Effect.forkIn(Effect.flip(watch), scope, { startImmediately: true })
        yield* locked(filename)
        const writing = yield* Effect.forkIn(Effect.flip(Things.create(driver, "a")), scope, { startImmediately: true })
        yield* TestClock.adjust("1 second")
        return [driver, writing, watching] as const
      }))
      assert.include(String(yield* Fiber.join(writing)), "the store is closed")
      assert.include(String(yield* Fiber.join(watching)), "the store is closed")
      const calls = [Things.create(driver, "b"), Things.get(driver, "b"), Things.names(driver), driver.kinds]
      for (const call of calls.map((call) => Effect.flip(Effect.asVoid<unknown, StoreError, never>(call)))) {
        assert.include((yield* call).message, "the store is closed")
      }
      assert.deepStrictEqual(yield* Things.names(yield* SqliteStore.make({ filename })), [])
    }))
})

/** A store without its shell, so that a test can change what is beneath. */
const storeWith = (change: (state: Tables.State) => Tables.State) =>
  Effect.gen(function*() {
    const options = {
      filename: yield* temporaryFile,
      synchronous: "FULL",
      steps: Schema.migrations,
      birthId: "b"
    } as const
    const settings = { history: 10, freeze: true, maxObjectBytes: Infinity, bookmarkEvery: 1_000 }
    const state = change(yield* Effect.fromResult(OpenFile.open(options, (db) => Tables.make(db, settings))))
    yield* Effect.addFinalizer(() => Effect.sync(() => state.db.close()))
    const commits = GroupCommit.make(state)
    yield* Effect.forkScoped(GroupCommit.run(commits, (attempt) => attempt), { startImmediately: true })
    const create = (name: string, size: number) => {
      const object = { ...Things.thing(name, 1), text: "x".repeat(size) }
      const given = { nowText: "2026-01-01T00:00:00Z", uid: () => name }
      return GroupCommit.submit(commits, () =>
        Writing.write(state, Things.at, { op: "create", object }, Things.options(), given))
    }
    const names = () =>
      state.db.prepare("SELECT key FROM objects ORDER BY key").all().map(({ key }) => key)
    return { create, names, state }
  })

const store = storeWith((state) => state)

const hundred = Array.from({ length: 100 }, (_, i) => i)

/** Another connection that holds the lock of writers. */
const locked = (filename: string) =>
  Effect.map(
    Effect.acquireRelease(Effect.sync(() => new DatabaseSync(filename)), (db) => Effect.sync(() => db.close())),
    (db) => {
      db.exec("BEGIN IMMEDIATE")
      return db
    }
  )

/** Commits in the write-ahead log: each ends with a frame that tells the size of the database after it. */
const commitsOf = (filename: string): number => {
  const log = Fs.readFileSync(`${filename}-wal`)
  const headerBytes = 32
  const frameBytes = 24 + log.readUInt32BE(8)
  let commits = 0
  for (let at = headerBytes; at + frameBytes <= log.length; at += frameBytes) {
    if (log.readUInt32BE(at + 4) > 0) commits++
  }
  return commits
}
