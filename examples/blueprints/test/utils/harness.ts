/** The whole example on a store in memory, under the test's clock. */
import type * as Manifest from "@setpoint/example-manifests"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { TestClock } from "effect/testing"
import { Controller, type Kind, MemoryStore, type Resource, Store, type StoreDriver, StoreError } from "setpoint"
import * as Blueprints from "../../src/Blueprints.ts"
import * as Cluster from "../../src/Cluster.ts"
import * as Documents from "../../src/Documents.ts"
import { Kinds } from "../../src/Kinds.ts"
import * as Inputs from "./inputs.ts"

export const layerOn = <E, R>(store: Layer.Layer<Store.Store, E, R>) =>
  Cluster.layer("2 seconds").pipe(
    Layer.provideMerge(Blueprints.layer),
    Layer.provideMerge(Controller.layer({ drain: 0 })),
    Layer.provideMerge(store)
  )

export const layer = layerOn(MemoryStore.layer)

/** A store before whose writes something else happens: somebody is faster, or the store is not available. */
export const layerBefore = (
  before: (
    driver: StoreDriver.Service,
    address: Kind.Address,
    write: StoreDriver.Write
  ) => Effect.Effect<unknown, StoreError.StoreError>
) =>
  layerOn(Layer.effect(
    Store.Store,
    Effect.map(MemoryStore.make(), (driver) =>
      Store.make({
        ...driver,
        write: (address, write, options) =>
          Effect.andThen(before(driver, address, write), driver.write(address, write, options))
      }))
  ))

export const unavailable = (kind: string) =>
  Effect.fail(StoreError.make(
    { operation: "write", kind, key: { namespace: "", name: "" } },
    new StoreError.Unavailable({ why: "the test says so" })
  ))

/** Lets everything that is due within the time happen. */
export const settle = TestClock.adjust("10 seconds")

/** Writes a document, as a person would who overrules others, and waits for nothing. */
export const write = (manifest: Manifest.Manifest) => Documents.apply(manifest)

export const apply = Effect.fnUntraced(function*(manifests: ReadonlyArray<Manifest.Manifest>, namespace?: string) {
  const objects = yield* Effect.forEach(manifests, (manifest) => Documents.apply(manifest, namespace))
  yield* settle
  return objects
})

export const applyText = (text: string, namespace?: string) => apply(Inputs.readText("test.yaml", text), namespace)

const kindOf = (apiVersion: string, kind: string) => Effect.flatMap(Kinds, (kinds) => kinds.of(apiVersion, kind))

export const get = Effect.fnUntraced(function*(apiVersion: string, kindName: string, name: string, namespace?: string) {
  const kind = yield* kindOf(apiVersion, kindName)
  const found = yield* Effect.catchReason(
    Store.latest(kind, { name, namespace: kind.address.scope === "Cluster" ? "" : namespace }),
    "StoreError",
    "NotFound",
    () => Effect.undefined
  )
  return found as Resource.JsonObject | undefined
})

export const names = Effect.fnUntraced(function*(apiVersion: string, kindName: string, namespace?: string) {
  const kind = yield* kindOf(apiVersion, kindName)
  const { items } = yield* Store.list(kind, { namespace })
  return items.map(({ metadata }) => metadata.name)
})

/** Hears how each pass ended, by the name of its registration: `Shop.example.dev: Done`. */
export const observed = () => {
  const ends: Array<string> = []
  const layer = Layer.succeed(Controller.Observer, {
    passStarted: () => {},
    passEnded: (pass, end) => void ends.push(`${pass.registration}: ${end}`)
  })
  return { ends, layer }
}

/** Changes an object as another person would. */
export const patch = Effect.fnUntraced(
  function*(apiVersion: string, kindName: string, name: string, merge: Resource.Json, subresource?: "status") {
    const kind = yield* kindOf(apiVersion, kindName)
    yield* Store.patchUnconditionally(kind, { name }, { merge, subresource })
    yield* settle
  }
)

export const remove = Effect.fnUntraced(
  function*(apiVersion: string, kindName: string, name: string, namespace?: string) {
    const kind = yield* kindOf(apiVersion, kindName)
    yield* Store.deleteUnconditionally(kind, {
      name,
      namespace: kind.address.scope === "Cluster" ? "" : namespace
    })
    yield* settle
  }
)
