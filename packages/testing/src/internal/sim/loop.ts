/**
 * The loop: everything that runs in a simulated world, in one synchronous queue and one virtual time.
 *
 * What can run next is in one of four places: `ready` (fibers that the scheduler was asked to run), `calls` (to a store or
 * an external service, answered in turn), `arrivals` (of watch events, after the replies), and `timers`. Nothing else moves
 * the world, so that a run is a function of what is chosen.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import type * as Scheduler from "effect/Scheduler"
import { Pass } from "setpoint"
import * as randomness from "./randomness.ts"

/** A process of the world. Killed, it is never run again: no finalizer, no interruption. */
export interface Process {
  readonly name: string
  /** Counts its starts from 1. */
  readonly boot: number
  /** `ctl`, and `ctl@2` after its first restart: the first part of its choice points' names. */
  readonly label: string
  isAlive: boolean
  /** What came due for it since it stands still; `undefined`: it runs. */
  held: Array<Held> | undefined
  /** What the store keeps for it: ended with it. */
  readonly connections: Set<() => void>
  readonly clock: Clock.Clock
  readonly random: Random.Random
  readonly scheduler: Scheduler.Scheduler
}

interface Item {
  /** `undefined`: the world's own. */
  readonly process: Process | undefined
  readonly run: () => void
}

/** What waits until its process runs again, and where it waited before. */
interface Held {
  readonly place: "ready" | "calls" | "arrivals"
  readonly item: Item
}

interface Timer extends Item {
  readonly at: number
  readonly order: number
  /** Of which pass it is, so that a pass that waits for nothing that is here can be told. */
  readonly pass: Pass.Pass | undefined
  isCancelled: boolean
}

/** Changed by the functions of this module alone. */
export interface Loop {
  /** Milliseconds since the world began. */
  now: number
  /** How far the clock on the wall is from where it would be, in milliseconds: nobody's timers go by it. */
  wallShift: number
  steps: number
  order: number
  ready: Array<Item>
  /** Where `ready` begins. */
  head: number
  calls: Array<Item>
  arrivals: Array<Item>
  timers: Array<Timer>
  /** Whether of two fibers of a process that can run the later one goes first; absent: never. */
  turns: ((process: Process) => boolean) | undefined
  readonly seed: number
}

export const make = (seed: number): Loop => ({
  now: 0,
  wallShift: 0,
  steps: 0,
  order: 0,
  ready: [],
  head: 0,
  calls: [],
  arrivals: [],
  timers: [],
  turns: undefined,
  seed
})

/** Wall time when a world begins: 2030-01-01. Virtual time alone moves it. */
export const epochMillis = 1_893_456_000_000

/** What the clock on the wall shows. */
export const wallMillis = (loop: Loop): number => Math.floor(epochMillis + loop.now + loop.wallShift)

// ---------------------------------------------------------------------------------------------------------------------
// processes
// ---------------------------------------------------------------------------------------------------------------------

export const startProcess = (loop: Loop, name: string, boot: number): Process => {
  const label = boot === 1 ? name : `${name}@${boot}`
  const process: Process = {
    name,
    boot,
    label,
    isAlive: true,
    held: undefined,
    connections: new Set(),
    clock: clockOf(loop, () => process),
    random: randomness.service(randomness.seedOf(`${loop.seed}/${label}`)),
    scheduler: schedulerOf(loop, () => process)
  }
  return process
}

/** `kill -9`: what it wrote stays, what it knew is gone. */
export const kill = (loop: Loop, process: Process): void => {
  process.isAlive = false
  process.held = undefined
  for (const end of process.connections) end()
  process.connections.clear()
  const isOthers = (item: Item) => item.process !== process
  loop.ready = loop.ready.slice(loop.head).filter(isOthers)
  loop.head = 0
  loop.calls = loop.calls.filter(isOthers)
  loop.arrivals = loop.arrivals.filter(isOthers)
  loop.timers = loop.timers.filter(isOthers)
}

/** Nothing of a process runs any more until {@link resume}; `call` is the first thing that then happens. */
export const pause = (process: Process, call?: () => void): void => {
  process.held = call === undefined ? [] : [{ place: "calls", item: { process, run: call } }]
}

/** A process goes on: what came due meanwhile is all there at once. */
export const resume = (loop: Loop, process: Process): void => {
  for (const { item, place } of process.held ?? []) loop[place].push(item)
  process.held = undefined
}

/** Runs an item in its turn, or keeps it where its process stands still. */
const take = (place: Held["place"], item: Item): void => {
  const held = item.process?.held
  if (held === undefined) item.run()
  else held.push({ place, item })
}

/** Runs an effect in a process, under its scheduler, clock and randomness. */
export const fork = <A, E>(process: Process, effect: Effect.Effect<A, E>): Fiber.Fiber<A, E> =>
  Effect.runFork(
    effect.pipe(
      Effect.provideService(Clock.Clock, process.clock),
      Effect.provideService(Random.Random, process.random)
    ),
    { scheduler: process.scheduler }
  )

/** As in production: a fiber that never waits gives way now and then, so that an endless loop meets the bound on steps. */
const opsBeforeYield = 2_048

const schedulerOf = (loop: Loop, process: () => Process): Scheduler.Scheduler => {
  const dispatcher = {
    scheduleTask: (run: () => void) => {
      if (process().isAlive) loop.ready.push({ process: process(), run })
    },
    flush: () => {}
  }
  return {
    executionMode: "sync",
    shouldYield: (fiber) => fiber.currentOpCount >= opsBeforeYield,
    makeDispatcher: () => dispatcher
  }
}

/** The clock of the world, as who runs in a process sees it. */
export const clockOf = (loop: Loop, process: () => Process | undefined): Clock.Clock => {
  const millis = () => wallMillis(loop)
  const wallNanos = () => BigInt(Math.round((epochMillis + loop.now + loop.wallShift) * 1e3)) * 1_000n
  const nanos = () => BigInt(Math.round(loop.now * 1e6))
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeNanosUnsafe: wallNanos,
    monotonicTimeNanosUnsafe: nanos,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanos: Effect.sync(wallNanos),
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) =>
      Effect.withFiber((fiber) => {
        const pass = fiber.getRef(Pass.Current)
        return Effect.callback((resume) => {
          const cancel = after(loop, process(), Duration.toMillis(duration), () => resume(Effect.void), pass)
          return Effect.sync(cancel)
        })
      })
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// what can run
// ---------------------------------------------------------------------------------------------------------------------

/** A call that is answered when its turn comes. */
export const call = (loop: Loop, process: Process, run: () => void): void => {
  if (process.isAlive) loop.calls.push({ process, run })
}

/** Something that comes after all replies that are due. */
export const arrive = (loop: Loop, process: Process, run: () => void): void => {
  if (process.isAlive) loop.arrivals.push({ process, run })
}

/** Runs at a later time, in whole milliseconds as real timers do; gives what cancels it. */
export const after = (
  loop: Loop,
  process: Process | undefined,
  millis: number,
  run: () => void,
  pass?: Pass.Pass
): () => void => {
  if (millis === Infinity || process?.isAlive === false) return () => {}
  const timer: Timer = {
    process,
    run: () => {
      if (!timer.isCancelled) run()
    },
    at: loop.now + Math.max(0, Math.ceil(millis)),
    order: loop.order++,
    pass,
    isCancelled: false
  }
  push(loop.timers, timer)
  return () => {
    timer.isCancelled = true
    const index = loop.timers.indexOf(timer)
    if (index === -1) return
    loop.timers.splice(index, 1)
  }
}

/** Whether something else than the running item waits for its turn: only then can an order be another. */
export const isContended = (loop: Loop): boolean => loop.calls.length + loop.arrivals.length > 0

/** Whether anything is on its way but by a timer. */
export const isBusy = (loop: Loop): boolean => loop.ready.length > loop.head || isContended(loop)

/** The passes that a timer will wake. */
export const passesAsleep = (loop: Loop): ReadonlySet<Pass.Pass> =>
  new Set(loop.timers.flatMap(({ pass }) => pass ?? []))

const byTime = (a: Timer, b: Timer): number => a.at - b.at || a.order - b.order

/** Kept in order, the next one last: few timers are ever here. */
const push = (timers: Array<Timer>, timer: Timer): void => {
  let index = timers.length
  while (index > 0) {
    const other = timers[index - 1]
    if (other === undefined || byTime(other, timer) > 0) break
    index--
  }
  timers.splice(index, 0, timer)
}

/** What a call or an event takes. Without it a world that turns in circles would do so in no time. */
const turnMillis = 5

// ---------------------------------------------------------------------------------------------------------------------
// running
// ---------------------------------------------------------------------------------------------------------------------

/** One step of what can run now; else time moves to the next timer. `false`: nothing is left to do until then. */
const step = (loop: Loop, until: number): boolean => {
  if (loop.turns !== undefined) turn(loop, loop.turns)
  const ready = loop.ready[loop.head]
  if (ready !== undefined) {
    loop.head++
    if (loop.head === loop.ready.length) {
      loop.ready = []
      loop.head = 0
    }
    take("ready", ready)
    return true
  }
  const timer = loop.timers.at(-1)
  const isDue = timer !== undefined && timer.at <= loop.now
  const isTime = !isDue && loop.now + turnMillis <= until
  const place = loop.calls.length > 0 ? "calls" : "arrivals"
  const next = isTime ? loop[place].shift() : undefined
  if (next !== undefined) {
    loop.now += turnMillis
    take(place, next)
    return true
  }
  if (timer === undefined || timer.at > Math.max(until, loop.now)) {
    loop.now = Math.max(loop.now, until)
    return false
  }
  loop.timers.pop()
  loop.now = Math.max(loop.now, timer.at)
  take("ready", timer)
  return true
}

/** Two fibers of one process can run: the later one may go first. */
const turn = ({ head, ready }: Loop, turns: (process: Process) => boolean): void => {
  const first = ready[head]
  const second = ready[head + 1]
  if (first?.process === undefined || second === undefined || first.process !== second.process) return
  if (!turns(first.process)) return
  ready[head] = second
  ready[head + 1] = first
}

/** Runs until a virtual time. `false`: more than `maxSteps` in all: the world does not come to rest. */
export const runUntil = (loop: Loop, until: number, maxSteps: number, isOver: () => boolean): boolean => {
  while (!isOver() && step(loop, until)) if (++loop.steps > maxSteps) return false
  return true
}
