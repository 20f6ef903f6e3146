import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as SortedKeys from "setpoint/internal/sortedKeys"

const Steps = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_000 })))

describe("sortedKeys", () => {
  it.prop("keeps the keys of a set in order, through inserts and removals", [Steps, Schema.Int], ([steps, start]) => {
    const keys = SortedKeys.make()
    const model = new Set<string>()
    const toggle = (key: string) => {
      if (model.delete(key)) SortedKeys.remove(keys, key)
      else {
        model.add(key)
        SortedKeys.insert(keys, key)
      }
    }
    for (let i = 0; i < 1_500; i++) toggle(`k-${(i * 7919 + Math.abs(start)) % 2_000}`)
    for (const step of steps) toggle(`k-${step}`)
    for (let i = 0; i < 1_200; i++) toggle(`k-${(i * 104_729) % 2_000}`)
    const sorted = [...model].toSorted()
    const middle = `k-${Math.abs(start) % 2_000}`
    assert.deepStrictEqual([...SortedKeys.from(keys, "")], sorted)
    assert.deepStrictEqual([...SortedKeys.from(keys, middle)], sorted.filter((key) => key >= middle))
    for (const block of keys.blocks) assert.isTrue(block.length > 0 && block.length <= 512)
  })

  it("keys in order fill their blocks, and an emptied list has none", () => {
    const keys = SortedKeys.make()
    const all = Array.from({ length: 5_000 }, (_, i) => String(i).padStart(6, "0"))
    for (const key of all) SortedKeys.insert(keys, key)
    assert.isAtMost(keys.blocks.length, 10)
    for (const key of all) SortedKeys.remove(keys, key)
    assert.deepStrictEqual(keys.blocks, [])
  })
})
