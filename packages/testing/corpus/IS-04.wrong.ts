/** Two certificates are requested together; the guard is a secret that another controller makes. K8SPSMDB-579, K8SPXC-897 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, found, kind, layerOf } from "./kit.ts"

const Certificate = kind("Certificate")
const Secret = kind("Secret")

const issuer = Sim.actor(
  "issuer",
  Certificate,
  ({ metadata: { name }, spec }, { type }) =>
    type === "created" ? Store.create(Secret, { metadata: { name }, spec }) : Effect.void
)

const apps = Reconciler.make(App, {
  watches: [Reconciler.watch(Secret, ({ metadata }) => [{ name: metadata.name.slice(0, 1) }])],
  reconcile: Effect.fnUntraced(function*({ name }) {
    const { spec } = yield* Store.get(App, { name })
    if ((yield* found(Store.get(Secret, { name: `${name}-tls` }))) === undefined) {
      yield* Store.ensure(Certificate, { name: `${name}-tls` }, () => ({ metadata: {}, spec }))
      yield* Store.ensure(Certificate, { name: `${name}-internal` }, () => ({ metadata: {}, spec }))
    }
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  actors: [issuer],
  workload: Sim.script([createApp(1)]),
  matches: ({ metadata: { name } }, world) =>
    world.get(Secret, `${name}-tls`) !== undefined && world.get(Secret, `${name}-internal`) !== undefined
}
