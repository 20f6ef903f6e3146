import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { TestClock } from "effect/testing"
import * as Tracer from "effect/Tracer"
import { Controller, Kind, MemoryStore, Owner, Reconciler, Store } from "setpoint"

const Website = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Website",
  spec: Schema.Struct({ host: Schema.String })
})

const Server = Kind.make({ group: "example.dev", version: "v1", kind: "Server", spec: Schema.Struct({}) })

const engine = Layer.provideMerge(Controller.layer({ collector: false, events: false }), MemoryStore.layer)

const websites = Reconciler.make(Website, {
  owns: [Server],
  reconcile: Effect.fnUntraced(function*(request) {
    const site = yield* Store.get(Website, request)
    const ownerReferences = [Owner.reference(site, { controller: true })]
    yield* Store.ensure(Server, request, () => ({ metadata: { ownerReferences }, spec: {} }))
  })
})

const collecting = () => {
  const spans: Array<Tracer.Span> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = Tracer.nativeTracer.span(options)
      spans.push(span)
      return span
    }
  })
  return { spans, tracer }
}

describe("tracing", () => {
  it.effect("[Q6] a pass is a span with its causes, linked to the pass whose write caused it and to who enqueued it", () => {
    const { spans, tracer } = collecting()
    return Effect.gen(function*() {
      const controller = yield* Controller.Controller
      const registration = yield* controller.register(websites)
      yield* Store.create(Website, { metadata: { name: "blog" }, spec: { host: "a" } })
      yield* TestClock.adjust("1 second")
      const passes = () => spans.filter((span) => span.name === "reconcile Website.example.dev")
      const [first, second] = passes()
      assert.strictEqual(passes().length, 2)
      assert.strictEqual(first?.attributes.get("setpoint.object"), "default/blog")
      assert.deepStrictEqual(second?.attributes.get("setpoint.causes"), ["Event"])
      assert.strictEqual(second?.links[0]?.span.spanId, first?.spanId)
      yield* Effect.withSpan(registration.enqueue({ name: "blog" }), "webhook")
      yield* TestClock.adjust("1 second")
      const third = passes()[2]
      assert.strictEqual(third?.links[0]?.span.spanId, spans.find((span) => span.name === "webhook")?.spanId)
    }).pipe(Effect.provide(engine), Effect.provideService(Tracer.Tracer, tracer))
  })

  it.effect("a pass makes no span where no tracer listens", () =>
    Effect.gen(function*() {
      const controller = yield* Controller.Controller
      const seen: Array<boolean> = []
      yield* controller.register(Reconciler.make(Website, {
        reconcile: () => Effect.map(Effect.isSuccess(Effect.currentSpan), (found) => void seen.push(found))
      }))
      yield* Store.create(Website, { metadata: { name: "blog" }, spec: { host: "a" } })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(seen, [false])
    }).pipe(Effect.provide(engine)))
})
