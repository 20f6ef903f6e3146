/** What the engine does about owners that are gone, event by event. */
import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Owner, Reconciler, Store } from "setpoint"
import { App, kind, layerOf } from "../corpus/kit.ts"

const Part = kind("Part")

/** Keeps a part, from what it reads of its App. */
const keeps = layerOf(Reconciler.make(App, {
  owns: [Part],
  reconcile: Effect.fnUntraced(function*(request) {
    const app = yield* Store.get(App, request)
    const owned = yield* Owner.setController({ metadata: { name: request.name }, spec: app.spec }, app)
    yield* Store.ensure(Part, request, () => owned)
  })
}))

const create = Store.create(App, { metadata: { name: "a" }, spec: { size: 1 } })
const parts = (story: string, verb: string) =>
  story.split("\n").filter((line) => line.includes(`${verb} Part a`)).length

describe("an owner that is gone, which its cache does not know", () => {
  it.effect("[E10] has nothing made for it again: the pass that a lost part wakes reads the store", () =>
    Effect.gen(function*() {
      const world = yield* Sim.world({ controllers: keeps })
      yield* world.run(create)
      yield* world.settle
      yield* world.hold(App)
      yield* world.run(Store.deleteUnconditionally(App, { name: "a" }))
      yield* world.advance("5 seconds")
      const story = yield* world.story
      assert.deepStrictEqual([parts(story, "create"), parts(story, "remove")], [1, 1])
      yield* world.letGo(App)
      yield* world.settle
      assert.strictEqual(world.list(Part).length, 0)
    }))

  it.effect("[E10] and has come again under its name: no later pass goes back to what the cache still holds", () =>
    Effect.gen(function*() {
      const world = yield* Sim.world({ controllers: keeps })
      yield* world.run(create)
      yield* world.settle
      yield* world.hold(App)
      yield* world.run(Store.deleteUnconditionally(App, { name: "a" }))
      const app = yield* world.run(create)
      yield* world.advance("5 seconds")
      const part = world.get(Part, "a")
      assert.isTrue(part !== undefined && Owner.isOwnedBy(part, app))
      assert.strictEqual(part?.metadata.generation, 1)
      yield* world.letGo(App)
      yield* world.settle
    }))

  it.effect("[E10] a part that somebody deleted is made again all the same", () =>
    Effect.gen(function*() {
      const world = yield* Sim.world({ controllers: keeps })
      yield* world.run(create)
      yield* world.settle
      yield* world.run(Store.deleteUnconditionally(Part, { name: "a" }))
      yield* world.settle
      assert.strictEqual(world.get(Part, "a")?.spec.size, 1)
    }))
})

describe("an owner that is deleted in the foreground", () => {
  it.effect("goes, with what it owns, though its reconciler would keep it", () =>
    Effect.gen(function*() {
      const world = yield* Sim.world({ controllers: keeps })
      yield* world.run(create)
      yield* world.settle
      yield* world.run(Store.deleteUnconditionally(App, { name: "a" }, { propagation: "foreground" }))
      yield* world.advance("5 seconds")
      assert.deepStrictEqual([...world.list(App), ...world.list(Part)], [])
      const story = yield* world.story
      assert.deepStrictEqual([parts(story, "create"), parts(story, "remove")], [1, 1])
    }))
})
