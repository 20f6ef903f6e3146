import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { Controller, MemoryStore, Outcome, Pass, Reconciler, Store } from "setpoint"
import type { Cause } from "setpoint/Pass"
import { Expired, Unavailable } from "setpoint/StoreError"
import {
  change,
  create,
  engine,
  Faults,
  Palette,
  register,
  script,
  Server,
  settle,
  site,
  Website,
  Zone
} from "./support/engine.ts"

const down = new Unavailable({ why: "a test" })

describe("E7: which events cause a pass", () => {
  it.effect("[E7] [F05] [F42] by default a status write does not wake its own writer, and the store's revision stays", () =>
    Effect.gen(function*() {
      const log = script()
      yield* register({
        reconcile: (request) =>
          Effect.andThen(
            log.reconcile(request),
            Effect.flatMap(Store.get(Website, request), (read) => Store.updateStatus(Website, read, { ready: 1 }))
          ).pipe(Effect.as(Outcome.requeueAfter("1 second")))
      })
      yield* create("blog")
      yield* settle
      const { metadata } = yield* Store.latest(Website, { name: "blog" })
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(log.passes.length, 11)
      assert.strictEqual(
        (yield* Store.latest(Website, { name: "blog" })).metadata.resourceVersion,
        metadata.resourceVersion
      )
    }).pipe(Effect.provide(engine())))

  for (
    const [what, patch] of [
      ["desired state", { spec: { host: "b.example" } }],
      ["labels", { metadata: { labels: { tier: "web" } } }],
      ["annotations", { metadata: { annotations: { note: "x" } } }],
      ["finalizers", { metadata: { finalizers: ["example.dev/f"] } }],
      ["owner references", {
        metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Zone", name: "z", uid: "u" }] }
      }]
    ] as const
  ) {
    it.effect(`[E7] by default a change of ${what} of its own objects causes a pass`, () =>
      Effect.gen(function*() {
        const log = script()
        yield* register(log)
        yield* create("blog")
        yield* Store.patchUnconditionally(Website, { name: "blog" }, { merge: patch })
        yield* settle
        assert.deepStrictEqual(log.causes, [["Event"], ["Event"]])
      }).pipe(Effect.provide(engine())))
  }

  it.effect("[E7] by default the mark of deletion causes a pass, and so do the removal and another life of the name", () =>
    Effect.gen(function*() {
      const types: Array<string> = []
      yield* register(causesTo(types))
      const made = yield* Store.create(Website, {
        metadata: { name: "blog", finalizers: ["x.dev/f"] },
        spec: { host: "a" }
      })
      yield* settle
      const marked = yield* Store.delete(Website, made)
      yield* settle
      if (marked.object !== undefined) {
        yield* Store.patch(Website, marked.object, { merge: { metadata: { finalizers: null } } })
      }
      yield* settle
      yield* create("blog")
      assert.deepStrictEqual(types, ["for Added", "for Modified", "for Deleted", "for Added"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E7] by default a status that somebody else writes waits for redelivery", () =>
    Effect.gen(function*() {
      const log = script()
      yield* register(log)
      const made = yield* create("blog")
      yield* Store.updateStatus(Website, made, { ready: 7 })
      yield* TestClock.adjust("8 hours")
      assert.deepStrictEqual(log.causes, [["Event"]])
      yield* TestClock.adjust("20 hours")
      assert.deepStrictEqual(log.causes[1], ["Redelivery"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E7] a predicate of the user's sees the change, typed, old and new, and replaces the default", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const log = script()
      yield* register(log, {
        predicate: ({ object, old, type }) => {
          seen.push(`${type} ${old?.status?.ready ?? "-"} ${object.status?.ready ?? "-"} ${object.spec.host}`)
          return old?.status?.ready !== object.status?.ready
        }
      })
      const made = yield* create("blog")
      yield* Store.updateStatus(Website, made, { ready: 7 })
      yield* change("blog", "b.example")
      assert.deepStrictEqual(seen, ["Added - - a.example", "Modified - 7 a.example", "Modified 7 7 b.example"])
      assert.deepStrictEqual(log.passes, ["blog@0"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E7] owned and watched kinds cause a pass at every revision, unless a predicate says otherwise", () =>
    Effect.gen(function*() {
      const log = script()
      const quiet = script()
      const watching = (predicate?: () => boolean) => ({
        owns: [Reconciler.own(Server, { predicate })],
        watches: [Reconciler.watch(Palette, () => [{ name: "blog" }], { predicate })]
      })
      yield* register(log, { name: "all", ...watching() })
      yield* register(quiet, { name: "quiet", ...watching(() => false) })
      const blog = yield* create("blog")
      const server = yield* createServer("s", blog)
      yield* Store.patch(Server, server, { merge: { metadata: { annotations: { note: "x" } } } })
      yield* settle
      const red = yield* createPalette("red")
      yield* Store.patch(Palette, red, { merge: { metadata: { annotations: { note: "x" } } } })
      yield* settle
      assert.strictEqual(log.passes.length, 5)
      assert.strictEqual(quiet.passes.length, 1)
    }).pipe(Effect.provide(engine())))

  it.effect("[E7] predicates judge neither first lists, timers, enqueues, redelivery, nor what a relist brings", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const causes: Array<string> = []
      yield* create("old")
      const registration = yield* register(causesTo(causes, Outcome.requeueAfter("1 hour")), {
        predicate: () => false,
        redelivery: "30 minutes"
      })
      yield* create("young")
      assert.deepStrictEqual(causes, ["Initial"])
      yield* registration.enqueue({ name: "old" })
      yield* settle
      yield* TestClock.adjust("40 minutes")
      yield* TestClock.adjust("70 minutes")
      for (const cause of ["Enqueue", "Redelivery", "RequeueAfter"]) assert.include(causes.join(), cause)
      causes.length = 0
      yield* missed(faults, Effect.asVoid(change("young", "b.example")))
      assert.include(causes, "Relist")
    }).pipe(Effect.provide(engine({ store: { history: 20 } }))))

  it.effect("[E7] nor do those of owned and watched kinds judge what a relist brings", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const log = script()
      const predicate = () => false
      yield* register(log, {
        owns: [Reconciler.own(Server, { predicate })],
        watches: [Reconciler.watch(Palette, () => [{ name: "shop" }], { predicate })]
      })
      const blog = yield* create("blog")
      yield* createServer("heard", blog)
      log.passes.length = 0
      yield* missed(
        faults,
        Effect.asVoid(Effect.andThen(createServer("missed", blog), createPalette("missed")))
      )
      assert.includeMembers(log.passes.map((pass) => pass.split("@")[0]), ["blog", "shop"])
    }).pipe(Effect.provide(engine({ store: { history: 20 } }))))

  it.effect("[E7] a predicate that throws lets the event pass, and harms nobody else", () =>
    Effect.gen(function*() {
      const log = script()
      yield* register(log, {
        predicate: () => {
          throw new Error("a predicate")
        }
      })
      yield* create("blog")
      yield* create("shop")
      assert.deepStrictEqual(log.passes, ["blog@0", "shop@0"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E7] the time of redelivery is a registration's own, and spread: never a burst", () =>
    Effect.gen(function*() {
      const slow = script()
      const fast = script()
      yield* register(slow, { name: "slow" })
      yield* register(fast, { name: "fast", redelivery: "10 minutes" })
      for (let i = 0; i < 10; i++) yield* create(`site-${i}`)
      fast.passes.length = 0
      yield* TestClock.adjust("45 minutes") // a period has begun before there was anything
      assert.strictEqual(slow.passes.length, 10)
      assert.isAtLeast(new Set(fast.passes.map((pass) => pass.split("@")[1])).size, 20)
      assert.strictEqual(new Set(fast.passes.map((pass) => pass.split("@")[0])).size, 10)
      assert.isAtMost(fast.passes.length, 50)
    }).pipe(Effect.provide(engine())))
})

describe("Owns and Watches", () => {
  it.effect("[C057] an owner is found by group and kind, and only if it is the controller, unless asked otherwise", () =>
    Effect.gen(function*() {
      const controllers = script()
      const all = script()
      yield* register(controllers, { name: "controllers", owns: [Server] })
      yield* register(all, { name: "all", owns: [Reconciler.own(Server, { controllerOnly: false })] })
      const reference = { name: "blog", uid: "u", kind: "Website", apiVersion: "example.dev/v1" }
      const cases = [
        { ...reference, controller: true },
        { ...reference, apiVersion: "example.dev/v2", controller: true }, // the version does not matter
        reference,
        { ...reference, apiVersion: "other.dev/v1", controller: true },
        { ...reference, kind: "Zone", controller: true }
      ]
      for (const [i, owner] of cases.entries()) {
        yield* Store.create(Server, { metadata: { name: `s${i}`, ownerReferences: [owner] }, spec: { port: 1 } })
        yield* settle
      }
      assert.strictEqual(controllers.passes.length, 2)
      assert.strictEqual(all.passes.length, 3)
    }).pipe(Effect.provide(engine())))

  it.effect("[C057] a cluster-scoped owner has no namespace", () =>
    Effect.gen(function*() {
      const requests: Array<string> = []
      const controller = yield* Controller.Controller
      yield* controller.register(Reconciler.make(Zone, {
        owns: [Server],
        reconcile: ({ name, namespace }) => Effect.sync(() => void requests.push(`${namespace}/${name}`))
      }))
      const owner = { apiVersion: "example.dev/v1", kind: "Zone", name: "eu", uid: "u", controller: true }
      yield* Store.create(Server, { metadata: { name: "s", ownerReferences: [owner] }, spec: { port: 1 } })
      yield* settle
      assert.deepStrictEqual(requests, ["/eu"])
    }).pipe(Effect.provide(engine())))

  it.effect("an object that changes hands runs its old and its new owner", () =>
    Effect.gen(function*() {
      const log = script()
      yield* register(log, { owns: [Server] })
      const blog = yield* create("blog")
      const shop = yield* create("shop")
      const server = yield* createServer("s", blog)
      log.passes.length = 0
      yield* Store.patch(Server, server, { merge: { metadata: { ownerReferences: [ownerOf(shop)] } } })
      yield* settle
      assert.deepStrictEqual(log.passes.toSorted(), ["blog@0", "shop@0"])
    }).pipe(Effect.provide(engine())))

  it.effect("[F13] a mapped watch on a kind without a reconciler enqueues requests of another kind", () =>
    Effect.gen(function*() {
      const log = script()
      yield* register(log, { watches: [Reconciler.watch(Palette, usersOf)] })
      yield* createPalette("red", "blog shop")
      assert.deepStrictEqual(log.passes.toSorted(), ["blog@0", "shop@0"])
    }).pipe(Effect.provide(engine())))

  it.effect("[C057] a mapping is asked for the new and for the old state, and duplicates collapse", () =>
    Effect.gen(function*() {
      const log = script()
      yield* register(log, { watches: [Reconciler.watch(Palette, usersOf)] })
      const red = yield* createPalette("red", "blog shop")
      log.passes.length = 0
      yield* Store.update(Palette, { ...red, spec: { color: "shop docs shop" } })
      yield* settle
      assert.deepStrictEqual(log.passes.toSorted(), ["blog@0", "docs@0", "shop@0"])
    }).pipe(Effect.provide(engine())))

  it.effect("a mapping may be an Effect that reads the store, with services of the reconciler's place", () =>
    Effect.gen(function*() {
      const log = script()
      const users = (palette: Palette) =>
        Effect.map(
          Store.list(Website),
          ({ items }) =>
            items.filter(({ spec }) => spec.palette === palette.metadata.name).map(({ metadata }) => metadata)
        )
      yield* register(log, { watches: [Reconciler.watch(Palette, users)] })
      yield* create("blog")
      yield* Store.create(Website, { metadata: { name: "shop" }, spec: { host: "s", palette: "red" } })
      yield* settle
      log.passes.length = 0
      const red = yield* createPalette("red")
      assert.deepStrictEqual(log.passes, ["shop@0"])
      yield* Store.update(Palette, { ...red, spec: { color: "dark" } })
      yield* settle
      assert.deepStrictEqual(log.passes, ["shop@0", "shop@0"])
    }).pipe(Effect.provide(engine())))

  it.effect("a mapping that fails is asked again, health says so, and no other object waits for it", () =>
    Effect.gen(function*() {
      let broken = true
      const log = script()
      const users = (palette: Palette) =>
        palette.metadata.name === "bad" && broken ? Effect.fail("a test") : Effect.succeed(usersOf(palette))
      const registration = yield* register(log, { watches: [Reconciler.watch(Palette, users)] })
      yield* createPalette("bad", "blog")
      yield* TestClock.adjust("5 minutes")
      yield* createPalette("good", "shop")
      assert.deepStrictEqual(log.passes, ["shop@300000"])
      yield* TestClock.adjust("1 minute")
      assert.include((yield* registration.status).troubles.join(), "mapping of Palette.example.dev fails")
      broken = false
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(log.passes.length, 2)
      assert.deepStrictEqual((yield* registration.status).troubles, [])
    }).pipe(Effect.provide(engine())))

  it.effect("a mapping that never answers is given up after 30 seconds, and others have their turn", () =>
    Effect.gen(function*() {
      const log = script()
      const users = (palette: Palette) =>
        palette.metadata.name === "stuck" ? Effect.never : Effect.succeed(usersOf(palette))
      yield* register(log, { watches: [Reconciler.watch(Palette, users)] })
      yield* createPalette("stuck")
      yield* createPalette("good", "shop")
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(log.passes, ["shop@30000"])
    }).pipe(Effect.provide(engine())))

  it.effect("what a registration does beside its passes belongs to no pass, though it was made inside of one", () =>
    Effect.gen(function*() {
      const controller = yield* Controller.Controller
      const scope = yield* Effect.scope
      const seen: Array<unknown> = []
      const note = Effect.map(Pass.Current, (pass) => void seen.push(pass))
      const inner = Reconciler.make(Palette, {
        watches: [Reconciler.watch(Server, () => Effect.as(note, []))],
        sources: [Reconciler.fromStream("once", Stream.drain(Stream.fromEffect(note)))],
        reconcile: () => Effect.void
      })
      const outer = Effect.andThen(controller.register(inner), controller.background("note", note))
      yield* register({ reconcile: () => Effect.asVoid(Scope.provide(outer, scope)) })
      const blog = yield* create("blog")
      yield* createServer("s", blog)
      assert.isAtLeast(seen.length, 3)
      assert.deepStrictEqual(new Set(seen), new Set([undefined]))
    }).pipe(Effect.provide(engine())))

  it.effect("a mapping that throws does not stop the watch", () =>
    Effect.gen(function*() {
      const log = script()
      const users = (palette: Palette) => {
        if (palette.metadata.name === "bad") throw new Error("a mapping")
        return usersOf(palette)
      }
      yield* register(log, { watches: [Reconciler.watch(Palette, users)] })
      yield* createPalette("bad", "blog")
      yield* createPalette("good", "shop")
      assert.deepStrictEqual(log.passes, ["shop@0"])
    }).pipe(Effect.provide(engine())))

  it.effect("[S12] a watched object that does not decode concerns nobody, until it decodes", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const log = script()
      const registration = yield* register(log, { watches: [Reconciler.watch(Palette, usersOf)] })
      const good = yield* createPalette("good", "shop")
      const bad = { ...good, metadata: { ...good.metadata, name: "bad" }, spec: { color: 7 } }
      yield* faults.target.write(Palette.address, { op: "create", object: bad }, { writeId: "w", hasStatus: false })
      yield* settle
      yield* Store.patchUnconditionally(Palette, { name: "bad" }, { merge: { spec: { color: "blog" } } })
      yield* settle
      assert.deepStrictEqual(log.passes, ["shop@0", "blog@0"])
      assert.deepStrictEqual((yield* registration.status).troubles, [])
    }).pipe(Effect.provide(engine())))

  it.effect("inputs are narrowed by namespace, selector and transform", () =>
    Effect.gen(function*() {
      const log = script()
      const palettes: Array<string> = []
      const note = (palette: Palette) => {
        palettes.push(`${palette.metadata.namespace} ${palette.metadata.name} ${palette.spec.color}`)
        return []
      }
      yield* register(log, {
        selector: "tier=web",
        watches: [Reconciler.watch(Palette, note, {
          namespace: "art",
          transform: { name: "dull", f: (object) => ({ ...object, spec: { color: "grey" } }) }
        })]
      })
      yield* create("plain")
      yield* Store.create(Website, { metadata: { name: "web", labels: { tier: "web" } }, spec: { host: "a" } })
      yield* Store.create(Palette, { metadata: { name: "a", namespace: "art" }, spec: { color: "red" } })
      yield* createPalette("b", "blue")
      assert.deepStrictEqual(log.passes, ["web@0"])
      assert.deepStrictEqual(palettes, ["art a grey"])
    }).pipe(Effect.provide(engine())))

  it.effect("an input may be of another store, which is given as a value", () =>
    Effect.gen(function*() {
      const other = Store.make(yield* MemoryStore.make(), { name: "other" })
      const log = script()
      yield* register(log, { watches: [Reconciler.watch(Palette, usersOf, { store: other })] })
      yield* createPalette("here", "blog")
      yield* other.create(Palette, { metadata: { name: "there" }, spec: { color: "shop" } })
      yield* settle
      assert.deepStrictEqual(log.passes, ["shop@0"])
    }).pipe(Effect.provide(engine())))
})

describe("E6: what a gap hides", () => {
  it.effect("[E6] [F14] a watch that was dropped in a burst resumes: every write and delete of the burst runs", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const log = script()
      yield* register(log)
      yield* create("doomed")
      log.passes.length = 0
      yield* gap(faults, burst(100))
      yield* create("after")
      assert.strictEqual(log.passes.length, 102)
      assert.strictEqual(faults.count("list Website"), 1)
      assert.deepStrictEqual(found(log.passes), expected(100))
    }).pipe(Effect.provide(engine())))

  it.effect("[E6] [F15] the same burst beyond the retained history runs by way of a relist", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const log = script()
      yield* register(log)
      yield* create("doomed")
      log.passes.length = 0
      yield* gap(faults, burst(1100))
      yield* create("after")
      assert.isAbove(faults.count("list Website"), 1)
      assert.deepStrictEqual(found(log.passes), expected(1100))
      assert.strictEqual(log.passes.length, 1102)
    }).pipe(Effect.provide(engine({ store: { history: 100 } }))))

  for (const [id, history] of [["F16", 10_000], ["F17", 50]] as const) {
    const how = id === "F16" ? "a resume" : "a relist"
    it.effect(`[E6] [${id}] 200 deletes across a dropped watch all arrive as NotFound, their mapped requests too, by ${how}`, () =>
      Effect.gen(function*() {
        const faults = yield* Faults
        const absent: Array<string> = []
        const reconcile = Effect.fnUntraced(function*({ name }: { readonly name: string }) {
          const read = yield* Effect.result(Store.get(Website, { name }))
          if (read._tag === "Failure") absent.push(name)
        })
        yield* register({ reconcile }, { watches: [Reconciler.watch(Palette, usersOf)] })
        for (let i = 0; i < 200; i++) yield* Store.create(Website, site(`site-${i}`))
        for (let i = 0; i < 20; i++) yield* createPalette(`p-${i}`, `mapped-${i}`)
        absent.length = 0
        yield* gap(
          faults,
          Effect.gen(function*() {
            for (let i = 0; i < 200; i++) yield* Store.deleteUnconditionally(Website, { name: `site-${i}` })
            for (let i = 0; i < 20; i++) yield* Store.deleteUnconditionally(Palette, { name: `p-${i}` })
          })
        )
        const names = new Set(absent)
        for (let i = 0; i < 200; i++) assert.isTrue(names.has(`site-${i}`))
        for (let i = 0; i < 20; i++) assert.isTrue(names.has(`mapped-${i}`))
        assert.strictEqual(faults.count("list Website") > 1, id === "F17")
      }).pipe(Effect.provide(engine({ store: { history } }))))
  }

  it.effect("[E6] whom an object concerned last is remembered, also where the cache was there before the registration", () =>
    Effect.gen(function*() {
      const log = script()
      let users: ReadonlyArray<{ readonly name: string }> = [{ name: "blog" }]
      yield* register(script(), { name: "first", watches: [Reconciler.watch(Palette, () => [])] })
      yield* createPalette("red")
      yield* register(log, { watches: [Reconciler.watch(Palette, () => users)] })
      users = [] // the mapping has changed its mind
      yield* Store.deleteUnconditionally(Palette, { name: "red" })
      yield* settle
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@0"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E6] a name that was deleted and created again in a gap runs, for its uid differs", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const log = script()
      yield* register(log)
      yield* create("blog")
      yield* create("calm")
      log.passes.length = 0
      yield* missed(
        faults,
        Effect.gen(function*() {
          yield* Store.deleteUnconditionally(Website, { name: "blog" })
          yield* Store.create(Website, site("blog"))
        })
      )
      assert.deepStrictEqual(found(log.passes), ["blog", "filler"])
      assert.deepStrictEqual(log.causes.at(-1), ["Relist"])
    }).pipe(Effect.provide(engine({ store: { history: 20 } }))))

  it.effect("[E6] after a new timeline every object and mapped request runs again, in the lowest lane", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const log = script()
      yield* register(log, { watches: [Reconciler.watch(Palette, usersOf)] })
      yield* create("blog")
      yield* createPalette("red", "mapped")
      log.passes.length = 0
      log.causes.length = 0
      yield* faults.drop(new Expired({ why: "a test", otherTimeline: true }))
      yield* settle
      assert.deepStrictEqual(found(log.passes), ["blog", "mapped"])
      assert.deepStrictEqual(log.causes, [["NewTimeline"], ["NewTimeline"]])
    }).pipe(Effect.provide(engine())))

  it.effect("[E6] [F18] a resume with a cursor of a store that was restored is refused: list anew, run everything again", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const log = script()
      yield* register(log)
      yield* create("blog")
      const restored = yield* copyOf(faults)
      log.passes.length = 0
      faults.calls.length = 0
      yield* gap(faults, Effect.sync(() => void (faults.target = restored)))
      assert.deepStrictEqual(found(log.passes), ["blog"])
      const calls = faults.calls.filter((call) => call.includes("Website")).join(", ")
      assert.match(calls, /(watch Website resume, )+list Website, watch Website resume$/)
    }).pipe(Effect.provide(engine())))

  it.effect("[E6] [F19] a new timeline is met while every worker is busy", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const gate = Latch.makeUnsafe(false)
      const log = script(gate.await)
      yield* register(log)
      for (const name of ["a", "b", "c", "d", "e"]) yield* create(name)
      assert.strictEqual(log.passes.length, 4)
      const restored = yield* copyOf(faults)
      yield* gap(faults, Effect.sync(() => void (faults.target = restored)))
      yield* gate.open
      yield* settle
      assert.strictEqual(log.passes.length, 9)
      assert.deepStrictEqual(found(log.passes), ["a", "b", "c", "d", "e"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E6] an object that only the backup has runs, and so does one that it has not", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const log = script()
      yield* register(log)
      yield* create("kept")
      const restored = yield* copyOf(faults)
      yield* create("lost")
      log.passes.length = 0
      yield* gap(faults, Effect.sync(() => void (faults.target = restored)))
      assert.deepStrictEqual(found(log.passes), ["kept", "lost"])
    }).pipe(Effect.provide(engine())))
})

describe("why a pass runs", () => {
  it.effect("[C126] [Q6] a pass reads its causes, its number and its registration; outside of one there is none", () =>
    Effect.gen(function*() {
      const seen: Array<Pass.Pass> = []
      const done = yield* Deferred.make<void>()
      assert.strictEqual(yield* Pass.Current, undefined)
      const reconcile = Effect.fnUntraced(function*() {
        const pass = yield* Pass.Current
        if (pass !== undefined) seen.push(pass)
        yield* Deferred.await(done)
      })
      const registration = yield* register({ reconcile }, {
        name: "sites",
        owns: [Server],
        watches: [Reconciler.watch(Palette, () => [{ name: "blog" }])]
      })
      const blog = yield* create("blog")
      yield* createServer("s", blog)
      yield* createPalette("red")
      yield* registration.enqueue({ name: "blog" }, "a webhook")
      yield* Deferred.succeed(done, undefined)
      yield* settle
      assert.deepStrictEqual(seen.map(({ number, registration }) => `${registration} ${number}`), [
        "sites 1",
        "sites 2"
      ])
      assert.deepStrictEqual(seen[1]?.causes.map(textOf), [
        "owns Added Server.example.dev default/s",
        "watches Added Palette.example.dev default/red",
        "Enqueue a webhook"
      ])
      assert.strictEqual(seen[0]?.request, seen[1]?.request) // interned
    }).pipe(Effect.provide(engine())))

  it.effect("[Q6] eight causes have names, more are counted", () =>
    Effect.gen(function*() {
      let pass: Pass.Pass | undefined = undefined
      const registration = yield* register({ reconcile: () => Effect.map(Pass.Current, (_) => void (pass = _)) })
      yield* registration.pause
      for (let i = 0; i < 12; i++) yield* registration.enqueue({ name: "blog" }, `reason ${i}`)
      yield* registration.resume
      yield* settle
      const last = pass as Pass.Pass | undefined
      assert.strictEqual(last?.causes.length, 8)
      assert.strictEqual(last?.otherCauses, 4)
    }).pipe(Effect.provide(engine())))
})

// ---------------------------------------------------------------------------------------------------------------------
// helpers
// ---------------------------------------------------------------------------------------------------------------------

const textOf = (cause: Cause): string =>
  cause._tag === "Event"
    ? [cause.via, cause.type, cause.object].filter((part) => part !== "").join(" ")
    : cause._tag === "Enqueue"
    ? `Enqueue ${cause.reason}`
    : cause._tag

/** A reconciler that notes each of its causes. */
const causesTo = (seen: Array<string>, outcome: Outcome.Outcome = Outcome.done) => ({
  reconcile: () =>
    Effect.map(Pass.Current, (pass) => {
      seen.push(...(pass?.causes ?? []).map(textOf))
      return outcome
    })
})

const ownerOf = (owner: Website) => ({
  apiVersion: owner.apiVersion,
  kind: owner.kind,
  name: owner.metadata.name,
  uid: owner.metadata.uid,
  controller: true
})

const createServer = (name: string, owner: Website) =>
  Effect.tap(
    Store.create(Server, { metadata: { name, ownerReferences: [ownerOf(owner)] }, spec: { port: 1 } }),
    () => settle
  )

const createPalette = (name: string, color = "red") =>
  Effect.tap(Store.create(Palette, { metadata: { name }, spec: { color } }), () => settle)

/** The color of a palette names the websites that use it. */
const usersOf = (palette: Palette) => palette.spec.color.split(" ").map((name) => ({ name }))

const found = (passes: ReadonlyArray<string>): ReadonlyArray<string> =>
  Array.from(new Set(passes.map((pass) => pass.slice(0, pass.indexOf("@"))))).toSorted()

const expected = (count: number): ReadonlyArray<string> =>
  ["after", "doomed", ...Array.from({ length: count }, (_, i) => `site-${i}`)].toSorted()

const burst = Effect.fnUntraced(function*(count: number) {
  for (let i = 0; i < count; i++) yield* Store.create(Website, site(`site-${i}`))
  yield* Store.deleteUnconditionally(Website, { name: "doomed" })
})

/** What happens while no watch is open is heard of by a resume, or by a relist where the history is too short. */
const gap = Effect.fnUntraced(function*<E, R>(faults: Faults["Service"], meanwhile: Effect.Effect<void, E, R>) {
  faults.refuse = (operation) => operation === "watch" ? down : undefined
  yield* faults.drop(down)
  yield* settle
  yield* meanwhile
  faults.refuse = () => undefined
  yield* TestClock.adjust("1 minute")
  yield* settle
})

/** As {@link gap}, and so much more happens that the history does not reach back. */
const missed = <E, R>(faults: Faults["Service"], meanwhile: Effect.Effect<void, E, R>) =>
  gap(
    faults,
    Effect.gen(function*() {
      yield* meanwhile
      yield* Store.create(Website, site("filler"))
      for (let i = 0; i < 30; i++) {
        yield* Store.patchUnconditionally(Website, { name: "filler" }, { merge: { spec: { host: `h${i}` } } })
      }
    })
  )

/** A backup of the store as it is, restored into another one. */
const copyOf = Effect.fnUntraced(function*(faults: Faults["Service"]) {
  const copy = yield* MemoryStore.make()
  yield* copy.import(faults.driver.export)
  return copy
})
