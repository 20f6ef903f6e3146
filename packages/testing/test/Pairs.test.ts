import { assert, describe, it } from "@effect/vitest"
import * as Choices from "@setpoint/testing/internal/sim/choices"
import * as randomness from "@setpoint/testing/internal/sim/randomness"
import { run } from "@setpoint/testing/internal/sim/run"
import { spec } from "./support/pods.ts"

const pairs = process.env["SETPOINT_NIGHTLY"] === undefined ? 2_000 : 100_000

describe("a run", () => {
  it("is a function of its choices: equal ones give equal runs, and its list of deviations gives it again", () => {
    const hashes = new Set<number>()
    for (let i = 0; i < pairs; i++) {
      const kind = i % 3 === 0 ? Choices.prioritized : Choices.random
      const source = () => kind(randomness.make(randomness.seedOf(`pair ${i}`)))
      const first = run(spec, source(), { isRecorded: false, plain: undefined })
      const again = i % 2 === 0 ? source() : Choices.planned(first.taken)
      const second = run(spec, again, { isRecorded: false, plain: undefined })
      assert.strictEqual(second.hash, first.hash, Choices.print(first.taken))
      assert.isUndefined(first.violation, Choices.print(first.taken))
      const names = first.points.map(({ name }) => name)
      assert.strictEqual(new Set(names).size, names.length, "a point is named once, also where its call is put off")
      hashes.add(first.hash)
    }
    assert.isAbove(hashes.size, pairs / 4)
  }, pairs * 100)
})
