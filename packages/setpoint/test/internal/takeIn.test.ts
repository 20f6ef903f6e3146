import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { deepFreeze, equal, type Json } from "setpoint/internal/json"
import { sizeOf, takeIn } from "setpoint/internal/takeIn"

const take = (value: unknown, stored?: Json) => Result.getOrThrow(takeIn(value, stored, { freeze: true }))

const JsonValue: Schema.Codec<Json> = Schema.suspend((): Schema.Codec<Json> =>
  Schema.Union([
    Schema.Literals([0, 1, "x", "y", true]),
    Schema.Null,
    Schema.Array(JsonValue),
    Schema.Record(Schema.Literals(["a", "b", "c"]), JsonValue)
  ])
)

describe("takeIn", () => {
  it.prop("gives an equal value, frozen, that shares nothing with the caller's", [JsonValue], ([value]) => {
    const before = JSON.stringify(value)
    const taken = take(value)
    assert.isTrue(equal(taken, value))
    assert.strictEqual(JSON.stringify(value), before)
    if (typeof value === "object" && value !== null) {
      assert.notStrictEqual(taken, value)
      assert.isTrue(Object.isFrozen(taken))
      assert.isFalse(Object.isFrozen(value))
    }
  })

  it.prop(
    "keeps the identity of the stored value where, and only where, it is equal",
    [JsonValue, JsonValue],
    ([value, other]) => {
      const stored = take(other)
      const taken = take(value, stored)
      assert.strictEqual(taken === stored, equal(value, stored))
      assert.isTrue(equal(taken, value))
      if (typeof taken !== "object" || taken === null || typeof stored !== "object" || stored === null) return
      if (Array.isArray(taken) || Array.isArray(stored)) return
      for (const [name, part] of Object.entries(taken)) {
        const before = Object.entries(stored).find(([key]) => key === name)?.[1]
        if (before !== undefined && equal(part, before)) assert.strictEqual(part, before)
      }
    },
    { arbitrary: { runs: 1_000 } }
  )

  it("a caller's frozen value is copied too: its inner parts may be open", () => {
    const inner = { b: 1 }
    const taken = take(Object.freeze({ a: inner }))
    inner.b = 2
    assert.deepStrictEqual(taken, { a: { b: 1 } })
  })

  it("the stored value itself is taken without a look", () => {
    const stored = deepFreeze({ a: { b: [1, 2, 3] } })
    assert.strictEqual(take({ ...stored, c: 1 }, stored) === stored, false)
    assert.strictEqual(take({ ...stored }, stored), stored)
  })

  it("members that are undefined are left out, in an array they are refused", () => {
    assert.deepStrictEqual(take({ a: undefined, b: 1 }), { b: 1 })
    const refused = takeIn({ a: [1, undefined] }, undefined, { freeze: true })
    assert.deepStrictEqual(Result.isFailure(refused) && refused.failure.path, "a[1]")
  })

  it("sizes are about those of the text", () => {
    const value = { host: "blog.example.dev", replicas: 3, paths: ["a", "b"], on: true, none: null }
    const size = sizeOf(value)
    const text = JSON.stringify(value).length
    assert.isTrue(Math.abs(size - text) < text / 2, `${size} beside ${text}`)
  })
})
