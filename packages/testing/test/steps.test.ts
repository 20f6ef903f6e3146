import { assert, describe, it } from "@effect/vitest"
import { Sim, type SimWorld } from "@setpoint/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Controller, Kind, Owner, Reconciler, type Request, Store } from "setpoint"

const spec = Schema.Struct({ size: Schema.Int })
const App = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "App",
  spec,
  status: Schema.Struct({ size: Schema.Int })
})
const Part = Kind.make({ group: "example.dev", version: "v1", kind: "Part", spec })

class Cloud extends Context.Service<Cloud, {
  readonly order: (name: string) => Effect.Effect<void>
}>()("SimWorld/Cloud") {}

const reconciles = <R>(reconcile: (request: Request.Request) => Effect.Effect<unknown, unknown, R>) =>
  Controller.layerFor(
    Reconciler.make(App, { owns: [Part], reconcile: (request) => Effect.asVoid(reconcile(request)) })
  ).pipe(Layer.provide(Controller.layer()))

/** Keeps a part of the App's size, and says so. */
const keeps = reconciles(Effect.fnUntraced(function*(request) {
  const app = yield* Store.get(App, request)
  const owned = yield* Owner.setController({ metadata: { name: request.name }, spec: app.spec }, app)
  yield* Store.ensure(Part, request, () => owned)
  yield* Store.updateStatus(App, app, { size: app.spec.size })
}))

const create = Store.create(App, { metadata: { name: "a" }, spec: { size: 1 } })
const resize = (size: number) => Store.patchUnconditionally(App, { name: "a" }, { merge: { spec: { size } } })

const ends = (world: SimWorld.SimWorld) =>
  Effect.map(world.passes, (passes) => passes.map(({ end, number, process }) => `${process} ${number} ${end}`))

describe("a world that a test drives", () => {
  it.effect("nothing moves but when the test lets it", () =>
    Effect.gen(function*() {
      const world = yield* Sim.world({ controllers: keeps })
      yield* world.run(create)
      assert.isUndefined(world.get(Part, "a"))
      yield* world.advance("1 second")
      assert.strictEqual(world.get(Part, "a")?.spec.size, 1)
      assert.strictEqual(world.get(App, "a")?.status?.size, 1)
    }))

  it.effect("what is run gives its value, and fails as it fails", () =>
    Effect.gen(function*() {
      const world = yield* Sim.world({ controllers: keeps })
      assert.strictEqual((yield* world.run(create)).metadata.generation, 1)
      const error = yield* Effect.flip(world.run(create))
      assert.strictEqual(error._tag === "StoreError" ? error.reason._tag : error._tag, "AlreadyExists")
    }))

  it.effect("events of a kind that is held wait: a pass sees them once they are let go", () =>
    Effect.gen(function*() {
      const world = yield* Sim.world({ controllers: keeps })
      yield* world.run(create)
      yield* world.settle
      yield* world.hold(App)
      yield* world.run(resize(2))
      yield* world.advance("1 minute")
      assert.strictEqual(world.get(Part, "a")?.spec.size, 1)
      yield* world.letGo(App)
      yield* world.advance("1 second")
      assert.strictEqual(world.get(Part, "a")?.spec.size, 2)
    }))

  it.effect("a fault is put on the next call of a name, and happens once", () =>
    Effect.gen(function*() {
      const world = yield* Sim.world({ controllers: keeps })
      yield* world.next("create:Part/a", "lose")
      yield* world.next("create:Part/b", "lose")
      yield* world.run(create)
      yield* world.settle
      assert.strictEqual(world.get(Part, "a")?.spec.size, 1)
      assert.deepStrictEqual(yield* world.pending, ["create:Part/b=lose"])
      assert.deepStrictEqual((yield* ends(world)).slice(0, 2), ["ctl 1 Failed", "ctl 2 Done"])
      assert.include(yield* world.story, "create:Part/a: applied, but the reply was lost")
    }))

  it.effect("a process is killed in a call, killed at rest, stopped, and has a second one beside it", () =>
    Effect.gen(function*() {
      const world = yield* Sim.world({ controllers: keeps })
      yield* world.next("create:Part/a", "kill-after")
      yield* world.run(create)
      yield* world.settle
      yield* world.kill
      yield* world.advance("2 seconds")
      yield* world.stop
      yield* world.advance("2 seconds")
      yield* world.overlap
      yield* world.settle
      const processes = new Set((yield* world.passes).map(({ process }) => process))
      assert.deepStrictEqual([...processes], ["ctl@2", "ctl@3", "ctl@4", "ctl@5"])
    }))

  it.effect("external services are faked, and their calls have names too", () =>
    Effect.gen(function*() {
      const cloud = Sim.external(Cloud, () => {
        const orders: Array<string> = []
        return { orders, order: (name: string) => Effect.sync(() => void orders.push(name)) }
      })
      const world = yield* Sim.world({
        controllers: reconciles(Effect.fnUntraced(function*(request) {
          const app = yield* Store.get(App, request)
          if (app.status !== undefined) return
          yield* Effect.flatMap(Cloud, (cloud) => cloud.order(request.name))
          yield* Store.updateStatus(App, app, { size: 1 })
        })),
        external: [cloud]
      })
      yield* world.next("Cloud.order", "kill-after")
      yield* world.run(create)
      yield* world.settle
      assert.deepStrictEqual(world.external(cloud).orders, ["a", "a"]) // ordered twice: a bug, shown by hand
    }))

  it.effect("a law that breaks fails the step, and those after it", () =>
    Effect.gen(function*() {
      const world = yield* Sim.world({
        controllers: reconciles(Effect.fnUntraced(function*(request) {
          const app = yield* Store.get(App, request)
          Object.assign(app.spec, { size: 3 })
        }))
      })
      yield* world.run(create)
      const error = yield* Effect.flip(world.advance("1 second"))
      assert.strictEqual(error.law, "P13")
      assert.include(error.story, "create App a")
      assert.strictEqual((yield* Effect.flip(world.settle)).law, "P13")
    }))

  it.effect("what leaks is named", () =>
    Effect.gen(function*() {
      const world = yield* Sim.world({ controllers: reconciles(() => Effect.sync(() => Math.random())) })
      yield* world.run(create)
      const error = yield* Effect.flip(world.advance("1 second"))
      assert.match(error.title, /Math\.random was called.*steps\.test\.ts/)
    }))

  it.effect("two worlds of one seed are the same, line by line", () =>
    Effect.gen(function*() {
      const play = Effect.gen(function*() {
        const world = yield* Sim.world({ controllers: keeps })
        yield* world.run(create)
        yield* world.settle
        yield* world.kill
        yield* world.run(resize(3))
        yield* world.settle
        return yield* world.story
      })
      assert.strictEqual(yield* play, yield* play)
    }))
})
