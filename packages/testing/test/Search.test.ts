/** The search itself: what it leaves out, what it draws, and how it makes what it finds shorter. */
import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as EX02 from "../corpus/EX-02.right.ts"
import * as EX02Wrong from "../corpus/EX-02.wrong.ts"
import * as IS01Wrong from "../corpus/IS-01.wrong.ts"
import * as IS03 from "../corpus/IS-03.right.ts"
import * as IS03Wrong from "../corpus/IS-03.wrong.ts"
import type { App, Cloud } from "../corpus/kit.ts"
import * as ST09 from "../corpus/ST-09.right.ts"
import * as UN01Wrong from "../corpus/UN-01.wrong.ts"

type Options = Sim.Options<App, Cloud>

describe("a pruned search", () => {
  const verdict = (options: Options, prune: boolean, depth: number) =>
    Sim.check({ ...options, depth, maxRuns: 1e6, random: 0, prune }).pipe(
      Effect.match({
        onSuccess: () => "clean",
        onFailure: ({ deviations, law, token }) => `${law} with ${deviations}: ${token}`
      })
    )

  const shapes: ReadonlyArray<readonly [string, { readonly options: Options }, number]> = [
    ["EX-02 wrong", EX02Wrong, 1],
    ["IS-01 wrong", IS01Wrong, 1],
    ["IS-03 wrong", IS03Wrong, 1],
    ["UN-01 wrong", UN01Wrong, 1],
    ["EX-02 right", EX02, 1],
    ["IS-03 right", IS03, 2],
    ["ST-09 right", ST09, 1]
  ]

  it.effect.each(shapes)(
    "says of %s what one says that prunes nothing",
    ([, { options }, depth]) =>
      Effect.gen(function*() {
        const whole = yield* verdict(options, false, depth)
        const pruned = yield* verdict(options, true, depth)
        assert.deepStrictEqual(pruned, whole)
      })
  )

  it.effect("makes fewer runs, says for how many more they stand, and ends many of them early", () =>
    Effect.gen(function*() {
      const steps = (prune: boolean) =>
        Effect.gen(function*() {
          let last: Sim.Progress | undefined
          const onProgress = (progress: Sim.Progress) => Effect.sync(() => void (last = progress))
          const summary = yield* Sim.check({ ...IS03.options, depth: 2, random: 0, prune, onProgress })
          return { ...summary, steps: last?.steps ?? 0 }
        })
      const whole = yield* steps(false)
      const pruned = yield* steps(true)
      assert.strictEqual(whole.pruned, 0)
      assert.isAbove(pruned.pruned, 0)
      assert.isBelow(pruned.steps, whole.steps * 0.75)
      assert.include(pruned.text, `which stand for about ${pruned.pruned} lists of deviations more`)
    }))
})
