import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Controller from "setpoint/Controller"
import * as EventRecorder from "setpoint/EventRecorder"
import * as GarbageCollector from "setpoint/GarbageCollector"
import * as Health from "setpoint/Health"
import * as Kind from "setpoint/Kind"
import * as MemoryStore from "setpoint/MemoryStore"
import * as Owner from "setpoint/Owner"
import * as Reconciler from "setpoint/Reconciler"
import type * as Resource from "setpoint/Resource"
import * as Store from "setpoint/Store"
import type * as StoreDriver from "setpoint/StoreDriver"
import * as StoreError from "setpoint/StoreError"

describe("GarbageCollector", () => {
  describe("background", () => {
    it.effect("dependents go after their owner, of other kinds and down the chain", () =>
      Effect.gen(function*() {
        const site = yield* website("blog")
        const web = yield* server("web", [site])
        yield* server("sidecar", [web])
        yield* server("free")
        yield* settled
        yield* Store.delete(Website, site)
        yield* settled
        assert.deepStrictEqual(yield* names, ["free"])
      }).pipe(collected))

    it.effect("dependents stay until the owner's own finalizers are done", () =>
      Effect.gen(function*() {
        const site = yield* website("blog", [], { finalizers: ["example.dev/dns"] })
        yield* server("web", [site])
        yield* Store.delete(Website, site)
        yield* settled
        assert.deepStrictEqual(yield* names, ["blog", "web"])
        yield* release(Website, "blog")
        yield* settled
        assert.deepStrictEqual(yield* names, [])
      }).pipe(collected))

    it.effect("a dependent of several owners loses the reference that dangles, and goes with the last", () =>
      Effect.gen(function*() {
        const site = yield* website("blog")
        const other = yield* website("shop")
        yield* server("web", [site, other])
        yield* Store.delete(Website, site)
        yield* settled
        const web = yield* Store.latest(Server, { name: "web" })
        assert.deepStrictEqual(web.metadata.ownerReferences?.map((owner) => owner.name), ["shop"])
        yield* Store.delete(Website, other)
        yield* settled
        assert.deepStrictEqual(yield* names, [])
      }).pipe(collected))

    it.effect("references go by uid [S7]: the next life of an owner's name holds nothing", () =>
      Effect.gen(function*() {
        const site = yield* website("blog")
        yield* server("web", [site])
        yield* Store.delete(Website, site)
        yield* website("blog")
        yield* settled
        assert.deepStrictEqual(yield* names, ["blog"])
      }).pipe(collected))

    it.effect("what was orphaned before the collector started is found, and what has a living owner is not", () =>
      Effect.gen(function*() {
        const site = yield* website("blog")
        const other = yield* website("shop")
        yield* server("dangling", [site])
        yield* server("held", [other])
        yield* Store.delete(Website, site)
        yield* collecting
        yield* settled
        assert.deepStrictEqual(yield* names, ["shop", "held"])
      }).pipe(Effect.provide(MemoryStore.layer)))

    it.effect("a reference to an owner of a kind that has no objects dangles", () =>
      Effect.gen(function*() {
        const ghost: Resource.Any = {
          apiVersion: "elsewhere.dev/v1",
          kind: "Ghost",
          metadata: { name: "x", namespace: "default", uid: "never", resourceVersion: "1", creationTimestamp: "" }
        }
        yield* server("web", [ghost])
        yield* settled
        assert.deepStrictEqual(yield* names, [])
      }).pipe(collected))
  })

  describe("foreground", () => {
    it.effect("blocking dependents go first, and the owner waits for them", () =>
      Effect.gen(function*() {
        const site = yield* website("blog")
        const web = yield* server("web", [site])
        yield* server("slow", [web], { finalizers: ["example.dev/drain"] })
        yield* settled
        yield* Store.delete(Website, site, { propagation: "foreground" })
        yield* settled
        assert.deepStrictEqual(yield* names, ["blog", "slow", "web"])
        yield* release(Server, "slow")
        yield* after("1 minute")
        assert.deepStrictEqual(yield* names, [])
      }).pipe(collected))

    it.effect("the owner does not wait for dependents that do not block", () =>
      Effect.gen(function*() {
        const site = yield* website("blog")
        const input = yield* Owner.add(inputOf("web", [], { finalizers: ["example.dev/drain"] }), site, {
          block: false
        })
        yield* Store.create(Server, input)
        yield* settled
        yield* Store.delete(Website, site, { propagation: "foreground" })
        yield* settled
        assert.deepStrictEqual(yield* names, ["web"])
        assert.isDefined((yield* Store.latest(Server, { name: "web" })).metadata.deletionTimestamp)
      }).pipe(collected))

    it.effect("owners in a cycle end", () =>
      Effect.gen(function*() {
        const a = yield* server("a")
        const b = yield* server("b", [a])
        const bound = yield* Store.update(Server, yield* Owner.setController(a, b))
        yield* settled
        yield* Store.delete(Server, bound, { propagation: "foreground" })
        yield* settled
        assert.deepStrictEqual(yield* names, [])
      }).pipe(collected))
  })

  describe("orphan", () => {
    it.effect("references are cut first, and the dependents stay", () =>
      Effect.gen(function*() {
        const site = yield* website("blog")
        for (const name of ["a", "b", "c"]) yield* server(name, [site])
        yield* Store.delete(Website, site, { propagation: "orphan" })
        yield* after("1 minute")
        assert.deepStrictEqual(yield* names, ["a", "b", "c"])
        for (const server of (yield* Store.list(Server)).items) {
          assert.deepStrictEqual(server.metadata.ownerReferences ?? [], [])
        }
      }).pipe(collected))

    it.effect("dependents of a kind that the collector had not seen are orphaned too, not deleted", () =>
      Effect.gen(function*() {
        const site = yield* website("blog")
        yield* settled
        yield* server("new", [site])
        yield* Store.delete(Website, site, { propagation: "orphan" })
        yield* after("1 minute")
        assert.deepStrictEqual(yield* names, ["new"])
      }).pipe(collected))
  })

  describe("namespaces", () => {
    it.effect("a namespace is emptied before its object goes, and other namespaces are left alone", () =>
      Effect.gen(function*() {
        const prod = yield* Store.create(Namespace, { metadata: { name: "prod" } })
        yield* website("blog", [], { namespace: "prod", finalizers: ["example.dev/dns"] })
        yield* server("web", [], { namespace: "prod" })
        yield* server("web", [], { namespace: "test" })
        yield* settled
        yield* Store.delete(Namespace, yield* Store.latest(Namespace, prod.metadata))
        yield* settled
        assert.deepStrictEqual(yield* names, ["blog", "web"])
        assert.isTrue(Exit.isSuccess(yield* Effect.exit(Store.latest(Namespace, { name: "prod" }))))
        yield* release(Website, "blog", "prod")
        yield* after("1 minute")
        assert.deepStrictEqual((yield* Store.list(Server)).items.map((one) => one.metadata.namespace), ["test"])
        assert.isTrue(Exit.isFailure(yield* Effect.exit(Store.latest(Namespace, { name: "prod" }))))
      }).pipe(collected))

    it.effect("a cluster-scoped owner holds dependents in any namespace", () =>
      Effect.gen(function*() {
        const zone = yield* Store.create(Zone, { metadata: { name: "eu" } })
        yield* server("one", [zone], { namespace: "prod" })
        yield* server("two", [zone], { namespace: "test" })
        yield* settled
        assert.deepStrictEqual(yield* names, ["one", "two"])
        yield* Store.delete(Zone, zone)
        yield* settled
        assert.deepStrictEqual(yield* names, [])
      }).pipe(collected))

    it.effect("an owner in another namespace counts as absent, and a warning event says so", () =>
      Effect.gen(function*() {
        const site = yield* website("blog", [], { namespace: "prod" })
        yield* settled
        const reference = Owner.reference(site)
        const metadata = { name: "web", namespace: "test", ownerReferences: [reference] }
        yield* Store.create(Server, { metadata })
        yield* settled
        assert.deepStrictEqual(yield* names, ["blog"])
        const events = (yield* Store.list(EventRecorder.Event)).items
        assert.deepStrictEqual(events.map(({ reason, type }) => [type, reason]), [[
          "Warning",
          "OwnerRefInvalidNamespace"
        ]])
      }).pipe(collectedWith(Layer.provideMerge(EventRecorder.layer(), MemoryStore.layer))))
  })

  describe("events", () => {
    it.effect("an event goes an hour after it last happened", () =>
      Effect.gen(function*() {
        const site = yield* website("blog")
        const started = EventRecorder.record(site, { reason: "Started", message: "" })
        yield* started
        yield* after("30 minutes")
        yield* started
        yield* after("45 minutes")
        assert.strictEqual((yield* Store.list(EventRecorder.Event)).items.length, 1)
        yield* after("16 minutes")
        assert.strictEqual((yield* Store.list(EventRecorder.Event)).items.length, 0)
      }).pipe(collectedWith(Layer.provideMerge(EventRecorder.layer(), MemoryStore.layer))))

    it.effect("an object keeps its 100 youngest events", () =>
      Effect.gen(function*() {
        for (let i = 0; i < 120; i++) {
          yield* Store.create(EventRecorder.Event, {
            metadata: { name: `e${i}` },
            involvedObject: { uid: "one" },
            lastTimestamp: new Date(i * 1000).toISOString()
          })
        }
        yield* settled
        const left = (yield* Store.list(EventRecorder.Event)).items.map((event) => Number(event.metadata.name.slice(1)))
        assert.strictEqual(left.length, 100)
        assert.strictEqual(Math.min(...left), 20)
      }).pipe(collected))
  })

  it.effect("two collectors on one store are harmless", () =>
    Effect.gen(function*() {
      yield* collecting
      const site = yield* website("blog")
      const other = yield* website("shop")
      for (let i = 0; i < 20; i++) yield* server(`web-${i}`, i % 2 === 0 ? [site] : [site, other])
      yield* settled
      yield* Store.delete(Website, site, { propagation: "foreground" })
      yield* after("1 minute")
      assert.strictEqual((yield* names).length, 11)
    }).pipe(collected))

  it.effect("what went while its watches were away is found by a new list [S5]", () =>
    Effect.gen(function*() {
      const { driver } = yield* Store.Store
      const gate = yield* Latch.make(true)
      const expiry = yield* Deferred.make<never, StoreError.StoreError>()
      const interrupted: StoreDriver.Service = {
        ...driver,
        watch: (at, options) =>
          Stream.unwrap(Effect.as(Latch.await(gate), driver.watch(at, options))).pipe(
            Stream.interruptWhen(Deferred.isDoneUnsafe(expiry) ? Effect.never : Deferred.await(expiry))
          )
      }
      yield* Effect.forkScoped(GarbageCollector.run(interrupted), { startImmediately: true })
      const site = yield* website("blog")
      yield* server("web", [site])
      yield* settled
      yield* Latch.close(gate)
      yield* Deferred.fail(expiry, expired)
      yield* settled
      yield* Store.delete(Website, site)
      yield* settled
      assert.deepStrictEqual(yield* names, ["web"])
      yield* Latch.open(gate)
      yield* after("1 minute")
      assert.deepStrictEqual(yield* names, [])
    }).pipe(Effect.provide(MemoryStore.layer)))

  it.effect("an owner that its watch has not brought yet is not absent", () =>
    Effect.gen(function*() {
      yield* Effect.forkScoped(GarbageCollector.run(yield* lagging("Website")), { startImmediately: true })
      yield* server("web", [yield* website("blog")])
      yield* after("5 minutes")
      assert.deepStrictEqual(yield* names, ["blog", "web"])
    }).pipe(Effect.provide(MemoryStore.layer)))

  it.effect("a dependent that was released, unknown to the graph, stays", () =>
    Effect.gen(function*() {
      yield* Effect.forkScoped(GarbageCollector.run(yield* lagging("Server")), { startImmediately: true })
      const site = yield* website("blog")
      const web = yield* server("web", [site])
      yield* after("2 minutes")
      yield* Store.update(Server, Owner.release(web, site))
      yield* Store.delete(Website, site)
      yield* after("5 minutes")
      assert.deepStrictEqual(yield* names, ["web"])
    }).pipe(Effect.provide(MemoryStore.layer)))

  it.effect("an owner that cannot be read is not absent", () =>
    Effect.gen(function*() {
      const { driver } = yield* Store.Store
      let isAway = true
      const failing: StoreDriver.Service = {
        ...driver,
        get: (at, key, options) =>
          Effect.suspend(() => isAway ? Effect.fail(unavailable) : driver.get(at, key, options))
      }
      yield* Effect.forkScoped(GarbageCollector.run(failing), { startImmediately: true })
      const site = yield* website("blog")
      yield* server("web", [site])
      yield* Store.delete(Website, site)
      yield* after("1 minute")
      assert.deepStrictEqual(yield* names, ["web"])
      isAway = false
      yield* after("5 minutes")
      assert.deepStrictEqual(yield* names, [])
    }).pipe(Effect.provide(MemoryStore.layer)))

  it.effect("with random objects and deletions nothing dangles in the end, and what a living owner holds stays", () =>
    Effect.forEach(Array.from({ length: runs }, (_, i) => i + 1), (seed) =>
      Effect.gen(function*() {
        yield* collecting
        const alive = yield* disturb(seed)
        yield* after("2 minutes")
        const held = (yield* Store.list(Server)).items.filter((one) => one.metadata.finalizers?.includes("user.dev/x"))
        for (const one of held) {
          const finalizers = one.metadata.finalizers?.filter((name) => name !== "user.dev/x") ?? null
          yield* Store.patchUnconditionally(Server, one.metadata, { merge: { metadata: { finalizers } } })
        }
        yield* after("10 minutes")
        const left = (yield* Store.list(Server)).items
        const uids = new Set(left.map((one) => one.metadata.uid))
        for (const { metadata } of left) {
          assert.isUndefined(metadata.deletionTimestamp, `seed ${seed}: ${metadata.name} never goes`)
          const owners = metadata.ownerReferences ?? []
          assert.isTrue(
            owners.every((owner) => uids.has(owner.uid)),
            `seed ${seed}: ${metadata.name} has a dangling owner`
          )
        }
        const lost = alive.filter((one) => !uids.has(one.metadata.uid)).map((one) => one.metadata.name)
        assert.deepStrictEqual(lost, [], `seed ${seed}: lost although an owner lives`)
      }).pipe(Effect.scoped, Effect.provide(Layer.fresh(MemoryStore.layer))), { discard: true }))

  it.effect("two thousand dependents go with their owner, and nothing is remembered of them", () =>
    Effect.gen(function*() {
      const site = yield* website("blog")
      for (let i = 0; i < 2_000; i++) yield* server(`web-${i}`, [site])
      yield* settled
      const known = Effect.map(Metric.snapshot, (all) => all.find((_) => _.id === "setpoint_collector_objects")?.state)
      assert.deepStrictEqual(yield* known, { value: 2_001 })
      let gone = 0
      const allGone = Stream.runForEachWhile(Store.watch(Server, { bufferSize: 10_000 }), (batch) =>
        Effect.sync(() => {
          gone += batch.filter((event) => event._tag === "Deleted").length
          return gone < 2_000
        }))
      const watching = yield* Effect.forkScoped(allGone, { startImmediately: true })
      yield* Store.delete(Website, site)
      yield* Fiber.join(watching)
      yield* settled
      assert.deepStrictEqual(yield* names, [])
      assert.deepStrictEqual(yield* known, { value: 0 })
    }).pipe(collected, withOwnMetrics))

  it.effect("after a defect it starts anew", () =>
    Effect.gen(function*() {
      const store = yield* Store.Store
      let reads = 0
      const kinds = Effect.suspend(() => ++reads === 1 ? Effect.die("a bug") : store.driver.kinds)
      const buggy = Layer.succeed(Store.Store, { ...store, driver: { ...store.driver, kinds } })
      yield* Layer.build(Layer.provide(GarbageCollector.layer(), buggy))
      const site = yield* website("blog")
      yield* server("web", [site])
      yield* Store.delete(Website, site)
      yield* after("1 minute")
      assert.deepStrictEqual(yield* names, [])
    }).pipe(Effect.provide(MemoryStore.layer)))

  it.effect("where a store's driver collects by itself, the layer does nothing", () =>
    Effect.gen(function*() {
      const store = yield* Store.Store
      const capabilities = { ...store.driver.capabilities, collector: true }
      const collects = Layer.succeed(Store.Store, { ...store, driver: { ...store.driver, capabilities } })
      yield* Layer.build(Layer.provide(GarbageCollector.layer(), collects))
      const site = yield* website("blog")
      yield* server("web", [site])
      yield* Store.delete(Website, site)
      yield* after("1 minute")
      assert.deepStrictEqual(yield* names, ["web"])
    }).pipe(Effect.provide(MemoryStore.layer)))

  it.effect("its state is seen in metrics and health", () =>
    Effect.gen(function*() {
      const site = yield* website("blog")
      yield* server("web", [site])
      yield* Effect.forkScoped(Layer.launch(GarbageCollector.layer()))
      yield* settled
      assert.deepStrictEqual((yield* Health.report).parts.map(({ name, status }) => [name, status]), [
        ["collector default", Health.ready]
      ])
      const values = (yield* Metric.snapshot).map(({ id, state }) => [id, state])
      assert.deepInclude(values, ["setpoint_collector_objects", { value: 2 }])
      yield* Store.delete(Website, site)
      yield* settled
      const after = (yield* Metric.snapshot).map(({ id, state }) => [id, state])
      assert.deepInclude(after, ["setpoint_collector_deleted_total", { count: 1, incremental: true }])
    }).pipe(
      Effect.provide(Layer.merge(Layer.fresh(Health.layer), MemoryStore.layer)),
      withOwnMetrics
    ))

  for (const collector of [true, false]) {
    it.effect(`the first registration on a store starts its collector${collector ? "" : ", unless told not to"}`, () =>
      Effect.gen(function*() {
        const sites = Reconciler.make(Website, { reconcile: () => Effect.void })
        yield* Layer.build(Layer.provide(Controller.layerFor(sites), Controller.layer({ collector })))
        const site = yield* website("blog")
        yield* server("web", [site])
        yield* settled
        yield* Store.delete(Website, site)
        yield* settled
        assert.deepStrictEqual(yield* names, collector ? [] : ["web"])
      }).pipe(Effect.provide(MemoryStore.layer)))
  }

  it.effect("options that cannot work are refused, naming the option", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Layer.build(GarbageCollector.layer({ workers: 0 })))
      assert.strictEqual(error.field, "GarbageCollector.workers")
    }).pipe(Effect.provide(MemoryStore.layer)))
})

const Website = Kind.make({ group: "example.dev", version: "v1", kind: "Website" })
const Server = Kind.make({ group: "example.dev", version: "v1", kind: "Server" })
const Zone = Kind.make({ group: "example.dev", version: "v1", kind: "Zone", scope: "Cluster" })
const Namespace = Kind.make({ group: "", version: "v1", kind: "Namespace", scope: "Cluster" })

const collecting = Effect.flatMap(
  Store.Store,
  ({ driver }) => Effect.forkScoped(GarbageCollector.run(driver), { startImmediately: true })
)

/** The test beside a running collector. */
const collectedWith = <L>(layer: Layer.Layer<L | Store.Store>) => <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.andThen(collecting, self).pipe(Effect.provide(layer))
const collected = collectedWith(MemoryStore.layer)

const withOwnMetrics = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => Effect.provideService(self, Metric.MetricRegistry, new Map()))

/** Every fiber that can run has run so many turns: more than any chain of wake-ups in these tests has links. */
const turns = Effect.repeat(Effect.yieldNow, { times: 200 })

/** Lets time pass, once what is under way is done, and lets what it wakes be done. */
const after = (duration: Duration.Input) => Effect.andThen(turns, Effect.andThen(TestClock.adjust(duration), turns))

/** Until the collector is at rest: kinds that are new are found every 10 seconds. */
const settled = after("11 seconds")

const inputOf = (
  name: string,
  owners: ReadonlyArray<Resource.Any> = [],
  metadata: Resource.MetadataInput = {}
) => ({ metadata: { name, ownerReferences: owners.map((owner) => Owner.reference(owner)), ...metadata } })

const website = (...input: Parameters<typeof inputOf>) => Store.create(Website, inputOf(...input))
const server = (...input: Parameters<typeof inputOf>) => Store.create(Server, inputOf(...input))

const release = <A extends Resource.Any>(kind: Kind.Kind<A>, name: string, namespace = "default") =>
  Store.patchUnconditionally(kind, { namespace, name }, { merge: { metadata: { finalizers: null } } })

/** The store's driver, whose watch of one kind brings everything a minute late. */
const lagging = (kind: string) =>
  Effect.map(Store.Store, ({ driver }): StoreDriver.Service => ({
    ...driver,
    watch: (at, options) =>
      at.kind === kind
        ? Stream.mapEffect(driver.watch(at, options), (batch) => Effect.delay(Effect.succeed(batch), "1 minute"))
        : driver.watch(at, options)
  }))

/** All that is left, Websites first. */
const names = Effect.gen(function*() {
  const lists = [yield* Store.list(Website), yield* Store.list(Server)]
  return lists.flatMap((list) => list.items.map((object) => object.metadata.name))
})

/** Seeds of the random test. */
const runs = process.env.SETPOINT_NIGHTLY === "1" ? 2_000 : 60

/**
 * Creates and deletes at random. Gives what must be there in the end: not deleted, and without owners or with a living
 * one.
 */
const disturb = Effect.fnUntraced(function*(seed: number) {
  let state = seed * 2_654_435_761 % 4_294_967_296
  const below = (n: number) => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return Math.floor(state / 4_294_967_296 * n)
  }
  const all: Array<{ readonly object: Resource.Any; readonly owners: ReadonlyArray<number> }> = []
  const deleted = new Set<number>()
  for (let i = 0; i < 12 + below(12); i++) {
    if (below(3) < 2 || all.length === 0) {
      const owners = [...new Set(Array.from({ length: Math.min(all.length, below(3)) }, () => below(all.length)))]
      const finalizers = below(4) === 0 ? ["user.dev/x"] : []
      const references = owners.map((owner) => Owner.reference(all[owner].object, { block: below(2) === 0 }))
      const object = yield* Store.create(Server, {
        metadata: { name: `s${all.length}`, finalizers, ownerReferences: references }
      })
      all.push({ object, owners })
    } else {
      const victim = below(all.length)
      deleted.add(victim)
      const propagation = (["background", "foreground", "orphan"] as const)[below(3)]
      yield* Effect.ignore(Store.deleteUnconditionally(Server, { name: `s${victim}` }, { propagation }))
    }
    if (below(3) === 0) yield* TestClock.adjust(below(2) === 0 ? 0 : below(30_000))
  }
  const lives: Array<boolean> = []
  for (const [i, { owners }] of all.entries()) {
    lives.push(!deleted.has(i) && (owners.length === 0 || owners.some((owner) => lives[owner])))
  }
  return all.flatMap(({ object }, i) => lives[i] ? [object] : [])
})

const subject = { kind: "Website.example.dev", key: { namespace: "", name: "" } }
const expired = StoreError.make(
  { operation: "watch", ...subject },
  new StoreError.Expired({ why: "of another timeline" })
)
const unavailable = StoreError.make({ operation: "get", ...subject }, new StoreError.Unavailable({ why: "away" }))
