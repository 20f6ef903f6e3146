import { assert, describe, it } from "@effect/vitest"
import { SqliteStore } from "@setpoint/sql"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { DatabaseSync } from "node:sqlite"
import * as Child from "./support/child.ts"
import { temporaryFile } from "./support/files.ts"
import * as Things from "./support/things.ts"

const deadlineMillis = 60_000

describe("several processes with one file", () => {
  it.live(
    "[S3] writes of each reach the watches of the other, in order, nothing twice and nothing missing",
    () =>
      Effect.gen(function*() {
        const filename = yield* temporaryFile
        const child = yield* Child.start(filename)
        assert.strictEqual(yield* child.heard, "ready")
        const driver = yield* SqliteStore.make({ filename, pollInterval: "10 millis" })
        yield* Things.create(driver, "a")
        for (const command of ["open", "watch"]) yield* child.tell(command)
        for (const line of ["opened", "Added a", "InitialDone"]) assert.strictEqual(yield* child.heard, line)
        const events = yield* Things.follow(driver)
        for (const event of ["Added a", "InitialDone"]) assert.strictEqual(yield* events, event)

        yield* Things.create(driver, "b")
        assert.strictEqual(yield* child.heard, "Added b")
        yield* child.tell("create c")
        const said = [yield* child.heard, yield* child.heard]
        assert.deepStrictEqual(said.toSorted(), ["Added c", "created c"])
        yield* Things.remove(driver, "c")
        assert.strictEqual(yield* child.heard, "Deleted c")
        for (const event of ["Added b", "Added c", "Deleted c"]) assert.strictEqual(yield* events, event)
      }),
    deadlineMillis
  )

  it.live(
    "[S1] two that write without a pause both get on, and no revision is made twice or left out",
    () =>
      Effect.gen(function*() {
        const filename = yield* temporaryFile
        const child = yield* Child.start(filename)
        const driver = yield* SqliteStore.make({ filename, lockTimeout: "30 seconds" })
        for (const command of ["open", "count"]) yield* child.tell(command)
        for (const line of ["ready", "opened"]) assert.strictEqual(yield* child.heard, line)
        yield* child.heard // it counts
        const mine = yield* Effect.forEach(
          Array.from({ length: 20 }, (_, i) => `mine-${i}`),
          (name) => Things.create(driver, name)
        )
        const said = yield* child.kill
        assert.isAbove(said.length, 0)
        const revisions = mine.map(({ metadata }) => Number(metadata.resourceVersion))
        assert.deepStrictEqual(revisions, revisions.toSorted((a, b) => a - b))
        const { changes, latest } = yield* Effect.acquireUseRelease(
          Effect.sync(() => new DatabaseSync(filename, { readOnly: true })),
          (db) =>
            Effect.sync(() =>
              db.prepare("SELECT count(*) AS changes, max(revision) AS latest FROM versions").get() ?? {}
            ),
          (db) => Effect.sync(() => db.close())
        )
        assert.strictEqual(changes, latest)
      }),
    deadlineMillis
  )

  it.effect("[S3] what another has written reaches a watch within pollInterval, and not by itself before", () =>
    Effect.gen(function*() {
      const [mine, others] = yield* twoStores({ pollInterval: "3 seconds" })
      const events = yield* Things.follow(mine)
      assert.strictEqual(yield* events, "InitialDone")
      const next = yield* Effect.forkChild(events, { startImmediately: true })
      yield* Things.create(others, "a")
      yield* TestClock.adjust("2 seconds")
      assert.isUndefined(next.pollUnsafe())
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual(yield* Fiber.join(next), "Added a")
    }))

  it.effect("[S1] [S3] a write first hands on what others wrote before it", () =>
    Effect.gen(function*() {
      const [mine, others] = yield* twoStores()
      const events = yield* Things.follow(mine)
      assert.strictEqual(yield* events, "InitialDone")
      yield* Things.create(others, "a")
      yield* Things.create(mine, "b")
      assert.deepStrictEqual([yield* events, yield* events], ["Added a", "Added b"])
      assert.strictEqual((yield* Things.get(mine, "b")).metadata.resourceVersion, "2")
    }))

  it.effect("[S1] a read sees at once what another has written, and a revision that it has replaced is Conflict", () =>
    Effect.gen(function*() {
      const [mine, others] = yield* twoStores()
      const a = yield* Things.create(mine, "a")
      yield* Things.resize(others, "a", 2)
      assert.strictEqual(Things.sizeOf(yield* Things.get(mine, "a")), 2)
      const { resourceVersion: revision, uid } = a.metadata
      const stale = mine.write(
        Things.at,
        { op: "update", object: { ...a, spec: { size: 3 } } },
        Things.options({ uid, revision })
      )
      assert.strictEqual((yield* Effect.flip(stale)).reason._tag, "Conflict")
    }))

  it.effect("a fence that one was told of holds for the other", () =>
    Effect.gen(function*() {
      const [mine, others] = yield* twoStores()
      yield* mine.fence("leader", 7)
      assert.strictEqual((yield* Effect.flip(others.fence("leader", 6))).reason._tag, "Fenced")
    }))

  it.effect("[S5] an import by one ends the watches of the other with Expired, and its old cursors", () =>
    Effect.gen(function*() {
      const [mine, others] = yield* twoStores()
      const events = yield* Things.follow(mine)
      assert.strictEqual(yield* events, "InitialDone")
      const { cursor } = yield* Things.list(mine)
      const next = yield* Effect.forkChild(Effect.flip(events), { startImmediately: true })
      yield* others.import(Stream.empty)
      yield* TestClock.adjust("1 seconds")
      const resumed = yield* Things.follow(mine, cursor)
      for (const error of [yield* Fiber.join(next), yield* Effect.flip(resumed)]) {
        assert.isTrue(error._tag === "StoreError" && error.reason._tag === "Expired" && error.reason.otherTimeline)
      }
    }))

  it.effect("[S5] a watch that missed more than the history retains ends with Expired", () =>
    Effect.gen(function*() {
      const [mine, others] = yield* twoStores({ history: 10 })
      const events = yield* Things.follow(mine)
      assert.strictEqual(yield* events, "InitialDone")
      for (let i = 0; i < 30; i++) yield* Things.create(others, `a-${i}`)
      yield* TestClock.adjust("1 seconds")
      assert.include(String(yield* Effect.flip(events)), "more than the history retains")
    }))
})

/** Two stores over one file: to SQLite they are as two processes. */
const twoStores = (options: Partial<SqliteStore.Options> = {}) =>
  Effect.flatMap(
    temporaryFile,
    (filename) => Effect.all([SqliteStore.make({ filename, ...options }), SqliteStore.make({ filename, ...options })])
  )
