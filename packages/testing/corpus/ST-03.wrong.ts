/** Every set that a list shows is brought up to date, also one that is gone: it comes back. instaclustr/cassandra-operator#404 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Owner, Reconciler, Store } from "setpoint"
import { App, createApp, kind, layerOf, removeApp } from "./kit.ts"

const Set = kind("Set")

/** The sets of a cluster are found by its label; racks are only ever added, the first is named by the size. */
const apps = Reconciler.make(App, {
  owns: [Set],
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const labels = { cluster: name }
    const { items } = yield* Store.list(Set, { selector: `cluster=${name}` })
    const racks = [`${name}-rack-${app.spec.size}`, ...items.map(({ metadata }) => metadata.name)]
    for (const rack of racks) {
      const set = yield* Owner.setController({ metadata: { name: rack, labels }, spec: app.spec }, app)
      yield* Store.ensure(Set, { name: rack }, () => set)
    }
  })
})

/** Without `matches`: the end is compared with that of the plain run. A process that stands still has an old view too. */
export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1), removeApp, createApp(2)]),
  faults: [...Sim.defaultFaults, "old-kind"]
}
