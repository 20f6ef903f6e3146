import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as EventRecorder from "setpoint/EventRecorder"
import * as Kind from "setpoint/Kind"
import * as MemoryStore from "setpoint/MemoryStore"
import * as Pass from "setpoint/Pass"
import * as Store from "setpoint/Store"
import * as StoreError from "setpoint/StoreError"

describe("EventRecorder", () => {
  it.effect("an event is an object beside what it is about, with the fields that Kubernetes' tools show", () =>
    Effect.gen(function*() {
      const site = yield* Store.create(Website, { metadata: { name: "blog", namespace: "prod" } })
      yield* EventRecorder.record(site, { type: "Warning", reason: "NoRoute", message: "refused", action: "Route" })
      yield* settled
      const [event] = yield* events
      assert.strictEqual(event?.metadata.namespace, "prod")
      assert.match(event?.metadata.name ?? "", /^blog\.[0-9a-f]{16}$/)
      assert.deepInclude(event ?? {}, {
        involvedObject: {
          apiVersion: "example.dev/v1",
          kind: "Website",
          namespace: "prod",
          name: "blog",
          uid: site.metadata.uid
        },
        type: "Warning",
        reason: "NoRoute",
        message: "refused",
        action: "Route",
        count: 1,
        firstTimestamp: "1970-01-01T00:00:00Z",
        lastTimestamp: "1970-01-01T00:00:00Z",
        reportingComponent: "setpoint"
      })
    }).pipe(provided))

  it.effect("repetitions move one event's count and last time", () =>
    Effect.gen(function*() {
      const site = yield* Store.create(Website, { metadata: { name: "blog" } })
      yield* EventRecorder.record(site, { reason: "Started", message: "it runs" })
      yield* settled
      yield* TestClock.adjust("1 minute")
      yield* EventRecorder.record(site, { reason: "Started", message: "it runs" })
      yield* EventRecorder.record(site, { reason: "Started", message: "it runs" })
      yield* settled
      const all = yield* events
      assert.strictEqual(all.length, 1)
      assert.deepInclude(all[0] ?? {}, {
        type: "Normal",
        count: 3,
        firstTimestamp: "1970-01-01T00:00:00Z",
        lastTimestamp: "1970-01-01T00:01:00Z"
      })
    }).pipe(provided))

  it.effect("a process that starts anew goes on counting, and one whose event was deleted begins again", () =>
    Effect.gen(function*() {
      const site = yield* Store.create(Website, { metadata: { name: "blog" } })
      const started = EventRecorder.record(site, { reason: "Started", message: "it runs" })
      yield* Effect.scoped(Effect.andThen(started, settled).pipe(Effect.provide(Layer.fresh(EventRecorder.layer()))))
      yield* started
      yield* settled
      assert.deepStrictEqual((yield* events).map((event) => event.count), [2])
      for (const event of yield* events) yield* Store.delete(EventRecorder.Event, event)
      yield* started
      yield* settled
      assert.strictEqual((yield* events).length, 1)
    }).pipe(provided))

  it.effect("an event of a cluster-scoped object is in the namespace default", () =>
    Effect.gen(function*() {
      const zone = yield* Store.create(Zone, { metadata: { name: "eu" } })
      yield* EventRecorder.record(zone, { reason: "Opened", message: "" })
      yield* settled
      assert.deepStrictEqual((yield* events).map((event) => event.metadata.namespace), ["default"])
    }).pipe(provided))

  it.effect("inside a pass the registration reports, and the write is not the pass's", () =>
    Effect.gen(function*() {
      const site = yield* Store.create(Website, { metadata: { name: "blog" } })
      const written: Array<string> = []
      const pass: Pass.Pass = {
        registration: "websites",
        request: { store: "default", kind: "Website.example.dev", namespace: "default", name: "blog" },
        number: 1,
        causes: [],
        otherCauses: 0,
        calls: 0,
        reader: { get: () => undefined, list: () => undefined, fetched: () => {} },
        writes: {
          acknowledged: (_, kind) => written.push(kind),
          unknown: () => {},
          conflicted: () => {}
        }
      }
      yield* EventRecorder.record(site, { reason: "Started", message: "it runs" }).pipe(
        Effect.provideService(Pass.Current, pass)
      )
      yield* settled
      assert.deepStrictEqual((yield* events).map((event) => event.reportingComponent), ["websites"])
      assert.deepStrictEqual(written, [])
    }).pipe(provided))

  it.effect("a message over the limit is cut with a mark", () =>
    Effect.gen(function*() {
      const site = yield* Store.create(Website, { metadata: { name: "blog" } })
      yield* EventRecorder.record(site, { reason: "Long", message: "x".repeat(5_000) })
      yield* settled
      const message = (yield* events)[0]?.message ?? ""
      assert.strictEqual(message.length, 1024)
      assert.isTrue(message.endsWith("… (truncated)"))
    }).pipe(provided))

  it.effect("a store that is away costs a recorder a few tries, and never its caller", () =>
    Effect.gen(function*() {
      const site = yield* Store.create(Website, { metadata: { name: "blog" } })
      const { create } = yield* Store.Store
      let tries = 0
      let away = true
      const failing = Layer.effect(
        Store.Store,
        Effect.map(Store.Store, (store) => ({
          ...store,
          create: (kind, input, options) =>
            Effect.suspend(() => {
              tries++
              return away ? Effect.fail(unavailable) : create(kind, input, options)
            })
        } satisfies Store.Service))
      )
      yield* Effect.gen(function*() {
        yield* EventRecorder.record(site, { reason: "Started", message: "it runs" })
        yield* settled
        yield* TestClock.adjust("1 minute")
        const recorder = yield* EventRecorder.EventRecorder
        assert.strictEqual(tries, 6)
        assert.strictEqual((yield* recorder.counts).dropped.failed, 1)
        away = false
        yield* EventRecorder.record(site, { reason: "Started", message: "it runs" })
        yield* settled
        assert.deepStrictEqual((yield* events).map((event) => event.count), [2])
      }).pipe(Effect.provide(Layer.provide(Layer.fresh(EventRecorder.layer()), failing)))
    }).pipe(provided))

  it.effect("closing the layer writes what waits", () =>
    Effect.gen(function*() {
      const site = yield* Store.create(Website, { metadata: { name: "blog" } })
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(Layer.fresh(EventRecorder.layer()), scope)
      yield* Effect.provide(EventRecorder.record(site, { reason: "Stopped", message: "bye" }), context)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual((yield* events).map((event) => event.reason), ["Stopped"])
    }).pipe(provided))

  it.effect("what was recorded and dropped is counted in metrics", () =>
    Effect.gen(function*() {
      const site = yield* Store.create(Website, { metadata: { name: "blog" } })
      for (let i = 0; i < 30; i++) yield* EventRecorder.record(site, { reason: `Reason${i}`, message: "" })
      yield* settled
      assert.strictEqual((yield* events).length, 25)
      const values = (yield* Metric.snapshot).map(({ attributes, id, state }) => [id, attributes?.reason, state])
      assert.deepInclude(values, ["setpoint_events_recorded_total", undefined, { count: 25, incremental: true }])
      assert.deepInclude(values, ["setpoint_events_dropped_total", "rate", { count: 5, incremental: true }])
    }).pipe(provided, (self) => Effect.suspend(() => Effect.provideService(self, Metric.MetricRegistry, new Map()))))

  it.effect("the noop records nothing", () =>
    Effect.gen(function*() {
      const site = yield* Store.create(Website, { metadata: { name: "blog" } })
      yield* EventRecorder.record(site, { reason: "Started", message: "" })
      yield* settled
      assert.deepStrictEqual(yield* events, [])
    }).pipe(Effect.provide(Layer.merge(EventRecorder.layerNoop, MemoryStore.layer))))
})

const Website = Kind.make({ group: "example.dev", version: "v1", kind: "Website" })
const Zone = Kind.make({ group: "example.dev", version: "v1", kind: "Zone", scope: "Cluster" })

const provided = Effect.provide(Layer.provideMerge(EventRecorder.layer(), MemoryStore.layer))

const events = Effect.map(Store.list(EventRecorder.Event), (list) => list.items)

/** Every fiber that can run has run so many turns: more than any chain of wake-ups in these tests has links. */
const settled = Effect.repeat(Effect.yieldNow, { times: 200 })

const unavailable = StoreError.make(
  { operation: "create", kind: "Event", key: { namespace: "default", name: "blog" } },
  new StoreError.Unavailable({ why: "away" })
)
