import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
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
  })
})

const adds = <R, E>(queue: WorkQueue.WorkQueue<string, R, E>, ...keys: ReadonlyArray<string>) =>
  Effect.forEach(keys, (key) => WorkQueue.add(queue, key), { discard: true })

/** Takes and ends passes until nothing is ready: the keys in the order in which they came. */
const rounds = <K, R, E>(queue: WorkQueue.WorkQueue<K, R, E>) =>
  Effect.sync(() => {
    const keys: Array<K> = []
    for (let ticket = WorkQueue.takeUnsafe(queue); ticket !== undefined; ticket = WorkQueue.takeUnsafe(queue)) {
      keys.push(ticket.key)
      WorkQueue.finishUnsafe(queue, ticket)
    }
    return keys
  })
