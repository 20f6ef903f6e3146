/**
 * A world in one synchronous loop: own scheduler, own clock, seeded randomness, and a store whose every call is answered
 * when the loop says so. What runs next is drawn from a seed, so that a run is a function of it.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Scheduler from "effect/Scheduler"
import * as Stream from "effect/Stream"
import { Pass, type StoreDriver } from "setpoint"

interface Timer {
  readonly at: number
  readonly order: number
  readonly fire: () => void
  isDead: boolean
}

export interface World {
  readonly trace: Array<string>
  readonly note: (line: string) => void
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => void
  /** Runs until nothing is left to do, or until this time in milliseconds. */
  readonly runUntil: (millis: number) => void
  /** Each call of the driver becomes a choice: it is answered when the loop draws it. */
  readonly choices: (driver: StoreDriver.Service) => StoreDriver.Service
}

const mulberry32 = (seed: number) => {
  let s = seed >>> 0
  return () => {
    s = (s + 0x6d2b79f5) | 0
    let t = Math.imul(s ^ (s >>> 15), 1 | s)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

export const make = (seed: number): World => {
  const draw = mulberry32(seed)
  const randomness = mulberry32(seed ^ 0x5eed)
  const ready: Array<() => void> = []
  const timers: Array<Timer> = []
  const trace: Array<string> = []
  let now = 0
  let order = 0

  const scheduler: Scheduler.Scheduler = {
    executionMode: "sync",
    shouldYield: () => false,
    makeDispatcher: () => ({ scheduleTask: (task) => void ready.push(task), flush: () => {} })
  }
  const nanos = () => BigInt(Math.round(now * 1e6))
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => now,
    currentTimeNanosUnsafe: nanos,
    monotonicTimeNanosUnsafe: nanos,
    currentTimeMillis: Effect.sync(() => now),
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) =>
      Effect.callback((resume) => {
        const timer: Timer = {
          at: now + Duration.toMillis(duration),
          order: order++,
          fire: () => resume(Effect.void),
          isDead: false
        }
        timers.push(timer)
        return Effect.sync(() => {
          timer.isDead = true
        })
      })
  }
  const random = {
    nextIntUnsafe: () => Math.floor(randomness() * Number.MAX_SAFE_INTEGER),
    nextDoubleUnsafe: randomness
  }

  const step = (until: number): boolean => {
    if (ready.length > 0) {
      const [task] = ready.splice(Math.floor(draw() * ready.length), 1)
      task?.()
      return true
    }
    const next = timers.filter((timer) => !timer.isDead).toSorted((a, b) => a.at - b.at || a.order - b.order)[0]
    timers.splice(0, timers.length, ...timers.filter((timer) => !timer.isDead && timer !== next))
    if (next === undefined) return false
    if (next.at > until) {
      timers.push(next)
      now = until
      return false
    }
    now = next.at
    next.fire()
    return true
  }

  const note = (line: string) => void trace.push(`t=${now} ${line}`)
  const nameOf = (operation: string) =>
    Effect.gen(function*() {
      const pass = yield* Pass.Current
      const caller = yield* Pass.Caller
      return pass === undefined
        ? `${caller}/${operation}`
        : `${pass.registration}/${pass.request.namespace}/${pass.request.name}/${pass.number}/${operation}#${pass.calls}`
    })
  const answered = <A, E>(operation: string, call: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.gen(function*() {
      const name = yield* nameOf(operation)
      yield* Effect.callback<void>((resume) => void ready.push(() => resume(Effect.void)))
      note(name)
      const exit = yield* Effect.exit(call)
      yield* Effect.callback<void>((resume) => void ready.push(() => resume(Effect.void)))
      return yield* exit
    })

  return {
    trace,
    note,
    fork: (effect) => {
      Effect.runFork(
        effect.pipe(Effect.provideService(Clock.Clock, clock), Effect.provideService(Random.Random, random)),
        { scheduler }
      )
    },
    runUntil: (millis) => {
      let steps = 0
      while (step(millis)) if (++steps > 1_000_000) throw new Error("the world does not come to rest")
    },
    choices: (driver) => ({
      ...driver,
      get: (at, key, options) => answered(`get:${at.kind}/${key.name}`, driver.get(at, key, options)),
      list: (at, options) => answered(`list:${at.kind}`, driver.list(at, options)),
      write: (at, write, options) => answered(`${write.op}:${at.kind}`, driver.write(at, write, options)),
      watch: (at, options) =>
        Stream.mapEffect(driver.watch(at, options), (batch) => answered(`event:${at.kind}`, Effect.succeed(batch)))
    })
  }
}
