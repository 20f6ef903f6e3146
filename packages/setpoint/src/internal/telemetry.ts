/**
 * What a registration shows of itself: metrics, health, and what is told of its passes in logs and events.
 */
import * as Effect from "effect/Effect"
import type * as EventRecorder from "../EventRecorder.ts"
import * as Health from "../Health.ts"
import * as Informer from "../Informer.ts"
import * as Metrics from "../Metrics.ts"
import { text } from "../Request.ts"
import * as WorkQueue from "../WorkQueue.ts"
import type { Report } from "./endPass.ts"
import * as Registrations from "./registration.ts"

type Registration = Registrations.Registration

/** One sentence an input that is not synced or in trouble. */
export const troublesOf = (registration: Registration): ReadonlyArray<string> => {
  const troubles = Array.from(registration.troubles.values())
  for (const { informer } of registration.unsynced) {
    troubles.push(
      `the cache of ${informer.kind} is not synced: ${Informer.why(informer) ?? "its handlers are being told"}`
    )
  }
  return troubles
}

/** Ready when every cache that must be synced is, and no input is in trouble. */
export const healthOf = (registration: Registration): Health.Part => ({
  name: `registration ${registration.name}`,
  kind: registration.kind.groupKind,
  status: () => {
    const troubles = troublesOf(registration)
    return troubles.length === 0 ? Health.ready : Health.notReady(troubles.join("; "))
  }
})

/** A cache that instances asked for. Readiness goes without it: what an instance asks for is not the program's to know. */
export const healthOfWatch = (informer: Informer.Informer): Health.Part => ({
  name: `watch ${informer.kind}${informer.full ? ", whole objects" : ""}`,
  kind: informer.kind,
  optional: true,
  status: () => {
    const why = Informer.why(informer)
    return why === undefined ? Health.ready : Health.notReady(why)
  }
})

/** The series of a registration, under controller-runtime's names and ours: read when scraped, and only then. */
export const seriesOf = (
  registration: Registration,
  engine: { readonly workers: () => number; readonly watches: () => number }
): ReadonlyArray<Metrics.Series> => {
  const { counters, name, queue } = registration
  const controller = { controller: name }
  const both = { name, controller: name }
  const read = () => WorkQueue.metricsUnsafe(queue)
  const counts = () => WorkQueue.countsUnsafe(queue)
  const result = (result: string, value: () => number) =>
    Metrics.series("controller_runtime_reconcile_total", { controller: name, result }, value)
  return [
    result("success", () => counters.success),
    result("error", () => counters.error + counters.conflict),
    result("requeue", () => counters.requeue),
    result("requeue_after", () => counters.requeueAfter),
    Metrics.series("controller_runtime_reconcile_errors_total", controller, () => counters.error),
    Metrics.series("controller_runtime_terminal_reconcile_errors_total", controller, () => counters.terminal),
    Metrics.series("controller_runtime_reconcile_panics_total", controller, () => counters.panic),
    Metrics.series("controller_runtime_reconcile_timeouts_total", controller, () => counters.timeout),
    Metrics.series(
      "controller_runtime_reconcile_time_seconds",
      controller,
      () => read().workqueue_work_duration_seconds
    ),
    Metrics.series(
      "controller_runtime_max_concurrent_reconciles",
      controller,
      () => Math.min(queue.concurrency, engine.workers())
    ),
    Metrics.series("controller_runtime_active_workers", controller, () => registration.running.size),
    ...([0, 1, 2] as const).map((lane) =>
      Metrics.series("workqueue_depth", { ...both, priority: String(lane) }, () => read().workqueue_depth[lane])
    ),
    Metrics.series("workqueue_adds_total", both, () => read().workqueue_adds_total),
    Metrics.series("workqueue_retries_total", both, () => read().workqueue_retries_total),
    Metrics.series("workqueue_queue_duration_seconds", both, () => read().workqueue_queue_duration_seconds),
    Metrics.series("workqueue_work_duration_seconds", both, () => read().workqueue_work_duration_seconds),
    Metrics.series("workqueue_unfinished_work_seconds", both, () => read().workqueue_unfinished_work_seconds),
    Metrics.series(
      "workqueue_longest_running_processor_seconds",
      both,
      () => read().workqueue_longest_running_processor_seconds
    ),
    Metrics.series("setpoint_queue_waiting", controller, () => counts().waiting),
    Metrics.series("setpoint_queue_held", controller, () => counts().held),
    Metrics.series("setpoint_queue_failing", controller, () => counts().failing),
    Metrics.series("setpoint_conflicts_total", controller, () => counters.conflict),
    Metrics.series("setpoint_give_ups_total", controller, () => counters.giveUp),
    Metrics.series("setpoint_hot_loops_total", controller, () => counters.hotLoop),
    Metrics.series("setpoint_paused", controller, () => registration.pausedKeys.size + (registration.isPaused ? 1 : 0)),
    Metrics.series("setpoint_dynamic_watches", controller, engine.watches)
  ]
}

type Recorder = EventRecorder.EventRecorder["Service"]

interface Telling {
  readonly level: "Warn" | "Error"
  readonly says: string
  /** Worth an Event: a person should look. */
  readonly event: string | undefined
}

const tellings: { readonly [T in Report["_tag"]]: Telling } = {
  Retrying: { level: "Warn", says: "the pass failed and is retried", event: undefined },
  Panicked: { level: "Error", says: "the pass died and is retried", event: "ReconcilePanicked" },
  TimedOut: { level: "Warn", says: "the pass went over its deadline and is retried", event: undefined },
  Recheck: { level: "Error", says: "the pass failed for good; it waits for a change", event: "ReconcileFailed" },
  GaveUp: { level: "Error", says: "retries are used up; it waits for a change", event: "ReconcileGaveUp" },
  HotLoop: {
    level: "Warn",
    says: "its passes are caused by its own writes alone; they are spaced from now on",
    event: "ReconcileHotLoop"
  }
}

const messageOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

/** Tells of a pass that did not go well: in the log, and as an Event of its object where a person should look. */
export const report = (recorderOf: (registration: Registration) => Recorder | undefined) =>
(
  request: Registrations.EngineRequest,
  reports: ReadonlyArray<Report>
): Effect.Effect<void> =>
  Effect.forEach(reports, (report) => {
    const { event, level, says } = tellings[report._tag]
    const error = report._tag === "HotLoop" ? `${report.passes} passes in a row` : report.error
    const log = Effect.logWithLevel(level)(`${request.registration.name}, ${text(request)}: ${says}`, error)
    const recorder = event === undefined ? undefined : recorderOf(request.registration)
    const object = Registrations.cached(request)
    if (event === undefined || recorder === undefined || object === undefined) return log
    const message = `${says}: ${messageOf(error)}`
    return Effect.andThen(log, recorder.record(object, { type: "Warning", reason: event, message }))
  }, { discard: true })
