/**
 * Many keys, many rounds, and what is left afterwards. Small in every run; `SETPOINT_NIGHTLY=1` makes it large.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Controller, Outcome, Reconciler, Store } from "setpoint"
import { Unavailable } from "setpoint/StoreError"
import {
  change,
  create,
  engine,
  failure,
  Faults,
  Palette,
  register,
  script,
  Server,
  settle,
  site,
  Website
} from "./support/engine.ts"

const isNightly = process.env["SETPOINT_NIGHTLY"] === "1"
const size = (small: number, large: number): number => isNightly ? large : small

describe("many keys", () => {
  it.effect("a hot key: any number of changes makes few passes, and the last change is seen", () =>
    Effect.gen(function*() {
      const changes = size(2_000, 200_000)
      let last = ""
      let passes = 0
      let running = 0
      yield* register({
        reconcile: (request) =>
          Effect.gen(function*() {
            assert.strictEqual(++running, 1)
            passes++
            last = (yield* Store.get(Website, request)).spec.host
            yield* Effect.sleep("1 second")
            running--
          })
      })
      yield* create("hot")
      for (let i = 1; i <= changes; i++) {
        yield* Store.patchUnconditionally(Website, { name: "hot" }, { merge: { spec: { host: `h${i}` } } })
      }
      yield* settle
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(last, `h${changes}`)
      assert.strictEqual(passes, 2)
    }).pipe(Effect.provide(engine({ store: { history: 1_000_000 } }))))

  it.effect("keys that all fail at once are all retried until all of them converge, and nothing is remembered", () =>
    Effect.gen(function*() {
      const keys = size(2_000, 100_000)
      const tries = new Map<string, number>()
      const registration = yield* register({
        reconcile: ({ name }) =>
          Effect.suspend(() => {
            const count = (tries.get(name) ?? 0) + 1
            tries.set(name, count)
            return count <= 3 ? failure : Effect.void
          })
      })
      for (let i = 0; i < keys; i++) yield* registration.enqueue({ name: `k${i}` })
      yield* until(Effect.map(registration.status, ({ failing, ready }) => failing === keys && ready === 0))
      yield* TestClock.adjust("1 second")
      yield* until(Effect.map(registration.status, ({ failing }) => failing === 0))
      assert.strictEqual(tries.size, keys)
      for (const count of tries.values()) assert.strictEqual(count, 4)
      const { failing, held, ready, running, waiting } = yield* registration.status
      assert.deepStrictEqual([failing, held, ready, running, waiting], [0, 0, 0, 0, 0])
    }).pipe(Effect.provide(engine())))

  it.effect("every object of a very large store is listed and reconciled once, and the queue is empty after", () =>
    Effect.gen(function*() {
      const objects = size(5_000, 1_000_000)
      const store = yield* Store.Store
      const driver = store.driver
      for (let i = 0; i < objects; i++) {
        yield* driver.write(Website.address, {
          op: "create",
          object: {
            apiVersion: Website.apiVersion,
            kind: "Website",
            metadata: { name: `site-${i}`, namespace: "default", uid: "", resourceVersion: "", creationTimestamp: "" },
            spec: { host: "a" }
          }
        }, { writeId: `w${i}`, hasStatus: Website.hasStatus })
      }
      const seen = new Set<string>()
      let passes = 0
      const all = yield* Deferred.make<void>()
      const registration = yield* register({
        reconcile: ({ name }) =>
          Effect.sync(() => {
            passes++
            seen.add(name)
            if (seen.size === objects) Deferred.doneUnsafe(all, Effect.void)
          })
      })
      yield* Deferred.await(all)
      yield* settle
      assert.strictEqual(passes, objects)
      const { failing, held, ready, running, waiting } = yield* registration.status
      assert.deepStrictEqual([failing, held, ready, running, waiting], [0, 0, 0, 0, 0])
    }).pipe(Effect.provide(engine())))

  it.effect("[C145] keys that all ask for a requeue at once, three rounds each, all end, and so does the engine", () =>
    Effect.gen(function*() {
      const keys = size(1_000, 5_000)
      const rounds = new Map<string, number>()
      const scope = yield* Scope.make()
      const registration = yield* Scope.provide(
        register({
          reconcile: ({ name }) =>
            Effect.sync(() => {
              const round = (rounds.get(name) ?? 0) + 1
              rounds.set(name, round)
              return round <= 3 ? Outcome.requeue : Outcome.done
            })
        }, { requeue: Schedule.spaced(1) }),
        scope
      )
      for (let i = 0; i < keys; i++) yield* registration.enqueue({ name: `k${i}` })
      for (let i = 0; i < 5; i++) {
        yield* until(Effect.map(registration.status, ({ ready }) => ready === 0))
        yield* TestClock.adjust("1 millis")
      }
      yield* until(Effect.map(registration.status, ({ ready, running, waiting }) => ready + running + waiting === 0))
      assert.strictEqual(Array.from(rounds.values()).reduce((sum, round) => sum + round, 0), keys * 4)
      yield* Scope.close(scope, Exit.void)
    }).pipe(Effect.provide(engine())))

  it.effect("all keys converge under failures, conflicts, dropped watches and swaps", () =>
    Effect.gen(function*() {
      const keys = size(40, 400)
      const rounds = size(30, 500)
      const faults = yield* Faults
      let passes = 0
      const reconcile = Effect.fnUntraced(function*(request: { readonly namespace: string; readonly name: string }) {
        const trouble = ++passes % 7
        if (trouble === 0) return yield* failure
        if (trouble === 1) return yield* Effect.die("a test")
        const read = yield* Store.get(Website, request)
        yield* Effect.yieldNow
        yield* Store.updateStatus(Website, read, { ready: read.spec.host.length })
      })
      yield* register({ reconcile })
      for (let i = 0; i < keys; i++) yield* Store.create(Website, site(`k${i}`))
      for (let round = 0; round < rounds; round++) {
        for (let i = 0; i < 5; i++) {
          const name = `k${(round * 5 + i * 7) % keys}`
          yield* Store.patchUnconditionally(Website, { name }, { merge: { spec: { host: "x".repeat(round % 50) } } })
        }
        if (round % 5 === 0) yield* faults.drop(new Unavailable({ why: "a test" }))
        if (round % 11 === 0) yield* register({ reconcile })
        yield* settle
      }
      yield* TestClock.adjust("5 minutes")
      yield* settle
      const { items } = yield* Store.list(Website)
      assert.strictEqual(items.length, keys)
      for (const { metadata, spec, status } of items) {
        assert.strictEqual(status?.ready, spec.host.length, metadata.name)
      }
    }).pipe(Effect.provide(engine({ store: { history: 20 } }))))

  it.effect("a watcher that never reads holds nobody up", () =>
    Effect.gen(function*() {
      const log = script()
      const watcher = yield* Effect.forkChild(Stream.runForEach(Store.watch(Website), () => Effect.never))
      yield* register(log)
      const keys = size(3_000, 100_000)
      for (let i = 0; i < keys; i++) yield* Store.create(Website, site(`k${i}`))
      yield* until(Effect.sync(() => log.passes.length === keys))
      yield* Fiber.interrupt(watcher)
    }).pipe(Effect.provide(engine())))
})

describe("start and stop", () => {
  it.effect("[C123] [F44] a registration that comes and goes leaves no fiber, watch, timer or finalizer", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const rounds = size(100, 1_000)
      yield* create("blog")
      const round = Effect.scoped(Effect.gen(function*() {
        const log = script<string>(failure, Effect.succeed(Outcome.requeueAfter("1 hour")))
        yield* register(log, {
          owns: [Server],
          watches: [Reconciler.watch(Palette, () => Effect.succeed([]))],
          sources: [Reconciler.fromStream("never", Stream.never)],
          redelivery: "1 hour"
        })
        assert.strictEqual(log.passes.length, 1)
      }))
      for (let i = 0; i < 5; i++) yield* round
      const before = yield* alive
      for (let i = 0; i < rounds; i++) yield* round
      assert.strictEqual(yield* alive, before)
      assert.strictEqual(faults.open, 0)
    }).pipe(Effect.provide(engine()), counted))

  it.effect("[F44] nothing holds a reconciler, an informer's object or a request after its registration has ended", () =>
    Effect.gen(function*() {
      const refs: Array<WeakRef<object>> = []
      const round = Effect.scoped(Effect.gen(function*() {
        const log = script()
        const registration = yield* register(log, { owns: [Server] })
        yield* create("blog")
        const [request] = log.requests
        refs.push(new WeakRef(log), new WeakRef(registration))
        if (request !== undefined) refs.push(new WeakRef(request))
        yield* Store.deleteUnconditionally(Website, { name: "blog" })
        yield* settle
      }))
      for (let i = 0; i < size(30, 300); i++) yield* round
      yield* settle
      collectGarbage()
      yield* settle
      collectGarbage()
      const held = refs.filter((ref) => ref.deref() !== undefined).length
      assert.isAtMost(held, 9) // those of the last rounds, which this fiber's stack may still hold
    }).pipe(Effect.provide(engine())))

  it.effect("[C123] [C124] [F44] a Controller that comes and goes leaves nothing, used or not", () =>
    Effect.gen(function*() {
      const rounds = size(100, 1_000)
      const used = Effect.gen(function*() {
        const log = script()
        yield* register(log)
        yield* create("blog")
        assert.strictEqual(log.passes.length, 1)
      }).pipe(Effect.scoped, Effect.provide(engine({ controller: { events: true, collector: true } })))
      const unused = Effect.scoped(Controller.make())
      for (let i = 0; i < 3; i++) yield* Effect.andThen(used, unused)
      const before = yield* alive
      for (let i = 0; i < rounds; i++) yield* Effect.andThen(used, unused)
      assert.strictEqual(yield* alive, before)
    }).pipe(counted))

  it.effect("[F44] objects that come and go leave neither requests nor fibers", () =>
    Effect.gen(function*() {
      const log = script()
      const registration = yield* register(log, { owns: [Server] })
      const round = Effect.gen(function*() {
        for (let i = 0; i < 20; i++) yield* Store.create(Website, site(`k${i}`))
        yield* settle
        yield* change("k1", "b.example")
        for (let i = 0; i < 20; i++) yield* Store.deleteUnconditionally(Website, { name: `k${i}` })
        yield* settle
      })
      yield* round
      const before = yield* alive
      for (let i = 0; i < size(20, 500); i++) yield* round
      assert.strictEqual(yield* alive, before)
      const { held, ready, running, waiting } = yield* registration.status
      assert.deepStrictEqual([held, ready, running, waiting], [0, 0, 0, 0])
    }).pipe(Effect.provide(engine()), counted))
})

// ---------------------------------------------------------------------------------------------------------------------
// helpers
// ---------------------------------------------------------------------------------------------------------------------

/** Lets fibers run, without time passing, until it holds. */
const until = (holds: Effect.Effect<boolean>): Effect.Effect<void> =>
  Effect.repeat(Effect.andThen(settle, holds), { until: (held) => held }).pipe(Effect.asVoid)

/** How many fibers live now: for tests that are {@link counted}. */
const alive: Effect.Effect<number> = Effect.andThen(
  settle,
  Effect.map(Metric.FiberRuntimeMetrics, (metrics) => metrics instanceof Fibers ? metrics.live : Number.NaN)
)

class Fibers implements Metric.FiberRuntimeMetricsService {
  live = 0
  recordFiberStart(): void {
    this.live++
  }
  recordFiberEnd(): void {
    this.live--
  }
}

const counted = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => Effect.provideService(effect, Metric.FiberRuntimeMetrics, new Fibers()))

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")
