/**
 * Races of dynamic watches under a controlled scheduler: what runs next, and when a store answers, is drawn from a seed.
 * Each is one that kro has published or that can be read in it.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import {
  Controller,
  DynamicController,
  Informer,
  InstanceWatcher,
  MemoryStore,
  Reconciler,
  Store,
  type StoreDriver,
  StoreError,
  WatchManager
} from "setpoint"
import { Palette, Server, Website, Zone } from "./support/engine.ts"
import { App, compare, Config, Output, reconcilers, Total } from "./support/tracked.ts"
import * as World from "./support/world.ts"

const seeds = process.env.SETPOINT_NIGHTLY === "1" ? 1_500 : 100

describe("races", () => {
  it("[D3] [K18] [K71] release against acquire: who asked last is live, whoever let go meanwhile", () => {
    everySeed((race) =>
      Effect.gen(function*() {
        const watching = new Set(["a"]) // from here on one lets go while the other asks
        const passes: Array<string> = []
        const websites = Reconciler.make(Website, {
          reconcile: Effect.fnUntraced(function*({ name }) {
            passes.push(name)
            if (!watching.has(name)) return
            yield* InstanceWatcher.watch({ kind: Palette, name: "red" })
            yield* Effect.ignore(Store.get(Palette, { name: "red" }))
          })
        })
        const { controller, store } = race
        yield* controller.register(websites)
        for (let round = 0; round < 8; round++) {
          for (const name of race.below(2) === 0 ? ["a", "b"] : ["b", "a"]) {
            if (!watching.delete(name)) watching.add(name)
            yield* controller.enqueue("websites", { name })
            yield* race.turns(race.below(3) * race.below(12))
          }
          yield* Effect.sleep("1 minute")
          passes.length = 0
          yield* store.ensure(Palette, { name: "red" }, (known) => ({
            metadata: { ...known?.metadata },
            spec: { color: String(round) }
          }))
          yield* Effect.sleep("1 minute")
          assert.deepStrictEqual(passes.toSorted(), [...watching].toSorted())
        }
        assert.strictEqual(race.open(), watching.size === 0 ? 1 : 2)
      })
    )
  })

  it("[D2] [K53] [K69] a pass in flight against its deregistration: nothing is watched and nothing runs after it", () => {
    everySeed((race) =>
      Effect.gen(function*() {
        const { controller, store } = race
        let ended = false
        const late: Array<string> = []
        const websites = Reconciler.make(Website, {
          track: race.below(2) === 0,
          reconcile: Effect.fnUntraced(function*({ name }) {
            if (ended) late.push(`${name} began`)
            yield* InstanceWatcher.watch({ kind: Palette, name })
            yield* Effect.ignore(Store.get(Palette, { name }))
            yield* race.turns(race.below(20))
            if (ended) late.push(`${name} went on`)
            yield* Store.list(Server, { selector: `app=${name}` })
          })
        })
        const scope = yield* Scope.make()
        yield* Scope.provide(controller.register(websites, { drain: race.below(2) * 2 }), scope)
        for (const name of ["a", "b", "c", "d", "e"]) yield* controller.enqueue("websites", { name })
        yield* race.turns(race.below(100))
        yield* Scope.close(scope, Exit.void)
        ended = true
        yield* store.create(Palette, { metadata: { name: "a" }, spec: { color: "#f00" } })
        yield* Effect.sleep("1 minute")
        assert.deepStrictEqual(late, [])
        assert.strictEqual(race.open(), 0)
      })
    )
  })

  it("registration against registration and deregistration of one name: the last one stands, and alone", () => {
    everySeed((race) =>
      Effect.gen(function*() {
        const { dynamic, store } = race
        const passes: Array<string> = []
        const reconciler = (version: string) =>
          Reconciler.make(Website, {
            owns: race.below(2) === 0 ? [Server] : [],
            reconcile: ({ name }) =>
              Effect.sync(() => passes.push(`${version} ${name}`)).pipe(
                Effect.andThen(InstanceWatcher.watch({ kind: Palette, name: "red" }))
              )
          })
        yield* store.create(Website, { metadata: { name: "a" }, spec: { host: "a" } })
        const some = (i: number) =>
          Effect.andThen(
            race.turns(race.below(100)),
            race.below(3) === 0
              ? dynamic.deregister("websites")
              : Effect.ignore(dynamic.register(reconciler(String(i))))
          )
        yield* Effect.forEach([1, 2, 3, 4, 5, 6], some, { concurrency: "unbounded" })
        yield* dynamic.register(reconciler("last"))
        yield* Effect.sleep("1 minute")
        assert.isTrue(passes.includes("last a"))
        passes.length = 0
        yield* store.create(Palette, { metadata: { name: "red" }, spec: { color: "#f00" } })
        yield* Effect.sleep("1 minute")
        assert.deepStrictEqual(passes, ["last a"])
        yield* dynamic.deregister("websites")
        yield* Effect.sleep("1 minute")
        assert.strictEqual(race.open(), 0)
        assert.deepStrictEqual(yield* dynamic.names, [])
      })
    )
  })

  for (const mode of ["tracked", "asked first"] as const) {
    it(`[D1] [D6] reads that are ${mode}, while stores answer in any order and fail: the world ends as a full re-run`, () => {
      everySeed((race) =>
        Effect.gen(function*() {
          const { controller, store } = race
          for (const reconciler of reconcilers(mode)) yield* controller.register(reconciler)
          const bystander = Reconciler.make(Zone, {
            reconcile: () => Effect.void,
            watches: [Reconciler.watch(Config, () => []), Reconciler.watch(Output, () => [])]
          })
          if (race.below(2) === 0) yield* controller.register(bystander) // its caches answer reads, too
          yield* store.create(Total, { metadata: { name: "x" }, spec: {} })
          const pick = <A>(items: readonly [A, ...Array<A>]): A => items[race.below(items.length)] ?? items[0]
          race.fail(12)
          for (let i = 0; i < 25; i++) {
            const [app, config] = [pick(["a", "b"]), pick(["k", "l"])]
            if (race.below(5) === 0) yield* Effect.ignore(store.deleteUnconditionally(Config, { name: config }))
            if (race.below(5) === 0) yield* Effect.ignore(store.deleteUnconditionally(Output, { name: app }))
            if (race.below(4) === 0) yield* Effect.ignore(store.deleteUnconditionally(App, { name: app }))
            yield* store.ensure(Config, { name: config }, (known) => ({
              metadata: { ...known?.metadata, labels: { tone: pick(["warm", "cold"]) } },
              data: { value: race.below(4), next: pick(["k", "l"]) }
            }))
            if (race.below(3) === 0) {
              yield* store.ensure(App, { name: app }, (known) => ({
                metadata: { ...known?.metadata },
                spec: { config, tone: pick(["warm", "cold"]) }
              }))
            }
            yield* race.turns(race.below(60))
            if (race.below(8) === 0) yield* Effect.sleep("1 second")
          }
          race.fail(0)
          yield* Effect.sleep("20 minutes")
          yield* compare(store)
        })
      )
    })
  }

  it("[D3] [K19] [K21] a time-out against a second owner: who was given an informer has a live one, and none is left", () => {
    everySeed((race) =>
      Effect.gen(function*() {
        const manager = yield* WatchManager.make()
        const slow: StoreDriver.Service = {
          ...race.driver,
          list: (at, options) => Effect.delay(race.driver.list(at, options), 100)
        }
        const use = Effect.gen(function*() {
          const informer = yield* WatchManager.acquire(manager, { name: "slow", driver: slow }, Palette.address, {
            syncTimeout: 95 + race.below(10)
          })
          for (let i = 0; i < race.below(4); i++) {
            assert.isTrue(WatchManager.informers(manager).includes(informer))
            assert.notStrictEqual((yield* Informer.health(informer)).state, "Closed")
            yield* Effect.sleep(race.below(20))
          }
        })
        const owner = () =>
          Effect.delay(
            Effect.catchTag(Effect.scoped(use), "WatchManager/NotSynced", () => Effect.void),
            race.below(120)
          )
        yield* Effect.all(Array.from({ length: 6 }, owner), { concurrency: "unbounded" })
        yield* Effect.sleep("1 minute")
        assert.deepStrictEqual(WatchManager.informers(manager), [])
        assert.strictEqual(race.open(), 0)
      })
    )
  })
})

// ---------------------------------------------------------------------------------------------------------------------

interface Race {
  readonly controller: Controller.Controller["Service"]
  readonly dynamic: DynamicController.DynamicController["Service"]
  /** What a user does is answered at once. */
  readonly store: Store.Service
  readonly driver: StoreDriver.Service
  /** How many watches are open. */
  readonly open: () => number
  readonly below: (n: number) => number
  /** One in so many reads and batches of events fails; 0: none. */
  readonly fail: (oneIn: number) => void
  /** Lets others go first, so many times; a time that passes would let all come to rest. */
  readonly turns: (n: number) => Effect.Effect<void>
}

type Services = Controller.Controller | DynamicController.DynamicController | Store.Store | Scope.Scope

/** Runs a race once a seed, in a world of its own, to its end. */
const everySeed = (race: (race: Race) => Effect.Effect<void, unknown, Services>): void => {
  for (let seed = 1; seed <= seeds; seed++) {
    const world = World.make(seed)
    let state = seed
    const below = (n: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return Math.floor(state / 4_294_967_296 * n)
    }
    let exit: Exit.Exit<void, unknown> | undefined = undefined
    const all = Effect.gen(function*() {
      const inner = yield* MemoryStore.make()
      let open = 0
      const counted: StoreDriver.Service = {
        ...inner,
        watch: (at, options) =>
          Stream.unwrap(Effect.as(
            Effect.acquireRelease(Effect.sync(() => open++), () => Effect.sync(() => open--)),
            inner.watch(at, options)
          ))
      }
      let oneIn = 0
      const sometimes = (at: StoreDriver.KindAddress) =>
        Effect.suspend(() => oneIn > 0 && below(oneIn) === 0 ? Effect.fail(unavailable(at)) : Effect.void)
      const driver = world.choices({
        ...counted,
        get: (at, key, options) => Effect.andThen(sometimes(at), counted.get(at, key, options)),
        list: (at, options) => Effect.andThen(sometimes(at), counted.list(at, options)),
        watch: (at, options) => Stream.tap(counted.watch(at, options), () => sometimes(at))
      })
      const layers = Layer.provideMerge(
        DynamicController.layer,
        Controller.layer({ events: false, collector: false, drain: 0 })
      )
      const context = yield* Layer.build(Layer.provideMerge(layers, Layer.succeed(Store.Store, Store.make(driver))))
      yield* Effect.provideContext(
        race({
          controller: Context.get(context, Controller.Controller),
          dynamic: Context.get(context, DynamicController.DynamicController),
          store: Store.make(inner),
          driver,
          open: () => open,
          below,
          fail: (n) => void (oneIn = n),
          turns: (n) => Effect.repeat(Effect.yieldNow, { times: n })
        }),
        Context.merge(yield* Effect.context<Scope.Scope>(), context)
      )
    })
    world.fork(
      Effect.scoped(all).pipe(
        Effect.provide(Logger.layer([])),
        Effect.provideService(Metric.MetricRegistry, new Map()),
        Effect.onExit((end) => Effect.sync(() => void (exit = end)))
      )
    )
    world.runUntil(36_000_000)
    check(seed, exit, world.trace)
  }
}

const unavailable = (at: StoreDriver.KindAddress) =>
  StoreError.make(
    { operation: "read", kind: `${at.kind}.${at.group}`, key: { namespace: "", name: "" } },
    new StoreError.Unavailable({ why: "a test" })
  )

const check = (seed: number, exit: Exit.Exit<void, unknown> | undefined, trace: ReadonlyArray<string>): void => {
  if (exit !== undefined && Exit.isSuccess(exit)) return
  const why = exit === undefined ? "it never ends" : Cause.pretty(exit.cause)
  throw new Error(`seed ${seed}: ${why}\n${trace.slice(-60).join("\n")}`)
}
