import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import {
  Controller,
  DynamicController,
  InstanceWatcher,
  Kind,
  Outcome,
  Reconciler,
  Request,
  type Resource,
  Store,
  StoreError
} from "setpoint"
import { Forbidden, KindUnknown } from "setpoint/StoreError"
import {
  change,
  create,
  engine,
  failure,
  Faults,
  Palette,
  script,
  Server,
  settle,
  Website,
  Zone
} from "./support/engine.ts"

describe("register and deregister", () => {
  it.effect("[K69] [K99] a kind comes, is swapped and goes while the program runs, and leaves nothing behind", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const [one, two] = [script(), script()]
      yield* register(one)
      assert.deepStrictEqual(yield* names, ["websites"])
      yield* create("a")
      assert.deepStrictEqual(one.passes, ["a@0"])
      yield* register(two)
      yield* change("a", "b.example")
      assert.deepStrictEqual(one.passes, ["a@0"])
      assert.deepStrictEqual(two.passes, ["a@0", "a@0"])
      yield* DynamicController.deregister("websites")
      yield* change("a", "c.example")
      assert.strictEqual(two.passes.length, 2)
      assert.deepStrictEqual(yield* names, [])
      assert.strictEqual(faults.open, 0)
    }).pipe(Effect.provide(dynamic())))

  it.effect("[K73] [K94] registering runs all that exists, registering again runs it again; a delete runs too", () =>
    Effect.gen(function*() {
      for (const name of ["a", "b", "c"]) yield* create(name)
      const [one, two] = [script(), script()]
      yield* register(one)
      assert.deepStrictEqual(one.passes.toSorted(), ["a@0", "b@0", "c@0"])
      yield* register(two)
      assert.deepStrictEqual(two.passes.toSorted(), ["a@0", "b@0", "c@0"])
      yield* Store.deleteUnconditionally(Website, { name: "b" })
      yield* settle
      assert.strictEqual(two.passes.length, 4)
    }).pipe(Effect.provide(dynamic())))

  it.effect("[K86] deregistering what is not known is fine, and so is doing it twice, at once or one after the other", () =>
    Effect.gen(function*() {
      yield* DynamicController.deregister("nothing")
      yield* register(script())
      const twice = [DynamicController.deregister("websites"), DynamicController.deregister("websites")]
      yield* Effect.all(twice, { concurrency: "unbounded" })
      yield* DynamicController.deregister("websites")
      assert.deepStrictEqual(yield* names, [])
    }).pipe(Effect.provide(dynamic())))

  it.effect("[K74] there is no start that could be called twice: the Layer starts what it has, and what comes later", () =>
    Effect.gen(function*() {
      const log = script()
      yield* Effect.all([register(log), register(log)], { concurrency: "unbounded" })
      yield* create("a")
      assert.strictEqual(log.passes.length, 1)
    }).pipe(Effect.provide(dynamic())))

  it.effect("[K97] a registration whose cache does not sync in 30 seconds fails, says why, and leaves nothing behind", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      faults.refuse = (_, kind) => kind === "Website" ? forbidden : undefined
      const failing = yield* Effect.forkChild(Effect.flip(register(script())))
      yield* TestClock.adjust("29 seconds")
      assert.isUndefined(failing.pollUnsafe())
      yield* TestClock.adjust("1 second")
      const error = yield* Fiber.join(failing)
      assert.strictEqual(error._tag, "DynamicController/NotSynced")
      assert.match(
        error.message,
        /"websites" did not sync: the cache of Website.example.dev is not synced: .*forbidden/
      )
      assert.deepStrictEqual(yield* names, [])
      assert.strictEqual(faults.open, 0)
      faults.refuse = () => undefined
      const log = script()
      yield* register(log)
      yield* create("a")
      assert.strictEqual(log.passes.length, 1)
    }).pipe(Effect.provide(dynamic())))

  it.effect("[K98] [D2] an owned kind that is missing fails the registration as a whole, its own cache included", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      faults.refuse = (_, kind) => kind === "Server" ? new KindUnknown({ why: "a test" }) : undefined
      const options = { syncTimeout: "5 seconds" } as const
      const failing = yield* Effect.forkChild(Effect.flip(register(script(), { owns: [Server] }, options)))
      yield* TestClock.adjust("5 seconds")
      assert.match((yield* Fiber.join(failing)).message, /Server.example.dev/)
      assert.strictEqual(faults.open, 0)
    }).pipe(Effect.provide(dynamic())))

  it.effect("a swap that does not sync puts back what it swapped, which runs all that exists", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const [old, broken] = [script(), script()]
      yield* register(old)
      yield* create("a")
      faults.refuse = (_, kind) => kind === "Server" ? forbidden : undefined
      const failing = yield* Effect.forkChild(Effect.flip(register(broken, { owns: [Server] })))
      yield* settle
      yield* change("a", "b.example")
      yield* TestClock.adjust("30 seconds")
      yield* Fiber.join(failing)
      yield* settle
      assert.deepStrictEqual(broken.passes, [])
      assert.strictEqual(old.passes.length, 2)
      yield* change("a", "c.example")
      assert.strictEqual(old.passes.length, 3)
      yield* DynamicController.deregister("websites")
      assert.strictEqual(faults.open, 0)
    }).pipe(Effect.provide(dynamic())))

  it.effect("registering is rolled back where its caller is interrupted before the caches have synced", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      faults.hold("Website")
      const waiting = yield* Effect.forkChild(register(script()))
      yield* settle
      assert.deepStrictEqual(yield* names, ["websites"])
      yield* Fiber.interrupt(waiting)
      assert.deepStrictEqual(yield* names, [])
      yield* faults.letGo("Website")
      yield* settle
      assert.strictEqual(faults.open, 0)
    }).pipe(Effect.provide(dynamic())))

  it.effect("two at once under one name: the one that does not sync takes nothing from the one that does", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      faults.hold("Server")
      const [good, bad] = [script(), script()]
      const first = yield* Effect.forkChild(register(good), { startImmediately: true })
      const second = yield* Effect.forkChild(Effect.flip(register(bad, { owns: [Server] })), {
        startImmediately: true
      })
      yield* Fiber.join(first)
      yield* TestClock.adjust("30 seconds")
      yield* Fiber.join(second)
      assert.deepStrictEqual(yield* names, ["websites"])
      yield* create("a")
      assert.deepStrictEqual([good.passes.length, bad.passes.length], [1, 0])
      yield* DynamicController.deregister("websites")
      yield* change("a", "b.example")
      assert.strictEqual(good.passes.length, 1)
    }).pipe(Effect.provide(dynamic())))

  it.effect("of three swaps that wait, those that fail are taken out, and the last that was right is back", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const [good, ...bad] = [script(), script(), script()]
      yield* register(good)
      faults.hold("Server")
      const failing = []
      for (const [i, log] of bad.entries()) {
        const options = { syncTimeout: 10_000 + 1_000 * i }
        failing.push(
          yield* Effect.forkChild(Effect.flip(register(log, { owns: [Server] }, options)), {
            startImmediately: true
          })
        )
        yield* settle
      }
      yield* TestClock.adjust("10 seconds")
      yield* TestClock.adjust("1 second")
      for (const fiber of failing) yield* Fiber.join(fiber)
      yield* create("a")
      assert.deepStrictEqual([good, ...bad].map(({ passes }) => passes.length), [1, 0, 0])
    }).pipe(Effect.provide(dynamic())))

  it.effect("a registration that waits for its caches holds no other name, nor does one that drains", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      faults.hold("Website")
      const waiting = yield* Effect.forkChild(register(script()), { startImmediately: true })
      const zones = script(Effect.never, Effect.void)
      yield* registerFor(Zone, zones, {}, { drain: "1 minute" })
      yield* Store.create(Zone, { metadata: { name: "z" }, spec: { host: "z" } })
      yield* settle
      const draining = yield* Effect.forkChild(DynamicController.deregister("zones"), { startImmediately: true })
      const again = yield* Effect.forkChild(registerFor(Zone, zones), { startImmediately: true })
      const servers = script()
      yield* registerFor(Server, servers)
      yield* Store.create(Server, { metadata: { name: "s" }, spec: { port: 1 } })
      yield* settle
      assert.strictEqual(servers.passes.length, 1)
      assert.isUndefined(waiting.pollUnsafe())
      assert.isUndefined(draining.pollUnsafe())
      assert.isUndefined(again.pollUnsafe())
      yield* faults.letGo("Website")
      yield* Fiber.join(waiting)
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(draining)
      yield* Fiber.join(again)
      yield* settle
      assert.strictEqual(zones.passes.length, 2)
      assert.deepStrictEqual((yield* names).toSorted(), ["servers", "websites", "zones"])
    }).pipe(Effect.provide(dynamic())))

  it.effect("who waits to be registered and is deregistered meanwhile gets a typed error", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      faults.hold("Website")
      const waiting = yield* Effect.forkChild(Effect.flip(register(script())), { startImmediately: true })
      yield* settle
      yield* DynamicController.deregister("websites")
      const error = yield* Fiber.join(waiting)
      assert.strictEqual(error._tag, "RegistrationError")
      assert.match(error.message, /deregistered before its caches had synced/)
      assert.deepStrictEqual(yield* names, [])
    }).pipe(Effect.provide(dynamic())))

  it.effect("a pass may end its own registration", () =>
    Effect.gen(function*() {
      const ended = yield* Deferred.make<Exit.Exit<unknown, unknown>>()
      const log = script(
        Effect.onExit(DynamicController.deregister("websites"), (exit) => Deferred.succeed(ended, exit))
      )
      yield* register(log)
      yield* create("a")
      assert.isTrue(Exit.hasInterrupts(yield* Deferred.await(ended)))
      yield* settle
      assert.deepStrictEqual(yield* names, [])
      yield* register(script())
    }).pipe(Effect.provide(dynamic())))

  it.effect("a pass may register another kind, whose passes are not part of it", () =>
    Effect.gen(function*() {
      const servers = script(
        Effect.asVoid(Effect.flip(InstanceWatcher.watch({ kind: Palette, name: "red" }))),
        Effect.void
      )
      const log = script(Effect.asVoid(registerFor(Server, servers)))
      yield* register(log)
      yield* create("a")
      yield* DynamicController.deregister("websites")
      yield* Store.create(Server, { metadata: { name: "s" }, spec: { port: 1 } })
      yield* settle
      assert.strictEqual(servers.passes.length, 1)
      assert.deepStrictEqual(yield* names, ["servers"])
    }).pipe(Effect.provide(dynamic())))

  it.effect("[D2] deregistering interrupts what runs, drops what waits, and releases what its objects watch", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const ends: Array<string> = []
      const watch = InstanceWatcher.watch({ kind: Palette, name: "red" })
      const log = script(
        Effect.andThen(watch, Effect.onInterrupt(Effect.never, () => Effect.sync(() => void ends.push("interrupted"))))
      )
      yield* register(log, { concurrency: 1 })
      yield* create("a")
      yield* create("b")
      assert.strictEqual(faults.open, 2)
      yield* DynamicController.deregister("websites")
      assert.deepStrictEqual(ends, ["interrupted"])
      yield* settle
      assert.strictEqual(log.passes.length, 1)
      assert.strictEqual(faults.open, 0)
    }).pipe(Effect.provide(dynamic())))

  it.effect("[K72] [K71] the cache of a kind goes on for whoever needs it: registration, or instances of another", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const zones = script(InstanceWatcher.watch({ kind: Website, name: "a", metadataOnly: false }))
      const sites = script()
      yield* register(sites)
      yield* registerFor(Zone, zones)
      yield* Store.create(Zone, { metadata: { name: "z" }, spec: { host: "z" } })
      yield* settle
      assert.strictEqual(faults.count("watch Website"), 1)
      yield* DynamicController.deregister("websites")
      yield* create("a")
      assert.strictEqual(zones.passes.length, 2)
      yield* register(sites)
      assert.strictEqual(faults.count("watch Website"), 1)
      yield* DynamicController.deregister("zones")
      yield* change("a", "b.example")
      assert.strictEqual(sites.passes.length, 2)
      assert.strictEqual(faults.open, 1)
    }).pipe(Effect.provide(dynamic())))

  it.effect("with waitForSync: false it returns at once, and a cache that cannot sync is told in status (E4)", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      faults.refuse = (_, kind) => kind === "Website" ? forbidden : undefined
      const log = script()
      const registration = yield* register(log, {}, { waitForSync: false })
      const status = yield* registration.status
      assert.isFalse(status.synced)
      assert.match(status.troubles.join(), /forbidden/)
      faults.refuse = () => undefined
      yield* create("a")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(log.passes.length, 1)
    }).pipe(Effect.provide(dynamic())))

  it.effect("an option that cannot be right is refused, and what was registered before goes on", () =>
    Effect.gen(function*() {
      const log = script()
      yield* register(log)
      const error = yield* Effect.flip(register(script(), { concurrency: 0 }))
      assert.match(error.message, /concurrency/)
      yield* create("a")
      assert.strictEqual(log.passes.length, 1)
    }).pipe(Effect.provide(dynamic())))

  it.effect("[K68] the Layer keeps the options that it was given", () =>
    Effect.gen(function*() {
      yield* register(script())
      const text = yield* PrometheusMetrics.format()
      assert.include(text, "controller_runtime_max_concurrent_reconciles{controller=\"websites\"} 3")
    }).pipe(Effect.provide(dynamic({ controller: { workers: 3 } })), isolated))

  it.effect("[K85] deregistering waits for a pass that runs, as long as its drain says: for ever, where it has no limit", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const log = script(Deferred.await(gate))
      yield* register(log, {}, { drain: "Infinity" })
      yield* create("a")
      const ending = yield* Effect.forkChild(DynamicController.deregister("websites"), { startImmediately: true })
      yield* TestClock.adjust("1 day")
      assert.isUndefined(ending.pollUnsafe())
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(ending)
      assert.deepStrictEqual(yield* names, [])
    }).pipe(Effect.provide(dynamic())))

  it.effect("[K84] [E8] past its drain what runs is interrupted: deregistering ends well all the same", () =>
    Effect.gen(function*() {
      const ends: Array<string> = []
      const log = script(Effect.onInterrupt(Effect.never, () => Effect.sync(() => void ends.push("interrupted"))))
      yield* register(log, {}, { drain: "10 seconds" })
      yield* create("a")
      const ending = yield* Effect.forkChild(DynamicController.deregister("websites"), { startImmediately: true })
      yield* TestClock.adjust("9 seconds")
      assert.deepStrictEqual(ends, [])
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(ending)
      assert.deepStrictEqual(ends, ["interrupted"])
    }).pipe(Effect.provide(dynamic())))

  it.effect("[K07] [K24] the end of the Layer ends all that was registered", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(Layer.fresh(DynamicController.layer), scope)
      const log = script(InstanceWatcher.watch({ kind: Palette, name: "red" }))
      yield* Effect.provideContext(register(log), context)
      yield* create("a")
      yield* Scope.close(scope, Exit.void)
      yield* settle
      assert.strictEqual(faults.open, 0)
      yield* change("a", "b.example")
      assert.strictEqual(log.passes.length, 1)
    }).pipe(Effect.provide(dynamic())))
})

describe("kinds", () => {
  const widget = (version: string) =>
    Effect.fromResult(Kind.fromJsonSchema({
      group: "example.dev",
      version,
      kind: "Widget",
      schema: {
        type: "object",
        properties: {
          spec: { type: "object", properties: { size: { type: "integer", default: 1 } } },
          status: { type: "object", properties: { size: { type: "integer" } } }
        }
      }
    }))

  it.effect("[K87] a kind from data works like a compiled one: passes, status, watches, and its keys print alike", () =>
    Effect.gen(function*() {
      const Widget = yield* widget("v1")
      const seen: Array<string> = []
      yield* DynamicController.register(Reconciler.make(Widget, {
        track: true,
        reconcile: Effect.fnUntraced(function*(request) {
          const found = yield* Store.get(Widget, request)
          yield* Effect.ignore(Store.get(Palette, { name: "red" }))
          yield* Store.updateStatus(Widget, found, { size: 2 })
          seen.push(`${Request.text(request)} ${JSON.stringify(found["spec"])}`)
        })
      }))
      yield* Store.create(Widget, { metadata: { name: "w" }, spec: {} })
      yield* settle
      assert.deepStrictEqual(seen, ["Widget.example.dev default/w {\"size\":1}"])
      assert.deepStrictEqual((yield* Store.latest(Widget, { name: "w" }))["status"], { size: 2, observedGeneration: 1 })
      yield* Store.create(Palette, { metadata: { name: "red" }, spec: { color: "red" } })
      yield* settle
      assert.strictEqual(seen.length, 2)
    }).pipe(Effect.provide(dynamic())))

  it.effect("a document that is no schema is a typed error that names the place, and nothing is registered", () =>
    Effect.gen(function*() {
      const result = Kind.fromJsonSchema({
        group: "example.dev",
        version: "v1",
        kind: "Widget",
        schema: { type: "object", properties: { spec: { type: "no type" } } }
      })
      const error = yield* Effect.flip(Effect.fromResult(result))
      assert.match(error.message, /kind Widget, schema.*spec/)
      assert.deepStrictEqual(yield* names, [])
    }).pipe(Effect.provide(dynamic())))

  it.effect("[K113] [K26] a cluster kind works from end to end: its keys, and what its instances watch", () =>
    Effect.gen(function*() {
      const log = script(Effect.andThen(
        InstanceWatcher.watch({ kind: Zone, name: "other" }),
        InstanceWatcher.watch({ kind: Palette, name: "red", namespace: "a" })
      ))
      yield* registerFor(Zone, log)
      yield* Store.create(Zone, { metadata: { name: "z" }, spec: { host: "z" } })
      yield* settle
      assert.deepStrictEqual(log.requests.map((request) => [request.namespace, request.name]), [["", "z"]])
      yield* Store.create(Palette, { metadata: { name: "red", namespace: "b" }, spec: { color: "red" } })
      yield* settle
      assert.strictEqual(log.passes.length, 1)
      yield* Store.create(Palette, { metadata: { name: "red", namespace: "a" }, spec: { color: "red" } })
      yield* settle
      assert.strictEqual(log.passes.length, 2)
      yield* Store.create(Zone, { metadata: { name: "other" }, spec: { host: "z" } })
      yield* settle
      assert.deepStrictEqual(log.requests.map(({ name }) => name).toSorted(), ["other", "z", "z", "z"])
    }).pipe(Effect.provide(dynamic())))
})

describe("outcomes, as the kernel has them", () => {
  const exactly = Schedule.exponential("100 millis")
  /** What a key does when its passes end so, over a minute. */
  const run = (
    steps: ReadonlyArray<Effect.Effect<Outcome.Outcome | void, unknown>>,
    options: Omit<Reconciler.Options<Website, never>, "reconcile"> = {}
  ) =>
    Effect.gen(function*() {
      const log = script(...steps)
      const registration = yield* register(log, { retry: exactly, ...options })
      yield* registration.enqueue({ name: "a" })
      yield* settle
      yield* TestClock.adjust("1 minute")
      return { passes: log.passes, status: yield* registration.status }
    })

  it.effect("[K70] [K76] a pass that returns nothing is done", () =>
    Effect.gen(function*() {
      const { passes, status } = yield* run([Effect.void])
      assert.deepStrictEqual(passes, ["a@0"])
      assert.deepStrictEqual([status.ready, status.waiting, status.failing], [0, 0, 0])
    }).pipe(Effect.provide(dynamic())))

  it.effect("[K77] [E2] Terminal is not retried, but it is rechecked at leisure and runs on a wake-up: nothing is dropped", () =>
    Effect.gen(function*() {
      const { passes } = yield* run([Effect.fail(Reconciler.terminal("a test"))])
      assert.deepStrictEqual(passes, ["a@0"])
      yield* TestClock.adjust("30 minutes")
      assert.strictEqual(passes.length, 2)
      yield* create("a")
      assert.strictEqual(passes.length, 3)
    }).pipe(Effect.provide(dynamic())))

  it.effect("[K78] [E2] requeue runs again after the delay of the Schedule, which grows, and forgets the failures", () =>
    Effect.gen(function*() {
      const again = Effect.succeed(Outcome.requeue)
      const { passes, status } = yield* run([failure, again, again, Effect.void])
      assert.deepStrictEqual(passes, ["a@0", "a@100", "a@200", "a@400"])
      assert.strictEqual(status.failing, 0)
    }).pipe(Effect.provide(dynamic())))

  it.effect("[K79] requeueAfter runs again after its time", () =>
    Effect.gen(function*() {
      const { passes } = yield* run([Effect.succeed(Outcome.requeueAfter(50)), Effect.void])
      assert.deepStrictEqual(passes, ["a@0", "a@50"])
    }).pipe(Effect.provide(dynamic())))

  it.effect("[K80] NotFound of the requested object ends the key, and leaves no trace of it", () =>
    Effect.gen(function*() {
      const { passes, status } = yield* run([Effect.fail(storeFailureOf("a"))])
      assert.deepStrictEqual(passes, ["a@0"])
      assert.deepStrictEqual([status.ready, status.waiting, status.failing], [0, 0, 0])
    }).pipe(Effect.provide(dynamic())))

  it.effect("[K81] [E3] with two retries allowed the third failure gives up, and the key is rechecked at leisure", () =>
    Effect.gen(function*() {
      const { passes } = yield* run([failure], { maxRetries: 2 })
      assert.deepStrictEqual(passes, ["a@0", "a@100", "a@300"])
      yield* TestClock.adjust("30 minutes")
      assert.isAtLeast(passes.length, 4)
    }).pipe(Effect.provide(dynamic())))

  it.effect("[K83] a defect is caught, counted and retried", () =>
    Effect.gen(function*() {
      const { passes } = yield* run([Effect.die("a test"), Effect.void])
      assert.deepStrictEqual(passes, ["a@0", "a@100"])
      const text = yield* PrometheusMetrics.format()
      assert.include(text, "controller_runtime_reconcile_panics_total{controller=\"websites\"} 1")
    }).pipe(Effect.provide(dynamic()), isolated))

  it.effect("[K75] a key of a name that is not registered is refused by name", () =>
    Effect.gen(function*() {
      const registration = yield* register(script())
      yield* DynamicController.deregister("websites")
      assert.isFalse(yield* registration.enqueue({ name: "a" }))
      const controller = yield* Controller.Controller
      const error = yield* Effect.flip(controller.enqueue("websites", { name: "a" }))
      assert.match(error.message, /"websites"/)
    }).pipe(Effect.provide(dynamic())))

  it.effect("[K95] an object that does not decode is passed over by predicates, and its own key is Terminal alone", () =>
    Effect.gen(function*() {
      const log = script(Effect.asVoid(Store.get(Website, { name: "bad" })), Effect.void)
      const registration = yield* register(log, { predicate: ({ object }) => object.spec.host !== "" })
      const { driver } = yield* Store.Store
      const bad = {
        apiVersion: "example.dev/v1",
        kind: "Website",
        metadata: { name: "bad", namespace: "default", uid: "", resourceVersion: "", creationTimestamp: "" },
        spec: { host: 7 }
      }
      yield* driver.write(Website.address, { op: "create", object: bad }, { writeId: "w", hasStatus: true })
      yield* settle
      assert.deepStrictEqual(log.passes, ["bad@0"])
      yield* create("good")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(log.passes, ["bad@0", "good@0"])
      assert.strictEqual((yield* registration.status).failing, 0)
    }).pipe(Effect.provide(dynamic())))
})

// ---------------------------------------------------------------------------------------------------------------------

const forbidden = new Forbidden({ why: "a test" })

const dynamic = (options?: Parameters<typeof engine>[0]) => Layer.provideMerge(DynamicController.layer, engine(options))

const isolated = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => Effect.provideService(self, Metric.MetricRegistry, new Map()))

const names = Effect.flatMap(DynamicController.DynamicController, (_) => _.names)

interface Reconcile<E, R> {
  readonly reconcile: (request: Request.Request) => Effect.Effect<Outcome.Outcome | void, E, R>
}

const registerFor = <A extends Resource.Any, E, R>(
  kind: Kind.Kind<A>,
  { reconcile }: Reconcile<E, R>,
  options: Omit<Reconciler.Options<A, R>, "reconcile"> = {},
  registerOptions: DynamicController.RegisterOptions = {}
) =>
  Effect.tap(
    DynamicController.register(Reconciler.make(kind, { ...options, reconcile }), registerOptions),
    () => settle
  )

const register = <E, R>(
  log: Reconcile<E, R>,
  options: Omit<Reconciler.Options<Website, R>, "reconcile"> = {},
  registerOptions: DynamicController.RegisterOptions = {}
) => registerFor(Website, log, options, registerOptions)

const storeFailureOf = (name: string) =>
  StoreError.make(
    { operation: "get", kind: Website.groupKind, key: { namespace: "default", name } },
    new StoreError.NotFound()
  )
