import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Informer from "setpoint/Informer"
import * as WatchManager from "setpoint/WatchManager"
import { address, ScriptedStore } from "./utils/scriptedStore.ts"

describe("sharing", () => {
  it.effect("[D3] [C147] owners of one identity share an informer, which goes on until the last has let go", () =>
    Effect.gen(function*() {
      const { acquire, manager, store } = yield* setup()
      const [one, two] = [yield* Scope.make(), yield* Scope.make()]
      const a = yield* Scope.provide(acquire(), one)
      const b = yield* Scope.provide(acquire(), two)
      assert.strictEqual(a, b)
      yield* Informer.awaitSynced(a)
      yield* Scope.close(one, Exit.void)
      store.put("b")
      yield* TestClock.adjust(0)
      assert.strictEqual(Informer.size(a), 2)
      assert.strictEqual(store.open, 1)
      yield* Scope.close(two, Exit.void)
      assert.strictEqual(store.open, 0)
      assert.strictEqual((yield* Informer.health(a)).state, "Closed")
      assert.deepStrictEqual(WatchManager.informers(manager), [])
    }))

  it.effect("[D3] what differs in store, namespace, selector, transform or metadata-only is another informer", () =>
    Effect.gen(function*() {
      const { acquire, manager } = yield* setup()
      const f: Informer.Transform["f"] = (_) => _
      const informers = new Set([
        yield* acquire(),
        yield* acquire({ namespace: "a" }),
        yield* acquire({ selector: "a=b" }),
        yield* acquire({ metadataOnly: true }),
        yield* acquire({ transform: { name: "one", f } }),
        yield* acquire({ transform: { name: "two", f } }),
        yield* WatchManager.share(manager, { name: "default", driver: new ScriptedStore().driver }, address)
      ])
      assert.strictEqual(informers.size, 7)
      informers.add(yield* acquire({ selector: "a in (b)", pageSize: 7 }))
      informers.add(yield* acquire({ selector: "" }))
      informers.add(yield* acquire({ transform: { name: "one", f: (object) => object } }))
      assert.strictEqual(informers.size, 7)
    }))

  it.effect("[D3] an informer without owners is kept for the idle time, counted from the last release", () =>
    Effect.gen(function*() {
      const { acquire, store } = yield* setup({ idle: "1 minute" })
      const first = yield* Effect.scoped(acquire())
      yield* TestClock.adjust("50 seconds")
      const second = yield* Effect.scoped(acquire())
      assert.strictEqual(first, second)
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual(store.open, 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(store.open, 0)
      assert.notStrictEqual(yield* acquire(), first)
    }))

  it.effect("[D3] acquire and release in any order leave one informer where there is an owner, and none else", () =>
    Effect.gen(function*() {
      const { acquire, manager, store } = yield* setup()
      const use = (i: number) =>
        Effect.scoped(Effect.gen(function*() {
          const informer = yield* acquire()
          for (let n = 0; n < i % 5; n++) yield* Effect.yieldNow
          assert.isTrue(WatchManager.informers(manager).includes(informer))
          assert.notStrictEqual((yield* Informer.health(informer)).state, "Closed")
        }))
      for (let round = 0; round < 20; round++) {
        yield* Effect.forEach(Array.from({ length: 50 }, (_, i) => i), (i) => Effect.andThen(Effect.yieldNow, use(i)), {
          concurrency: "unbounded",
          discard: true
        })
        assert.deepStrictEqual(WatchManager.informers(manager), [])
        assert.strictEqual(store.open, 0)
      }
    }))

  it.effect("an owner that is interrupted lets go", () =>
    Effect.gen(function*() {
      const { acquire, manager, store } = yield* setup()
      const owner = yield* Effect.forkChild(Effect.scoped(Effect.andThen(acquire(), Effect.never)), {
        startImmediately: true
      })
      yield* TestClock.adjust(0)
      assert.strictEqual(store.open, 1)
      yield* Fiber.interrupt(owner)
      assert.strictEqual(store.open, 0)
      assert.deepStrictEqual(WatchManager.informers(manager), [])
    }))

  it.effect("closing the manager stops what is still owned, and owners may let go after", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const owner = yield* Scope.make()
      const { acquire, store } = yield* Scope.provide(setup(), scope)
      const informer = yield* Scope.provide(acquire(), owner)
      yield* Informer.awaitSynced(informer)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(store.open, 0)
      yield* Scope.close(owner, Exit.void)
    }))

  it.effect("options that cannot be right are refused, and nothing is kept of it", () =>
    Effect.gen(function*() {
      const { acquire, manager } = yield* setup()
      assert.strictEqual((yield* Effect.flip(acquire({ selector: "=" }))).option, "selector")
      assert.strictEqual((yield* Effect.flip(acquire({ pageSize: -1 }))).option, "pageSize")
      assert.deepStrictEqual(WatchManager.informers(manager), [])
    }))
})

const setup = Effect.fnUntraced(function*(options?: WatchManager.Options) {
  const store = new ScriptedStore()
  store.put("a")
  const manager = yield* WatchManager.make(options)
  const source = { name: "default", driver: store.driver }
  const acquire = (options?: Informer.Options) => WatchManager.share(manager, source, address, options)
  return { store, manager, acquire }
})
