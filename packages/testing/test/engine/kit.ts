/** What the workloads share that turn the simulator on the engine itself. */
import { Sim } from "@setpoint/testing"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Controller, Kind, Owner, type Reconciler, type Request, Store, StoreDriver } from "setpoint"

const spec = Schema.Struct({ size: Schema.Int })
const status = Schema.Struct({ size: Schema.Int, observedGeneration: Schema.optionalKey(Schema.Int) })

export const App = Kind.make({ group: "example.dev", version: "v1", kind: "App", spec, status })
export type App = Kind.Resource<typeof App>
export const Part = Kind.make({ group: "example.dev", version: "v1", kind: "Part", spec })

export const layerOf = <R>(reconciler: Reconciler.Reconciler<R>, options: Controller.Options = {}) =>
  Controller.layerFor(reconciler).pipe(Layer.provide(Controller.layer(options)))

/** The same program on another store: what its driver does is changed. */
export const onStore = <A, E, R>(
  layer: Layer.Layer<A, E, Store.Store | R>,
  change: (driver: StoreDriver.Service) => Effect.Effect<StoreDriver.Service>
) =>
  Layer.provide(
    layer,
    Layer.effect(
      Store.Store,
      Effect.gen(function*() {
        return Store.make(yield* change(yield* StoreDriver.StoreDriver))
      })
    )
  )

/** Keeps a part of the App's size, owned by it. One that an earlier life of the App owns is left to the collector. */
export const keepPart = Effect.fnUntraced(function*(request: Request.Request) {
  const app = yield* Store.get(App, request)
  const part = yield* Effect.catchReason(Store.get(Part, request), "StoreError", "NotFound", () => Effect.undefined)
  if (part === undefined) {
    yield* Store.create(Part, yield* Owner.setController({ metadata: { name: request.name }, spec: app.spec }, app))
  } else {
    const owned = yield* Owner.setController(part, app)
    if (part.spec.size !== app.spec.size) yield* Store.update(Part, { ...owned, spec: app.spec })
  }
  return app
})

export const hasPart = (app: App, world: Sim.World) => world.get(Part, app.metadata.name)?.spec.size === app.spec.size

export const create = (name: string, size = 1) => Sim.create(App, { metadata: { name }, spec: { size } })
export const resize = (name: string, size: number) => Sim.edit(App, { name }, () => ({ spec: { size } }))
export const remove = (name: string) => Sim.remove(App, { name })

/** Somebody's part, of the App of that label. */
export const createPart = (name: string, app: string) =>
  Sim.act(
    `create Part ${name} of ${app}`,
    Store.create(Part, { metadata: { name, labels: { app } }, spec: { size: 1 } })
  )

export interface Note {
  readonly what: string
  readonly atMillis: number
}

/** Writes down when something happened. */
export class Probe extends Context.Service<Probe, {
  readonly note: (what: string) => Effect.Effect<void>
}>()("engine/Probe") {}

export const probe = Sim.external(Probe, () => {
  const notes: Array<Note> = []
  return {
    notes,
    note: (what: string) => Effect.map(Clock.currentTimeMillis, (atMillis) => void notes.push({ what, atMillis }))
  }
})
