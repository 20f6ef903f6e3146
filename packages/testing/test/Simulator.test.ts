import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Choices from "@setpoint/testing/internal/sim/choices"
import { run } from "@setpoint/testing/internal/sim/run"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Controller, DynamicController } from "setpoint"
import { createApp, resizeApp } from "../corpus/kit.ts"
import { apps, Pod, spec } from "./support/pods.ts"

describe("a run", () => {
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
