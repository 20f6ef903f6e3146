/** Runs that were once taken for failures, or failed: the smallest case of each. */
import { describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Outcome, Reconciler, Store } from "setpoint"
import * as IS06 from "../corpus/IS-06.right.ts"
import { App, createApp, kind, layerOf } from "../corpus/kit.ts"
import * as SS03 from "../corpus/SS-03.right.ts"
import * as ST09 from "../corpus/ST-09.wrong.ts"

describe("a run is clean", () => {
  it.effect("in which a pass begins just when rest is looked for", () =>
    Sim.replay(IS06.options, "ctl/apps/a/1/Cloud.make=slow,world/step/2=pause"))

  it.effect("[E10] in which the pass after a lost reply fails before it has read anything", () =>
    Sim.replay(ST09.guarded, "ctl/apps/a/1/create:Machine/a-h7tcq=lose,ctl/apps/a/2/get:App/a=refuse"))

  it.effect("in which a pass that runs again meets a fault, which is a reason to write", () =>
    Sim.replay(SS03.options, "world/step/2=again,ctl/apps/a/2/get:Pod/a=refuse"))

  it.effect("in which the clock is put back, and a timer that waits for a time of day comes too early", () =>
    Sim.replay(timed, "world/step/2=back"))

  it.effect("in which a start meets a fault and fails when faults have ended: it is started anew", () =>
    Sim.replay(
      claimed,
      "world/step/2=restart,ctl@2/outside/update:Pod/leader=lose,ctl@2/outside/outcome=slow"
    ))
})

const Pod = kind("Pod")

/** When a simulated world has gone on for 75 seconds. */
const due = Date.parse("2030-01-01T00:01:15Z")

const timed: Sim.Options<App> = {
  controllers: layerOf(Reconciler.make(App, {
    reconcile: Effect.fnUntraced(function*({ name }) {
      const { spec } = yield* Store.get(App, { name })
      const left = due - (yield* Clock.currentTimeMillis)
      if (left > 0) return Outcome.requeueAfter(left)
      yield* Store.ensure(Pod, { name }, () => ({ metadata: { name }, spec }))
    })
  })),
  workload: Sim.script([createApp(1)]),
  matches: ({ metadata }, world) => world.get(Pod, metadata.name) !== undefined
}

/** Each start is counted. */
const claim = Store.ensure(Pod, { name: "leader" }, (pod) => ({
  metadata: { name: "leader" },
  spec: { size: (pod?.spec.size ?? 0) + 1 }
}))

const claimed: Sim.Options<App> = {
  controllers: Layer.merge(
    layerOf(Reconciler.make(App, { reconcile: (request) => Effect.asVoid(Store.get(App, request)) })),
    Layer.effectDiscard(claim)
  ),
  workload: Sim.script([createApp(1)]),
  matches: (_, world) => world.get(Pod, "leader") !== undefined,
  except: { P19: "each start is counted" }
}
