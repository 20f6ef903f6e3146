import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { Controller, Health, InstanceWatcher, MemoryStore, Outcome, Reconciler, Store } from "setpoint"
import { Conflict, Forbidden, NotFound, type StoreError } from "setpoint/StoreError"
import {
  change,
  create,
  engine,
  failure,
  Faults,
  Palette,
  register,
  script,
  settle,
  storeFailure,
  Website,
  Zone
} from "./support/engine.ts"

describe("D1: ask before you read", () => {
  it.effect("[D1] [K20] [K25] [K100] a request routes from the moment it is made, while its pass still runs", () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      const log = script(Effect.andThen(watchPalette("red"), Deferred.await(asked)), Effect.void)
      yield* register(log)
      yield* create("a")
      yield* palette("red")
      yield* Deferred.succeed(asked, undefined)
      yield* settle
      assert.deepStrictEqual(log.causes, [["Event"], ["Event"]])
    }).pipe(Effect.provide(engine())))

  it.effect("[D1] [K16] [K52] asking never waits: not for a sync, nor for a store that refuses", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      faults.refuse = (_, kind) => kind === "Palette" ? forbidden : undefined
      const log = script(Effect.ignore(watchPalette("red")))
      yield* register(log)
      yield* create("a")
      assert.deepStrictEqual(log.passes, ["a@0"])
      faults.refuse = () => undefined
      yield* palette("red")
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(log.passes.length, 2) // there when its cache had synced
      yield* repaint("red", "blue")
      assert.strictEqual(log.passes.length, 3)
    }).pipe(Effect.provide(engine())))

  it.effect("[D1] a kind that does not sync is a typed error for who asks in its cooldown, and then it recovers", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const heard: Array<string> = []
      const log = script(
        Effect.catch(watchPalette("red"), (error) => Effect.sync(() => void heard.push(error.message)))
      )
      faults.refuse = (_, kind) => kind === "Palette" ? forbidden : undefined
      const registration = yield* register(log)
      yield* create("a")
      heard.length = 0
      yield* registration.enqueue({ name: "a" })
      yield* settle
      assert.strictEqual(heard.length, 1)
      assert.match(heard[0] ?? "", /watch Palette.example.dev: its cache is not synced .*a test.*tried again in \d+ ms/)
      faults.refuse = () => undefined
      yield* TestClock.adjust("10 seconds")
      yield* registration.enqueue({ name: "a" })
      yield* settle
      assert.strictEqual(heard.length, 1)
      yield* palette("red")
      assert.deepStrictEqual(log.causes.at(-1), ["Event"])
    }).pipe(Effect.provide(engine())))

  it.effect("[D1] [D3] [K14] [K22] a list that hangs for 30 seconds is told to who asks next, and costs no worker", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const heard: Array<string> = []
      const log = script(
        Effect.catch(watchPalette("red"), (error) => Effect.sync(() => void heard.push(error.message)))
      )
      const registration = yield* register(log)
      yield* settle
      faults.hold("Palette")
      const ask = Effect.andThen(registration.enqueue({ name: "a" }), settle)
      yield* ask
      yield* TestClock.adjust("29 seconds")
      yield* ask
      assert.deepStrictEqual(heard, [])
      yield* TestClock.adjust("1 second")
      yield* ask
      assert.strictEqual(heard.length, 1)
      assert.strictEqual(log.passes.length, 3)
      yield* faults.letGo("Palette")
      yield* TestClock.adjust("10 seconds")
      yield* ask
      assert.strictEqual(heard.length, 1)
    }).pipe(Effect.provide(engine())))

  for (
    const [what, before, meanwhile] of [
      ["got and then changed", "red", "change"],
      ["got and then deleted", "red", "delete"],
      ["got and then made anew", "red", "anew"],
      ["not found and then created", undefined, "create"]
    ] as const
  ) {
    it.effect(`[D1] what a pass ${what} before the first sync wakes it, once`, () =>
      Effect.gen(function*() {
        const faults = yield* Faults
        if (before !== undefined) yield* palette("red")
        const log = script(Effect.andThen(watchPalette("red"), getPalette("red")))
        yield* register(log)
        faults.hold("Palette")
        yield* Controller.Controller.pipe(Effect.flatMap((_) => _.enqueue("websites", { name: "b" })))
        yield* settle
        if (meanwhile === "create") yield* palette("red")
        if (meanwhile === "change") yield* repaint("red", "blue")
        if (meanwhile === "delete" || meanwhile === "anew") yield* unpaint("red")
        if (meanwhile === "anew") yield* palette("red")
        yield* faults.letGo("Palette")
        yield* settle
        assert.deepStrictEqual(passesOf(log.passes, "b"), 2)
      }).pipe(Effect.provide(engine())))
  }

  it.effect("[D1] what did not change between a read and the first sync wakes nobody", () =>
    Effect.gen(function*() {
      yield* palette("red")
      const log = script(Effect.gen(function*() {
        yield* watchPalette("red")
        yield* getPalette("red")
        yield* watchPalette("none")
        yield* getPalette("none")
        yield* InstanceWatcher.watch({ kind: Palette, selector: "tone=warm" })
        yield* Store.list(Palette, { selector: "tone=warm" })
      }))
      yield* register(log)
      yield* create("a")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(log.passes, ["a@0"])
    }).pipe(Effect.provide(engine())))

  for (const meanwhile of ["comes", "goes", "changes"] as const) {
    it.effect(`[D1] a list before the first sync is compared as a set: one that ${meanwhile} wakes`, () =>
      Effect.gen(function*() {
        const faults = yield* Faults
        yield* palette("red", "#f00", { tone: "warm" })
        yield* palette("orange", "#f80", { tone: "warm" })
        yield* palette("blue", "#00f", { tone: "cold" })
        const log = script(Effect.gen(function*() {
          yield* InstanceWatcher.watch({ kind: Palette, selector: "tone=warm" })
          yield* Store.list(Palette, { selector: "tone=warm" })
        }))
        yield* register(log)
        faults.hold("Palette")
        yield* Controller.Controller.pipe(Effect.flatMap((_) => _.enqueue("websites", { name: "a" })))
        yield* settle
        if (meanwhile === "comes") yield* label("blue", { tone: "warm" })
        if (meanwhile === "goes") yield* label("orange", { tone: "cold" })
        if (meanwhile === "changes") yield* repaint("red", "#f01")
        yield* faults.letGo("Palette")
        yield* settle
        assert.strictEqual(log.passes.length, 2)
      }).pipe(Effect.provide(engine())))
  }

  it.effect("[D1] all of 1,200 instances that asked before the first sync are woken by it, though not all at once", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      faults.refuse = (_, kind) => kind === "Palette" ? forbidden : undefined
      const log = script(Effect.ignore(watchPalette("red")))
      yield* register(log)
      const names = Array.from({ length: 1200 }, (_, i) => `a${i}`)
      yield* Effect.forEach(names, (name) => create(name), { discard: true })
      yield* settle
      log.passes.length = 0
      faults.refuse = () => undefined
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(new Set(log.passes).size, names.length)
      assert.strictEqual(log.passes.length, names.length)
    }).pipe(Effect.provide(engine())))

  it.effect("[D1] a watch without a read wakes its instance for what is there when the cache has synced", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      yield* palette("red")
      const log = script(watchPalette("red"))
      yield* register(log)
      faults.hold("Palette")
      yield* create("a")
      assert.deepStrictEqual(log.causes, [["Event"]])
      yield* faults.letGo("Palette")
      yield* settle
      assert.deepStrictEqual(log.causes, [["Event"], ["Relist"]])
      yield* create("b") // synced by now: what is there is not news
      assert.strictEqual(passesOf(log.passes, "b"), 1)
    }).pipe(Effect.provide(engine())))

  it.effect("[D1] a pass that ends well after its first watch has synced is woken by it, once it has ended", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      yield* palette("red")
      const synced = yield* Deferred.make<void>()
      const log = script(Effect.andThen(watchPalette("red"), Deferred.await(synced)))
      yield* register(log)
      faults.hold("Palette")
      yield* create("a")
      yield* faults.letGo("Palette")
      yield* settle
      yield* Deferred.succeed(synced, undefined)
      yield* settle
      assert.deepStrictEqual(log.causes, [["Event"], ["Relist"]])
    }).pipe(Effect.provide(engine())))

  // Found by the simulation of the example blueprints: else it opens its watch and is woken by it at full speed.
  it.effect("[D1] [D2] a pass that fails after its first watch has synced is tried again after its delay, and not before", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      yield* palette("red")
      const synced = yield* Deferred.make<void>()
      const log = script(
        watchPalette("red").pipe(
          Effect.andThen(Deferred.await(synced)),
          Effect.andThen(Effect.fail("no"))
        )
      )
      yield* register(log, { retry: Schedule.spaced("10 seconds") })
      faults.hold("Palette")
      yield* create("a")
      yield* faults.letGo("Palette")
      yield* settle
      yield* Deferred.succeed(synced, undefined)
      yield* settle
      assert.deepStrictEqual(log.causes, [["Event"]])
      yield* TestClock.adjust("15 seconds")
      assert.deepStrictEqual(log.causes, [["Event"], ["Retry"]])
    }).pipe(Effect.provide(engine())))

  it.effect("[D1] what a pass wrote after it read is not what it read: a foreign change before the first sync wakes it", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const log = script(
        Effect.gen(function*() {
          yield* watchPalette("red")
          yield* getPalette("red")
          yield* Store.create(Palette, { metadata: { name: "red" }, spec: { color: "#f00" } })
        }),
        watchPalette("red")
      )
      yield* register(log)
      faults.hold("Palette")
      yield* create("a")
      yield* unpaint("red") // as it was when it was read
      yield* faults.letGo("Palette")
      yield* settle
      assert.strictEqual(log.passes.length, 2)
    }).pipe(Effect.provide(engine())))

  it.effect("[D1] [E10] the cache that wakes is the one that answers, not another that may lag behind it", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      yield* palette("red")
      yield* register({ reconcile: () => Effect.void }, {
        name: "others",
        watches: [Reconciler.watch(Palette, () => [])] // whole objects
      })
      const readsOf = (watches: ReadonlyArray<Reconciler.Watched>, asks: Effect.Effect<void, unknown>) =>
        Effect.gen(function*() {
          const log = script(Effect.andThen(asks, getPalette("red")))
          const registration = yield* register(log, { name: "these", watches })
          faults.calls.length = 0
          yield* registration.enqueue({ name: "a" })
          yield* settle
          return faults.count("get Palette")
        })
      const watches = [Reconciler.watch(Palette, () => [], { metadataOnly: true })]
      assert.strictEqual(yield* readsOf([], Effect.void), 0) // nothing of the kind wakes it: any cache will do
      assert.strictEqual(yield* readsOf(watches, Effect.void), 1)
      assert.strictEqual(yield* readsOf([], watchPalette("red")), 1)
      const whole = InstanceWatcher.watch({ kind: Palette, name: "red", metadataOnly: false })
      assert.strictEqual(yield* readsOf([], whole), 0)
      assert.strictEqual(yield* readsOf([], Effect.andThen(whole, watchPalette("red"))), 1)
    }).pipe(Effect.provide(engine())))
})

describe("D2: the watch set of a pass", () => {
  const hour = Schedule.spaced("1 hour")
  const conflict = Effect.fail(storeFailure("Website", new Conflict({ why: "a test" })))
  const commits: ReadonlyArray<readonly [string, Effect.Effect<Outcome.Outcome | void, unknown>]> = [
    ["nothing returned", Effect.void],
    ["done", Effect.succeed(Outcome.done)],
    ["requeue", Effect.succeed(Outcome.requeue)],
    ["requeueAfter", Effect.succeed(Outcome.requeueAfter("1 hour"))],
    ["Terminal", Effect.fail(Reconciler.terminal("a test"))]
  ]
  const rollsBack: ReadonlyArray<readonly [string, Effect.Effect<Outcome.Outcome | void, unknown>]> = [
    ["a failure", failure],
    ["a conflict", conflict],
    ["a defect", Effect.die("a test")],
    ["an interruption from inside", Effect.interrupt],
    ["a time-out", Effect.andThen(TestClock.adjust("1 minute"), Effect.never)],
    ["NotFound of another object", Effect.fail(storeFailure("Palette", new NotFound()))]
  ]
  /** A pass asks for `old` and commits; the next asks for `new` and ends so. Who is heard of then? */
  const heardAfter = (end: Effect.Effect<Outcome.Outcome | void, unknown>, options: { readonly maxRetries?: number }) =>
    Effect.gen(function*() {
      const log = script(
        watchPalette("old"),
        Effect.andThen(watchPalette("new"), end),
        Effect.void
      )
      const registration = yield* register(log, { retry: hour, deadline: "10 seconds", ...options })
      yield* registration.enqueue({ name: "shop" })
      yield* settle
      yield* registration.enqueue({ name: "shop" })
      yield* settle
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(log.passes.length, 2)
      const watches = yield* watchCount
      const heard: Array<string> = []
      for (const name of ["old", "new"]) {
        const before = yield* registration.probe({ name: "shop" })
        yield* registration.pause
        yield* palette(name)
        const after = yield* registration.probe({ name: "shop" })
        if (events(after) > events(before)) heard.push(name)
      }
      return { heard, watches }
    })
  const events = (status: Controller.KeyStatus | undefined): number =>
    status?.causes.filter((cause) => cause._tag === "Event").length ?? 0

  for (const [name, end] of commits) {
    it.effect(`[D2] [K27] [K37] [K38] a pass that ends with ${name} commits what it asked for`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* heardAfter(end, {}), { heard: ["new"], watches: 1 })
      }).pipe(Effect.provide(engine()), isolated))
  }

  it.effect("[D2] a pass that gives up commits what it asked for", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* heardAfter(failure, { maxRetries: 0 }), { heard: ["new"], watches: 1 })
    }).pipe(Effect.provide(engine()), isolated))

  for (const [name, end] of rollsBack) {
    it.effect(`[D2] [K48] [K50] a pass that ends with ${name} rolls back to what was committed before`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* heardAfter(end, {}), { heard: ["old"], watches: 1 })
      }).pipe(Effect.provide(engine()), isolated))
  }

  it.effect("[D2] [K29] NotFound of the requested object releases everything, and stops its caches", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const gone = Effect.fail(storeFailure("Website", new NotFound()))
      assert.deepStrictEqual(yield* heardAfter(gone, {}), { heard: [], watches: 0 })
      assert.strictEqual(faults.open, 1) // of websites
    }).pipe(Effect.provide(engine()), isolated))

  it.effect("[D2] a pass that is interrupted for a newer spec rolls back, and runs again", () =>
    Effect.gen(function*() {
      const log = script(
        watchPalette("old"),
        Effect.andThen(watchPalette("new"), Effect.never),
        watchPalette("old")
      )
      yield* register(log, { cancelOnNewerSpec: true })
      yield* create("a")
      yield* change("a", "b.example")
      yield* change("a", "c.example")
      assert.strictEqual(log.passes.length, 3)
      yield* palette("new")
      assert.strictEqual(log.passes.length, 3)
      yield* palette("old")
      assert.strictEqual(log.passes.length, 4)
    }).pipe(Effect.provide(engine())))

  it.effect("[D2] [K34] [K53] deregistration releases everything, also of a pass that still runs", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const scope = yield* Scope.make()
      const log = script(watchPalette("red"), Effect.andThen(watchPalette("blue"), Effect.never))
      const registration = yield* Scope.provide(register(log), scope)
      yield* create("a")
      yield* registration.enqueue({ name: "a" })
      yield* registration.enqueue({ name: "b" })
      yield* settle
      assert.strictEqual(faults.open, 2)
      yield* Scope.close(scope, Exit.void)
      yield* settle
      assert.strictEqual(faults.open, 0)
      assert.strictEqual(yield* watchCount, undefined)
      yield* palette("red")
      yield* palette("blue")
      assert.strictEqual(log.passes.length, 3)
    }).pipe(Effect.provide(engine()), isolated))

  it.effect("[D2] what is asked for or read after a pass has ended is not taken", () =>
    Effect.gen(function*() {
      const late = yield* Deferred.make<void>()
      const refused: Array<string> = []
      const after = Effect.gen(function*() {
        yield* Deferred.await(late)
        yield* getPalette("red")
        const error = yield* Effect.flip(watchPalette("red"))
        refused.push(error.message)
      })
      const log = script(Effect.asVoid(Effect.forkDetach(after)))
      yield* register(log, { track: true })
      yield* create("a")
      yield* Deferred.succeed(late, undefined)
      yield* settle
      assert.strictEqual(refused.length, 1)
      assert.match(refused[0] ?? "", /pass has ended/)
      yield* palette("red")
      assert.strictEqual(log.passes.length, 1)
      assert.strictEqual(yield* watchCount, 0)
    }).pipe(Effect.provide(engine()), isolated))

  it.effect("[D2] [K35] [K55] one instance that lets go leaves the watches of another", () =>
    Effect.gen(function*() {
      const log = script()
      const watching = new Set(["a", "b"])
      yield* register({
        reconcile: (request) =>
          Effect.andThen(watching.has(request.name) ? watchPalette("red") : Effect.void, log.reconcile(request))
      })
      yield* create("a")
      yield* create("b")
      watching.delete("a")
      yield* change("a", "b.example")
      log.passes.length = 0
      yield* palette("red")
      assert.deepStrictEqual(log.passes, ["b@0"])
    }).pipe(Effect.provide(engine())))
})

describe("D3: caches of dynamic watches", () => {
  it.effect("[D3] [K06] [K17] [K31] [K71] all instances share one cache, which stops with the last of them", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const gone = new Set<string>()
      const log = script()
      yield* register({
        reconcile: (request) =>
          Effect.andThen(gone.has(request.name) ? Effect.void : watchPalette("red"), log.reconcile(request))
      })
      for (const name of ["a", "b", "c"]) yield* create(name)
      assert.strictEqual(faults.count("watch Palette"), 1)
      log.passes.length = 0
      yield* palette("red")
      assert.deepStrictEqual(log.passes.toSorted(), ["a@0", "b@0", "c@0"])
      for (const name of ["a", "b"]) {
        gone.add(name)
        yield* change(name, "b.example")
        assert.strictEqual(faults.open, 2)
      }
      gone.add("c")
      yield* change("c", "b.example")
      assert.strictEqual(faults.open, 1) // the registered kind's own cache goes on
    }).pipe(Effect.provide(engine())))

  it.effect("[D3] a kind that is refused is tried once a cooldown of 5 seconds to 5 minutes, whoever asks", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      faults.refuse = (_, kind) => kind === "Palette" ? forbidden : undefined
      const log = script(Effect.ignore(watchPalette("red")))
      const registration = yield* register(log)
      yield* create("a")
      const attempts = () => faults.count("watch Palette") + faults.count("list Palette")
      const first = attempts()
      for (let i = 0; i < 100; i++) {
        yield* registration.enqueue({ name: `x${i % 10}` })
        yield* settle
      }
      assert.strictEqual(attempts(), first)
      yield* TestClock.adjust("1 hour")
      assert.isAtMost(attempts(), first * (2 + 7 + 15)) // 5, 10, 20 … 300 seconds, each spread a little
      assert.isAtLeast(attempts(), 12)
      const before = log.passes.length
      yield* create("other")
      assert.strictEqual(log.passes.length, before + 1)
    }).pipe(Effect.provide(engine())))

  it.effect("[D3] [K72] a registration that ends leaves the cache that instances of another still need", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const scope = yield* Scope.make()
      const log = script(InstanceWatcher.watch({ kind: Website, name: "a", metadataOnly: false }))
      yield* Scope.provide(register(script()), scope)
      const zones = Reconciler.make(Zone, { reconcile: log.reconcile })
      yield* Controller.Controller.pipe(Effect.flatMap((_) => _.register(zones)))
      yield* Store.create(Zone, { metadata: { name: "z" }, spec: { host: "z" } })
      yield* settle
      yield* create("a")
      const before = log.passes.length
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(faults.open, 2)
      yield* change("a", "b.example")
      assert.strictEqual(log.passes.length, before + 1)
    }).pipe(Effect.provide(engine())))

  it.effect("[D3] a watch that is dropped and asked for again before its cache has stopped is live", () =>
    Effect.gen(function*() {
      const log = script(watchPalette("red"), Effect.void, watchPalette("red"))
      const registration = yield* register(log)
      yield* create("a")
      yield* registration.enqueue({ name: "a" })
      yield* Effect.repeat(Effect.yieldNow, { times: 3 })
      yield* registration.enqueue({ name: "a" })
      yield* settle
      assert.strictEqual(log.passes.length, 3)
      yield* palette("red")
      assert.strictEqual(log.passes.length, 4)
    }).pipe(Effect.provide(engine())))

  it.effect("another store is given as a value: its objects are heard of, and those of the same name here are not", () =>
    Effect.gen(function*() {
      const driver = yield* MemoryStore.make({ name: "other" })
      const other = Store.make(driver, { name: "other" })
      const log = script(InstanceWatcher.watch({ kind: Palette, name: "red", store: other }))
      yield* register(log)
      yield* create("a")
      yield* palette("red")
      assert.strictEqual(log.passes.length, 1)
      yield* other.create(Palette, { metadata: { name: "red" }, spec: { color: "red" } })
      yield* settle
      assert.strictEqual(log.passes.length, 2)
    }).pipe(Effect.provide(engine())))
})

describe("requests that cannot be", () => {
  it.effect("a namespace on a cluster kind, an unnamed transform: refused by field, and nothing is registered", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const fields: Array<string> = []
      const ask = (request: InstanceWatcher.Request) =>
        Effect.catch(
          InstanceWatcher.watch(request),
          ({ reason }) =>
            Effect.sync(() => void fields.push(reason._tag === "InvalidRequest" ? reason.field : reason._tag))
        )
      const log = script(Effect.gen(function*() {
        yield* ask({ kind: Zone, name: "z", namespace: "a" })
        yield* ask({ kind: Zone, selector: "a=b", namespace: "a" })
        yield* ask({ kind: Palette, name: "red", transform: { name: "", f: (raw) => raw } })
        yield* ask({ kind: Palette, name: "red" })
      }))
      yield* register(log)
      yield* create("a")
      assert.deepStrictEqual(fields, ["namespace", "namespace", "transform.name"])
      assert.strictEqual(faults.open, 2)
      yield* palette("red")
      assert.strictEqual(log.passes.length, 2)
    }).pipe(Effect.provide(engine())))
})

describe("D6: tracked reads", () => {
  it.effect("[D6] the requested object is never in the set, nor as one of a list of its kind", () =>
    Effect.gen(function*() {
      const log = script(Effect.gen(function*() {
        const { items } = yield* Store.list(Website)
        for (const site of items) yield* Store.updateStatus(Website, site, { ready: items.length })
      }))
      yield* register(log, { track: true })
      yield* create("a")
      const alone = log.passes.length
      assert.isAtMost(alone, 2)
      yield* create("b")
      yield* TestClock.adjust("1 minute")
      assert.isAtLeast(passesOf(log.passes, "a"), alone + 1)
      assert.isAtMost(log.passes.length, 8)
      const before = log.passes.length
      yield* Store.updateStatus(Website, yield* Store.latest(Website, { name: "a" }), { ready: 7 })
      yield* settle
      assert.deepStrictEqual(log.passes.slice(before).filter((pass) => pass.startsWith("a")).length <= 1, true)
    }).pipe(Effect.provide(engine())))

  it.effect("[D6] a pass that reads the requested object alone watches nothing", () =>
    Effect.gen(function*() {
      const log = script(Effect.asVoid(Store.get(Website, { name: "a" })))
      yield* register(log, { track: true })
      yield* create("a")
      assert.strictEqual(log.passes.length, 1)
      assert.strictEqual(yield* watchCount, 0)
    }).pipe(Effect.provide(engine()), isolated))

  it.effect("[D6] a status that is written to the requested object wakes no pass of its own", () =>
    Effect.gen(function*() {
      const log = script(Effect.asVoid(Store.list(Website)))
      yield* register(log, { track: true })
      yield* create("a")
      const before = log.passes.length
      yield* Store.updateStatus(Website, yield* Store.latest(Website, { name: "a" }), { ready: 7 })
      yield* settle
      assert.strictEqual(log.passes.length, before)
    }).pipe(Effect.provide(engine())))

  it.effect("[D6] a read past the caches is tracked as any other", () =>
    Effect.gen(function*() {
      const log = script(Effect.ignore(Store.latest(Palette, { name: "red" })))
      yield* register(log, { track: true })
      yield* create("a")
      yield* palette("red")
      assert.strictEqual(log.passes.length, 2)
    }).pipe(Effect.provide(engine())))

  it.effect("[D6] without tracking a read asks for nothing", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const log = script(getPalette("red"))
      yield* register(log)
      yield* create("a")
      yield* palette("red")
      assert.strictEqual(log.passes.length, 1)
      assert.strictEqual(faults.open, 1)
    }).pipe(Effect.provide(engine())))
})

describe("health", () => {
  it.effect("[D1] a cache that instances asked for and that does not sync is told, and takes no readiness", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      faults.refuse = (_, kind) => kind === "Palette" ? forbidden : undefined
      const log = script(Effect.ignore(watchPalette("red")), Effect.void)
      yield* register(log)
      yield* create("a")
      assert.isTrue(yield* Health.isReady)
      const part = (yield* Health.report).parts.find(({ name }) => name === "watch Palette.example.dev")
      assert.match(JSON.stringify(part?.status), /"NotReady".*forbidden/)
      yield* change("a", "b.example")
      assert.deepStrictEqual((yield* Health.report).parts.map(({ name }) => name), ["registration websites"])
    }).pipe(Effect.provide(Layer.provideMerge(engine(), Health.layer))))
})

describe("memory", () => {
  it.effect("[D1] reads of a cache that never syncs are kept up to a bound, beyond which one that changes still wakes", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      let i = 0
      const log = script(Effect.suspend(() => Effect.andThen(watchPalette("red"), getPalette(`p${i++}`))))
      const registration = yield* register(log)
      faults.hold("Palette")
      for (let pass = 0; pass < 250; pass++) {
        yield* registration.enqueue({ name: "a" })
        yield* settle
      }
      yield* faults.letGo("Palette")
      yield* settle
      assert.strictEqual(log.passes.length, 251)
    }).pipe(Effect.provide(engine())))
})

describe("suspend and resume", () => {
  const suspend = (name: string, value: string | null) =>
    Effect.andThen(
      Store.patchUnconditionally(Website, { name }, {
        merge: { metadata: { annotations: { "setpoint.dev/paused": value } } }
      }),
      settle
    )
  const isPaused = (name: string) => Effect.map(Store.latest(Website, { name }), ({ status }) => status?.paused)

  it.effect("[K90] [K91] [K92] a suspended object keeps its watches, and what it missed runs once when it is resumed", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const log = script(watchPalette("red"))
      yield* register(log)
      yield* create("a")
      yield* suspend("a", "true")
      assert.isTrue(yield* isPaused("a"))
      yield* palette("red")
      yield* repaint("red", "#f01")
      yield* change("a", "b.example")
      assert.strictEqual(log.passes.length, 1)
      assert.strictEqual(faults.open, 2)
      yield* suspend("a", null)
      assert.strictEqual(log.passes.length, 2)
      assert.isFalse(yield* isPaused("a"))
      yield* repaint("red", "#f02")
      assert.strictEqual(log.passes.length, 3)
    }).pipe(Effect.provide(engine())))

  it.effect("an object is suspended by a field of its own, in both directions, whatever the predicate says", () =>
    Effect.gen(function*() {
      const log = script(watchPalette("red"))
      yield* register(log, { suspended: ({ spec }) => spec.host === "off", predicate: ({ type }) => type === "Added" })
      yield* create("a")
      yield* change("a", "off")
      assert.isTrue(yield* isPaused("a"))
      yield* palette("red")
      assert.strictEqual(log.passes.length, 1)
      yield* change("a", "on")
      assert.strictEqual(log.passes.length, 2)
      assert.isFalse(yield* isPaused("a"))
      yield* change("a", "b.example") // the predicate's again
      assert.strictEqual(log.passes.length, 2)
    }).pipe(Effect.provide(engine())))

  it.effect("deletion runs while an object is suspended, and then what it watched is released", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const log = script<InstanceWatcher.WatchError | StoreError, Store.Store>(
        watchPalette("red"),
        Effect.orDie(Effect.asVoid(
          Store.patchUnconditionally(Website, { name: "a" }, { merge: { metadata: { finalizers: null } } })
        )),
        Effect.asVoid(Effect.option(Store.get(Website, { name: "a" })))
      )
      yield* register(log)
      const finalizers = ["example.dev/test"]
      yield* Store.create(Website, { metadata: { name: "a", finalizers }, spec: { host: "a" } })
      yield* settle
      yield* suspend("a", "true")
      yield* Store.deleteUnconditionally(Website, { name: "a" })
      yield* settle
      assert.strictEqual((yield* Store.list(Website)).items.length, 0)
      assert.strictEqual(faults.open, 1)
    }).pipe(Effect.provide(engine())))

  it.effect("[K93] [K96] each pause before and after: who is paused, and whether it runs", () =>
    Effect.gen(function*() {
      const log = script()
      const registration = yield* register(log)
      yield* create("a")
      const rows: ReadonlyArray<readonly [from: string | null, to: string | null, pausedKeys: number, passes: number]> =
        [
          [null, "true", 1, 0],
          ["true", "true", 1, 0],
          ["true", null, 0, 1],
          [null, "TRUE", 1, 0],
          ["TRUE", "true", 1, 0],
          ["true", "false", 0, 1],
          ["false", "True", 1, 0],
          ["True", "", 0, 1],
          ["", "yes", 0, 1],
          ["yes", "true", 1, 0],
          ["true", "yes", 0, 1],
          ["yes", "yes", 0, 0],
          ["yes", null, 0, 1]
        ]
      for (const [from, to, pausedKeys, passes] of rows) {
        yield* suspend("a", from)
        log.passes.length = 0
        yield* suspend("a", to)
        const row = `${from} to ${to}`
        assert.strictEqual((yield* registration.status).pausedKeys, pausedKeys, row)
        assert.strictEqual(log.passes.length, passes, row)
      }
    }).pipe(Effect.provide(engine())))

  it.effect("[K88] [K89] what moves the generation runs a pass, a status or nothing does not", () =>
    Effect.gen(function*() {
      const log = script()
      yield* register(log)
      yield* create("a")
      yield* change("a", "b.example")
      assert.strictEqual(log.passes.length, 2)
      yield* change("a", "b.example")
      yield* Store.updateStatus(Website, yield* Store.latest(Website, { name: "a" }), { ready: 7 })
      yield* settle
      assert.strictEqual(log.passes.length, 2)
    }).pipe(Effect.provide(engine())))
})

describe("metrics", () => {
  it.effect("[K44] [K57] [K60] [K61] [K65] setpoint_dynamic_watches counts the requests of a registration's instances", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const both = Effect.andThen(watchPalette("red"), InstanceWatcher.watch({ kind: Palette, selector: "a=b" }))
      const log = script(both, both, watchPalette("red"), Effect.void)
      yield* Scope.provide(register(log), scope)
      assert.strictEqual(yield* watchCount, 0)
      yield* create("a")
      assert.strictEqual(yield* watchCount, 2)
      yield* create("b")
      assert.strictEqual(yield* watchCount, 4)
      yield* change("a", "b.example")
      assert.strictEqual(yield* watchCount, 3)
      yield* change("b", "b.example")
      assert.strictEqual(yield* watchCount, 1)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* watchCount, undefined)
    }).pipe(Effect.provide(engine()), isolated))
})

// ---------------------------------------------------------------------------------------------------------------------

const forbidden = new Forbidden({ why: "a test" })

const watchPalette = (name: string) => InstanceWatcher.watch({ kind: Palette, name })

const getPalette = (name: string) =>
  Effect.asVoid(Effect.catchReason(Store.get(Palette, { name }), "StoreError", "NotFound", () => Effect.void))

const palette = (name: string, color = "#f00", labels: { readonly [key: string]: string } = {}) =>
  Effect.andThen(Store.create(Palette, { metadata: { name, labels }, spec: { color } }), settle)

const repaint = (name: string, color: string) =>
  Effect.andThen(Store.patchUnconditionally(Palette, { name }, { merge: { spec: { color } } }), settle)

const label = (name: string, labels: { readonly [key: string]: string }) =>
  Effect.andThen(Store.patchUnconditionally(Palette, { name }, { merge: { metadata: { labels } } }), settle)

const unpaint = (name: string) => Effect.andThen(Store.deleteUnconditionally(Palette, { name }), settle)

const passesOf = (passes: ReadonlyArray<string>, name: string) =>
  passes.filter((pass) => pass.startsWith(`${name}@`)).length

const isolated = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => Effect.provideService(self, Metric.MetricRegistry, new Map()))

/** The gauge of the registration's requests, where it is shown. */
const watchCount = Effect.map(PrometheusMetrics.format(), (text) => {
  const found = /^setpoint_dynamic_watches\{controller="websites"\} (\d+)/m.exec(text)
  return found === null ? undefined : Number(found[1])
})
