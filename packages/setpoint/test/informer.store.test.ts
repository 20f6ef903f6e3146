/** An informer over a real store: what the scripted store only plays. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Informer from "setpoint/Informer"
import * as MemoryStore from "setpoint/MemoryStore"
import type { Raw } from "setpoint/Resource"
import type * as StoreDriver from "setpoint/StoreDriver"
import { address } from "./utils/scriptedStore.ts"

describe("an informer over MemoryStore", () => {
  for (const initial of ["paged", "streamed"] as const) {
    it.effect(`[S9] holds what the store holds, through a burst that its watch cannot buffer (${initial})`, () =>
      Effect.gen(function*() {
        const driver = yield* MemoryStore.make({ history: 1000 })
        const gate = yield* Latch.make(true)
        yield* writes(driver, 100)
        const options = { initial, bufferSize: 10, pageSize: 7 }
        const informer = yield* Informer.make(slowed(driver, gate), address, options)
        yield* Informer.awaitSynced(informer)
        yield* gate.close
        yield* writes(driver, 500)
        yield* gate.open
        yield* TestClock.adjust("1 minute")
        yield* agree(driver, informer)
        const { counters } = yield* Informer.health(informer)
        assert.isAbove(counters.lagged, 0)
        assert.strictEqual(counters.expired, 0)
      }))

    it.effect(`[F17] and through a burst longer than the store's history (${initial})`, () =>
      Effect.gen(function*() {
        const driver = yield* MemoryStore.make({ history: 20 })
        const gate = yield* Latch.make(true)
        const informer = yield* Informer.make(slowed(driver, gate), address, { initial, bufferSize: 10 })
        yield* Informer.awaitSynced(informer)
        yield* gate.close
        yield* writes(driver, 500)
        yield* gate.open
        yield* TestClock.adjust("1 minute")
        yield* agree(driver, informer)
        const { counters } = yield* Informer.health(informer)
        assert.isAbove(counters.lagged, 0)
        assert.isAbove(counters.expired, 0)
      }))
  }

  it.effect("[F18] an import is a new timeline: every object is told again", () =>
    Effect.gen(function*() {
      const driver = yield* MemoryStore.make()
      yield* writes(driver, 10)
      const backup = yield* Stream.runCollect(driver.export)
      const informer = yield* Informer.make(driver, address)
      yield* Informer.awaitSynced(informer)
      const told = new Map<string, Informer.Via>()
      for (const object of backup) yield* remove(driver, object)
      yield* TestClock.adjust(0)
      yield* Informer.subscribe(informer, { onChange: ({ entry, via }) => told.set(entry.name, via) })
      yield* driver.import(Stream.fromIterable(backup))
      yield* TestClock.adjust("1 minute")
      yield* agree(driver, informer)
      assert.deepStrictEqual(new Set(told.values()), new Set(["newTimeline"]))
      assert.strictEqual(told.size, backup.length)
    }))

  it.effect("keeps one namespace, or what a selector matches, alone", () =>
    Effect.gen(function*() {
      const driver = yield* MemoryStore.make()
      yield* writes(driver, 60)
      for (const scope of [{ namespace: "ns-1" }, { selector: "color in (red, blue)" }, { metadataOnly: true }]) {
        const informer = yield* Informer.make(driver, address, scope)
        yield* Informer.awaitSynced(informer)
        yield* agree(driver, informer, scope)
        yield* writes(driver, 60)
        yield* TestClock.adjust("1 second")
        yield* agree(driver, informer, scope)
      }
    }))
})

/** Its watches bring nothing while the gate is closed. */
const slowed = (driver: StoreDriver.Service, gate: Latch.Latch): StoreDriver.Service => ({
  ...driver,
  watch: (at, options) => Stream.tap(driver.watch(at, options), () => gate.await)
})

let count = 0

/** Creates, updates, relabels and deletes, in turn. */
const writes = Effect.fnUntraced(function*(driver: StoreDriver.Service, n: number) {
  for (let i = 0; i < n; i++) {
    const name = `n${i % 30}`
    const namespace = `ns-${i % 3}`
    const key = { namespace, name }
    const known = yield* Effect.option(driver.get(address, key, { consistency: "mostRecent" }))
    const options = { writeId: `w${count++}`, hasStatus: false }
    const labels = { color: ["red", "green", "blue"][count % 3] ?? "" }
    if (known._tag === "None") {
      const metadata = { name, namespace, labels, uid: "", resourceVersion: "", creationTimestamp: "" }
      const object = { apiVersion: "example.dev/v1", kind: "Thing", metadata, spec: { count } }
      yield* driver.write(address, { op: "create", object }, options)
    } else if (i % 5 === 0) {
      yield* driver.write(address, { op: "delete", key, propagation: "background" }, options)
    } else {
      const object = { ...known.value, metadata: { ...known.value.metadata, labels }, spec: { count } }
      yield* driver.write(address, { op: "update", object }, options)
    }
  }
})

const remove = (driver: StoreDriver.Service, { metadata: { name, namespace = "" } }: Raw) =>
  driver.write(
    address,
    { op: "delete", key: { namespace, name }, propagation: "background" },
    { writeId: `w${count++}`, hasStatus: false }
  )

/** The cache, sorted, is the store's own list. */
const agree = Effect.fnUntraced(function*(
  driver: StoreDriver.Service,
  informer: Informer.Informer,
  scope?: Pick<StoreDriver.ListOptions, "namespace" | "selector" | "metadataOnly">
) {
  const { items } = yield* driver.list(address, { consistency: "mostRecent", ...scope })
  assert.deepStrictEqual(Informer.list(informer, { sorted: true }), items)
  assert.strictEqual((yield* Informer.health(informer)).why, undefined)
})
