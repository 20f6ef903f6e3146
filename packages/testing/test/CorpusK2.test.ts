/** Published bugs of the class K, two leaders: the second. */
import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as LD02 from "../corpus/LD-02.right.ts"
import * as LD02Wrong from "../corpus/LD-02.wrong.ts"
import { specify } from "./support/corpus.ts"

specify([{ id: "LD-02", wrong: LD02Wrong, right: LD02, law: "P6", least: 1 }])

describe("LD-02 behind the fence", () => {
  it.effect(
    "no old leader writes, but one that does not know that it is one leads nobody to a result",
    () =>
      Effect.gen(function*() {
        yield* Sim.check({ ...LD02Wrong.fenced, depth: 1, random: 0 })
        const token = "ctl/outside/fence:apps=slow,world/step/3/ctl-2=stop"
        const failure = yield* Effect.flip(Sim.replay(LD02Wrong.fenced, token))
        assert.strictEqual(failure.law, "P1", failure.report)
      }),
    10 * 60_000
  )
})
