import { Sim } from "@setpoint/testing"
import { it } from "@setpoint/testing/SimTest"
import { Claim, Database, layer, Servers } from "./database.ts"

it.sim("a database grows with its claim", {
  controllers: layer,
  workload: Sim.script([
    Sim.create(Database, { metadata: { name: "orders" }, spec: { gigabytes: 10 } }),
    Sim.edit(Database, { name: "orders" }, () => ({ spec: { gigabytes: 30 } }))
  ]),
  matches: ({ metadata: { name }, spec }, world) =>
    world.get(Claim, name)?.spec.gigabytes === spec.gigabytes &&
    world.get(Servers, name)?.spec.gigabytes === spec.gigabytes
})
