/** Two secrets are made together, and both are needed. K8SPSMDB-578, K8SPXC-896 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, found, kind, layerOf } from "./kit.ts"

const Secret = kind("Secret")

const secret = (name: string) => Store.create(Secret, { metadata: { name }, spec: { size: 0 } })

const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    yield* Store.get(App, { name })
    for (const each of [`${name}-tls`, `${name}-internal`]) {
      if ((yield* found(Store.get(Secret, { name: each }))) === undefined) yield* secret(each)
    }
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1)]),
  matches: ({ metadata: { name } }, world) =>
    world.get(Secret, `${name}-tls`) !== undefined && world.get(Secret, `${name}-internal`) !== undefined
}
