import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import { Controller, Kind, MemoryStore, Outcome, Owner, Reconciler, Store, StoreDriver } from "setpoint"
import * as World from "./support/world.ts"

const Website = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Website",
  spec: Schema.Struct({ replicas: Schema.Int }),
  status: Schema.Struct({ ready: Schema.Int })
})

const Server = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Server",
  spec: Schema.Struct({ index: Schema.Int })
})

class Unlucky extends Schema.TaggedError<Unlucky>()("Unlucky", {}) {}

/** Keeps `replicas` servers; the third pass of each process fails, and passes ask to be run again now and then. */
const websites = () => {
  let passes = 0
  return Reconciler.make(Website, {
    owns: [Server],
    reconcile: Effect.fnUntraced(function*(request) {
      if (++passes === 3) return yield* new Unlucky()
      const site = yield* Store.get(Website, request)
      const servers = yield* Store.list(Server, { namespace: request.namespace })
      const mine = servers.items.filter((server) => Owner.isOwnedBy(server, site))
      for (let index = 0; index < site.spec.replicas; index++) {
        yield* Store.ensure(Server, { name: `${request.name}-${index}` }, (known) => ({
          metadata: { ...known?.metadata, ownerReferences: [Owner.reference(site, { controller: true })] },
          spec: { index }
        }))
      }
      for (const server of mine) {
        if (server.spec.index >= site.spec.replicas) yield* Store.delete(Server, server)
      }
      yield* Store.updateStatus(Website, site, { ready: site.spec.replicas })
      return mine.length === site.spec.replicas ? Outcome.requeueAfter("20 seconds") : Outcome.requeue
    })
  })
}

/** What a user does: creates, scales up and down, deletes. */
const user = Effect.gen(function*() {
  yield* Store.create(Website, { metadata: { name: "a" }, spec: { replicas: 2 } })
  yield* Store.create(Website, { metadata: { name: "b" }, spec: { replicas: 1 } })
  yield* Effect.sleep("3 seconds")
  const a = yield* Store.latest(Website, { name: "a" })
  yield* Store.patch(Website, a, { merge: { spec: { replicas: 3 } } }).pipe(Effect.ignore)
  yield* Effect.sleep("30 seconds")
  yield* Store.patchUnconditionally(Website, { name: "a" }, { merge: { spec: { replicas: 1 } } })
  yield* Effect.sleep("1 second")
  yield* Store.deleteUnconditionally(Website, { name: "b" })
})

const run = (seed: number) => {
  const world = World.make(seed)
  const end: Array<string> = []
  world.fork(
    Effect.gen(function*() {
      const driver = yield* MemoryStore.make()
      const store = Layer.provide(Store.layer, Layer.succeed(StoreDriver.StoreDriver, world.choices(driver)))
      const engine = Layer.provideMerge(
        Layer.provideMerge(Controller.layerFor(websites()), Controller.layer({ workers: 2 })),
        store
      )
      yield* Layer.build(engine).pipe(
        Effect.flatMap((context) => Effect.provideContext(user, context)),
        Effect.andThen(Effect.sleep("2 minutes")),
        Effect.provideService(Controller.Observer, {
          passStarted: (pass) =>
            world.note(`start ${pass.request.name} ${pass.causes.map((cause) => cause._tag).join()}`),
          passEnded: (pass, end) => world.note(`end ${pass.request.name} ${end}`)
        }),
        Effect.scoped
      )
      for (const kind of ["Website", "Server"]) {
        const at = (kind === "Website" ? Website : Server).address
        const { items } = yield* driver.list(at, { consistency: "mostRecent" })
        for (const { metadata, spec, status } of items) {
          end.push(JSON.stringify({ kind, name: metadata.name, spec, status }))
        }
      }
      world.note("closed")
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([])), Effect.orDie)
  )
  world.runUntil(600_000)
  return { trace: world.trace, end }
}

const expected = [
  "{\"kind\":\"Website\",\"name\":\"a\",\"spec\":{\"replicas\":1},\"status\":{\"ready\":1}}",
  "{\"kind\":\"Server\",\"name\":\"a-0\",\"spec\":{\"index\":0}}"
]

describe("the seams of a simulator", () => {
  it("the whole engine runs under a synchronous scheduler and clock, and equal choices give equal traces", () => {
    for (const seed of [1, 2, 3]) {
      const first = run(seed)
      const second = run(seed)
      assert.isAbove(first.trace.length, 60)
      assert.strictEqual(first.trace.at(-1)?.endsWith("closed"), true)
      assert.deepStrictEqual(second.trace, first.trace)
      assert.deepStrictEqual(first.end.filter((line) => !line.includes("\"b")), expected)
    }
  })

  it("other choices take another way to the same end", () => {
    const traces = new Set<string>()
    for (let seed = 10; seed < 40; seed++) {
      const { end, trace } = run(seed)
      traces.add(trace.join("\n"))
      assert.deepStrictEqual(end.filter((line) => !line.includes("\"b")), expected)
    }
    assert.isAbove(traces.size, 25)
  })
})
