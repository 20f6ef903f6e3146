/** The whole example on a store in memory, under the test's clock. */
import type * as Manifest from "@setpoint/example-manifests"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { TestClock } from "effect/testing"
import { Controller, MemoryStore, type Resource, Store } from "setpoint"
import * as Blueprints from "../../src/Blueprints.ts"
import * as Cluster from "../../src/Cluster.ts"
import * as Documents from "../../src/Documents.ts"
import { Kinds } from "../../src/Kinds.ts"
import * as Inputs from "./inputs.ts"

export const layer = Cluster.layer("2 seconds").pipe(
  Layer.provideMerge(Blueprints.layer),
  Layer.provideMerge(Controller.layer({ drain: 0 })),
  Layer.provideMerge(MemoryStore.layer)
)

/** Lets everything that is due within the time happen. */
export const settle = TestClock.adjust("10 seconds")

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
