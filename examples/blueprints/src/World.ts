/**
 * What instances do to the world: all reads and writes of their objects, of any kind, go through here.
 */
import * as Effect from "effect/Effect"
import { type Resource, type Selector, Store, type StoreError } from "setpoint"
import type { Wanted } from "./instanceRules.ts"
import { type AnyObject, Kinds } from "./Kinds.ts"
import * as Names from "./names.ts"

export interface Place {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string | undefined
}

/** The object, or `undefined` where there is none. */
export const find = Effect.fnUntraced(function*(place: Place, name: string) {
  const kind = yield* Effect.flatMap(Kinds, (kinds) => kinds.of(place.apiVersion, place.kind))
  return yield* Effect.catchReason(
    Store.get(kind, { name, namespace: place.namespace }),
    "StoreError",
    "NotFound",
    () => Effect.undefined
  )
})

export const list = Effect.fnUntraced(function*(place: Place, selector: Selector.Selector | string) {
  const kind = yield* Effect.flatMap(Kinds, (kinds) => kinds.of(place.apiVersion, place.kind))
  const found = yield* Store.list(kind, { namespace: place.namespace, selector })
  return found.items
})

/** Makes the object as wanted: fields that were set before and are no longer wanted go; those of others stay. */
export const apply = Effect.fnUntraced(function*(wanted: Wanted) {
  const kind = yield* Effect.flatMap(Kinds, (kinds) => kinds.of(wanted.apiVersion, wanted.kind))
  const metadata: Resource.MetadataInput = wanted.object["metadata"] as object
  return yield* Store.apply(
    kind,
    { ...wanted.object, metadata: { ...metadata, name: wanted.name } },
    { manager: Names.manager, force: true }
  )
})

/** Asks for the deletion of this life of the object. `true`: it is gone, now or before. */
export const remove = Effect.fnUntraced(function*(object: AnyObject) {
  const kind = yield* Effect.flatMap(Kinds, (kinds) => kinds.of(object.apiVersion, object.kind))
  return yield* Store.delete(kind, object).pipe(
    Effect.map(({ removed }) => removed),
    Effect.catchReason("StoreError", "NotFound", () => Effect.succeed(true))
  )
})

export type Error = StoreError.StoreError
