/** SqliteStore under 1, 16 and 256 writers, with both durabilities. */
import { SqliteStore } from "@setpoint/sql"
import * as Effect from "effect/Effect"
import * as Store from "setpoint/Store"
import * as StoreDriver from "setpoint/StoreDriver"
import type { Case, Subject } from "../bench.ts"
import { inTemporaryFolder } from "../folder.ts"
import { collect, cpuSeconds, type Figures, nowMillis, rate } from "../measure.ts"
import { list } from "../work.ts"
import { createAll, Widget } from "./store.ts"

/** `power-16` is durable to a power cut, with 16 writers. */
export const variants: ReadonlyArray<string> = ["power", "process"].flatMap((durability) =>
  [1, 16, 256].map((writers) => `${durability}-${writers}`)
)

export const parseVariant = (variant = ""): { readonly durability: "power" | "process"; readonly writers: number } => {
  const [durability, writers] = variant.split("-")
  return { durability: durability === "process" ? "process" : "power", writers: Number(writers) }
}

/** Writes update i, of object i modulo how many there are. */
type Update = (object: Widget, i: number) => Effect.Effect<Widget, unknown>

/** n updates, shared evenly by writers that each wait for their write before they do the next. */
const measured = Effect.fnUntraced(function*(n: number, writers: number, update: Update) {
  const store = yield* Store.Store
  const all = yield* createAll(store, 1024)
  const share = Math.ceil(n / writers)
  const shares = list(writers, (first) => all.filter((_, i) => i % writers === first))
  const writer = Effect.fnUntraced(function*(mine: Array<Widget>) {
    for (let i = 0; i < share; i++) {
      const at = i % mine.length
      const object = mine[at]
      if (object !== undefined) mine[at] = yield* update(object, i)
    }
  })
  yield* Effect.forEach(shares, writer, { concurrency: "unbounded", discard: true })
  collect()
  const cpu = cpuSeconds()
  const start = nowMillis()
  yield* Effect.forEach(shares, writer, { concurrency: "unbounded", discard: true })
  const millis = nowMillis() - start
  const count = share * writers
  const figures: Figures = { ...rate(millis, count), writes_per_s: (count * 1000) / millis, cpu_s: cpuSeconds() - cpu }
  return figures
})

const on = (update: Effect.Effect<Update, never, Store.Store | StoreDriver.StoreDriver>): Subject => (of: Case) => {
  const { durability, writers } = parseVariant(of.variant)
  return inTemporaryFolder((folder) =>
    Effect.flatMap(update, (update) => measured(of.n, writers, update)).pipe(
      Effect.provide(SqliteStore.layer({ filename: `${folder}/store.sqlite`, durability })),
      Effect.runPromise
    )
  )
}

const changed = (object: Widget, i: number): Widget => ({
  ...object,
  spec: { ...object.spec, field0: `changed-${i}-${nowMillis()}` }
})

export const subjects: { readonly [name: string]: Subject } = {
  setpoint: on(Effect.map(Store.Store, (store) => (object, i) => store.update(Widget, changed(object, i)))),
  /** Beneath `Store`: what the driver alone takes. */
  "setpoint-driver": on(
    Effect.map(StoreDriver.StoreDriver, (driver) => (object, i) =>
      Effect.map(
        driver.write(Widget.address, { op: "update", object: changed(object, i) }, {
          uid: object.metadata.uid,
          revision: object.metadata.resourceVersion,
          writeId: `write-${object.metadata.resourceVersion}`,
          hasStatus: false
        }),
        ({ object }) => object as unknown as Widget // the kind is plain: stored as it is typed
      ))
  )
}
