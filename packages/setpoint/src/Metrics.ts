/**
 * Metrics: plain counters of the engine, read when somebody looks.
 *
 * The engine counts in plain numbers on its own records. {@link register} hangs a *reader* of such a number into
 * Effect's metric registry for as long as a Scope lives, so that whatever exports Effect's metrics exports ours, and
 * that nothing is paid where nobody scrapes: `PrometheusMetrics.format()` gives the text exposition, `Otlp` sends them,
 * and `Metric.snapshot` reads them in a test.
 *
 * Names and labels are those of controller-runtime and client-go, so that existing dashboards work; what those do not
 * know begins with `setpoint_`. {@link families} lists all.
 *
 * **Memory** Labels are fixed by the family and hold names of registrations, kinds and stores, never of objects. A
 * series ends with the Scope of what it counts. A family takes at most {@link maxSeries} series in one registry:
 * further ones are left out, which a warning says once for each registration.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type * as Scope from "effect/Scope"

/**
 * Most series of one family in one registry.
 *
 * @category constants
 * @since 0.1.0
 */
export const maxSeries = 10_000

/**
 * Upper bounds, in seconds, of `controller_runtime_reconcile_time_seconds`.
 *
 * @category constants
 * @since 0.1.0
 */
// controller-runtime's buckets, so that quantiles of both compare.
export const reconcileTimeBounds: ReadonlyArray<number> = [
  [0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1],
  [1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60]
].flat()

/**
 * A metric: what it counts, in which unit, and by which labels its series differ.
 *
 * @category models
 * @since 0.1.0
 */
export interface Family<
  Type extends "counter" | "gauge" | "histogram" = "counter" | "gauge" | "histogram",
  Label extends string = string
> {
  readonly type: Type
  readonly labels: ReadonlyArray<Label>
  readonly help: string
}

const counter = <const L extends string>(labels: ReadonlyArray<L>, help: string): Family<"counter", L> => ({
  type: "counter",
  labels,
  help
})
const gauge = <const L extends string>(labels: ReadonlyArray<L>, help: string): Family<"gauge", L> => ({
  type: "gauge",
  labels,
  help
})
const histogram = <const L extends string>(labels: ReadonlyArray<L>, help: string): Family<"histogram", L> => ({
  type: "histogram",
  labels,
  help
})

const controller = ["controller"] as const
const queue = ["name", "controller"] as const
const informer = ["store", "kind", "cache"] as const

/**
 * Every metric of the engine by name. `controller` and `name` are the name of a registration.
 *
 * `result` is `success`, `error`, `requeue` or `requeue_after`; `priority` is the lane: `0`, `1` or `2`; `cache` is the part
 * of a kind that an informer holds: `all`, or its namespace and selector.
 *
 * @category models
 * @since 0.1.0
 */
export const families = {
  controller_runtime_reconcile_total: counter(["controller", "result"], "Passes by result."),
  controller_runtime_reconcile_errors_total: counter(controller, "Passes that failed."),
  controller_runtime_terminal_reconcile_errors_total: counter(controller, "Passes that failed as Terminal."),
  controller_runtime_reconcile_panics_total: counter(controller, "Passes that ended with a defect."),
  controller_runtime_reconcile_timeouts_total: counter(controller, "Passes that went over their deadline."),
  controller_runtime_reconcile_time_seconds: histogram(controller, "Length of a pass."),
  controller_runtime_max_concurrent_reconciles: gauge(controller, "Most passes at once."),
  controller_runtime_active_workers: gauge(controller, "Passes that run now."),
  workqueue_depth: gauge(["name", "controller", "priority"], "Keys that are ready."),
  workqueue_adds_total: counter(queue, "Adds that put a key into the queue."),
  workqueue_queue_duration_seconds: histogram(queue, "Time a key was ready before a worker took it."),
  workqueue_work_duration_seconds: histogram(queue, "Time a worker had a key."),
  workqueue_unfinished_work_seconds: gauge(queue, "Sum of the ages of the passes that run."),
  workqueue_longest_running_processor_seconds: gauge(queue, "Age of the oldest pass that runs."),
  workqueue_retries_total: counter(queue, "Retries that were scheduled."),
  setpoint_queue_waiting: gauge(controller, "Keys that are due later."),
  setpoint_queue_held: gauge(controller, "Keys whose caches lag behind their own writes."),
  setpoint_queue_failing: gauge(controller, "Keys whose last pass failed."),
  setpoint_conflicts_total: counter(controller, "Passes that ended with a conflict."),
  setpoint_give_ups_total: counter(controller, "Keys whose retries ended."),
  setpoint_hot_loops_total: counter(controller, "Keys that were found waking themselves."),
  setpoint_paused: gauge(controller, "Objects or registrations that are paused."),
  setpoint_informer_objects: gauge(informer, "Objects in the cache."),
  setpoint_informer_synced: gauge(informer, "1 once the cache has had its initial list."),
  setpoint_informer_events_total: counter(informer, "Events that the cache took."),
  setpoint_informer_relists_total: counter(informer, "Lists after the first."),
  setpoint_informer_failures_total: counter(informer, "Watches and lists that ended with an error."),
  setpoint_dynamic_watches: gauge(controller, "Requests that instances watch by."),
  setpoint_events_recorded_total: counter(["store"], "Events written, repetitions included."),
  setpoint_events_dropped_total: counter(["store", "reason"], "Events not written: rate, full or failed."),
  setpoint_collector_objects: gauge(["store"], "Objects that the collector knows."),
  setpoint_collector_deleted_total: counter(["store"], "Objects that the collector deleted."),
  setpoint_collector_errors_total: counter(["store"], "Steps of the collector that failed.")
}

/**
 * The name of a metric of the engine.
 *
 * @category models
 * @since 0.1.0
 */
export type Name = keyof typeof families

/**
 * What a histogram reads as: cumulative counts beside their upper bounds, the last bound `Infinity`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Distribution {
  readonly buckets: ReadonlyArray<readonly [upTo: number, count: number]>
  readonly count: number
  readonly sum: number
}

type Value<F extends Family> = F["type"] extends "histogram" ? Distribution : number
type LabelsOf<F extends Family> = { readonly [L in F["labels"][number]]: string }

/**
 * One line of a metric: a family, its labels, and how to read the number.
 *
 * @category models
 * @since 0.1.0
 */
export interface Series {
  readonly name: string
  readonly family: Family
  readonly labels: { readonly [label: string]: string }
  readonly read: () => number | Distribution
}

/**
 * A series of one of the engine's metrics.
 *
 * @category constructors
 * @since 0.1.0
 */
export const series = <N extends Name>(
  name: N,
  labels: LabelsOf<(typeof families)[N]>,
  read: () => Value<(typeof families)[N]>
): Series => ({ name, family: families[name], labels, read })

/**
 * A series of a metric of your own.
 *
 * @category constructors
 * @since 0.1.0
 */
export const custom = <F extends Family>(
  name: string,
  family: F,
  labels: LabelsOf<F>,
  read: () => Value<F>
): Series => ({
  name,
  family,
  labels,
  read
})

/**
 * Whether series are shown at all. A program that nobody measures, as a simulated one, is spared what they cost to begin.
 *
 * @category references
 * @since 0.1.0
 */
export const Enabled: Context.Reference<boolean> = Context.Reference<boolean>("setpoint/Metrics/Enabled", {
  defaultValue: () => true
})

/**
 * Shows series until the Scope closes. A series that another one replaced meanwhile (same name, same labels) stays the
 * other's.
 *
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import * as Metric from "effect/Metric"
 * import { Metrics } from "setpoint"
 *
 * export const program = Effect.gen(function*() {
 *   let depth = 0
 *   const labels = { name: "websites", controller: "websites", priority: "0" }
 *   yield* Metrics.register([Metrics.series("workqueue_depth", labels, () => depth)])
 *   depth = 3
 *   return yield* Metric.snapshot // one gauge, 3
 * })
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const register = (series: Iterable<Series>): Effect.Effect<void, never, Scope.Scope> =>
  Effect.contextWith((context: Context.Context<Scope.Scope>) =>
    Effect.suspend(() => {
      if (!Context.get(context, Enabled)) return Effect.void
      const room = roomIn(Context.get(context, Metric.MetricRegistry))
      let refused: string | undefined
      const registrations: Array<Metric.Registration> = []
      for (const one of series) {
        if (room(one.name)) registrations.push(registerOne(one, context))
        else refused = one.name
      }
      const end = Effect.addFinalizer(() =>
        Effect.sync(() => {
          for (const registration of registrations) registration.remove()
        })
      )
      return refused === undefined
        ? end
        : Effect.andThen(end, Effect.logWarning(`metric ${refused} has ${maxSeries} series: more are left out`))
    })
  )

/** Whether a family has room for one more series. */
const roomIn = (registry: Metric.MetricRegistry): (name: string) => boolean => {
  const counts = new Map<string, number>()
  for (const { id } of registry.values()) counts.set(id, (counts.get(id) ?? 0) + 1)
  return (name) => {
    const count = counts.get(name) ?? 0
    counts.set(name, count + 1)
    return count < maxSeries
  }
}

const registerOne = ({ family, labels, name, read }: Series, context: Context.Context<never>): Metric.Registration => {
  const options = { description: family.help, attributes: labels }
  const number = () => {
    const value = read()
    return typeof value === "number" ? value : value.count
  }
  const unused = { update: () => {}, modify: () => {} } // readers are never written
  switch (family.type) {
    case "counter":
      return Metric.registerUnsafe(Metric.counter(name, { ...options, incremental: true }), context, {
        get: () => ({ count: number(), incremental: true }),
        ...unused
      })
    case "gauge":
      return Metric.registerUnsafe(Metric.gauge(name, options), context, {
        get: () => ({ value: number() }),
        ...unused
      })
    case "histogram":
      return Metric.registerUnsafe(Metric.histogram(name, { ...options, boundaries: [] }), context, {
        get: () => {
          const value = read()
          return stateOf(typeof value === "number" ? { buckets: [], count: 0, sum: 0 } : value)
        },
        ...unused
      })
  }
}

/** The least and the greatest observation are known by their buckets only. */
const stateOf = ({ buckets, count, sum }: Distribution): Metric.HistogramState => {
  const first = buckets.findIndex(([, upTo]) => upTo > 0)
  const last = buckets.findIndex(([, upTo]) => upTo === count)
  return {
    buckets: buckets.map(([bound, count]) => [bound, count]),
    count,
    sum,
    min: first <= 0 ? 0 : buckets[first - 1][0],
    max: count === 0 ? 0 : buckets[last]?.[0] ?? 0
  }
}
