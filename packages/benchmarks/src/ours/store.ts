/** MemoryStore as its users call it: typed objects through `Store`. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Kind from "setpoint/Kind"
import * as MemoryStore from "setpoint/MemoryStore"
import * as Store from "setpoint/Store"
import type { StoreError } from "setpoint/StoreError"
import type { Subject } from "../bench.ts"
import { collect, type Figures, nowMillis, rate } from "../measure.ts"
import { keyAt, list, objects, random } from "../work.ts"

/** The kind of `object.json`: ten texts. */
export const Widget = Kind.make({
  group: "bench.example.com",
  version: "v1",
  kind: "Widget",
  spec: Schema.Struct({
    field0: Schema.String,
    field1: Schema.String,
    field2: Schema.String,
    field3: Schema.String,
    field4: Schema.String,
    field5: Schema.String,
    field6: Schema.String,
    field7: Schema.String,
    field8: Schema.String,
    field9: Schema.String
  })
})
export type Widget = Kind.Resource<typeof Widget>

/** Name, namespace, labels and spec of object i, as a user gives them at creation. */
export const inputs = (n: number): ReadonlyArray<Kind.Input<Widget>> => {
  const make = objects("object")
  return list(n, (i) => {
    const object = make(i)
    const { labels, name, namespace } = object.metadata
    return { metadata: { name, namespace, labels }, spec: object["spec"] as Widget["spec"] }
  })
}

export type OnStore = (store: Store.Service, n: number, watchers: number) => Effect.Effect<Figures, StoreError>

export const createAll = Effect.fnUntraced(function*(store: Store.Service, n: number) {
  const made: Array<Widget> = []
  for (const input of inputs(n)) made.push(yield* store.create(Widget, input))
  return made
})

const until = Effect.fnUntraced(function*(holds: () => boolean) {
  while (!holds()) yield* Effect.yieldNow
})

const timed = Effect.fnUntraced(function*<E>(n: number, work: Effect.Effect<void, E>) {
  collect()
  const start = nowMillis()
  yield* work
  return rate(nowMillis() - start, n)
})

const create: OnStore = (store, n) => {
  const all = inputs(n)
  return timed(
    n,
    Effect.gen(function*() {
      for (const input of all) yield* store.create(Widget, input)
    })
  )
}

const changed = (widget: Widget, i: number): Widget => ({ ...widget, spec: { ...widget.spec, field0: `changed-${i}` } })

const update: OnStore = Effect.fnUntraced(function*(store, n) {
  const all = (yield* createAll(store, n)).map(changed)
  return yield* timed(
    n,
    Effect.gen(function*() {
      for (const object of all) yield* store.update(Widget, object)
    })
  )
})

const get: OnStore = Effect.fnUntraced(function*(store, n) {
  yield* createAll(store, n)
  const { below } = random(7)
  const keys = list(n, () => keyAt(below(n)))
  return yield* timed(
    n,
    Effect.gen(function*() {
      for (const key of keys) yield* store.get(Widget, key)
    })
  )
})

/** Ten lists of everything: a figure an object. */
const listAll: OnStore = Effect.fnUntraced(function*(store, n) {
  yield* createAll(store, n)
  return yield* timed(
    10 * n,
    Effect.gen(function*() {
      for (let i = 0; i < 10; i++) {
        const { items } = yield* store.list(Widget)
        if (items.length !== n) throw new Error(`listed ${items.length}`)
      }
    })
  )
})

/** n updates, of which every watch gets every event: 500 at a time, so that no watch lags. A figure an update. */
const fanOut: OnStore = Effect.fnUntraced(function*(store, n, watchers) {
  const all = (yield* createAll(store, n)).map(changed)
  let began = 0
  let seen = 0
  const watch = Stream.runForEach(store.watch(Widget), (events) =>
    Effect.sync(() => {
      for (const event of events) {
        if (event._tag === "Modified") seen++
        if (event._tag === "InitialDone") began++
      }
    }))
  yield* Effect.all(list(watchers, () => Effect.forkScoped(watch)), { discard: true })
  yield* until(() => began === watchers)
  return yield* timed(
    n,
    Effect.gen(function*() {
      for (let i = 0; i < n; i++) {
        yield* store.update(Widget, all[i] as Widget)
        if (i % 500 === 499) yield* until(() => seen === (i + 1) * watchers)
      }
      yield* until(() => seen === n * watchers)
    })
  )
}, Effect.scoped)

const operations: { readonly [variant: string]: OnStore } = {
  create,
  update,
  get,
  list: listAll,
  "watch-1": fanOut,
  "watch-10": fanOut,
  "watch-100": fanOut
}

/** What the cases' variants name. */
export const variants = Object.keys(operations)

/** `watch-10` has ten watchers. */
export const watchersOf = (variant: string): number => Number(variant.slice("watch-".length))

export const onMemory: Subject = ({ n, variant = "" }) => {
  const operation = operations[variant]
  if (operation === undefined) throw new Error(`no operation ${variant}`)
  const run = Effect.flatMap(Store.Store, (store) => operation(store, n, watchersOf(variant)))
  return Effect.runPromise(Effect.provide(run, MemoryStore.layer))
}
