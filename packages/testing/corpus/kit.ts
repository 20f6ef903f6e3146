/** What the shapes of the corpus share: kinds of one integer, and the Layer around a reconciler. */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Controller, Kind, type Reconciler, type StoreError } from "setpoint"

export const kind = <const Name extends string>(name: Name) =>
  Kind.make({
    group: "example.dev",
    version: "v1",
    kind: name,
    spec: Schema.Struct({ size: Schema.Int }),
    status: Schema.Struct({ phase: Schema.String })
  })

export const App = kind("App")
export type App = Kind.Resource<typeof App>

export const layerOf = <R>(reconciler: Reconciler.Reconciler<R>) =>
  Controller.layerFor(reconciler).pipe(Layer.provide(Controller.layer()))

/** The object, or `undefined` where there is none. */
export const found = <A, R>(read: Effect.Effect<A, StoreError.StoreError, R>) =>
  Effect.catchReason(read, "StoreError", "NotFound", () => Effect.undefined)

export const createApp = (size: number, name = "a") => Sim.create(App, { metadata: { name }, spec: { size } })

export const resizeApp = (size: number, name = "a") => Sim.edit(App, { name }, () => ({ spec: { size } }))
