import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Tracer from "effect/Tracer"
import { Controller, EventRecorder, Health, Outcome, Pass, Reconciler, Store } from "setpoint"
import { Conflict } from "setpoint/StoreError"
import {
  change,
  create,
  engine,
  failure,
  Faults,
  register,
  script,
  Server,
  settle,
  site,
  storeFailure,
  Website
} from "./support/engine.ts"

const exactly = Schedule.exponential("100 millis")

describe("paused", () => {
  it.effect("the annotation stops an object's passes and lets the others go on; taking it away runs it", () =>
    Effect.gen(function*() {
      const log = script()
      const registration = yield* register(log)
      yield* Store.create(Website, { metadata: { name: "blog", annotations: paused }, spec: { host: "a" } })
      yield* create("shop")
      yield* change("blog", "b.example")
      yield* registration.enqueue({ name: "blog" })
      yield* settle
      assert.deepStrictEqual(log.passes, ["shop@0"])
      assert.strictEqual((yield* registration.status).pausedKeys, 1)
      yield* annotate("blog", { "setpoint.dev/paused": null })
      assert.deepStrictEqual(log.passes, ["shop@0", "blog@0"])
      assert.strictEqual((yield* registration.status).pausedKeys, 0)
    }).pipe(Effect.provide(engine())))

  it.effect("the status echoes it, where the kind declares the field, and only where it changes", () =>
    Effect.gen(function*() {
      yield* register(script())
      const made = yield* create("blog")
      yield* settle
      assert.strictEqual((yield* read("blog")).metadata.resourceVersion, made.metadata.resourceVersion)
      yield* annotate("blog", paused)
      assert.isTrue((yield* read("blog")).status?.paused)
      yield* annotate("blog", { "setpoint.dev/paused": null })
      assert.isFalse((yield* read("blog")).status?.paused)
      const { metadata } = yield* read("blog")
      yield* change("blog", "b.example")
      assert.strictEqual(Number((yield* read("blog")).metadata.resourceVersion), Number(metadata.resourceVersion) + 1)
    }).pipe(Effect.provide(engine())))

  it.effect("an echo from before a restart is put right", () =>
    Effect.gen(function*() {
      const made = yield* create("blog")
      yield* Store.updateStatus(Website, made, { paused: true, ready: 1 })
      yield* register(script())
      assert.deepStrictEqual((yield* read("blog")).status, { paused: false, ready: 1 })
    }).pipe(Effect.provide(engine())))

  it.effect("deletion runs all the same", () =>
    Effect.gen(function*() {
      const log = script()
      yield* register(log)
      const metadata = { name: "blog", annotations: paused, finalizers: ["x.dev/f"] }
      const made = yield* Store.create(Website, { metadata, spec: { host: "a" } })
      yield* settle
      yield* Store.delete(Website, made)
      yield* settle
      assert.deepStrictEqual(log.passes, ["blog@0"])
    }).pipe(Effect.provide(engine())))

  it.effect("no predicate of the user's hides the annotation", () =>
    Effect.gen(function*() {
      const log = script()
      yield* register(log, { predicate: ({ type }) => type === "Added" })
      yield* create("blog")
      yield* annotate("blog", paused)
      assert.isTrue((yield* read("blog")).status?.paused)
      yield* annotate("blog", { "setpoint.dev/paused": null })
      assert.strictEqual(log.passes.length, 2)
    }).pipe(Effect.provide(engine())))

  it.effect("a deleted object is not counted as paused, nor one after a swap twice", () =>
    Effect.gen(function*() {
      yield* register(script())
      yield* Store.create(Website, { metadata: { name: "blog", annotations: paused }, spec: { host: "a" } })
      yield* settle
      const registration = yield* register(script())
      assert.strictEqual((yield* registration.status).pausedKeys, 1)
      yield* Store.deleteUnconditionally(Website, { name: "blog" })
      yield* settle
      assert.strictEqual((yield* registration.status).pausedKeys, 0)
    }).pipe(Effect.provide(engine())))

  it.effect("the switch stops a registration: what is added collects, what runs ends, and resume runs it", () =>
    Effect.gen(function*() {
      const gate = Latch.makeUnsafe(false)
      const log = script(gate.await, Effect.void)
      const registration = yield* register(log)
      yield* create("blog")
      yield* registration.pause
      assert.isTrue((yield* registration.status).paused)
      yield* create("shop")
      yield* change("shop", "b.example")
      yield* gate.open
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(log.passes, ["blog@0"])
      assert.strictEqual((yield* registration.status).ready, 1)
      yield* registration.resume
      yield* settle
      assert.deepStrictEqual(log.passes, ["blog@0", "shop@3600000"])
      assert.isFalse((yield* registration.status).paused)
    }).pipe(Effect.provide(engine())))

  it.effect("[E5] the switch outlasts a swap, and does not open what still waits for its caches", () =>
    Effect.gen(function*() {
      yield* (yield* register(script())).pause
      const log = script()
      const registration = yield* register(log)
      yield* create("blog")
      assert.deepStrictEqual(log.passes, [])
      yield* registration.resume
      yield* settle
      assert.deepStrictEqual(log.passes, ["blog@0"])
    }).pipe(Effect.provide(engine())))
})

describe("reconcile now", () => {
  it.effect("a new value of the annotation runs a pass, whatever predicates say, and the status echoes it", () =>
    Effect.gen(function*() {
      const log = script()
      yield* register(log, { predicate: () => false })
      yield* create("blog")
      yield* annotate("blog", { "setpoint.dev/reconcile-now": "one" })
      assert.deepStrictEqual(log.causes, [["ReconcileNow"]])
      assert.strictEqual((yield* read("blog")).status?.lastHandledReconcileAt, "one")
      yield* annotate("blog", { note: "x" })
      yield* annotate("blog", { "setpoint.dev/reconcile-now": "two" })
      assert.deepStrictEqual(log.causes, [["ReconcileNow"], ["ReconcileNow"]])
      assert.strictEqual((yield* read("blog")).status?.lastHandledReconcileAt, "two")
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(log.passes.length, 2)
    }).pipe(Effect.provide(engine())))

  it.effect("the echo comes after the pass, and does not wake it", () =>
    Effect.gen(function*() {
      const gate = Latch.makeUnsafe(true)
      const log = script(gate.await)
      yield* register(log)
      yield* create("blog")
      gate.closeUnsafe()
      yield* annotate("blog", { "setpoint.dev/reconcile-now": "one" })
      assert.strictEqual((yield* read("blog")).status, undefined)
      yield* gate.open
      yield* settle
      assert.strictEqual((yield* read("blog")).status?.lastHandledReconcileAt, "one")
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(log.passes.length, 2)
    }).pipe(Effect.provide(engine())))

  it.effect("what was asked for while nothing ran, or the object was paused, is echoed by the next pass", () =>
    Effect.gen(function*() {
      const annotations = { "setpoint.dev/reconcile-now": "before" }
      yield* Store.create(Website, { metadata: { name: "blog", annotations }, spec: { host: "a" } })
      yield* register(script())
      assert.strictEqual((yield* read("blog")).status?.lastHandledReconcileAt, "before")
      yield* annotate("blog", { ...paused, "setpoint.dev/reconcile-now": "meanwhile" })
      assert.strictEqual((yield* read("blog")).status?.lastHandledReconcileAt, "before")
      yield* annotate("blog", { "setpoint.dev/paused": null })
      assert.strictEqual((yield* read("blog")).status?.lastHandledReconcileAt, "meanwhile")
    }).pipe(Effect.provide(engine())))

  it.effect("it wakes a key that failed for good, and ends a wait", () =>
    Effect.gen(function*() {
      const log = script<Reconciler.Terminal>(Effect.fail(Reconciler.terminal("never")))
      yield* register(log)
      yield* create("blog")
      yield* annotate("blog", { "setpoint.dev/reconcile-now": "one" })
      assert.strictEqual(log.passes.length, 2)
    }).pipe(Effect.provide(engine())))
})

describe("enqueue", () => {
  it.effect("[F12] it dedups, makes one more pass while running, and does nothing after close", () =>
    Effect.gen(function*() {
      const gate = Latch.makeUnsafe(false)
      const log = script(gate.await)
      const controller = yield* Controller.Controller
      const scope = yield* Scope.make()
      const registration = yield* Scope.provide(register(log), scope)
      for (let i = 0; i < 5; i++) assert.isTrue(yield* controller.enqueue("websites", { name: "blog" }))
      yield* settle
      assert.deepStrictEqual(log.passes, ["blog@0"])
      for (let i = 0; i < 5; i++) yield* registration.enqueue({ namespace: "default", name: "blog" })
      yield* gate.open
      yield* settle
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@0"])
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(yield* registration.enqueue({ name: "blog" }))
      const error = yield* Effect.flip(controller.enqueue("websites", { name: "blog" }))
      assert.include(error.message, "websites")
    }).pipe(Effect.provide(engine())))

  it.effect("an unknown name is an error that lists the known ones", () =>
    Effect.gen(function*() {
      const controller = yield* Controller.Controller
      yield* register(script(), { name: "sites" })
      const error = yield* Effect.flip(controller.enqueue("site", { name: "blog" }))
      assert.include(error.message, "\"sites\"")
    }).pipe(Effect.provide(engine())))

  it.effect("a request that the queue forgot leaves nothing behind", () =>
    Effect.gen(function*() {
      const log = script()
      const registration = yield* register(log)
      for (let i = 0; i < 100; i++) yield* registration.enqueue({ name: `gone-${i}` })
      yield* settle
      assert.strictEqual(log.passes.length, 100)
      const { failing, held, ready, running, waiting } = yield* registration.status
      assert.deepStrictEqual([failing, held, ready, running, waiting], [0, 0, 0, 0, 0])
    }).pipe(Effect.provide(engine())))
})

describe("cancelOnNewerSpec", () => {
  it.effect("[E2] a newer spec interrupts the pass that runs, which is no failure, and runs again at once", () =>
    Effect.gen(function*() {
      const ends: Array<string> = []
      const work = Effect.onExit(Effect.never, (exit) => Effect.sync(() => ends.push(exit._tag)))
      const log = script(work, Effect.void)
      const registration = yield* register(log, { cancelOnNewerSpec: true, retry: exactly })
      yield* create("blog")
      yield* change("blog", "b.example")
      assert.deepStrictEqual(ends, ["Failure"])
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@0"])
      assert.includeMembers([...log.causes[1] ?? []], ["Event", "NewerSpec"])
      assert.strictEqual(yield* registration.probe({ name: "blog" }), undefined)
      yield* create("shop") // the worker is replaced
      assert.strictEqual(log.passes.length, 3)
    }).pipe(Effect.provide(engine({ controller: { workers: 1 } }))))

  it.effect("it is asked for, and neither labels, status nor the pass's own writes cancel it", () =>
    Effect.gen(function*() {
      const gate = Latch.makeUnsafe(false)
      const byDefault = script(gate.await)
      const writer = script(Effect.asVoid(Effect.andThen(change("blog", "own.example"), gate.await)), Effect.void)
      yield* register(byDefault, { name: "default" })
      yield* register(writer, { name: "writer", cancelOnNewerSpec: true })
      yield* create("blog")
      yield* Store.patchUnconditionally(Website, { name: "blog" }, { merge: { metadata: { labels: { a: "b" } } } })
      yield* settle
      assert.deepStrictEqual([byDefault.passes.length, writer.passes.length], [1, 1])
      yield* gate.open
      yield* settle
      assert.deepStrictEqual([byDefault.passes.length, writer.passes.length], [2, 2])
    }).pipe(Effect.provide(engine())))
})

describe("the breaker", () => {
  it.effect("slows a key that flaps to its rate, and never drops it", () =>
    Effect.gen(function*() {
      const log = script()
      yield* create("blog")
      const registration = yield* register(log, { breaker: { passes: 3, per: "30 seconds" } })
      for (let i = 0; i < 60; i++) {
        yield* registration.enqueue({ name: "blog" }, `${i}`)
        yield* TestClock.adjust("1 second")
      }
      assert.isAtLeast(log.passes.length, 7)
      assert.isAtMost(log.passes.length, 10)
      yield* registration.enqueue({ name: "blog" }, "last")
      yield* TestClock.adjust("30 seconds")
      assert.include(["Enqueue"], log.causes.at(-1)?.[0])
      assert.strictEqual(yield* registration.probe({ name: "blog" }), undefined)
    }).pipe(Effect.provide(engine())))

  it.effect("other keys, and a key that is calm again, are not slowed", () =>
    Effect.gen(function*() {
      const log = script()
      yield* create("blog")
      const registration = yield* register(log, { breaker: { passes: 2, per: "10 seconds" } })
      yield* TestClock.adjust("1 minute")
      log.passes.length = 0
      for (let i = 0; i < 4; i++) {
        yield* registration.enqueue({ name: "blog" })
        yield* settle
      }
      yield* registration.enqueue({ name: "shop" })
      yield* settle
      assert.deepStrictEqual(log.passes, ["blog@60000", "blog@60000", "blog@60000", "shop@60000"])
      yield* TestClock.adjust("1 minute")
      log.passes.length = 0
      for (let i = 0; i < 2; i++) {
        yield* registration.enqueue({ name: "blog" })
        yield* settle
      }
      assert.deepStrictEqual(log.passes, ["blog@120000", "blog@120000"])
    }).pipe(Effect.provide(engine())))
})

describe("workers", () => {
  it.effect("[C144] [C103] no more passes at once than workers, nor than the registration's concurrency", () =>
    Effect.gen(function*() {
      const wide = script(Effect.sleep("1 second"))
      const narrow = script(Effect.sleep("1 second"))
      yield* register(wide, { name: "wide" })
      for (let i = 0; i < 5; i++) yield* create(`site-${i}`)
      assert.strictEqual(wide.passes.length, 3)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(wide.passes.length, 5)
      yield* register(narrow, { name: "narrow", concurrency: 2 })
      assert.strictEqual(narrow.passes.length, 2)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(narrow.passes.length, 4)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(narrow.passes.length, 5)
    }).pipe(Effect.provide(engine({ controller: { workers: 3 } }))))

  it.effect("their number changes at run time: more start at once, fewer cut no pass", () =>
    Effect.gen(function*() {
      const controller = yield* Controller.Controller
      const log = script(Effect.sleep("1 second"))
      yield* register(log)
      for (let i = 0; i < 20; i++) yield* Store.create(Website, site(`site-${i}`))
      yield* settle
      assert.strictEqual(log.passes.length, 1)
      yield* controller.setWorkers(4)
      yield* settle
      assert.strictEqual(log.passes.length, 4)
      yield* controller.setWorkers(2)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(log.passes.length, 6)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(log.passes.length, 8)
      yield* controller.setWorkers(100)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(log.passes.length, 20)
      assert.include((yield* Effect.flip(controller.setWorkers(0))).message, "workers must be a whole number")
    }).pipe(Effect.provide(engine({ controller: { workers: 1 } }))))

  it.effect("a key that was handed to a worker which is let go is taken by another", () =>
    Effect.gen(function*() {
      const controller = yield* Controller.Controller
      for (let i = 0; i < 20; i++) {
        const log = script()
        const registration = yield* register(log)
        yield* controller.setWorkers(8)
        yield* settle
        yield* Effect.andThen(registration.enqueue({ name: `k${i}` }), controller.setWorkers(1 + (i % 4)))
        yield* settle
        assert.deepStrictEqual(log.passes, [`k${i}@0`])
      }
    }).pipe(Effect.provide(engine({ controller: { workers: 8 } }))))

  it.effect("[C140] a worker that waits is woken by an add", () =>
    Effect.gen(function*() {
      const log = script()
      const registration = yield* register(log)
      yield* TestClock.adjust("1 hour")
      yield* registration.enqueue({ name: "blog" })
      yield* settle
      assert.deepStrictEqual(log.passes, ["blog@3600000"])
    }).pipe(Effect.provide(engine())))

  it.effect("[Q5] a flood in one registration delays another's key by a bounded number of passes, by weight", () =>
    Effect.gen(function*() {
      const order: Array<string> = []
      const noting = (name: string) => ({ reconcile: () => Effect.sync(() => void order.push(name)) })
      const flood = yield* register(noting("flood"), { name: "flood", weight: 3 })
      const calm = yield* register(noting("calm"), { name: "calm" })
      yield* flood.pause
      yield* calm.pause
      for (let i = 0; i < 40; i++) yield* flood.enqueue({ name: `f${i}` })
      for (let i = 0; i < 10; i++) yield* calm.enqueue({ name: `c${i}` })
      yield* flood.resume
      yield* calm.resume
      yield* settle
      assert.strictEqual(order.length, 50)
      assert.isAtMost(order.indexOf("calm"), 3)
      assert.isAtMost(order.lastIndexOf("calm"), 40)
      assert.strictEqual(order.slice(3, 7).filter((name) => name === "flood").length, 3)
    }).pipe(Effect.provide(engine({ controller: { workers: 1 } }))))

  it.effect("[C092] [C093] [C095] [C096] [C098] [C099] lanes: news before retries, retries before first lists", () =>
    Effect.gen(function*() {
      for (let i = 0; i < 3; i++) yield* Store.create(Website, site(`old-${i}`))
      const order: Array<string> = []
      const gate = Latch.makeUnsafe(false)
      const first = yield* Deferred.make<void>()
      const reconcile = Effect.fnUntraced(function*({ name }: { readonly name: string }) {
        order.push(name)
        if (order.length > 1) return Outcome.done
        yield* Deferred.succeed(first, undefined)
        yield* gate.await
        return Outcome.requeue
      })
      const registration = yield* register({ reconcile }, { requeue: Schedule.spaced(1) })
      yield* Deferred.await(first)
      yield* registration.enqueue({ name: "news" })
      yield* gate.open
      yield* TestClock.adjust("1 second")
      assert.strictEqual(order[1], "news")
      assert.strictEqual(order.filter((name) => name === order[0]).length, 2)
    }).pipe(Effect.provide(engine({ controller: { workers: 1 } }))))
})

describe("sources", () => {
  it.effect("[C071] [C110] what a Stream emits is reconciled, and a source ends with its registration", () =>
    Effect.gen(function*() {
      const hooks = yield* Queue.unbounded<{ readonly name: string }>()
      const scope = yield* Scope.make()
      const log = script()
      yield* Scope.provide(register(log, { sources: [Reconciler.fromStream("hooks", Stream.fromQueue(hooks))] }), scope)
      yield* Queue.offer(hooks, { name: "blog" })
      yield* settle
      assert.deepStrictEqual(log.passes, ["blog@0"])
      yield* Scope.close(scope, Exit.void)
      yield* Queue.offer(hooks, { name: "shop" })
      yield* settle
      assert.strictEqual(yield* Queue.size(hooks), 1)
    }).pipe(Effect.provide(engine())))

  it.effect("[C069] a source that takes long to begin holds nobody up, and is heard once it has begun", () =>
    Effect.gen(function*() {
      const slow = Stream.unwrap(Effect.as(Effect.sleep("1 minute"), Stream.make({ name: "late" })))
      const log = script()
      const registration = yield* register(log, { sources: [Reconciler.fromStream("slow", slow)] })
      yield* registration.synced
      yield* create("blog")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(log.passes, ["blog@0", "late@60000"])
    }).pipe(Effect.provide(engine())))

  it.effect("[C074] [C113] a source that fails or ends is begun anew with a growing pause, and health says why", () =>
    Effect.gen(function*() {
      let begun = 0
      const targets = Stream.unwrap(Effect.sync(() => {
        begun++
        return begun < 6 ? Stream.fail("no webhook") : Stream.concat(Stream.make({ name: "blog" }), Stream.never)
      }))
      const log = script()
      const registration = yield* register(log, { sources: [Reconciler.fromStream("hooks", targets)] })
      yield* create("shop")
      assert.deepStrictEqual(log.passes, ["shop@0"]) // nobody waits for a source
      assert.include((yield* registration.status).troubles.join(), "source hooks does not run: no webhook")
      assert.isFalse(yield* Health.isReady)
      yield* TestClock.adjust("2999 millis")
      assert.strictEqual(begun, 4)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(begun, 6)
      assert.deepStrictEqual((yield* registration.status).troubles, [])
      assert.include(log.passes.join(), "blog@")
    }).pipe(Effect.provide(Layer.provideMerge(engine(), Health.layer))))

  it.effect("[C148] a source that ran well for a minute begins its pauses anew, and is in no trouble though it is quiet", () =>
    Effect.gen(function*() {
      let begun = 0
      const targets = Stream.unwrap(Effect.sync(() => {
        begun++
        return begun === 8
          ? Stream.concat(Stream.drain(Stream.fromEffect(Effect.sleep("2 minutes"))), Stream.fail("lost"))
          : begun === 10
          ? Stream.never
          : Stream.fail("no webhook")
      }))
      const registration = yield* register(script(), { sources: [Reconciler.fromStream("hooks", targets)] })
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(begun, 8)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual((yield* registration.status).troubles, [])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(begun, 10)
    }).pipe(Effect.provide(engine())))

  it.effect("[C147] several sources go on when one of them has ended", () =>
    Effect.gen(function*() {
      const hooks = yield* Queue.unbounded<{ readonly name: string }>()
      const log = script()
      yield* register(log, {
        sources: [
          Reconciler.fromStream("once", Stream.concat(Stream.make({ name: "once" }), Stream.empty)),
          Reconciler.fromStream("hooks", Stream.fromQueue(hooks))
        ]
      })
      yield* TestClock.adjust("50 millis")
      yield* Queue.offer(hooks, { name: "blog" })
      yield* settle
      assert.deepStrictEqual(log.passes, ["once@0", "blog@50"])
    }).pipe(Effect.provide(engine())))
})

describe("background work", () => {
  it.effect("[C127] it runs beside the passes, is begun anew when it fails, and ends with its Scope", () =>
    Effect.gen(function*() {
      const controller = yield* Controller.Controller
      const scope = yield* Scope.make()
      let begun = 0
      let interrupted = 0
      const work = Effect.suspend(() => {
        begun++
        if (begun === 1) return Effect.fail("a test")
        if (begun === 2) return Effect.die("a defect")
        return Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
      })
      yield* Scope.provide(controller.background("sweep", work), scope)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(begun, 3)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(interrupted, 1)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(begun, 3)
    }).pipe(Effect.provide(engine())))

  it.effect("[C127] work that is done is done", () =>
    Effect.gen(function*() {
      const controller = yield* Controller.Controller
      let begun = 0
      yield* controller.background("once", Effect.sync(() => begun++))
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(begun, 1)
    }).pipe(Effect.provide(engine())))

  it.effect("[C127] work that is given to a closed Controller does not run", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const built = yield* Layer.buildWithScope(engine(), scope)
      yield* Scope.close(scope, Exit.void)
      let begun = 0
      yield* Effect.gen(function*() {
        const controller = yield* Controller.Controller
        yield* controller.background("late", Effect.sync(() => begun++))
      }).pipe(Effect.provide(built))
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(begun, 0)
    }))
})

describe("metrics, spans, health and status", () => {
  it.effect("[C100] [C101] [C102] passes are counted by result, and their time is observed", () =>
    Effect.gen(function*() {
      const log = script<unknown>(
        Effect.sleep("2 seconds"),
        Effect.succeed(Outcome.requeue),
        Effect.succeed(Outcome.requeueAfter("1 second")),
        failure,
        Effect.fail(Reconciler.terminal("never")),
        Effect.die("a defect"),
        Effect.fail(storeFailure("Palette", new Conflict({ why: "a test" }))),
        Effect.void
      )
      const registration = yield* register(log, { retry: exactly, requeue: exactly })
      yield* create("blog")
      yield* TestClock.adjust("2 seconds")
      yield* registration.enqueue({ name: "blog" })
      yield* TestClock.adjust("10 seconds")
      yield* registration.enqueue({ name: "blog" })
      yield* TestClock.adjust("10 seconds")
      const text = yield* scrape
      const total = (result: string) =>
        value(text, `controller_runtime_reconcile_total{controller="websites",result="${result}"}`)
      assert.deepStrictEqual([total("success"), total("requeue"), total("requeue_after"), total("error")], [2, 1, 1, 4])
      const counter = (name: string) => value(text, `${name}{controller="websites"}`)
      assert.strictEqual(counter("controller_runtime_reconcile_errors_total"), 3)
      assert.strictEqual(counter("controller_runtime_terminal_reconcile_errors_total"), 1)
      assert.strictEqual(counter("controller_runtime_reconcile_panics_total"), 1)
      assert.strictEqual(counter("setpoint_conflicts_total"), 1)
      assert.strictEqual(counter("controller_runtime_reconcile_time_seconds_count"), 8)
      assert.strictEqual(counter("controller_runtime_reconcile_time_seconds_sum"), 2)
      assert.strictEqual(counter("controller_runtime_max_concurrent_reconciles"), 4)
      assert.strictEqual(counter("controller_runtime_active_workers"), 0)
      assert.strictEqual(value(text, "workqueue_depth{name=\"websites\",controller=\"websites\",priority=\"0\"}"), 0)
    }).pipe(Effect.provide(engine()), isolated))

  it.effect("[E9] [C064] a pass over its deadline is counted as such; one that ends in time, or is cut by another, is not", () =>
    Effect.gen(function*() {
      const log = script(Effect.never, Effect.interrupt, Effect.never, Effect.void)
      yield* register(log, { retry: exactly, deadline: "1 second" })
      yield* create("blog")
      yield* TestClock.adjust("1 minute")
      const text = yield* scrape
      assert.strictEqual(value(text, "controller_runtime_reconcile_timeouts_total{controller=\"websites\"}"), 2)
      assert.strictEqual(value(text, "controller_runtime_reconcile_errors_total{controller=\"websites\"}"), 3)
    }).pipe(Effect.provide(engine()), isolated))

  it.effect("[E3] a give-up is counted, and its event tells of it once", () =>
    Effect.gen(function*() {
      yield* register(script<string>(failure), { retry: exactly, maxRetries: 1, recheck: "1 hour" })
      yield* create("blog")
      yield* TestClock.adjust("3 hours")
      assert.strictEqual(value(yield* scrape, "setpoint_give_ups_total{controller=\"websites\"}"), 3)
      const { items } = yield* Store.list(EventRecorder.Event)
      assert.deepStrictEqual(new Set(items.map(({ reason }) => reason)), new Set(["ReconcileGaveUp"]))
    }).pipe(Effect.provide(engine({ controller: { events: true } })), isolated))

  it.effect("the paused show in metrics, keys and registration", () =>
    Effect.gen(function*() {
      const registration = yield* register(script())
      yield* create("blog")
      yield* annotate("blog", paused)
      assert.strictEqual(value(yield* scrape, "setpoint_paused{controller=\"websites\"}"), 1)
      yield* registration.pause
      assert.strictEqual(value(yield* scrape, "setpoint_paused{controller=\"websites\"}"), 2)
    }).pipe(Effect.provide(engine()), isolated))

  it.effect("[C123] the series of a registration end with it", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      yield* Scope.provide(register(script()), scope)
      assert.include(yield* scrape, "controller=\"websites\"")
      yield* Scope.close(scope, Exit.void)
      assert.notInclude(yield* scrape, "controller=\"websites\"")
    }).pipe(Effect.provide(engine()), isolated))

  it.effect("a pass has a span where a tracer listens, with its causes", () =>
    Effect.gen(function*() {
      const spans: Array<Tracer.Span> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      const log = script(Effect.withSpan(Effect.void, "inner"))
      yield* register(log, { name: "sites" }).pipe(Effect.provideService(Tracer.Tracer, tracer))
      yield* create("blog")
      const span = spans.find(({ name }) => name === "reconcile Website.example.dev")
      assert.strictEqual(span?.attributes.get("setpoint.object"), "default/blog")
      assert.strictEqual(span?.attributes.get("setpoint.registration"), "sites")
      assert.deepStrictEqual(span?.attributes.get("setpoint.causes"), ["Event"])
      const inner = spans.find(({ name }) => name === "inner")
      assert.strictEqual(Option.getOrUndefined(inner?.parent ?? Option.none()), span)
    }).pipe(Effect.provide(engine())))

  it.effect("[Q9] a probe tells where a key is, why it runs and when; asking leaves no trace", () =>
    Effect.gen(function*() {
      const log = script<string>(Effect.sleep("1 second"), failure, Effect.void)
      const registration = yield* register(log, { retry: exactly })
      const place = (name: string) => Effect.map(registration.probe({ name }), (_) => _?.place)
      assert.strictEqual(yield* place("blog"), undefined)
      yield* create("blog")
      assert.strictEqual(yield* place("blog"), "running")
      yield* registration.enqueue({ name: "blog" }, "a webhook")
      yield* TestClock.adjust("1 second")
      const probed = yield* registration.probe({ name: "blog" })
      assert.strictEqual(probed?.place, "waiting")
      assert.strictEqual(probed?.failures, 1)
      assert.strictEqual(probed?.dueInMillis, 100)
      assert.deepStrictEqual(probed?.causes, [{ _tag: "Retry" }])
      assert.strictEqual(probed?.request, log.requests[0])
      assert.strictEqual((yield* registration.status).failing, 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* place("blog"), undefined)
    }).pipe(Effect.provide(engine())))

  it.effect("the status of all registrations is read at any time", () =>
    Effect.gen(function*() {
      const controller = yield* Controller.Controller
      const faults = yield* Faults
      yield* register(script(Effect.sleep("1 second")), { name: "a" })
      yield* register(script(), { name: "b" })
      yield* create("blog")
      const status = yield* controller.status
      assert.deepStrictEqual(status.map(({ name, running, synced }) => [name, running, synced]), [["a", 1, true], [
        "b",
        0,
        true
      ]])
      assert.deepStrictEqual([status[0]?.kind, status[0]?.store], ["Website.example.dev", "default"])
      assert.strictEqual((yield* controller.registration("a")).name, "a")
      assert.strictEqual(faults.count("write Website updateStatus"), 0)
    }).pipe(Effect.provide(engine())))

  it.effect("a registration is ready in Health when its caches are synced", () =>
    Effect.gen(function*() {
      yield* register(script())
      const report = yield* Health.report
      assert.isTrue(report.ready)
      assert.include(Health.text(report), "registration websites")
    }).pipe(Effect.provide(Layer.provideMerge(engine(), Health.layer))))

  it.effect("the Observer hears of each pass, its start and its end, and what it failed with", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const observer: Controller.Observer = {
        passStarted: ({ request }) => heard.push(`${request.name} starts`),
        passEnded: ({ request }: Pass.Pass, end, error) => heard.push(`${request.name} ${end} ${String(error)}`)
      }
      yield* Effect.gen(function*() {
        yield* register(script<string>(Effect.void, failure))
        yield* create("blog")
        yield* create("shop")
      }).pipe(Effect.provide(engine()), Effect.provideService(Controller.Observer, observer))
      assert.deepStrictEqual(heard.slice(0, 4), [
        "blog starts",
        "blog Done undefined",
        "shop starts",
        "shop Failed a test"
      ])
    }))
})

describe("a Probe", () => {
  it.effect("[Q9] shows every key that is kept, what it waits for, and the caches", () =>
    Effect.gen(function*() {
      const probes: Array<Controller.Probe> = []
      const observer: Controller.Observer = {
        began: (probe) => probes.push(probe),
        passStarted: () => {},
        passEnded: () => {}
      }
      yield* Effect.gen(function*() {
        yield* register(script<string>(Effect.void, failure))
        yield* create("blog")
        yield* create("shop")
        yield* TestClock.adjust(1)
        const [probe] = probes
        const keys = probe === undefined ? [] : yield* probe.keys
        const shown = keys.map(({ failures, place, registration, request }) =>
          `${registration} ${request.name} ${place} ${failures}`
        )
        assert.deepStrictEqual(shown, ["websites shop waiting 1"])
        assert.include(probe?.caches().map(({ kind }) => kind), "Website.example.dev")
        assert.strictEqual(
          (yield* Effect.serviceOption(Controller.Controller)).pipe(Option.getOrUndefined),
          probe?.controller
        )
      }).pipe(Effect.provide(engine()), Effect.provideService(Controller.Observer, observer))
    }))
})

describe("what is remembered of a key", () => {
  it.effect("[E11] a time that a pass set itself does not hide that its own writes alone cause it", () =>
    Effect.gen(function*() {
      let passes = 0
      const reconcile = Effect.fnUntraced(function*(request: { readonly namespace: string; readonly name: string }) {
        const read = yield* Store.get(Website, request)
        yield* Store.updateStatus(Website, read, { ready: ++passes })
        return Outcome.requeueAfter("1 hour")
      })
      yield* register({ reconcile }, { predicate: () => true })
      yield* create("blog")
      yield* TestClock.adjust("10 seconds")
      assert.isAtMost(passes, 16)
      assert.strictEqual(value(yield* scrape, "setpoint_hot_loops_total{controller=\"websites\"}"), 1)
    }).pipe(Effect.provide(engine()), isolated))

  it.effect("[E11] a requeueAfter that writes each time is no hot loop: the timer is another cause", () =>
    Effect.gen(function*() {
      let passes = 0
      const reconcile = Effect.fnUntraced(function*(request: { readonly namespace: string; readonly name: string }) {
        const read = yield* Store.get(Website, request)
        yield* Store.updateStatus(Website, read, { ready: ++passes })
        return Outcome.requeueAfter("1 second")
      })
      yield* register({ reconcile })
      yield* create("blog")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(passes, 61)
      assert.strictEqual(value(yield* scrape, "setpoint_hot_loops_total{controller=\"websites\"}"), 0)
    }).pipe(Effect.provide(engine()), isolated))

  it.effect("[E11] an answer in status to each of many changes that others make is no hot loop", () =>
    Effect.gen(function*() {
      let passes = 0
      const reconcile = Effect.fnUntraced(function*(request: { readonly namespace: string; readonly name: string }) {
        const read = yield* Store.get(Website, request)
        yield* Store.updateStatus(Website, read, { ready: ++passes })
        if (passes === 20) return
        // Somebody else's, while the pass runs: so the key is never idle, and what it remembers stays.
        yield* Store.patchUnconditionally(Website, request, { merge: { spec: { host: `host-${passes}` } } }).pipe(
          Effect.provideService(Pass.Current, undefined)
        )
      })
      yield* register({ reconcile })
      yield* create("blog")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(passes, 20)
      assert.strictEqual(value(yield* scrape, "setpoint_hot_loops_total{controller=\"websites\"}"), 0)
    }).pipe(Effect.provide(engine()), isolated))

  it.effect("[E10] a key without an object is held for its writes as any other, and is one request while it is", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const ensured = Store.ensure(Server, { name: "s" }, () => ({ metadata: { name: "s" }, spec: { port: 1 } }))
      const log = script(Effect.asVoid(ensured))
      const registration = yield* register(log, { owns: [Server] })
      faults.events.closeUnsafe()
      yield* registration.enqueue({ name: "ghost" })
      yield* settle
      yield* registration.enqueue({ name: "ghost" })
      yield* settle
      assert.strictEqual((yield* registration.probe({ name: "ghost" }))?.place, "held")
      assert.strictEqual(log.passes.length, 1)
      yield* faults.events.open
      yield* settle
      assert.strictEqual(log.passes.length, 2)
      assert.strictEqual(log.requests[0], log.requests[1])
      assert.strictEqual(yield* registration.probe({ name: "ghost" }), undefined)
    }).pipe(Effect.provide(engine())))
})

// ---------------------------------------------------------------------------------------------------------------------
// helpers
// ---------------------------------------------------------------------------------------------------------------------

const paused = { "setpoint.dev/paused": "true" }

const annotate = (name: string, annotations: { readonly [name: string]: string | null }) =>
  Effect.tap(
    Store.patchUnconditionally(Website, { name }, { merge: { metadata: { annotations } } }),
    () => settle
  )

const read = (name: string) => Store.latest(Website, { name })

const scrape = PrometheusMetrics.format()

const isolated = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.provideService(effect, Metric.MetricRegistry, new Map())

/** The value of a series in a scrape. */
const value = (text: string, series: string): number | undefined => {
  const line = text.split("\n").find((line) => line.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}
