/**
 * The worker pool: fibers that take keys from all registrations in turn and run their passes.
 *
 * A pass runs in its worker's own fiber, so that it costs none. A pass is cancelled by interrupting that fiber: the worker
 * ends its pass in the queue, ends itself, and another takes its place.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Scope from "effect/Scope"
import type { Cause } from "../Pass.ts"
import * as WorkQueue from "../WorkQueue.ts"
import * as Echo from "./echo.ts"
import type { Report } from "./endPass.ts"
import type { Host } from "./enginePass.ts"
import * as Inputs from "./inputs.ts"
import * as Registration from "./registration.ts"
import * as RunPass from "./runPass.ts"

export type Group = WorkQueue.Group<Registration.EngineRequest, Cause, unknown>

export interface Pool {
  readonly group: Group
  readonly host: Host
  readonly observer: RunPass.Observer | undefined
  /** Services of the Controller itself: what a worker runs with between passes. */
  readonly context: Context.Context<never>
  /** Tells what is to be told of a pass: log and event. */
  readonly report: (request: Registration.EngineRequest, reports: ReadonlyArray<Report>) => Effect.Effect<void>
  readonly idle: Set<Fiber.Fiber<unknown, unknown>>
  readonly spawn: (work: Effect.Effect<void>) => void
  wanted: number
  live: number
  isClosed: boolean
}

export const make = Effect.fnUntraced(function*(
  options: Omit<Pool, "idle" | "spawn" | "live" | "isClosed">
) {
  const run = yield* FiberSet.makeRuntime<never, void, never>()
  const pool: Pool = {
    ...options,
    idle: new Set(),
    spawn: (work) => void run(work),
    live: 0,
    isClosed: false
  }
  fill(pool)
  return pool
})

/** Brings the number of workers up to what is wanted. */
const fill = (pool: Pool): void => {
  while (!pool.isClosed && pool.live < pool.wanted) {
    pool.live++
    pool.spawn(worker(pool))
  }
}

/** Changes the number of workers: idle ones go at once, others after their pass. */
export const resize = (pool: Pool, wanted: number): void => {
  pool.wanted = wanted
  fill(pool)
  let surplus = pool.live - wanted
  for (const fiber of pool.idle) {
    if (surplus-- <= 0) return
    fiber.interruptUnsafe()
  }
}

/** No further worker is started. */
export const close = (pool: Pool): void => {
  pool.isClosed = true
}

const worker = (pool: Pool): Effect.Effect<void> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.withFiber((fiber) =>
      Effect.ensuring(
        takeAndRun(pool, fiber, restore),
        Effect.sync(() => {
          pool.live--
          fill(pool)
        })
      )
    )
  )

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

const takeAndRun = Effect.fnUntraced(function*(pool: Pool, fiber: Fiber.Fiber<unknown, unknown>, restore: Restore) {
  while (pool.live <= pool.wanted) {
    const taken = WorkQueue.takeAnyUnsafe(pool.group)
    if (taken === undefined) {
      pool.idle.add(fiber)
      const waited = yield* Effect.exit(WorkQueue.waitAny(pool.group))
      pool.idle.delete(fiber)
      if (waited._tag === "Failure") return // interrupted, or the group is closed
      continue
    }
    const { queue, ticket } = taken
    const request = ticket.key
    const paused = Inputs.isPaused(request)
    if (paused !== request.isPaused) Registration.notePaused(request, paused)
    const pausedEcho = Echo.paused(request, paused)
    if (pausedEcho !== undefined) yield* pausedEcho
    if (paused) {
      request.registration.counters.skippedPaused++
      WorkQueue.finishUnsafe(queue, ticket, { failures: "keep" })
      continue
    }
    const order = Echo.orderOf(request)
    const begun = RunPass.begin(pool.host, fiber, request, ticket)
    pool.observer?.passStarted(begun.pass)
    const worked = yield* Effect.exit(restore(begun.work))
    const exit = begun.scope.state._tag === "Empty" ? worked : yield* cleanUp(begun.scope, worked)
    fiber.setContext(pool.context)
    const reports = RunPass.end(pool.host, begun, ticket, exit, pool.observer)
    if (reports.length > 0) yield* pool.report(request, reports)
    // This fiber is interrupted, whoever did it: the next pass is for another one.
    if (begun.running.ordered !== undefined || Exit.hasInterrupts(worked)) return
    const handledEcho = Echo.handled(request, order)
    if (handledEcho !== undefined) yield* handledEcho
  }
})

/** Closes the Scope of a pass. A finalizer that dies fails the pass. */
const cleanUp = <A>(scope: Scope.Closeable, worked: Exit.Exit<A, unknown>): Effect.Effect<Exit.Exit<A, unknown>> =>
  Effect.map(
    Effect.exit(Scope.close(scope, worked)),
    (closed) => Exit.isFailure(closed) && Exit.isSuccess(worked) ? Exit.failCause(closed.cause) : worked
  )
