import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { Controller, Kind, Outcome, type Pass, Reconciler, Store, type StoreError } from "setpoint"
import * as GatedDriver from "./support/gatedDriver.ts"

const Website = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Website",
  spec: Schema.Struct({ host: Schema.String }),
  status: Schema.Struct({ ready: Schema.Int })
})

const Server = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Server",
  spec: Schema.Struct({ port: Schema.Int })
})

const blog = { metadata: { name: "blog" }, spec: { host: "a.example" } }

/** Makes a server where it finds none, and says how many it found. */
const makesOne = Effect.gen(function*() {
  const { items } = yield* Store.list(Server)
  if (items.length === 0) yield* Store.create(Server, { metadata: { generateName: "server-" }, spec: { port: 1 } })
  return items.length
})

/** A Controller over a gated driver; `passes` tells the start of each pass. */
const world = Effect.gen(function*() {
  const gate = yield* GatedDriver.make
  const passes = yield* Queue.unbounded<Pass.Pass>()
  const ends = yield* Queue.unbounded<Controller.End>()
  const context = yield* Layer.build(Layer.provideMerge(
    Controller.layer({ events: false }),
    GatedDriver.layer(gate)
  )).pipe(Effect.provideService(Controller.Observer, {
    passStarted: (pass) => void Queue.offerUnsafe(passes, pass),
    passEnded: (_, end) => void Queue.offerUnsafe(ends, end)
  }))
  return {
    gate,
    passes,
    ends,
    controller: Context.get(context, Controller.Controller),
    store: Context.get(context, Store.Store),
    provide: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provideContext(effect, context)
  }
})

describe("reads in a pass", () => {
  it.effect("[E10] a read is answered from a cache that is full, synced and covers it, and no store call is made", () =>
    Effect.gen(function*() {
      const { controller, ends, gate, provide, store } = yield* world
      yield* store.create(Website, blog)
      yield* store.create(Server, { metadata: { name: "one", labels: { of: "blog" } }, spec: { port: 1 } })
      const seen: Array<unknown> = []
      yield* provide(controller.register(Reconciler.make(Website, {
        owns: [Server],
        reconcile: Effect.fnUntraced(function*(request) {
          seen.push((yield* Store.get(Website, request)).spec.host)
          seen.push((yield* Store.list(Server, { selector: "of=blog" })).items.length)
          seen.push((yield* Store.list(Server, { namespace: "default" })).items.length)
          seen.push(yield* Effect.isSuccess(Store.get(Server, { name: "none" })))
        })
      })))
      assert.strictEqual(yield* Queue.take(ends), "Done")
      assert.deepStrictEqual(seen, ["a.example", 1, 1, false])
      assert.deepStrictEqual(gate.reads, [])
    }))

  it.effect("[E10] metadata-only, transformed and narrower caches do not answer; the store does", () =>
    Effect.gen(function*() {
      const { controller, ends, gate, provide, store } = yield* world
      yield* store.create(Website, blog)
      yield* store.create(Server, { metadata: { name: "one" }, spec: { port: 1 } })
      const run = (
        name: string,
        owned: Reconciler.Owned,
        read: Effect.Effect<unknown, StoreError.StoreError, Store.Store>
      ) =>
        Effect.scoped(Effect.gen(function*() {
          gate.reads.length = 0
          yield* provide(controller.register(Reconciler.make(Website, {
            name,
            owns: [owned],
            reconcile: () => read.pipe(Effect.as(Outcome.done))
          })))
          assert.strictEqual(yield* Queue.take(ends), "Done")
          return gate.reads.slice()
        }))
      const get = Store.get(Server, { name: "one" })
      const all = Store.list(Server)
      assert.deepStrictEqual(yield* run("a", Reconciler.own(Server, { metadataOnly: true }), get), [
        "get Server default/one"
      ])
      assert.deepStrictEqual(
        yield* run("b", Reconciler.own(Server, { transform: { name: "same", f: (object) => object } }), get),
        ["get Server default/one"]
      )
      assert.deepStrictEqual(yield* run("c", Reconciler.own(Server, { namespace: "other" }), get), [
        "get Server default/one"
      ])
      assert.deepStrictEqual(yield* run("d", Reconciler.own(Server, { namespace: "default" }), get), [])
      assert.deepStrictEqual(yield* run("e", Reconciler.own(Server, { namespace: "default" }), all), ["list Server *"])
      assert.deepStrictEqual(yield* run("f", Reconciler.own(Server, { selector: "a=b" }), all), ["list Server *"])
      assert.deepStrictEqual(
        yield* run("g", Reconciler.own(Server, { selector: "a=b" }), Store.list(Server, { selector: "a in (b)" })),
        []
      )
      assert.deepStrictEqual(yield* run("h", Reconciler.own(Server), Store.latest(Server, { name: "one" })), [
        "get Server default/one"
      ])
    }))

  it.effect("[E10] a cache that is not synced does not answer", () =>
    Effect.gen(function*() {
      const { controller, ends, gate, provide, store } = yield* world
      yield* store.create(Website, blog)
      yield* store.create(Server, { metadata: { name: "one" }, spec: { port: 1 } })
      const driver = gate.driver
      const held: typeof driver = {
        ...driver,
        list: (at, options) => (at.kind === "Server" ? Effect.never : driver.list(at, options))
      }
      const slow = Store.make(held, { name: "slow" })
      yield* provide(Effect.provideService(
        controller.register(Reconciler.make(Website, {
          owns: [Reconciler.own(Server, { optional: true })],
          reconcile: () => Store.get(Server, { name: "one" }).pipe(Effect.as(Outcome.done))
        })),
        Store.Store,
        slow
      ))
      assert.strictEqual(yield* Queue.take(ends), "Done")
      assert.deepStrictEqual(gate.reads, ["get Server default/one"])
    }))

  it.effect("[E10] a key is held, without a worker, until the cache has shown what its pass wrote", () =>
    Effect.gen(function*() {
      const { controller, ends, gate, provide, store } = yield* world
      yield* store.create(Website, blog)
      const ports: Array<number> = []
      const registration = yield* provide(controller.register(Reconciler.make(Website, {
        owns: [Server],
        reconcile: Effect.fnUntraced(function*() {
          const { items } = yield* Store.list(Server, { namespace: "default" })
          ports.push(items.length)
          if (items.length === 0) {
            yield* Store.create(Server, { metadata: { generateName: "server-" }, spec: { port: 1 } })
          }
        })
      })))
      yield* registration.synced
      gate.hold("Server")
      assert.strictEqual(yield* Queue.take(ends), "Done")
      yield* registration.enqueue({ name: "blog" })
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual((yield* registration.probe({ name: "blog" }))?.place, "held")
      assert.strictEqual((yield* registration.status).running, 0)
      yield* gate.release("Server")
      assert.strictEqual(yield* Queue.take(ends), "Done")
      assert.deepStrictEqual(ports, [0, 1])
      assert.strictEqual((yield* store.list(Server)).items.length, 1)
    }))

  it.effect("[E10] after 10 seconds the next pass reads the store, and what was remembered is dropped when it ends", () =>
    Effect.gen(function*() {
      const { controller, ends, gate, provide, store } = yield* world
      yield* store.create(Website, blog)
      let created = false
      const found: Array<number> = []
      const registration = yield* provide(controller.register(Reconciler.make(Website, {
        owns: [Server],
        reconcile: Effect.fnUntraced(function*() {
          found.push((yield* Store.list(Server)).items.length)
          if (!created) yield* Store.create(Server, { metadata: { name: "one" }, spec: { port: 1 } })
          created = true
        })
      })))
      yield* registration.synced
      gate.hold("Server")
      yield* Queue.take(ends)
      yield* registration.enqueue({ name: "blog" })
      yield* TestClock.adjust("9999 millis")
      assert.strictEqual((yield* registration.probe({ name: "blog" }))?.place, "held")
      yield* TestClock.adjust("1 millis")
      yield* Queue.take(ends)
      assert.deepStrictEqual(gate.reads, ["list Server *"])
      yield* registration.enqueue({ name: "blog" }) // dropped: the cache answers again, however old it is
      yield* Queue.take(ends)
      assert.deepStrictEqual(found, [0, 1, 0])
      assert.deepStrictEqual(gate.reads, ["list Server *"])
    }))

  it.effect("[E10] a delete holds the key until the cache has lost the object", () =>
    Effect.gen(function*() {
      const { controller, ends, gate, provide, store } = yield* world
      yield* store.create(Website, blog)
      const server = yield* store.create(Server, { metadata: { name: "one" }, spec: { port: 1 } })
      const found: Array<number> = []
      const registration = yield* provide(controller.register(Reconciler.make(Website, {
        owns: [Server],
        reconcile: Effect.fnUntraced(function*() {
          const { items } = yield* Store.list(Server)
          found.push(items.length)
          for (const item of items) yield* Store.delete(Server, item)
        })
      })))
      yield* registration.synced
      gate.hold("Server")
      yield* Queue.take(ends)
      yield* registration.enqueue({ name: "blog" })
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* registration.probe({ name: "blog" }))?.place, "held")
      yield* gate.release("Server")
      yield* Queue.take(ends)
      assert.deepStrictEqual(found, [1, 0])
      assert.strictEqual(server.metadata.name, "one")
    }))

  it.effect("[E10] after an unknown outcome the next pass reads the store at once", () =>
    Effect.gen(function*() {
      const { controller, ends, gate, provide, store } = yield* world
      yield* store.create(Website, blog)
      const registration = yield* provide(controller.register(Reconciler.make(Website, {
        owns: [Server],
        retry: undefined,
        reconcile: () => Effect.asVoid(makesOne)
      })))
      yield* registration.synced
      gate.hold("Server")
      gate.loseReply("Server")
      assert.strictEqual(yield* Queue.take(ends), "Failed")
      yield* TestClock.adjust("6 millis")
      assert.strictEqual(yield* Queue.take(ends), "Done")
      assert.deepStrictEqual(gate.reads, ["list Server *"])
      assert.strictEqual((yield* store.list(Server)).items.length, 1)
    }))

  it.effect("[E10] where that pass fails before it has read, its retry reads the store too", () =>
    Effect.gen(function*() {
      const { controller, ends, gate, provide, store } = yield* world
      yield* store.create(Website, blog)
      let passes = 0
      const registration = yield* provide(controller.register(Reconciler.make(Website, {
        owns: [Server],
        reconcile: Effect.fnUntraced(function*() {
          if (++passes === 2) return yield* Effect.fail("a test")
          yield* makesOne
        })
      })))
      yield* registration.synced
      gate.hold("Server")
      gate.loseReply("Server")
      assert.strictEqual(yield* Queue.take(ends), "Failed")
      yield* TestClock.adjust("6 millis")
      assert.strictEqual(yield* Queue.take(ends), "Failed")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Queue.take(ends), "Done")
      assert.deepStrictEqual(gate.reads, ["list Server *"])
      assert.strictEqual((yield* store.list(Server)).items.length, 1)
    }))

  it.effect("[E10] what that pass found at the store is awaited from the cache: the next one does not see less", () =>
    Effect.gen(function*() {
      const { controller, ends, gate, provide, store } = yield* world
      yield* store.create(Website, blog)
      const found: Array<number> = []
      const registration = yield* provide(controller.register(Reconciler.make(Website, {
        owns: [Server],
        reconcile: Effect.fnUntraced(function*() {
          const { items } = yield* Store.list(Server)
          found.push(items.length)
          if (items.length > 0) return
          yield* Store.create(Server, { metadata: { generateName: "server-" }, spec: { port: 1 } })
        })
      })))
      yield* registration.synced
      gate.hold("Server")
      gate.loseReply("Server")
      assert.strictEqual(yield* Queue.take(ends), "Failed")
      yield* TestClock.adjust("6 millis")
      assert.strictEqual(yield* Queue.take(ends), "Done")
      yield* registration.enqueue({ name: "blog" })
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* registration.probe({ name: "blog" }))?.place, "held")
      yield* gate.release("Server")
      assert.strictEqual(yield* Queue.take(ends), "Done")
      assert.deepStrictEqual(found, [0, 1, 1])
    }))

  it.effect("[E10] within a pass, reads of a kind that it wrote go to the store", () =>
    Effect.gen(function*() {
      const { controller, ends, gate, provide, store } = yield* world
      yield* store.create(Website, blog)
      const found: Array<number> = []
      yield* provide(controller.register(Reconciler.make(Website, {
        owns: [Server],
        reconcile: Effect.fnUntraced(function*() {
          found.push((yield* Store.list(Server)).items.length)
          yield* Store.ensure(Server, { name: "one" }, () => ({ metadata: {}, spec: { port: 1 } }))
          found.push((yield* Store.list(Server)).items.length)
        })
      })))
      yield* Queue.take(ends)
      assert.deepStrictEqual(found, [0, 1])
      assert.include(gate.reads, "list Server *")
    }))

  it.effect("[E10] what no cache covers is not remembered: the key is not held", () =>
    Effect.gen(function*() {
      const { controller, ends, provide, store } = yield* world
      yield* store.create(Website, blog)
      const registration = yield* provide(controller.register(Reconciler.make(Website, {
        reconcile: () =>
          Store.ensure(Server, { name: "one" }, () => ({ metadata: {}, spec: { port: 1 } })).pipe(
            Effect.as(Outcome.done)
          )
      })))
      yield* Queue.take(ends)
      yield* registration.enqueue({ name: "blog" })
      assert.strictEqual(yield* Queue.take(ends), "Done")
    }))

  it.effect("[E10] a service that captured Store when its Layer was built, and child fibers, read as the pass does", () =>
    Effect.gen(function*() {
      const { controller, ends, gate, provide, store } = yield* world
      yield* store.create(Website, blog)
      yield* store.create(Server, { metadata: { name: "one" }, spec: { port: 1 } })
      yield* provide(controller.register(Reconciler.make(Website, {
        owns: [Server],
        reconcile: () =>
          Effect.all([store.get(Server, { name: "one" }), store.list(Server)], { concurrency: 2 }).pipe(
            Effect.as(Outcome.done)
          )
      })))
      assert.strictEqual(yield* Queue.take(ends), "Done")
      assert.deepStrictEqual(gate.reads, [])
    }))
})

describe("hot loops", () => {
  it.effect("[E11] after ten self-caused passes that wrote, the key is reported and spaced, until another cause", () =>
    Effect.gen(function*() {
      const { controller, ends, passes, provide, store } = yield* world
      yield* store.create(Website, blog)
      let n = 0
      const registration = yield* provide(controller.register(Reconciler.make(Website, {
        predicate: () => true,
        reconcile: Effect.fnUntraced(function*(request) {
          const site = yield* Store.get(Website, request)
          yield* Store.updateStatus(Website, site, { ready: ++n })
        })
      })))
      for (let i = 0; i < 11; i++) yield* Queue.take(ends) // the first pass, and ten that it causes
      yield* TestClock.adjust("999 millis")
      assert.strictEqual(n, 11)
      assert.strictEqual((yield* registration.probe({ name: "blog" }))?.place, "held")
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(n, 12) // the next is 2 s away
      yield* TestClock.adjust("1999 millis")
      assert.strictEqual(n, 12)
      yield* registration.enqueue({ name: "blog" }) // another cause: at once
      yield* Stream.fromQueue(passes).pipe(Stream.take(13), Stream.runDrain)
      yield* TestClock.adjust("1 millis")
      assert.isAtLeast(n, 13)
    }))

  it.effect("[E11] requeues alone, with a write each, are a hot loop too; without a write they are none", () =>
    Effect.gen(function*() {
      const { controller, provide, store } = yield* world
      yield* store.create(Website, blog)
      let n = 0
      yield* provide(controller.register(Reconciler.make(Website, {
        reconcile: Effect.fnUntraced(function*() {
          n++
          return Outcome.requeue
        })
      })))
      yield* TestClock.adjust("5 minutes")
      assert.isAtLeast(n, 12)
    }))
})
