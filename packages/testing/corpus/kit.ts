/** What the shapes of the corpus share: kinds of one integer, and the Layer around a reconciler. */
import { Sim } from "@setpoint/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Controller, Informer, Kind, Reconciler, type Resource, Store, type StoreError } from "setpoint"

export const kind = <const Name extends string>(name: Name) =>
  Kind.make({
    group: "example.dev",
    version: "v1",
    kind: name,
    spec: Schema.Struct({ size: Schema.Int }),
    status: Schema.Struct({ phase: Schema.String, observedGeneration: Schema.optionalKey(Schema.Int) })
  })

export const App = kind("App")
export type App = Kind.Resource<typeof App>

export const layerOf = <R>(reconciler: Reconciler.Reconciler<R>) =>
  Controller.layerFor(reconciler).pipe(Layer.provide(Controller.layer()))

/** With a cache beside the engine's: nobody waits until it is synced (E4), or has shown what a key wrote (E10). */
export const layerWithCache = <A extends Resource.Any, R>(
  kind: Kind.Kind<A>,
  reconciler: (cache: Informer.Informer) => Reconciler.Reconciler<R>
) => {
  const cache = Effect.flatMap(Store.Store, ({ driver }) => Informer.make(driver, kind.address))
  return Layer.unwrap(Effect.map(cache, (cache) => layerOf(reconciler(cache))))
}

/** A pass at each change that a cache shows. */
export const changesOf = (cache: Informer.Informer, name: string) =>
  Reconciler.fromStream("cache", Stream.map(Informer.changes(cache), () => ({ name })))

/** The object, or `undefined` where there is none. */
export const found = <A, R>(read: Effect.Effect<A, StoreError.StoreError, R>) =>
  Effect.catchReason(read, "StoreError", "NotFound", () => Effect.undefined)

export const createApp = (size: number, finalizers: ReadonlyArray<string> = []) =>
  Sim.create(App, { metadata: { name: "a", finalizers }, spec: { size } })

export const resizeApp = (size: number) => Sim.edit(App, { name: "a" }, () => ({ spec: { size } }))

export const removeApp = Sim.remove(App, { name: "a" })

/** A world outside: things have a tag, and an id that it picks. */
export class Cloud extends Context.Service<Cloud, {
  readonly make: (tag: string) => Effect.Effect<string, CloudError>
  readonly find: (tag: string) => Effect.Effect<string | undefined, CloudError>
  /** Of what is not there: fails. */
  readonly drop: (tag: string) => Effect.Effect<void, CloudError>
}>()("corpus/Cloud") {}

export class CloudError extends Schema.TaggedError<CloudError>()("CloudError", {
  why: Schema.Literals(["no answer", "not found"])
}) {}

/** Made anew for each shape: a fake belongs to one run. */
export const fakeCloud = () =>
  Sim.external(Cloud, () => {
    const things: Array<{ readonly id: string; readonly tag: string }> = []
    const indexOf = (tag: string) => things.findIndex((thing) => thing.tag === tag)
    let made = 0
    return {
      things,
      make: (tag: string) =>
        Effect.sync(() => {
          const id = `id-${++made}`
          things.push({ id, tag })
          return id
        }),
      find: (tag: string) => Effect.sync(() => things[indexOf(tag)]?.id),
      drop: (tag: string) =>
        Effect.suspend(() => {
          const index = indexOf(tag)
          if (index === -1) return Effect.fail(new CloudError({ why: "not found" }))
          things.splice(index, 1)
          return Effect.void
        })
    }
  }, { fails: () => new CloudError({ why: "no answer" }) })

/** What was removed, where it is of the kind. */
export const removedOf = <A extends Resource.Any>(kind: Kind.Kind<A>, { object, type }: Sim.Change): A | undefined => {
  if (type !== "removed" || object.kind !== kind.address.kind) return undefined
  const decoded = kind.decode(object)
  return decoded._tag === "Success" ? decoded.success : undefined
}
