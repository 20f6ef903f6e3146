/** What an informer shows of itself in metrics: read when scraped, and only then. */
import * as Metrics from "../Metrics.ts"
import type * as Run from "./informerRun.ts"

/** The part of a kind that a cache holds: `all`, or its namespace, its selector, and that it holds no whole objects. */
const cacheOf = ({ namespace, selector }: Run.Work, full: boolean): string => {
  const parts = [
    ...(namespace === undefined ? [] : [`namespace ${namespace}`]),
    ...(selector === undefined ? [] : [selector]),
    ...(full ? [] : ["partial"])
  ]
  return parts.length === 0 ? "all" : parts.join(", ")
}

export const seriesOf = (store: string, full: boolean, work: Run.Work): ReadonlyArray<Metrics.Series> => {
  const { cache, counters, machine } = work.state
  const labels = { store, kind: work.kind, cache: cacheOf(work, full) }
  return [
    Metrics.series("setpoint_informer_objects", labels, () => cache.content.size),
    Metrics.series("setpoint_informer_synced", labels, () => machine.synced ? 1 : 0),
    Metrics.series("setpoint_informer_events_total", labels, () => counters.events),
    Metrics.series("setpoint_informer_relists_total", labels, () => counters.relists),
    Metrics.series("setpoint_informer_failures_total", labels, () => counters.failures)
  ]
}
