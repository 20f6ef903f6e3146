import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/testing/TestClock"
import { Controller, EventRecorder, Outcome, Reconciler, Store } from "setpoint"
import { Conflict, TooManyRequests } from "setpoint/StoreError"
import {
  change,
  create,
  engine,
  failure,
  Faults,
  register,
  script,
  settle,
  storeFailure,
  Website
} from "./support/engine.ts"

const exactly = Schedule.exponential("100 millis") // no jitter: 100, 200, 400 ms

describe("E1: what a pass satisfies", () => {
  it.effect("[E1] [C087] a pass satisfies every add made before it, delayed ones too, and the key leaves the queue", () =>
    Effect.gen(function*() {
      const log = script(Effect.succeed(Outcome.requeueAfter("10 seconds")), Effect.succeed(Outcome.done))
      const registration = yield* register(log)
      yield* create("blog")
      yield* settle
      assert.strictEqual((yield* registration.probe({ name: "blog" }))?.place, "waiting")
      yield* TestClock.adjust("4 seconds")
      yield* registration.enqueue({ name: "blog" })
      yield* settle
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@4000"])
      assert.strictEqual(yield* registration.probe({ name: "blog" }), undefined)
    }).pipe(Effect.provide(engine())))

  it.effect("[E1] [C139] adds during a pass are kept: they make one more pass, and never overlap it", () =>
    Effect.gen(function*() {
      let running = 0
      let most = 0
      const slow = Effect.gen(function*() {
        most = Math.max(most, ++running)
        yield* Effect.sleep("1 second")
        running--
      })
      const log = script(slow)
      const registration = yield* register(log)
      yield* create("blog")
      yield* settle
      yield* registration.enqueue({ name: "blog" }, "one")
      yield* registration.enqueue({ name: "blog" }, "two")
      yield* change("blog", "b.example")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@1000"])
      assert.strictEqual(most, 1)
    }).pipe(Effect.provide(engine())))

  it.effect("[E1] [F04] a periodic requeue is not multiplied by events: the time is the last Outcome's", () =>
    Effect.gen(function*() {
      const log = script(Effect.succeed(Outcome.requeueAfter("50 millis")))
      const registration = yield* register(log)
      yield* create("blog")
      yield* settle
      for (let i = 0; i < 5; i++) {
        yield* TestClock.adjust("20 millis")
        yield* registration.enqueue({ name: "blog" })
        yield* settle
      }
      assert.strictEqual(log.passes.length, 6)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(log.passes.length, 26)
      assert.strictEqual(log.passes[6], "blog@150")
    }).pipe(Effect.provide(engine())))

  it.effect("[E1] an add during a pass and the Outcome's time are merged: the earlier one runs, and takes the other with it", () =>
    Effect.gen(function*() {
      const slow = Effect.as(Effect.sleep("1 second"), Outcome.requeueAfter("5 seconds"))
      const log = script(slow, Effect.succeed(Outcome.done))
      const registration = yield* register(log)
      yield* create("blog")
      yield* settle
      yield* registration.enqueue({ name: "blog" })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@1000"])
      assert.deepStrictEqual(log.causes[1], ["Enqueue", "RequeueAfter"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E1] [C137] [C138] debounce waits for quiet: each add restarts the window", () =>
    Effect.gen(function*() {
      const log = script()
      const registration = yield* register(log, { debounce: { window: "2 seconds" } })
      yield* registration.enqueue({ name: "blog" })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(log.passes, [])
      yield* registration.enqueue({ name: "blog" })
      yield* TestClock.adjust("1999 millis")
      assert.deepStrictEqual(log.passes, [])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(log.passes, ["blog@3000"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E1] a key that is never quiet runs after maxWait, five windows by default", () =>
    Effect.gen(function*() {
      const byDefault = script()
      const short = script()
      const a = yield* register(byDefault, { name: "a", debounce: { window: "1 second" } })
      const b = yield* register(short, { name: "b", debounce: { window: "1 second", maxWait: "2 seconds" } })
      for (let i = 0; i < 12; i++) {
        yield* a.enqueue({ name: "blog" })
        yield* b.enqueue({ name: "blog" })
        yield* TestClock.adjust("500 millis")
      }
      assert.deepStrictEqual(byDefault.passes, ["blog@5000"])
      assert.deepStrictEqual(short.passes, ["blog@2000", "blog@4000", "blog@6000"])
    }).pipe(Effect.provide(engine())))
})

describe("E2: what an end of a pass leads to", () => {
  it.effect("[E2] [C058] done waits for the next change, and a reconcile that returns nothing means the same", () =>
    Effect.gen(function*() {
      const log = script(Effect.succeed(Outcome.done), Effect.void)
      yield* register(log)
      yield* create("blog")
      yield* TestClock.adjust("8 hours")
      assert.deepStrictEqual(log.passes, ["blog@0"])
      yield* change("blog", "b.example")
      yield* TestClock.adjust("9 minutes")
      assert.strictEqual(log.passes.length, 2)
      const [request] = log.requests
      assert.strictEqual(`${request?.store} ${request?.kind}`, "default Website.example.dev")
      assert.strictEqual(`${request?.namespace}/${request?.name}`, "default/blog")
    }).pipe(Effect.provide(engine())))

  it.effect("[E2] [C091] requeue runs again in lane 1 after the kind's Schedule, stepped by requeues in a row", () =>
    Effect.gen(function*() {
      const again = Effect.succeed(Outcome.requeue)
      const log = script(again, again, again, Effect.succeed(Outcome.done), again, again)
      const registration = yield* register(log, { requeue: exactly })
      yield* create("blog")
      yield* settle
      const probed = yield* registration.probe({ name: "blog" })
      assert.deepStrictEqual(probed?.causes.map((cause) => cause._tag), ["Requeue"])
      assert.strictEqual(probed?.dueInMillis, 100)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@100", "blog@300", "blog@700"])
      yield* registration.enqueue({ name: "blog" })
      yield* TestClock.adjust("200 millis") // the row was broken by done: it begins at 100 again
      assert.deepStrictEqual(log.passes.slice(4), ["blog@1000", "blog@1100"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E2] any other end of a pass breaks a row of requeues", () =>
    Effect.gen(function*() {
      const again = Effect.succeed(Outcome.requeue)
      const log = script<string>(again, again, Effect.succeed(Outcome.requeueAfter("1 second")), again, failure, again)
      yield* register(log, { requeue: exactly, retry: exactly })
      yield* create("blog")
      yield* TestClock.adjust("1600 millis")
      assert.deepStrictEqual(log.passes, [
        "blog@0",
        "blog@100",
        "blog@300",
        "blog@1300",
        "blog@1400",
        "blog@1500",
        "blog@1600"
      ])
    }).pipe(Effect.provide(engine())))

  it.effect("[E2] [F03] [C094] requeueAfter runs after its own time and forgets the failures", () =>
    Effect.gen(function*() {
      const log = script<string>(failure, failure, Effect.succeed(Outcome.requeueAfter("7 seconds")), failure, failure)
      const registration = yield* register(log, { retry: exactly })
      yield* create("blog")
      yield* TestClock.adjust("300 millis")
      assert.strictEqual((yield* registration.probe({ name: "blog" }))?.failures, 0)
      yield* TestClock.adjust("7200 millis")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@100", "blog@300", "blog@7300", "blog@7400"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E2] requeueAfter of a time that is not in the future is requeue", () =>
    Effect.gen(function*() {
      const log = script(Effect.succeed(Outcome.requeueAfter(0)), Effect.succeed(Outcome.requeueAfter(-5)), Effect.void)
      yield* register(log, { requeue: exactly })
      yield* create("blog")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@100", "blog@300"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E2] [F02] [C088] a failure is retried by the Schedule while other keys go on, and success forgets it", () =>
    Effect.gen(function*() {
      const log = script<string>(failure, failure, Effect.void)
      const registration = yield* register(log, { retry: exactly, concurrency: 1 })
      yield* create("blog")
      yield* settle
      assert.strictEqual((yield* registration.probe({ name: "blog" }))?.failures, 1)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@100", "blog@300"])
      assert.strictEqual(yield* registration.probe({ name: "blog" }), undefined)
    }).pipe(Effect.provide(engine())))

  it.effect("[E2] [C090] the backoff lasts until a pass does not fail", () =>
    Effect.gen(function*() {
      const log = script<string>(failure, failure, failure, Effect.void, failure, Effect.void)
      const registration = yield* register(log, { retry: exactly })
      yield* create("blog")
      yield* TestClock.adjust("10 seconds")
      yield* registration.enqueue({ name: "blog" })
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(log.passes.slice(1), ["blog@100", "blog@300", "blog@700", "blog@10000", "blog@10100"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E2] a pass that fails before its retry was due does not step the backoff, and the retry keeps its time", () =>
    Effect.gen(function*() {
      const log = script<string>(failure)
      const registration = yield* register(log, { retry: exactly })
      yield* create("blog")
      yield* TestClock.adjust("300 millis") // 0, 100, 300: the next is due at 700
      for (let i = 0; i < 3; i++) {
        yield* TestClock.adjust("100 millis")
        yield* registration.enqueue({ name: "blog" })
        yield* settle
      }
      assert.strictEqual((yield* registration.probe({ name: "blog" }))?.failures, 3)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(log.passes.slice(3), ["blog@400", "blog@500", "blog@600", "blog@700", "blog@1500"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E2] [C089] Terminal is not retried: it waits for news, is not run by redelivery, and is rechecked after 30 minutes", () =>
    Effect.gen(function*() {
      const log = script<Reconciler.Terminal>(Effect.fail(Reconciler.terminal("the spec cannot be")))
      const registration = yield* register(log, { redelivery: "4 minutes" })
      yield* create("blog")
      yield* TestClock.adjust("29 minutes")
      assert.deepStrictEqual(log.passes, ["blog@0"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@1800000"])
      assert.deepStrictEqual(log.causes[1], ["Recheck"])
      yield* change("blog", "b.example")
      yield* settle
      yield* registration.enqueue({ name: "blog" })
      yield* settle
      assert.deepStrictEqual(log.causes.slice(2), [["Recheck", "Event"], ["Recheck", "Enqueue"]])
    }).pipe(Effect.provide(engine())))

  it.effect("[E2] the time of the slow recheck is an option", () =>
    Effect.gen(function*() {
      const log = script<Reconciler.Terminal>(Effect.fail(Reconciler.terminal("not yet")), Effect.void)
      yield* register(log, { recheck: "1 minute" })
      yield* create("blog")
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@60000"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E2] [C060] [C061] [C059] a defect is a failure, counted apart with what was thrown, and never fatal", () =>
    Effect.gen(function*() {
      const log = script(
        Effect.die(new Error("thrown in a pass")),
        Effect.sync(() => {
          throw new Error("thrown in a step")
        }),
        Effect.void
      )
      const other = script()
      const ends: Array<string> = []
      yield* register(log, { retry: exactly })
      yield* register(other, { name: "other" })
      yield* create("blog")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@100", "blog@300"])
      assert.deepStrictEqual(other.passes, ["blog@0"])
      assert.deepStrictEqual(ends, [])
      const events = yield* Store.list(EventRecorder.Event)
      assert.include(events.items.map((event) => event.message).join(), "thrown in a pass")
    }).pipe(Effect.provide(engine({ controller: { events: true } }))))

  it.effect("[E2] a defect in a finalizer of the pass is a failure too", () =>
    Effect.gen(function*() {
      const log = script(Effect.addFinalizer(() => Effect.die("the clean-up broke")), Effect.void)
      yield* register(log, { retry: exactly })
      yield* create("blog")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@100"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E2] a reconcile function that throws before it gives an Effect fails the pass alone", () =>
    Effect.gen(function*() {
      let passes = 0
      const controller = yield* Controller.Controller
      yield* controller.register(Reconciler.make(Website, {
        retry: exactly,
        reconcile: () => {
          if (++passes === 1) throw new Error("at once")
          return Effect.void
        }
      }))
      yield* create("blog")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(passes, 2)
    }).pipe(Effect.provide(engine())))

  it.effect("[E2] a Conflict is held until the cache has another revision than the write carried", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const stale = yield* create("blog")
      const log = script(Effect.void, write(stale), Effect.void)
      const registration = yield* register(log)
      faults.events.closeUnsafe()
      yield* change("blog", "b.example")
      yield* registration.enqueue({ name: "blog" })
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@0"])
      assert.strictEqual((yield* registration.probe({ name: "blog" }))?.place, "held")
      assert.strictEqual((yield* registration.probe({ name: "blog" }))?.failures, 0)
      yield* faults.events.open
      yield* settle
      assert.deepStrictEqual(log.passes.slice(2), ["blog@3000"])
      assert.deepStrictEqual(log.causes[2], ["Conflict", "Event"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E2] a Conflict holds a key for 10 seconds at most", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const stale = yield* create("blog")
      const log = script(Effect.void, write(stale), Effect.void)
      const registration = yield* register(log)
      faults.events.closeUnsafe()
      yield* change("blog", "b.example")
      yield* registration.enqueue({ name: "blog" })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@0", "blog@10000"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E2] where no cache covers the object, a Conflict waits for the Schedule's first delay, and the fifth in a row is a failure", () =>
    Effect.gen(function*() {
      const log = script(Effect.fail(storeFailure("Palette", new Conflict({ why: "a test" }))))
      const registration = yield* register(log, { retry: exactly })
      yield* create("blog")
      yield* TestClock.adjust("399 millis")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@100", "blog@200", "blog@300"])
      assert.strictEqual((yield* registration.probe({ name: "blog" }))?.failures, 0)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* registration.probe({ name: "blog" }))?.failures, 1)
      yield* TestClock.adjust("300 millis")
      assert.deepStrictEqual(log.passes.slice(4), ["blog@400", "blog@500", "blog@700"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E2] an interruption that the engine did not order is a failure", () =>
    Effect.gen(function*() {
      const log = script(Effect.interrupt, Effect.void)
      yield* register(log, { retry: exactly })
      yield* create("blog")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@100"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E2] who interrupts a pass's fiber from outside fails that pass, and no other", () =>
    Effect.gen(function*() {
      let fiber: Fiber.Fiber<unknown, unknown> | undefined = undefined
      const log = script(
        Effect.withFiber((running) => {
          fiber = running
          return Effect.never
        }),
        Effect.yieldNow
      )
      const registration = yield* register(log, { retry: exactly, concurrency: 1 })
      yield* create("a")
      yield* settle
      yield* create("b")
      yield* settle
      if (fiber !== undefined) (fiber as Fiber.Fiber<unknown, unknown>).interruptUnsafe()
      yield* settle
      assert.deepStrictEqual(log.passes, ["a@0", "b@0"])
      assert.strictEqual(yield* registration.probe({ name: "b" }), undefined)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(log.passes, ["a@0", "b@0", "a@100"])
    }).pipe(Effect.provide(engine({ controller: { workers: 1, events: false } }))))

  it.effect("[E2] of a store's TooManyRequests the later of its retryAfter and the Schedule's time counts", () =>
    Effect.gen(function*() {
      const busy = (retryAfterMillis: number) =>
        Effect.fail(storeFailure("Website", new TooManyRequests({ retryAfterMillis })))
      const log = script(busy(5_000), busy(10), Effect.void)
      yield* register(log, { retry: exactly })
      yield* create("blog")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@5000", "blog@5200"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E2] NotFound of the requested object ends the key quietly; of another object it is a failure", () =>
    Effect.gen(function*() {
      const own = script(Effect.asVoid(Store.get(Website, { name: "blog" })))
      const other = script(Effect.asVoid(Store.get(Website, { name: "shop" })))
      const a = yield* register(own, { name: "own" })
      const b = yield* register(other, { name: "other", retry: exactly })
      yield* a.enqueue({ name: "blog" })
      yield* b.enqueue({ name: "blog" })
      yield* TestClock.adjust("300 millis")
      assert.deepStrictEqual(own.passes, ["blog@0"])
      assert.deepStrictEqual(other.passes, ["blog@0", "blog@100", "blog@300"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E2] NotFound that the reconciler handles is its own to answer", () =>
    Effect.gen(function*() {
      const cleanUp = Store.get(Website, { name: "blog" }).pipe(
        Effect.as(Outcome.done),
        Effect.catchReason("StoreError", "NotFound", () => Effect.succeed(Outcome.requeueAfter("1 second")))
      )
      const log = script(cleanUp)
      const registration = yield* register(log)
      yield* registration.enqueue({ name: "blog" })
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@1000", "blog@2000"])
    }).pipe(Effect.provide(engine())))

  it("[E2] [C097] an error together with a delay cannot be written", () => {
    // @ts-expect-error an Outcome has no error
    const both: Outcome.Outcome = { _tag: "RequeueAfter", delayMillis: 10, error: "broken" }
    // @ts-expect-error and none can be given
    assert.deepStrictEqual(Outcome.requeueAfter(10, new Error("broken")), { _tag: both._tag, delayMillis: 10 })
    Reconciler.make(Website, {
      // @ts-expect-error nothing but an Outcome is one
      reconcile: () => Effect.succeed({ requeueAfter: 10 })
    })
  })

  it.effect("[S12] [E2] an object that does not decode is Terminal for its own key, and no other's", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const registration = yield* register({ reconcile: (request) => Effect.asVoid(Store.get(Website, request)) })
      const fine = yield* create("fine")
      const object = { ...fine, metadata: { ...fine.metadata, name: "bad" }, spec: { host: 7 } }
      yield* faults.target.write(Website.address, { op: "create", object }, { writeId: "w", hasStatus: true })
      yield* settle
      const probed = yield* registration.probe({ name: "bad" })
      assert.strictEqual(probed?.dueInMillis, 1_800_000)
      assert.strictEqual(yield* registration.probe({ name: "fine" }), undefined)
    }).pipe(Effect.provide(engine())))
})

describe("E3: giving up", () => {
  it.effect("[E3] after maxRetries a key gives up: it is reported, and falls to the slow recheck", () =>
    Effect.gen(function*() {
      const log = script<string>(failure)
      yield* register(log, { retry: exactly, maxRetries: 2 })
      yield* create("blog")
      yield* TestClock.adjust("30 minutes")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@100", "blog@300"])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(log.passes[3], "blog@1800300")
      assert.deepStrictEqual(log.causes[3], ["Recheck"])
      const events = yield* Store.list(EventRecorder.Event)
      assert.deepStrictEqual(events.items.map(({ reason }) => reason), ["ReconcileGaveUp"])
    }).pipe(Effect.provide(engine({ controller: { events: true } }))))

  it.effect("[E3] when the Schedule ends the key gives up, and an event or success begins anew", () =>
    Effect.gen(function*() {
      const log = script<string>(failure, failure, failure, Effect.void, failure)
      const registration = yield* register(log, { retry: Schedule.upTo(exactly, { times: 2 }) })
      yield* create("blog")
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@100", "blog@300"])
      assert.strictEqual((yield* registration.probe({ name: "blog" }))?.place, "waiting")
      yield* change("blog", "b.example")
      yield* settle
      assert.strictEqual(log.passes.length, 4)
      yield* registration.enqueue({ name: "blog" })
      yield* TestClock.adjust("100 millis")
      assert.strictEqual(log.passes.length, 6)
    }).pipe(Effect.provide(engine())))

  it.effect("[E3] a row of requeues that its Schedule does not go on with is reported too", () =>
    Effect.gen(function*() {
      const log = script(Effect.succeed(Outcome.requeue))
      yield* register(log, { requeue: Schedule.upTo(exactly, { times: 2 }) })
      yield* create("blog")
      yield* TestClock.adjust("30 minutes")
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@100", "blog@300"])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(log.causes[3], ["Recheck"])
      const events = yield* Store.list(EventRecorder.Event)
      assert.deepStrictEqual(events.items.map(({ reason }) => reason), ["ReconcileGaveUp"])
    }).pipe(Effect.provide(engine({ controller: { events: true } }))))

  it.effect("[E3] by default a key never gives up", () =>
    Effect.gen(function*() {
      const log = script<string>(failure)
      yield* register(log)
      yield* create("blog")
      yield* TestClock.adjust("3 hours")
      const before = log.passes.length
      yield* TestClock.adjust("6 minutes")
      assert.isAbove(log.passes.length, before)
    }).pipe(Effect.provide(engine())))
})

describe("E9: the deadline of a pass", () => {
  it.effect("[E9] [C062] [C064] a pass past its deadline is interrupted and counts as a failure", () =>
    Effect.gen(function*() {
      let interrupted = 0
      const stuck = Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++))
      const log = script(stuck, Effect.sleep("999 millis"))
      yield* register(log, { retry: exactly, deadline: "1 second" })
      yield* create("blog")
      yield* TestClock.adjust("999 millis")
      assert.strictEqual(interrupted, 0)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(interrupted, 1)
      assert.deepStrictEqual(log.passes, ["blog@0", "blog@1100"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E9] a pass with a deadline has its services and its causes, and ends with its own error", () =>
    Effect.gen(function*() {
      const log = script<unknown, Store.Store>(
        Store.get(Website, { name: "blog" }).pipe(Effect.asVoid),
        failure,
        Effect.void
      )
      const registration = yield* register(log, { deadline: "1 second", retry: exactly })
      yield* create("blog")
      yield* change("blog", "b.example")
      assert.deepStrictEqual(log.causes, [["Event"], ["Event"]])
      assert.strictEqual((yield* registration.probe({ name: "blog" }))?.dueInMillis, 100)
    }).pipe(Effect.provide(engine())))

  it.effect("[E9] [C063] by default a pass has no deadline", () =>
    Effect.gen(function*() {
      const log = script(Effect.sleep("2 days"), Effect.void)
      const registration = yield* register(log)
      yield* create("blog")
      yield* TestClock.adjust("47 hours")
      assert.strictEqual((yield* registration.probe({ name: "blog" }))?.place, "running")
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(log.passes[1], "blog@172800000")
    }).pipe(Effect.provide(engine())))
})

// ---------------------------------------------------------------------------------------------------------------------
// helpers
// ---------------------------------------------------------------------------------------------------------------------

/** Writes a website as it was when it was read. */
const write = (read: Website) => Effect.asVoid(Store.update(Website, { ...read, spec: { host: "c.example" } }))
