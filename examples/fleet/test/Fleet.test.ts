import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { TestClock } from "effect/testing"
import { MemoryStore, Store } from "setpoint"
import * as Fleet from "../src/Fleet.ts"
import { Process, Service } from "../src/Kinds.ts"
import type { Processes } from "../src/Processes.ts"
import { World } from "./utils/World.ts"

const declare = (name: string, spec: Partial<Service["spec"]> = {}) =>
  Store.apply(Service, {
    metadata: { name },
    spec: {
      command: "node",
      args: [],
      env: {},
      stopTimeout: "5 seconds",
      replicas: 2,
      ports: { from: 10, to: 19 },
      health: { path: "/", every: "1 second", timeout: "1 second", failures: 3 },
      ...spec
    }
  }, { manager: "test", force: true })

const status = (name: string) => Effect.map(Store.get(Service, { name }), ({ status }) => status)

/** Lets everything happen that is due within a time. */
const within = (duration: "1 second" | "10 seconds") => TestClock.adjust(duration)

const supervised = <A, E>(
  world: World,
  body: Effect.Effect<A, E, Processes | Store.Store>,
  options?: Fleet.Options,
  run = "first"
) => Effect.scoped(body.pipe(Effect.provide(Layer.provideMerge(Fleet.layer(options), world.layer(run)))))

const machine = <A, E>(body: (world: World) => Effect.Effect<A, E, Store.Store>) =>
  Effect.suspend(() => body(new World())).pipe(Effect.provide(MemoryStore.layer))

const living = (world: World) => world.living.map(({ launch, name }) => `${name}:${launch?.port}`).toSorted()

describe("a fleet", () => {
  it.effect("gives each service its processes, and says when they are ready", () =>
    machine((world) =>
      supervised(
        world,
        Effect.gen(function*() {
          yield* declare("web")
          yield* declare("api", { replicas: 1 })
          yield* within("10 seconds")
          assert.deepStrictEqual(living(world), ["api-0:12", "web-0:10", "web-1:11"])
          assert.deepInclude(yield* status("web"), { replicas: 2, ready: 2 })
          assert.deepInclude(yield* status("api"), { replicas: 1, ready: 1 })
        })
      )
    ))

  it.effect("follows the number of replicas up and down", () =>
    machine((world) =>
      supervised(
        world,
        Effect.gen(function*() {
          yield* declare("web")
          yield* within("10 seconds")
          yield* declare("web", { replicas: 4 })
          yield* within("10 seconds")
          assert.deepStrictEqual(living(world), ["web-0:10", "web-1:11", "web-2:12", "web-3:13"])
          yield* declare("web", { replicas: 1 })
          yield* within("10 seconds")
          assert.deepStrictEqual(living(world), ["web-0:10"])
          assert.deepInclude(yield* status("web"), { replicas: 1, ready: 1 })
        })
      )
    ))

  it.effect("brings back what was killed, at once when it hears of it", () =>
    machine((world) =>
      supervised(
        world,
        Effect.gen(function*() {
          yield* declare("web")
          yield* within("10 seconds")
          const before = world.one("web-1")
          world.end(before, "signal SIGKILL")
          yield* within("1 second")
          assert.notStrictEqual(world.one("web-1"), before)
          yield* within("1 second")
          assert.deepInclude(yield* status("web"), { ready: 2 })
        })
      )
    ))

  it.effect("changes a service one process after the other", () =>
    machine((world) =>
      supervised(
        world,
        Effect.gen(function*() {
          yield* declare("web", { replicas: 3 })
          yield* within("10 seconds")
          world.healthy = false
          yield* declare("web", { replicas: 3, args: ["--new"] })
          yield* within("10 seconds")
          const args = () => world.living.filter(({ launch }) => launch?.args.length === 1).map(({ name }) => name)
          assert.deepStrictEqual(args(), ["web-0"], "the first of the new ones is not healthy, so the others stay")
          world.healthy = true
          world.one("web-0").healthy = true
          yield* within("10 seconds")
          assert.deepStrictEqual(args().toSorted(), ["web-0", "web-1", "web-2"])
        })
      )
    ))

  it.effect("ends the processes of a service that is deleted, and then their objects are gone", () =>
    machine((world) =>
      supervised(
        world,
        Effect.gen(function*() {
          yield* declare("web")
          yield* declare("api", { replicas: 1 })
          yield* within("10 seconds")
          yield* Store.delete(Service, yield* Store.get(Service, { name: "web" }))
          yield* within("10 seconds")
          assert.deepStrictEqual(living(world), ["api-0:12"])
          const { items } = yield* Store.list(Process)
          assert.deepStrictEqual(items.map(({ metadata }) => metadata.name), ["api-0"])
        })
      )
    ))

  it.effect("ends its processes in order when it ends, the last replicas first, each after the one before", () =>
    machine(Effect.fnUntraced(function*(world) {
      yield* supervised(
        world,
        Effect.gen(function*() {
          yield* declare("web")
          yield* declare("api")
          yield* within("10 seconds")
        })
      )
      assert.deepStrictEqual(world.signals, ["SIGTERM web-1", "SIGTERM api-1", "SIGTERM web-0", "SIGTERM api-0"])
      assert.deepStrictEqual(living(world), [])
    })))

  it.effect("that was told to leave its processes is followed by one that adopts them", () =>
    machine(Effect.fnUntraced(function*(world) {
      yield* supervised(world, Effect.andThen(declare("web"), within("10 seconds")), { leave: true })
      const before = world.living.map(({ identity }) => identity.pid)
      yield* supervised(
        world,
        Effect.gen(function*() {
          yield* within("10 seconds")
          assert.deepStrictEqual(world.living.map(({ identity }) => identity.pid), before)
          assert.deepInclude(yield* status("web"), { ready: 2 })
          assert.strictEqual((yield* Store.get(Process, { name: "web-0" })).status?.conditions[0]?.reason, "Adopted")
        }),
        { leave: true },
        "second"
      )
      assert.deepStrictEqual(world.signals, [])
    })))

  it.effect("starts again what an earlier one ended when it ended", () =>
    machine(Effect.fnUntraced(function*(world) {
      yield* supervised(world, Effect.andThen(declare("web"), within("10 seconds")))
      assert.deepStrictEqual(living(world), [])
      yield* supervised(
        world,
        Effect.gen(function*() {
          yield* within("10 seconds")
          assert.deepStrictEqual(living(world), ["web-0:10", "web-1:11"])
          assert.deepInclude(yield* status("web"), { ready: 2 })
        }),
        { leave: true },
        "second"
      )
    })))
})
