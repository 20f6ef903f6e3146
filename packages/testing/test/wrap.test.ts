import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { TestClock } from "effect/testing"

class Cloud extends Context.Service<Cloud, {
  readonly create: (name: string) => Effect.Effect<void, string>
  readonly names: Effect.Effect<ReadonlyArray<string>, string>
}>()("wrap/Cloud") {}

/** A fake, frozen as a module's is. */
const cloud = () => {
  const made: Array<string> = []
  const layer = Layer.succeed(
    Cloud,
    Object.freeze({
      create: (name: string) => Effect.sync(() => void made.push(name)),
      names: Effect.sync(() => [...made])
    })
  )
  return { made, layer }
}

const create = (name: string) => Effect.flatMap(Cloud, (cloud) => cloud.create(name))

const fails = () => "no answer"

describe("a dependency with faults in front of it", () => {
  it.effect("a call that is refused was not made, one whose reply was lost was", () =>
    Effect.gen(function*() {
      const { layer, made } = cloud()
      const faults = ["refuse", "lose"] as const
      const wrap = Sim.wrap(Cloud, { fails, script: (_, number) => faults[number - 1] })
      const outcomes = yield* Effect.forEach(["a", "b", "c"], (name) => Effect.exit(create(name))).pipe(
        Effect.provide(wrap(layer))
      )
      assert.deepStrictEqual(outcomes.map(({ _tag }) => _tag), ["Failure", "Failure", "Success"])
      assert.deepStrictEqual(made, ["b", "c"])
    }))

  it.effect("calls and replies take their time under the clock of the test", () =>
    Effect.gen(function*() {
      const { layer, made } = cloud()
      const creating = yield* Effect.forkChild(
        Effect.provide(create("a"), Sim.wrap(Cloud, { latency: "10 seconds" })(layer)),
        { startImmediately: true }
      )
      assert.deepStrictEqual(made, [])
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(made, ["a"])
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(creating)
    }))

  it.effect("chance is a function of the seed, whatever else is called in between", () =>
    Effect.gen(function*() {
      const play = (seed: number, alsoReads: boolean) => {
        const { layer } = cloud()
        const wrap = Sim.wrap(Cloud, { fails, reads: ["names"], refuse: 0.3, lose: 0.3, seed })
        const read = Effect.flatMap(Cloud, (cloud) => Effect.exit(cloud.names))
        return Effect.forEach(
          Array.from({ length: 20 }, (_, index) => `${index}`),
          (name) =>
            Effect.andThen(alsoReads ? read : Effect.void, Effect.map(Effect.exit(create(name)), ({ _tag }) => _tag))
        ).pipe(Effect.provide(wrap(layer)))
      }
      const first = yield* play(1, false)
      assert.includeMembers([...first], ["Success", "Failure"])
      assert.deepStrictEqual(yield* play(1, true), first)
      assert.notDeepEqual(yield* play(2, false), first)
    }))
})
