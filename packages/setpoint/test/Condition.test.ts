import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Condition from "setpoint/Condition"
import * as Kind from "setpoint/Kind"

const decode = Schema.decodeUnknownResult(Condition.List)
const then = "2026-01-01T00:00:00Z"

describe("Condition", () => {
  it("constructors leave time and generation to the write", () => {
    assert.deepStrictEqual(Condition.ready(), { type: "Ready", status: "True", reason: "Ready", message: "" })
    assert.deepStrictEqual(Condition.notReady({ reason: "Starting", message: "1 of 3" }), {
      type: "Ready",
      status: "False",
      reason: "Starting",
      message: "1 of 3"
    })
  })

  it("what constructors make decodes, and a kind with conditions stays plain", () => {
    assert.isTrue(Result.isSuccess(decode([Condition.ready(), Condition.notReady({ reason: "A1" })])))
    const kind = Kind.make({
      group: "example.dev",
      version: "v1",
      kind: "Website",
      status: Schema.Struct({ conditions: Condition.List })
    })
    assert.isTrue(kind.plain)
  })

  it("a reason that is not one word, an unknown status and a wrong type are refused, naming the field", () => {
    const refused = (change: object) => {
      const result = decode([{ ...Condition.ready(), ...change }])
      assert.isTrue(Result.isFailure(result))
      return Result.isFailure(result) ? Kind.fieldsOf(result.failure).map((field) => field.path) : []
    }
    for (const reason of ["", "not ready", "1st", "Réady", "Trailing:", "x".repeat(1025)]) {
      assert.deepStrictEqual(refused({ reason }), ["[0].reason"])
    }
    for (const type of ["", "a b", "/x", "x/", "-x"]) assert.deepStrictEqual(refused({ type }), ["[0].type"])
    assert.deepStrictEqual(refused({ status: "true" }), ["[0].status"])
    assert.isTrue(Result.isSuccess(decode([{ ...Condition.ready(), type: "example.dev/Synced", reason: "A_b,c:D" }])))
  })

  it("a message over the limit is cut with a mark and never inside a character", () => {
    const long = Condition.notReady({ reason: "Long", message: "é".repeat(40_000) })
    assert.strictEqual(long.message.length, Condition.maxMessageLength)
    assert.isTrue(long.message.endsWith("… (truncated)"))
    for (const pad of ["", "a"]) {
      const pairs = Condition.notReady({ reason: "Long", message: pad + "😀".repeat(20_000) })
      assert.isAtMost(pairs.message.length, Condition.maxMessageLength)
      assert.doesNotThrow(() => encodeURIComponent(pairs.message), "a lone half of a pair")
    }
    const fits = "x".repeat(Condition.maxMessageLength)
    assert.strictEqual(Condition.notReady({ reason: "Fits", message: fits }).message, fits)
  })

  it("the transition time moves only with the status", () => {
    const before: Condition.List = [{ ...Condition.ready(), lastTransitionTime: then, observedGeneration: 1 }]
    const sameStatus = Condition.set(before, {
      ...Condition.ready({ reason: "Other" }),
      lastTransitionTime: "2026-02-02T00:00:00Z",
      observedGeneration: 2
    })
    assert.strictEqual(sameStatus[0].lastTransitionTime, then)
    assert.strictEqual(sameStatus[0].observedGeneration, 2)
    assert.strictEqual(sameStatus[0].reason, "Other")
    const moved = Condition.set(before, Condition.notReady({ reason: "Broken" }))
    assert.isFalse("lastTransitionTime" in moved[0])
  })

  it("setting keeps places, appends new types and gives the same list where nothing changed", () => {
    const stalled = Condition.make({ type: "Stalled", status: "False", reason: "Fine" })
    const list = [Condition.ready(), stalled]
    assert.strictEqual(Condition.set(list, stalled), list)
    assert.deepStrictEqual(
      Condition.set(list, Condition.notReady({ reason: "X" })).map((c) => c.type),
      ["Ready", "Stalled"]
    )
    const synced = Condition.make({ type: "Synced", status: "Unknown", reason: "New" })
    assert.deepStrictEqual(Condition.set(synced)(list), [...list, synced])
    assert.deepStrictEqual(Condition.remove(list, "Ready"), [stalled])
    assert.strictEqual(Condition.remove(list, "Absent"), list)
  })

  it("an absent condition is neither true nor false", () => {
    assert.isFalse(Condition.isTrue([], "Ready"))
    assert.isFalse(Condition.isFalse([], "Ready"))
    assert.isTrue(Condition.isTrue([Condition.ready()], "Ready"))
    assert.isTrue(Condition.isFalse([Condition.notReady({ reason: "X" })], "Ready"))
    assert.isUndefined(Condition.find([], "Ready"))
  })

  it("a summary is False before Unknown before True, and names each condition that decides", () => {
    const part = (type: string, status: Condition.Status, message = "") =>
      Condition.make({ type, status, reason: `${type}Reason`, message })
    assert.strictEqual(Condition.summarize([]).status, "True")
    assert.strictEqual(Condition.summarize([part("A", "True"), part("Ready", "False")]).status, "True")
    const unknown = Condition.summarize([part("A", "True")], { of: ["A", "B"] })
    assert.deepStrictEqual([unknown.status, unknown.reason, unknown.message], [
      "Unknown",
      "NotReported",
      "B: not reported yet"
    ])
    const wrong = Condition.summarize([part("A", "Unknown"), part("B", "False", "no"), part("C", "False")])
    assert.deepStrictEqual([wrong.status, wrong.reason, wrong.message], ["False", "BReason", "B: no; C: CReason"])
    const stalled = Condition.summarize([part("A", "True"), part("Stalled", "True", "disk full")], {
      abnormal: ["Stalled", "Degraded"]
    })
    assert.deepStrictEqual([stalled.status, stalled.message], ["False", "Stalled: disk full"])
  })
})
