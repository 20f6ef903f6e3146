/** How long the event loop stood still, with and without the collector's own pauses. */
import { PerformanceObserver } from "node:perf_hooks"
import { setTimeout as sleep } from "node:timers/promises"
import type { Figures } from "./measure.ts"

type Span = { readonly from: number; readonly to: number }

/** A gap between two turns, and how long this thread computed in it: less than the gap where others had the machine. */
type Pause = Span & { readonly busy: number }

/** How long this thread computed so far. */
export const busyMillis = (): number => {
  const { system, user } = process.threadCpuUsage()
  return (user + system) / 1000
}

const overlap = (a: Span, b: Span): number => Math.max(0, Math.min(a.to, b.to) - Math.max(a.from, b.from))

/**
 * Starts watching: a timer of 1 ms notes when it ran; a gap between two runs is a pause. `stop` gives the longest pause,
 * the longest less what the collector took of it, the longest time that the thread itself computed in a pause (on a machine
 * that is shared the fairer figure), and the time of all collections. Gaps below 3 ms are not kept.
 */
export const watchPauses = (): { readonly stop: () => Promise<Figures> } => {
  const pauses: Array<Pause> = []
  const collections: Array<Span> = []
  const observer = new PerformanceObserver((list) => {
    for (const { duration, startTime } of list.getEntries()) {
      collections.push({ from: startTime, to: startTime + duration })
    }
  })
  observer.observe({ entryTypes: ["gc"] })
  let last = performance.now()
  let lastBusy = busyMillis()
  const timer = setInterval(() => {
    const now = performance.now()
    const busy = busyMillis()
    if (now - last > 3) pauses.push({ from: last, to: now, busy: busy - lastBusy })
    last = now
    lastBusy = busy
  }, 1)
  return {
    stop: async () => {
      await sleep(20) // the observer hears of collections a turn later
      clearInterval(timer)
      observer.disconnect()
      let longest = 0
      let longestWithout = 0
      for (const pause of pauses) {
        const length = pause.to - pause.from
        longest = Math.max(longest, length)
        if (length <= longestWithout) continue
        const collected = collections.reduce((sum, collection) => sum + overlap(pause, collection), 0)
        longestWithout = Math.max(longestWithout, length - collected)
      }
      return {
        longest_pause_ms: longest,
        longest_pause_without_gc_ms: longestWithout,
        longest_busy_ms: pauses.reduce((most, { busy }) => Math.max(most, busy), 0),
        gc_ms: collections.reduce((sum, { from, to }) => sum + to - from, 0)
      }
    }
  }
}
