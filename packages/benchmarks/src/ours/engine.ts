/** B3 and B4 on our Controller over a driver in memory; and the million objects. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Controller from "setpoint/Controller"
import * as Reconciler from "setpoint/Reconciler"
import * as Resource from "setpoint/Resource"
import * as Store from "setpoint/Store"
import type { Service } from "setpoint/StoreDriver"
import type { Case, Subject } from "../bench.ts"
import { collect, cpuSeconds, type Figures, memory, nowMillis, quantiles, rate } from "../measure.ts"
import { watchPauses } from "../pauses.ts"
import { firstUpdate, indexOf, list, objects, updates } from "../work.ts"
import * as Driver from "./driver.ts"
import { Widget } from "./store.ts"

/** Starts a Controller whose reconciler reads its object as users do, from the cache by `Store.get`, and tells of it. */
const start = (
  driver: Service,
  options: Controller.Options,
  reconciled: (object: Widget) => void
): Effect.Effect<void, unknown, Scope.Scope> => {
  const widgets = Reconciler.make(Widget, {
    reconcile: Effect.fnUntraced(function*(request) {
      reconciled(yield* Store.get(Widget, request))
    })
  })
  const main = Controller.layerFor(widgets).pipe(
    Layer.provide(Controller.layer(options)),
    Layer.provide(Layer.succeed(Store.Store, Store.make(driver)))
  )
  return Effect.asVoid(Layer.build(main))
}

const run = (effect: Effect.Effect<Figures, unknown>): Promise<Figures> => Effect.runPromise(effect)

type Metrics = Pick<Controller.Options, "metrics">

const engineWith = (metrics: Metrics): Subject => (of: Case) =>
  run(Effect.scoped(Effect.gen(function*() {
    const all = list(of.n, objects("object")).map(Driver.frozen)
    const { events, last } = updates(all, 200_000)
    const frames = events.map(({ object }) => Driver.modified(Driver.frozen(object)))
    const final = list(of.n, (i) => last.get(i))
    const feed = yield* Driver.make(of.n, (i) => all[i] as Resource.Raw)
    const allSeen = Deferred.makeUnsafe<void>()
    const lastSeen = Deferred.makeUnsafe<void>()
    let passes = 0
    let entered = 0
    let updating = false
    let missing = last.size
    collect()
    const cpu = cpuSeconds()
    const started = nowMillis()
    yield* start(feed.driver, { workers: of.workers, ...metrics }, ({ metadata }) => {
      passes++
      if (passes === 1) entered = nowMillis()
      if (passes === of.n) Deferred.doneUnsafe(allSeen, Effect.void)
      if (!updating) return
      const i = indexOf(metadata.name)
      if (final[i] !== metadata.resourceVersion) return
      final[i] = undefined
      missing--
      if (missing === 0) Deferred.doneUnsafe(lastSeen, Effect.void)
    })
    yield* Deferred.await(allSeen)
    const first = nowMillis()
    const initialCpu = cpuSeconds() - cpu
    yield* Effect.sleep(200)
    const before = passes
    updating = true
    const updatesCpu = cpuSeconds()
    const feeding = nowMillis()
    for (const frame of frames) yield* feed.feed(frame)
    const fed = nowMillis()
    yield* Deferred.await(lastSeen)
    const end = nowMillis()
    const usedCpu = cpuSeconds() - updatesCpu
    yield* Effect.sleep(50)
    return {
      initial_s: (first - started) / 1000,
      ...rate(first - entered, of.n),
      initial_cpu_s: initialCpu,
      updates: frames.length,
      events_per_s: (frames.length * 1000) / (end - feeding),
      fed_per_s: (frames.length * 1000) / (fed - feeding),
      reconciles: passes - before,
      updates_cpu_s: usedCpu
    }
  })))

export const engine: { readonly [name: string]: Subject } = {
  setpoint: engineWith({}),
  "setpoint-no-metrics": engineWith({ metrics: false })
}

/** Updates that go through before the clock starts, so that the way of an event is compiled, as the peers' programs are. */
const warmUp = 20_000

/** One update each 2 ms, handed over outside of any fiber, as a socket would. */
export const latency: Subject = (of) =>
  run(Effect.scoped(Effect.gen(function*() {
    const count = 2000
    const all = list(of.n, objects("object")).map(Driver.frozen)
    const { events } = updates(all, warmUp + count)
    const frames = events.map(({ object }) => Driver.modified(Driver.frozen(object)))
    const direct = Driver.makeDirect(of.n, (i) => all[i] as Resource.Raw)
    const allSeen = Deferred.makeUnsafe<void>()
    const handed = new Float64Array(frames.length)
    const entered = new Float64Array(frames.length)
    let passes = 0
    yield* start(direct.driver, { workers: of.workers }, ({ metadata }) => {
      const now = nowMillis()
      const version = Number(metadata.resourceVersion) - firstUpdate
      if (version >= 0 && entered[version] === 0) entered[version] = now
      passes++
      if (passes === of.n) Deferred.doneUnsafe(allSeen, Effect.void)
    })
    yield* Deferred.await(allSeen)
    for (const frame of frames.slice(0, warmUp)) {
      direct.handOver(frame)
      yield* Effect.yieldNow
    }
    collect()
    yield* Effect.sleep(200)
    yield* Effect.callback<void>((resume) => {
      let next = nowMillis()
      let at = warmUp
      const tick = () => {
        const frame = frames[at]
        if (frame === undefined) return resume(Effect.void)
        handed[at] = nowMillis()
        direct.handOver(frame)
        at++
        next += 2
        setTimeout(tick, Math.max(0, next - nowMillis()))
      }
      tick()
    })
    yield* Effect.sleep(200)
    const took: Array<number> = []
    for (let at = warmUp; at < frames.length; at++) {
      const came = entered[at] as number
      if (came !== 0) took.push(came - (handed[at] as number))
    }
    return { ...quantiles(took), seen: took.length }
  })))

/** Every object is made when its page is listed, reconciled once, and kept by the cache alone. */
export const million: Subject = (of) =>
  run(Effect.scoped(Effect.gen(function*() {
    const make = objects("object")
    const share = Resource.sharing()
    const feed = yield* Driver.make(of.n, (i) => Driver.frozen(share(make(i))))
    const allSeen = Deferred.makeUnsafe<void>()
    let passes = 0
    collect()
    const cpu = cpuSeconds()
    const pauses = watchPauses()
    const started = nowMillis()
    yield* start(feed.driver, { workers: of.workers }, () => {
      passes++
      if (passes === of.n) Deferred.doneUnsafe(allSeen, Effect.void)
    })
    yield* Deferred.await(allSeen)
    const end = nowMillis()
    const stood = yield* Effect.promise(pauses.stop)
    const { peakMegabytes } = memory()
    return {
      wall_s: (end - started) / 1000,
      cpu_s: cpuSeconds() - cpu,
      ...rate(end - started, of.n),
      peak_rss_mb: peakMegabytes,
      ...stood
    }
  })))
