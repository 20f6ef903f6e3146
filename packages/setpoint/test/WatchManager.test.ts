import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Informer from "setpoint/Informer"
import * as WatchManager from "setpoint/WatchManager"
import { address, ScriptedStore } from "./utils/scriptedStore.ts"

describe("WatchManager", () => {
  it.effect("[D3] owners of one identity share an informer, and the last release stops it", () =>
    Effect.gen(function*() {
      const store = new ScriptedStore()
      store.put("a")
      const source = { name: "default", driver: store.driver }
      const manager = yield* WatchManager.make()
      const one = yield* Scope.make()
      const two = yield* Scope.make()
      const a = yield* Scope.provide(WatchManager.acquire(manager, source, address), one)
      const b = yield* Scope.provide(WatchManager.acquire(manager, source, address), two)
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
})
