/** What is not in the peers' benches: keys at rest, many waiting keys, the start of many kinds. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Controller from "setpoint/Controller"
import * as Kind from "setpoint/Kind"
import * as MemoryStore from "setpoint/MemoryStore"
import * as Reconciler from "setpoint/Reconciler"
import * as Store from "setpoint/Store"
import * as WorkQueue from "setpoint/WorkQueue"
import type { Subject } from "../bench.ts"
import { collect, cpuSeconds, type Figures, memory, nowMillis, settle } from "../measure.ts"
import { list } from "../work.ts"
import { createAll, Widget } from "./store.ts"

/** A key that carries the queue's entry, as an interned request does. */
interface Interned {
  entry: WorkQueue.Entry<Interned> | undefined
}

const onTheKey: WorkQueue.Slot<Interned> = {
  get: (key) => key.entry,
  set: (key, entry) => {
    key.entry = entry
  }
}

const withQueue = (f: (queue: WorkQueue.WorkQueue<Interned>) => Effect.Effect<Figures>): Promise<Figures> =>
  Effect.runPromise(Effect.scoped(Effect.flatMap(WorkQueue.make<Interned>({ slot: onTheKey }), f)))

/** Heap that n keys leave behind which were added, taken and done. */
export const idleKeys: Subject = (of) =>
  withQueue(Effect.fnUntraced(function*(queue) {
    const keys = list(of.n, (): Interned => ({ entry: undefined }))
    const round = () => {
      for (const key of keys) WorkQueue.addUnsafe(queue, key)
      for (let left = of.n; left > 0; left--) {
        const ticket = WorkQueue.takeUnsafe(queue)
        if (ticket === undefined) throw new Error("a key is missing")
        WorkQueue.finishUnsafe(queue, ticket)
      }
    }
    round() // what is compiled and sized once is no key's
    yield* Effect.promise(settle)
    const before = memory().heapBytes
    round()
    yield* Effect.promise(settle)
    return { bytes_per_key: Math.max(0, memory().heapBytes - before) / of.n }
  }))

const roundsWhileWaiting = (queue: WorkQueue.WorkQueue<Interned>, operations: number): number => {
  const start = nowMillis()
  for (let i = 0; i < operations; i++) {
    const ticket = WorkQueue.takeUnsafe(queue)
    if (ticket === undefined) throw new Error("a key is missing")
    WorkQueue.finishUnsafe(queue, ticket)
    WorkQueue.addUnsafe(queue, ticket.key)
  }
  return ((nowMillis() - start) * 1e6) / operations
}

/** Take, done and add while n keys wait, beside the same with 1,000: interleaved, the best of five. */
export const waitingKeys: Subject = (of) =>
  withQueue((many) =>
    Effect.promise(() =>
      withQueue((few) =>
        Effect.sync(() => {
          const fill = (queue: WorkQueue.WorkQueue<Interned>, n: number) => {
            for (let i = 0; i < n; i++) WorkQueue.addUnsafe(queue, { entry: undefined })
          }
          fill(few, 1000)
          fill(many, of.n)
          roundsWhileWaiting(few, 100_000)
          let fewNs = Infinity
          let manyNs = Infinity
          for (let round = 0; round < 5; round++) {
            collect()
            fewNs = Math.min(fewNs, roundsWhileWaiting(few, 200_000))
            collect()
            manyNs = Math.min(manyNs, roundsWhileWaiting(many, 200_000))
          }
          return { ns_per_op: manyNs, few_ns_per_op: fewNs, times_1000: manyNs / fewNs }
        })
      )
    )
  )

const kinds = list(50, (i) =>
  Kind.make({
    group: "bench.example.com",
    version: "v1",
    kind: `Kind${i}`,
    spec: Schema.Struct({ text: Schema.String })
  }))

/** From nothing to a Controller with n kinds on a MemoryStore, all caches synced. */
export const startKinds: Subject = (of) => {
  const registered = Effect.forEach(
    kinds.slice(0, of.n),
    (kind) =>
      Effect.flatMap(
        Controller.Controller,
        (controller) => controller.register(Reconciler.make(kind, { reconcile: () => Effect.void }))
      )
  )
  const main = Effect.flatMap(
    registered,
    (registrations) => Effect.forEach(registrations, ({ synced }) => synced, { discard: true })
  )
  const start = nowMillis()
  return Effect.runPromise(
    main.pipe(
      Effect.map(() => ({ start_ms: nowMillis() - start })),
      Effect.scoped,
      Effect.provide(Layer.mergeAll(Controller.layer(), MemoryStore.layer))
    )
  )
}

/**
 * What a Controller costs while n reconciled objects are at rest: CPU of two seconds, as a share of one core; and the heap
 * that it holds for each beside the store's own: cache entry, request, and what it was decoded to.
 */
export const atRest: Subject = (of) => {
  let passes = 0
  const widgets = Reconciler.make(Widget, {
    reconcile: Effect.fnUntraced(function*(request) {
      yield* Store.get(Widget, request)
      passes++
    })
  })
  return Effect.runPromise(
    Effect.gen(function*() {
      yield* createAll(yield* Store.Store, of.n)
      yield* Effect.promise(settle)
      const empty = memory().heapBytes
      yield* (yield* Controller.Controller).register(widgets)
      while (passes < of.n) yield* Effect.sleep(10)
      yield* Effect.promise(settle)
      const bytes = (memory().heapBytes - empty) / of.n
      const before = cpuSeconds()
      yield* Effect.sleep(2000)
      return { cpu_share: (cpuSeconds() - before) / 2, bytes_per_object: bytes }
    }).pipe(
      Effect.scoped,
      Effect.provide(Layer.mergeAll(Controller.layer(), MemoryStore.layer))
    )
  )
}
