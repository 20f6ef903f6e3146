import { assert, describe, it } from "@effect/vitest"
import { StoreContract, TestStore } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { Controller, Kind, MemoryStore, Reconciler, Store, StoreDriver } from "setpoint"

const Website = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Website",
  spec: Schema.Struct({ host: Schema.String }),
  status: Schema.Struct({ url: Schema.String })
})

const blog = { name: "blog" }
const create = Store.create(Website, { metadata: blog, spec: { host: "a" } })
const rename = (host: string) => Store.patchUnconditionally(Website, blog, { merge: { spec: { host } } })

const on = (options: TestStore.Options) => Effect.provide(Layer.fresh(TestStore.layer(MemoryStore.layer, options)))

const first = (operation: string, fault: TestStore.Fault): TestStore.Options => ({
  script: (call) => call.operation === operation && call.number === 1 ? fault : undefined
})

const reason = <A, E extends { readonly reason: { readonly _tag: string } }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason._tag)

StoreContract.suite(
  "a test store without faults",
  (options) => TestStore.layer(MemoryStore.layerWith(options)),
  { runs: 20 }
)

StoreContract.suite(
  "a test store with latency alone",
  (options) => TestStore.layer(MemoryStore.layerWith(options), { latency: "1 millis" }),
  { clock: "live", runs: 3 }
)

describe("faults by hand", () => {
  it.effect("a call that is refused was not applied", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* reason(create), "Unavailable")
      assert.strictEqual(yield* reason(Store.get(Website, blog)), "NotFound")
    }).pipe(on(first("create", "refuse"))))

  it.effect("a write whose reply is lost was applied, and the store does not know of it any more", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* reason(create), "UnknownOutcome")
      assert.strictEqual((yield* Store.get(Website, blog)).spec.host, "a")
    }).pipe(on(first("create", "lose"))))

  it.effect("a read that may be old is as it was before, for so long and no longer; one that may not is not", () =>
    Effect.gen(function*() {
      const driver = yield* StoreDriver.StoreDriver
      const host = Effect.map(
        driver.get(Website.address, { ...blog, namespace: "default" }, { consistency: "any" }),
        ({ spec }) => spec
      )
      yield* create
      assert.deepStrictEqual(yield* host, { host: "a" })
      yield* rename("b")
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(yield* host, { host: "a" })
      assert.strictEqual((yield* Store.get(Website, blog)).spec.host, "b")
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(yield* host, { host: "b" })
    }).pipe(on({ stale: 1, staleFor: "5 seconds" })))

  it.effect("a watch that was cut is resumed from its cursor, without a gap", () =>
    Effect.gen(function*() {
      const driver = yield* StoreDriver.StoreDriver
      const { cursor } = yield* driver.list(Website.address, { consistency: "mostRecent" })
      const seen: Array<string> = []
      const read = (from: string): Effect.Effect<string> => {
        let last = from
        return driver.watch(Website.address, { from }).pipe(
          Stream.runForEach((batch) =>
            Effect.sync(() => {
              for (const event of batch) {
                if ("object" in event) seen.push(String(event.object.metadata.name))
                last = event.cursor
              }
            })
          ),
          Effect.exit,
          Effect.map(() => last)
        )
      }
      const reading = yield* Effect.forkChild(Effect.flatMap(read(cursor), read), { startImmediately: true })
      for (const name of ["a", "b", "c", "d"]) {
        yield* Store.create(Website, { metadata: { name }, spec: { host: name } })
        yield* Effect.yieldNow
      }
      yield* Fiber.join(reading)
      assert.deepStrictEqual(seen, ["a", "b", "c"])
    }).pipe(on({ script: ({ number, operation }) => operation === "events" && number !== 2 ? "cut" : undefined })))

  it.effect("a cursor that has expired says so", () =>
    Effect.gen(function*() {
      const driver = yield* StoreDriver.StoreDriver
      const { cursor } = yield* driver.list(Website.address, { consistency: "mostRecent" })
      const watch = Stream.runDrain(driver.watch(Website.address, { from: cursor }))
      assert.strictEqual(yield* reason(watch), "Expired")
    }).pipe(on(first("watch", "expire"))))

  it.effect("calls and replies take their time", () =>
    Effect.gen(function*() {
      const creating = yield* Effect.forkChild(create, { startImmediately: true })
      assert.isUndefined(creating.pollUnsafe())
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(creating)
    }).pipe(on({ latency: "1 second" })))
})

describe("faults by chance", () => {
  const stormy: TestStore.Options = { refuse: 0.2, lose: 0.2, cut: 0.3, expire: 0.3, latency: "100 millis" }

  const sites = Reconciler.make(Website, {
    reconcile: Effect.fnUntraced(function*(request) {
      const site = yield* Store.get(Website, request)
      yield* Store.updateStatus(Website, site, { url: `https://${site.spec.host}` })
    })
  })

  const play = (seed: number) =>
    Effect.gen(function*() {
      const faults = yield* TestStore.TestStore
      const insist = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.eventually(Effect.delay(effect, 10))
      const user = Effect.gen(function*() {
        yield* insist(Effect.catchReason(create, "StoreError", "AlreadyExists", () => Effect.void))
        for (const host of ["b", "c", "d"]) yield* Effect.delay(insist(rename(host)), 1000)
      })
      const acting = yield* Effect.forkChild(user)
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(acting)
      yield* faults.calm
      yield* TestClock.adjust("10 minutes")
      const site = yield* Store.get(Website, blog)
      return { url: site.status?.url, happened: yield* faults.happened }
    }).pipe(
      Effect.provide(Layer.fresh(
        Controller.layerFor(sites).pipe(
          Layer.provide(Controller.layer()),
          Layer.provideMerge(TestStore.layer(MemoryStore.layer, { ...stormy, seed }))
        )
      ))
    )

  it.effect("whatever happens meanwhile, a reconciler that reads what is stored gets there once it is calm", () =>
    Effect.gen(function*() {
      const met = new Set<string>()
      for (let seed = 1; seed <= 20; seed++) {
        const { happened, url } = yield* play(seed)
        assert.strictEqual(url, "https://d", `seed ${seed}`)
        for (const { fault } of happened) met.add(fault)
      }
      assert.deepStrictEqual([...met].toSorted(), ["cut", "expire", "lose", "refuse"])
    }))

  it.effect("a seed is repeated call by call, another one is another story", () =>
    Effect.gen(function*() {
      const tell = (seed: number) => Effect.map(play(seed), ({ happened }) => JSON.stringify(happened))
      assert.strictEqual(yield* tell(1), yield* tell(1))
      assert.notStrictEqual(yield* tell(1), yield* tell(2))
    }))
})
