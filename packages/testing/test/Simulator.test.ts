import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Choices from "@setpoint/testing/internal/sim/choices"
import * as randomness from "@setpoint/testing/internal/sim/randomness"
import { run } from "@setpoint/testing/internal/sim/run"
import { bare, type Spec } from "@setpoint/testing/internal/sim/spec"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Controller, DynamicController, Owner, Reconciler, Store } from "setpoint"
import { App, createApp, kind, layerOf, removeApp, resizeApp } from "../corpus/kit.ts"

const Pod = kind("Pod")

/** One pod for each of the App's size. */
const apps = Reconciler.make(App, {
  owns: [Pod],
  reconcile: Effect.fnUntraced(function*(request) {
    const app = yield* Store.get(App, request)
    for (let index = 0; index < app.spec.size; index++) {
      const name = `${request.name}-${index}`
      const owned = yield* Owner.setController({ metadata: { name }, spec: { size: 1 } }, app)
      yield* Store.ensure(Pod, { name }, () => owned)
    }
    const { items } = yield* Store.list(Pod)
    for (const pod of items.slice(app.spec.size)) yield* Store.delete(Pod, pod)
  })
})

const workload = Sim.script([createApp(2), resizeApp(1), resizeApp(2), removeApp])

const spec: Spec = {
  ...bare,
  layer: layerOf(apps),
  steps: workload.steps,
  kinds: [App],
  of: [App],
  faults: new Set(Sim.defaultFaults)
}

const pairs = process.env["SETPOINT_NIGHTLY"] === undefined ? 2_000 : 100_000

describe("a run", () => {
  it("is a function of its choices: equal ones give equal runs, and its list of deviations gives it again", () => {
    const hashes = new Set<number>()
    for (let i = 0; i < pairs; i++) {
      const kind = i % 3 === 0 ? Choices.prioritized : Choices.random
      const source = () => kind(randomness.make(randomness.seedOf(`pair ${i}`)))
      const first = run(spec, source(), { isRecorded: false, plain: undefined })
      const again = i % 2 === 0 ? source() : Choices.planned(first.taken)
      const second = run(spec, again, { isRecorded: false, plain: undefined })
      assert.strictEqual(second.hash, first.hash, Choices.print(first.taken))
      assert.isUndefined(first.violation, Choices.print(first.taken))
      const names = first.points.map(({ name }) => name)
      assert.strictEqual(new Set(names).size, names.length, "a point is named once, also where its call is put off")
      hashes.add(first.hash)
    }
    assert.isAbove(hashes.size, pairs / 4)
  }, pairs * 100)

  it("names its points by process, registration, key, pass and call", () => {
    const { points } = run(spec, Choices.planned([]), { isRecorded: false, plain: undefined })
    const names = points.map(({ name }) => name)
    assert.strictEqual(new Set(names).size, names.length)
    assert.include(names, "ctl/informer/App.example.dev/list:App")
    assert.include(names, "ctl/informer/App.example.dev/event:App/a")
    assert.include(names, "ctl/apps/a/1/create:Pod/a-0")
    assert.include(names, "world/step/2")
  })

  it("offers a kill once where nothing happened since the last, and after a call only where it changes something", () => {
    const { points } = run(spec, Choices.planned([]), { isRecorded: false, plain: undefined })
    const at = (name: string) => points.find((point) => point.name === name)?.alternatives ?? []
    assert.include(at("ctl/apps/a/1/create:Pod/a-0"), "kill-after")
    assert.notInclude(at("ctl/apps/a/1/create:Pod/a-1"), "kill") // it would be the kill after the call before
    assert.isFalse(
      points.some(({ alternatives, name }) => name.includes("/list:") && alternatives.includes("kill-after"))
    )
  })

  it("after a kill the next process is built anew, and its points say which start they are of", () => {
    const plan = [{ point: "ctl/apps/a/1/create:Pod/a-1", alternative: "kill-after" }]
    const { lines, points, violation } = run(spec, Choices.planned(plan), { isRecorded: true, plain: undefined })
    assert.isUndefined(violation)
    assert.isTrue(points.some(({ name }) => name.startsWith("ctl@2/")))
    assert.deepStrictEqual(lines.filter(({ text }) => text === "started").map(({ who }) => who), ["ctl@2", "ctl@3"])
  })
})

describe("a token", () => {
  it("is the list itself, in readable form", () => {
    const plan = [
      { point: "ctl/apps/team/a/1/create:Pod/a-0#2", alternative: "kill-after" },
      { point: "world/step/2", alternative: "old:7" }
    ]
    const token = Choices.print(plan)
    assert.strictEqual(token, "ctl/apps/team/a/1/create:Pod/a-0#2=kill-after,world/step/2=old:7")
    assert.deepStrictEqual(Choices.parse(token), plan)
    assert.deepStrictEqual(Choices.parse(""), [])
    for (const wrong of ["x", "=kill", "x=", "x=kill,"]) assert.isUndefined(Choices.parse(wrong))
  })
})

describe("the engine's own Layers", () => {
  it.effect("a dynamic controller's registrations survive every single fault", () =>
    Effect.gen(function*() {
      const dynamic = Layer.effectDiscard(
        Effect.flatMap(
          DynamicController.DynamicController,
          (controller) => controller.register(apps, { waitForSync: false })
        )
      ).pipe(Layer.provide(DynamicController.layer), Layer.provide(Controller.layer()))
      const summary = yield* Sim.check({
        controllers: dynamic,
        workload: Sim.script([createApp(1), resizeApp(2)]),
        matches: ({ spec }, world) => world.list(Pod).length === spec.size,
        depth: 1,
        random: 10
      })
      assert.strictEqual(summary.depth, 1)
    }))
})
