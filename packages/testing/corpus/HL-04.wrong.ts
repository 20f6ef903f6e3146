/** A field that the server fills in, with a fresh value, is cleared by each pass. pravega/zookeeper-operator, in Sieve (OSDI'22), 5.2 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Kind, Owner, Reconciler, Store } from "setpoint"
import { App, createApp, layerOf } from "./kit.ts"

const Service = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Service",
  spec: Schema.Struct({ size: Schema.Int, port: Schema.optionalKey(Schema.Int) })
})

const apps = Reconciler.make(App, {
  owns: [Service],
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const owned = yield* Owner.setController({ metadata: { name }, spec: { size: app.spec.size } }, app)
    yield* Store.ensure(Service, { name }, () => owned)
  })
})

/** Of 32,768 ports one that is free. */
const server = Sim.admission(Service, ({ spec, ...service }, { now }) => ({
  ...service,
  spec: { port: 32_768 + now % 32_768, ...spec }
}))

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1)]),
  admit: [server],
  matches: ({ metadata, spec }, world) => world.get(Service, metadata.name)?.spec.size === spec.size
}
