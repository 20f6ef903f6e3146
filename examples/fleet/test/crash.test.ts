/**
 * A supervisor dies at every point at which it touches the world or its memory, once just before and once just after,
 * and the next one goes on.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { TestClock } from "effect/testing"
import { MemoryStore, Store, StoreError } from "setpoint"
import { Process } from "../src/Kinds.ts"
import { Processes } from "../src/Processes.ts"
import { processes } from "../src/ProcessReconciler.ts"
import { World } from "./utils/World.ts"

/** Counts what a supervisor does outside itself, and dies at one of the points before and after each of these. */
class Death {
  points = 0
  readonly at: number

  constructor(at: number) {
    this.at = at
  }

  around<A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    const point = Effect.suspend(() => this.points++ === this.at ? Effect.die("the supervisor died") : Effect.void)
    return Effect.andThen(point, Effect.tap(call, () => point))
  }

  readonly layer = Layer.merge(
    Layer.effect(
      Store.Store,
      Effect.map(Store.Store, (store) => ({
        ...store,
        updateStatus: (kind, object, status, options) => this.around(store.updateStatus(kind, object, status, options)),
        patch: (kind, object, patch, options) => this.around(store.patch(kind, object, patch, options))
      }))
    ),
    Layer.effect(
      Processes,
      Effect.map(Processes, (processes) => ({
        ...processes,
        start: (name, mark, launch) => this.around(processes.start(name, mark, launch)),
        signal: (identity, signal) => this.around(processes.signal(identity, signal))
      }))
    )
  )
}

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

const read = Store.get(Process, { name: "web-0" })
const pass = processes.options.reconcile({ store: "default", kind: "Process", namespace: "", name: "web-0" })

/** Passes with time between them, until the supervisor dies or all is done that it will do. */
const work = Effect.repeat(Effect.andThen(pass, TestClock.adjust("1 second")), { times: 9 }).pipe(
  Effect.catchIf((error) => StoreError.isStoreError(error) && error.reason._tag === "NotFound", () => Effect.void),
  Effect.catchDefect((defect) => defect === "the supervisor died" ? Effect.void : Effect.die(defect))
)

const supervised = (world: World, death: Death, run: string) =>
  Effect.provide(work, Layer.provide(death.layer, world.layer(run)))

interface Case {
  readonly title: string
  /** What leads to the state in which the first supervisor works and dies. */
  readonly before: (world: World) => Effect.Effect<unknown, unknown, Store.Store>
  /** What must hold when the second one has worked. */
  readonly after: (world: World) => Effect.Effect<void, unknown, Store.Store>
}

const created = Store.create(Process, { metadata: { name: "web-0" }, spec })
const running = (world: World) => Effect.andThen(created, supervised(world, new Death(-1), "zeroth"))

const cases: ReadonlyArray<Case> = [
  {
    title: "while it starts a process: the process is started once, and adopted where it was",
    before: () => created,
    after: Effect.fnUntraced(function*(world) {
      assert.deepStrictEqual(world.all.length, 1)
      const { status } = yield* read
      assert.deepInclude(status?.phase, { _tag: "Running", identity: world.one("web-0").identity })
    })
  },
  {
    title: "while it ends a process: the process has ended, and then its object is gone",
    before: Effect.fnUntraced(function*(world) {
      yield* running(world)
      yield* Store.delete(Process, yield* read)
    }),
    after: Effect.fnUntraced(function*(world) {
      assert.deepStrictEqual(world.living, [])
      assert.strictEqual((yield* Effect.flip(read)).reason._tag, "NotFound")
    })
  },
  {
    title: "while it replaces a process: one of the new kind runs, and none of the old",
    before: Effect.fnUntraced(function*(world) {
      yield* running(world)
      const process = yield* read
      yield* Store.update(Process, { ...process, spec: { ...process.spec, args: ["--new"] } })
    }),
    after: (world) => Effect.sync(() => assert.deepStrictEqual(world.one("web-0").launch?.args, ["--new"]))
  },
  {
    title: "while it brings back one that crashed: one runs",
    before: Effect.fnUntraced(function*(world) {
      yield* running(world)
      world.end(world.one("web-0"), "signal SIGKILL")
    }),
    after: (world) => Effect.sync(() => assert.strictEqual(world.one("web-0").end, undefined))
  }
]

describe("a supervisor that dies", () => {
  for (const { after, before, title } of cases) {
    const once = (at: number) =>
      Effect.gen(function*() {
        const world = new World()
        yield* before(world)
        const death = new Death(at)
        yield* supervised(world, death, "first")
        yield* supervised(world, new Death(-1), "second")
        yield* after(world)
        return death.points
      }).pipe(Effect.provide(MemoryStore.layer, { local: true }))

    it.effect(title, () =>
      Effect.gen(function*() {
        const points = yield* once(-1)
        assert.isAbove(points, 3)
        for (let at = 0; at < points; at++) {
          yield* once(at).pipe(Effect.tapCause(() => Effect.logError(`it died at point ${at} of ${points}`)))
        }
      }))
  }
})
