import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { Condition, Kind, MemoryStore, Pass, type Resource, Store, type StoreDriver, StoreError } from "setpoint"

const Website = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Website",
  spec: Schema.Struct({ host: Schema.String, replicas: Schema.Int }),
  status: Schema.Struct({
    ready: Schema.Int,
    conditions: Schema.optionalKey(Schema.Array(Schema.Struct({
      type: Schema.String,
      status: Schema.String,
      lastTransitionTime: Schema.optionalKey(Schema.String)
    })))
  })
})

const Dated = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Dated",
  spec: Schema.Struct({ at: Schema.DateFromString, hosts: Schema.Array(Schema.String) })
})

const input = (name: string, replicas = 1) => ({ metadata: { name }, spec: { host: "x", replicas } })

describe("Store", () => {
  describe("the current pass", () => {
    it.effect("[E10] a get that the pass's reader answers does not reach the store", () =>
      Effect.gen(function*() {
        const { calls, store } = yield* counting
        const site = yield* store.create(Website, input("a"))
        const { pass } = makePass({
          get: (_, kind, key) => kind === "Website.example.dev" && key.name === "a" ? raw(site) : undefined
        })
        calls.length = 0
        const read = yield* inPass(pass, store.get(Website, { name: "a" }))
        assert.strictEqual(read, site)
        assert.deepStrictEqual(calls, [])
        assert.strictEqual(pass.calls, 1)
      }))

    it.effect("[E10] what the reader says is absent is NotFound, what it does not cover is asked of the store", () =>
      Effect.gen(function*() {
        const { calls, store } = yield* counting
        yield* store.create(Website, input("a"))
        const { pass } = makePass({ get: (_, __, key) => key.name === "b" ? "absent" : undefined })
        calls.length = 0
        const error = yield* Effect.flip(inPass(pass, store.get(Website, { name: "b" })))
        assert.strictEqual(error.reason._tag, "NotFound")
        assert.deepStrictEqual(calls, [])
        yield* inPass(pass, store.get(Website, { name: "a" }))
        assert.deepStrictEqual(calls, ["get"])
      }))

    it.effect("[E10] latest, pages and a list that names its consistency go past the reader", () =>
      Effect.gen(function*() {
        const { calls, store } = yield* counting
        const site = yield* store.create(Website, input("a"))
        const { pass } = makePass({ get: () => "absent", list: () => [] })
        calls.length = 0
        assert.strictEqual(yield* inPass(pass, store.latest(Website, { name: "a" })), site)
        assert.strictEqual((yield* inPass(pass, store.list(Website, { limit: 5 }))).items.length, 1)
        assert.strictEqual((yield* inPass(pass, store.list(Website, { consistency: "mostRecent" }))).items.length, 1)
        assert.deepStrictEqual(calls, ["get", "list", "list"])
        assert.deepStrictEqual((yield* inPass(pass, store.list(Website))).items, [])
        assert.deepStrictEqual(calls, ["get", "list", "list"])
      }))

    it.effect("[E10] the reader is given the canonical text of a selector", () =>
      Effect.gen(function*() {
        const { store } = yield* counting
        const seen: Array<Pass.ReaderListOptions> = []
        const { pass } = makePass({
          list: (_, __, options) => {
            seen.push(options)
            return []
          }
        })
        yield* inPass(pass, store.list(Website, { namespace: "east", selector: "b=c, a in (x)" }))
        assert.deepStrictEqual(seen, [{ namespace: "east", name: undefined, selector: "a=x,b=c" }])
      }))

    it.effect("[E10] [E11] a pass hears what its writes became: acknowledged, unchanged, removed, conflicted", () =>
      Effect.gen(function*() {
        const { store } = yield* counting
        const { heard, pass } = makePass({})
        const site = yield* inPass(pass, store.create(Website, input("a")))
        const grown = yield* inPass(pass, store.update(Website, { ...site, spec: { host: "y", replicas: 2 } }))
        yield* inPass(pass, store.updateStatus(Website, grown, { ready: 1 }))
        yield* inPass(pass, Effect.exit(store.update(Website, site)))
        yield* inPass(pass, store.patchUnconditionally(Website, { name: "a" }, { merge: { spec: { replicas: 2 } } }))
        yield* inPass(pass, store.deleteUnconditionally(Website, { name: "a" }))
        yield* inPass(pass, Effect.exit(store.deleteUnconditionally(Website, { name: "a" })))
        assert.deepStrictEqual(heard, [
          "acknowledged a 1 changed",
          "acknowledged a 2 changed",
          "acknowledged a 3 changed",
          "conflicted a 1",
          "acknowledged a 3 unchanged",
          "acknowledged a 3 removed"
        ])
        assert.strictEqual(pass.calls, 7)
      }))

    it.effect("[E10] a write that is interrupted in flight is unknown to its pass", () =>
      Effect.gen(function*() {
        const sent = yield* Deferred.make<void>()
        const store = yield* over({
          write: () => Effect.andThen(Deferred.succeed(sent, undefined), Effect.never)
        })
        const { heard, pass } = makePass({})
        const fiber = yield* Effect.forkChild(inPass(pass, store.create(Website, input("a"))))
        yield* Deferred.await(sent)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(heard, ["unknown a"])
      }))

    it.effect("a dry run is no write of the pass", () =>
      Effect.gen(function*() {
        const { store } = yield* counting
        const { heard, pass } = makePass({})
        yield* inPass(pass, store.create(Website, input("a"), { dryRun: true }))
        assert.deepStrictEqual(heard, [])
      }))

    it.effect("every write carries the fence of its fiber, also through a service that captured the store", () =>
      Effect.gen(function*() {
        const { store } = yield* counting
        yield* store.fence("leader", 5)
        const write = store.create(Website, input("a"))
        const error = yield* Effect.flip(Effect.provideService(write, Pass.Fence, { lease: "leader", epoch: 4 }))
        assert.strictEqual(error.reason._tag, "Fenced")
        yield* Effect.provideService(write, Pass.Fence, { lease: "leader", epoch: 5 })
      }))
  })

  describe("a lost reply", () => {
    const losing = (applied: boolean) =>
      over({}, (driver) => ({
        write: (at, write, options) =>
          Effect.flatMap(applied ? driver.write(at, write, options) : Effect.void, () =>
            Effect.fail(StoreError.make(
              { operation: write.op, kind: "Website.example.dev", key: { namespace: "default", name: "a" } },
              new StoreError.UnknownOutcome({ why: "connection reset", writeId: options.writeId })
            )))
      }))

    it.effect("[S1] is asked about once: applied gives the object, and the pass hears of it", () =>
      Effect.gen(function*() {
        const store = yield* losing(true)
        const { heard, pass } = makePass({})
        const site = yield* inPass(pass, store.create(Website, input("a")))
        assert.strictEqual(site.metadata.generation, 1)
        assert.deepStrictEqual(heard, ["acknowledged a 1 changed"])
      }))

    it.effect("[S1] not applied is Unavailable, which says so", () =>
      Effect.gen(function*() {
        const store = yield* losing(false)
        const error = yield* Effect.flip(store.create(Website, input("a")))
        assert.deepStrictEqual([error.reason._tag, error.applied], ["Unavailable", "no"])
      }))

    it.effect("[S1] of a delete stays an unknown outcome, to the caller and to the pass", () =>
      Effect.gen(function*() {
        const store = yield* losing(true)
        yield* store.create(Website, input("a"))
        const { heard, pass } = makePass({})
        const error = yield* Effect.flip(inPass(pass, store.deleteUnconditionally(Website, { name: "a" })))
        assert.deepStrictEqual([error.reason._tag, error.applied], ["UnknownOutcome", "unknown"])
        assert.deepStrictEqual(heard, ["unknown a"])
      }))
  })

  describe("decoding", () => {
    it.effect("a typed object is decoded once a revision: every reader gets the same one", () =>
      Effect.gen(function*() {
        const { store } = yield* counting
        const made = yield* store.create(Dated, { metadata: { name: "a" }, spec: { at: new Date(0), hosts: ["x"] } })
        const read = yield* store.get(Dated, { name: "a" })
        assert.strictEqual(read, made)
        assert.strictEqual((yield* store.list(Dated)).items[0], made)
        const batches = yield* Stream.runCollect(Stream.take(store.watch(Dated), 1))
        const [event] = batches.flat()
        assert.strictEqual(event?._tag === "Added" ? event.object : undefined, made)
        assert.instanceOf(read.spec.at, Date)
      }))

    it.effect("[S10] decoded objects are frozen, all the way down", () =>
      Effect.gen(function*() {
        const { store } = yield* counting
        const made = yield* store.create(Dated, { metadata: { name: "a" }, spec: { at: new Date(0), hosts: ["x"] } })
        for (const part of [made, made.metadata, made.spec, made.spec.hosts]) assert.isTrue(Object.isFrozen(part))
      }))

    it.effect("an object of a kind without transformations is the stored object itself", () =>
      Effect.gen(function*() {
        const { store } = yield* counting
        const made = yield* store.create(Website, input("a"))
        const stored = yield* store.driver.get(Website.address, keyOf("a"), { consistency: "any" })
        assert.strictEqual<object>(made, stored)
      }))

    it.effect("an update of an object that was read asks the store once", () =>
      Effect.gen(function*() {
        const { calls, store } = yield* counting
        const made = yield* store.create(Website, input("a"))
        calls.length = 0
        yield* store.update(Website, { ...made, spec: { host: "y", replicas: 2 } })
        assert.deepStrictEqual(calls, ["write update"])
      }))
  })

  describe("conditions", () => {
    it.effect("[S2] the transition time moves with the status, and with nothing else", () =>
      Effect.gen(function*() {
        const { store } = yield* counting
        const site = yield* store.create(Website, input("a"))
        const status = (ready: number, status: string) => ({ ready, conditions: [{ type: "Ready", status }] })
        const first = yield* store.updateStatus(Website, site, status(0, "False"))
        yield* TestClock.adjust("1 hour")
        const same = yield* store.updateStatus(Website, first, status(1, "False"))
        yield* TestClock.adjust("1 hour")
        const moved = yield* store.updateStatus(Website, same, status(1, "True"))
        const times = [first, same, moved].map((site) => site.status?.conditions?.[0]?.lastTransitionTime)
        assert.deepStrictEqual(times, ["1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1970-01-01T02:00:00Z"])
      }))

    it.effect("[S2] Condition.List is stamped with time and generation, and the same conditions again write nothing", () =>
      Effect.gen(function*() {
        const Conditioned = Kind.make({
          group: "example.dev",
          version: "v1",
          kind: "Conditioned",
          spec: Schema.Struct({}),
          status: Schema.Struct({ conditions: Condition.List })
        })
        const { store } = yield* counting
        const made = yield* store.create(Conditioned, { metadata: { name: "a" }, spec: {} })
        const first = yield* store.updateStatus(Conditioned, made, { conditions: [Condition.ready()] })
        yield* TestClock.adjust("1 hour")
        const again = yield* store.updateStatus(Conditioned, first, { conditions: [Condition.ready()] })
        assert.strictEqual(again.metadata.resourceVersion, first.metadata.resourceVersion)
        const [ready] = first.status?.conditions ?? []
        assert.deepStrictEqual([ready?.lastTransitionTime, ready?.observedGeneration], ["1970-01-01T00:00:00Z", 1])
      }))

    it.effect("what the status does not declare is not stamped", () =>
      Effect.gen(function*() {
        const { store } = yield* counting
        const site = yield* store.create(Website, input("a"))
        const ready = yield* store.updateStatus(Website, site, {
          ready: 1,
          conditions: [{ type: "Ready", status: "True" }]
        })
        assert.deepStrictEqual(Object.keys(ready.status ?? {}), ["ready", "conditions"])
        assert.isFalse("observedGeneration" in (ready.status?.conditions?.[0] ?? {}))
      }))
  })
})

// ---------------------------------------------------------------------------------------------------------------------

const keyOf = (name: string): Resource.Key => ({ namespace: "default", name })

const raw = (object: Resource.Any): Resource.Raw => object as Resource.Raw // of a kind without transformations

/** A store over a memory driver of which some calls are replaced. */
const over = (
  replaced: Partial<StoreDriver.Service>,
  wrap: (driver: StoreDriver.Service) => Partial<StoreDriver.Service> = () => ({})
) => Effect.map(MemoryStore.make(), (driver) => Store.make({ ...driver, ...replaced, ...wrap(driver) }))

/** A store over memory, and the calls that reach it. */
const counting = Effect.gen(function*() {
  const calls: Array<string> = []
  const note = <A>(call: string, effect: A): A => {
    calls.push(call)
    return effect
  }
  const store = yield* over({}, (driver) => ({
    get: (at, key, options) => note("get", driver.get(at, key, options)),
    list: (at, options) => note("list", driver.list(at, options)),
    write: (at, write, options) => note(`write ${write.op}`, driver.write(at, write, options))
  }))
  return { calls, store }
})

const inPass = <A, E, R>(pass: Pass.Pass, effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(effect, Pass.Current, pass)

const makePass = (reader: Partial<Pass.Reader>) => {
  const heard: Array<string> = []
  const pass: Pass.Pass = {
    registration: "websites",
    request: { store: "default", kind: "Website.example.dev", namespace: "default", name: "a" },
    number: 1,
    causes: [],
    otherCauses: 0,
    calls: 0,
    reader: { get: () => undefined, list: () => undefined, fetched: () => {}, ...reader },
    writes: {
      acknowledged: (_, __, key, { changed, object, removed }) => {
        const what = removed ? "removed" : changed ? "changed" : "unchanged"
        heard.push(`acknowledged ${key.name} ${object.metadata.resourceVersion} ${what}`)
      },
      unknown: (_, __, key) => heard.push(`unknown ${key.name}`),
      conflicted: (_, __, key, revision) => heard.push(`conflicted ${key.name} ${revision}`)
    }
  }
  return { heard, pass }
}
