/**
 * Events: what happened to an object, kept as objects that people read (`kubectl describe` shows them).
 *
 * {@link record} only notes an occurrence. One fiber of the layer writes, so that recording never fails and never
 * delays a pass; what the bounds refuse is counted.
 *
 * - The same object, type, reason, action and message are one Event, whose `count` and `lastTimestamp` move. Its name
 *   comes from its content, so that a process that starts anew goes on counting.
 * - More than 10 distinct messages of what is otherwise alike, in 10 minutes, become one Event, marked as combined.
 * - An object may have 25 Events written at once, then one each 5 minutes. Repetitions beyond that are counted, and
 *   written with the next.
 * - The garbage collector deletes an Event an hour after it last happened, and the oldest of an object beyond 100.
 *
 * **Delivery** At most once: events are for people, and no reconciler may depend on one. A write that fails is tried
 * again a few times, then dropped.
 *
 * **Shutdown** Closing the layer writes what waits, for at most a second.
 *
 * **Memory** At most 4,096 objects are remembered, 100 Events an object, and 1,000 Events that wait to be written.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Rules from "./internal/events.ts"
import * as timestamps from "./internal/timestamps.ts"
import * as Kind from "./Kind.ts"
import * as Metrics from "./Metrics.ts"
import * as Pass from "./Pass.ts"
import type { Any } from "./Resource.ts"
import { type Service as StoreService, Store } from "./Store.ts"
import type { StoreError } from "./StoreError.ts"

const text = Schema.optionalKey(Schema.String)
const time = Schema.optionalKey(Schema.NullOr(Schema.String))

/**
 * The kind of Events, in Kubernetes' core form. Fields are optional, so that Events of others decode too.
 *
 * @category kinds
 * @since 0.1.0
 */
export const Event = Kind.make({
  group: "",
  version: "v1",
  kind: "Event",
  fields: {
    involvedObject: Schema.Struct({
      apiVersion: text,
      kind: text,
      namespace: text,
      name: text,
      uid: text,
      resourceVersion: text,
      fieldPath: text
    }),
    type: text,
    reason: text,
    message: text,
    action: text,
    count: Schema.optionalKey(Schema.Int),
    firstTimestamp: time,
    lastTimestamp: time,
    eventTime: time,
    reportingComponent: text,
    reportingInstance: text,
    source: Schema.optionalKey(Schema.Struct({ component: text, host: text }))
  }
})

/**
 * @category models
 * @since 0.1.0
 */
export type Event = Kind.Resource<typeof Event>

/**
 * What happened.
 *
 * @category models
 * @since 0.1.0
 */
export interface Occurrence {
  /** Default `"Normal"`. */
  readonly type?: "Normal" | "Warning" | undefined
  /** For programs: one CamelCase word such as `ImagePullFailed`. */
  readonly reason: string
  /** For people. Cut, with a mark, beyond 1,024 UTF-16 code units. */
  readonly message: string
  /** What was done or tried, such as `Pull`. Default: none. */
  readonly action?: string | undefined
}

/**
 * What the recorder did so far. Dropped: over the rate, because too many waited, because the store refused.
 *
 * @category models
 * @since 0.1.0
 */
export interface Counts {
  readonly recorded: number
  readonly dropped: { readonly rate: number; readonly full: number; readonly failed: number }
}

/**
 * @category services
 * @since 0.1.0
 */
export class EventRecorder extends Context.Service<EventRecorder, {
  readonly record: (object: Any, occurrence: Occurrence) => Effect.Effect<void>
  readonly counts: Effect.Effect<Counts>
}>()("setpoint/EventRecorder") {}

/**
 * Notes what happened to an object. Inside a pass the Event names the pass's registration as its reporter.
 *
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import { EventRecorder, type Resource } from "setpoint"
 *
 * export const refused = (site: Resource.Any) =>
 *   EventRecorder.record(site, { type: "Warning", reason: "NoRoute", message: "the load balancer refused the host" })
 *
 * export const quiet = Effect.provide(EventRecorder.layerNoop)
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const record = (object: Any, occurrence: Occurrence): Effect.Effect<void, never, EventRecorder> =>
  Effect.flatMap(EventRecorder, (recorder) => recorder.record(object, occurrence))

/**
 * How a recorder reports.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Who reports outside of a pass. Default `"setpoint"`. */
  readonly component?: string | undefined
  /** Which process reports. Default: none. */
  readonly instance?: string | undefined
  /** How long closing goes on writing. Default 1 second. */
  readonly flush?: Duration.Input | undefined
}

const retries = Schedule.exponential("100 millis").pipe(Schedule.jittered, Schedule.upTo({ times: 5 }))

const make = Effect.fnUntraced(function*(options: Options) {
  const store = yield* Store
  const clock = yield* Clock.Clock
  const state = Rules.make(Rules.defaults)
  const hints = yield* Queue.dropping<void>(1)
  const write = (series: Rules.Series): Effect.Effect<void> =>
    writeSeries(store, series, options.instance ?? "").pipe(
      Effect.retry({ schedule: retries, while: (error) => error.retryable }),
      Effect.matchCauseEffect({
        onFailure: (cause) =>
          Effect.andThen(Effect.sync(() => Rules.failed(state)), Effect.logDebug("an event was not written", cause)),
        onSuccess: (stored) => Effect.sync(() => Rules.written(state, series, stored))
      })
    )
  const writeAll: Effect.Effect<void> = Effect.suspend(() => {
    const series = Rules.take(state)
    return series === undefined ? Effect.void : Effect.andThen(write(series), writeAll)
  })
  yield* Effect.addFinalizer(() => Effect.timeoutOption(writeAll, options.flush ?? "1 second"))
  yield* Effect.forkScoped(
    Effect.forever(Effect.andThen(Queue.take(hints), writeAll), { disableYield: true }),
    { startImmediately: true }
  )
  yield* Metrics.register([
    Metrics.series("setpoint_events_recorded_total", { store: store.name }, () => state.recorded),
    ...(["rate", "full", "failed"] as const).map((reason) =>
      Metrics.series("setpoint_events_dropped_total", { store: store.name, reason }, () => state.dropped[reason])
    )
  ])
  return EventRecorder.of({
    record: (object, occurrence) =>
      Effect.map(Pass.Current, (pass) => {
        const component = pass?.registration ?? options.component ?? "setpoint"
        Rules.record(state, occurrenceOf(object, occurrence, component), clock.currentTimeMillisUnsafe())
        Queue.offerUnsafe(hints, undefined)
      }),
    counts: Effect.sync(() => ({ recorded: state.recorded, dropped: { ...state.dropped } }))
  })
})

/**
 * Records into the `Store` of its context.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<EventRecorder, never, Store> =>
  Layer.effect(EventRecorder, make(options))

/**
 * Records nothing.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerNoop: Layer.Layer<EventRecorder> = Layer.succeed(EventRecorder, {
  record: () => Effect.void,
  counts: Effect.succeed({ recorded: 0, dropped: { rate: 0, full: 0, failed: 0 } })
})

const maxMessageLength = 1024
const mark = " … (truncated)"

const occurrenceOf = (object: Any, occurrence: Occurrence, component: string): Rules.Occurrence => {
  const { message } = occurrence
  return {
    subject: {
      apiVersion: object.apiVersion,
      kind: object.kind,
      namespace: object.metadata.namespace ?? "",
      name: object.metadata.name,
      uid: object.metadata.uid
    },
    type: occurrence.type ?? "Normal",
    reason: occurrence.reason,
    message: message.length <= maxMessageLength ? message : message.slice(0, maxMessageLength - mark.length) + mark,
    action: occurrence.action ?? "",
    component
  }
}

/** Creates the Event or moves it on. Gives what the store had counted before this process. */
const writeSeries = Effect.fnUntraced(function*(
  store: StoreService,
  series: Rules.Series,
  instance: string
): Effect.fn.Return<number, StoreError> {
  if (series.stored === undefined) return yield* createSeries(store, series, instance)
  const moved = moveOn(store, series, series.stored)
  return yield* Effect.catchReason(moved, "StoreError", "NotFound", () => createSeries(store, series, instance))
})

const createSeries = (
  store: StoreService,
  series: Rules.Series,
  instance: string
): Effect.Effect<number, StoreError> =>
  store.create(Event, inputOf(series, instance)).pipe(
    Effect.as(0),
    Effect.catchReason("StoreError", "AlreadyExists", () =>
      Effect.flatMap(store.latest(Event, series), (event) =>
        moveOn(store, series, event.count ?? 1)))
  )

const moveOn = (store: StoreService, series: Rules.Series, stored: number): Effect.Effect<number, StoreError> =>
  Effect.as(
    store.patchUnconditionally(Event, { namespace: series.namespace, name: series.name }, {
      merge: {
        count: stored + series.count,
        lastTimestamp: timestamps.fromMillis(series.lastMillis),
        message: series.occurrence.message
      }
    }),
    stored
  )

const inputOf = ({ count, firstMillis, lastMillis, name, namespace, occurrence }: Rules.Series, instance: string) => ({
  metadata: { name, namespace },
  involvedObject: {
    apiVersion: occurrence.subject.apiVersion,
    kind: occurrence.subject.kind,
    name: occurrence.subject.name,
    uid: occurrence.subject.uid,
    ...(occurrence.subject.namespace === "" ? {} : { namespace: occurrence.subject.namespace })
  },
  type: occurrence.type,
  reason: occurrence.reason,
  message: occurrence.message,
  ...(occurrence.action === "" ? {} : { action: occurrence.action }),
  count,
  firstTimestamp: timestamps.fromMillis(firstMillis),
  lastTimestamp: timestamps.fromMillis(lastMillis),
  reportingComponent: occurrence.component,
  reportingInstance: instance,
  source: { component: occurrence.component }
})
