import { describe } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import { it } from "@setpoint/testing/SimTest"
import { Effect, Layer } from "effect"
import { Controller, Store } from "setpoint"
import { Broker, Partition, partitions, Topic, topics } from "../src/Topic.ts"

const broker = Sim.external(Broker, () => {
  const held = new Set<string>()
  return {
    held,
    open: (name: string) => Effect.sync(() => void held.add(name)),
    drop: (name: string) => Effect.sync(() => void held.delete(name)),
    names: Effect.sync(() => [...held].toSorted())
  }
})

const orders = { name: "orders" }

const controllers = Layer.merge(Controller.layerFor(topics), Controller.layerFor(partitions)).pipe(
  Layer.provide(Controller.layer())
)

const isServed = (topic: Topic, world: Sim.World): boolean =>
  topic.status?.ready === topic.spec.partitions && world.list(Partition).length === topic.spec.partitions

const atRest = {
  "the broker holds what the partitions stand for": (world: Sim.World) => {
    const names = world.list(Partition).map(({ metadata }) => metadata.name)
    return [...world.external(broker).held].toSorted().join() === names.join()
  }
}

const create = Sim.create(Topic, { metadata: orders, spec: { partitions: 2 } })
const removeAfterPartitions = Sim.act(
  "delete Topic orders, after what it owns",
  Store.deleteUnconditionally(Topic, orders, { propagation: "foreground" })
)
const shrink = Sim.edit(Topic, orders, () => ({ spec: { partitions: 1 } }))

const isNightly = process.env["SETPOINT_NIGHTLY"] === "1"
const effort = isNightly
  ? { depth: 2, maxRuns: 50_000, random: 1_000, seed: Number(process.env["SETPOINT_SEED"] ?? 1) }
  : { depth: 1, random: 20 }

describe("topics", () => {
  it.sim("have the partitions that they ask for, and leave nothing in the broker", {
    controllers,
    workload: Sim.script([create, shrink, Sim.remove(Topic, orders)]),
    external: [broker],
    matches: isServed,
    atRest,
    ...effort
  }, 1_000_000)

  it.sim("have them with two processes at once, and when somebody deletes one", {
    controllers,
    workload: Sim.script([create, shrink]),
    external: [broker],
    matches: isServed,
    atRest,
    faults: ["overlap", "delete", "stop", "restart", "kill-after", "behind", "rival", "late"],
    ...effort
  }, 1_000_000)

  it.sim("go after their partitions where they are deleted so", {
    controllers,
    workload: Sim.script([create, removeAfterPartitions]),
    external: [broker],
    atRest: { ...atRest, "no topic is left": (world) => world.list(Topic).length === 0 },
    ...effort
  }, 1_000_000)
})
