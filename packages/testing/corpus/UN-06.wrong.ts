/** A network waits for those who use it, and is not told when the last one goes. flux-iac/tofu-controller#1293 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Resource, Store } from "setpoint"
import { App, createApp, kind, layerOf, removeApp } from "./kit.ts"

/** Uses the App of the name that its own begins with. */
const Database = kind("Database")

const finalizer = (user: string) => `example.dev/used-by-${user}`

const apps = Reconciler.make(App, {
  watches: [Reconciler.watch(Database, ({ metadata }) => [{ name: metadata.name.slice(0, 1) }], {
    predicate: ({ type }) => type !== "Deleted"
  })],
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const { items } = yield* Store.list(Database)
    const users = items.map(({ metadata }) => finalizer(metadata.name))
    const finalizers = Resource.isMarkedForDeletion(app)
      ? (app.metadata.finalizers ?? []).filter((finalizer) => users.includes(finalizer))
      : users
    yield* Store.update(App, { ...app, metadata: { ...app.metadata, finalizers } })
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([
    createApp(1),
    Sim.act("create Database", Store.create(Database, { metadata: { name: "a-db" }, spec: { size: 1 } })),
    removeApp,
    Sim.act("delete Database", Store.deleteUnconditionally(Database, { name: "a-db" }))
  ])
}
