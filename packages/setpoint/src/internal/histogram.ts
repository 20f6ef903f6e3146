/** A histogram of seconds as plain numbers: counts are per bucket, not cumulative, until they are read. */

export interface Histogram {
  readonly counts: Array<number>
  sum: number
  count: number
}

/** Upper bounds in seconds: 10 ns to 10 s by tens, as client-go's work queue has them. */
export const bounds: ReadonlyArray<number> = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10]

/** The last count is of what lies above every bound. */
export const make = (): Histogram => ({ counts: [...bounds.map(() => 0), 0], sum: 0, count: 0 })

export const observe = (self: Histogram, seconds: number): void => {
  let bucket = 0
  for (const bound of bounds) {
    if (seconds <= bound) break
    bucket++
  }
  self.counts[bucket] = (self.counts[bucket] ?? 0) + 1
  self.sum += seconds
  self.count++
}

/** Cumulative counts beside their bounds, as a scrape wants them. */
export const read = (self: Histogram): {
  readonly buckets: ReadonlyArray<readonly [upToSeconds: number, count: number]>
  readonly count: number
  readonly sum: number
} => {
  let below = 0
  const buckets = [...bounds, Infinity].map((bound, i) => {
    below += self.counts[i] ?? 0
    return [bound, below] as const
  })
  return { buckets, count: self.count, sum: self.sum }
}
