import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { TestClock } from "effect/testing"
import { Condition, MemoryStore, Store } from "setpoint"
import { Process } from "../src/Kinds.ts"
import { type Processes } from "../src/Processes.ts"
import { processes } from "../src/ProcessReconciler.ts"
import { World } from "./utils/World.ts"

const spec: Process["spec"] = {
  command: "node",
  args: [],
  env: {},
  stopTimeout: "5 seconds",
  service: "web",
  ordinal: 0,
  port: 8080,
  state: "Running"
}

const create = (options: Partial<Process["spec"]> = {}) =>
  Store.create(Process, { metadata: { name: "web-0" }, spec: { ...spec, ...options } })

const read = Store.get(Process, { name: "web-0" })

const phase = Effect.map(read, (process) => process.status?.phase._tag)

const ready = Effect.map(read, (process) => Condition.find(process.status?.conditions ?? [], "Ready"))

/** One pass for web-0, as the engine makes them. */
const pass = processes.options.reconcile({ store: "default", kind: "Process", namespace: "", name: "web-0" })

const passes = (count: number) => Effect.repeat(pass, { times: count - 1 })

/** A supervisor over the machine and over what is stored. */
const supervised = <A, E>(world: World, body: Effect.Effect<A, E, Processes | Store.Store>, run = "first") =>
  body.pipe(Effect.provide(world.layer(run)))

/** A test on a machine of its own, with a store that outlives supervisors. */
const machine = <A, E>(body: (world: World) => Effect.Effect<A, E, Store.Store>) =>
  Effect.suspend(() => body(new World())).pipe(Effect.provide(MemoryStore.layer))

describe("a process that should run", () => {
  it.effect("is started once, marked with its object's uid and the number of the start", () =>
    machine((world) =>
      supervised(
        world,
        Effect.gen(function*() {
          const { metadata } = yield* create()
          yield* passes(4)
          assert.deepStrictEqual(world.all.map(({ mark }) => mark), [{ owner: metadata.uid, start: 1 }])
          const { status } = yield* read
          assert.deepInclude(status?.phase, { _tag: "Running", identity: world.one("web-0").identity })
          assert.strictEqual((yield* ready)?.status, "True")
        })
      )
    ))

  it.effect("is ready only once it answers its health check", () =>
    machine((world) =>
      supervised(
        world,
        Effect.gen(function*() {
          world.healthy = false
          yield* create({ health: { path: "/", every: "1 second", timeout: "1 second", failures: 3 } })
          yield* passes(3)
          assert.deepInclude(yield* ready, { status: "False", message: "is not healthy yet: no answer on port 8080" })
          world.one("web-0").healthy = true
          yield* pass
          assert.strictEqual((yield* ready)?.status, "True")
        })
      )
    ))

  it.effect("is started again after it died, later with each time in a row", () =>
    machine((world) =>
      supervised(
        world,
        Effect.gen(function*() {
          yield* create()
          yield* passes(2)
          for (const [crash, delay] of [500, 1000, 2000].entries()) {
            world.end(world.one("web-0"), "exit code 1")
            yield* pass
            assert.strictEqual(yield* phase, "Backoff")
            assert.deepInclude(yield* ready, { reason: "Crashed", message: "exit code 1" })
            yield* TestClock.adjust(delay - 1)
            yield* pass
            assert.strictEqual(world.living.length, 0, `crash ${crash + 1} waits ${delay} ms`)
            yield* TestClock.adjust(1)
            yield* passes(2)
            assert.strictEqual(world.living.length, 1)
          }
          assert.strictEqual((yield* read).status?.starts, 4)
        })
      )
    ))

  it.effect("that cannot be started says why, and is tried again", () =>
    machine((world) =>
      supervised(
        world,
        Effect.gen(function*() {
          world.missing.add("node")
          yield* create()
          yield* passes(2)
          assert.strictEqual((yield* ready)?.message, "cannot start node: ENOENT")
          world.missing.clear()
          yield* TestClock.adjust("500 millis")
          yield* passes(2)
          assert.strictEqual(yield* phase, "Running")
        })
      )
    ))

  it.effect("that fails its health checks is replaced", () =>
    machine((world) =>
      supervised(
        world,
        Effect.gen(function*() {
          yield* create({ health: { path: "/", every: "1 second", timeout: "1 second", failures: 2 } })
          yield* passes(2)
          const first = world.one("web-0")
          first.healthy = false
          yield* passes(4)
          assert.deepStrictEqual(world.signals, ["SIGTERM web-0"])
          yield* TestClock.adjust("500 millis")
          yield* passes(2)
          assert.notStrictEqual(world.one("web-0"), first)
        })
      )
    ))

  it.effect("is replaced when what it is started with changes, and not for less", () =>
    machine((world) =>
      supervised(
        world,
        Effect.gen(function*() {
          yield* create()
          yield* passes(2)
          const first = world.one("web-0")
          const process = yield* read
          yield* Store.update(Process, { ...process, spec: { ...process.spec, stopTimeout: "9 seconds" } })
          yield* passes(2)
          assert.strictEqual(world.one("web-0"), first)
          const again = yield* read
          yield* Store.update(Process, { ...again, spec: { ...again.spec, args: ["--new"] } })
          yield* passes(4)
          assert.deepStrictEqual(world.one("web-0").launch?.args, ["--new"])
          assert.strictEqual(first.end, "signal SIGTERM")
        })
      )
    ))
})

describe("a process that should not run", () => {
  it.effect("ends before its object goes", () =>
    machine((world) =>
      supervised(
        world,
        Effect.gen(function*() {
          yield* create()
          yield* passes(2)
          world.one("web-0").obeys = false
          yield* Store.delete(Process, yield* read)
          yield* passes(3)
          assert.strictEqual(yield* phase, "Stopping")
          world.end(world.one("web-0"), "exit code 0")
          yield* pass
          const gone = yield* Effect.flip(read)
          assert.strictEqual(gone.reason._tag, "NotFound")
        })
      )
    ))

  it.effect("is killed when it does not end in its time, not before", () =>
    machine((world) =>
      supervised(
        world,
        Effect.gen(function*() {
          yield* create()
          yield* passes(2)
          world.one("web-0").obeys = false
          yield* Store.delete(Process, yield* read)
          yield* pass
          yield* TestClock.adjust("4999 millis")
          yield* pass
          assert.deepStrictEqual(world.signals, ["SIGTERM web-0"])
          yield* TestClock.adjust("1 millis")
          yield* pass
          assert.deepStrictEqual(world.signals, ["SIGTERM web-0", "SIGKILL web-0"])
        })
      )
    ))

  it.effect("leaves no child of its own behind", () =>
    machine((world) =>
      supervised(
        world,
        Effect.gen(function*() {
          const { metadata } = yield* create()
          yield* passes(2)
          const child = world.add("child", { owner: metadata.uid, start: 1 }, undefined, { leader: false })
          world.end(world.one("web-0"), "exit code 1")
          yield* pass
          assert.strictEqual(child.end, "signal SIGKILL")
        })
      )
    ))
})

describe("a supervisor that comes back", () => {
  it.effect("adopts what runs, as it runs", () =>
    machine(Effect.fnUntraced(function*(world) {
      yield* supervised(world, Effect.andThen(create(), passes(3)))
      const before = world.one("web-0")
      yield* supervised(world, passes(3), "second")
      assert.strictEqual(world.one("web-0"), before)
      assert.strictEqual(world.all.length, 1)
      assert.deepInclude(yield* ready, {
        status: "True",
        reason: "Adopted",
        message: `was adopted (pid ${before.identity.pid})`
      })
      assert.strictEqual((yield* read).status?.starts, 1)
    })))

  it.effect("adopts what was started and not noted, by the mark it bears", () =>
    machine(Effect.fnUntraced(function*(world) {
      yield* supervised(world, Effect.andThen(create(), passes(2)))
      const process = yield* read
      const status = process.status
      if (status?.phase._tag !== "Running") return assert.fail("it should run")
      // As it was when the supervisor died between the start and the note of it.
      const phase = { _tag: "Starting", launch: status.phase.launch } as const
      yield* Store.updateStatus(Process, process, { ...status, phase })
      yield* supervised(world, pass, "second")
      assert.deepInclude((yield* read).status?.phase, { _tag: "Running", identity: world.one("web-0").identity })
      assert.strictEqual(world.all.length, 1)
    })))

  it.effect("starts again what died meanwhile", () =>
    machine(Effect.fnUntraced(function*(world) {
      yield* supervised(world, Effect.andThen(create(), passes(2)))
      world.end(world.one("web-0"), "signal SIGKILL")
      yield* supervised(
        world,
        Effect.andThen(pass, Effect.andThen(TestClock.adjust("500 millis"), passes(2))),
        "second"
      )
      assert.strictEqual(world.one("web-0").mark?.start, 2)
    })))

  it.effect("goes on with an end that was asked for, by the time that was set then", () =>
    machine(Effect.fnUntraced(function*(world) {
      yield* supervised(
        world,
        Effect.gen(function*() {
          yield* create()
          yield* passes(2)
          world.one("web-0").obeys = false
          yield* Store.delete(Process, yield* read)
          yield* pass
        })
      )
      yield* TestClock.adjust("5 seconds")
      yield* supervised(world, passes(2), "second")
      assert.deepStrictEqual(world.signals, ["SIGTERM web-0", "SIGKILL web-0"])
    })))

  it.effect("kills nothing that it did not start, not even under a number that was its own", () =>
    machine(Effect.fnUntraced(function*(world) {
      yield* supervised(world, Effect.andThen(create(), passes(2)))
      const mine = world.one("web-0")
      world.end(mine, "signal SIGKILL")
      const stranger = world.add("stranger", undefined, undefined, { pid: mine.identity.pid })
      yield* supervised(
        world,
        Effect.gen(function*() {
          yield* pass
          yield* Store.delete(Process, yield* read)
          yield* pass
        }),
        "second"
      )
      assert.strictEqual(stranger.end, undefined)
      assert.deepStrictEqual(world.signals, [])
    })))
})
