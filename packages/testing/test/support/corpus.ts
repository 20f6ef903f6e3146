/**
 * Published bugs, reduced to shapes: each as a wrong twin, which the search must find with the fewest deviations there
 * are, and a right twin, which must be clean over all runs up to the depth.
 */
import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import type { App } from "../../corpus/kit.ts"

interface Right<S, A> {
  readonly options: Sim.Options<A, S>
}

interface Wrong<S, A> extends Right<S, A> {
  /** The same wrong twin where the engine's own guard is left in place: it is clean. */
  readonly guarded?: Sim.Options<A, S>
}

/** A bug in both forms; `S`: the services from outside that shapes use; `A`: their kind. */
export interface Shape<S, A = App> {
  readonly id: string
  readonly wrong: Wrong<S, A>
  readonly right: Right<S, A>
  /** What the wrong twin breaks, and with how many deviations at least. */
  readonly law: string
  readonly least: number
  /** The token of the published story, where the search meets another first: it breaks the same law. */
  readonly published?: string
}

/** `SETPOINT_NIGHTLY` tries all pairs too, and many random runs. */
const isNightly = process.env["SETPOINT_NIGHTLY"] !== undefined
const budget = isNightly ? { depth: 2, maxRuns: 100_000, random: 1_000 } : { depth: 1, random: 20 }

/** Tests of a file run side by side and wait for each other: in milliseconds. */
const timeout = isNightly ? 6 * 60 * 60_000 : 10 * 60_000

/** Runs until the wrong twin is found, by its least number of deviations. */
const affordable = [20, 500, 20_000]

const isClean = <S, A>(options: Sim.Options<A, S>) =>
  Effect.map(
    Sim.check({ ...options, ...budget }),
    (summary) => assert.strictEqual(summary.depth, budget.depth, summary.text)
  )

/** The tests of a table of shapes. */
export const specify = <S, A = App>(shapes: ReadonlyArray<Shape<S, A>>): void => {
  for (const { id, law, least, published, right, wrong } of shapes) {
    describe(id, () => {
      it.effect("the wrong twin is found, with the least number of deviations", () =>
        Effect.gen(function*() {
          const failure = yield* Effect.flip(Sim.check({ ...wrong.options, depth: 2, random: 0 }))
          assert.deepStrictEqual([failure.law, failure.deviations], [law, least], failure.report)
          assert.isAtMost(failure.runs, affordable[least] ?? 0, failure.report)
          const again = yield* Effect.flip(Sim.replay(wrong.options, failure.token))
          assert.deepStrictEqual([again.law, again.title], [failure.law, failure.title])
        }), timeout)

      if (published !== undefined) {
        it.effect("the wrong twin breaks in the way that was published", () =>
          Effect.gen(function*() {
            const failure = yield* Effect.flip(Sim.replay(wrong.options, published))
            assert.deepStrictEqual([failure.law, failure.deviations], [law, least], failure.report)
          }), timeout)
      }

      it.effect("the right twin is clean", () => isClean(right.options), timeout)

      const { guarded } = wrong
      if (guarded !== undefined) it.effect("the wrong twin is clean behind the guard", () => isClean(guarded), timeout)
    })
  }
}
