/**
 * What a pass knows ahead of a cache that wakes its key: it was written or read at the store, and was gone again before the
 * cache was listed anew. No difference names the key, which runs all the same (E6).
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { Controller, Reconciler, Store } from "setpoint"
import { Expired } from "setpoint/StoreError"
import { create, engine, Faults, Palette, register, script, Server, settle, site, Website } from "./support/engine.ts"

const world = engine({ store: { history: 10 } })

const palette = (color: string) => ({ metadata: { name: "dark" }, spec: { color } })

const server = Store.ensure(Server, { name: "web" }, () => ({ metadata: { name: "web" }, spec: { port: 1 } }))

/** While no event comes: the pass of `shop` runs, then something happens; then the watches of a kind are listed anew. */
const missed = Effect.fnUntraced(function*<E, R, E2, R2>(
  pass: Effect.Effect<unknown, E, R>,
  meanwhile: Effect.Effect<unknown, E2, R2>,
  kind: string
) {
  const faults = yield* Faults
  faults.events.closeUnsafe()
  yield* pass
  yield* settle
  yield* meanwhile
  yield* faults.drop(new Expired({ why: "a test" }), kind)
  yield* faults.events.open
  yield* TestClock.adjust("5 seconds")
  yield* settle
})

const enqueue = Effect.flatMap(Controller.Controller, (controller) => controller.enqueue("websites", { name: "shop" }))

const byColor = Reconciler.watch(Palette, ({ spec }) => [{ name: spec.color }])

describe("what a pass knows ahead of a cache", () => {
  it.effect("[E6] a child that a pass made, deleted before the cache was listed anew, is missed at once", () =>
    Effect.gen(function*() {
      const { causes, passes, reconcile } = script(Effect.void, Effect.asVoid(server))
      yield* register({ reconcile }, { watches: [Reconciler.watch(Server, () => [{ name: "shop" }])] })
      yield* create("shop")
      yield* missed(enqueue, Store.deleteUnconditionally(Server, { name: "web" }), "Server")
      assert.deepStrictEqual(causes.slice(2), [["Relist"], ["Event"]]) // and its own event of making it again
      assert.strictEqual(passes.length, 4)
      assert.strictEqual((yield* Store.latest(Server, { name: "web" })).spec.port, 1)
    }).pipe(Effect.provide(world)))

  it.effect("[E6] what a pass read at the store, gone to another key before the cache was listed anew, is missed", () =>
    Effect.gen(function*() {
      const { causes, reconcile } = script(Effect.void, Effect.asVoid(Store.latest(Palette, { name: "dark" })))
      yield* register({ reconcile }, { watches: [byColor] })
      yield* create("shop")
      yield* missed(
        Effect.andThen(Store.create(Palette, palette("shop")), enqueue),
        Store.ensure(Palette, { name: "dark" }, () => palette("other")),
        "Palette"
      )
      assert.deepStrictEqual(causes.slice(2).flat(), ["Relist", "Relist"]) // shop, and the other
    }).pipe(Effect.provide(world)))

  it.effect("[E6] [D1] what was read past a cache that an instance asked for is missed too", () =>
    Effect.gen(function*() {
      const spec = { selector: "for=shop" }
      const read = Store.list(Palette, { ...spec, consistency: "mostRecent" })
      const { causes, reconcile } = script(Effect.asVoid(read))
      yield* register({ reconcile }, { track: true })
      yield* create("shop")
      yield* settle
      const before = causes.length
      const labelled = (of: string) => ({ ...palette("x"), metadata: { name: "dark", labels: { for: of } } })
      yield* missed(
        Effect.andThen(Store.create(Palette, labelled("shop")), enqueue),
        Store.ensure(Palette, { name: "dark" }, () => labelled("other")),
        "Palette"
      )
      assert.deepStrictEqual(causes.slice(before), [["Enqueue"], ["Relist"]])
    }).pipe(Effect.provide(world)))

  it.effect("[E6] a child that came and went before its pass was answered is missed, where the cache was listed by then", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const made = Store.create(Server, { metadata: { name: "web" }, spec: { port: 1 } })
      const { causes, reconcile } = script(Effect.void, Effect.asVoid(made), Effect.void)
      yield* register({ reconcile }, { watches: [Reconciler.watch(Server, () => [{ name: "shop" }])] })
      yield* create("shop")
      faults.replies.closeUnsafe()
      yield* missed(enqueue, Store.deleteUnconditionally(Server, { name: "web" }), "Server")
      yield* faults.replies.open
      yield* settle
      assert.deepStrictEqual(causes.slice(2), [["Relist"]])
    }).pipe(Effect.provide(world)))

  it.effect("[E6] what a pass read is missed, where it was gone to another key and the cache listed before the answer", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const { causes, reconcile } = script(
        Effect.void,
        Effect.asVoid(Store.latest(Palette, { name: "dark" })),
        Effect.void
      )
      yield* register({ reconcile }, { watches: [byColor] })
      yield* create("shop")
      faults.replies.closeUnsafe()
      yield* missed(
        Effect.andThen(Store.create(Palette, palette("shop")), enqueue),
        Store.ensure(Palette, { name: "dark" }, () => palette("other")),
        "Palette"
      )
      yield* faults.replies.open
      yield* settle
      assert.deepStrictEqual(causes.slice(2).flat(), ["Relist", "Relist"]) // the other, and shop
    }).pipe(Effect.provide(world)))

  it.effect("[E6] what the cache has shown meanwhile, change by change, runs nothing more when it is listed anew", () =>
    Effect.gen(function*() {
      const { causes, reconcile } = script(Effect.void, Effect.asVoid(server))
      yield* register({ reconcile }, { watches: [Reconciler.watch(Server, () => [{ name: "shop" }])] })
      yield* create("shop")
      yield* enqueue
      yield* settle
      const before = causes.length
      yield* missed(Effect.void, Store.create(Website, site("other")), "Server")
      assert.deepStrictEqual(causes.slice(before), [["Event"]]) // of the other website
    }).pipe(Effect.provide(world)))
})
