/** B1 and B2 on our work queue. */
import * as Effect from "effect/Effect"
import * as WorkQueue from "setpoint/WorkQueue"
import type { Case, Subject } from "../bench.ts"
import { collect, cpuSeconds, type Figures, nowMillis, quantiles, rate, warmUp } from "../measure.ts"
import { type Key, keyAt, list, random, textAt } from "../work.ts"

/** A key as the engine interns its requests: the queue's entry hangs on it. */
interface Interned extends Key {
  entry: WorkQueue.Entry<Interned> | undefined
}

const internedAt = (i: number): Interned => ({ ...keyAt(i), entry: undefined })

const onTheKey: WorkQueue.Slot<Interned> = {
  get: (key) => key.entry,
  set: (key, entry) => {
    key.entry = entry
  }
}

/** How a subject keeps its keys, and whether it counts durations. */
interface Kind<K> {
  readonly keyAt: (i: number) => K
  readonly options: WorkQueue.Options<K>
}

const withMetrics: Kind<Interned> = { keyAt: internedAt, options: { slot: onTheKey } }
const withoutMetrics: Kind<Interned> = { keyAt: internedAt, options: { slot: onTheKey, metrics: false } }
const texts: Kind<string> = { keyAt: textAt, options: {} }

const withQueue = <K>(
  kind: Kind<K>,
  f: (queue: WorkQueue.WorkQueue<K>) => Effect.Effect<Figures>
): Promise<Figures> => Effect.runPromise(Effect.scoped(Effect.flatMap(WorkQueue.make(kind.options), f)))

type Made = <K>(kind: Kind<K>) => Subject

/** The same work on the queue in the engine's hands, without metrics, and with texts as keys. */
const subjects = (make: Made) => ({
  setpoint: make(withMetrics),
  "setpoint-no-metrics": make(withoutMetrics),
  "setpoint-text-keys": make(texts)
})

/** Adds all, then takes and ends all: when the last was added. */
const addAllTakeAll = <K>(queue: WorkQueue.WorkQueue<K>, keys: ReadonlyArray<K>): number => {
  for (const key of keys) WorkQueue.addUnsafe(queue, key)
  const added = nowMillis()
  let left = keys.length
  for (;;) {
    const ticket = WorkQueue.takeUnsafe(queue)
    if (ticket === undefined) break
    WorkQueue.finishUnsafe(queue, ticket)
    left--
  }
  if (left !== 0) throw new Error(`${left} keys never came`)
  return added
}

export const addTakeDone = subjects((kind) => (of) =>
  withQueue(kind, (queue) =>
    Effect.sync(() => {
      for (let round = 0; round < 10; round++) addAllTakeAll(queue, list(warmUp, kind.keyAt))
      const all = list(of.n, kind.keyAt)
      collect()
      const start = nowMillis()
      const added = addAllTakeAll(queue, all)
      const end = nowMillis()
      return {
        ...rate(end - start, of.n),
        add_ns: ((added - start) * 1e6) / of.n,
        get_done_ns: ((end - added) * 1e6) / of.n
      }
    }))
)

export const duplicateAdd = subjects((kind) => (of) =>
  withQueue(kind, (queue) =>
    Effect.sync(() => {
      const key = kind.keyAt(0)
      WorkQueue.addUnsafe(queue, key)
      const start = nowMillis()
      for (let i = 0; i < of.n; i++) WorkQueue.addUnsafe(queue, key)
      const end = nowMillis()
      if (WorkQueue.depthUnsafe(queue) !== 1) throw new Error("not deduplicated")
      return rate(end - start, of.n)
    }))
)

/** How many adds a producer makes between two turns of the event loop. */
const slice = 1000

/** Calls `f` for 0 to n - 1, and lets others run in between. */
const sliced = Effect.fnUntraced(function*(n: number, f: (i: number) => void) {
  for (let i = 0; i < n;) {
    for (const stop = Math.min(n, i + slice); i < stop; i++) f(i)
    yield* Effect.yieldNow
  }
})

/** What is ready is taken without a wait, as the Controller's workers do. */
const nextOf = <K>(queue: WorkQueue.WorkQueue<K>) =>
  Effect.suspend(() => {
    const ticket = WorkQueue.takeUnsafe(queue)
    return ticket === undefined ? WorkQueue.take(queue) : Effect.succeed(ticket)
  })

/** A producer fiber, and worker fibers that wait for keys. */
export const steady = subjects((kind) => (of: Case) =>
  withQueue(
    kind,
    Effect.fnUntraced(function*(queue) {
      const distinct = 10_000
      const all = list(distinct, kind.keyAt)
      const last = kind.keyAt(distinct)
      const { below } = random(42)
      const draws = Int32Array.from({ length: of.n }, () => below(distinct))
      let gets = 0
      const worker = Effect.gen(function*() {
        for (;;) {
          const ticket = yield* nextOf(queue)
          gets++
          WorkQueue.finishUnsafe(queue, ticket)
          if (ticket.key === last) return WorkQueue.closeUnsafe(queue)
        }
      }).pipe(Effect.catchTag("Done", () => Effect.void))
      const producer = Effect.andThen(
        sliced(of.n, (i) => void WorkQueue.addUnsafe(queue, all[draws[i] as number] as typeof last)),
        WorkQueue.add(queue, last)
      )
      collect()
      const cpu = cpuSeconds()
      const start = nowMillis()
      yield* Effect.all([producer, ...list(of.workers, () => worker)], { concurrency: "unbounded", discard: true })
      return { ...rate(nowMillis() - start, of.n), gets, cpu_s: cpuSeconds() - cpu }
    })
  )
)

export const delayed = subjects((kind) => (of) =>
  withQueue(
    kind,
    Effect.fnUntraced(function*(queue) {
      const all = list(of.n, kind.keyAt)
      const index = new Map(all.map((key, i) => [key, i]))
      const { below } = random(42)
      const delays = Float64Array.from({ length: of.n }, () => below(500_000) / 1000)
      const due = new Float64Array(of.n)
      const came = new Float64Array(of.n)
      const consumer = Effect.gen(function*() {
        for (let left = of.n; left > 0; left--) {
          const ticket = yield* nextOf(queue)
          came[index.get(ticket.key) as number] = nowMillis()
          WorkQueue.finishUnsafe(queue, ticket)
        }
      }).pipe(Effect.catchTag("Done", () => Effect.die("the queue was closed")))
      collect()
      const cpu = cpuSeconds()
      const start = nowMillis()
      let added = start
      const producer = Effect.andThen(
        sliced(of.n, (i) => {
          const delay = delays[i] as number
          due[i] = nowMillis() + delay
          WorkQueue.addAfterUnsafe(queue, all[i] as (typeof all)[number], delay)
        }),
        Effect.sync(() => {
          added = nowMillis()
        })
      )
      yield* Effect.all([consumer, producer], { concurrency: "unbounded", discard: true })
      const end = nowMillis()
      return {
        ...rate(added - start, of.n),
        cpu_s: cpuSeconds() - cpu,
        wall_s: (end - start) / 1000,
        ...quantiles(Array.from(came, (at, i) => at - (due[i] as number)))
      }
    })
  )
)
