/** What a bench measures with: clocks, CPU, heap and quantiles. The units are in the names. */
import { readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"

/** Figures of one run by name; the name ends in the unit (`ns_per_op`, `p99_us`, `cpu_s`, `events_per_s`). */
export type Figures = { readonly [name: string]: number }

export const nowMillis = (): number => performance.now()

/** User plus system time of this process, all threads. */
export const cpuSeconds = (): number => {
  const { system, user } = process.cpuUsage()
  return (user + system) / 1e6
}

/** Keys of one of ten rounds before the clock starts, so that what is measured is compiled, as the peers' programs are. */
export const warmUp = 2000

/** `ns_per_op` and `ops_per_s` of n operations. */
export const rate = (millis: number, n: number): Figures => ({
  ns_per_op: (millis * 1e6) / n,
  ops_per_s: (n * 1000) / millis
})

/** `p50_us`, `p99_us`, `max_us` of durations in milliseconds. */
export const quantiles = (millis: ReadonlyArray<number>): Figures => {
  const sorted = Float64Array.from(millis).toSorted()
  const at = (q: number): number => (sorted[Math.floor((sorted.length - 1) * q)] ?? Number.NaN) * 1000
  return { p50_us: at(0.5), p99_us: at(0.99), max_us: at(1) }
}

/** Runs the collector; a process that was not started with `--expose-gc` cannot measure memory. */
export const collect = (): void => {
  if (globalThis.gc === undefined) throw new Error("start this process with --expose-gc")
  globalThis.gc()
}

/** Collects until what only finalization and timers kept is gone too. */
export const settle = async (): Promise<void> => {
  for (let i = 0; i < 4; i++) {
    collect()
    await sleep(50)
  }
}

const statusMegabytes = (field: string): number => {
  const line = new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync("/proc/self/status", "utf8"))
  return line === null ? Number.NaN : Number(line[1]) / 1024
}

/** Live heap in bytes, resident set and its peak in MB. Collect first. */
export const memory = (): {
  readonly heapBytes: number
  readonly rssMegabytes: number
  readonly peakMegabytes: number
} => ({
  heapBytes: process.memoryUsage().heapUsed,
  rssMegabytes: process.platform === "linux" ? statusMegabytes("VmRSS") : process.memoryUsage().rss / 1024 / 1024,
  peakMegabytes: process.platform === "linux" ? statusMegabytes("VmHWM") : Number.NaN
})
