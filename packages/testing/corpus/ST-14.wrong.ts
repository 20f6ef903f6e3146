/** What was written is remembered until a cache shows it; somebody deletes it first, and it is remembered for ever. kubernetes/kubernetes#140063 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Owner, Reconciler, Revision, Store } from "setpoint"
import { App, createApp, found, kind, layerOf } from "./kit.ts"

const Pod = kind("Pod")
type Pod = Effect.Success<ReturnType<typeof createPod>>

const createPod = Effect.fnUntraced(function*(app: App) {
  const { name } = app.metadata
  return yield* Store.create(Pod, yield* Owner.setController({ metadata: { name }, spec: app.spec }, app))
})

/** The newer of what the cache shows and what was written. */
const apps = (written: Map<string, Pod>) =>
  Reconciler.make(App, {
    owns: [Pod],
    reconcile: Effect.fnUntraced(function*({ name }) {
      const app = yield* Store.get(App, { name })
      const cached = yield* found(Store.get(Pod, { name }))
      const own = written.get(name)
      const isSeen = cached !== undefined && own !== undefined &&
        Revision.compare(own.metadata.resourceVersion, cached.metadata.resourceVersion) !== "after"
      if (isSeen) written.delete(name)
      const pod = isSeen ? cached : own ?? cached
      if (pod === undefined) written.set(name, yield* createPod(app))
    })
  })

export const options: Sim.Options<App> = {
  controllers: Layer.unwrap(Effect.sync(() => layerOf(apps(new Map())))),
  workload: Sim.script([
    createApp(1),
    Sim.soon(Sim.act("delete Pod", Store.deleteUnconditionally(Pod, { name: "a" })), "1 second")
  ]),
  matches: ({ metadata }, world) => world.get(Pod, metadata.name) !== undefined
}
