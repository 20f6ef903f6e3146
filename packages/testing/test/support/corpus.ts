/**
 * Published bugs, reduced to shapes: each as a wrong twin, which the search must find with the fewest deviations there
 * are, and a right twin, which must be clean over all runs up to the depth.
 */
import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import type { App } from "../../corpus/kit.ts"

interface Right<A, S> {
  readonly options: Sim.Options<A, S>
}

interface Wrong<A, S> {
  readonly options: Sim.Options<A, S>
  /** The same wrong twin where the engine's own guard is left in place: it is clean. */
  readonly guarded?: Sim.Options<A, S>
}

/** Of Apps, or of another kind `A`, with services `S` outside. */
export interface Shape<A = App, S = unknown> {
  readonly id: string
  readonly wrong: Wrong<A, S>
  readonly right: Right<A, S>
  /** What the wrong twin breaks, and with how many deviations at least. */
  readonly law: string
  readonly least: number
}

/** `SETPOINT_NIGHTLY` tries all pairs too, and many random runs. */
const isNightly = process.env["SETPOINT_NIGHTLY"] !== undefined
const budget = isNightly ? { depth: 2, maxRuns: 100_000, random: 1_000 } : { depth: 1, random: 20 }

/** Runs until the wrong twin is found, by its least number of deviations. */
const affordable = [20, 500, 20_000]

const isClean = <A, S>(options: Sim.Options<A, S>) =>
  Effect.map(
    Sim.check({ ...options, ...budget }),
    (summary) => assert.strictEqual(summary.depth, budget.depth, summary.text)
  )

/** The tests of a table of shapes. */
export const specify = (shapes: ReadonlyArray<Shape>): void => {
  for (const shape of shapes) specifyOne(shape)
}

/** The tests of a shape of any kind. */
export const specifyOne = <A, S>({ id, law, least, right, wrong }: Shape<A, S>): void => {
  describe(id, () => {
    it.effect("the wrong twin is found, with the least number of deviations", () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(Sim.check({ ...wrong.options, depth: 2, random: 0 }))
        assert.deepStrictEqual([failure.law, failure.deviations], [law, least], failure.report)
        assert.isAtMost(failure.runs, affordable[least] ?? 0, failure.report)
        const again = yield* Effect.flip(Sim.replay(wrong.options, failure.token))
        assert.deepStrictEqual([again.law, again.title], [failure.law, failure.title])
      }))

    it.effect("the right twin is clean", () => isClean(right.options))

    const { guarded } = wrong
    if (guarded !== undefined) it.effect("the wrong twin is clean behind the guard", () => isClean(guarded))
  })
}
