import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import { Controller, Kind, MemoryStore, Outcome, Reconciler, Store } from "setpoint"

const Website = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Website",
  spec: Schema.Struct({ host: Schema.String }),
  status: Schema.Struct({ ready: Schema.Int })
})

const engine = Layer.provideMerge(Controller.layer(), MemoryStore.layer)

describe("Controller", () => {
  it.effect("[F01] creating an object runs its kind's reconciler with the object's request", () =>
    Effect.gen(function*() {
      const seen = yield* Queue.unbounded<string>()
      const controller = yield* Controller.Controller
      yield* controller.register(Reconciler.make(Website, {
        reconcile: (request) =>
          Effect.gen(function*() {
            const site = yield* Store.get(Website, request)
            yield* Store.updateStatus(Website, site, { ready: 1 })
            yield* Queue.offer(seen, `${request.namespace}/${request.name} ${site.spec.host}`)
            return Outcome.done
          })
      }))
      yield* Store.create(Website, { metadata: { name: "blog" }, spec: { host: "a.example" } })
      assert.strictEqual(yield* Queue.take(seen), "default/blog a.example")
      const site = yield* Store.get(Website, { name: "blog" })
      assert.strictEqual(site.status?.ready, 1)
    }).pipe(Effect.provide(engine)))
})
