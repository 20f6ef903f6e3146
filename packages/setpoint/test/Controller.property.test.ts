/**
 * The Controller beside a small model: whatever happens, in whatever order, the last pass of each key has seen what the
 * store holds in the end, no two passes of a key overlap, and no more pass runs once all is quiet.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { Controller, Outcome, Pass, Reconciler, Store } from "setpoint"
import type { Request } from "setpoint/Request"
import type { Json } from "setpoint/Resource"
import { Expired, Unavailable } from "setpoint/StoreError"
import { engine, Faults, Palette, register, settle, site, Website } from "./support/engine.ts"

const Name = Schema.Literals(["a", "b", "c", "d"])
const names = Name.literals

/** What happens to objects, half of all steps. */
const Write = Schema.Literals(["put", "delete", "depend", "undepend"])

/** What happens to a website's status, annotations and next pass, to the watch, to the engine, to time. */
const Trouble = Schema.Literals([
  "status",
  "pause",
  "go",
  "enqueue",
  "fail",
  "die",
  "requeue",
  "slow",
  "make",
  "ask",
  "open",
  "drop",
  "expire",
  "timeline",
  "lag",
  "catchUp",
  "swap",
  "restart",
  "settle",
  "wait"
])

const Step = Schema.Struct({ name: Name, other: Name, op: Schema.Union([Write, Trouble]) })
type Step = typeof Step.Type

const steps = Arbitrary.array(Arbitrary.schema(Step), { minLength: 1, maxLength: 60 })
const runs = process.env["SETPOINT_NIGHTLY"] === "1" ? 5_000 : 300

describe("the Controller and its model", () => {
  it.effect.prop(
    "[E1] [E2] [E5] [E6] [E7] [E8] when it is quiet the last pass of each key has seen what the store holds, whatever happened",
    [steps],
    ([steps]) => Effect.map(run(steps), (flaws) => assert.deepStrictEqual(flaws, [])),
    { arbitrary: { runs, size: 60, maxShrinks: 500 } }
  )
})

describe("what a pass knows ahead of a cache that wakes its key", () => {
  it.effect("[E6] [E10] a palette that a pass read from the store, and that left before the relist, is not kept in mind", () =>
    Effect.map(
      run([
        { name: "a", op: "depend", other: "d" },
        { name: "d", op: "timeline", other: "b" },
        { name: "a", op: "undepend", other: "a" },
        { name: "d", op: "wait", other: "b" },
        { name: "b", op: "timeline", other: "a" },
        { name: "b", op: "depend", other: "d" },
        { name: "b", op: "settle", other: "c" },
        { name: "b", op: "depend", other: "c" }
      ]),
      (flaws) => assert.deepStrictEqual(flaws, [])
    ))
})

// ---------------------------------------------------------------------------------------------------------------------
// the run
// ---------------------------------------------------------------------------------------------------------------------

/** What a pass sees of its object, and of the palettes that say they are for it. */
const stateOf = Effect.fnUntraced(function*(name: string) {
  const site = yield* Effect.catchReason(Store.get(Website, { name }), "StoreError", "NotFound", () => Effect.undefined)
  const { items } = yield* Store.list(Palette)
  const palettes = items.filter(({ spec }) => spec.color === name).map(({ metadata }) => metadata.name)
  return `${site?.spec.host ?? "nothing"}, palettes ${palettes.join(" ")}`
})

/** Makes a palette that says whom it is for, or turns the one there is to another. */
const depend = (name: string, color: string) =>
  Store.ensure(Palette, { name }, () => ({ metadata: { name }, spec: { color } }))

/** What a run found wrong. */
const run = (steps: ReadonlyArray<Step>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function*() {
    const faults = yield* Faults
    const seen = new Map<string, string>()
    const running = new Set<string>()
    const orders = new Map<string, Step["op"]>()
    const slow = Latch.makeUnsafe(false)
    const flaws: Array<string> = []
    let passes = 0

    const reconcile = (request: Request) =>
      Effect.gen(function*() {
        const { name } = request
        passes++
        if (running.has(name)) flaws.push(`two passes of ${name} at once`)
        running.add(name)
        if ((yield* Pass.Current)?.causes.length === 0) flaws.push(`a pass of ${name} without a cause`)
        const order = orders.get(name)
        orders.delete(name)
        if (order === "slow") yield* slow.await
        if (order === "make") yield* Effect.ignore(depend(name, name))
        if (order === "ask") yield* Effect.ignore(Store.latest(Palette, { name }))
        seen.set(name, yield* stateOf(name))
        if (order === "fail") return yield* Effect.fail("a step")
        if (order === "die") return yield* Effect.die("a step")
        return order === "requeue" ? Outcome.requeue : Outcome.done
      }).pipe(Effect.ensuring(Effect.sync(() => running.delete(request.name))))

    const start = Effect.gen(function*() {
      const scope = yield* Scope.make()
      yield* Scope.provide(
        register({ reconcile }, {
          watches: [Reconciler.watch(Palette, (palette) => [{ name: palette.spec.color }])]
        }),
        scope
      )
      return scope
    })

    let scope = yield* start
    let count = 0
    const patch = (name: string, merge: Json) => Effect.ignore(Store.patchUnconditionally(Website, { name }, { merge }))
    for (const { name, op, other } of steps) {
      switch (op) {
        case "put": {
          const exists = Exit.isSuccess(yield* Effect.exit(Store.latest(Website, { name })))
          yield* exists
            ? patch(name, { spec: { host: `h${++count}` } })
            : Effect.asVoid(Store.create(Website, site(name, `h${++count}`)))
          break
        }
        case "delete":
          yield* Effect.ignore(Store.deleteUnconditionally(Website, { name }))
          break
        case "depend":
          yield* depend(name, other)
          break
        case "undepend":
          yield* Effect.ignore(Store.deleteUnconditionally(Palette, { name }))
          break
        case "status":
          yield* Effect.ignore(Effect.flatMap(Store.latest(Website, { name }), (read) =>
            Store.updateStatus(Website, read, { ready: ++count })))
          break
        case "pause":
          yield* patch(name, { metadata: { annotations: { "setpoint.dev/paused": "true" } } })
          break
        case "go":
          yield* patch(name, { metadata: { annotations: { "setpoint.dev/paused": null } } })
          break
        case "enqueue":
          yield* Effect.ignore(Effect.flatMap(Controller.Controller, (controller) =>
            controller.enqueue("websites", { name })))
          break
        case "open":
          yield* slow.open
          slow.closeUnsafe()
          break
        case "drop":
          yield* faults.drop(new Unavailable({ why: "a step" }))
          break
        case "expire":
          yield* faults.drop(new Expired({ why: "a step" }))
          break
        case "timeline":
          yield* faults.drop(new Expired({ why: "a step", otherTimeline: true }))
          break
        case "lag":
          faults.events.closeUnsafe()
          break
        case "catchUp":
          yield* faults.events.open
          break
        case "swap": {
          const older = scope
          scope = yield* start
          yield* Scope.close(older, Exit.void)
          break
        }
        case "restart":
          yield* faults.events.open // a registration that is closed cannot be waited for else
          yield* slow.open
          yield* Scope.close(scope, Exit.void)
          slow.closeUnsafe()
          seen.clear() // what is deleted while nothing runs is nobody's to hear of: that is what finalizers are for
          scope = yield* start
          break
        case "settle":
          yield* settle
          break
        case "wait":
          yield* TestClock.adjust("3 seconds")
          break
        default:
          orders.set(name, op)
      }
    }
    orders.clear()
    yield* faults.events.open
    yield* slow.open
    for (const name of names) {
      yield* patch(name, { metadata: { annotations: { "setpoint.dev/paused": null } } })
    }
    yield* TestClock.adjust("5 minutes")
    yield* settle
    for (const name of names) {
      const holds = yield* stateOf(name)
      const saw = seen.get(name) ?? "nothing, palettes "
      if (saw !== holds) {
        flaws.push(`the last pass of ${name} saw ${saw}, and the store holds ${holds}`)
      }
    }
    const quiet = passes
    yield* TestClock.adjust("10 minutes")
    if (passes !== quiet) {
      flaws.push(`${passes - quiet} passes more, though nothing happens`)
    }
    yield* Scope.close(scope, Exit.void)
    return flaws
  }).pipe(Effect.scoped, Effect.provide(engine({ store: { history: 10 } }), { local: true }), Effect.orDie)
