/** A member comes back to the volume of an earlier one; it is removed once all are ready, which it prevents. pravega/zookeeper-operator#517 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Controller, Kind, Outcome, Reconciler, Resource, Store } from "setpoint"
import { App, createApp, found, kind, resizeApp } from "./kit.ts"

const Member = kind("Member")
const finalizers = ["example.dev/node"]
/** What is on it belongs to one member. */
const Volume = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Volume",
  spec: Schema.Struct({ index: Schema.Int, of: Schema.String })
})

const apps = Reconciler.make(App, {
  watches: [Reconciler.watch(Member, () => [{ name: "a" }])],
  reconcile: Effect.fnUntraced(function*({ name }) {
    const { spec } = yield* Store.get(App, { name })
    const members = (yield* Store.list(Member)).items
    for (const surplus of members.filter((member) => member.spec.size >= spec.size)) {
      yield* Store.delete(Member, surplus)
    }
    for (let index = 0; index < spec.size; index++) {
      const metadata = { name: `${name}-${index}`, finalizers }
      if (members.some((member) => member.metadata.name === metadata.name)) continue
      yield* Store.create(Member, { metadata, spec: { size: index } })
    }
    const ready = members.filter(({ status }) => status?.phase === "Ready")
    if (ready.length !== spec.size || members.length !== spec.size) return
    const volumes = (yield* Store.list(Volume)).items
    for (const unused of volumes.filter(({ spec: { index } }) => index >= spec.size)) {
      yield* Store.delete(Volume, unused)
    }
  })
})

/** One that ends takes 5 s. */
const members = Reconciler.make(Member, {
  watches: [Reconciler.watch(Volume, ({ metadata }) => [{ name: metadata.name }])],
  reconcile: Effect.fnUntraced(function*({ name }) {
    const member = yield* Store.get(Member, { name })
    const { uid } = member.metadata
    if (Resource.isMarkedForDeletion(member)) {
      if (member.status?.phase === "Ends") {
        return void (yield* Store.update(Member, { ...member, metadata: { ...member.metadata, finalizers: [] } }))
      }
      yield* Store.updateStatus(Member, member, { phase: "Ends" })
      return Outcome.requeueAfter("5 seconds")
    }
    const volume = yield* found(Store.get(Volume, { name }))
    if (volume === undefined) {
      yield* Store.create(Volume, { metadata: { name }, spec: { index: member.spec.size, of: uid } })
    }
    const isOurs = volume === undefined || volume.spec.of === uid
    yield* Store.updateStatus(Member, member, { phase: isOurs ? "Ready" : "ForeignData" })
  })
})

export const options: Sim.Options<App> = {
  controllers: Layer.mergeAll(Controller.layerFor(apps), Controller.layerFor(members)).pipe(
    Layer.provide(Controller.layer())
  ),
  workload: Sim.script([createApp(3), resizeApp(2), Sim.soon(resizeApp(3))]),
  matches: ({ spec }, world) =>
    world.list(Member).filter(({ status }) => status?.phase === "Ready").length === spec.size
}
