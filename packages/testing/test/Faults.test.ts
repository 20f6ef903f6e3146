/** What can happen to time, to processes and at the server; each fault and each rule on its own. */
import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Loop from "@setpoint/testing/internal/sim/loop"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { type Kind, Outcome, Owner, Reconciler, Store } from "setpoint"
import { App, Cloud, createApp, fakeCloud, found, kind, layerOf, resizeApp } from "../corpus/kit.ts"

const Pod = kind("Pod")

/** One pod, of the App's size. */
const apps = Reconciler.make(App, {
  owns: [Pod],
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const owned = yield* Owner.setController({ metadata: { name }, spec: app.spec }, app)
    yield* Store.ensure(Pod, { name }, (pod) => ({ ...owned, spec: { ...pod?.spec, ...owned.spec } }))
  })
})

const matches = ({ metadata, spec }: App, world: Sim.World) => world.get(Pod, metadata.name)?.spec.size === spec.size

describe("a process that stands still", () => {
  it("runs nothing, and then all that came due, in its order; a timer that is cancelled meanwhile does not fire", () => {
    const loop = Loop.make(1)
    const process = Loop.startProcess(loop, "ctl", 1)
    const heard: Array<string> = []
    const note = (text: string) => () => void heard.push(text)
    const run = (millis: number) => Loop.runUntil(loop, loop.now + millis, 1_000, () => false)
    Loop.after(loop, process, 1_000, note("first timer"))
    const cancel = Loop.after(loop, process, 2_000, note("second timer"))
    Loop.after(loop, process, 9_000, note("third timer"))
    Loop.after(loop, undefined, 3_000, note("the world's timer"))
    Loop.pause(process)
    Loop.call(loop, process, note("reply"))
    run(5_000)
    assert.deepStrictEqual(heard, ["the world's timer"])
    Loop.resume(loop, process)
    cancel()
    run(5_000)
    assert.deepStrictEqual(heard, ["the world's timer", "first timer", "reply", "third timer"])
  })

  it("is not woken by its death", () => {
    const loop = Loop.make(1)
    const process = Loop.startProcess(loop, "ctl", 1)
    const heard: Array<string> = []
    Loop.pause(process)
    Loop.call(loop, process, () => void heard.push("reply"))
    Loop.runUntil(loop, 1_000, 1_000, () => false)
    Loop.kill(loop, process)
    Loop.resume(loop, process)
    Loop.runUntil(loop, 2_000, 1_000, () => false)
    assert.deepStrictEqual(heard, [])
  })

  it.effect("takes events that piled up at once: a state between them is never seen", () =>
    Effect.gen(function*() {
      const Seen = kind("Seen")
      const notes = Reconciler.make(App, {
        reconcile: Effect.fnUntraced(function*({ name }) {
          const { spec } = yield* Store.get(App, { name })
          const key = { name: `${name}-${spec.size}` }
          if ((yield* found(Store.get(Seen, key))) === undefined) yield* Store.create(Seen, { metadata: key, spec })
        })
      })
      const options: Sim.Options<App> = {
        controllers: layerOf(notes),
        workload: Sim.script([createApp(1), resizeApp(2), resizeApp(3)]),
        atRest: { "all sizes were seen": (world) => world.list(Seen).length === 3 },
        faults: ["pause"],
        depth: 1,
        random: 0
      }
      const { report, token } = yield* Effect.flip(Sim.check(options))
      assert.strictEqual(token, "world/step/1=pause", report)
    }))
})

describe("a flood of edits", () => {
  const calls = fakeCloud()
  const flooded = (hasDone: (app: App) => boolean): Sim.Options<App, Cloud> => ({
    controllers: layerOf(Reconciler.make(App, {
      reconcile: Effect.fnUntraced(function*(request) {
        const app = yield* Store.get(App, request)
        if (hasDone(app)) return
        yield* Effect.flatMap(Cloud, (cloud) => cloud.make(app.metadata.name))
        yield* Store.updateStatus(App, app, { phase: "done", observedGeneration: app.metadata.generation ?? 0 })
      })
    })),
    workload: Sim.script([createApp(1)]),
    // one for the App, one for a second pass (P5), one for a restart (P19)
    always: { "few calls": (world) => world.external(calls).things.length <= 3 },
    external: [calls],
    faults: ["flood"],
    depth: 1,
    random: 0
  })

  it.effect("finds who does what is costly once a pass, and not who does it once a state", () =>
    Effect.gen(function*() {
      const { law, token } = yield* Effect.flip(Sim.check(flooded(() => false)))
      assert.deepStrictEqual([law, token], ["P6", "world/step/2=flood"])
      yield* Sim.check(flooded(({ metadata, status }) => status?.observedGeneration === metadata.generation))
    }))

  it.effect("is outlasted by many keys, and leaves none of them behind", () =>
    Sim.check({
      controllers: layerOf(apps),
      workload: Sim.changes(App, { names: 8 }),
      matches,
      faults: ["flood"],
      depth: 1,
      random: 0,
      maxSteps: 200_000
    }))
})

describe("fibers that run side by side", () => {
  const noted = (write: (note: (size: number) => Effect.Effect<void>) => Effect.Effect<unknown>): Sim.Options<App> => ({
    controllers: layerOf(Reconciler.make(App, {
      owns: [Pod],
      reconcile: Effect.fnUntraced(function*(request) {
        const app = yield* Store.get(App, request)
        const notes: Array<number> = []
        yield* write((size) => Effect.andThen(Effect.yieldNow, Effect.sync(() => void notes.push(size))))
        const owned = yield* Owner.setController({ metadata: { name: "a" }, spec: { size: notes[0] ?? 0 } }, app)
        yield* Store.ensure(Pod, { name: "a" }, (pod) => pod ?? owned)
      })
    })),
    workload: Sim.script([createApp(1)]),
    faults: ["fibers"],
    depth: 1,
    random: 0
  })

  it.effect("come in any order where that is asked for", () =>
    Effect.gen(function*() {
      const { law, report, token } = yield* Effect.flip(
        Sim.check(noted((note) => Effect.all([note(1), note(2)], { concurrency: "unbounded" })))
      )
      assert.strictEqual(law, "P2", report)
      assert.match(token, /^ctl\/fibers(?:#\d+)?=fibers$/)
      yield* Sim.check(noted((note) => Effect.all([note(1), note(2)])))
    }))
})

describe("the clock on the wall", () => {
  it.effect("jumps, and the monotonic clock and timers do not", () =>
    Effect.gen(function*() {
      const loop = Loop.make(1)
      const process = Loop.startProcess(loop, "ctl", 1)
      const times = Effect.all([Clock.currentTimeMillis, Clock.monotonicTimeNanos, Clock.currentTimeNanos])
      const program = Effect.gen(function*() {
        const before = yield* times
        loop.wallShift += 3_600_000
        yield* Effect.sleep("1 second")
        return [before, yield* times] as const
      })
      const fiber = Loop.fork(process, program)
      Loop.runUntil(loop, 2_000, 1_000, () => false)
      const exit = fiber.pollUnsafe()
      assert.isDefined(exit)
      const [before, after] = yield* exit ?? Effect.die("it still sleeps")
      assert.strictEqual(after[0] - before[0], 3_601_000)
      assert.strictEqual(after[1] - before[1], 1_000_000_000n)
      assert.strictEqual(after[2] - before[2], 3_601_000_000_000n)
    }))
})

describe("at rest", () => {
  it.effect("who looks from time to time has looked once more: what changed unseen is no failure", () =>
    Effect.gen(function*() {
      const Config = kind("Config")
      const config = { name: "config" }
      const polls = Reconciler.make(App, {
        reconcile: Effect.fnUntraced(function*({ name }) {
          const app = yield* Store.get(App, { name })
          const { spec } = yield* Store.latest(Config, config)
          yield* Store.updateStatus(App, app, { phase: String(spec.size) })
          return Outcome.requeueAfter("5 minutes")
        })
      })
      const summary = yield* Sim.check({
        controllers: layerOf(polls),
        workload: Sim.script([
          Sim.act("create Config", Store.create(Config, { metadata: config, spec: { size: 1 } })),
          createApp(1),
          Sim.act(
            "edit Config",
            Effect.flatMap(
              Store.latest(Config, config),
              (object) => Store.update(Config, { ...object, spec: { size: 2 } })
            )
          )
        ]),
        matches: ({ status }, world) => status?.phase === String(world.get(Config, config)?.spec.size),
        depth: 1,
        random: 0
      })
      assert.strictEqual(summary.depth, 1)
    }))
})

describe("a server with rules", () => {
  const options = (
    rule: Parameters<typeof Sim.admission<Kind.Resource<typeof Pod>>>[1],
    steps: ReadonlyArray<Sim.Step<App>>
  ): Sim.Options<App> => ({
    controllers: layerOf(apps),
    workload: Sim.script(steps),
    admit: [Sim.admission(Pod, rule)],
    matches,
    depth: 1,
    random: 0
  })

  it.effect("refuses: what it never takes never comes, and the writer is told why", () =>
    Effect.gen(function*() {
      const rule = options(({ spec, ...pod }, { before }) =>
        before !== undefined && spec.size < before.spec.size ? "a pod never shrinks" : { ...pod, spec }, [
        createApp(2),
        resizeApp(1)
      ])
      const failure = yield* Effect.flip(Sim.check(rule))
      assert.deepStrictEqual([failure.law, failure.deviations], ["P1", 0], failure.report)
      const grows = yield* Sim.check({ ...rule, workload: Sim.script([createApp(1), resizeApp(2)]) })
      assert.strictEqual(grows.depth, 1)
    }))

  it.effect("fills in and changes what is written, by create, update, patch and apply, but not a status", () =>
    Effect.gen(function*() {
      const pod = { name: "p" }
      const sizes: Array<number | undefined> = []
      const note = Effect.map(Store.latest(Pod, pod), ({ spec }) => void sizes.push(spec.size))
      const steps = [
        Store.create(Pod, { metadata: pod, spec: { size: 1 } }),
        Effect.flatMap(Store.latest(Pod, pod), (object) => Store.update(Pod, { ...object, spec: { size: 3 } })),
        Effect.flatMap(Store.latest(Pod, pod), (object) => Store.patch(Pod, object, { merge: { spec: { size: 5 } } })),
        Store.apply(Pod, { metadata: pod, spec: { size: 7 } }, { manager: "test", force: true }),
        Effect.flatMap(Store.latest(Pod, pod), (object) => Store.updateStatus(Pod, object, { phase: "odd" }))
      ].map((write, index) => Sim.act(`write ${index}`, Effect.andThen(write, note)))
      yield* Sim.check({
        ...options(({ spec, ...pod }) => ({ ...pod, spec: { size: spec.size + (spec.size % 2) } }), []),
        workload: Sim.script([createApp(2), ...steps]),
        depth: 0
      })
      assert.deepStrictEqual(sizes.slice(0, 5), [2, 4, 6, 8, 8])
    }))
})

describe("a list of a service outside", () => {
  class Disks extends Context.Service<Disks, {
    readonly attach: (name: string) => Effect.Effect<void>
    readonly list: Effect.Effect<ReadonlyArray<string>>
  }>()("test/Disks") {}

  const disks = Sim.external(Disks, () => {
    const attached: Array<string> = []
    return {
      attach: (name: string) => Effect.sync(() => void attached.push(name)),
      list: Effect.sync(() => attached.slice())
    }
  })

  it.effect("has no order that can be relied on", () =>
    Effect.gen(function*() {
      /** Takes the last in the list for the one that it attached last. */
      const attaches = Reconciler.make(App, {
        reconcile: Effect.fnUntraced(function*({ name }) {
          const app = yield* Store.get(App, { name })
          const outside = yield* Disks
          const wanted = `disk ${app.spec.size}`
          if (!(yield* outside.list).includes(wanted)) yield* outside.attach(wanted)
          yield* Store.updateStatus(App, app, { phase: (yield* outside.list).at(-1) ?? "" })
        })
      })
      const options: Sim.Options<App, Disks> = {
        controllers: layerOf(attaches),
        workload: Sim.script([createApp(1), resizeApp(2)]),
        external: [disks],
        matches: ({ spec, status }) => status?.phase === `disk ${spec.size}`,
        depth: 1,
        random: 0
      }
      const { law, token } = yield* Effect.flip(Sim.check({ ...options, faults: ["unordered"] }))
      assert.deepStrictEqual([law, token], ["P1", "ctl/apps/a/2/Disks.list/order=unordered"])
    }))
})

describe("replicas", () => {
  it.effect("run the same Layer at once, and each of them can fail", () =>
    Effect.gen(function*() {
      const options: Sim.Options<App> = {
        controllers: layerOf(apps),
        workload: Sim.script([createApp(1), resizeApp(2)]),
        matches,
        replicas: 2,
        depth: 1,
        random: 0
      }
      assert.strictEqual((yield* Sim.check(options)).depth, 1)
      for (const token of ["world/step/2/ctl-2=restart", "world/step/2/ctl-2=pause", "world/step/2/ctl-2=stop"]) {
        yield* Sim.replay(options, token)
      }
    }))
})
