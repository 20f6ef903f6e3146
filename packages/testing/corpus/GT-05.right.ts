/** An optional part is read without a look whether it is there, once its feature was switched off. K8SPSMDB-434 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Kind, Reconciler, Store } from "setpoint"
import { found, kind, layerOf } from "./kit.ts"

const Backup = kind("Backup")
const Database = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Database",
  spec: Schema.Struct({ backup: Schema.optionalKey(Schema.Struct({ keep: Schema.Int })) })
})
type Database = Kind.Resource<typeof Database>

const databases = Reconciler.make(Database, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const { spec } = yield* Store.get(Database, { name })
    const backup = yield* found(Store.get(Backup, { name }))
    if (spec.backup === undefined) {
      if (backup !== undefined) yield* Store.delete(Backup, backup)
      return
    }
    const { keep } = spec.backup
    yield* Store.ensure(Backup, { name }, () => ({ metadata: { name }, spec: { size: keep } }))
  })
})

const edit = (spec: Database["spec"]) => Sim.edit(Database, { name: "a" }, () => ({ spec }))

export const options: Sim.Options<Database> = {
  controllers: layerOf(databases),
  workload: Sim.script([
    Sim.create(Database, { metadata: { name: "a" }, spec: { backup: { keep: 3 } } }),
    edit({ backup: { keep: 5 } }),
    edit({})
  ]),
  matches: ({ spec }, world) => world.get(Backup, "a")?.spec.size === spec.backup?.keep
}
