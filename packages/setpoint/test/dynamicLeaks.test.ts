/** What comes and goes leaves nothing: registrations with their watches, and instances with theirs. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Controller, DynamicController, InstanceWatcher, Reconciler, Store } from "setpoint"
import { engine, Faults, Palette, settle, Website } from "./support/engine.ts"

const isNightly = process.env.SETPOINT_NIGHTLY === "1"

describe("leaks", { concurrent: false }, () => {
  const registrations = isNightly ? 10_000 : 200

  it.effect(
    `[K69] [D2] ${registrations} registrations that come and go with their watches leave nothing behind`,
    () =>
      Effect.gen(function*() {
        const faults = yield* Faults
        const controller = yield* Controller.Controller
        let passes = 0
        const websites = Reconciler.make(Website, {
          track: true,
          reconcile: ({ name }) =>
            Effect.gen(function*() {
              passes++
              yield* InstanceWatcher.watch({ kind: Palette, name })
              yield* Store.list(Palette, { selector: `app=${name}` })
            })
        })
        for (const name of ["a", "b", "c"]) yield* Store.create(Website, { metadata: { name }, spec: { host: "a" } })
        yield* settle
        const cycle = Effect.gen(function*() {
          yield* DynamicController.register(websites)
          yield* settle
          assert.strictEqual(faults.open, 3)
          yield* DynamicController.deregister("websites")
          yield* settle
          assert.strictEqual(faults.open, 0)
          faults.calls.length = 0
        })
        yield* flat(cycle, registrations)
        assert.strictEqual(passes, 3 * registrations)
        assert.deepStrictEqual(yield* controller.status, [])
        assert.notInclude(yield* PrometheusMetrics.format(), "websites")
      }).pipe(
        Effect.provide(Layer.provideMerge(DynamicController.layer, engine({ store: { history: 10 } }))),
        isolated
      ),
    600_000
  )

  const instances = isNightly ? 100_000 : 1_000
  const batch = 100

  it.effect(
    `[D2] [D3] ${instances} instances that come, watch and go leave nothing behind`,
    () =>
      Effect.gen(function*() {
        const faults = yield* Faults
        const controller = yield* Controller.Controller
        const registration = yield* controller.register(Reconciler.make(Website, {
          reconcile: (request) =>
            Effect.gen(function*() {
              yield* Store.get(Website, request)
              yield* InstanceWatcher.watch({ kind: Palette, name: request.name })
              yield* InstanceWatcher.watch({ kind: Palette, selector: `app=${request.name}` })
            })
        }))
        yield* settle
        let made = 0
        const cycle = Effect.gen(function*() {
          const names = Array.from({ length: batch }, () => `s${made++}`)
          for (const name of names) yield* Store.create(Website, { metadata: { name }, spec: { host: "a" } })
          yield* settle
          assert.strictEqual(yield* watchCount, 2 * batch)
          for (const name of names) yield* Store.deleteUnconditionally(Website, { name })
          yield* settle
          assert.strictEqual(yield* watchCount, 0)
          assert.strictEqual(faults.open, 1)
          faults.calls.length = 0
        })
        yield* flat(cycle, instances / batch)
        const { failing, held, ready, running, waiting } = yield* registration.status
        assert.deepStrictEqual([failing, held, ready, running, waiting], [0, 0, 0, 0, 0])
      }).pipe(Effect.provide(engine({ store: { history: 10 } })), isolated),
    600_000
  )
})

// ---------------------------------------------------------------------------------------------------------------------

setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")

const heap = Effect.sync(() => {
  collect()
  return process.memoryUsage().heapUsed
})

/** Runs a cycle so many times: the second half must not need more memory than noise. */
const flat = Effect.fnUntraced(function*<E, R>(cycle: Effect.Effect<void, E, R>, times: number) {
  yield* Effect.repeat(cycle, { times: times / 2 - 1 })
  const before = yield* heap
  yield* Effect.repeat(cycle, { times: times / 2 - 1 })
  const grown = (yield* heap) - before
  assert.isBelow(grown, 3_000_000)
})

const isolated = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => Effect.provideService(self, Metric.MetricRegistry, new Map()))

const watchCount = Effect.map(PrometheusMetrics.format(), (text) => {
  const found = /^setpoint_dynamic_watches\{controller="websites"\} (\d+)/m.exec(text)
  return found === null ? undefined : Number(found[1])
})
