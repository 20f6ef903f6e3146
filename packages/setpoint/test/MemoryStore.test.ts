import { assert, describe, it } from "@effect/vitest"
import { StoreContract } from "@setpoint/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { MemoryStore, type Resource, Store, StoreDriver } from "setpoint"

/** A core outlives the Layers over it, as a file does. */
const place = Effect.sync((): StoreContract.MakeLayer => {
  const driver = MemoryStore.fromCore(MemoryStore.Core.make("birth"))
  return () =>
    Layer.succeedContext(
      Context.make(StoreDriver.StoreDriver, driver).pipe(Context.add(Store.Store, Store.make(driver)))
    )
})

StoreContract.suite("MemoryStore", (options) => MemoryStore.layerWith(options), { place })

describe("MemoryStore", () => {
  it.effect("[S4] an idle watch gets a bookmark every interval, however many have passed unread", () =>
    Effect.gen(function*() {
      const driver = yield* MemoryStore.make({ bookmarkInterval: "1 minute" })
      yield* driver.write(at, { op: "create", object: website("a") }, write)
      const { cursor } = yield* driver.list(at, { consistency: "any" })
      const watch = driver.watch(at, { from: "current" }).pipe(
        Stream.flatMap(Stream.fromIterable),
        Stream.takeUntil((event) => event._tag === "Bookmark"),
        Stream.runCollect
      )
      const fiber = yield* Effect.forkChild(watch, { startImmediately: true })
      yield* TestClock.adjust("59 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual((yield* Fiber.join(fiber)).at(-1), { _tag: "Bookmark", revision: "1", cursor })
    }))

  it.effect("[S4] unread bookmarks do not pile up, and never make a watch lag", () =>
    Effect.sync(() => {
      const core = MemoryStore.Core.make("birth")
      const watch = Result.getOrThrow(MemoryStore.Core.watch(core, at, { from: "current", bufferSize: 1 }))
      while (MemoryStore.Core.take(watch) !== undefined) {}
      for (let i = 0; i < 100; i++) MemoryStore.Core.bookmark(core)
      assert.strictEqual(watch.buffer.events.length, 1)
      createIn(core, "a")
      assert.isUndefined(watch.buffer.ended)
    }))

  it("[S4] a bookmark stands behind the events that were there before it, read or not", () => {
    const core = MemoryStore.Core.make("birth")
    const watch = Result.getOrThrow(MemoryStore.Core.watch(core, at, { from: "current" }))
    while (MemoryStore.Core.take(watch) !== undefined) {}
    createIn(core, "a")
    MemoryStore.Core.bookmark(core)
    createIn(core, "b")
    const taken = MemoryStore.Core.take(watch)
    assert.deepStrictEqual(
      Array.isArray(taken) && taken.map((event: StoreDriver.WatchEvent) => event._tag),
      ["Added", "Added"]
    )
    createIn(core, "c")
    MemoryStore.Core.bookmark(core)
    const more = MemoryStore.Core.take(watch)
    assert.deepStrictEqual(
      Array.isArray(more) && more.map((event: StoreDriver.WatchEvent) => event._tag),
      ["Added", "Bookmark"]
    )
  })

  it("[S9] a watch that was closed or has ended is fed no more, and nothing is kept of it", () => {
    const core = MemoryStore.Core.make("birth")
    const closed = Result.getOrThrow(MemoryStore.Core.watch(core, at, { from: "current" }))
    const lagging = Result.getOrThrow(MemoryStore.Core.watch(core, at, { from: "current", bufferSize: 2 }))
    MemoryStore.Core.close(closed)
    for (let i = 0; i < 10; i++) createIn(core, `s-${i}`)
    MemoryStore.Core.bookmark(core)
    assert.strictEqual(closed.buffer.events.length, 0)
    assert.strictEqual(lagging.buffer.events.length, 2)
    assert.strictEqual(watchesOf(core), 0)
  })

  it.effect("[F25] nothing is kept of a watch whose reader was interrupted, or took all it wanted", () =>
    Effect.gen(function*() {
      const core = MemoryStore.Core.make("birth")
      const driver = MemoryStore.fromCore(core)
      const waiting = yield* Effect.forkChild(Stream.runDrain(driver.watch(at, { from: "current" })), {
        startImmediately: true
      })
      assert.strictEqual(watchesOf(core), 1)
      yield* Fiber.interrupt(waiting)
      yield* Stream.runDrain(Stream.take(driver.watch(at, { from: "current" }), 1))
      assert.strictEqual(watchesOf(core), 0)
    }))

  it("[S5] a store without a history resumes from the latest change alone", () => {
    const core = MemoryStore.Core.make("birth", { ...MemoryStore.Core.defaults, history: 0 })
    createIn(core, "a")
    const first = Result.getOrThrow(MemoryStore.Core.list(core, at, {})).cursor
    assert.isTrue(Result.isSuccess(MemoryStore.Core.watch(core, at, { from: first })))
    createIn(core, "b")
    const expired = MemoryStore.Core.watch(core, at, { from: first })
    assert.strictEqual(Result.isFailure(expired) && expired.failure._tag, "Expired")
  })

  it("[S5] the history holds as many changes as it was asked to, and knows the write at its floor", () => {
    const core = MemoryStore.Core.make("birth", { ...MemoryStore.Core.defaults, history: 3 })
    const cursors = ["a", "b", "c", "d", "e", "f", "g"].map((name) => {
      createIn(core, name)
      return Result.getOrThrow(MemoryStore.Core.list(core, at, {})).cursor
    })
    const resumes = cursors.map((from) => Result.isSuccess(MemoryStore.Core.watch(core, at, { from })))
    assert.deepStrictEqual(resumes, [false, false, false, true, true, true, true])
    assert.strictEqual(MemoryStore.Core.outcome(core, "write-g"), "applied")
    assert.strictEqual(MemoryStore.Core.outcome(core, "write-a"), "forgotten")
  })

  it.effect("[S10] freeze: false leaves objects open, and still keeps none of the caller's", () =>
    Effect.gen(function*() {
      const driver = yield* MemoryStore.make({ freeze: false })
      const object = website("a")
      const { object: stored } = yield* driver.write(at, { op: "create", object }, write)
      assert.isFalse(Object.isFrozen(stored.metadata))
      assert.notStrictEqual(stored.spec, object.spec)
    }))

  it.effect("a revision shares with the one before all that did not change", () =>
    Effect.gen(function*() {
      const driver = yield* MemoryStore.make()
      const { object: first } = yield* driver.write(at, { op: "create", object: website("a") }, write)
      const object = { ...JSON.parse(JSON.stringify(first)), spec: { host: "y", paths: ["/"] } }
      const { object: next } = yield* driver.write(at, { op: "update", object }, write)
      assert.notStrictEqual(next, first)
      assert.strictEqual(next.metadata.labels, first.metadata.labels)
      assert.strictEqual(Object(next.spec).paths, Object(first.spec).paths)
    }))

  it.effect("a hundred watchers of one change get one and the same event", () =>
    Effect.gen(function*() {
      const core = MemoryStore.Core.make("birth")
      const watches = Array.from({ length: 100 }, () =>
        Result.getOrThrow(MemoryStore.Core.watch(core, at, { from: "current" })))
      createIn(core, "a")
      const events = new Set(watches.flatMap((watch) =>
        watch.buffer.events
      ))
      assert.strictEqual(events.size, 1)
    }))
})

// ---------------------------------------------------------------------------------------------------------------------

const at: StoreDriver.KindAddress = {
  group: "example.dev",
  version: "v1",
  kind: "Website",
  plural: "websites",
  scope: "Namespaced"
}

const watchesOf = (core: MemoryStore.Core.State): number =>
  [...core.kinds.values()].reduce((n, kind) => n + kind.watches.size, 0)

const write: StoreDriver.WriteOptions = { writeId: "write", hasStatus: true }

const website = (name: string): Resource.Raw => ({
  apiVersion: "example.dev/v1",
  kind: "Website",
  metadata: { name, namespace: "default", labels: { tier: "web" } } as unknown as Resource.Metadata, // the rest is the store's
  spec: { host: "x", paths: ["/"] }
})

const createIn = (core: MemoryStore.Core.State, name: string) =>
  Result.getOrThrow(MemoryStore.Core.write(
    core,
    at,
    { op: "create", object: website(name) },
    { writeId: `write-${name}`, hasStatus: true },
    { nowText: "2026-01-01T00:00:00Z", uid: () => `uid-${name}` }
  ))
