import { assert, describe, it } from "@effect/vitest"
import { Arbitraries, TestStore } from "@setpoint/testing"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { TestClock } from "effect/testing"
import { Informer, Kind, MemoryStore, type Resource, Selector, Store, StoreDriver } from "setpoint"

const Website = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Website",
  spec: Schema.Struct({ host: Schema.String, replicas: Schema.Int }),
  status: Schema.Struct({ ready: Schema.Int })
})

/** The same, beneath faults or not, in a world of its own. */
const world = (options: TestStore.Options = {}) =>
  Effect.provide(Layer.fresh(TestStore.layer(MemoryStore.layer, options)))

const performAll = (history: ReadonlyArray<Arbitraries.Operation<Kind.Resource<typeof Website>>>) =>
  Effect.forEach(history, (operation) => Arbitraries.perform(Website, operation))

/** All but what a life of an object has of its own. */
const essence = ({ metadata: { generation, labels, name, namespace }, ...fields }: Resource.Any) =>
  JSON.stringify({ ...fields, generation, labels, name, namespace })

describe("kinds and objects", () => {
  it.effect.prop(
    "an object of any kind is created, and read as it was given",
    [Arbitraries.kind],
    ([kind]) =>
      Effect.gen(function*() {
        const result = yield* Arbitrary.checkEffect(Arbitraries.object(kind), (input) =>
          Effect.gen(function*() {
            const made = yield* Store.create(kind, input)
            const read = yield* Store.get(kind, made.metadata)
            assert.deepStrictEqual(read.spec, input.spec)
            assert.deepStrictEqual(read.metadata.labels ?? {}, input.metadata.labels ?? {})
            assert.strictEqual(read.metadata.namespace, kind.address.scope === "Cluster" ? undefined : "default")
            return true
          }).pipe(world()), { runs: 10 })
        assert.strictEqual(result._tag, "Passed", Arbitrary.formatCheckFailure(result))
      }),
    { arbitrary: { runs: 30 } }
  )

  it.effect("kinds differ in group, version, scope and fields", () =>
    Effect.gen(function*() {
      const kinds = yield* Arbitrary.sampleEffect(Arbitraries.kind, { count: 100, seed: 1 })
      const count = (f: (kind: Arbitraries.AnyKind) => string) => new Set(kinds.map(f)).size
      assert.deepStrictEqual(
        [
          count(({ address }) => address.group),
          count(({ address }) => address.version),
          count(({ address }) => address.scope)
        ],
        [3, 2, 2]
      )
      assert.isAbove(count(({ groupKind }) => groupKind), 6)
    }))
})

describe("selectors", () => {
  it.prop("are read back from their text, and mean the same", [Arbitraries.selector(), Arbitraries.labels()], (
    [selector, labels]
  ) => {
    const read = Result.getOrThrow(Selector.parse(Selector.print(selector)))
    assert.strictEqual(read.text, selector.text)
    assert.strictEqual(Selector.matches(read, labels), Selector.matches(selector, labels))
  })

  it.effect.prop(
    "a list under a selector is what matches of the whole list",
    [Arbitraries.history(Website, { names: ["a", "b", "c", "d", "e"] }), Arbitraries.selector()],
    ([history, selector]) =>
      Effect.gen(function*() {
        yield* performAll(history)
        const { items: all } = yield* Store.list(Website)
        const { items } = yield* Store.list(Website, { selector })
        assert.deepStrictEqual(items, all.filter(({ metadata }) => Selector.matches(selector, metadata.labels)))
      }).pipe(world())
  )
})

describe("histories", () => {
  it.effect("meet: objects are edited, labelled, deleted and made again, and some operations are refused", () =>
    Effect.gen(function*() {
      const histories = yield* Arbitrary.sampleEffect(Arbitraries.history(Website), { count: 50, seed: 1, size: 40 })
      const done = new Set<string>()
      for (const history of histories) {
        const outcomes = yield* performAll(history).pipe(world())
        for (const [index, isDone] of outcomes.entries()) done.add(`${history[index]?._tag} ${isDone}`)
      }
      assert.deepStrictEqual(
        [...done].toSorted(),
        ["Create", "Delete", "Edit", "Label", "SetStatus"].flatMap((tag) => [`${tag} false`, `${tag} true`])
      )
    }))

  it.effect.prop("end alike on two stores", [Arbitraries.history(Website)], ([history]) =>
    Effect.gen(function*() {
      const end = Effect.map(
        Effect.andThen(performAll(history), Store.list(Website)),
        ({ items }) => items.map(essence)
      )
      assert.deepStrictEqual(
        yield* end.pipe(world()),
        yield* end.pipe(Effect.provide(MemoryStore.layer, { local: true }))
      )
    }))

  it.effect.prop(
    "a cache over a watch that is cut and expires comes to what the store is",
    [Arbitraries.history(Website)],
    ([history]) =>
      Effect.gen(function*() {
        const driver = yield* StoreDriver.StoreDriver
        const faults = yield* TestStore.TestStore
        const cache = yield* Informer.make(driver, Website.address)
        yield* Effect.forEach(
          history,
          (operation) => Effect.andThen(Arbitraries.perform(Website, operation), TestClock.adjust(50))
        )
        yield* faults.calm
        yield* TestClock.adjust("30 minutes")
        const { items } = yield* driver.list(Website.address, { consistency: "mostRecent" })
        const byName = (a: Resource.Any, b: Resource.Any) => a.metadata.name < b.metadata.name ? -1 : 1
        assert.deepStrictEqual(Informer.list(cache).toSorted(byName), items)
      }).pipe(Effect.scoped, world({ cut: 0.4, expire: 0.5 })),
    { arbitrary: { runs: 40 } }
  )
})
