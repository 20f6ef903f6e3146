import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { MemoryStore, Store } from "setpoint"
import * as Claim from "../src/Claim.ts"
import { Supervisor } from "../src/Kinds.ts"
import { World } from "./utils/World.ts"

const supervised = <A, E>(world: World, supervisor: string, body: Effect.Effect<A, E, Store.Store>) =>
  Effect.scoped(Effect.provide(body, Layer.provideMerge(Layer.fresh(Claim.layer), world.layer(supervisor))))

const owner = Effect.map(Store.get(Supervisor, { name: "supervisor" }), ({ spec }) => spec.identity.began)

describe("the state of a fleet", () => {
  it.effect("belongs to one supervisor: another one is refused while it lives", () =>
    Effect.suspend(() => {
      const world = new World()
      const second = Effect.flip(supervised(world, "second", Effect.void))
      return supervised(
        world,
        "first",
        Effect.gen(function*() {
          const refused = yield* second
          assert.strictEqual(refused._tag, "AlreadySupervised")
          assert.match(refused.message, /another supervisor \(pid 1\) works on this state/)
          assert.strictEqual(yield* owner, "first")
        })
      )
    }).pipe(Effect.provide(MemoryStore.layer)))

  it.effect("is taken over from one that lives no longer, however it ended", () =>
    Effect.suspend(() => {
      const world = new World()
      return Effect.andThen(supervised(world, "first", Effect.void), supervised(world, "second", owner))
    }).pipe(
      Effect.map((owner) => assert.strictEqual(owner, "second")),
      Effect.provide(MemoryStore.layer)
    ))
})
