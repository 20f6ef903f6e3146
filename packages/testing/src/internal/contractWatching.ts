/** What watches deliver and lists show: order, seam, resume, filters, bookmarks, bounds (S3-S5, S7-S9). */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Raw } from "setpoint/Resource"
import * as StoreDriver from "setpoint/StoreDriver"
import * as kit from "./contractKit.ts"
import type { MakeLayer, Test } from "./contractTypes.ts"

export const tests = (test: Test, makeLayer: MakeLayer): void => {
  delivery(test)
  filters(test)
  bookmarks(test)
  resuming(test, makeLayer)
  bounds(test)
  lists(test)
}

const delivery = (test: Test): void => {
  test(
    "[S3] a watch from current gives what is there, one mark with its revision, then what changes",
    Effect.gen(function*() {
      yield* kit.create("b")
      const a = yield* kit.create("a")
      const events = yield* kit.follow()
      const first = yield* kit.initial(events)
      assert.deepStrictEqual(kit.texts(first), ["Added a", "Added b", "InitialDone"])
      assert.deepStrictEqual(first.map((event) => event._tag === "Added" && event.initial), [true, true, false])
      assert.strictEqual(first[2]?._tag === "InitialDone" ? first[2].revision : undefined, a.metadata.resourceVersion)
      const c = yield* kit.create("c")
      const live = yield* kit.through(events, c.metadata.resourceVersion)
      assert.deepStrictEqual(live.map((event) => event._tag === "Added" && !event.initial), [true])
    })
  )
  test(
    "[S3] an empty kind gives the mark alone",
    Effect.gen(function*() {
      assert.deepStrictEqual(kit.texts(yield* kit.initial(yield* kit.follow())), ["InitialDone"])
    })
  )
  test(
    "[S3] [F25] a watch yields Added, Modified and Deleted with the objects as they were stored",
    Effect.gen(function*() {
      const events = yield* kit.follow()
      yield* kit.initial(events)
      const a = yield* kit.create("a")
      const { object: a2 } = yield* kit.update(a, { spec: { host: "x", replicas: 2 } })
      yield* kit.remove(kit.keyOf("a"))
      const seen = yield* kit.until(events, (event) => event._tag === "Deleted")
      assert.deepStrictEqual(kit.texts(seen), ["Added a", "Modified a", "Deleted a"])
      const [added, modified, deleted] = seen
      assert.deepStrictEqual(added?._tag === "Added" ? added.object : undefined, a)
      assert.deepStrictEqual(modified?._tag === "Modified" ? modified.object : undefined, a2)
      assert.deepStrictEqual(deleted?._tag === "Deleted" ? deleted.last : undefined, a2)
    })
  )
  test(
    "[S3] events carry the id of the write that made them, where the store keeps it",
    Effect.gen(function*() {
      const driver = yield* StoreDriver.StoreDriver
      if (!driver.capabilities.writeIds) return
      const events = yield* kit.follow()
      yield* kit.initial(events)
      const a = yield* kit.create("a", {}, { writeId: "mine" })
      const [event] = yield* kit.through(events, a.metadata.resourceVersion)
      assert.strictEqual(event?._tag === "Added" ? event.writeId : undefined, "mine")
    })
  )
  test(
    "[S3] nothing is twice and nothing is missing at the seam, however late the first batches are read",
    Effect.gen(function*() {
      const driver = yield* StoreDriver.StoreDriver
      for (let i = 0; i < 600; i++) yield* kit.create(`s-${i}`)
      const scope = yield* Scope.Scope
      const pull = yield* Scope.provide(Stream.toPull(driver.watch(kit.at, { from: "current" })), scope)
      const seen = (yield* pull).flat() as Array<StoreDriver.WatchEvent>
      const first = yield* kit.get("s-0")
      yield* kit.update(first, { spec: { host: "x", replicas: 2 } })
      yield* kit.remove(kit.keyOf("s-1"))
      const last = yield* kit.create("t")
      while (seen.at(-1) === undefined || kit.eventText(seen.at(-1) ?? seen[0]) !== "Added t") {
        seen.push(...(yield* pull).flat())
      }
      const done = seen.findIndex((event) => event._tag === "InitialDone")
      assert.strictEqual(done, 600)
      assert.strictEqual(new Set(kit.texts(seen.slice(0, done))).size, 600)
      const live = seen.slice(done + 1).filter((event) => event._tag !== "Bookmark")
      assert.deepStrictEqual(kit.texts(live), ["Modified s-0", "Deleted s-1", "Added t"])
      assert.strictEqual(kit.eventRevision(live[2] ?? live[0]), last.metadata.resourceVersion)
    })
  )
  test(
    "[F25] an interrupted watch ends, and its writers go on",
    Effect.gen(function*() {
      const driver = yield* StoreDriver.StoreDriver
      const fiber = yield* Effect.forkChild(Stream.runDrain(driver.watch(kit.at, { from: "current" })), {
        startImmediately: true
      })
      yield* kit.create("a")
      yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
      yield* kit.create("b")
    })
  )
  test(
    "[S7] [F33] a Deleted event carries the revision of the delete and the last state",
    Effect.gen(function*() {
      const events = yield* kit.follow()
      const a = yield* kit.create("a")
      yield* kit.remove(kit.keyOf("a"))
      const b = yield* kit.create("b")
      const seen = yield* kit.through(events, b.metadata.resourceVersion)
      const deleted = seen.find((event) => event._tag === "Deleted")
      assert.deepStrictEqual(deleted?._tag === "Deleted" ? deleted.last : undefined, a)
      assert.strictEqual(deleted?._tag === "Deleted" ? deleted.revision : "", String(kit.revisionOf(a) + 1))
    })
  )
  test(
    "[S6] [S7] mark and removal are a Modified and a Deleted event",
    Effect.gen(function*() {
      const events = yield* kit.follow()
      yield* kit.initial(events)
      yield* kit.create("a", { finalizers: ["example.dev/hold"] })
      const { object } = yield* kit.remove(kit.keyOf("a"))
      const { object: last } = yield* kit.update(object, kit.withMetadata(object, { finalizers: [] }))
      const seen = yield* kit.until(events, (event) => event._tag === "Deleted")
      assert.deepStrictEqual(kit.texts(seen), ["Added a", "Modified a", "Deleted a"])
      const deleted = seen.at(-1)
      assert.deepStrictEqual(deleted?._tag === "Deleted" ? deleted.last : undefined, last)
      assert.isUndefined(last.metadata.finalizers)
    })
  )
}

const filters = (test: Test): void => {
  const web = { labels: { tier: "web" } }
  const api = { labels: { tier: "api" } }
  test(
    "[S3] a watch of one namespace sees that one alone",
    Effect.gen(function*() {
      yield* kit.create("a", { namespace: "east" })
      yield* kit.create("a", { namespace: "west" })
      const events = yield* kit.follow({ namespace: "east" })
      assert.deepStrictEqual(kit.texts(yield* kit.initial(events)), ["Added a", "InitialDone"])
      yield* kit.create("b", { namespace: "west" })
      const c = yield* kit.create("c", { namespace: "east" })
      assert.deepStrictEqual(kit.texts(yield* kit.through(events, c.metadata.resourceVersion)), ["Added c"])
    })
  )
  test(
    "[S3] an object that comes to match is Added, one that ceases to match is Deleted with its last matching state",
    Effect.gen(function*() {
      const a = yield* kit.create("a", api)
      const events = yield* kit.follow({ selector: "tier=web" })
      assert.deepStrictEqual(kit.texts(yield* kit.initial(events)), ["InitialDone"])
      const { object: came } = yield* kit.update(a, kit.withMetadata(a, web))
      const { object: stayed } = yield* kit.update(came, { spec: { host: "x", replicas: 2 } })
      const { object: left } = yield* kit.update(stayed, kit.withMetadata(stayed, api))
      yield* kit.update(left, { spec: { host: "y", replicas: 3 } })
      yield* kit.remove(kit.keyOf("a"))
      const b = yield* kit.create("b", web)
      const seen = yield* kit.through(events, b.metadata.resourceVersion)
      assert.deepStrictEqual(kit.texts(seen), ["Added a", "Modified a", "Deleted a", "Added b"])
      const deleted = seen[2]
      assert.deepStrictEqual(deleted?._tag === "Deleted" ? deleted.last : undefined, stayed)
      assert.strictEqual(deleted?._tag === "Deleted" ? deleted.revision : "", left.metadata.resourceVersion)
    })
  )
  test(
    "[S3] a resumed watch with a filter gives what the unbroken one would have given",
    Effect.gen(function*() {
      const { cursor } = yield* kit.list()
      const a = yield* kit.create("a", web)
      const { object: left } = yield* kit.update(a, kit.withMetadata(a, api))
      const { object: back } = yield* kit.update(left, kit.withMetadata(left, web))
      yield* kit.create("b", api)
      yield* kit.remove(kit.keyOf("a"))
      const c = yield* kit.create("c", web)
      const events = yield* kit.follow({ from: cursor, selector: "tier=web" })
      const seen = yield* kit.through(events, c.metadata.resourceVersion)
      assert.deepStrictEqual(kit.texts(seen), ["Added a", "Deleted a", "Added a", "Deleted a", "Added c"])
      const last = seen[3]
      assert.deepStrictEqual(last?._tag === "Deleted" ? last.last : undefined, back)
    })
  )
  test(
    "[S3] a metadata watch gives the envelope alone",
    Effect.gen(function*() {
      yield* kit.create("a", web)
      const events = yield* kit.follow({ metadataOnly: true })
      yield* kit.create("b")
      yield* kit.remove(kit.keyOf("b"))
      const seen = yield* kit.until(events, (event) => event._tag === "Deleted")
      for (const event of seen) {
        const object = "object" in event ? event.object : event._tag === "Deleted" ? event.last : undefined
        if (object !== undefined) {
          assert.deepStrictEqual(Object.keys(object).toSorted(), ["apiVersion", "kind", "metadata"])
        }
      }
    })
  )
  test(
    "[S3] watches of cluster kinds, and of kinds side by side, see their own kind alone",
    Effect.gen(function*() {
      const regions = yield* kit.follow({}, kit.Region.address)
      const websites = yield* kit.follow()
      yield* kit.initial(regions)
      yield* kit.initial(websites)
      yield* kit.create("a")
      const region = yield* createRegion("north")
      const b = yield* kit.create("b")
      assert.deepStrictEqual(kit.texts(yield* kit.through(regions, region.metadata.resourceVersion)), ["Added north"])
      assert.deepStrictEqual(kit.texts(yield* kit.through(websites, b.metadata.resourceVersion)), [
        "Added a",
        "Added b"
      ])
    })
  )
}

const createRegion = (name: string) => {
  const object = { apiVersion: "example.dev/v1", kind: "Region", metadata: { name }, data: {} } as unknown as Raw
  return Effect.map(
    kit.write({ op: "create", object }, { hasStatus: false }, kit.Region.address),
    ({ object }) => object
  )
}

const bookmarks = (test: Test): void => {
  test(
    "[S4] a bookmark comes once in so many changes of the store, is never ahead of what is not delivered, and resumes",
    Effect.gen(function*() {
      const events = yield* kit.follow({ selector: "tier=web" })
      yield* kit.initial(events)
      const mine: Array<number> = []
      for (let i = 0; i < 60; i++) {
        const object = yield* kit.create(`s-${i}`, { labels: { tier: i % 7 === 0 ? "web" : "api" } })
        if (i % 7 === 0) mine.push(kit.revisionOf(object))
      }
      const seen: Array<number> = []
      const bookmark = yield* Effect.gen(function*() {
        while (true) {
          const [event] = yield* kit.until(events, () => true)
          if (event?._tag === "Bookmark") return event
          if (event !== undefined) seen.push(Number(kit.eventRevision(event)))
        }
      })
      const reached = mine.filter((revision) => revision <= Number(bookmark.revision))
      assert.deepStrictEqual(seen.slice(0, reached.length), reached)
      const later = mine.filter((revision) => revision > Number(bookmark.revision))
      const resumed = yield* kit.follow({ from: bookmark.cursor, selector: "tier=web" })
      const end = yield* kit.create("end", { labels: { tier: "web" } })
      const rest = yield* kit.through(resumed, end.metadata.resourceVersion)
      assert.deepStrictEqual(rest.map((event) => Number(kit.eventRevision(event))), [...later, kit.revisionOf(end)])
    }),
    { bookmarkEvery: 10 }
  )
}

const resuming = (test: Test, makeLayer: MakeLayer): void => {
  test(
    "[S3] [F26] a watch resumes from the cursor of any event, of the mark and of a list, without a gap",
    Effect.gen(function*() {
      yield* kit.create("a")
      const events = yield* kit.follow()
      const marks = yield* kit.initial(events)
      const listed = (yield* kit.list()).cursor
      for (const name of ["b", "c", "d"]) yield* kit.create(name)
      const d = yield* kit.get("d")
      const live = yield* kit.through(events, d.metadata.resourceVersion)
      const after = (from: string) =>
        Effect.gen(function*() {
          const resumed = yield* kit.follow({ from })
          return kit.texts(yield* kit.through(resumed, d.metadata.resourceVersion))
        })
      assert.deepStrictEqual(yield* after(listed), ["Added b", "Added c", "Added d"])
      assert.deepStrictEqual(yield* after(marks.at(-1)?.cursor ?? ""), ["Added b", "Added c", "Added d"])
      assert.deepStrictEqual(yield* after(live[0]?.cursor ?? ""), ["Added c", "Added d"])
      assert.deepStrictEqual(yield* after(live[1]?.cursor ?? ""), ["Added d"])
    })
  )
  test(
    "[S5] the cursor of an empty store resumes",
    Effect.gen(function*() {
      const { cursor, revision } = yield* kit.list()
      assert.strictEqual(revision, "0")
      const events = yield* kit.follow({ from: cursor })
      const a = yield* kit.create("a")
      assert.deepStrictEqual(kit.texts(yield* kit.through(events, a.metadata.resourceVersion)), ["Added a"])
    })
  )
  test(
    "[S5] the cursor of a change of another kind resumes",
    Effect.gen(function*() {
      yield* createRegion("north")
      const { cursor } = yield* kit.list()
      const events = yield* kit.follow({ from: cursor })
      const a = yield* kit.create("a")
      assert.deepStrictEqual(kit.texts(yield* kit.through(events, a.metadata.resourceVersion)), ["Added a"])
    })
  )
  test(
    "[S5] [F27] a cursor older than the history is Expired, one within it and the current one resume",
    Effect.gen(function*() {
      const old = (yield* kit.list()).cursor
      for (let i = 0; i < 40; i++) yield* kit.create(`s-${i}`)
      const within = (yield* kit.list()).cursor
      for (let i = 40; i < 45; i++) yield* kit.create(`s-${i}`)
      const now = (yield* kit.list()).cursor
      yield* kit.failsWith("Expired", drain(old))
      const last = yield* kit.create("last")
      for (const [from, count] of [[within, 6], [now, 1]] as const) {
        const events = yield* kit.follow({ from })
        assert.strictEqual((yield* kit.through(events, last.metadata.resourceVersion)).length, count)
      }
    }),
    { history: 10 }
  )
  test(
    "[F26] [F40] what is no cursor is Invalid, whatever text it is",
    Effect.gen(function*() {
      yield* kit.create("a")
      for (
        const text of ["", "1", "x", "1:", ":1", "-1:x", "1e3:x", "0x1:x", "__proto__", "\u0000", "9".repeat(1_000)]
      ) {
        yield* kit.failsWith("Invalid", drain(text))
      }
    })
  )
  test(
    "[S5] [F40] a cursor of another store is Expired, whether its revision is behind, the same or ahead",
    Effect.gen(function*() {
      const foreign = yield* Effect.gen(function*() {
        const cursors = [(yield* kit.list()).cursor]
        for (const name of ["a", "b", "c"]) {
          yield* kit.create(name)
          cursors.push((yield* kit.list()).cursor)
        }
        return cursors
      }).pipe(Effect.provide(Layer.fresh(makeLayer({}))))
      yield* kit.create("a")
      yield* kit.create("b")
      for (const cursor of foreign) yield* kit.failsWith("Expired", drain(cursor))
    })
  )
}

const drain = (from: string) =>
  Effect.flatMap(StoreDriver.StoreDriver, (driver) => Stream.runDrain(driver.watch(kit.at, { from })))

const bounds = (test: Test): void => {
  test(
    "[S9] writers never wait: a watch past its buffer gives what is buffered, then Lagged, and its reader resumes",
    Effect.gen(function*() {
      const driver = yield* StoreDriver.StoreDriver
      const scope = yield* Scope.Scope
      const pull = yield* Scope.provide(Stream.toPull(driver.watch(kit.at, { from: "current", bufferSize: 5 })), scope)
      const events = (yield* pull).flat() as Array<StoreDriver.WatchEvent>
      for (let i = 0; i < 20; i++) yield* kit.create(`s-${i}`)
      const more = Effect.map(pull, (batches) => events.push(...batches.flat()))
      const end = yield* Effect.flip(Effect.forever(more, { disableYield: true }))
      assert.strictEqual("reason" in end ? end.reason._tag : end._tag, "Lagged")
      const seen = events.filter((event) => event._tag === "Added")
      assert.isAtLeast(seen.length, 5)
      assert.isBelow(seen.length, 20)
      const resumed = yield* kit.follow({ from: seen.at(-1)?.cursor ?? "" })
      const last = yield* kit.get("s-19")
      const rest = yield* kit.through(resumed, last.metadata.resourceVersion)
      assert.strictEqual(seen.length + rest.length, 20)
    })
  )
  test(
    "[S9] stores never coalesce: every change of one object is an event of its own",
    Effect.gen(function*() {
      const events = yield* kit.follow()
      let object = yield* kit.create("a")
      for (let replicas = 2; replicas < 50; replicas++) {
        object = (yield* kit.update(object, { spec: { host: "x", replicas } })).object
      }
      const seen = yield* kit.through(events, object.metadata.resourceVersion)
      assert.strictEqual(seen.filter((event) => event._tag === "Modified").length, 48)
    })
  )
  test(
    "[S9] one slow watch holds neither a writer nor another watch up",
    Effect.gen(function*() {
      const driver = yield* StoreDriver.StoreDriver
      const scope = yield* Scope.Scope
      const slow = yield* Scope.provide(Stream.toPull(driver.watch(kit.at, { from: "current", bufferSize: 2 })), scope)
      yield* slow
      const quick = yield* kit.follow()
      for (let i = 0; i < 20; i++) yield* kit.create(`s-${i}`)
      const last = yield* kit.create("last")
      const seen = yield* kit.through(quick, last.metadata.resourceVersion)
      assert.strictEqual(seen.filter((event) => event._tag === "Added").length, 21)
    })
  )
  test(
    "[S3] what one reader writes in answer to a change does not overtake that change on its way to another",
    Effect.gen(function*() {
      const driver = yield* StoreDriver.StoreDriver
      const answering = driver.watch(kit.at, { from: "current" }).pipe(
        Stream.flattenIterable,
        Stream.takeUntil((event) => kit.eventText(event) === "Added a"),
        Stream.runDrain,
        Effect.andThen(kit.create("b"))
      )
      const fiber = yield* Effect.forkChild(answering, { startImmediately: true })
      const other = yield* kit.follow()
      yield* kit.create("a")
      const b = yield* Fiber.join(fiber)
      const seen = kit.texts(yield* kit.through(other, b.metadata.resourceVersion))
      assert.deepStrictEqual(seen, ["InitialDone", "Added a", "Added b"])
    })
  )
}

const lists = (test: Test): void => {
  const sites = ["east/b", "east/a", "east-1/a", "west/a", "a/z"]
  const createAll = Effect.forEach(sites, (text) => {
    const [namespace = "", name = ""] = text.split("/")
    return kit.create(name, { namespace, labels: { tier: name === "a" ? "web" : "api" } })
  })
  const keys = (objects: ReadonlyArray<Raw>) =>
    objects.map(({ metadata: { name, namespace } }) => `${namespace}/${name}`)
  test(
    "[S8] a list is in the order of the bytes of namespace/name",
    Effect.gen(function*() {
      yield* createAll
      const { items } = yield* kit.list()
      assert.deepStrictEqual(keys(items), ["a/z", "east-1/a", "east/a", "east/b", "west/a"])
      yield* kit.create("aa", { namespace: "east" })
      yield* kit.remove(kit.keyOf("a", "east"))
      yield* kit.create("a-1", { namespace: "east" })
      yield* kit.create("a.1", { namespace: "east" })
      const page = yield* kit.list({ namespace: "east" })
      assert.deepStrictEqual(kit.names(page.items), ["a-1", "a.1", "aa", "b"])
    })
  )
  test(
    "[F24] a list filters by namespace, by name, by labels, by owner, and by all of them",
    Effect.gen(function*() {
      yield* createAll
      const owner = { apiVersion: "example.dev/v1", kind: "Website", name: "a", uid: "the-owner" }
      yield* kit.create("owned", { namespace: "east", ownerReferences: [owner], labels: { tier: "web" } })
      const of = (options: Omit<StoreDriver.ListOptions, "consistency">) =>
        Effect.map(kit.list(options), ({ items }) => keys(items))
      assert.deepStrictEqual(yield* of({ namespace: "east" }), ["east/a", "east/b", "east/owned"])
      assert.deepStrictEqual(yield* of({ name: "a" }), ["east-1/a", "east/a", "west/a"])
      assert.deepStrictEqual(yield* of({ selector: "tier=web" }), ["east-1/a", "east/a", "east/owned", "west/a"])
      assert.deepStrictEqual(yield* of({ selector: "tier!=web" }), ["a/z", "east/b"])
      assert.deepStrictEqual(yield* of({ ownerUid: "the-owner" }), ["east/owned"])
      assert.deepStrictEqual(yield* of({ namespace: "east", name: "a", selector: "tier=web" }), ["east/a"])
      assert.deepStrictEqual(yield* of({ namespace: "east", name: "a", selector: "tier=api" }), [])
      assert.deepStrictEqual(yield* of({ namespace: "nowhere" }), [])
      assert.deepStrictEqual(yield* of({ ownerUid: "nobody" }), [])
    })
  )
  test(
    "[S8] a list by owner follows its references as they come and go, in pages of one revision too",
    Effect.gen(function*() {
      const driver = yield* StoreDriver.StoreDriver
      const owner = (uid: string) => ({ apiVersion: "example.dev/v1", kind: "Website", name: "x", uid })
      const owned = (...uids: ReadonlyArray<string>) => ({ ownerReferences: uids.map(owner) })
      const of = (ownerUid: string) => Effect.map(kit.list({ ownerUid }), ({ items }) => kit.names(items))
      const a = yield* kit.create("a", owned("one"))
      yield* kit.create("b", owned("one", "two"))
      yield* kit.create("c", owned("one"))
      yield* kit.create("d")
      const first = yield* kit.list({ ownerUid: "one", limit: 1 })
      yield* kit.update(a, kit.withMetadata(a, owned("two")))
      yield* kit.patch(kit.keyOf("b"), "merge", { metadata: { ownerReferences: null } })
      yield* kit.remove(kit.keyOf("c"))
      yield* kit.create("c", owned("two"))
      assert.deepStrictEqual([yield* of("one"), yield* of("two")], [[], ["a", "c"]])
      if (!driver.capabilities.snapshotPages) return
      const second = yield* kit.list({ ownerUid: "one", limit: 5, page: first.next })
      assert.deepStrictEqual([kit.names(first.items), kit.names(second.items)], [["a"], ["b", "c"]])
    })
  )
  test(
    "[S8] all pages of a list show one revision, whatever is written between them",
    Effect.gen(function*() {
      const driver = yield* StoreDriver.StoreDriver
      if (!driver.capabilities.snapshotPages) return
      for (const name of ["a", "b", "c", "d", "e"]) yield* kit.create(name)
      const whole = yield* kit.list()
      const first = yield* kit.list({ limit: 2 })
      const b = yield* kit.get("b")
      yield* kit.update(b, { spec: { host: "x", replicas: 2 } })
      yield* kit.create("bb")
      yield* kit.remove(kit.keyOf("c"))
      const d = yield* kit.get("d")
      yield* kit.update(d, { spec: { host: "x", replicas: 2 } })
      yield* kit.remove(kit.keyOf("e"))
      yield* kit.create("e")
      const second = yield* kit.list({ limit: 2, page: first.next })
      yield* kit.create("cc")
      const third = yield* kit.list({ limit: 2, page: second.next })
      assert.deepStrictEqual([...first.items, ...second.items, ...third.items], whole.items)
      assert.isUndefined(third.next)
      for (const page of [first, second, third]) {
        assert.deepStrictEqual([page.revision, page.cursor], [whole.revision, whole.cursor])
      }
    })
  )
  test(
    "[S8] pages of a filtered list are full, and the last one says so",
    Effect.gen(function*() {
      for (let i = 0; i < 10; i++) yield* kit.create(`s-${i}`, { labels: { odd: i % 2 === 0 ? "no" : "yes" } })
      const first = yield* kit.list({ limit: 3, selector: "odd=yes" })
      const second = yield* kit.list({ limit: 3, selector: "odd=yes", page: first.next })
      assert.deepStrictEqual(kit.names(first.items), ["s-1", "s-3", "s-5"])
      assert.deepStrictEqual(kit.names(second.items), ["s-7", "s-9"])
      assert.isUndefined(second.next)
      assert.isUndefined((yield* kit.list({ limit: 5, selector: "odd=yes" })).next)
    })
  )
  test(
    "[S8] a page whose revision is no longer retained is Expired",
    Effect.gen(function*() {
      const driver = yield* StoreDriver.StoreDriver
      if (!driver.capabilities.snapshotPages) return
      for (const name of ["a", "b", "c"]) yield* kit.create(name)
      const { next } = yield* kit.list({ limit: 1 })
      for (let i = 0; i < 40; i++) yield* kit.create(`s-${i}`)
      yield* kit.failsWith("Expired", kit.list({ limit: 1, page: next }))
    }),
    { history: 10 }
  )
  test(
    "[S8] a watch from a list's cursor misses nothing and repeats nothing",
    Effect.gen(function*() {
      yield* kit.create("a")
      const { cursor } = yield* kit.list()
      const b = yield* kit.create("b")
      const events = yield* kit.follow({ from: cursor })
      assert.deepStrictEqual(kit.texts(yield* kit.through(events, b.metadata.resourceVersion)), ["Added b"])
    })
  )
  test(
    "a metadata list and a metadata get give the envelope alone",
    Effect.gen(function*() {
      const driver = yield* StoreDriver.StoreDriver
      const { apiVersion, kind, metadata } = yield* kit.create("a")
      const { items } = yield* kit.list({ metadataOnly: true })
      assert.deepStrictEqual(items, [{ apiVersion, kind, metadata }])
      const read = yield* driver.get(kit.at, kit.keyOf("a"), { consistency: "any", metadataOnly: true })
      assert.deepStrictEqual(read, { apiVersion, kind, metadata })
    })
  )
  test(
    "the kinds that have objects are known",
    Effect.gen(function*() {
      const driver = yield* StoreDriver.StoreDriver
      assert.deepStrictEqual(yield* driver.kinds, [])
      yield* kit.create("a")
      yield* createRegion("north")
      const kinds = yield* driver.kinds
      assert.deepStrictEqual(kinds.map(({ kind }) => kind).toSorted(), ["Region", "Website"])
      assert.deepStrictEqual(kinds.find(({ kind }) => kind === "Website"), kit.at)
    })
  )
}
