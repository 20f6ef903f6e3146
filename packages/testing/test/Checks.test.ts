/** Each check finds a small wrong reconciler, with the deviations that are stated, and leaves the right one alone. */
import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Bounds from "@setpoint/testing/internal/sim/checks/bounds"
import * as Caches from "@setpoint/testing/internal/sim/checks/caches"
import * as Passes from "@setpoint/testing/internal/sim/checks/passes"
import * as Choices from "@setpoint/testing/internal/sim/choices"
import * as Known from "@setpoint/testing/internal/sim/known"
import * as Loop from "@setpoint/testing/internal/sim/loop"
import { bare, type Spec } from "@setpoint/testing/internal/sim/spec"
import * as World from "@setpoint/testing/internal/sim/world"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import {
  Condition,
  Controller,
  Informer,
  Kind,
  Outcome,
  Owner,
  Pass,
  Reconciler,
  type Request,
  Store,
  StoreDriver
} from "setpoint"

const spec = Schema.Struct({ size: Schema.Int })
const App = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "App",
  spec,
  status: Schema.Struct({
    note: Schema.optionalKey(Schema.String),
    conditions: Schema.optionalKey(Condition.List)
  })
})
type App = Kind.Resource<typeof App>
const Part = Kind.make({ group: "example.dev", version: "v1", kind: "Part", spec })

type Reconcile<R> = (request: Request.Request) => Effect.Effect<Outcome.Outcome | void, unknown, R>

const layerOf = <R>(reconciler: Reconciler.Reconciler<R>, options?: Controller.Options) =>
  Controller.layerFor(reconciler).pipe(Layer.provide(Controller.layer(options)))

const reconciles = <R>(reconcile: Reconcile<R>) => layerOf(Reconciler.make(App, { owns: [Part], reconcile }))

const partOf = Effect.fnUntraced(function*(app: App) {
  const { name } = app.metadata
  const owned = yield* Owner.setController({ metadata: { name }, spec: app.spec }, app)
  return (yield* Store.ensure(Part, { name }, () => owned)).object
})

const keeps = reconciles(Effect.fnUntraced(function*(request) {
  yield* partOf(yield* Store.get(App, request))
}))

const create = Sim.create(App, { metadata: { name: "a" }, spec: { size: 1 } })
const resize = Sim.edit(App, { name: "a" }, () => ({ spec: { size: 2 } }))
const remove = Sim.remove(App, { name: "a" })

const hasPart = (app: App, world: Sim.World) => world.get(Part, app.metadata.name)?.spec.size === app.spec.size

const quick = { depth: 1, random: 5 } as const

/** The law, with how many deviations, and what it says. */
const broken = <A, S = never>(options: Sim.Options<A, S>) =>
  Effect.map(
    Effect.flip(Sim.check({ ...quick, ...options })),
    ({ deviations, law, title }) => `${law}/${deviations} ${title}`
  )

const clean = <A, S = never>(options: Sim.Options<A, S>) => Sim.check({ ...quick, ...options })

/** State that a process keeps in memory: built with the Layer, lost with the process. */
const withMemory = <E, R>(layer: () => Layer.Layer<never, E, R>) => Layer.unwrap(Effect.sync(layer))

describe("P2, counts", () => {
  /** Takes any trouble for a reason to make the part anew. */
  const panics = reconciles(Effect.fnUntraced(function*(request) {
    const app = yield* Store.get(App, request)
    const part = yield* partOf(app)
    yield* Effect.onError(Store.updateStatus(App, app, { note: "made" }), () => Effect.ignore(Store.delete(Part, part)))
  }))
  const options: Sim.Options<App> = {
    controllers: panics,
    workload: Sim.script([create]),
    faults: ["refuse"],
    matches: hasPart
  }

  it.effect("what is made or deleted more often than in the plain run is told, with the run that showed it", () =>
    Effect.gen(function*() {
      const { text, warnings } = yield* clean(options)
      const first = "\"ctl/apps/a/1/updateStatus:App/a=refuse\""
      assert.match(
        warnings.join("\n"),
        new RegExp(
          `^Part a was made more often than without deviations \\(P2\\), in \\d+ runs?, first ${first}: 2 times, not once$`
        )
      )
      assert.include(text, `warning: ${warnings[0]}`)
    }))

  it.effect("it fails where that is asked for, and no run of a calm reconciler tells it", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* broken({ ...options, checks: { counts: "fail" } }),
        "P2/1 Part a was made more often than without deviations: 2 times, not once"
      )
      const { warnings } = yield* clean({ ...options, controllers: keeps, checks: { counts: "fail" } })
      assert.deepStrictEqual(warnings, [])
    }))
})

describe("P3, writers by the clock", () => {
  const beats = reconciles(Effect.fnUntraced(function*(request) {
    const app = yield* Store.get(App, request)
    const now = yield* Clock.currentTimeMillis
    const last = Number(app.status?.note ?? 0)
    if (now - last >= 30_000) yield* Store.updateStatus(App, app, { note: String(now) })
    return Outcome.requeueAfter("30 seconds")
  }))
  const options: Sim.Options<App> = { controllers: beats, workload: Sim.script([create]), matches: () => true }
  const told = { ...options, matches: (app: App) => app.status !== undefined }

  it.effect("who writes every 30 seconds never rests, unless it says so", () =>
    Effect.gen(function*() {
      assert.match(yield* broken(told), /^P3\/0 no rest: 20 writes and \d+ passes in 10 minutes/)
      const { text } = yield* clean({ ...told, checks: { writesEvery: "30 seconds" } })
      assert.include(text, "rest but for a write an object every 30 s (P3)")
    }))

  it.effect("who writes more often than it says does not rest", () =>
    Effect.gen(function*() {
      assert.match(yield* broken({ ...told, checks: { writesEvery: "1 minute" } }), /^P3\/0 no rest: 20 writes/)
    }))
})

describe("P5, idempotence", () => {
  const counts = (isCounted: (app: App) => boolean) =>
    withMemory(() => {
      let passes = 0
      return reconciles(Effect.fnUntraced(function*(request) {
        const app = yield* Store.get(App, request)
        if (isCounted(app)) yield* Store.updateStatus(App, app, { note: `pass ${++passes}` })
      }))
    })

  it.effect("a pass that runs again with nothing changed writes nothing", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* broken({ controllers: counts(() => true), workload: Sim.script([create]) }),
        "P5/0 a pass of apps a that ran again with nothing changed updated App a"
      )
      yield* clean({ controllers: keeps, workload: Sim.script([create]) })
    }))

  it.effect("so it is in the states on the way", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(Sim.check({
        controllers: counts(({ spec }) => spec.size === 1),
        workload: Sim.script([create, resize]),
        faults: ["again"],
        ...quick
      }))
      assert.deepStrictEqual([failure.law, failure.token], ["P5", "world/step/2=again"])
    }))

  it.effect("steps that each lead to the next are no second pass", () =>
    Effect.gen(function*() {
      const stepwise = layerOf(Reconciler.make(App, {
        predicate: () => true,
        reconcile: Effect.fnUntraced(function*(request) {
          const app = yield* Store.get(App, request)
          const note = app.status?.note ?? ""
          if (note.length < 3) yield* Store.updateStatus(App, app, { note: `${note}.` })
        })
      }))
      yield* clean({ controllers: stepwise, workload: Sim.script([create, resize]) })
    }))
})

describe("P7, ownership", () => {
  const grabs = layerOf(Reconciler.make(App, {
    reconcile: Effect.fnUntraced(function*(request) {
      const app = yield* Store.get(App, request)
      yield* Store.ensure(Part, { name: "shared" }, () => ({
        metadata: { name: "shared", ownerReferences: [Owner.reference(app, { controller: true })] },
        spec: { size: 1 }
      }))
    })
  }))
  const second = Sim.create(App, { metadata: { name: "b" }, spec: { size: 1 } })

  it.effect("nobody takes an object from a controller that lives", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* broken({ controllers: grabs, workload: Sim.script([create, second]) }),
        "P7/0 Part shared was taken from its controller App a by App b"
      )
      yield* clean({ controllers: grabs, workload: Sim.script([create, remove, second]) })
    }))

  it.effect("where it is asked for, what is made has an owner or a tag", () =>
    Effect.gen(function*() {
      const makes = (labels: Record<string, string>) =>
        reconciles(Effect.fnUntraced(function*(request) {
          const { name } = (yield* Store.get(App, request)).metadata
          yield* Store.ensure(Part, { name }, () => ({ metadata: { name, labels }, spec: { size: 1 } }))
        }))
      const workload = Sim.script([create])
      const tag = "example.dev/app"
      const orTagged = { owned: { orTagged: [tag] } }
      yield* clean({ controllers: makes({}), workload })
      assert.strictEqual(
        yield* broken({ controllers: makes({}), workload, checks: { owned: true } }),
        "P7/0 Part a was made without an owner"
      )
      assert.strictEqual(
        yield* broken({ controllers: makes({}), workload, checks: orTagged }),
        "P7/0 Part a was made without an owner and none of the tags example.dev/app"
      )
      yield* clean({ controllers: makes({ [tag]: "a" }), workload, checks: orTagged })
      yield* clean({ controllers: keeps, workload, checks: { owned: true } })
    }))
})

describe("P9, status honesty", () => {
  const reports = (order: "first" | "last") =>
    reconciles(Effect.fnUntraced(function*(request) {
      const app = yield* Store.get(App, request)
      const report = Store.updateStatus(App, app, { conditions: [Condition.ready()] })
      if (order === "first") yield* report
      yield* partOf(app)
      if (order === "last") yield* report
    }))
  const options = { workload: Sim.script([create, resize]), matches: hasPart }

  it.effect("Ready at the generation of now is true, or was", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* broken({ controllers: reports("first"), ...options }),
        "P9/0 App a says it is Ready at generation 1, and never matched it"
      )
      yield* clean({ controllers: reports("last"), ...options })
    }))

  it.effect("a transition time moves with its status alone", () =>
    Effect.gen(function*() {
      const restamps = reconciles(Effect.fnUntraced(function*(request) {
        const app = yield* partOf(yield* Store.get(App, request)).pipe(Effect.andThen(Store.latest(App, request)))
        const { generation } = app.metadata
        if (app.status?.note === String(generation)) return
        const lastTransitionTime = new Date(yield* Clock.currentTimeMillis).toISOString()
        const { message, reason, status, type } = Condition.ready()
        const ready = { type, status, reason, message, lastTransitionTime }
        yield* Store.patch(App, app, {
          merge: { status: { note: String(generation), conditions: [ready] } },
          subresource: "status"
        })
      }))
      assert.strictEqual(
        yield* broken({ controllers: restamps, ...options }),
        "P9/0 the transition time of Ready of App a moved, and it is still True"
      )
    }))
})

describe("P10, exclusion", () => {
  it.effect("two registrations of one reconciler in a process run one key at once", () =>
    Effect.gen(function*() {
      const slow = reconciles((request) =>
        Effect.andThen(Effect.asVoid(Store.get(App, request)), Effect.sleep("1 second"))
      )
      assert.strictEqual(
        yield* broken({ controllers: Layer.merge(slow, Layer.fresh(slow)), workload: Sim.script([create]) }),
        "P10/0 two passes of apps App/a at once in ctl"
      )
    }))

  class Election extends Context.Service<Election, { readonly won: Effect.Effect<number> }>()("test/Election") {}

  const election = Sim.external(Election, () => {
    let epoch = 0
    return { won: Effect.sync(() => ++epoch) }
  })

  /** Each process is the leader from its start on: the store hears of its epoch, and its writes carry it, or do not. */
  const leads = (isFenced: boolean) => {
    const lease = "apps"
    const reconcile = Effect.fnUntraced(function*(request: Request.Request) {
      const app = yield* Store.get(App, request)
      const report = Store.updateStatus(App, app, { note: `${app.spec.size}` })
      yield* isFenced ? report : Effect.provideService(report, Pass.Fence, undefined)
      yield* partOf(app)
    })
    return Layer.unwrap(Effect.gen(function*() {
      const epoch = yield* Effect.flatMap(Election, ({ won }) => won)
      const { driver } = yield* Store.Store
      yield* driver.fence(lease, epoch)
      return Controller.layerFor(Reconciler.make(App, { reconcile })).pipe(
        Layer.provide(Layer.succeed(Pass.Fence, { lease, epoch })),
        Layer.provide(Controller.layer({ collector: false, events: false }))
      )
    }))
  }
  const options = (isFenced: boolean): Sim.Options<App, Election> => ({
    controllers: leads(isFenced),
    workload: Sim.script([create, resize]),
    external: [election],
    faults: ["overlap"],
    matches: (app) => app.status?.note === String(app.spec.size)
  })

  it.effect("an old leader writes under its fence, which the store refuses, or not at all", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* broken(options(false)),
        "P10/1 ctl wrote App a without a fence, and apps is at epoch 2"
      )
      yield* clean(options(true))
    }))
})

describe("P11, wake-ups", () => {
  it.effect("a change that no pass follows", () =>
    Effect.gen(function*() {
      const deaf = layerOf(Reconciler.make(App, {
        predicate: ({ object, old }) => old === undefined || object.metadata.uid !== old.metadata.uid,
        reconcile: (request) => Effect.asVoid(Store.get(App, request))
      }))
      assert.strictEqual(
        yield* broken({ controllers: deaf, workload: Sim.script([create, resize]) }),
        "P11/0 App a changed, and no pass began after it"
      )
    }))
})

describe("rest", () => {
  it.effect("is not reached while a key waits to be run for what happened, however long its debounce is", () =>
    Effect.gen(function*() {
      const patient = layerOf(Reconciler.make(App, {
        owns: [Part],
        debounce: { window: "5 minutes" },
        reconcile: Effect.fnUntraced(function*(request) {
          yield* partOf(yield* Store.get(App, request))
        })
      }))
      yield* clean({ controllers: patient, workload: Sim.script([create, resize]), matches: hasPart, depth: 0 })
    }))
})

describe("P12, bounds", () => {
  it.effect("a key whose object is gone is let go", () =>
    Effect.gen(function*() {
      const clings = (isRight: boolean) =>
        reconciles((request) =>
          Store.get(App, request).pipe(
            Effect.mapError((error) => isRight ? error : "no App"),
            Effect.flatMap(partOf),
            Effect.asVoid
          )
        )
      const workload = Sim.script([create, remove])
      assert.match(
        yield* broken({ controllers: clings(false), workload }),
        /^P12\/0 App a of apps is gone, and still kept: it is waiting for \d+ s after \d+ failures, .* ended Failed$/
      )
      yield* clean({ controllers: clings(true), workload })
    }))

  it.effect("passes that go on by a timer for what is gone are told", () =>
    Effect.gen(function*() {
      const ticks = reconciles((request) =>
        Effect.as(Effect.ignore(Store.get(App, request)), Outcome.requeueAfter("1 hour"))
      )
      const { warnings } = yield* clean({ controllers: ticks, workload: Sim.script([create, remove]), depth: 0 })
      assert.match(warnings.join("\n"), /^App a of apps is gone, and its passes go on by a timer \(P12\)/)
    }))

  it.effect("a watch is opened again after a pause, not in a loop", () =>
    Effect.gen(function*() {
      const watching = (cap: number) =>
        Layer.effectDiscard(Effect.flatMap(Store.Store, ({ driver }) =>
          Informer.make(driver, App.address, { backoff: { base: Math.min(cap, 1), cap } }))).pipe(Layer.merge(keeps))
      const options = { workload: Sim.script([create]), faults: ["outage"] as const }
      assert.match(
        yield* broken({ controllers: watching(1), ...options }),
        /^P12\/1 .*informer\/App\.example\.dev.* was opened 11 times within a second, without a pause in between$/
      )
      yield* clean({ controllers: keeps, ...options })
    }))
})

describe("P14, isolation", () => {
  const works = (insists: boolean) =>
    layerOf(
      Reconciler.make(App, {
        owns: [Part],
        reconcile: Effect.fnUntraced(function*(request) {
          const work = partOf(yield* Store.get(App, request))
          yield* insists ? Effect.retry(work, { schedule: Schedule.spaced("1 second") }) : work
        })
      }),
      { workers: 1 }
    )
  const workload = Sim.script([create, resize, Sim.create(App, { metadata: { name: "b" }, spec: { size: 1 } })])
  const options = { workload, matches: hasPart, faults: ["poison"] as const }

  it.effect("a key that fails for ever keeps no other from its work", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* broken({ controllers: works(true), ...options }),
        "P14/1 App b does not match, while App/a fails for ever"
      )
      yield* clean({ controllers: works(false), ...options })
    }))
})

describe("P15, level-triggered", () => {
  /** Writes down each size that it sees. */
  const chronicles = reconciles(Effect.fnUntraced(function*(request) {
    const app = yield* Store.get(App, request)
    const size = String(app.spec.size)
    const seen = app.status?.note?.split(",") ?? []
    if (!seen.includes(size)) yield* Store.updateStatus(App, app, { note: [...seen, size].join(",") })
  }))
  const again = Sim.edit(App, { name: "a" }, () => ({ spec: { size: 3 } }))
  const options = { workload: Sim.script([create, resize, { ...Sim.soon(again), afterMillis: 300 }]) }

  it.effect("the end is the same whatever was seen on the way", () =>
    Effect.gen(function*() {
      const text = yield* broken({ controllers: chronicles, ...options, faults: ["late", "cut", "expire"] })
      assert.match(text, /^P15\/1 another end than without deviations: /)
      yield* clean({ controllers: keeps, ...options, faults: ["late", "cut", "expire"] })
    }))
})

describe("P16, recovery", () => {
  const follows = (isStuck: boolean) =>
    reconciles(Effect.fnUntraced(function*(request) {
      const app = yield* Store.get(App, request)
      const isBad = app.spec.size < 0 || (isStuck && app.status?.note === "bad")
      if (!isBad) yield* partOf(app)
      yield* Store.updateStatus(App, app, { note: isBad ? "bad" : "good" })
    }))
  const workload = Sim.recovery(App, { metadata: { name: "a" }, spec: { size: 1 } }, { spec: { size: -1 } })

  it.effect("good, bad and good again is the first state", () =>
    Effect.gen(function*() {
      assert.match(
        yield* broken({ controllers: follows(true), workload }),
        /^P16\/0 the first state does not come back: not there: App .*"good".*instead: App .*"bad"/
      )
      yield* clean({ controllers: follows(false), workload })
    }))
})

describe("P18, caches", () => {
  type Watch = StoreDriver.Service["watch"]

  /** The store through an adapter whose watches are not what they should be. */
  const through = (adapt: (watch: Watch) => Watch) =>
    keeps.pipe(
      Layer.provide(Layer.effect(Store.Store, Effect.map(StoreDriver.StoreDriver, Store.make))),
      Layer.provide(Layer.effect(
        StoreDriver.StoreDriver,
        Effect.map(StoreDriver.StoreDriver, (driver) => ({ ...driver, watch: adapt(driver.watch) }))
      ))
    )
  const options = { workload: Sim.script([create, remove]) }

  it.effect("at rest a cache holds what is stored", () =>
    Effect.gen(function*() {
      const forgets = through((watch) => (at, options) =>
        Stream.map(watch(at, options), (events) => events.filter(({ _tag }) => _tag !== "Deleted"))
      )
      assert.strictEqual(
        yield* broken({ controllers: forgets, ...options }),
        "P18/0 the cache of App.example.dev holds a, which is gone"
      )
      yield* clean({ controllers: through((watch) => watch), ...options })
    }))
})

describe("P20, deletes on the word of a cache", () => {
  const trims = (isGuarded: boolean) =>
    reconciles(Effect.fnUntraced(function*(request) {
      const app = yield* Store.get(App, request)
      if (app.spec.size === 1) return void (yield* partOf(app))
      const [part] = (yield* Store.list(Part)).items
      if (part === undefined) return
      yield* isGuarded ? Store.delete(Part, part) : Store.deleteUnconditionally(Part, request)
    }))
  const options: Sim.Options<App> = { controllers: trims(false), workload: Sim.script([create, resize]) }
  const text = "a pass of apps deletes a Part without its uid or revision, on the word of a cache or of none"

  it.effect("they are told, and fail where that is asked for", () =>
    Effect.gen(function*() {
      const { warnings } = yield* clean(options)
      assert.match(warnings.join("\n"), /^.* \(P20\), in \d+ runs, first the plain one$/)
      assert.include(warnings[0], text)
      assert.strictEqual(
        yield* broken({ ...options, checks: { unguardedDeletes: "fail" } }),
        `P20/0 Part a: ${text}`
      )
    }))

  it.effect("not where a uid goes with them", () =>
    Effect.gen(function*() {
      const { warnings } = yield* clean({
        ...options,
        controllers: trims(true),
        checks: { unguardedDeletes: "fail" }
      })
      assert.deepStrictEqual(warnings, [])
    }))
})

describe("what is asked, and told", () => {
  it.effect("`matches` is asked about the kinds that a script names, where its steps touch others", () =>
    Effect.gen(function*() {
      const asked = new Set<string>()
      const other = Sim.create(Part, { metadata: { name: "other" }, spec: { size: 1 } })
      yield* clean({
        controllers: keeps,
        workload: Sim.script([other, create], { of: App }),
        matches: (app, world) => {
          asked.add(app.kind)
          return hasPart(app, world)
        },
        depth: 0
      })
      assert.deepStrictEqual([...asked], ["App"])
    }))

  it.effect("no law hides another that breaks at the same moment", () =>
    Effect.gen(function*() {
      const lags = reconciles(Effect.fnUntraced(function*(request) {
        const app = yield* Store.get(App, request)
        if (app.status !== undefined) return
        yield* Store.patch(App, app, { merge: { status: { observedGeneration: 1 } }, subresource: "status" })
      }))
      const failure = yield* Effect.flip(
        Sim.check({ controllers: lags, workload: Sim.script([create, resize]), matches: hasPart, ...quick })
      )
      assert.strictEqual(failure.law, "P1")
      assert.include(failure.report, "  also: observedGeneration of App a stays at 1, its generation is 2 (P8)")
    }))
})

/** Laws that the engine keeps, whatever a reconciler does: the check is shown a world in which it does not. */
describe("laws of the engine", () => {
  const options: Spec = { ...bare, layer: keeps, kinds: [App], of: [App], maxSteps: 100 }
  const nothing = () => {}
  const made = () => {
    const hooks = { judge: nothing, look: nothing, takeStep: nothing, kill: nothing }
    const world = World.make(options, Choices.planned([]), undefined, Known.make(undefined, undefined, false), hooks)
    const process = Loop.startProcess(world.loop, "ctl", 1)
    world.current = { process, fiber: Effect.runFork(Effect.never) }
    return world
  }
  const requestOf = (name: string) => ({ kind: "App.example.dev", namespace: "default", name, store: "default" })
  const passOf = (name: string, number: number): Pass.Pass => ({
    registration: "apps",
    request: requestOf(name),
    number,
    causes: [],
    otherCauses: 0,
    calls: 0,
    reader: { get: () => undefined, list: () => undefined, fetched: nothing },
    writes: { acknowledged: nothing, unknown: nothing, conflicted: nothing }
  })
  const keyOf = (name: string, more: Partial<Controller.ProbedKey>): Controller.ProbedKey => ({
    registration: "apps",
    request: requestOf(name),
    place: "idle",
    failures: 0,
    paused: false,
    causes: [],
    dueInMillis: undefined,
    watching: false,
    ...more
  })
  const appOf = (name: string) => ({
    apiVersion: "example.dev/v1",
    kind: "App",
    metadata: { name, namespace: "default", uid: name, resourceVersion: "1", creationTimestamp: "" }
  })

  /** What a check says when a queue holds these keys. */
  const judged = Effect.fnUntraced(
    function*(check: (world: World.World) => void, ...keys: Array<Controller.ProbedKey>) {
      const world = made()
      yield* Store.create(App, { metadata: { name: "a" }, spec: { size: 1 } }).pipe(
        Effect.provideService(Store.Store, world.store)
      )
      const controller = yield* Effect.scoped(Controller.make())
      world.notes.probes.set("ctl", [{ controller, keys: Effect.succeed(keys), caches: () => [] }])
      world.ended.set("ctl apps App/a", "Done")
      check(world)
      return world.violation?.title
    }
  )

  it.effect("[Q1] P12: a key has one place", () =>
    Effect.gen(function*() {
      const twice = [keyOf("a", { place: "ready" }), keyOf("a", { place: "waiting" })] as const
      assert.strictEqual(yield* judged(Bounds.between, ...twice), "App a of apps is kept twice by its queue")
      assert.isUndefined(yield* judged(Bounds.between, keyOf("a", {}), keyOf("b", {})))
    }))

  it.effect("[E2] P12: a pass that ended well has made up for the failures before it", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* judged(Bounds.atRest, keyOf("a", { failures: 2 })),
        "App a of apps ended well, and 2 failures are still remembered"
      )
      assert.isUndefined(yield* judged(Bounds.atRest, keyOf("a", {})))
    }))

  it.effect("[Q7] P12: nothing is kept of a key whose object is gone", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* judged(Bounds.atRest, keyOf("b", {})),
        "App b of apps is gone, and still kept: it is idle after 0 failures, and its last pass ended before it began"
      )
      assert.isUndefined(yield* judged(Bounds.atRest, keyOf("b", { watching: true })))
    }))

  it("[S3] P18: what a cache tells of an object is a life that makes sense", () => {
    const at = (uid: string, resourceVersion: string) => ({ ...appOf("a").metadata, uid, resourceVersion })
    assert.isUndefined(Caches.flawIn("Added", undefined, at("1", "1")))
    assert.isUndefined(Caches.flawIn("Modified", at("1", "1"), at("1", "2")))
    assert.isUndefined(Caches.flawIn("Deleted", at("1", "2"), at("1", "2")))
    assert.strictEqual(Caches.flawIn("Added", at("1", "1"), at("1", "1")), "it had been told already")
    assert.strictEqual(Caches.flawIn("Deleted", undefined, at("1", "1")), "it had never been told")
    assert.strictEqual(
      Caches.flawIn("Modified", at("1", "1"), at("2", "2")),
      "it is of another life than the one that was told"
    )
    assert.strictEqual(Caches.flawIn("Modified", at("1", "7"), at("1", "5")), "after revision 7 comes 5")
    assert.strictEqual(Caches.flawIn("Modified", at("1", "7"), at("1", "7")), "after revision 7 comes 7")
  })

  it("[Q3] P11: no key waits while a crowd passes by", () => {
    const starve = (passes: number, millis: number) => {
      const world = made()
      world.started.set("apps App/a", 0)
      world.wanted.set("App/a", world.loop.steps)
      Passes.onChange(world, { type: "updated", before: undefined, object: appOf("a"), revision: 1, by: "user" })
      world.loop.now += millis
      world.passes += passes
      Passes.passStarted(world, passOf("b", passes))
      return world.violation?.title
    }
    assert.strictEqual(
      starve(101, 121_000),
      "App/a changed, and still waits for a pass after 101 passes of others in 121 s"
    )
    assert.isUndefined(starve(4, 3_600_000)) // all workers sleep
    assert.isUndefined(starve(1_000, 1_000)) // a crowd at a start
  })
})
