/** The cloud picks the id; where it is not stored, the next pass makes a second, and the first is lost. crossplane-runtime PR#279 */
import { Sim } from "@setpoint/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Reconciler, Resource, Store } from "setpoint"
import { App, createApp, layerOf, removeApp } from "./kit.ts"

/** Of two launches with one token the second gives what the first made. */
class Machines extends Context.Service<Machines, {
  readonly launch: (token: string) => Effect.Effect<string>
  readonly terminate: (id: string) => Effect.Effect<void>
}>()("corpus/Machines") {}

const machines = Sim.external(Machines, () => {
  const running = new Map<string, string>()
  let made = 0
  const launched = (token: string) => {
    const known = [...running].find(([, other]) => other === token)
    const id = known?.[0] ?? `i-${++made}`
    running.set(id, token)
    return id
  }
  return {
    running,
    launch: (token: string) => Effect.sync(() => launched(token)),
    terminate: (id: string) => Effect.sync(() => void running.delete(id))
  }
})

const finalizers = ["example.dev/machine"]

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const outside = yield* Machines
    if (Resource.isMarkedForDeletion(app)) {
      const id = app.status?.phase ?? (yield* outside.launch(app.metadata.uid)) // the same as a launch that was forgotten
      yield* outside.terminate(id)
      return void (yield* Store.update(App, { ...app, metadata: { ...app.metadata, finalizers: [] } }))
    }
    if (app.status !== undefined) return
    yield* Store.updateStatus(App, app, { phase: yield* outside.launch(app.metadata.uid) })
  })
})

export const options: Sim.Options<App, Machines> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1, finalizers), removeApp]),
  external: [machines],
  matches: (app) => app.status !== undefined,
  atRest: {
    "no machine runs that no App knows": (world) => {
      const known = new Set(world.list(App).map(({ status }) => status?.phase))
      return [...world.external(machines).running.keys()].every((id) => known.has(id))
    }
  }
}
