import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Reconciler, Store } from "setpoint"
import { App, createApp, found, kind, layerOf, resizeApp } from "../corpus/kit.ts"

const Part = kind("Part")
const Mark = kind("Mark")

const part = (name: string, size: number) => Store.create(Part, { metadata: { name }, spec: { size } })

/** A part for each App, made once. */
const parts = Reconciler.make(App, {
  owns: [Part],
  reconcile: Effect.fnUntraced(function*({ name }) {
    const { spec } = yield* Store.get(App, { name })
    if ((yield* found(Store.get(Part, { name }))) === undefined) yield* part(name, spec.size)
  })
})

const workload = Sim.script([createApp(1)])

/** The report of a check that fails, which is the only way to read a story. */
const reportOf = <S>(options: Sim.Options<App, S>, token = "") =>
  Effect.map(Effect.flip(Sim.replay({ ...options, depth: 0, random: 0 }, token)), ({ report }) => report)

describe("actors", () => {
  const marks = Sim.actor(
    "marker",
    Part,
    ({ metadata: { name }, spec }, { type }) =>
      type === "created" ? Store.create(Mark, { metadata: { name }, spec }) : Effect.void
  )
  const options: Sim.Options<App> = { controllers: layerOf(parts), workload, actors: [marks] }
  const unhappy = { atRest: { "that nothing is marked": (world: Sim.World) => world.list(Mark).length === 0 } }

  it.effect("answer a moment later, under their own name", () =>
    Effect.gen(function*() {
      const report = yield* reportOf({ ...options, ...unhappy })
      assert.match(report, /t=20\.01s +ctl +create Part a .*\n.*t=20\.11s +marker +create Mark a /)
    }))

  it.effect("answer late at a point of their own", () =>
    Effect.gen(function*() {
      const token = "marker/created:Part/a=slow"
      const report = yield* reportOf({ ...options, ...unhappy }, token)
      assert.match(report, /t=45\.11s +marker +create Mark a /)
      yield* Sim.check({ ...options, tokens: [token], depth: 1, random: 0 })
    }))

  it.effect("may fail as users do, and must not die", () =>
    Effect.gen(function*() {
      const again = Sim.actor("again", Part, () => part("a", 1))
      yield* Sim.check({ ...options, actors: [again], depth: 0, random: 0 })
      const dies = Sim.actor("dies", Part, () => Effect.die("a bug of the test's own"))
      const failure = yield* Effect.flip(Sim.check({ ...options, actors: [dies], depth: 0, random: 0 }))
      assert.deepStrictEqual([failure.law, failure.title], ["input", "the actor dies died: a bug of the test's own"])
    }))

  it.effect("hear what others of them did, and are no reason for P19", () =>
    Effect.gen(function*() {
      const copies = Sim.actor("copier", Mark, ({ metadata: { name }, spec }, { type }) =>
        type === "created" && name === "a" ? Store.create(Mark, { metadata: { name: "b" }, spec }) : Effect.void)
      const both = { ...options, actors: [marks, copies] }
      const report = yield* reportOf({
        ...both,
        atRest: {
          "two marks are too many": (world) =>
            world.list(Mark).length < 2
        }
      })
      assert.match(report, /copier +create Mark b/)
      yield* Sim.check({ ...both, depth: 1, random: 0 })
    }))
})

describe("what must always hold", () => {
  class Lamp extends Context.Service<Lamp, { readonly set: (isOn: boolean) => Effect.Effect<void> }>()("test/Lamp") {}

  const lamp = Sim.external(Lamp, () => {
    const state = { isOn: false }
    return { state, set: (isOn) => Effect.sync(() => void (state.isOn = isOn)) }
  })

  it.effect("is asked after what only changes the world outside", () =>
    Effect.gen(function*() {
      const blinks = Reconciler.make(App, {
        reconcile: () => Effect.flatMap(Lamp, ({ set }) => Effect.andThen(set(true), set(false)))
      })
      const options: Sim.Options<App, Lamp> = {
        controllers: layerOf(blinks),
        workload,
        external: [lamp],
        always: { "the lamp is off": (world) => !world.external(lamp).state.isOn }
      }
      const failure = yield* Effect.flip(Sim.check(options))
      assert.deepStrictEqual([failure.law, failure.title], ["P6", "it does not always hold: the lamp is off"])
    }))
})

describe("steps", () => {
  it.effect("come when they are due, in the middle of a pass too", () =>
    Effect.gen(function*() {
      const steps = Reconciler.make(App, {
        reconcile: Effect.fnUntraced(function*({ name }) {
          const { spec } = yield* Store.get(App, { name })
          for (const index of [1, 2, 3]) {
            yield* Store.ensure(Part, { name: `${name}${index}` }, () => ({ metadata: {}, spec }))
          }
        })
      })
      const report = yield* reportOf({
        controllers: layerOf(steps),
        workload: Sim.script([createApp(1), Sim.soon(resizeApp(2), "20 millis")]),
        atRest: { "that nothing was made": (world) => world.list(Part).length === 0 }
      })
      const told = report.split("\n").flatMap((line) => /(create|update) \w+ a\d?/.exec(line)?.[0] ?? [])
      assert.deepStrictEqual(told.slice(0, 5), [
        "create App a",
        "create Part a1",
        "update App a",
        "create Part a2",
        "create Part a3"
      ])
    }))
})

describe("starts", () => {
  const grown = Sim.script([createApp(1), Sim.act("delete Part", Store.deleteUnconditionally(Part, { name: "a" }))])
  const doubts = Reconciler.make(App, {
    watches: [Reconciler.watch(Part, ({ metadata }) => [{ name: metadata.name }])],
    reconcile: Effect.fnUntraced(function*({ name }) {
      const { spec } = yield* Store.get(App, { name })
      const cached = yield* found(Store.get(Part, { name }))
      if (cached === undefined) return void (yield* part(name, spec.size))
      const latest = yield* found(Store.latest(Part, { name }))
      const isOld = latest?.metadata.uid !== cached.metadata.uid
      if (isOld) yield* Store.ensure(Mark, { name }, () => ({ metadata: {}, spec }))
    })
  })
  const options: Sim.Options<App> = {
    controllers: layerOf(doubts),
    workload: grown,
    faults: Sim.allFaults,
    never: { "an old view was met": (world) => world.list(Mark).length > 0 }
  }

  it.effect("old lists of one kind leave the others as they are", () =>
    Effect.gen(function*() {
      const report = yield* reportOf(options, "world/step/3=old-kind:Part@2")
      assert.include(report, "started; lists of Part are served at revision 2")
      assert.match(report, /never: an old view was met/)
    }))

  it.effect("[E4] a first list that is late holds all passes that need it", () =>
    Effect.gen(function*() {
      const follows = Reconciler.make(App, {
        watches: [Reconciler.watch(Part, ({ metadata }) => [{ name: metadata.name }])],
        reconcile: Effect.fnUntraced(function*({ name }) {
          const { spec } = yield* Store.get(App, { name })
          yield* Store.ensure(Part, { name }, () => ({ metadata: {}, spec }))
        })
      })
      const report = yield* reportOf({
        controllers: layerOf(follows),
        workload: Sim.script([createApp(1), resizeApp(2)]),
        atRest: { "there is no part": (world) => world.list(Part).length === 0 }
      }, "world/step/2=unsynced:Part")
      assert.include(report, "started; the first list of Part takes 10 s")
      assert.match(report, /t=42s .*update App a .*\n.*t=51\.\d+s .*update Part a /)
    }))
})
