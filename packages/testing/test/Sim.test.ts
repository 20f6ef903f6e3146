import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Controller, Kind, Owner, Reconciler, Store } from "setpoint"

const spec = Schema.Struct({ size: Schema.Int })
const App = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "App",
  spec,
  status: Schema.Struct({ size: Schema.Int })
})
const Part = Kind.make({ group: "example.dev", version: "v1", kind: "Part", spec })

const apps = Reconciler.make(App, {
  owns: [Part],
  reconcile: Effect.fnUntraced(function*(request) {
    const app = yield* Store.get(App, request)
    const owned = yield* Owner.setController({ metadata: { name: request.name }, spec: app.spec }, app)
    yield* Store.ensure(Part, request, () => owned)
    yield* Store.updateStatus(App, app, { size: app.spec.size })
  })
})

const layerOf = <R>(reconciler: Reconciler.Reconciler<R>) =>
  Controller.layerFor(reconciler).pipe(Layer.provide(Controller.layer()))

const small = { random: 10, depth: 1 } as const

describe("Sim.check", () => {
  it.effect("a reconciler that is right is clean, and the summary says what was tried", () =>
    Effect.gen(function*() {
      const summary = yield* Sim.check({
        controllers: layerOf(apps),
        workload: Sim.changes(App, { names: 1 }),
        matches: (app, world) => world.get(Part, app.metadata.name)?.spec.size === app.spec.size,
        ...small
      })
      assert.strictEqual(summary.depth, 1)
    }))
})
