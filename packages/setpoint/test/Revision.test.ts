import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { Revision } from "setpoint"

describe("Revision", () => {
  it.prop("[S1] decimal revisions of any length are ordered as numbers", [
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
  ], ([a, b]) => {
    const expected = a === b ? "same" : a < b ? "before" : "after"
    assert.strictEqual(Revision.compare(String(a), String(b)), expected)
    assert.strictEqual(Revision.compare(`9${"0".repeat(30)}${a}`, `9${"0".repeat(29)}${a}`), "after")
  })

  it("what is no decimal number is the same or incomparable", () => {
    assert.strictEqual(Revision.compare("a", "a"), "same")
    for (const [a, b] of [["a", "b"], ["1", "a"], ["01", "1"], ["", "1"], ["-1", "1"], ["1e3", "1"]] as const) {
      assert.strictEqual(Revision.compare(a, b), "incomparable")
      assert.strictEqual(Revision.compare(b, a), "incomparable")
    }
  })
})
