import { assert, describe, it } from "@effect/vitest"
import { mergeConditions, stampStatus } from "setpoint/internal/conditions"

const then = "2026-01-01T00:00:00Z"
const now = "2026-02-02T00:00:00Z"
const ready = (status: string, lastTransitionTime?: string) => ({
  type: "Ready",
  status,
  ...(lastTransitionTime === undefined ? {} : { lastTransitionTime })
})

describe("conditions", () => {
  it("a new condition gets the time, unless it brings one", () => {
    assert.deepStrictEqual(mergeConditions(undefined, [ready("True")], now, 1), [
      { ...ready("True", now), observedGeneration: 1 }
    ])
    assert.deepStrictEqual(mergeConditions([], [ready("True", then)], now, undefined), [ready("True", then)])
  })

  it("the time stays where the status is as it was, whatever the caller has there", () => {
    assert.deepStrictEqual(mergeConditions([ready("True", then)], [ready("True")], now, undefined), [
      ready("True", then)
    ])
    assert.deepStrictEqual(mergeConditions([ready("True", then)], [ready("True", now)], now, undefined), [
      ready("True", then)
    ])
  })

  it("the time moves with the status, also where the caller carried the old one along", () => {
    for (const given of [undefined, then]) {
      assert.deepStrictEqual(mergeConditions([ready("True", then)], [ready("False", given)], now, undefined), [
        ready("False", now)
      ])
    }
  })

  it("what is no condition is left as it is", () => {
    assert.deepStrictEqual(mergeConditions("none", ["x", { type: 1 }, null], now, 3), ["x", { type: 1 }, null])
  })

  it("a status gets the object's generation, unless the caller moved it on their own", () => {
    assert.deepStrictEqual(stampStatus({ observedGeneration: 1 }, { observedGeneration: 1 }, now, 2), {
      observedGeneration: 2
    })
    assert.deepStrictEqual(stampStatus({ observedGeneration: 1 }, {}, now, 2), { observedGeneration: 2 })
    assert.deepStrictEqual(stampStatus({ observedGeneration: 3 }, { observedGeneration: 1 }, now, 4), {
      observedGeneration: 1
    })
    assert.strictEqual(stampStatus(undefined, "ready", now, 2), "ready")
  })
})
