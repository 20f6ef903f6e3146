/** The agent of a node comes back to an old view, and starts a pod that has moved. kubernetes/kubernetes#59848 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Resource, Store } from "setpoint"
import { App, Cloud, createApp, fakeCloud, layerOf, removeApp } from "./kit.ts"

/** What runs: things with the tag `node/pod`. */
const cloud = fakeCloud()

/** An App is a pod here, and its size the node that it is bound to: this is the agent of node 1. */
const agent = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const pod = yield* Store.get(App, { name })
    if (pod.spec.size !== 1) return
    const runtime = yield* Cloud
    const running = yield* runtime.find(`1/${name}`)
    if (!Resource.isMarkedForDeletion(pod)) {
      const { metadata: { uid } } = yield* Store.latest(App, { name })
      if (running === undefined && uid === pod.metadata.uid) yield* runtime.make(`1/${name}`)
      return
    }
    if (running !== undefined) yield* runtime.drop(`1/${name}`)
    yield* Store.update(App, { ...pod, metadata: { ...pod.metadata, finalizers: [] } })
  })
})

const otherAgent = Sim.actor("node2", App, ({ metadata: { name }, spec }, { type }, world) =>
  Effect.sync(() => {
    if (spec.size === 2 && type === "created") world.external(cloud).things.push({ id: name, tag: `2/${name}` })
  }))

export const options: Sim.Options<App, Cloud> = {
  controllers: layerOf(agent),
  external: [cloud],
  faults: [...Sim.defaultFaults, "old"],
  actors: [otherAgent],
  workload: Sim.script([createApp(1, ["example.dev/agent"]), removeApp, createApp(2)]),
  matches: ({ metadata, spec }, world) =>
    world.external(cloud).things.some(({ tag }) => tag === `${spec.size}/${metadata.name}`),
  always: { "a pod runs once": (world) => world.external(cloud).things.length <= 1 }
}
