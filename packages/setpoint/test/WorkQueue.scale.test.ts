import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { WorkQueue } from "setpoint"

describe("WorkQueue at scale", () => {
  it.effect(
    "[Q4] [Q7] a million keys wait behind one timer, come at their times, and leave nothing",
    () =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make<number>()
        const keys = 1_000_000
        for (let key = 0; key < keys; key++) WorkQueue.addAfterUnsafe(queue, key, 1000 + key % 1000)
        yield* TestClock.adjust("999 millis")
        assert.strictEqual(yield* WorkQueue.depth(queue), 0)
        yield* TestClock.adjust("501 millis")
        assert.strictEqual(yield* WorkQueue.depth(queue), keys / 1000 * 501)
        yield* TestClock.adjust("500 millis")
        assert.strictEqual(yield* WorkQueue.depth(queue), keys)
        let taken = 0
        let outOfOrder = 0
        let previous = 0
        for (let ticket = WorkQueue.takeUnsafe(queue); ticket !== undefined; ticket = WorkQueue.takeUnsafe(queue)) {
          if (ticket.key % 1000 < previous) outOfOrder++
          previous = ticket.key % 1000
          WorkQueue.finishUnsafe(queue, ticket)
          taken++
        }
        assert.deepStrictEqual([taken, outOfOrder], [keys, 0])
        const empty = { ready: [], running: [], waiting: [], held: [], failing: [] }
        assert.deepStrictEqual(yield* WorkQueue.snapshot(queue), empty)
      }),
    60_000
  )
})
