import { Effect, Layer, Schema } from "effect"
import { Controller, Kind, Owner, Reconciler, Store } from "setpoint"

const kind = <const Name extends string>(kind: Name) =>
  Kind.make({ group: "example.dev", version: "v1", kind, spec: Schema.Struct({ gigabytes: Schema.Int }) })

export const Database = kind("Database")
export const Claim = kind("Claim") // a volume: it can grow, and never shrink
export const Servers = kind("Servers") // what runs on it: it cannot be edited, only made anew

const databases = Reconciler.make(Database, {
  owns: [Claim, Servers],
  reconcile: Effect.fn("Database.reconcile")(function*({ name }) {
    const database = yield* Store.get(Database, { name })
    const wanted = yield* Owner.setController({ metadata: { name }, spec: database.spec }, database)
    const { object: claim } = yield* Store.ensure(Claim, { name }, (current) => current ?? wanted)
    const { object: servers } = yield* Store.ensure(Servers, { name }, (current) => current ?? wanted)

    if (claim.spec.gigabytes < database.spec.gigabytes) yield* Store.update(Claim, { ...claim, spec: database.spec })
    if (servers.spec.gigabytes < database.spec.gigabytes) {
      yield* Store.delete(Servers, servers)
      yield* Store.create(Servers, wanted)
    }
  })
})

export const layer = Controller.layerFor(databases).pipe(Layer.provide(Controller.layer()))
