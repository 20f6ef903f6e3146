/** A node is retired in one pass and deleted in the next; no branch handles a retired one that is wanted again. instaclustr/cassandra-operator#410 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Outcome, Reconciler, Store } from "setpoint"
import { App, createApp, found, kind, layerOf, resizeApp } from "./kit.ts"

const Node = kind("Node")
const retired = { size: 0 }

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const { spec } = yield* Store.get(App, { name })
    for (let index = 0; index < 2; index++) {
      const key = { name: `${name}-${index}` }
      const node = yield* found(Store.get(Node, key))
      const isWanted = index < spec.size
      if (isWanted && node === undefined) yield* Store.create(Node, { metadata: key, spec: { size: 1 } })
      if (isWanted || node === undefined) continue
      if (node.spec.size === 0) {
        yield* Store.delete(Node, node)
        continue
      }
      yield* Store.update(Node, { ...node, spec: retired })
      return Outcome.requeue
    }
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(2), resizeApp(1), resizeApp(2)]),
  matches: ({ spec }, world) => world.list(Node).filter((node) => node.spec.size > 0).length === spec.size
}
