/** Timelines: export, import, reopening (S5; F35-F41). */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Raw } from "setpoint/Resource"
import type { Store } from "setpoint/Store"
import * as StoreDriver from "setpoint/StoreDriver"
import * as kit from "./contractKit.ts"
import type { MakeLayer, Test } from "./contractTypes.ts"

export const tests = (
  test: Test,
  makeLayer: MakeLayer,
  place: Effect.Effect<MakeLayer, unknown, Scope.Scope> | undefined
): void => {
  const inAnother = <A, E>(body: Effect.Effect<A, E, Store | StoreDriver.StoreDriver | Scope.Scope>) =>
    Effect.scoped(Effect.provide(body, Layer.fresh(makeLayer({}))))
  imports(test, inAnother)
  if (place !== undefined) reopening(test, place)
}

type InAnother = <A, E>(
  body: Effect.Effect<A, E, Store | StoreDriver.StoreDriver | Scope.Scope>
) => Effect.Effect<A, unknown>

const exportAll = Effect.flatMap(StoreDriver.StoreDriver, (driver) => Stream.runCollect(driver.export))

const importAll = (objects: ReadonlyArray<Raw>) =>
  Effect.flatMap(StoreDriver.StoreDriver, (driver) => driver.import(Stream.fromIterable(objects)))

/** A store with a few objects, of which it gives the export. */
const source = Effect.gen(function*() {
  const c = yield* kit.create("c", { labels: { tier: "web" } })
  yield* kit.create("a", { finalizers: ["example.dev/hold"] })
  yield* kit.create("b")
  const { object } = yield* kit.update(c, { spec: { host: "x", replicas: 2 } })
  yield* kit.updateStatus(object, { ready: 2 })
  yield* kit.remove(kit.keyOf("a"))
  return yield* exportAll
})

/** What an import keeps. */
const withoutRevision = (object: Raw): Raw => {
  const { resourceVersion: _, ...metadata } = object.metadata
  return { ...object, metadata: metadata as Raw["metadata"] } // compared only
}

const byRevision = (objects: ReadonlyArray<Raw>) =>
  kit.names(objects.toSorted((x, y) => kit.revisionOf(x) - kit.revisionOf(y)))

const imports = (test: Test, inAnother: InAnother): void => {
  test(
    "[S5] [F35] an export goes into an empty store and back: all but the revisions is as it was, in the old order",
    Effect.gen(function*() {
      const exported = yield* inAnother(source)
      yield* importAll(exported)
      const { items } = yield* kit.list()
      const sorted = exported.toSorted((x, y) => x.metadata.name < y.metadata.name ? -1 : 1)
      assert.deepStrictEqual(items.map(withoutRevision), sorted.map(withoutRevision))
      assert.deepStrictEqual(byRevision(items), byRevision(exported))
      const back = yield* inAnother(
        Effect.andThen(importAll(yield* exportAll), Effect.map(kit.list(), (page) => page.items))
      )
      assert.deepStrictEqual(back.map(withoutRevision), sorted.map(withoutRevision))
    })
  )
  test(
    "[F35] an import into a store that has objects is Conflict, and changes nothing",
    Effect.gen(function*() {
      const exported = yield* inAnother(source)
      const own = yield* kit.create("own")
      yield* kit.failsWith("Conflict", importAll(exported))
      assert.deepStrictEqual((yield* kit.list()).items, [own])
    })
  )
  test(
    "[S5] [F38] every import begins a timeline of its own and goes on with higher revisions",
    Effect.gen(function*() {
      const exported = yield* inAnother(source)
      const old = Math.max(...exported.map(kit.revisionOf))
      const cursorAfterImport = Effect.andThen(importAll(exported), Effect.map(kit.list(), (page) => page.cursor))
      const one = yield* inAnother(cursorAfterImport)
      const two = yield* inAnother(cursorAfterImport)
      const mine = yield* cursorAfterImport
      assert.strictEqual(new Set([one, two, mine]).size, 3)
      for (const cursor of [one, two]) yield* kit.failsWith("Expired", drain(cursor))
      const { items } = yield* kit.list()
      for (const object of items) assert.isAbove(kit.revisionOf(object), old)
      const next = yield* kit.create("next")
      assert.isAbove(kit.revisionOf(next), Math.max(...items.map(kit.revisionOf)))
    })
  )
  test(
    "[F39] a revision of the old timeline is Conflict on update and on delete",
    Effect.gen(function*() {
      const exported = yield* inAnother(source)
      yield* importAll(exported)
      for (const object of exported) {
        const { resourceVersion: revision, uid } = object.metadata
        yield* kit.failsWith("Conflict", kit.update(object, { spec: { host: "y", replicas: 9 } }))
        yield* kit.failsWith("Conflict", kit.remove(kit.keyOf(object.metadata.name), { revision, uid }))
      }
    })
  )
  test(
    "[F41] [S5] after an import a first list and a first watch give each object once, and old watches end with Expired",
    Effect.gen(function*() {
      const exported = yield* inAnother(source)
      const before = yield* kit.follow()
      yield* kit.initial(before)
      yield* importAll(exported)
      yield* kit.failsWith(
        "Expired",
        Effect.catchTag(kit.until(before, () => false), "Done", () => Effect.die("it ended"))
      )
      const { items } = yield* kit.list()
      assert.deepStrictEqual(kit.names(items), ["a", "b", "c"])
      const events = yield* kit.follow()
      assert.deepStrictEqual(kit.texts(yield* kit.initial(events)), ["Added a", "Added b", "Added c", "InitialDone"])
      const d = yield* kit.create("d")
      assert.deepStrictEqual(kit.texts(yield* kit.through(events, d.metadata.resourceVersion)), ["Added d"])
    })
  )
  test(
    "[F35] what is no export is Invalid, and nothing of it is imported",
    Effect.gen(function*() {
      const exported = yield* inAnother(source)
      const [first] = exported
      if (first === undefined) return assert.fail("nothing was exported")
      const bad: ReadonlyArray<unknown> = [
        null,
        "text",
        {},
        { ...first, metadata: { name: "x" } },
        { ...first, metadata: { ...first.metadata, name: "Not A Name" } },
        { ...first, spec: { replicas: Number.NaN } },
        first
      ]
      for (const object of bad) yield* kit.failsWith("Invalid", importAll([...exported, object as Raw]))
      assert.deepStrictEqual((yield* kit.list()).items, [])
    })
  )
}

const drain = (from: string) =>
  Effect.flatMap(StoreDriver.StoreDriver, (driver) => Stream.runDrain(driver.watch(kit.at, { from })))

const reopening = (test: Test, place: Effect.Effect<MakeLayer, unknown, Scope.Scope>): void => {
  test(
    "[F36] the first opening makes a timeline, and a later one keeps it: objects, revisions, cursors, outcomes, fences",
    Effect.gen(function*() {
      const open = yield* place
      const inside = <A, E>(body: Effect.Effect<A, E, Store | StoreDriver.StoreDriver | Scope.Scope>) =>
        Effect.scoped(Effect.provide(body, Layer.fresh(open({}))))
      const before = yield* inside(Effect.gen(function*() {
        const driver = yield* StoreDriver.StoreDriver
        const { cursor } = yield* kit.list()
        yield* kit.create("a", {}, { writeId: "mine" })
        yield* driver.fence("leader", 7)
        return { cursor, page: yield* kit.list() }
      }))
      yield* inside(Effect.gen(function*() {
        const driver = yield* StoreDriver.StoreDriver
        assert.deepStrictEqual(yield* kit.list(), before.page)
        assert.strictEqual(yield* driver.outcome("mine"), "applied")
        yield* kit.failsWith("Fenced", driver.fence("leader", 6))
        const b = yield* kit.create("b")
        for (
          const [from, expected] of [[before.cursor, ["Added a", "Added b"]], [before.page.cursor, [
            "Added b"
          ]]] as const
        ) {
          const events = yield* kit.follow({ from })
          assert.deepStrictEqual(kit.texts(yield* kit.through(events, b.metadata.resourceVersion)), [...expected])
        }
      }))
    })
  )
}
