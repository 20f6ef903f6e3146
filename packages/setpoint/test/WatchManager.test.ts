import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Informer from "setpoint/Informer"
import type { Raw } from "setpoint/Resource"
import { Forbidden } from "setpoint/StoreError"
import * as WatchManager from "setpoint/WatchManager"
import { address, ScriptedStore } from "./utils/scriptedStore.ts"

describe("sharing", () => {
  it.effect("[D3] [C147] [K01] [K03] [K04] [K06] owners of one identity share an informer, which goes on until the last has let go", () =>
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

  it.effect("[D3] [K18] acquire and release in any order leave one informer where there is an owner, and none else", () =>
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

  it.effect("[K20] an owner that is interrupted lets go", () =>
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

  it.effect("[K07] [K24] closing the manager stops what is still owned, and owners may let go after", () =>
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

describe("acquiring", () => {
  it.effect("[D3] [K16] acquire gives an informer that has synced, and the second owner waits as the first does", () =>
    Effect.gen(function*() {
      const { manager, source, store } = yield* setup()
      const informers = yield* Effect.all([
        WatchManager.acquire(manager, source, address),
        WatchManager.acquire(manager, source, address)
      ], { concurrency: "unbounded" })
      assert.strictEqual(informers[0], informers[1])
      assert.isTrue(Informer.isSynced(informers[0]))
      assert.strictEqual(Informer.size(informers[0]), 1)
      assert.strictEqual(store.open, 1)
    }))

  it.effect("[D3] [K17] ten who acquire at once share one informer", () =>
    Effect.gen(function*() {
      const { manager, source, store } = yield* setup()
      const acquire = WatchManager.acquire(manager, source, address)
      const informers = yield* Effect.all(Array.from({ length: 10 }, () => acquire), { concurrency: "unbounded" })
      assert.strictEqual(new Set(informers).size, 1)
      assert.strictEqual(store.calls.filter((call) => call === "list").length, 1)
    }))

  it.effect("[D3] [K02] [K98] after the release nothing is there, and who acquires next gets a fresh informer", () =>
    Effect.gen(function*() {
      const { manager, source } = yield* setup()
      const first = yield* Effect.scoped(WatchManager.acquire(manager, source, address))
      assert.deepStrictEqual(WatchManager.informers(manager), [])
      const second = yield* WatchManager.acquire(manager, source, address)
      assert.notStrictEqual(first, second)
      assert.isTrue(Informer.isSynced(second))
    }))

  it.effect("[D3] [K14] [K21] [K22] who waits for a sync in vain fails after 30 seconds, and owns nothing", () =>
    Effect.gen(function*() {
      const { manager, source, store } = yield* setup()
      store.hang = true
      const waiting = yield* Effect.forkChild(
        Effect.flip(Effect.scoped(WatchManager.acquire(manager, source, address)))
      )
      yield* TestClock.adjust("29 seconds")
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust("1 second")
      const error = yield* Fiber.join(waiting)
      assert.strictEqual(error._tag, "WatchManager/NotSynced")
      assert.match(error.message, /the cache of Thing.example.dev is not synced: /)
      assert.deepStrictEqual(WatchManager.informers(manager), [])
      assert.strictEqual(store.open, 0)
    }))

  it.effect("[D3] [K21] [K22] a time-out takes the informer from nobody else: another owner still has it", () =>
    Effect.gen(function*() {
      const { acquire, manager, source, store } = yield* setup()
      store.hang = true
      const owned = yield* acquire({ syncTimeout: "10 seconds", cooldown: {} })
      const waiting = yield* Effect.forkChild(
        Effect.flip(Effect.scoped(WatchManager.acquire(manager, source, address, { syncTimeout: "10 seconds" })))
      )
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(waiting)
      assert.deepStrictEqual(WatchManager.informers(manager), [owned])
      store.hang = false
      yield* TestClock.adjust("1 minute")
      assert.isTrue(Informer.isSynced(owned))
    }))

  it.effect("[D3] [K15] who asks in the cooldown is told at once, and after it the next attempt can succeed", () =>
    Effect.gen(function*() {
      const { acquire, manager, source, store } = yield* setup()
      store.listFailures.push(forbidden, forbidden)
      const owned = yield* acquire({ cooldown: {} })
      yield* TestClock.adjust(0)
      const ask = Effect.scoped(WatchManager.acquire(manager, source, address))
      const error = yield* Effect.flip(ask)
      assert.strictEqual(error._tag, "WatchManager/NotSynced")
      assert.match(error.message, /forbidden/)
      const attempts = store.calls.filter((call) => call === "list").length
      yield* Effect.flip(ask)
      assert.strictEqual(store.calls.filter((call) => call === "list").length, attempts)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* ask, owned)
    }))

  it.effect("[D3] [K19] who lets go while the start is slow leaves no informer behind", () =>
    Effect.gen(function*() {
      const { manager, source, store } = yield* setup()
      store.hang = true
      const waiting = yield* Effect.forkChild(Effect.scoped(WatchManager.acquire(manager, source, address)))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(WatchManager.informers(manager).length, 1)
      yield* Fiber.interrupt(waiting)
      assert.deepStrictEqual(WatchManager.informers(manager), [])
      store.hang = false
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(store.open, 0)
    }))
})

describe("what handlers of a shared informer hear", () => {
  it.effect("[K08] [K10] [K13] adds, updates and deletes, with kind, key and labels, from before and now", () =>
    Effect.gen(function*() {
      const { heard, store } = yield* listening()
      store.put("b", { labels: { app: "web" } })
      store.put("b", { labels: { app: "db" } })
      store.delete("b")
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(heard, [
        "Added default/a {}",
        "Added default/b {\"app\":\"web\"}",
        "Modified default/b {\"app\":\"db\"} was {\"app\":\"web\"}",
        "Deleted default/b {\"app\":\"db\"}"
      ])
    }))

  it.effect("[K05] a delete that happened in a gap is heard of after it, with the last state that was known", () =>
    Effect.gen(function*() {
      const { heard, store } = yield* listening()
      store.put("b", { labels: { app: "web" } })
      yield* TestClock.adjust(0)
      store.drop()
      store.delete("b")
      store.compact()
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(heard.slice(2), ["Deleted default/b {\"app\":\"web\"}"])
    }))

  it.effect("[K11] watches that fail and end take nothing down: what happens after is heard", () =>
    Effect.gen(function*() {
      const { heard, store } = yield* listening()
      store.drop(forbidden)
      store.watchFailures.push(forbidden)
      yield* TestClock.adjust("1 minute")
      store.drop()
      yield* TestClock.adjust("1 minute")
      store.put("b")
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(heard.slice(1), ["Added default/b {}"])
    }))

  it.effect("[K09] what is no object makes no event and takes nothing down: the informer begins anew", () =>
    Effect.gen(function*() {
      const { heard, informer, store } = yield* listening()
      const event = { _tag: "Added", initial: false, cursor: "2@1", writeId: "w2" } as const
      store.send({ ...event, object: JSON.parse("{}") })
      store.send({ ...event, object: JSON.parse("null") })
      yield* TestClock.adjust("1 minute")
      store.put("b")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(heard.slice(1), ["Added default/b {}"])
      assert.isTrue(Informer.isSynced(informer))
    }))

  it.effect("[K12] a handler that throws is counted, and nobody else suffers", () =>
    Effect.gen(function*() {
      const { heard, informer, store } = yield* listening()
      yield* Informer.subscribe(informer, {
        onChange: () => {
          throw new Error("a test")
        }
      })
      store.put("b")
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(heard.slice(1), ["Added default/b {}"])
      assert.isAbove((yield* Informer.health(informer)).counters.handlerDefects, 0)
    }))

  it.effect("[K23] [K24] who let go hears nothing more, while the informer goes on for another", () =>
    Effect.gen(function*() {
      const { acquire, store } = yield* setup()
      const [one, two] = [yield* Scope.make(), yield* Scope.make()]
      const heard: Array<string> = []
      for (const [name, scope] of [["one", one], ["two", two]] as const) {
        const informer = yield* Scope.provide(acquire(), scope)
        yield* Scope.provide(Informer.subscribe(informer, { onChange: () => void heard.push(name) }), scope)
        yield* Informer.awaitSynced(informer)
      }
      heard.length = 0
      yield* Scope.close(one, Exit.void)
      store.put("b")
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(heard, ["two"])
      yield* Scope.close(two, Exit.void)
      store.put("c")
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(heard, ["two"])
    }))
})

const forbidden = new Forbidden({ why: "a test" })

/** A handler that writes down what it hears. */
const listening = Effect.fnUntraced(function*() {
  const { acquire, store } = yield* setup()
  const informer = yield* acquire()
  const heard: Array<string> = []
  const labels = ({ metadata }: Raw) => JSON.stringify(metadata.labels ?? {})
  yield* Informer.subscribe(informer, {
    onChange: ({ entry, object, old, type }) =>
      void heard.push(
        `${type} ${entry.namespace}/${entry.name} ${labels(object)}` +
          (type === "Modified" && old !== undefined ? ` was ${labels(old)}` : "")
      )
  })
  yield* Informer.awaitSynced(informer)
  return { heard, informer, store }
})

const setup = Effect.fnUntraced(function*(options?: WatchManager.Options) {
  const store = new ScriptedStore()
  store.put("a")
  const manager = yield* WatchManager.make(options)
  const source = { name: "default", driver: store.driver }
  const acquire = (options?: Informer.Options) => WatchManager.share(manager, source, address, options)
  return { store, source, manager, acquire }
})
