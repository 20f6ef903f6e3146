/**
 * Published bugs, reduced to shapes: each as a wrong twin, which the search must find with the fewest deviations there
 * are, and a right twin, which must be clean over all runs up to the depth.
 */
import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as HL01 from "../corpus/HL-01.right.ts"
import * as HL01Wrong from "../corpus/HL-01.wrong.ts"
import * as IS01 from "../corpus/IS-01.right.ts"
import * as IS01Wrong from "../corpus/IS-01.wrong.ts"
import * as IS02 from "../corpus/IS-02.right.ts"
import * as IS02Wrong from "../corpus/IS-02.wrong.ts"
import * as IS03 from "../corpus/IS-03.right.ts"
import * as IS03Wrong from "../corpus/IS-03.wrong.ts"
import * as IS09 from "../corpus/IS-09.right.ts"
import * as IS09Wrong from "../corpus/IS-09.wrong.ts"
import type { App } from "../corpus/kit.ts"
import * as ST01 from "../corpus/ST-01.right.ts"
import * as ST01Wrong from "../corpus/ST-01.wrong.ts"
import * as ST09 from "../corpus/ST-09.right.ts"
import * as ST09Wrong from "../corpus/ST-09.wrong.ts"
import * as UN01 from "../corpus/UN-01.right.ts"
import * as UN01Wrong from "../corpus/UN-01.wrong.ts"

interface Twin {
  readonly options: Sim.Options<App>
}

interface Shape {
  readonly id: string
  readonly wrong: Twin
  readonly right: Twin
  /** What the wrong twin breaks, and with how many deviations at least. */
  readonly law: string
  readonly least: number
}

const shapes: ReadonlyArray<Shape> = [
  { id: "IS-01", wrong: IS01Wrong, right: IS01, law: "P1", least: 1 },
  { id: "IS-02", wrong: IS02Wrong, right: IS02, law: "P1", least: 1 },
  { id: "IS-03", wrong: IS03Wrong, right: IS03, law: "P1", least: 1 },
  { id: "IS-09", wrong: IS09Wrong, right: IS09, law: "P1", least: 1 },
  { id: "ST-01", wrong: ST01Wrong, right: ST01, law: "P6", least: 1 },
  { id: "ST-09", wrong: ST09Wrong, right: ST09, law: "P6", least: 1 },
  { id: "UN-01", wrong: UN01Wrong, right: UN01, law: "P1", least: 1 },
  { id: "HL-01", wrong: HL01Wrong, right: HL01, law: "P3", least: 0 }
]

/** `SETPOINT_NIGHTLY` tries all pairs too, and many random runs. */
const isNightly = process.env["SETPOINT_NIGHTLY"] !== undefined
const budget = isNightly ? { depth: 2, maxRuns: 100_000, random: 1_000 } : { depth: 1, random: 20 }

describe.each(shapes)("$id", ({ law, least, right, wrong }) => {
  it.effect(`the wrong twin is found, with the least number of deviations`, () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(Sim.check({ ...wrong.options, depth: 2, random: 0 }))
      assert.deepStrictEqual([failure.law, failure.deviations], [law, least], failure.report)
      const again = yield* Effect.flip(Sim.replay(wrong.options, failure.token))
      assert.deepStrictEqual([again.law, again.title], [failure.law, failure.title])
    }))

  it.effect("the right twin is clean", () =>
    Effect.gen(function*() {
      const summary = yield* Sim.check({ ...right.options, ...budget })
      assert.strictEqual(summary.depth, budget.depth, summary.text)
    }))
})
