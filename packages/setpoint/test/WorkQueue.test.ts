import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Tracer from "effect/Tracer"
import { RateLimiter, WorkQueue } from "setpoint"

describe("WorkQueue", () => {
  describe("Ordering", () => {
    it.effect("[Q3] [C027] [C028] keys come out first in, first out, and leave nothing behind", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* adds(queue, "a", "b", "c")
        assert.deepStrictEqual(yield* rounds(queue), ["a", "b", "c"])
        assert.strictEqual(yield* WorkQueue.depth(queue), 0)
        assert.strictEqual((yield* WorkQueue.metrics(queue)).workqueue_adds_total, 3)
      }))

    it.effect("[Q3] [C046] a higher lane comes first, however old the lower one's keys are", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.add(queue, "listed", { lane: 2 })
        yield* WorkQueue.add(queue, "requeued", { lane: 1 })
        yield* WorkQueue.addAfter(queue, "changed", "1 second", { lane: 0 })
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* rounds(queue), ["changed", "requeued", "listed"])
      }))

    it.effect("[Q3] [C033] [C035] [C042] a higher add lifts a ready key, behind those already in that lane", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.add(queue, "low", { lane: 2 })
        yield* WorkQueue.add(queue, "lifted", { lane: 2 })
        yield* WorkQueue.add(queue, "high", { lane: 0 })
        yield* WorkQueue.add(queue, "lifted", { lane: 0 })
        assert.deepStrictEqual(yield* rounds(queue), ["high", "lifted", "low"])
      }))

    it.effect("[Q3] [C034] a lower add sinks no key", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.add(queue, "a", { lane: 0 })
        yield* WorkQueue.add(queue, "b", { lane: 0 })
        yield* WorkQueue.add(queue, "a", { lane: 2 })
        assert.deepStrictEqual(yield* rounds(queue), ["a", "b"])
      }))

    it.effect("[Q3] a ready key rises one lane each ten seconds, while lane 0 is never empty", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.add(queue, "listed", { lane: 2 })
        yield* WorkQueue.add(queue, "changed 0", { lane: 0 })
        const order: Array<string> = []
        for (let second = 1; second <= 25; second++) {
          yield* TestClock.adjust("1 second")
          yield* WorkQueue.add(queue, `changed ${second}`, { lane: 0 })
          const ticket = yield* WorkQueue.take(queue)
          yield* WorkQueue.finish(queue, ticket)
          order.push(ticket.key)
        }
        // Always one key of lane 0 is ready. At 20 s the listed key is in lane 0 too, behind the one added at 19 s.
        assert.strictEqual(order.indexOf("listed"), 20)
      }))

    it.effect("[Q3] an add in the lane to which a key has risen does not sink it", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>({ ageAfter: "1 second" })
        yield* WorkQueue.add(queue, "old", { lane: 1 })
        yield* TestClock.adjust("1 second")
        yield* WorkQueue.add(queue, "young", { lane: 0 })
        yield* WorkQueue.add(queue, "old", { lane: 0 })
        assert.deepStrictEqual(yield* rounds(queue), ["old", "young"])
      }))

    it.effect("[Q3] nor does an add in a lane below the one to which it has risen", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>({ ageAfter: "1 second" })
        yield* WorkQueue.add(queue, "old", { lane: 2 })
        yield* TestClock.adjust("2 seconds")
        yield* WorkQueue.add(queue, "young", { lane: 0 })
        yield* WorkQueue.add(queue, "old", { lane: 1 })
        assert.deepStrictEqual(yield* rounds(queue), ["old", "young"])
      }))

    it.effect("[C044] lanes are kept with delays of minus one, none and one second, and each lane its order", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        const keys = (lane: WorkQueue.Lane) => Array.from({ length: 1000 }, (_, i) => `${lane}/${i}`)
        for (let round = 0; round < 5; round++) {
          for (const delay of [-1000, 0, 1000]) {
            for (const lane of [2, 0, 1] as const) {
              for (const key of keys(lane)) yield* WorkQueue.addAfter(queue, key, delay, { lane })
            }
            yield* TestClock.adjust("1 second")
            assert.deepStrictEqual(yield* rounds(queue), [...keys(0), ...keys(1), ...keys(2)])
          }
        }
      }))

    it.effect("[Q2] [C004] [C030] a key added while it runs takes its place in line when its pass ends", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.add(queue, "a")
        const ticket = yield* WorkQueue.take(queue)
        yield* adds(queue, "a", "b")
        yield* WorkQueue.finish(queue, ticket)
        yield* WorkQueue.add(queue, "c")
        assert.deepStrictEqual(yield* rounds(queue), ["b", "a", "c"])
        assert.deepStrictEqual(yield* rounds(queue), [])
      }))
  })

  describe("Delivery", () => {
    it.effect("[Q1] [C003] [C005] [C031] [F07] adds of a ready key are one", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* adds(queue, "a", "a", "b", "a", "a", "a")
        assert.strictEqual(yield* WorkQueue.depth(queue), 2)
        assert.deepStrictEqual(yield* rounds(queue), ["a", "b"])
      }))

    it.effect("[Q2] [C006] [C029] [F12] adds during a pass make one more pass, after it and in no other worker", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.add(queue, "a")
        const first = yield* WorkQueue.take(queue)
        yield* adds(queue, "a", "a")
        const second = yield* Effect.forkChild(WorkQueue.take(queue), { startImmediately: true })
        yield* TestClock.adjust("1 second")
        assert.isUndefined(second.pollUnsafe(), "the second worker waits")
        yield* WorkQueue.add(queue, "b")
        assert.strictEqual((yield* Fiber.join(second)).key, "b")
        yield* WorkQueue.finish(queue, first)
        assert.deepStrictEqual(yield* rounds(queue), ["a"])
      }))

    it.effect("[C032] a key added while it runs is not in the depth until its pass ends", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.add(queue, "a")
        const ticket = yield* WorkQueue.take(queue)
        assert.isTrue(yield* WorkQueue.add(queue, "a"))
        assert.strictEqual(yield* WorkQueue.depth(queue), 0)
        yield* WorkQueue.finish(queue, ticket)
        assert.strictEqual(yield* WorkQueue.depth(queue), 1)
      }))

    it.effect("[Q4] [C013] [C037] [C045] [C051] a delayed key is ready at its time, not a tick before, and once", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.addAfter(queue, "a", "50 millis")
        yield* TestClock.adjust("49 millis")
        assert.strictEqual(yield* WorkQueue.depth(queue), 0)
        assert.isUndefined(WorkQueue.takeUnsafe(queue))
        yield* TestClock.adjust("1 millis")
        assert.strictEqual(yield* WorkQueue.depth(queue), 1)
        assert.deepStrictEqual((yield* WorkQueue.metrics(queue)).workqueue_depth, [0, 1, 0])
        assert.deepStrictEqual(yield* rounds(queue), ["a"])
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* rounds(queue), [])
      }))

    for (const [first, second] of [["1 second", "3 seconds"], ["3 seconds", "1 second"]] as const) {
      it.effect(`[Q4] [C014] [C036] [C132] [C133] [C135] [C136] [F10] [F11] of ${first} and then ${second} the earlier wins, once`, () =>
        Effect.gen(function*() {
          const queue = yield* WorkQueue.make<string>()
          yield* WorkQueue.addAfter(queue, "a", first)
          yield* WorkQueue.addAfter(queue, "a", second)
          yield* TestClock.adjust("1 second")
          assert.deepStrictEqual(yield* rounds(queue), ["a"])
          yield* TestClock.adjust("1 hour")
          assert.deepStrictEqual(yield* rounds(queue), [])
        }))
    }

    it.effect("[F11] an equal delayed add is dropped: the key keeps its place among those of its time", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        for (const key of ["a", "b", "a"]) yield* WorkQueue.addAfter(queue, key, "1 second")
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* rounds(queue), ["a", "b"])
      }))

    it.effect("[Q4] [C015] [C131] [C049] delayed keys come in order of their times, not of their adds", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.addAfter(queue, "late", "3 seconds")
        yield* WorkQueue.addAfter(queue, "early", "1 second")
        yield* TestClock.adjust("999 millis")
        assert.deepStrictEqual(yield* rounds(queue), [])
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(yield* rounds(queue), ["early"])
        yield* TestClock.adjust("2 seconds")
        assert.deepStrictEqual(yield* rounds(queue), ["late"])
      }))

    it.effect("[C016] keys whose times have all come are in order of their times", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.addAfter(queue, "1 s", "1 second")
        yield* WorkQueue.addAfter(queue, "500 ms", "500 millis")
        yield* WorkQueue.addAfter(queue, "250 ms", "250 millis")
        yield* TestClock.adjust("2 seconds")
        assert.deepStrictEqual(yield* rounds(queue), ["250 ms", "500 ms", "1 s"])
      }))

    it.effect("[Q4] [C048] [C040] [C052] a direct add absorbs a delayed one, and counts once", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.addAfter(queue, "a", "1 second")
        yield* WorkQueue.add(queue, "a")
        assert.strictEqual(yield* WorkQueue.depth(queue), 1)
        assert.deepStrictEqual(yield* rounds(queue), ["a"])
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* rounds(queue), [])
        const metrics = yield* WorkQueue.metrics(queue)
        assert.strictEqual(metrics.workqueue_adds_total, 1)
        assert.deepStrictEqual(metrics.workqueue_depth, [0, 0, 0])
      }))

    it.effect("[C052] an expired delay and a direct add count once", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.addAfter(queue, "a", "1 second")
        yield* TestClock.adjust("1 second")
        yield* WorkQueue.add(queue, "a")
        assert.strictEqual((yield* WorkQueue.metrics(queue)).workqueue_adds_total, 1)
        assert.deepStrictEqual(yield* rounds(queue), ["a"])
      }))

    it.effect("[C041] [C055] depth is by lane, of which there are three, and of the key's lane only", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.addAfter(queue, "a", "1 second", { lane: 2 })
        yield* WorkQueue.add(queue, "a", { lane: 0 })
        assert.deepStrictEqual((yield* WorkQueue.metrics(queue)).workqueue_depth, [1, 0, 0])
        yield* WorkQueue.add(queue, "b", { lane: 2 })
        yield* WorkQueue.add(queue, "b", { lane: 1 })
        assert.deepStrictEqual((yield* WorkQueue.metrics(queue)).workqueue_depth, [1, 1, 0])
        yield* rounds(queue)
        assert.deepStrictEqual((yield* WorkQueue.metrics(queue)).workqueue_depth, [0, 0, 0])
      }))

    it.effect("[Q4] a delayed add of a ready key is absorbed", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.add(queue, "a")
        yield* WorkQueue.addAfter(queue, "a", "1 second")
        assert.deepStrictEqual(yield* rounds(queue), ["a"])
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* rounds(queue), [])
      }))

    for (const delay of [0, -1, -Infinity, Number.NaN] as const) {
      it.effect(`[Q4] a delay of ${delay} is a direct add`, () =>
        Effect.gen(function*() {
          const queue = yield* WorkQueue.make<string>()
          yield* WorkQueue.addAfter(queue, "a", delay)
          assert.deepStrictEqual(yield* rounds(queue), ["a"])
        }))
    }

    it.effect("[Q4] a delay beyond what a timer can count ends at its time", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.addAfter(queue, "a", 2 ** 31)
        yield* TestClock.adjust(2 ** 31 - 1)
        assert.deepStrictEqual(yield* rounds(queue), [])
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* rounds(queue), ["a"])
      }))

    it.effect("[Q4] an endless delay waits for a direct add and delays no other key", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.addAfter(queue, "never", Infinity)
        yield* WorkQueue.addAfter(queue, "huge", Number.MAX_VALUE)
        yield* WorkQueue.addAfter(queue, "soon", "1 second")
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* rounds(queue), ["soon"])
        yield* TestClock.adjust("3650 days")
        assert.deepStrictEqual(yield* rounds(queue), [])
        yield* WorkQueue.add(queue, "never")
        assert.deepStrictEqual(yield* rounds(queue), ["never"])
      }))

    it.effect("[Q4] a part of a millisecond is a whole one", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.addAfter(queue, "a", 0.25)
        assert.deepStrictEqual(yield* rounds(queue), [])
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* rounds(queue), ["a"])
      }))

    it.effect("[C134] a key may be added with a delay again after it was delivered", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        for (let i = 0; i < 3; i++) {
          yield* WorkQueue.addAfter(queue, "a", "1 second")
          yield* TestClock.adjust("1 second")
          assert.deepStrictEqual(yield* rounds(queue), ["a"])
        }
      }))

    it.effect("[E1] [Q4] delayed adds during a pass are merged with what follows it: the earliest time wins", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.add(queue, "a")
        const ticket = yield* WorkQueue.take(queue)
        yield* WorkQueue.addAfter(queue, "a", "10 seconds")
        yield* WorkQueue.addAfter(queue, "a", "5 seconds")
        yield* WorkQueue.finish(queue, ticket, { next: { delayMillis: 7000 } })
        yield* TestClock.adjust("4999 millis")
        assert.deepStrictEqual(yield* rounds(queue), [])
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(yield* rounds(queue), ["a"])
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* rounds(queue), [])
      }))

    it.effect("[E1] [Q2] a direct add during a pass absorbs the time that follows it", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.add(queue, "a")
        const ticket = yield* WorkQueue.take(queue)
        yield* WorkQueue.add(queue, "a")
        yield* WorkQueue.finish(queue, ticket, { next: { delayMillis: 7000 } })
        assert.deepStrictEqual(yield* rounds(queue), ["a"])
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* rounds(queue), [])
      }))

    it.effect("[E1] a time that passed during the pass is a direct add at its end", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.add(queue, "a")
        const ticket = yield* WorkQueue.take(queue)
        yield* WorkQueue.addAfter(queue, "a", "1 second")
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(yield* WorkQueue.depth(queue), 0)
        yield* WorkQueue.finish(queue, ticket)
        assert.deepStrictEqual(yield* rounds(queue), ["a"])
      }))

    it.effect("[Q6] the reasons of all adds come with the key, so many by name and the rest as a number", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        for (let i = 0; i < 12; i++) yield* WorkQueue.add(queue, "a", { reason: `reason ${i % 10}` })
        yield* WorkQueue.addAfter(queue, "a", "1 second", { reason: "timer" })
        const ticket = yield* WorkQueue.take(queue)
        assert.deepStrictEqual(ticket.reasons, Array.from({ length: 8 }, (_, i) => `reason ${i}`))
        assert.strictEqual(ticket.others, 3)
      }))

    it.effect("[Q6] reasons heard during a pass come with the next one, and not with this", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.add(queue, "a", { reason: "first" })
        const first = yield* WorkQueue.take(queue)
        yield* WorkQueue.add(queue, "a", { reason: "second" })
        yield* WorkQueue.finish(queue, first, { next: { delayMillis: 1000, reason: "timer" } })
        assert.deepStrictEqual(first.reasons, ["first"])
        assert.deepStrictEqual((yield* WorkQueue.take(queue)).reasons, ["second", "timer"])
      }))

    it.effect("[Q6] the trace of the first add comes with the key", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        const [one, two] = [1, 2].map((i) => Tracer.externalSpan({ spanId: `${i}`, traceId: "t" }))
        yield* WorkQueue.add(queue, "a", { trace: one })
        yield* WorkQueue.add(queue, "a", { trace: two })
        const first = yield* WorkQueue.take(queue)
        assert.strictEqual(first.trace, one)
        yield* WorkQueue.add(queue, "a", { trace: two })
        yield* WorkQueue.finish(queue, first)
        assert.strictEqual((yield* WorkQueue.take(queue)).trace, two)
      }))

    it.effect("[Q6] what makes two reasons one can be said", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string, { readonly kind: string }>({
          sameReason: (a, b) => a.kind === b.kind
        })
        yield* WorkQueue.add(queue, "a", { reason: { kind: "Server" } })
        yield* WorkQueue.add(queue, "a", { reason: { kind: "Server" } })
        assert.deepStrictEqual((yield* WorkQueue.take(queue)).reasons, [{ kind: "Server" }])
      }))

    it.effect("[C047] [C140] a waiting taker gets a key as soon as it is added", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        const taker = yield* Effect.forkChild(WorkQueue.take(queue), { startImmediately: true })
        yield* TestClock.adjust("1 second")
        yield* WorkQueue.add(queue, "a")
        assert.strictEqual((yield* Fiber.join(taker)).key, "a")
      }))

    it.effect("[Q4] a waiting taker gets a delayed key at its time", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        const taker = yield* Effect.forkChild(WorkQueue.take(queue), { startImmediately: true })
        yield* WorkQueue.addAfter(queue, "a", "1 minute")
        yield* TestClock.adjust("59 seconds")
        assert.isUndefined(taker.pollUnsafe())
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* Fiber.join(taker)).key, "a")
      }))

    it.effect("[Q2] a taker that is interrupted with its hint in hand leaves no key beside a waiting one", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        for (let i = 0; i < 200; i++) {
          const first = yield* Effect.forkChild(WorkQueue.take(queue), { startImmediately: true })
          const second = yield* Effect.forkChild(WorkQueue.take(queue), { startImmediately: true })
          yield* WorkQueue.add(queue, `key ${i}`)
          yield* Fiber.interrupt(first)
          const exit = first.pollUnsafe()
          if (exit !== undefined && Exit.isSuccess(exit)) yield* Fiber.interrupt(second)
          const ticket = exit !== undefined && Exit.isSuccess(exit) ? exit.value : yield* Fiber.join(second)
          assert.strictEqual(ticket.key, `key ${i}`)
          yield* WorkQueue.finish(queue, ticket)
        }
      }))

    it.effect("[Q2] a pass that is interrupted ends, and its key may run again", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.add(queue, "a")
        const pass = yield* Effect.forkChild(WorkQueue.takeWith(queue, () => Effect.never), { startImmediately: true })
        assert.strictEqual((yield* WorkQueue.snapshot(queue)).running.length, 1)
        yield* Fiber.interrupt(pass)
        assert.strictEqual((yield* WorkQueue.snapshot(queue)).running.length, 0)
        yield* WorkQueue.add(queue, "a")
        assert.deepStrictEqual(yield* rounds(queue), ["a"])
      }))

    it.effect("[Q2] ending a pass twice is a defect that names the law", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.add(queue, "a")
        const ticket = yield* WorkQueue.take(queue)
        yield* WorkQueue.finish(queue, ticket)
        yield* WorkQueue.add(queue, "a")
        yield* WorkQueue.take(queue)
        const exit = yield* Effect.exit(WorkQueue.finish(queue, ticket))
        assert.isTrue(Exit.hasDies(exit))
        assert.include(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", "Q2 is broken")
      }))

    it.effect("[Q1] keys of any kind are told apart: objects by identity, text by its code units", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<unknown>()
        const keys = [
          {},
          {},
          "",
          "\u0000",
          "é",
          "e\u0301",
          "🗝",
          "\ud83d",
          "a/b",
          "__proto__",
          1,
          "1",
          Number.NaN,
          undefined
        ]
        for (const key of [...keys, ...keys]) yield* WorkQueue.add(queue, key)
        assert.deepStrictEqual(yield* rounds(queue), keys)
      }))
  })

  describe("Failures", () => {
    it.effect("[E2] [C018] [F08] failures in a row back off by the policy, and a good pass forgets them", () =>
      Effect.gen(function*() {
        const queue = yield* failing("10 millis", "40 millis")
        const delays: Array<number> = []
        yield* WorkQueue.add(queue, "a")
        for (let i = 0; i < 5; i++) {
          const ticket = yield* WorkQueue.take(queue)
          assert.strictEqual(ticket.failures, i)
          assert.strictEqual(yield* WorkQueue.fail(queue, ticket, "broken"), "stepped")
          const next = (yield* probe(queue, "a")).next
          delays.push(next?.inMillis ?? Number.NaN)
          yield* TestClock.adjust(next?.inMillis ?? 0)
        }
        assert.deepStrictEqual(delays, [10, 20, 40, 40, 40])
        yield* WorkQueue.finish(queue, yield* WorkQueue.take(queue))
        assert.isTrue(Option.isNone(yield* WorkQueue.probe(queue, "a")))
      }))

    it.effect("[E2] a pass that fails before its retry was due does not step, and the retry keeps its time", () =>
      Effect.gen(function*() {
        const queue = yield* failing("10 seconds", "1 hour")
        yield* WorkQueue.add(queue, "a")
        yield* WorkQueue.fail(queue, yield* WorkQueue.take(queue), "broken")
        yield* TestClock.adjust("4 seconds")
        yield* WorkQueue.add(queue, "a")
        const early = yield* WorkQueue.take(queue)
        assert.strictEqual(early.failures, 1)
        assert.strictEqual(early.retryDueMillis, 10_000)
        assert.strictEqual(yield* WorkQueue.fail(queue, early, "still broken"), "kept")
        yield* TestClock.adjust("5999 millis")
        assert.isUndefined(WorkQueue.takeUnsafe(queue))
        yield* TestClock.adjust("1 millis")
        const due = yield* WorkQueue.take(queue)
        assert.strictEqual(due.failures, 1)
        assert.strictEqual(yield* WorkQueue.fail(queue, due, "broken"), "stepped")
        assert.strictEqual((yield* probe(queue, "a")).next?.inMillis, 20_000)
      }))

    it.effect("[E2] a store's own time counts where it is later than the policy's", () =>
      Effect.gen(function*() {
        const queue = yield* failing("1 second", "1 hour")
        yield* adds(queue, "a", "b")
        yield* WorkQueue.fail(queue, yield* WorkQueue.take(queue), "busy", { notBefore: "1 minute" })
        yield* WorkQueue.fail(queue, yield* WorkQueue.take(queue), "busy", { notBefore: "1 millis" })
        assert.strictEqual((yield* probe(queue, "a")).next?.inMillis, 60_000)
        assert.strictEqual((yield* probe(queue, "b")).next?.inMillis, 1000)
      }))

    it.effect("[E3] where the policy gives no more tries, the given time follows, and the key is not lost", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>({ retry: RateLimiter.upTo(RateLimiter.standard, 1) })
        const orElse = { delayMillis: 1_800_000, lane: 2, reason: "recheck" } as const
        yield* WorkQueue.add(queue, "a")
        assert.strictEqual(yield* WorkQueue.fail(queue, yield* WorkQueue.take(queue), "broken", { orElse }), "stepped")
        yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* WorkQueue.fail(queue, yield* WorkQueue.take(queue), "broken", { orElse }), "ended")
        yield* TestClock.adjust("30 minutes")
        const ticket = yield* WorkQueue.take(queue)
        assert.deepStrictEqual(ticket.reasons, ["recheck"])
        assert.strictEqual(ticket.failures, 2)
        assert.isUndefined(ticket.retryDueMillis, "no retry is due any more")
        assert.strictEqual(ticket.lane, 2)
      }))

    it.effect("[E2] requeues step by their own count, forget the failures, and any other end resets them", () =>
      Effect.gen(function*() {
        const policy = yield* RateLimiter.exponential({ base: 10, cap: 1000, jitter: false })
        const queue = yield* WorkQueue.make<string>({ requeue: policy })
        const delayAfter = Effect.fnUntraced(
          function*(end: (ticket: WorkQueue.Ticket<string>) => Effect.Effect<unknown>) {
            yield* WorkQueue.add(queue, "a")
            const ticket = yield* WorkQueue.take(queue)
            yield* end(ticket)
            return Option.getOrUndefined(yield* WorkQueue.probe(queue, "a"))?.next?.inMillis
          }
        )
        const requeue = (ticket: WorkQueue.Ticket<string>) => WorkQueue.requeue(queue, ticket)
        assert.strictEqual(yield* delayAfter(requeue), 10)
        assert.strictEqual(yield* delayAfter(requeue), 20)
        yield* delayAfter((ticket) => WorkQueue.fail(queue, ticket, "broken"))
        assert.strictEqual((yield* probe(queue, "a")).requeues, 0)
        assert.strictEqual(yield* delayAfter(requeue), 10)
        assert.strictEqual((yield* probe(queue, "a")).failures, 0)
        yield* delayAfter((ticket) => WorkQueue.finish(queue, ticket))
        assert.strictEqual(yield* delayAfter(requeue), 10)
      }))

    it.effect("[C053] keys added together each have their own delay", () =>
      Effect.gen(function*() {
        const queue = yield* failing("10 millis", "1 hour")
        yield* adds(queue, "a", "a", "b")
        for (const key of ["a", "b", "a"]) {
          yield* WorkQueue.add(queue, key)
          const ticket = yield* WorkQueue.take(queue)
          yield* WorkQueue.fail(queue, ticket, "broken")
          if (key === "a") yield* TestClock.adjust("10 millis")
        }
        assert.strictEqual((yield* WorkQueue.snapshot(queue)).failing.length, 2)
        assert.deepStrictEqual(
          (yield* WorkQueue.snapshot(queue)).failing.map(({ failures, key }) => [key, failures]).toSorted(),
          [["a", 2], ["b", 1]]
        )
      }))

    it.effect("[E2] failures that are kept are remembered without a time, until they are forgotten", () =>
      Effect.gen(function*() {
        const queue = yield* failing("10 millis", "1 hour")
        yield* WorkQueue.add(queue, "a")
        yield* WorkQueue.fail(queue, yield* WorkQueue.take(queue), "broken")
        yield* WorkQueue.add(queue, "a")
        yield* WorkQueue.finish(queue, yield* WorkQueue.take(queue), { failures: "keep" })
        assert.strictEqual((yield* probe(queue, "a")).place, "Idle")
        assert.strictEqual((yield* probe(queue, "a")).failures, 1)
        yield* WorkQueue.forget(queue, "a")
        assert.isTrue(Option.isNone(yield* WorkQueue.probe(queue, "a")))
        yield* WorkQueue.forget(queue, "never heard of")
      }))

    it.effect("[Q8] what an idle key remembers is dropped by a close", () =>
      Effect.gen(function*() {
        const queue = yield* failing("10 millis", "1 hour")
        yield* WorkQueue.add(queue, "a")
        yield* WorkQueue.fail(queue, yield* WorkQueue.take(queue), "broken")
        yield* WorkQueue.add(queue, "a")
        yield* WorkQueue.finish(queue, yield* WorkQueue.take(queue), { failures: "keep" })
        yield* WorkQueue.close(queue)
        assert.isTrue(Option.isNone(yield* WorkQueue.probe(queue, "a")))
      }))
  })

  describe("Gates", () => {
    it.effect("[E10] [Q1] [C128] [C129] a key whose gate is closed is held, takes no worker, and is ready once when it opens", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.closeGate(queue, "a", "10 seconds")
        yield* adds(queue, "a", "a")
        assert.strictEqual((yield* probe(queue, "a")).place, "Held")
        assert.isUndefined(WorkQueue.takeUnsafe(queue))
        yield* WorkQueue.add(queue, "a")
        yield* WorkQueue.openGate(queue, "a")
        const ticket = yield* WorkQueue.take(queue)
        assert.isFalse(ticket.gateExpired)
        yield* WorkQueue.finish(queue, ticket)
        assert.deepStrictEqual(yield* rounds(queue), [])
      }))

    it.effect("[C130] a held key lets others pass, and stands behind them when its gate opens", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* adds(queue, "a", "b", "c")
        yield* WorkQueue.closeGate(queue, "a", "10 seconds")
        assert.deepStrictEqual((yield* WorkQueue.take(queue)).key, "b")
        yield* WorkQueue.openGate(queue, "a")
        assert.deepStrictEqual(yield* rounds(queue), ["c", "a"])
      }))

    it.effect("[E10] a gate that nobody opens opens at its deadline, and the ticket says so", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.add(queue, "a")
        yield* WorkQueue.closeGate(queue, "a", "10 seconds")
        yield* TestClock.adjust("9999 millis")
        assert.isUndefined(WorkQueue.takeUnsafe(queue))
        yield* TestClock.adjust("1 millis")
        const ticket = yield* WorkQueue.take(queue)
        assert.isTrue(ticket.gateExpired)
        yield* WorkQueue.finish(queue, ticket)
        yield* WorkQueue.add(queue, "a")
        assert.isFalse((yield* WorkQueue.take(queue)).gateExpired)
      }))

    it.effect("[E2] a gate closed during a pass holds what follows it", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.add(queue, "a")
        const ticket = yield* WorkQueue.take(queue)
        yield* WorkQueue.closeGate(queue, "a", "10 seconds")
        yield* WorkQueue.finish(queue, ticket, { failures: "keep", next: { lane: 1, reason: "conflict" } })
        assert.strictEqual((yield* probe(queue, "a")).place, "Held")
        yield* WorkQueue.openGate(queue, "a")
        assert.deepStrictEqual((yield* WorkQueue.take(queue)).reasons, ["conflict"])
      }))

    it.effect("[E10] a waiting key whose time comes before its gate opens is held until then", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.addAfter(queue, "a", "1 second")
        yield* WorkQueue.closeGate(queue, "a", "3 seconds")
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* probe(queue, "a")).place, "Held")
        yield* TestClock.adjust("2 seconds")
        assert.isTrue((yield* WorkQueue.take(queue)).gateExpired)
      }))

    it.effect("[E10] a gate whose time passed while its key ran, and nothing followed, is not told to a later pass", () =>
      Effect.gen(function*() {
        const queue = yield* failing("1 second", "1 minute")
        yield* WorkQueue.add(queue, "a")
        yield* WorkQueue.fail(queue, yield* WorkQueue.take(queue), "broken")
        yield* WorkQueue.add(queue, "a")
        const ticket = yield* WorkQueue.take(queue)
        yield* WorkQueue.closeGate(queue, "a", "1 second")
        yield* TestClock.adjust("2 seconds")
        yield* WorkQueue.finish(queue, ticket, { failures: "keep" })
        yield* WorkQueue.add(queue, "a")
        assert.isFalse((yield* WorkQueue.take(queue)).gateExpired)
      }))

    it.effect("[Q7] a closed gate of an idle key keeps its entry until it opens", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.closeGate(queue, "a", "3 seconds")
        yield* WorkQueue.closeGate(queue, "b", "3 seconds")
        assert.isTrue((yield* probe(queue, "a")).gateClosed)
        yield* WorkQueue.openGate(queue, "a")
        assert.isTrue(Option.isNone(yield* WorkQueue.probe(queue, "a")))
        yield* TestClock.adjust("3 seconds")
        assert.isTrue(Option.isNone(yield* WorkQueue.probe(queue, "b")))
        yield* WorkQueue.openGate(queue, "b")
        yield* WorkQueue.closeGate(queue, "b", 0)
        assert.isTrue(Option.isNone(yield* WorkQueue.probe(queue, "b")))
      }))
  })

  describe("Debounce", () => {
    it.effect("[E1] [C137] an add waits for the window", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>({ debounce: { window: "2 seconds" } })
        yield* WorkQueue.add(queue, "a")
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* rounds(queue), [])
        assert.strictEqual((yield* probe(queue, "a")).next?.why, "debounce")
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* rounds(queue), ["a"])
      }))

    it.effect("[E1] [C138] each add restarts the window, and all are one pass with every reason", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>({ debounce: { window: "2 seconds" } })
        yield* WorkQueue.add(queue, "a", { reason: "first" })
        yield* TestClock.adjust("1 second")
        yield* WorkQueue.add(queue, "a", { reason: "last" })
        yield* TestClock.adjust("1999 millis")
        assert.deepStrictEqual(yield* rounds(queue), [])
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual((yield* WorkQueue.take(queue)).reasons, ["first", "last"])
      }))

    for (
      const [name, debounce, millis] of [
        ["five windows by default", { window: "2 seconds" }, 10_000],
        ["maxWait", { window: "2 seconds", maxWait: "3 seconds" }, 3000]
      ] as const
    ) {
      it.effect(`[E1] adds that never cease wait no longer than ${name}`, () =>
        Effect.gen(function*() {
          const queue = yield* WorkQueue.make<string>({ debounce })
          for (let now = 0; now < millis; now += 1000) {
            assert.deepStrictEqual(yield* rounds(queue), [])
            yield* WorkQueue.add(queue, "a")
            yield* TestClock.adjust("1 second")
          }
          assert.deepStrictEqual(yield* rounds(queue), ["a"])
        }))
    }

    it.effect("[E1] debounce can be set and left at run time; an open window ends as it was to end", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.setDebounce(queue, { window: "2 seconds" })
        yield* WorkQueue.add(queue, "a")
        yield* WorkQueue.setDebounce(queue, undefined)
        yield* WorkQueue.add(queue, "b")
        assert.deepStrictEqual(yield* rounds(queue), ["b"])
        yield* TestClock.adjust("2 seconds")
        assert.deepStrictEqual(yield* rounds(queue), ["a"])
      }))

    it.effect("[E1] adds during a pass wait for their window too, and a time that follows is not put off", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>({ debounce: { window: "2 seconds" } })
        yield* WorkQueue.add(queue, "a")
        yield* TestClock.adjust("2 seconds")
        const ticket = yield* WorkQueue.take(queue)
        yield* WorkQueue.add(queue, "a")
        yield* WorkQueue.finish(queue, ticket, { next: { delayMillis: 1000 } })
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* rounds(queue), ["a"])
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* rounds(queue), [], "the pass at one second satisfied the add before it")
      }))
  })

  describe("Fairness", () => {
    it.effect("[Q5] queues that share workers give keys in turn: a flood delays another's key by one pass", () =>
      Effect.gen(function*() {
        const group = yield* WorkQueue.makeGroup<string>()
        const flood = yield* WorkQueue.make({ group })
        const calm = yield* WorkQueue.make({ group })
        for (let i = 0; i < 1000; i++) yield* WorkQueue.add(flood, `f${i}`)
        yield* adds(calm, "c0", "c1")
        assert.deepStrictEqual((yield* groupRounds(group)).slice(0, 6), ["f0", "c0", "f1", "c1", "f2", "f3"])
      }))

    it.effect("[Q5] weights say how many keys a queue gives in its turn", () =>
      Effect.gen(function*() {
        const group = yield* WorkQueue.makeGroup<string>()
        const heavy = yield* WorkQueue.make({ group, weight: 3 })
        const light = yield* WorkQueue.make({ group })
        for (let i = 0; i < 6; i++) yield* WorkQueue.add(heavy, `h${i}`)
        for (let i = 0; i < 3; i++) yield* WorkQueue.add(light, `l${i}`)
        assert.deepStrictEqual(yield* groupRounds(group), ["h0", "h1", "h2", "l0", "h3", "h4", "h5", "l1", "l2"])
      }))

    it.effect("[Q5] the turn comes before the lane, the lane before the order", () =>
      Effect.gen(function*() {
        const group = yield* WorkQueue.makeGroup<string>()
        const one = yield* WorkQueue.make({ group })
        const two = yield* WorkQueue.make({ group })
        yield* WorkQueue.add(one, "one low", { lane: 2 })
        yield* WorkQueue.add(two, "two high", { lane: 0 })
        yield* WorkQueue.add(one, "one high", { lane: 0 })
        assert.deepStrictEqual(yield* groupRounds(group), ["one high", "two high", "one low"])
      }))

    it.effect("[Q5] [C144] no more keys of a queue run than its concurrency, which may change at run time", () =>
      Effect.gen(function*() {
        const group = yield* WorkQueue.makeGroup<string>()
        const queue = yield* WorkQueue.make({ group, concurrency: 2 })
        const other = yield* WorkQueue.make({ group })
        yield* adds(queue, "a", "b", "c", "d", "e")
        const a = yield* WorkQueue.takeAny(group)
        const b = yield* WorkQueue.takeAny(group)
        assert.isUndefined(WorkQueue.takeAnyUnsafe(group))
        yield* WorkQueue.add(other, "x")
        assert.strictEqual((yield* WorkQueue.takeAny(group)).ticket.key, "x")
        yield* WorkQueue.finish(a.queue, a.ticket)
        assert.strictEqual((yield* WorkQueue.takeAny(group)).ticket.key, "c")
        yield* WorkQueue.setConcurrency(queue, 3)
        assert.strictEqual((yield* WorkQueue.takeAny(group)).ticket.key, "d")
        yield* WorkQueue.setConcurrency(queue, 1)
        yield* WorkQueue.finish(b.queue, b.ticket)
        assert.isUndefined(WorkQueue.takeAnyUnsafe(group))
      }))

    it.effect("[Q5] waiting takers are told when a higher concurrency makes room", () =>
      Effect.gen(function*() {
        const group = yield* WorkQueue.makeGroup<string>()
        const queue = yield* WorkQueue.make({ group, concurrency: 1 })
        yield* adds(queue, "a", "b", "c")
        yield* WorkQueue.takeAny(group)
        const takers = yield* Effect.forEach([1, 2], () =>
          Effect.forkChild(WorkQueue.takeAny(group), { startImmediately: true }))
        yield* TestClock.adjust("1 second")
        yield* WorkQueue.setConcurrency(queue, 3)
        const keys = yield* Effect.forEach(takers, (taker) =>
          Effect.map(Fiber.join(taker), ({ ticket }) => ticket.key))
        assert.deepStrictEqual(keys.toSorted(), ["b", "c"])
      }))

    it.effect("[Q2] [Q5] of two waits in uninterruptible workers either can be interrupted, and the other gets its hint", () =>
      Effect.gen(function*() {
        const group = yield* WorkQueue.makeGroup<string>()
        const queue = yield* WorkQueue.make({ group })
        const wait = Effect.uninterruptible(Effect.exit(WorkQueue.waitAny(group)))
        const [going, staying] = [
          yield* Effect.forkChild(wait, { startImmediately: true }),
          yield* Effect.forkChild(wait, { startImmediately: true })
        ]
        yield* WorkQueue.add(queue, "a")
        yield* Fiber.interrupt(going)
        assert.isTrue(Exit.isSuccess(yield* Fiber.join(staying)))
        assert.strictEqual((yield* WorkQueue.takeAny(group)).ticket.key, "a")
      }))

    it.effect("[Q5] a paused queue takes adds, gives no key, and tells waiting takers when it goes on", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        WorkQueue.setPausedUnsafe(queue, true)
        const takers = yield* Effect.forEach(
          [1, 2],
          () => Effect.forkChild(WorkQueue.take(queue), { startImmediately: true })
        )
        yield* adds(queue, "a", "b")
        yield* TestClock.adjust("1 second")
        assert.isTrue(takers.every((taker) => taker.pollUnsafe() === undefined))
        WorkQueue.setPausedUnsafe(queue, false)
        const keys = yield* Effect.forEach(takers, (taker) => Effect.map(Fiber.join(taker), ({ key }) => key))
        assert.deepStrictEqual(keys.toSorted(), ["a", "b"])
      }))

    it.effect("[Q5] queues join and leave the workers at run time", () =>
      Effect.gen(function*() {
        const group = yield* WorkQueue.makeGroup<string>()
        const first = yield* WorkQueue.make({ group })
        const scope = yield* Scope.make()
        const guest = yield* Scope.provide(WorkQueue.make({ group }), scope)
        yield* adds(first, "a", "b")
        yield* adds(guest, "x", "y")
        const a = yield* WorkQueue.takeAny(group)
        const x = yield* WorkQueue.takeAny(group)
        assert.deepStrictEqual([a.ticket.key, x.ticket.key], ["a", "x"])
        yield* Scope.close(scope, Exit.void)
        yield* WorkQueue.finish(x.queue, x.ticket, { next: {} })
        assert.deepStrictEqual(yield* groupRounds(group), ["b"])
        const late = yield* WorkQueue.make({ group })
        const taker = yield* Effect.forkChild(WorkQueue.takeAny(group), { startImmediately: true })
        yield* WorkQueue.addAfter(late, "z", "1 second")
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* Fiber.join(taker)).ticket.key, "z")
      }))

    it.effect("[Q7] a queue that has ended is no member of its group any more", () =>
      Effect.gen(function*() {
        const group = yield* WorkQueue.makeGroup<string>()
        const queue = yield* WorkQueue.make({ group })
        yield* WorkQueue.add(queue, "a")
        yield* WorkQueue.close(queue)
        assert.deepStrictEqual(yield* WorkQueue.members(group), [queue])
        const { ticket } = yield* WorkQueue.takeAny(group)
        yield* WorkQueue.finish(queue, ticket)
        assert.deepStrictEqual(yield* WorkQueue.members(group), [])
      }))

    it.effect("[Q5] a queue that shares its workers cannot be taken from alone", () =>
      Effect.gen(function*() {
        const group = yield* WorkQueue.makeGroup<string>()
        const queue = yield* WorkQueue.make({ group })
        assert.isTrue(Exit.hasDies(yield* Effect.exit(WorkQueue.take(queue))))
      }))
  })

  describe("Shutdown", () => {
    it.effect("[Q8] [C050] [C038] [F09] [K82] every blocked take ends when the queue closes, and none blocks after", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        const takers = yield* Effect.forEach(
          [1, 2, 3],
          () => Effect.forkChild(WorkQueue.take(queue), { startImmediately: true })
        )
        yield* TestClock.adjust("1 second")
        yield* WorkQueue.close(queue)
        for (const taker of takers) assert.isTrue(isDone(yield* Fiber.await(taker)))
        assert.isTrue(isDone(yield* Effect.exit(WorkQueue.take(queue))))
        yield* WorkQueue.close(queue)
      }))

    it.effect("[Q8] [F12] after a close no add is accepted; delayed and held keys are dropped, ready ones handed out", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* adds(queue, "ready", "held")
        yield* WorkQueue.closeGate(queue, "held", "1 minute")
        yield* WorkQueue.addAfter(queue, "delayed", "1 second")
        yield* WorkQueue.close(queue)
        assert.isFalse(yield* WorkQueue.add(queue, "late"))
        assert.isFalse(yield* WorkQueue.addAfter(queue, "late", "1 second"))
        yield* WorkQueue.closeGate(queue, "late", "1 second")
        yield* WorkQueue.openGate(queue, "held")
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* rounds(queue), ["ready"])
        for (const key of ["held", "delayed", "late", "ready"]) {
          assert.isTrue(Option.isNone(yield* WorkQueue.probe(queue, key)))
        }
      }))

    it.effect("[Q8] what would follow a pass after a close is dropped", () =>
      Effect.gen(function*() {
        const queue = yield* failing("1 second", "1 minute")
        yield* adds(queue, "a", "b", "c")
        const tickets = [
          yield* WorkQueue.take(queue),
          yield* WorkQueue.take(queue),
          yield* WorkQueue.take(queue)
        ] as const
        yield* WorkQueue.close(queue)
        yield* WorkQueue.fail(queue, tickets[0], "broken")
        yield* WorkQueue.requeue(queue, tickets[1])
        yield* WorkQueue.finish(queue, tickets[2], { failures: "keep", next: {} })
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* rounds(queue), [])
        assert.isTrue(isDone(yield* Effect.exit(WorkQueue.take(queue))))
      }))

    it.effect("[Q8] [C007] drain ends when every key that was handed out has had its pass", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* adds(queue, "a", "b")
        const a = yield* WorkQueue.take(queue)
        const b = yield* WorkQueue.take(queue)
        const drain = yield* Effect.forkChild(WorkQueue.drain(queue), { startImmediately: true })
        yield* WorkQueue.finish(queue, a)
        yield* TestClock.adjust("1 second")
        assert.isUndefined(drain.pollUnsafe())
        yield* WorkQueue.finish(queue, b)
        assert.isTrue(yield* Fiber.join(drain))
      }))

    it.effect("[Q8] a drain of an idle queue ends at once, twice", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        assert.isTrue(yield* WorkQueue.drain(queue))
        assert.isTrue(yield* WorkQueue.drain(queue))
      }))

    it.effect("[Q8] [C010] a key added again while it ran before the close is handed out before drain ends", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.add(queue, "a")
        const ticket = yield* WorkQueue.take(queue)
        yield* WorkQueue.add(queue, "a")
        const drain = yield* Effect.forkChild(WorkQueue.drain(queue), { startImmediately: true })
        const taker = yield* Effect.forkChild(WorkQueue.take(queue), { startImmediately: true })
        yield* WorkQueue.finish(queue, ticket)
        const again = yield* Fiber.join(taker)
        assert.isUndefined(drain.pollUnsafe())
        yield* WorkQueue.finish(queue, again)
        assert.isTrue(yield* Fiber.join(drain))
      }))

    it.effect("[Q8] at its deadline a drain gives up: ready keys are dropped, takes end", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>({ concurrency: 1 })
        yield* adds(queue, "a", "b")
        const ticket = yield* WorkQueue.take(queue)
        const taker = yield* Effect.forkChild(WorkQueue.take(queue), { startImmediately: true })
        const drain = yield* Effect.forkChild(WorkQueue.drain(queue, { deadline: "5 seconds" }), {
          startImmediately: true
        })
        yield* TestClock.adjust("4999 millis")
        assert.isUndefined(drain.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        assert.isFalse(yield* Fiber.join(drain))
        assert.isTrue(isDone(yield* Fiber.await(taker)))
        yield* WorkQueue.finish(queue, ticket)
        assert.isTrue(Option.isNone(yield* WorkQueue.probe(queue, "a")))
      }))

    it.effect("[Q8] [C008] [C009] shutdown waits for no pass, and releases who waits in drain", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* WorkQueue.add(queue, "a")
        const ticket = yield* WorkQueue.take(queue)
        const drain = yield* Effect.forkChild(WorkQueue.drain(queue), { startImmediately: true })
        yield* WorkQueue.shutdown(queue)
        assert.isFalse(yield* Fiber.join(drain))
        yield* WorkQueue.finish(queue, ticket)
        yield* WorkQueue.shutdown(queue)
      }))

    it.effect("[Q8] closing a queue's Scope shuts it down", () =>
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const queue = yield* Scope.provide(WorkQueue.make<string>(), scope)
        yield* WorkQueue.addAfter(queue, "a", "1 second")
        const taker = yield* Effect.forkChild(WorkQueue.take(queue), { startImmediately: true })
        yield* Scope.close(scope, Exit.void)
        assert.isTrue(isDone(yield* Fiber.await(taker)))
        assert.isFalse(yield* WorkQueue.add(queue, "b"))
      }))

    it.effect("[Q8] closing a group's Scope shuts all its queues down, and later ones too", () =>
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const group = yield* Scope.provide(WorkQueue.makeGroup<string>(), scope)
        const queue = yield* WorkQueue.make({ group })
        const taker = yield* Effect.forkChild(WorkQueue.takeAny(group), { startImmediately: true })
        yield* Scope.close(scope, Exit.void)
        assert.isTrue(isDone(yield* Fiber.await(taker)))
        assert.isFalse(yield* WorkQueue.add(queue, "a"))
        assert.isFalse(yield* WorkQueue.add(yield* WorkQueue.make({ group }), "a"))
      }))

    const ends = { close: WorkQueue.close, shutdown: WorkQueue.shutdown, drain: WorkQueue.drain }
    for (const how of ["close", "shutdown", "drain"] as const) {
      it.effect(`[Q8] [C001] fifty producers and ten workers end empty with ${how}, and nothing added after it comes`, () =>
        Effect.gen(function*() {
          const queue = yield* WorkQueue.make<string>()
          const seen = new Set<string>()
          const pool = yield* workers(
            queue,
            10,
            (ticket) => Effect.andThen(Effect.yieldNow, Effect.sync(() => seen.add(ticket.key)))
          )
          yield* Effect.forEach(
            Array.from({ length: 50 }, (_, i) => i),
            (producer) =>
              Effect.forEach(
                Array.from({ length: 50 }, (_, i) => i),
                (i) => Effect.andThen(WorkQueue.add(queue, `${producer}/${i}`), Effect.yieldNow),
                { discard: true }
              ),
            {
              concurrency: "unbounded",
              discard: true
            }
          )
          yield* ends[how](queue)
          yield* WorkQueue.add(queue, "added after the end")
          yield* Fiber.joinAll(pool)
          assert.isFalse(seen.has("added after the end"))
          if (how !== "shutdown") assert.strictEqual(seen.size, 2500)
          assert.strictEqual(yield* WorkQueue.depth(queue), 0)
        }))

      it.effect(`[C002] [C054] workers that add their key again the first time end with ${how}`, () =>
        Effect.gen(function*() {
          const queue = yield* WorkQueue.make<string>()
          const passes = new Map<string, number>()
          const allTwice = yield* Deferred.make<void>()
          const pool = yield* workers(queue, 10, (ticket) =>
            Effect.gen(function*() {
              const count = (passes.get(ticket.key) ?? 0) + 1
              passes.set(ticket.key, count)
              if (count === 1) yield* WorkQueue.add(queue, ticket.key)
              yield* Effect.yieldNow
              if (passes.size === 50 && [...passes.values()].every((n) => n === 2)) {
                yield* Deferred.succeed(allTwice, void 0)
              }
            }))
          for (let i = 0; i < 50; i++) yield* WorkQueue.add(queue, `${i}`)
          yield* Deferred.await(allTwice)
          yield* ends[how](queue)
          yield* Fiber.joinAll(pool)
          assert.isTrue([...passes.values()].every((n) => n === 2))
        }))
    }
  })

  describe("Workers", () => {
    it.effect("[Q2] [C139] a key added twice runs twice and never overlaps", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        let running = 0
        let passes = 0
        const pool = yield* workers(queue, 4, () =>
          Effect.gen(function*() {
            assert.strictEqual(++running, 1)
            passes++
            yield* Effect.sleep("1 second")
            running--
          }))
        yield* WorkQueue.add(queue, "a")
        yield* TestClock.adjust("500 millis")
        yield* WorkQueue.add(queue, "a")
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(passes, 2)
        yield* WorkQueue.close(queue)
        yield* Fiber.joinAll(pool)
      }))

    it.effect("[C141] [C142] nothing runs before a queue is given its workers; then each key once", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>({ concurrency: 0 })
        const seen: Array<string> = []
        const pool = yield* workers(queue, 2, (ticket) => Effect.sync(() => seen.push(ticket.key)))
        yield* adds(queue, "a", "b", "a")
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(seen, [])
        yield* WorkQueue.setConcurrency(queue, 2)
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(seen, ["a", "b"])
        yield* WorkQueue.close(queue)
        yield* Fiber.joinAll(pool)
      }))

    it.effect("[C143] a queue that ends before it was given its workers runs nothing, and its workers end", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>({ concurrency: 0 })
        const pool = yield* workers(queue, 2, () => Effect.die("no pass"))
        yield* adds(queue, "a", "b")
        yield* TestClock.adjust("1 second")
        yield* WorkQueue.shutdown(queue)
        yield* Fiber.joinAll(pool)
      }))

    it.effect("[C144] of three keys two run; the third after one ends; closing cuts no pass", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>({ concurrency: 2 })
        const gates = {
          a: yield* Deferred.make<void>(),
          b: yield* Deferred.make<void>(),
          c: yield* Deferred.make<void>()
        }
        const started: Array<string> = []
        const ended: Array<string> = []
        const pool = yield* Effect.forEach([1, 2, 3], () =>
          Effect.forkChild(
            Effect.exit(Effect.forever(
              WorkQueue.takeWith(queue, ({ key }) =>
                Effect.gen(function*() {
                  started.push(key)
                  if (key === "a" || key === "b" || key === "c") yield* Deferred.await(gates[key])
                  ended.push(key)
                })),
              { disableYield: true }
            )),
            { startImmediately: true }
          ))
        yield* adds(queue, "a", "b", "c")
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(started, ["a", "b"])
        yield* Deferred.succeed(gates.a, void 0)
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(started, ["a", "b", "c"])
        yield* WorkQueue.add(queue, "a")
        yield* WorkQueue.close(queue)
        yield* Deferred.succeed(gates.c, void 0)
        yield* Deferred.succeed(gates.b, void 0)
        yield* Fiber.joinAll(pool)
        assert.deepStrictEqual(ended.toSorted(), ["a", "a", "b", "c"])
      }))

    it.effect("[C039] a thousand keys and a hundred workers: all are handed out, once", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        const seen: Array<string> = []
        const pool = yield* workers(queue, 100, (ticket) =>
          Effect.andThen(
            Effect.yieldNow,
            Effect.sync(() => seen.push(ticket.key))
          ))
        for (let i = 0; i < 1000; i++) yield* WorkQueue.add(queue, `${i}`)
        yield* WorkQueue.drain(queue)
        yield* Fiber.joinAll(pool)
        assert.strictEqual(seen.length, 1000)
        assert.strictEqual(new Set(seen).size, 1000)
      }))

    it.effect("[C043] producers and workers at random: no deadlock, no key in two workers, no add lost", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<number>({ ageAfter: "50 millis" })
        const running = new Set<number>()
        const lastAdd = new Map<number, number>()
        const lastPass = new Map<number, number>()
        let step = 0
        const pool = yield* workers(queue, 100, ({ key }) =>
          Effect.gen(function*() {
            assert.isFalse(running.has(key))
            running.add(key)
            lastPass.set(key, step++)
            if (yield* Random.nextBoolean) yield* Effect.yieldNow
            else yield* Effect.sleep(yield* Random.nextIntBetween(1, 20))
            running.delete(key)
          }))
        const producer = Effect.gen(function*() {
          for (let i = 0; i < 1000; i++) {
            const key = yield* Random.nextIntBetween(0, 100)
            const lane = ([0, 1, 2] as const)[yield* Random.nextIntBetween(0, 2)] ?? 0
            lastAdd.set(key, step++)
            const delay = yield* Random.nextIntBetween(-20, 40)
            yield* delay > 0 ? WorkQueue.addAfter(queue, key, delay, { lane }) : WorkQueue.add(queue, key, { lane })
            if (i % 10 === 0) yield* Effect.sleep("1 millis")
          }
        })
        const producers = yield* Effect.forEach(Array.from({ length: 10 }), () => Effect.forkChild(producer))
        yield* TestClock.adjust("1 minute")
        yield* Fiber.joinAll(producers)
        for (const [key, added] of lastAdd) assert.isAbove(lastPass.get(key) ?? -1, added)
        assert.strictEqual(yield* WorkQueue.depth(queue), 0)
        yield* WorkQueue.close(queue)
        yield* Fiber.joinAll(pool)
      }))

    it.effect("[C145] five thousand keys that each ask three times to run again end, and then the workers", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<number>()
        const passes = new Map<number, number>()
        const all = yield* Deferred.make<void>()
        let total = 0
        const pool = yield* Effect.forEach(Array.from({ length: 8 }), () =>
          Effect.forkChild(
            Effect.exit(Effect.forever(
              WorkQueue.takeWith(queue, (ticket) =>
                Effect.suspend(() => {
                  const count = (passes.get(ticket.key) ?? 0) + 1
                  passes.set(ticket.key, count)
                  if (++total === 15_000) Deferred.doneUnsafe(all, Effect.void)
                  return count < 3 ? WorkQueue.finish(queue, ticket, { next: {} }) : Effect.void
                })),
              { disableYield: true }
            )),
            { startImmediately: true }
          ))
        for (let key = 0; key < 5000; key++) yield* WorkQueue.add(queue, key)
        yield* Deferred.await(all)
        const drain = yield* Effect.forkChild(WorkQueue.drain(queue, { deadline: "10 seconds" }), {
          startImmediately: true
        })
        assert.isTrue(yield* Fiber.join(drain))
        yield* Fiber.joinAll(pool)
        assert.strictEqual(total, 15_000)
      }))
  })

  describe("Memory and reading", () => {
    it.effect("[Q7] [C011] nothing is kept of a key whose pass ended well", () =>
      Effect.gen(function*() {
        const entries = new Map<string, WorkQueue.Entry<string>>()
        const queue = yield* WorkQueue.make<string>({
          slot: {
            get: (key) => entries.get(key),
            set: (key, entry) => entry === undefined ? entries.delete(key) : entries.set(key, entry)
          }
        })
        yield* adds(queue, "a", "b")
        yield* WorkQueue.addAfter(queue, "c", "1 second")
        assert.strictEqual(entries.size, 3)
        yield* TestClock.adjust("1 second")
        yield* rounds(queue)
        assert.strictEqual(entries.size, 0)
      }))

    it.effect("[Q7] a key can carry its own entry, so that nothing is looked up", () =>
      Effect.gen(function*() {
        interface Request {
          readonly name: string
          entry: WorkQueue.Entry<Request> | undefined
        }
        const queue = yield* WorkQueue.make<Request>({
          slot: {
            get: (request) => request.entry,
            set: (request, entry) => {
              request.entry = entry
            }
          }
        })
        const request: Request = { name: "blue", entry: undefined }
        yield* WorkQueue.add(queue, request)
        yield* WorkQueue.add(queue, request)
        assert.isDefined(request.entry)
        assert.deepStrictEqual(yield* rounds(queue), [request])
        assert.isUndefined(request.entry)
      }))

    it.effect("[Q9] a probe says where a key is, what it failed, when it is next and why", () =>
      Effect.gen(function*() {
        const queue = yield* failing("10 seconds", "1 hour")
        assert.isTrue(Option.isNone(yield* WorkQueue.probe(queue, "a")))
        yield* WorkQueue.add(queue, "a", { reason: "created" })
        assert.deepInclude(yield* probe(queue, "a"), { place: "Ready", lane: 0, reasons: ["created"], next: undefined })
        const ticket = yield* WorkQueue.take(queue)
        yield* TestClock.adjust("2 seconds")
        assert.deepInclude(yield* probe(queue, "a"), { place: "Running", sinceMillis: 2000, reasons: [] })
        yield* WorkQueue.fail(queue, ticket, "broken")
        yield* TestClock.adjust("1 second")
        assert.deepInclude(yield* probe(queue, "a"), {
          place: "Waiting",
          lane: 1,
          failures: 1,
          next: { inMillis: 9000, why: "retry" }
        })
        yield* WorkQueue.addAfter(queue, "a", "1 second")
        assert.deepStrictEqual((yield* probe(queue, "a")).next, { inMillis: 1000, why: "delay" })
        yield* WorkQueue.closeGate(queue, "a", "1 minute")
        yield* WorkQueue.add(queue, "a")
        assert.deepInclude(yield* probe(queue, "a"), { place: "Held", next: { inMillis: 60_000, why: "gate" } })
      }))

    it.effect("[Q9] a snapshot has every live key at its place", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* adds(queue, "failed", "running")
        yield* WorkQueue.fail(queue, yield* WorkQueue.take(queue), "broken")
        yield* WorkQueue.take(queue)
        yield* WorkQueue.add(queue, "second", { lane: 1 })
        yield* WorkQueue.add(queue, "first")
        yield* WorkQueue.closeGate(queue, "held", "1 minute")
        yield* WorkQueue.add(queue, "held")
        yield* WorkQueue.addAfter(queue, "later", "1 hour")
        const snapshot = yield* WorkQueue.snapshot(queue)
        const keys = (probes: ReadonlyArray<WorkQueue.Probe<string>>) => probes.map(({ key }) => key)
        assert.deepStrictEqual(keys(snapshot.ready), ["first", "second"])
        assert.deepStrictEqual(keys(snapshot.running), ["running"])
        assert.deepStrictEqual(keys(snapshot.waiting), ["failed", "later"])
        assert.deepStrictEqual(keys(snapshot.held), ["held"])
        assert.deepStrictEqual(keys(snapshot.failing), ["failed"])
        const counts = { ready: 2, running: 1, waiting: 2, held: 1, failing: 1 }
        assert.deepStrictEqual(WorkQueue.countsUnsafe(queue), counts)
        assert.sameMembers([...WorkQueue.keysUnsafe(queue)], ["first", "second", "running", "failed", "later", "held"])
      }))

    it.effect("[Q9] [C025] the figures follow the clock", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* adds(queue, "a", "a", "a", "a", "a")
        assert.strictEqual((yield* WorkQueue.metrics(queue)).workqueue_adds_total, 1)
        yield* TestClock.adjust("50 millis")
        const first = yield* WorkQueue.take(queue)
        const taken = yield* WorkQueue.metrics(queue)
        assert.deepStrictEqual(taken.workqueue_depth, [0, 0, 0])
        assert.strictEqual(taken.workqueue_queue_duration_seconds.sum, 0.05)
        yield* WorkQueue.add(queue, "a")
        yield* TestClock.adjust("2 seconds")
        const running = yield* WorkQueue.metrics(queue)
        assert.strictEqual(running.workqueue_unfinished_work_seconds, 2)
        assert.strictEqual(running.workqueue_longest_running_processor_seconds, 2)
        yield* WorkQueue.finish(queue, first)
        const ended = yield* WorkQueue.metrics(queue)
        assert.deepStrictEqual(ended.workqueue_depth, [1, 0, 0])
        assert.strictEqual(ended.workqueue_adds_total, 2)
        assert.strictEqual(ended.workqueue_work_duration_seconds.sum, 2)
        assert.strictEqual(ended.workqueue_work_duration_seconds.count, 1)
        assert.strictEqual(ended.workqueue_unfinished_work_seconds, 0)
        assert.deepStrictEqual(
          ended.workqueue_work_duration_seconds.buckets.filter(([, count]) => count > 0),
          [[10, 1], [Infinity, 1]]
        )
      }))

    it.effect("[C024] the figures stand still after a shutdown", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>()
        yield* adds(queue, "a", "b")
        const ticket = yield* WorkQueue.take(queue)
        yield* WorkQueue.shutdown(queue)
        const before = yield* WorkQueue.metrics(queue)
        yield* adds(queue, "c", "d")
        yield* WorkQueue.finish(queue, ticket)
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* WorkQueue.metrics(queue), before)
      }))

    it.effect("[Q9] histograms can be left out", () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<string>({ metrics: false })
        yield* adds(queue, "a")
        yield* rounds(queue)
        const metrics = yield* WorkQueue.metrics(queue)
        assert.strictEqual(metrics.workqueue_work_duration_seconds.count, 0)
        assert.strictEqual(metrics.workqueue_adds_total, 1)
      }))
  })

  describe("Options", () => {
    const wrong: ReadonlyArray<readonly [field: string, options: WorkQueue.Options<string>]> = [
      ["weight", { weight: 0 }],
      ["weight", { weight: 1.5 }],
      ["concurrency", { concurrency: -1 }],
      ["concurrency", { concurrency: Number.NaN }],
      ["ageAfter", { ageAfter: 0 }],
      ["maxReasons", { maxReasons: 0 }],
      ["debounce.window", { debounce: { window: "0 seconds" } }],
      ["debounce.maxWait", { debounce: { window: "1 second", maxWait: -1 } }]
    ]
    for (const [field, options] of wrong) {
      it.effect(`${field} is refused where it cannot work: ${JSON.stringify(options)}`, () =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(WorkQueue.make<string>(options))
          assert.strictEqual(error._tag, "InvalidOptions")
          assert.strictEqual(error.field, `WorkQueue.${field}`)
        }))
    }
  })
})

const adds = <R, E>(queue: WorkQueue.WorkQueue<string, R, E>, ...keys: ReadonlyArray<string>) =>
  Effect.forEach(keys, (key) => WorkQueue.add(queue, key), { discard: true })

/** Takes and ends passes until nothing is ready: the keys in the order in which they came. */
const rounds = <K, R, E>(queue: WorkQueue.WorkQueue<K, R, E>) => groupRounds(queue.group)

const groupRounds = <K, R, E>(group: WorkQueue.Group<K, R, E>) =>
  Effect.sync(() => {
    const keys: Array<K> = []
    for (let taken = WorkQueue.takeAnyUnsafe(group); taken !== undefined; taken = WorkQueue.takeAnyUnsafe(group)) {
      keys.push(taken.ticket.key)
      WorkQueue.finishUnsafe(taken.queue, taken.ticket)
    }
    return keys
  })

const probe = <K, R, E>(queue: WorkQueue.WorkQueue<K, R, E>, key: K) =>
  Effect.flatMap(WorkQueue.probe(queue, key), Effect.fromOption)

/** A queue whose retries double from base to cap without jitter. */
const failing = (base: Duration.Input, cap: Duration.Input) =>
  Effect.flatMap(RateLimiter.exponential({ base, cap, jitter: false }), (retry) => WorkQueue.make<string>({ retry }))

/** Fibers that run a pass a key until the queue ends. */
const workers = <K, R, E>(
  queue: WorkQueue.WorkQueue<K, R, E>,
  count: number,
  pass: (ticket: WorkQueue.Ticket<K, R, E>) => Effect.Effect<unknown>
) =>
  Effect.forEach(Array.from({ length: count }), () =>
    Effect.forkChild(
      Effect.catchTag(
        Effect.forever(WorkQueue.takeWith(queue, pass), { disableYield: true }),
        "Done",
        () => Effect.void
      ),
      { startImmediately: true }
    ))

const isDone = <A>(exit: Exit.Exit<A, Cause.Done>): boolean =>
  Exit.isFailure(exit) && exit.cause.reasons.some((reason) => Cause.isFailReason(reason) && Cause.isDone(reason.error))
