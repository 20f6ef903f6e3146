/** B5 on our informer; and what it alone takes of B3. */
import * as Effect from "effect/Effect"
import * as Informer from "setpoint/Informer"
import type { Address } from "setpoint/Kind"
import * as Resource from "setpoint/Resource"
import type { Subject } from "../bench.ts"
import { collect, cpuSeconds, type Figures, memory, nowMillis, rate, settle } from "../measure.ts"
import { list, objects, updates } from "../work.ts"
import * as Driver from "./driver.ts"

const widgets: Address = {
  group: "bench.example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  scope: "Namespaced"
}

const pods: Address = { group: "", version: "v1", kind: "Pod", plural: "pods", scope: "Namespaced" }

const stripManagedFields: Informer.Transform = {
  name: "strip-managed-fields",
  f: (object) => {
    const { managedFields: _, ...metadata } = object.metadata
    return { ...object, metadata }
  }
}

const run = (effect: Effect.Effect<Figures, unknown, never>): Promise<Figures> => Effect.runPromise(effect)

/** Held by the cache alone: every object is made when its page is listed. */
export const cached: Subject = (of) => {
  const isPod = of.variant !== undefined
  const make = objects(isPod ? "pod" : "object")
  return run(Effect.scoped(Effect.gen(function*() {
    const share = Resource.sharing()
    const { driver } = yield* Driver.make(of.n, (i) => Driver.frozen(share(make(i))))
    yield* Effect.promise(settle)
    const before = memory()
    const informer = yield* Informer.make(driver, isPod ? pods : widgets, {
      transform: of.variant === "stripped" ? stripManagedFields : undefined
    })
    yield* Informer.synced(informer)
    yield* Effect.promise(settle)
    const after = memory()
    if (Informer.size(informer) !== of.n) throw new Error(`holds ${Informer.size(informer)}`)
    return {
      bytes_per_object: (after.heapBytes - before.heapBytes) / of.n,
      rss_bytes_per_object: ((after.rssMegabytes - before.rssMegabytes) * 1024 * 1024) / of.n,
      rss_mb: after.rssMegabytes,
      peak_rss_mb: after.peakMegabytes
    }
  })))
}

/** The list into the cache, then the updates through the watch, with one handler that counts. */
export const events: Subject = (of) =>
  run(Effect.scoped(Effect.gen(function*() {
    const all = list(of.n, objects("object")).map(Driver.frozen)
    const { events } = updates(all, 200_000)
    const frames = events.map(({ object }) => Driver.modified(Driver.frozen(object)))
    const { driver, feed } = yield* Driver.make(of.n, (i) => all[i] as Resource.Raw)
    collect()
    const cpu = cpuSeconds()
    const start = nowMillis()
    const informer = yield* Informer.make(driver, widgets)
    yield* Informer.synced(informer)
    const synced = nowMillis()
    const initialCpu = cpuSeconds() - cpu
    let told = 0
    yield* Informer.subscribe(informer, {
      onChange: ({ via }) => {
        if (via === "watch") told++
      }
    })
    collect()
    const updatesCpu = cpuSeconds()
    const fed = nowMillis()
    for (const frame of frames) yield* feed(frame)
    while (told < frames.length) yield* Effect.yieldNow
    const end = nowMillis()
    return {
      ...rate(synced - start, of.n),
      initial_cpu_s: initialCpu,
      events_per_s: (frames.length * 1000) / (end - fed),
      updates_cpu_s: cpuSeconds() - updatesCpu
    }
  })))
