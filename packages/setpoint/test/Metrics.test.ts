import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import * as Scope from "effect/Scope"
import * as Informer from "setpoint/Informer"
import * as Kind from "setpoint/Kind"
import * as MemoryStore from "setpoint/MemoryStore"
import * as Metrics from "setpoint/Metrics"

describe("Metrics", () => {
  it.effect("a series shows what its reader reads at that moment", () =>
    Effect.gen(function*() {
      let count = 1
      let reads = 0
      const read = () => {
        reads++
        return count
      }
      yield* Metrics.register([Metrics.series("controller_runtime_reconcile_errors_total", { controller: "a" }, read)])
      assert.strictEqual(reads, 0)
      assert.include(yield* scrape, "controller_runtime_reconcile_errors_total{controller=\"a\"} 1")
      count = 5
      assert.include(yield* scrape, "controller_runtime_reconcile_errors_total{controller=\"a\"} 5")
    }).pipe(isolated))

  it.effect("series end with their Scope, and closing it twice is fine", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      yield* Scope.provide(Metrics.register([depth(() => 1)]), scope)
      assert.include(yield* scrape, "workqueue_depth")
      yield* Scope.close(scope, Exit.void)
      yield* Scope.close(scope, Exit.void)
      assert.notInclude(yield* scrape, "workqueue_depth")
    }).pipe(isolated))

  it.effect("the end of a replaced registration leaves its successor's series alone", () =>
    Effect.gen(function*() {
      const older = yield* Scope.make()
      yield* Scope.provide(Metrics.register([depth(() => 1)]), older)
      yield* Metrics.register([depth(() => 2)])
      yield* Scope.close(older, Exit.void)
      assert.include(yield* scrape, "} 2")
    }).pipe(isolated))

  it.effect("where metrics are off, nothing is shown", () =>
    Effect.gen(function*() {
      yield* Effect.provideService(Metrics.register([depth(() => 1)]), Metrics.Enabled, false)
      assert.notInclude(yield* scrape, "workqueue_depth")
    }).pipe(isolated))

  it.effect("histograms expose cumulative buckets, sum and count", () =>
    Effect.gen(function*() {
      const read = (): Metrics.Distribution => ({ buckets: [[0.1, 1], [1, 3], [Infinity, 4]], count: 4, sum: 7.5 })
      yield* Metrics.register([
        Metrics.series("controller_runtime_reconcile_time_seconds", { controller: "a" }, read)
      ])
      const lines = (yield* scrape).split("\n")
      assert.deepStrictEqual(lines.filter((line) => line.startsWith("controller_runtime_reconcile_time_seconds")), [
        "controller_runtime_reconcile_time_seconds_bucket{controller=\"a\",le=\"0.1\"} 1",
        "controller_runtime_reconcile_time_seconds_bucket{controller=\"a\",le=\"1\"} 3",
        "controller_runtime_reconcile_time_seconds_bucket{controller=\"a\",le=\"+Inf\"} 4",
        "controller_runtime_reconcile_time_seconds_sum{controller=\"a\"} 7.5",
        "controller_runtime_reconcile_time_seconds_count{controller=\"a\"} 4"
      ])
      const state = (yield* Metric.snapshot)[0].state
      assert.deepInclude(state, { min: 0, max: Infinity })
    }).pipe(isolated))

  it("passes count under controller-runtime's names and labels", () => {
    assert.deepStrictEqual(labelsOf("controller_runtime_"), {
      controller_runtime_reconcile_total: ["controller", "result"],
      controller_runtime_reconcile_errors_total: ["controller"],
      controller_runtime_terminal_reconcile_errors_total: ["controller"],
      controller_runtime_reconcile_panics_total: ["controller"],
      controller_runtime_reconcile_timeouts_total: ["controller"],
      controller_runtime_reconcile_time_seconds: ["controller"],
      controller_runtime_max_concurrent_reconciles: ["controller"],
      controller_runtime_active_workers: ["controller"]
    })
    assert.strictEqual(Metrics.reconcileTimeBounds.length, 40)
    assert.deepStrictEqual(Metrics.reconcileTimeBounds, Metrics.reconcileTimeBounds.toSorted((a, b) => a - b))
  })

  it("queues count under client-go's names, depth by lane, so its series are three", () => {
    assert.deepStrictEqual(labelsOf("workqueue_"), {
      workqueue_depth: ["name", "controller", "priority"],
      workqueue_adds_total: ["name", "controller"],
      workqueue_queue_duration_seconds: ["name", "controller"],
      workqueue_work_duration_seconds: ["name", "controller"],
      workqueue_unfinished_work_seconds: ["name", "controller"],
      workqueue_longest_running_processor_seconds: ["name", "controller"],
      workqueue_retries_total: ["name", "controller"]
    })
  })

  it.effect("a family is bounded: what is over the bound is left out", () =>
    Effect.gen(function*() {
      const families = { type: "gauge", labels: ["x"], help: "Numbers." } as const
      const one = (x: number) => Metrics.custom("numbers", families, { x: String(x) }, () => x)
      yield* Metrics.register(Array.from({ length: Metrics.maxSeries + 5 }, (_, i) => one(i)))
      yield* Metrics.register([one(Metrics.maxSeries + 9), depth(() => 1)])
      const snapshot = yield* Metric.snapshot
      assert.strictEqual(snapshot.filter((metric) => metric.id === "numbers").length, Metrics.maxSeries)
      assert.strictEqual(snapshot.filter((metric) => metric.id === "workqueue_depth").length, 1)
    }).pipe(isolated))

  it.effect("an informer shows its cache while it runs, under its kind and the part of it that it holds", () =>
    Effect.gen(function*() {
      const driver = yield* MemoryStore.make()
      const scope = yield* Scope.make()
      const informers = Effect.all([
        Informer.make(driver, address),
        Informer.make(driver, address, { namespace: "prod", selector: "app=web", metadataOnly: true })
      ])
      const [whole] = yield* Scope.provide(informers, scope)
      yield* Informer.awaitSynced(whole)
      const lines = (yield* scrape).split("\n")
      assert.includeMembers(lines, [
        "setpoint_informer_synced{store=\"default\",kind=\"Website.example.dev\",cache=\"all\"} 1",
        "setpoint_informer_objects{store=\"default\",kind=\"Website.example.dev\",cache=\"namespace prod, app=web, partial\"} 0"
      ])
      yield* Scope.close(scope, Exit.void)
      assert.notInclude(yield* scrape, "setpoint_informer")
    }).pipe(isolated))
})

const { address } = Kind.make({ group: "example.dev", version: "v1", kind: "Website" })

const scrape = Effect.suspend(() => PrometheusMetrics.format())

const isolated = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => Effect.provideService(self, Metric.MetricRegistry, new Map()))

const depth = (read: () => number) =>
  Metrics.series("workqueue_depth", { name: "websites", controller: "websites", priority: "0" }, read)

const labelsOf = (prefix: string): { readonly [name: string]: ReadonlyArray<string> } =>
  Object.fromEntries(
    Object.entries(Metrics.families).flatMap(([name, { labels }]) => name.startsWith(prefix) ? [[name, labels]] : [])
  )
