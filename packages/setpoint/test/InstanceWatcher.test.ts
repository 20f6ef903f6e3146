import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

import { Controller, InstanceWatcher, Kind, Reconciler, Store, type StoreError } from "setpoint"
import { settle } from "./support/engine.ts"
import * as GatedDriver from "./support/gatedDriver.ts"

const App = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "App",
  spec: Schema.Struct({ config: Schema.String })
})

const Config = Kind.make({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  fields: { data: Schema.Record(Schema.String, Schema.String) }
})

const world = Effect.gen(function*() {
  const gate = yield* GatedDriver.make
  const context = yield* Layer.build(
    Layer.provideMerge(Controller.layer({ events: false, collector: false }), GatedDriver.layer(gate))
  )
  const passes: Array<string> = []
  const register = (
    reconcile: (name: string) => Effect.Effect<unknown, unknown, Store.Store>,
    options: { readonly track?: boolean } = {}
  ) =>
    Effect.provideContext(
      Context.get(context, Controller.Controller).register(Reconciler.make(App, {
        ...options,
        reconcile: (request) => {
          passes.push(request.name)
          return Effect.asVoid(reconcile(request.name))
        }
      })),
      context
    )
  return { gate, passes, register, store: Context.get(context, Store.Store) }
})

const app = (name: string, config: string) => ({ metadata: { name }, spec: { config } })
const config = (name: string, value: string, labels = {}) => ({ metadata: { name, labels }, data: { value } })

describe("InstanceWatcher", () => {
  it.effect("[D2] a committed watch wakes its instance alone, until a pass commits without asking for it", () =>
    Effect.gen(function*() {
      const { passes, register, store } = yield* world
      let watching = true
      yield* register((name) => watching ? InstanceWatcher.watch({ kind: Config, name }) : Effect.void)
      yield* store.create(App, app("a", "a"))
      yield* store.create(App, app("b", "b"))
      yield* settle
      passes.length = 0
      const one = yield* store.create(Config, config("a", "1"))
      yield* settle
      assert.deepStrictEqual(passes, ["a"])
      watching = false
      yield* store.update(Config, { ...one, data: { value: "2" } })
      yield* settle
      assert.deepStrictEqual(passes, ["a", "a"])
      yield* store.deleteUnconditionally(Config, { name: "a" })
      yield* settle
      assert.deepStrictEqual(passes, ["a", "a"])
    }))

  it.effect("[D2] a failed pass rolls back: what was committed before it still wakes", () =>
    Effect.gen(function*() {
      const { passes, register, store } = yield* world
      let wanted = "old"
      let fails = false
      yield* register(() =>
        Effect.andThen(
          InstanceWatcher.watch({ kind: Config, name: wanted }),
          fails ? Effect.fail("not now") : Effect.void
        )
      )
      yield* store.create(App, app("a", "a"))
      yield* settle
      wanted = "new"
      fails = true
      yield* store.create(Config, config("old", "1"))
      yield* settle
      passes.length = 0
      fails = false
      wanted = "old"
      yield* store.deleteUnconditionally(Config, { name: "old" })
      yield* settle
      assert.isAtLeast(passes.length, 1)
      passes.length = 0
      yield* store.create(Config, config("new", "1"))
      yield* settle
      assert.deepStrictEqual(passes, [])
    }))

  it.effect("[K45] a reconcile function can be tested alone, with a watcher that accepts everything", () =>
    Effect.gen(function*() {
      const watch = InstanceWatcher.watch({ kind: Config, name: "a" })
      yield* Effect.provideService(watch, InstanceWatcher.Current, InstanceWatcher.noop)
    }))

  it.effect("a request that cannot be is a typed error that names the field, and the pass may go on", () =>
    Effect.gen(function*() {
      const { register, store } = yield* world
      const errors: Array<string> = []
      const ask = (request: InstanceWatcher.Request) =>
        Effect.catch(InstanceWatcher.watch(request), (error) => Effect.sync(() => void errors.push(error.message)))
      yield* register(() =>
        Effect.all([
          ask({ kind: Config, selector: "a in (" }),
          ask({ kind: Config, name: "no/slash" }),
          ask({ kind: Config, name: "a", namespace: "NO" })
        ])
      )
      yield* store.create(App, app("a", "a"))
      yield* settle
      assert.strictEqual(errors.length, 3)
      assert.match(errors[0] ?? "", /watch ConfigMap: selector/)
      assert.match(errors[1] ?? "", /watch ConfigMap: name/)
      assert.match(errors[2] ?? "", /watch ConfigMap: namespace/)
      const outside = yield* Effect.flip(InstanceWatcher.watch({ kind: Config, name: "a" }))
      assert.strictEqual(outside.reason._tag, "NoPass")
    }))
})

describe("tracked reads", () => {
  const reads = (name: string): Effect.Effect<unknown, StoreError.StoreError, Store.Store> =>
    Effect.gen(function*() {
      const { spec } = yield* Store.get(App, { name })
      yield* Effect.catchReason(Store.get(Config, { name: spec.config }), "StoreError", "NotFound", () => Effect.void)
      yield* Store.list(Config, { selector: `for=${name}` })
    })

  it.effect("[D6] what a pass read is what wakes it: a get, a get of nothing, and a list by selector", () =>
    Effect.gen(function*() {
      const { passes, register, store } = yield* world
      yield* register(reads, { track: true })
      yield* store.create(App, app("a", "first"))
      yield* store.create(App, app("b", "other"))
      yield* settle
      passes.length = 0
      const first = yield* store.create(Config, config("first", "1")) // a get that found nothing is tracked
      yield* settle
      assert.deepStrictEqual(passes.splice(0), ["a"])
      yield* store.update(Config, { ...first, data: { value: "2" } })
      yield* settle
      assert.deepStrictEqual(passes.splice(0), ["a"])
      const extra = yield* store.create(Config, config("extra", "1", { for: "b" })) // comes into the selection
      yield* settle
      assert.deepStrictEqual(passes.splice(0), ["b"])
      yield* store.update(Config, { ...extra, metadata: { ...extra.metadata, labels: {} } }) // leaves it
      yield* settle
      assert.deepStrictEqual(passes.splice(0), ["b"])
      yield* store.create(Config, config("unrelated", "1"))
      yield* settle
      assert.deepStrictEqual(passes, [])
    }))

  it.effect("[D1] a change between a read and the first sync of its cache wakes the instance", () =>
    Effect.gen(function*() {
      const { gate, passes, register, store } = yield* world
      yield* store.create(Config, config("first", "1"))
      yield* register(reads, { track: true })
      gate.hold("ConfigMap")
      yield* store.create(App, app("a", "first"))
      yield* settle
      const before = passes.length
      yield* store.patchUnconditionally(Config, { name: "first" }, { merge: { data: { value: "2" } } })
      yield* gate.release("ConfigMap")
      yield* settle
      assert.isAbove(passes.length, before)
    }))

  it.effect("[D6] reads of what did not change keep the watch set, and a cached read makes no store call", () =>
    Effect.gen(function*() {
      const { gate, passes, register, store } = yield* world
      const registration = yield* register(reads, { track: true })
      yield* store.create(Config, config("first", "1"))
      yield* store.create(App, app("a", "first"))
      yield* settle
      yield* registration.enqueue({ name: "a" })
      yield* settle
      gate.reads.length = 0
      yield* registration.enqueue({ name: "a" })
      yield* settle
      assert.deepStrictEqual(gate.reads, [])
      assert.isAtLeast(passes.length, 3)
    }))
})
