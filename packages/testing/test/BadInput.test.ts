/** What makes a check meaningless, or a run unrepeatable, is said plainly: which it is, and where. */
import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Outcome, Reconciler, type Request, Store } from "setpoint"
import { App, createApp, layerOf, resizeApp } from "../corpus/kit.ts"

const reconciles = <R>(reconcile: (request: Request.Request) => Effect.Effect<Outcome.Outcome | void, unknown, R>) =>
  layerOf(Reconciler.make(App, { reconcile }))

const reads = (request: Request.Request) => Effect.asVoid(Store.get(App, request))

const says = (options: Partial<Sim.Options<App>>) =>
  Effect.map(
    Effect.flip(Sim.check({
      controllers: reconciles(reads),
      workload: Sim.script([createApp(1)]),
      depth: 0,
      random: 0,
      ...options
    })),
    ({ law, title }) => `${law} ${title}`
  )

describe("a leak", () => {
  const leaks: ReadonlyArray<readonly [what: string, leak: () => unknown]> = [
    ["Math.random", () => Math.random()],
    ["Date.now", () => Date.now()],
    ["Date()", () => Date()],
    ["new Date()", () => new Date()],
    ["performance.now", () => performance.now()],
    ["crypto.randomUUID", () => crypto.randomUUID()],
    ["crypto.getRandomValues", () => crypto.getRandomValues(new Uint8Array(1))],
    ["process.hrtime", () => process.hrtime()],
    ["process.uptime", () => process.uptime()],
    ["process.nextTick", () => process.nextTick(() => {})],
    ["queueMicrotask", () => queueMicrotask(() => {})],
    ["setTimeout", () => setTimeout(() => {}, 1)],
    ["setInterval", () => setInterval(() => {}, 1)],
    ["setImmediate", () => setImmediate(() => {})]
  ]

  it.effect.each(leaks)("%s is named, with its line", ([what, leak]) =>
    Effect.gen(function*() {
      const text = yield* says({ controllers: reconciles((request) => Effect.map(reads(request), () => void leak())) })
      assert.include(text, `leak ${what} was called, which no run can repeat: at `)
      assert.include(text, "BadInput.test.ts:")
    }))

  it.effect("what a pass leaks in a run with deviations alone is named too", () =>
    Effect.gen(function*() {
      const text = yield* says({
        controllers: reconciles((request) => Effect.tapError(reads(request), () => Effect.sync(() => Math.random()))),
        workload: Sim.script([createApp(1), Sim.remove(App, { name: "a" })])
      })
      assert.include(text, "leak Math.random was called")
    }))

  it.effect("after a check all is as it was", () =>
    Effect.gen(function*() {
      yield* says({ controllers: reconciles((request) => Effect.map(reads(request), () => void Math.random())) })
      const real = [Math.random(), Math.random()]
      assert.notStrictEqual(real[0], real[1])
      assert.isAbove(Date.now(), 0)
      assert.notStrictEqual(crypto.randomUUID(), crypto.randomUUID())
    }))

  it.effect("a Layer that waits for a promise is told, and does not hang", () =>
    Effect.gen(function*() {
      const waits = Layer.effectDiscard(Effect.promise(() => Promise.resolve())).pipe(
        (config) => reconciles(reads).pipe(Layer.provide(config))
      )
      assert.match(
        yield* says({ controllers: waits }),
        /^leak the Layer was never built: it waits for what the simulator/
      )
    }))

  it.effect("a pass that waits for a promise before its first call", () =>
    Effect.gen(function*() {
      const text = yield* says({ controllers: reconciles(() => Effect.promise(() => Promise.resolve())) })
      assert.match(text, /^leak pass 1 of apps App\/a never ended: before its first call it waits for/)
    }))

  it.effect("a pass that waits for its own service for ever", () =>
    Effect.gen(function*() {
      const text = yield* says({ controllers: reconciles((request) => Effect.andThen(reads(request), Effect.never)) })
      assert.match(text, /^leak pass 1 of apps App\/a never ended: .*, or for ever$/)
    }))
})

describe("a loop", () => {
  it.effect("of reads in a pass is cut, and its pass and call are named", () =>
    Effect.gen(function*() {
      const text = yield* says({
        controllers: reconciles((request) => Effect.forever(Store.latest(App, request))),
        maxSteps: 1_000
      })
      assert.match(
        text,
        /^P3 no rest after 1000 steps \(0 writes, 1 passes\): an endless loop; pass 1 of apps App\/a runs, in its call \d+ \(get:App\/a\)$/
      )
    }))

  it.effect("without a call, as long as it has an Effect in it", () =>
    Effect.gen(function*() {
      const text = yield* says({
        controllers: reconciles(() => Effect.forever(Effect.void, { disableYield: true })),
        maxSteps: 1_000
      })
      assert.match(text, /an endless loop; pass 1 of apps App\/a runs, without a call$/)
    }))

  it.effect("of passes, each of which asks for the next", () =>
    Effect.gen(function*() {
      const text = yield* says({
        controllers: reconciles((request) => Effect.as(Store.latest(App, request), Outcome.requeueAfter(1))),
        maxSteps: 5_000
      })
      assert.match(text, /^P3 no rest after 5000 steps \(0 writes, \d+ passes\): an endless loop/)
    }))
})

describe("a check that checks nothing", () => {
  const oops = () => {
    throw new Error("oops")
  }

  it.effect("a predicate that throws: each is named", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* says({ matches: oops }), "input matches threw: Error: oops")
      assert.strictEqual(
        yield* says({ never: { "two of them": oops } }),
        "input never \"two of them\" threw: Error: oops"
      )
      assert.strictEqual(yield* says({ atRest: { tidy: oops } }), "input atRest \"tidy\" threw: Error: oops")
    }))

  it.effect("a `matches` that throws where the fault-free run never comes", () =>
    Effect.gen(function*() {
      const text = yield* says({
        matches: (app) => app.spec.size === 2 ? oops() : app.status !== undefined,
        controllers: reconciles(Effect.fnUntraced(function*(request) {
          const app = yield* Store.get(App, request)
          yield* Store.updateStatus(App, app, { phase: "seen" })
        })),
        workload: Sim.script([createApp(1), resizeApp(2)])
      })
      assert.strictEqual(text, "input matches threw: Error: oops")
    }))

  it.effect("a `matches` that is never false", () =>
    Effect.gen(function*() {
      assert.match(yield* says({ matches: () => true }), /^input `matches` was never false/)
    }))

  it.effect("a workload without steps, and one that no controller hears of", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* says({ workload: Sim.script<App>([]) }), "input the workload has no steps")
      assert.strictEqual(
        yield* says({ controllers: Layer.effectDiscard(Store.Store) }),
        "input the workload never touched the controllers: no pass ran"
      )
    }))

  it.effect("a step of the workload that dies, and a Layer that cannot be built", () =>
    Effect.gen(function*() {
      const dies = Sim.act("break it", Effect.die("oops"))
      assert.strictEqual(
        yield* says({ workload: Sim.script([createApp(1), dies]) }),
        "input the step \"break it\" died: oops"
      )
      const layer = Layer.effectDiscard(Effect.fail("no port"))
      assert.match(yield* says({ controllers: layer }), /^input the Layer was not built: .*no port/)
    }))
})
