/** The volume of a deleted object is deleted by name; an old view shows the mark of an earlier life. pravega/zookeeper-operator#312 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Kind, Reconciler, Resource, Store } from "setpoint"
import { App, found, layerOf } from "./kit.ts"

const Volume = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Volume",
  spec: Schema.Struct({ owner: Schema.String })
})

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const volume = yield* found(Store.latest(Volume, { name }))
    if (Resource.isMarkedForDeletion(app)) {
      if (volume !== undefined) yield* Store.deleteUnconditionally(Volume, { name })
      return void (yield* Store.update(App, { ...app, metadata: { ...app.metadata, finalizers: [] } }))
    }
    if (volume === undefined) {
      yield* Store.create(Volume, { metadata: { name }, spec: { owner: app.metadata.uid } })
    }
  })
})

const finalizers = ["example.dev/volume"]
const create = Sim.create(App, { metadata: { name: "a", finalizers }, spec: { size: 1 } })

export const guarded: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([create, Sim.remove(App, { name: "a" }), create]),
  matches: (app, world) => world.get(Volume, app.metadata.name)?.spec.owner === app.metadata.uid,
  never: {
    "the volume of a live App was deleted": (world, { object, type }) => {
      const app = world.get(App, object.metadata.name)
      return type === "removed" && object.kind === "Volume" && app !== undefined &&
        !Resource.isMarkedForDeletion(app) &&
        Volume.decode(object).pipe((volume) =>
          volume._tag === "Success" && volume.success.spec.owner === app.metadata.uid
        )
    }
  }
}

export const options: Sim.Options<App> = { ...guarded, faults: [...Sim.defaultFaults, "old"] }
