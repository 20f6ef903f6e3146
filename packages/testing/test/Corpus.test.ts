/**
 * Published bugs, reduced to shapes: each as a wrong twin, which the search must find with the fewest deviations there
 * are, and a right twin, which must be clean over all runs up to the depth.
 */
import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Fs from "node:fs"
import * as DL01 from "../corpus/DL-01.right.ts"
import * as DL01Wrong from "../corpus/DL-01.wrong.ts"
import * as DL02 from "../corpus/DL-02.right.ts"
import * as DL02Wrong from "../corpus/DL-02.wrong.ts"
import * as EX02 from "../corpus/EX-02.right.ts"
import * as EX02Wrong from "../corpus/EX-02.wrong.ts"
import * as EX04 from "../corpus/EX-04.right.ts"
import * as EX04Wrong from "../corpus/EX-04.wrong.ts"
import * as GT01 from "../corpus/GT-01.right.ts"
import * as GT01Wrong from "../corpus/GT-01.wrong.ts"
import * as HL01 from "../corpus/HL-01.right.ts"
import * as HL01Wrong from "../corpus/HL-01.wrong.ts"
import * as HL02 from "../corpus/HL-02.right.ts"
import * as HL02Wrong from "../corpus/HL-02.wrong.ts"
import * as HL05 from "../corpus/HL-05.right.ts"
import * as HL05Wrong from "../corpus/HL-05.wrong.ts"
import * as ID01 from "../corpus/ID-01.right.ts"
import * as ID01Wrong from "../corpus/ID-01.wrong.ts"
import * as IS01 from "../corpus/IS-01.right.ts"
import * as IS01Wrong from "../corpus/IS-01.wrong.ts"
import * as IS02 from "../corpus/IS-02.right.ts"
import * as IS02Wrong from "../corpus/IS-02.wrong.ts"
import * as IS03 from "../corpus/IS-03.right.ts"
import * as IS03Wrong from "../corpus/IS-03.wrong.ts"
import * as IS05 from "../corpus/IS-05.right.ts"
import * as IS05Wrong from "../corpus/IS-05.wrong.ts"
import * as IS06 from "../corpus/IS-06.right.ts"
import * as IS06Wrong from "../corpus/IS-06.wrong.ts"
import * as IS07 from "../corpus/IS-07.right.ts"
import * as IS07Wrong from "../corpus/IS-07.wrong.ts"
import * as IS09 from "../corpus/IS-09.right.ts"
import * as IS09Wrong from "../corpus/IS-09.wrong.ts"
import * as IS10 from "../corpus/IS-10.right.ts"
import * as IS10Wrong from "../corpus/IS-10.wrong.ts"
import * as IS11 from "../corpus/IS-11.right.ts"
import * as IS11Wrong from "../corpus/IS-11.wrong.ts"
import type { App, Cloud } from "../corpus/kit.ts"
import * as SS01 from "../corpus/SS-01.right.ts"
import * as SS01Wrong from "../corpus/SS-01.wrong.ts"
import * as ST01 from "../corpus/ST-01.right.ts"
import * as ST01Wrong from "../corpus/ST-01.wrong.ts"
import * as ST04 from "../corpus/ST-04.right.ts"
import * as ST04Wrong from "../corpus/ST-04.wrong.ts"
import * as ST06 from "../corpus/ST-06.right.ts"
import * as ST06Wrong from "../corpus/ST-06.wrong.ts"
import * as ST09 from "../corpus/ST-09.right.ts"
import * as ST09Wrong from "../corpus/ST-09.wrong.ts"
import * as ST12 from "../corpus/ST-12.right.ts"
import * as ST12Wrong from "../corpus/ST-12.wrong.ts"
import * as UN01 from "../corpus/UN-01.right.ts"
import * as UN01Wrong from "../corpus/UN-01.wrong.ts"
import * as UN02 from "../corpus/UN-02.right.ts"
import * as UN02Wrong from "../corpus/UN-02.wrong.ts"
import * as UN05 from "../corpus/UN-05.right.ts"
import * as UN05Wrong from "../corpus/UN-05.wrong.ts"

interface Twin {
  readonly options: Sim.Options<App, Cloud>
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
  { id: "DL-01", wrong: DL01Wrong, right: DL01, law: "P4", least: 0 },
  { id: "DL-02", wrong: DL02Wrong, right: DL02, law: "P4", least: 1 },
  { id: "EX-02", wrong: EX02Wrong, right: EX02, law: "P1", least: 1 },
  { id: "EX-04", wrong: EX04Wrong, right: EX04, law: "P1", least: 0 },
  { id: "GT-01", wrong: GT01Wrong, right: GT01, law: "P1", least: 0 },
  { id: "HL-01", wrong: HL01Wrong, right: HL01, law: "P3", least: 0 },
  { id: "HL-02", wrong: HL02Wrong, right: HL02, law: "P3", least: 0 },
  { id: "HL-05", wrong: HL05Wrong, right: HL05, law: "P1", least: 0 },
  { id: "ID-01", wrong: ID01Wrong, right: ID01, law: "P1", least: 0 },
  { id: "IS-01", wrong: IS01Wrong, right: IS01, law: "P1", least: 1 },
  { id: "IS-02", wrong: IS02Wrong, right: IS02, law: "P1", least: 1 },
  { id: "IS-03", wrong: IS03Wrong, right: IS03, law: "P1", least: 1 },
  { id: "IS-05", wrong: IS05Wrong, right: IS05, law: "P1", least: 1 },
  { id: "IS-06", wrong: IS06Wrong, right: IS06, law: "P1", least: 1 },
  { id: "IS-07", wrong: IS07Wrong, right: IS07, law: "P1", least: 1 },
  { id: "IS-09", wrong: IS09Wrong, right: IS09, law: "P1", least: 1 },
  { id: "IS-10", wrong: IS10Wrong, right: IS10, law: "P1", least: 1 },
  { id: "IS-11", wrong: IS11Wrong, right: IS11, law: "P1", least: 1 },
  { id: "SS-01", wrong: SS01Wrong, right: SS01, law: "P8", least: 0 },
  { id: "ST-01", wrong: ST01Wrong, right: ST01, law: "P6", least: 1 },
  { id: "ST-04", wrong: ST04Wrong, right: ST04, law: "P6", least: 1 },
  { id: "ST-06", wrong: ST06Wrong, right: ST06, law: "P6", least: 1 },
  { id: "ST-09", wrong: ST09Wrong, right: ST09, law: "P6", least: 1 },
  { id: "ST-12", wrong: ST12Wrong, right: ST12, law: "P13", least: 0 },
  { id: "UN-01", wrong: UN01Wrong, right: UN01, law: "P1", least: 1 },
  { id: "UN-02", wrong: UN02Wrong, right: UN02, law: "P1", least: 1 },
  { id: "UN-05", wrong: UN05Wrong, right: UN05, law: "P1", least: 1 }
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

describe("the README", () => {
  it.effect("shows what the search says of IS-01, to the letter", () =>
    Effect.gen(function*() {
      const { report } = yield* Effect.flip(Sim.check(IS01Wrong.options))
      const readme = Fs.readFileSync(new URL("../README.md", import.meta.url), "utf8")
      assert.include(readme, report)
    }))
})
