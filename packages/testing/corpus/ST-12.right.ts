/** The cached object is edited in place, and later passes compare with the edited copy. kubeflow/mpi-operator#819 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, layerOf } from "./kit.ts"

const defaulted = 3

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    if (app.spec.size === 0) yield* Store.update(App, { ...app, spec: { size: defaulted } })
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(0)]),
  matches: (app) => app.spec.size === defaulted
}
