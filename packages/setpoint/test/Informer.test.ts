import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import * as Informer from "setpoint/Informer"
import { Unavailable } from "setpoint/StoreError"
import { address, ScriptedStore } from "./utils/scriptedStore.ts"

describe("Informer", () => {
  it.effect("a list and a watch fill the cache and keep it in step", () =>
    Effect.gen(function*() {
      const store = new ScriptedStore()
      store.put("a")
      const informer = yield* Informer.make(store.driver, address)
      yield* Informer.awaitSynced(informer)
      const heard = yield* listen(informer)
      store.put("b", { spec: { n: 1 } })
      store.put("a", { spec: { n: 2 } })
      store.delete("b")
      yield* settle
      assert.deepStrictEqual(heard, ["Added initial a@1", "Added watch b@2", "Modified watch a@3", "Deleted watch b@4"])
      assert.deepStrictEqual(names(informer), ["a"])
      assert.strictEqual(Informer.revision(informer), "4")
      assert.deepStrictEqual(store.calls, ["list", "watch 1@1"])
    }))

  it.effect("[F15] an expired watch is cured by one relist that tells what changed and what vanished", () =>
    Effect.gen(function*() {
      const store = new ScriptedStore()
      for (const name of ["a", "b", "c"]) store.put(name)
      const informer = yield* Informer.make(store.driver, address)
      yield* Informer.awaitSynced(informer)
      const heard = yield* listen(informer)
      heard.length = 0
      store.drop(new Unavailable({ why: "a test" }))
      store.delete("a")
      store.put("b", { spec: 1 })
      store.put("d")
      store.compact()
      yield* settle
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(heard, ["Deleted relist a@6", "Modified relist b@5", "Added relist d@6"])
      assert.deepStrictEqual(store.calls, ["list", "watch 3@1", "watch 3@1", "list", "watch 6@1"])
      assert.strictEqual((yield* Informer.health(informer)).counters.expired, 1)
    }))
})

const settle = TestClock.adjust(0)

const names = (informer: Informer.Informer): ReadonlyArray<string> =>
  Informer.list(informer, { sorted: true }).map((object) => object.metadata.name)

/** What a handler hears, one line a change. */
const listen = Effect.fnUntraced(function*(informer: Informer.Informer) {
  const heard: Array<string> = []
  yield* Informer.subscribe(informer, {
    onChange: ({ object, revision, type, via }) => heard.push(`${type} ${via} ${object.metadata.name}@${revision}`)
  })
  return heard
})
