import { describe } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import { it } from "@setpoint/testing/SimTest"
import { Layer } from "effect"
import { Controller } from "setpoint"
import { Website, websites } from "../src/Website.ts"

describe("websites", () => {
  it.sim("say where they are, whatever call the process dies at and however late it hears of changes", {
    controllers: Controller.layerFor(websites).pipe(Layer.provide(Controller.layer())),
    workload: Sim.changes(Website, { names: 1 }),
    matches: (site) => site.status?.url === `https://${site.spec.host}`,
    depth: 1,
    random: 50
  })
})
