/**
 * The limit of B1 and B2: a deduplicating queue as one would write it in plain JavaScript, without Effect, lanes, reasons,
 * fairness or metrics. A set of what is to do, a set of what runs, a list in between.
 */
import type { Case, Subject } from "../bench.ts"
import { collect, cpuSeconds, nowMillis, quantiles, rate, warmUp } from "../measure.ts"
import { keyAt, list, random, textAt } from "../work.ts"

class PlainQueue<K> {
  readonly dirty = new Set<K>()
  readonly running = new Set<K>()
  readonly line: Array<K> = []
  head = 0

  add(key: K): void {
    if (this.dirty.has(key)) return
    this.dirty.add(key)
    if (!this.running.has(key)) this.line.push(key)
  }

  take(): K | undefined {
    if (this.head === this.line.length) return undefined
    const key = this.line[this.head++] as K
    if (this.head > 1024 && this.head * 2 > this.line.length) {
      this.line.splice(0, this.head)
      this.head = 0
    }
    this.dirty.delete(key)
    this.running.add(key)
    return key
  }

  done(key: K): void {
    this.running.delete(key)
    if (this.dirty.has(key)) this.line.push(key)
  }
}

const keys = ({ n, variant }: { readonly n: number; readonly variant?: string | undefined }): Array<unknown> =>
  list<unknown>(n, variant === "string" ? textAt : keyAt)

const addAllTakeAll = (queue: PlainQueue<unknown>, keys: ReadonlyArray<unknown>): number => {
  for (const key of keys) queue.add(key)
  const added = nowMillis()
  for (let key = queue.take(); key !== undefined; key = queue.take()) queue.done(key)
  return added
}

export const addTakeDone: Subject = (of) => {
  const queue = new PlainQueue<unknown>()
  for (let round = 0; round < 10; round++) addAllTakeAll(queue, keys({ ...of, n: warmUp }))
  const all = keys(of)
  collect()
  const start = nowMillis()
  const added = addAllTakeAll(queue, all)
  const end = nowMillis()
  return {
    ...rate(end - start, of.n),
    add_ns: ((added - start) * 1e6) / of.n,
    get_done_ns: ((end - added) * 1e6) / of.n
  }
}

export const duplicateAdd: Subject = (of) => {
  const queue = new PlainQueue<unknown>()
  const [key] = keys({ ...of, n: 1 })
  queue.add(key)
  const start = nowMillis()
  for (let i = 0; i < of.n; i++) queue.add(key)
  const end = nowMillis()
  if (queue.line.length !== 1) throw new Error("not deduplicated")
  return rate(end - start, of.n)
}

/** A producer that adds 2,048 at a time, as long as a fiber runs before it yields; then all that is ready is worked off. */
export const steady: Subject = (of: Case) => {
  const distinct = 10_000
  const queue = new PlainQueue<unknown>()
  const all = keys({ ...of, n: distinct })
  const { below } = random(42)
  const draws = Int32Array.from({ length: of.n }, () => below(distinct))
  collect()
  const cpu = cpuSeconds()
  const start = nowMillis()
  let gets = 0
  let at = 0
  while (at < of.n) {
    for (const stop = Math.min(of.n, at + 2048); at < stop; at++) queue.add(all[draws[at] as number])
    for (let key = queue.take(); key !== undefined; key = queue.take()) {
      gets++
      queue.done(key)
    }
  }
  const end = nowMillis()
  return { ...rate(end - start, of.n), gets, cpu_s: cpuSeconds() - cpu }
}

interface Waiting<K> {
  readonly due: number
  readonly key: K
}

class PlainHeap<K> {
  readonly items: Array<Waiting<K>> = []

  push(item: Waiting<K>): void {
    const { items } = this
    let at = items.length
    items.push(item)
    while (at > 0) {
      const up = (at - 1) >> 1
      const above = items[up] as Waiting<K>
      if (above.due <= item.due) break
      items[at] = above
      at = up
    }
    items[at] = item
  }

  pop(): Waiting<K> | undefined {
    const { items } = this
    const first = items[0]
    const last = items.pop()
    if (first === undefined || last === undefined || items.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= items.length) break
      if (child + 1 < items.length && (items[child + 1] as Waiting<K>).due < (items[child] as Waiting<K>).due) child++
      const below = items[child] as Waiting<K>
      if (below.due >= last.due) break
      items[at] = below
      at = child
    }
    items[at] = last
    return first
  }
}

/** A heap and one timer for its earliest. */
export const delayed: Subject = async (of) => {
  const all = list(of.n, keyAt)
  const index = new Map(all.map((key, i) => [key, i]))
  const { below } = random(42)
  const delays = Float64Array.from({ length: of.n }, () => below(500_000) / 1000)
  const due = new Float64Array(of.n)
  const came = new Float64Array(of.n)
  const heap = new PlainHeap<(typeof all)[number]>()
  const queue = new PlainQueue<(typeof all)[number]>()
  collect()
  const cpu = cpuSeconds()
  const start = nowMillis()
  for (let i = 0; i < of.n; i++) {
    const at = nowMillis() + (delays[i] as number)
    due[i] = at
    heap.push({ due: at, key: all[i] as (typeof all)[number] })
  }
  const added = nowMillis()
  let left = of.n
  await new Promise<void>((resolve) => {
    const wake = () => {
      const now = nowMillis()
      while (heap.items.length > 0 && (heap.items[0] as Waiting<unknown>).due <= now) {
        queue.add((heap.pop() as Waiting<(typeof all)[number]>).key)
      }
      for (let key = queue.take(); key !== undefined; key = queue.take()) {
        came[index.get(key) as number] = nowMillis()
        queue.done(key)
        left--
      }
      const next = heap.items[0]
      if (next === undefined) resolve()
      else setTimeout(wake, Math.max(1, Math.ceil(next.due - nowMillis())))
    }
    wake()
  })
  if (left !== 0) throw new Error(`${left} keys never came`)
  const end = nowMillis()
  return {
    ...rate(added - start, of.n),
    cpu_s: cpuSeconds() - cpu,
    wall_s: (end - start) / 1000,
    ...quantiles(Array.from(came, (at, i) => at - (due[i] as number)))
  }
}
