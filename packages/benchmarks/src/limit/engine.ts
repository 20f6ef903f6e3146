/** The limit of B3 to B5: a Map of the objects, a list of what is to do, and the reconciler called in a loop. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Raw } from "setpoint/Resource"
import type { Subject } from "../bench.ts"
import { collect, cpuSeconds, memory, nowMillis, quantiles, rate, settle } from "../measure.ts"
import { firstUpdate, list, objects, updates } from "../work.ts"

const textOf = (object: Raw): string => `${object.metadata.namespace}/${object.metadata.name}`

export const engine: Subject = (of) => {
  const all = list(of.n, objects("object"))
  const { events, last } = updates(all, 200_000)
  const cache = new Map<string, Raw>()
  let passes = 0
  let missing = last.size
  const final = new Map(Array.from(last, ([i, version]) => [textOf(all[i] as Raw), version]))
  const reconcile = (key: string) => {
    const object = cache.get(key)
    if (object === undefined) throw new Error(`${key} is not in the cache`)
    passes++
    if (final.get(key) === object.metadata.resourceVersion) missing--
  }
  collect()
  const cpu = cpuSeconds()
  const start = nowMillis()
  for (const object of all) cache.set(textOf(object), object)
  const entered = nowMillis()
  for (const key of cache.keys()) reconcile(key)
  const first = nowMillis()
  const initialCpu = cpuSeconds() - cpu
  const before = passes
  const updatesCpu = cpuSeconds()
  const fed = nowMillis()
  const todo = new Set<string>()
  for (let at = 0; at < events.length;) {
    for (const stop = Math.min(events.length, at + 1024); at < stop; at++) {
      const { object } = events[at] as (typeof events)[number]
      const key = textOf(object)
      cache.set(key, object)
      todo.add(key)
    }
    for (const key of todo) reconcile(key)
    todo.clear()
  }
  const end = nowMillis()
  if (missing !== 0) throw new Error(`${missing} objects were not seen at their last version`)
  return {
    initial_s: (first - start) / 1000,
    ...rate(first - entered, of.n),
    initial_cpu_s: initialCpu,
    updates: events.length,
    events_per_s: (events.length * 1000) / (end - fed),
    reconciles: passes - before,
    updates_cpu_s: cpuSeconds() - updatesCpu
  }
}

/** The cache alone. */
export const cache: Subject = (of) => {
  const all = list(of.n, objects("object"))
  const { events } = updates(all, 200_000)
  const cache = new Map<string, Raw>()
  collect()
  const start = nowMillis()
  for (const object of all) cache.set(textOf(object), object)
  const listed = nowMillis()
  let told = 0
  for (const { object } of events) {
    cache.set(textOf(object), object)
    told++
  }
  const end = nowMillis()
  return { ...rate(listed - start, of.n), events_per_s: (told * 1000) / (end - listed) }
}

/** One turn of the microtask queue stands between the event and the reconciler. */
export const latency: Subject = async (of) => {
  const all = list(of.n, objects("object"))
  const { events } = updates(all, 2000)
  const cache = new Map(all.map((object) => [textOf(object), object]))
  const took: Array<number> = []
  collect()
  await sleep(200)
  let next = nowMillis()
  for (const { object } of events) {
    next += 2
    await sleep(Math.max(0, next - nowMillis()))
    const handed = nowMillis()
    const key = textOf(object)
    cache.set(key, object)
    await Promise.resolve()
    if (Number(cache.get(key)?.metadata.resourceVersion) < firstUpdate) throw new Error("an old version was read")
    took.push(nowMillis() - handed)
  }
  return { ...quantiles(took), seen: took.length }
}

const kept: Array<unknown> = []

/** Objects as `JSON.parse` makes them, in a Map by key. */
export const cached: Subject = async (of) => {
  const pods = of.variant !== undefined
  const make = objects(pods ? "pod" : "object")
  await settle()
  const before = memory()
  const cache = new Map<string, Raw>()
  for (let i = 0; i < of.n; i++) {
    const object = make(i)
    if (of.variant === "stripped") delete (object.metadata as { managedFields?: unknown }).managedFields
    cache.set(textOf(object), object)
  }
  kept.push(cache)
  await settle()
  const after = memory()
  if (cache.size !== of.n) throw new Error(`holds ${cache.size}`)
  return {
    bytes_per_object: (after.heapBytes - before.heapBytes) / of.n,
    rss_bytes_per_object: ((after.rssMegabytes - before.rssMegabytes) * 1024 * 1024) / of.n,
    rss_mb: after.rssMegabytes,
    peak_rss_mb: after.peakMegabytes
  }
}
