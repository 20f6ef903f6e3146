/** A member is not made again until all others are ready, and these wait for it. kubernetes/kubernetes#38418 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Controller, Outcome, Owner, Reconciler, Resource, Store } from "setpoint"
import { App, createApp, found, kind } from "./kit.ts"

const Member = kind("Member")
const finalizers = ["example.dev/node"]

const apps = Reconciler.make(App, {
  owns: [Member],
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const members = (yield* Store.list(Member)).items
    for (let index = 0; index < app.spec.size; index++) {
      const metadata = { name: `${name}-${index}`, finalizers }
      const member = members.find((member) => member.metadata.name === metadata.name)
      if (member !== undefined && member.status?.phase !== "Ready") return // those behind wait, those before never
      if (member !== undefined) continue
      return void (yield* Store.create(Member, yield* Owner.setController({ metadata, spec: { size: index } }, app)))
    }
  })
})

const neighbour = (name: string, by: number) => name.replace(/\d+$/, (index) => String(Number(index) + by))

/** A member joins by the one before it: without that one it is not ready. One that ends takes 5 s. */
const members = Reconciler.make(Member, {
  watches: [Reconciler.watch(Member, ({ metadata: { name } }) => [{ name: neighbour(name, 1) }])],
  reconcile: Effect.fnUntraced(function*(request) {
    const member = yield* Store.get(Member, request)
    if (Resource.isMarkedForDeletion(member)) {
      if (member.status?.phase === "Ends") {
        return void (yield* Store.update(Member, { ...member, metadata: { ...member.metadata, finalizers: [] } }))
      }
      yield* Store.updateStatus(Member, member, { phase: "Ends" })
      return Outcome.requeueAfter("5 seconds")
    }
    const before = yield* found(Store.get(Member, { name: neighbour(request.name, -1) }))
    const isJoined = member.spec.size === 0 || before?.status?.phase === "Ready"
    yield* Store.updateStatus(Member, member, { phase: isJoined ? "Ready" : "Alone" })
  })
})

export const options: Sim.Options<App> = {
  controllers: Layer.mergeAll(Controller.layerFor(apps), Controller.layerFor(members)).pipe(
    Layer.provide(Controller.layer())
  ),
  workload: Sim.script([createApp(2), Sim.act("nobody does anything", Effect.void)]),
  faults: [...Sim.defaultFaults, "delete"],
  matches: ({ spec }, world) =>
    world.list(Member).filter(({ status }) => status?.phase === "Ready").length === spec.size
}
