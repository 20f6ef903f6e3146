import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as DelayHeap from "setpoint/internal/delayHeap"

const Due = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 50 }))
const Op = Schema.Union([
  Schema.TaggedStruct("insert", { due: Due }),
  Schema.TaggedStruct("insert", { due: Due }),
  Schema.TaggedStruct("remove", { which: Due }),
  Schema.TaggedStruct("pop", {})
])

describe("the heap of delayed keys", () => {
  it.effect("[Q4] gives items by time, those of one time as they came, whichever were taken out between", () =>
    Effect.gen(function*() {
      const ops = Arbitrary.array(Arbitrary.schema(Op), { maxLength: 300 })
      const result = yield* Arbitrary.checkEffect(ops, run, { runs: 500, size: 300 })
      assert.strictEqual(result._tag, "Passed", Arbitrary.formatCheckFailure(result))
    }))
})

/** Whether the heap agrees with a sorted list after each operation, and when it is emptied at the end. */
const run = (ops: ReadonlyArray<typeof Op.Type>): boolean => {
  const heap = DelayHeap.make<DelayHeap.Due>()
  let sorted: Array<DelayHeap.Due> = []
  const take = (item: DelayHeap.Due | undefined): boolean => {
    if (item === undefined) return true
    DelayHeap.remove(heap, item)
    DelayHeap.remove(heap, item)
    sorted = sorted.filter((other) => other !== item)
    return item.heapIndex === -1
  }
  const step = (op: typeof Op.Type): boolean => {
    if (op._tag === "remove") return take(heap.items[op.which]) && DelayHeap.first(heap) === sorted[0]
    if (op._tag === "pop") return take(DelayHeap.first(heap)) && DelayHeap.first(heap) === sorted[0]
    const item = { due: op.due, order: 0, heapIndex: -1 }
    DelayHeap.insert(heap, item)
    sorted = [...sorted, item].toSorted((a, b) => a.due - b.due)
    return DelayHeap.first(heap) === sorted[0]
  }
  const drain = (): boolean =>
    sorted.length === 0 || (DelayHeap.first(heap) === sorted[0] && take(sorted[0]) && drain())
  return ops.every(step) && drain() && heap.items.length === 0
}
