/**
 * What instances do to the world: all reads and writes of their objects, of any kind, go through here.
 */
import * as Effect from "effect/Effect"
import { type Kind, type Resource, type Selector, Store } from "setpoint"
import type { Wanted } from "./instanceRules.ts"
import { type AnyObject, Kinds } from "./Kinds.ts"
import * as Names from "./names.ts"

export interface Place {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string | undefined
}

const kindOf = (place: Place) => Effect.flatMap(Kinds, (kinds) => kinds.of(place.apiVersion, place.kind))

/** The object of a known kind, or `undefined` where there is none. */
export const find = <A extends Resource.Any>(kind: Kind.Kind<A>, name: string, namespace?: string) =>
  Effect.catchReason(Store.get(kind, { name, namespace }), "StoreError", "NotFound", () => Effect.undefined)

export const findIn = (place: Place, name: string) =>
  Effect.flatMap(kindOf(place), (kind) => find(kind, name, place.namespace))

export const list = (place: Place, selector: Selector.Selector | string) =>
  Effect.map(
    Effect.flatMap(kindOf(place), (kind) => Store.list(kind, { namespace: place.namespace, selector })),
    ({ items }) => items
  )

/** How many objects of a kind the store has now: that there are none is not to be read off a cache, which may be behind. */
export const count = <A extends Resource.Any>(kind: Kind.Kind<A>) =>
  Effect.map(
    Store.list(kind, { consistency: "mostRecent" }),
    ({ items, undecodable }) => items.length + undecodable.length
  )

export const countIn = (place: Place) => Effect.flatMap(kindOf(place), count)

/** Makes the object as wanted: fields that were set before and are no longer wanted go; those of others stay. */
export const apply = Effect.fnUntraced(function*(wanted: Wanted) {
  const kind = yield* kindOf(wanted)
  const metadata: Resource.MetadataInput = wanted.object["metadata"] as object
  return yield* Store.apply(
    kind,
    { ...wanted.object, metadata: { ...metadata, name: wanted.name } },
    { manager: Names.manager, force: true }
  )
})

/** Asks for the deletion of this life of the object. `true`: it is gone, now or before. */
export const remove = Effect.fnUntraced(function*(object: AnyObject) {
  const kind = yield* kindOf(object)
  return yield* Store.delete(kind, object).pipe(
    Effect.map(({ removed }) => removed),
    Effect.catchReason("StoreError", "NotFound", () => Effect.succeed(true))
  )
})
