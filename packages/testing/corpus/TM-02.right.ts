/** The newest version is told by its time of creation; a clock that was set back makes it the oldest. kubernetes/kubernetes PR#40838 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, found, kind, layerOf, resizeApp } from "./kit.ts"

const Version = kind("Version")
const nameOf = (size: number) => `v-${size}`

/** The size of a version is the generation that it was made for. The last is kept. */
const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const wanted = { name: nameOf(app.spec.size) }
    const version = yield* found(Store.get(Version, wanted))
    if (version === undefined) {
      yield* Store.create(Version, { metadata: wanted, spec: { size: app.metadata.generation ?? 0 } })
    }
    const versions = (yield* Store.list(Version)).items
    const byAge = versions.toSorted((a, b) => a.spec.size - b.spec.size)
    for (const old of byAge.slice(0, -1)) yield* Store.delete(Version, old)
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1), resizeApp(2), resizeApp(3)]),
  matches: ({ spec }, world) => world.get(Version, nameOf(spec.size)) !== undefined,
  never: {
    "the version in use is deleted": (world, { object, type }) =>
      type === "removed" && object.kind === "Version" &&
      world.list(App).some(({ spec }) => object.metadata.name === nameOf(spec.size))
  }
}
