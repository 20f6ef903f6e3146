/** Runs that were once taken for failures, or failed: the smallest case of each. */
import { describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as IS06 from "../corpus/IS-06.right.ts"
import * as SS03 from "../corpus/SS-03.right.ts"
import * as ST09 from "../corpus/ST-09.wrong.ts"

describe("a run is clean", () => {
  it.effect("in which a pass begins just when rest is looked for", () =>
    Sim.replay(IS06.options, "ctl/apps/a/1/Cloud.make=slow,world/step/2=pause"))

  it.effect("[E10] in which the pass after a lost reply fails before it has read anything", () =>
    Sim.replay(ST09.guarded, "ctl/apps/a/1/create:Machine/a-h7tcq=lose,ctl/apps/a/2/get:App/a=refuse"))

  it.effect("in which a pass that runs again meets a fault, which is a reason to write", () =>
    Sim.replay(SS03.options, "world/step/2=again,ctl/apps/a/2/get:Pod/a=refuse"))
})
