import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Controller, Kind, Outcome, Owner, Reconciler, type Request, Store } from "setpoint"

const spec = Schema.Struct({ size: Schema.Int })
const App = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "App",
  spec,
  status: Schema.Struct({ size: Schema.optionalKey(Schema.Int), observedGeneration: Schema.optionalKey(Schema.Int) })
})
type App = Kind.Resource<typeof App>
const Part = Kind.make({ group: "example.dev", version: "v1", kind: "Part", spec })

const layerOf = <R>(reconciler: Reconciler.Reconciler<R>) =>
  Controller.layerFor(reconciler).pipe(Layer.provide(Controller.layer()))

const reconciles = <R>(reconcile: (request: Request.Request) => Effect.Effect<Outcome.Outcome | void, unknown, R>) =>
  layerOf(Reconciler.make(App, { owns: [Part], reconcile }))

/** Keeps a part of the App's size. */
const keepsPart = (request: Request.Request) =>
  Effect.gen(function*() {
    const app = yield* Store.get(App, request)
    const owned = yield* Owner.setController({ metadata: { name: request.name }, spec: app.spec }, app)
    yield* Store.ensure(Part, request, () => owned)
    return app
  })

const keeps = reconciles((request) => Effect.asVoid(keepsPart(request)))

const create = Sim.create(App, { metadata: { name: "a" }, spec: { size: 1 } })
const resize = Sim.edit(App, { name: "a" }, () => ({ spec: { size: 2 } }))
const remove = Sim.remove(App, { name: "a" })

const hasPart = (app: App, world: Sim.World) => world.get(Part, app.metadata.name)?.spec.size === app.spec.size

const quick = { depth: 1, random: 0 } as const

const broken = <A>(options: Sim.Options<A>) => Effect.flip(Sim.check({ ...quick, ...options }))

/** What the first run of it says. */
const broke = (controllers: Sim.Options<App>["controllers"], options: Partial<Sim.Options<App>> = {}) =>
  Effect.map(
    broken({ controllers, workload: Sim.script([create]), depth: 0, ...options }),
    ({ law, title }) => `${law} ${title}`
  )

describe("a clean check", () => {
  const right = reconciles(Effect.fnUntraced(function*(request) {
    const app = yield* keepsPart(request)
    yield* Store.updateStatus(App, app, { size: app.spec.size })
  }))

  it.effect("says exactly what was tried", () =>
    Effect.gen(function*() {
      const summary = yield* Sim.check({
        controllers: right,
        workload: Sim.script([create, resize, remove]),
        matches: hasPart,
        depth: 1,
        random: 5
      })
      assert.strictEqual(summary.depth, 1)
      assert.strictEqual(summary.random, 5)
      assert.isAbove(summary.runs, 50)
      assert.include(
        summary.text,
        `clean: all ${summary.runs} runs with at most 1 deviation and 5 random runs of 3 steps`
      )
    }))

  it.effect("a depth that would take too many runs is left out, and said so", () =>
    Effect.gen(function*() {
      const summary = yield* Sim.check({
        controllers: right,
        workload: Sim.script([create]),
        depth: 2,
        maxRuns: 10,
        random: 0
      })
      assert.strictEqual(summary.depth, 1)
      assert.match(summary.text, /depth 2 would have taken [\d,]+ runs more and was left out/)
    }))

  it.effect("workloads come from the kind's Schema: each name lives twice", () =>
    Effect.gen(function*() {
      const workload = Sim.changes(App, { names: 1 })
      assert.deepStrictEqual(
        workload.steps.map(({ title }) => title),
        ["create App a", "edit App a", "delete App a", "create App a", "delete App a"]
      )
      yield* Sim.crashes({ controllers: right, workload, matches: hasPart })
    }))
})

describe("the progress of a check", () => {
  const workload = Sim.script([create, resize, remove])

  it.effect("is told between batches of runs: phase, depth, and how many of how many are done", () =>
    Effect.gen(function*() {
      const told: Array<Sim.Progress> = []
      const onProgress = (progress: Sim.Progress) => Effect.sync(() => void told.push(progress))
      yield* Sim.check({ controllers: keeps, workload, matches: hasPart, depth: 1, random: 100, onProgress })
      assert.deepStrictEqual([...new Set(told.map(({ phase }) => phase))], ["exhaustive", "random"])
      assert.isTrue(told.every(({ done, of = Infinity }) => done <= of))
      assert.strictEqual(told.at(-1)?.of, 100)
      assert.isTrue(told.every(({ runs, states }, index) => states <= runs && runs > (told[index - 1]?.runs ?? 0)))
    }))

  it.effect("a check gives way between batches, so that it can be interrupted", () =>
    Effect.gen(function*() {
      const check = Sim.check({ controllers: keeps, workload, matches: hasPart, depth: 1, random: 1e9 })
      const fiber = yield* Effect.forkChild(check)
      for (let i = 0; i < 10; i++) yield* Effect.yieldNow
      yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
    }))
})

describe("a failure", () => {
  /** Remembers that it made the part; a restart has forgotten, and the part of a deleted life is never made again. */
  const half = reconciles(Effect.fnUntraced(function*(request) {
    const app = yield* Store.get(App, request)
    if (app.status !== undefined) return
    yield* Store.updateStatus(App, app, { size: app.spec.size })
    yield* keepsPart(request)
  }))
  const options: Sim.Options<App> = { controllers: half, workload: Sim.script([create]), matches: hasPart }

  it.effect("has the fewest deviations there are, the story, a hint and a token that replays it", () =>
    Effect.gen(function*() {
      const failure = yield* broken(options)
      assert.strictEqual(failure.law, "P1")
      assert.strictEqual(failure.deviations, 1)
      assert.strictEqual(failure.token, "ctl/apps/a/1/updateStatus:App/a=kill-after")
      const lines = failure.report.split("\n")
      assert.isAtMost(lines.length, 25)
      assert.strictEqual(lines[0], "FAIL  App a came to rest, and does not match    (P1)")
      assert.include(failure.report, "no run with fewer deviations fails")
      assert.include(failure.report, "process killed after the call took effect, before its reply")
      assert.match(failure.report, /t=\d+\.\d+s +ctl +update App a {4}rev 2/)
      assert.include(failure.report, "hint: decide each step from what is stored")
      assert.include(failure.report, `replay: Sim.replay(options, "${failure.token}")`)
      const again = yield* Effect.flip(Sim.replay(options, failure.token))
      assert.strictEqual(again.title, failure.title)
    }))

  it.effect("a random run that fails shrinks to what is needed", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(Sim.check({ ...options, depth: 0, random: 500 }))
      assert.strictEqual(failure.law, "P1")
      assert.strictEqual(failure.deviations, 1)
    }))

  it.effect("tokens of a corpus are tried first, and one whose point is gone says so", () =>
    Effect.gen(function*() {
      const failure = yield* broken({ ...options, tokens: ["ctl/apps/a/1/updateStatus:App/a=kill-after"] })
      assert.strictEqual(failure.runs, 1)
      const gone = yield* broken({ ...options, tokens: ["ctl/apps/b/1/create:Part/b=kill"] })
      assert.strictEqual(
        gone.title,
        "the token cannot be replayed: its point ctl/apps/b/1/create:Part/b was not reached, or has no kill any more"
      )
      const text = yield* broken({ ...options, tokens: ["nonsense"] })
      assert.strictEqual(text.title, "the token cannot be replayed: it is no list of point=alternative")
    }))
})

describe("a crash is abandonment", () => {
  it.effect("no finalizer of a killed process runs, while a graceful stop runs them all", () =>
    Effect.gen(function*() {
      const released = (app: App) => Effect.ignore(Store.updateStatus(App, app, { size: 99 }))
      const locked = reconciles(Effect.fnUntraced(function*(request) {
        const app = yield* Store.get(App, request)
        if (app.status !== undefined) return
        yield* Effect.acquireUseRelease(
          Store.updateStatus(App, app, { size: 0 }),
          () => keepsPart(request),
          (app) => released(app)
        )
      }))
      const failure = yield* broken({
        controllers: locked,
        workload: Sim.script([create]),
        atRest: { "the lock is released": (world) => world.list(App).every(({ status }) => status?.size !== 0) }
      })
      assert.strictEqual(failure.title, "at rest it does not hold: the lock is released")
      assert.match(failure.token, /=kill/)
    }))
})

describe("the checks that need no input", () => {
  it.effect("P3: writes that never stop", () =>
    Effect.gen(function*() {
      const text = yield* broke(reconciles(Effect.fnUntraced(function*(request) {
        const app = yield* Store.get(App, request)
        yield* Store.updateStatus(App, app, { size: (app.status?.size ?? 0) + 1 })
        return Outcome.requeueAfter("10 seconds")
      })))
      assert.match(text, /^P3 no rest: \d+ writes and \d+ passes in 10 minutes/)
    }))

  it.effect("P3: a pass that never gives way is cut at the bound on steps", () =>
    Effect.gen(function*() {
      const text = yield* broke(
        reconciles(() => Effect.forever(Effect.void, { disableYield: true })),
        { maxSteps: 500 }
      )
      assert.match(text, /^P3 no rest after 500 steps \(0 writes, 1 passes\): an endless loop/)
    }))

  it.effect("P4: a deletion that never ends", () =>
    Effect.gen(function*() {
      const held = Sim.create(App, { metadata: { name: "a", finalizers: ["example.dev/held"] }, spec: { size: 1 } })
      const text = yield* broke(keeps, { workload: Sim.script([held, remove]) })
      assert.strictEqual(text, "P4 App a is never deleted: example.dev/held stays")
    }))

  it.effect("P6: what must never be, by name", () =>
    Effect.gen(function*() {
      const never = { "a part was made": (_: Sim.World, { object }: Sim.Change) => object.kind === "Part" }
      assert.strictEqual(yield* broke(keeps, { never }), "P6 never: a part was made")
    }))

  it.effect("P8: observedGeneration that stays behind", () =>
    Effect.gen(function*() {
      const text = yield* broke(
        reconciles(Effect.fnUntraced(function*(request) {
          const app = yield* Store.get(App, request)
          yield* Store.patch(App, app, { merge: { status: { observedGeneration: 1 } }, subresource: "status" })
        })),
        { workload: Sim.script([create, resize]) }
      )
      assert.strictEqual(text, "P8 observedGeneration of App a stays at 1, its generation is 2")
    }))

  it.effect("P13 and P17: an edit of a cached object is a defect, since it is frozen", () =>
    Effect.gen(function*() {
      const text = yield* broke(reconciles(Effect.fnUntraced(function*(request) {
        const app = yield* Store.get(App, request)
        Object.assign(app.spec, { size: 3 })
      })))
      assert.strictEqual(text, "P13 pass 1 of apps App/a died of a defect")
    }))

  it.effect("P13: a stop that takes for ever", () =>
    Effect.gen(function*() {
      const stuck = keeps.pipe(
        Layer.merge(Layer.effectDiscard(Effect.addFinalizer(() => Effect.never)))
      )
      const failure = yield* broken({ controllers: stuck, workload: Sim.script([create]), faults: ["stop"] })
      assert.strictEqual(failure.title, "ctl did not stop within 60 s")
    }))

  it.effect("P19: a restart at rest that writes", () =>
    Effect.gen(function*() {
      const greets = Layer.unwrap(Effect.sync(() => {
        const greeted = new Set<string>()
        return reconciles(Effect.fnUntraced(function*(request) {
          const app = yield* Store.get(App, request)
          if (greeted.has(app.metadata.uid)) return
          greeted.add(app.metadata.uid)
          yield* Store.updateStatus(App, app, { size: (app.status?.size ?? 0) + 1 })
        }))
      }))
      assert.strictEqual(yield* broke(greets), "P19 a restart at rest made 1 writes")
    }))
})

describe("bad input", () => {
  it.effect("time, timers and chance from outside are named with their line", () =>
    Effect.gen(function*() {
      const leaks = (leak: () => unknown) =>
        broke(reconciles(Effect.fnUntraced(function*(request) {
          yield* keepsPart(request)
          leak()
        })))
      for (
        const [what, leak] of [
          ["Math.random", () => Math.random()],
          ["Date.now", () => Date.now()],
          ["new Date()", () => new Date()],
          ["performance.now", () => performance.now()],
          ["setTimeout", () => setTimeout(() => {}, 1)]
        ] as const
      ) {
        const text = yield* leaks(leak)
        assert.include(text, `leak ${what} was called, which no run can repeat: at `)
        assert.include(text, "Sim.test.ts:")
      }
      assert.isAbove(Date.now(), 0) // what stood in for the clock is gone
    }))

  it.effect("a pass that waits for a promise is told, and does not hang", () =>
    Effect.gen(function*() {
      const text = yield* broke(reconciles(Effect.fnUntraced(function*(request) {
        yield* keepsPart(request)
        yield* Effect.promise(() => Promise.resolve())
      })))
      assert.match(
        text,
        /^leak pass 1 of apps App\/a never ended: after its call \d+ \(create:Part\/a\) it waits for what the simulator/
      )
    }))

  it.effect("a variable of a module that leaks from run to run is told", () =>
    Effect.gen(function*() {
      let made = 0
      const text = yield* broke(reconciles(Effect.fnUntraced(function*(request) {
        yield* Store.get(App, request)
        if ((yield* Store.list(Part)).items.length > 0) return
        yield* Store.create(Part, { metadata: { name: `part-${++made}` }, spec: { size: 1 } })
      })))
      assert.match(text, /^leak two runs with equal choices differ; first apart: "ctl create Part part-\d+ +rev 2"/)
    }))

  it.effect("a workload that no controller hears of, and one without steps", () =>
    Effect.gen(function*() {
      const other = Sim.create(Part, { metadata: { name: "a" }, spec: { size: 1 } })
      const failure = yield* broken({ controllers: keeps, workload: Sim.script([other]) })
      assert.strictEqual(failure.title, "the workload never touched the controllers: no pass ran")
      const none = yield* broken({ controllers: keeps, workload: Sim.script<App>([]) })
      assert.strictEqual(none.title, "the workload has no steps")
    }))

  it.effect("a `matches` that is never false, and a predicate that throws", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* broke(keeps, { matches: () => true }),
        "input `matches` was never false, not even before the first pass: it checks nothing"
      )
      const throws = () => {
        throw new Error("oops")
      }
      assert.strictEqual(
        yield* broke(keeps, { matches: throws }),
        "input matches threw: Error: oops"
      )
    }))

  it.effect("a Layer that cannot be built", () =>
    Effect.gen(function*() {
      const layer = Layer.effectDiscard(Effect.fail("no port"))
      assert.match(yield* broke(layer), /^input the Layer was not built: .*no port/)
    }))
})

describe("external services", () => {
  class Cloud extends Context.Service<Cloud, {
    readonly find: (tag: string) => Effect.Effect<string | undefined, Error>
    readonly make: (tag: string) => Effect.Effect<string, Error>
  }>()("test/Cloud") {}

  const cloud = Sim.external(Cloud, () => {
    const volumes = new Map<string, string>()
    return {
      volumes,
      find: (tag: string) => Effect.sync(() => [...volumes].find(([, other]) => other === tag)?.[0]),
      make: (tag: string) =>
        Effect.sync(() => {
          const id = `vol-${volumes.size}`
          volumes.set(id, tag)
          return id
        })
    }
  }, { fails: () => new Error("the cloud does not answer") })

  const stores = (find: boolean) =>
    layerOf(Reconciler.make(App, {
      reconcile: Effect.fnUntraced(function*(request) {
        const app = yield* Store.get(App, request)
        if (app.status !== undefined) return
        const cloud = yield* Cloud
        const known = find ? yield* cloud.find(app.metadata.uid) : undefined
        if (known === undefined) yield* cloud.make(app.metadata.uid)
        yield* Store.updateStatus(App, app, { size: 1 })
      })
    }))

  const options = (find: boolean): Sim.Options<App, Cloud> => ({
    controllers: stores(find),
    workload: Sim.script([create]),
    external: [cloud],
    matches: (app) => app.status !== undefined,
    never: {},
    atRest: { "one volume an App": (world) => world.external(cloud).volumes.size <= world.list(App).length },
    ...quick
  })

  it.effect("[EX-02] a create that happened without an answer is made twice, unless it can be found again", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(Sim.check(options(false)))
      assert.strictEqual(failure.title, "at rest it does not hold: one volume an App")
      assert.match(failure.token, /^ctl\/apps\/a\/1\/Cloud\.make=(?:lose|kill-after)$/)
      yield* Sim.check(options(true))
    }))
})

describe("faults together", () => {
  it.effect("a process that is killed while it stops has not failed to stop", () =>
    Effect.gen(function*() {
      const slow = reconciles((request) =>
        Effect.andThen(Effect.sleep("10 seconds"), Effect.asVoid(keepsPart(request)))
      )
      const options: Sim.Options<App> = {
        controllers: slow,
        workload: Sim.script([create, Sim.soon(resize, "1 second")])
      }
      yield* Sim.replay(options, "world/step/2=stop,ctl/apps/a/1/create:Part/a=kill-after")
    }))
})

describe("other actors", () => {
  it.effect("[UN-05] a child that somebody deletes, where its kind is not watched", () =>
    Effect.gen(function*() {
      const blind = layerOf(Reconciler.make(App, { reconcile: (request) => Effect.asVoid(keepsPart(request)) }))
      const options = { workload: Sim.script([create]), matches: hasPart, faults: ["delete"] as const }
      const failure = yield* broken({ controllers: blind, ...options })
      assert.strictEqual(failure.token, "world/step/2=delete:Part/a")
      yield* Sim.check({ controllers: keeps, ...options, ...quick })
    }))

  it.effect("two processes at once: random names are made twice, names that follow from the object are not", () =>
    Effect.gen(function*() {
      const parts = (names: { readonly name: string } | { readonly generateName: string }) =>
        reconciles(Effect.fnUntraced(function*(request) {
          const app = yield* Store.get(App, request)
          const { items } = yield* Store.list(Part)
          if (items.length >= app.spec.size) return
          const owned = yield* Owner.setController({ metadata: names, spec: app.spec }, app)
          yield* Store.create(Part, owned)
        }))
      const options = {
        workload: Sim.script([create, remove, create]),
        never: { "more parts than wanted": (world: Sim.World) => world.list(Part).length > 1 },
        faults: ["overlap"] as const
      }
      const failure = yield* broken({ controllers: parts({ generateName: "part-" }), ...options })
      assert.strictEqual(failure.token, "world/step/1=overlap")
      yield* Sim.check({ controllers: parts({ name: "part" }), ...options, ...quick })
    }))
})
