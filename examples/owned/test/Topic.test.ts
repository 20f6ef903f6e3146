import { describe } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import { it } from "@setpoint/testing/SimTest"
import { Effect, Layer } from "effect"
import { Controller } from "setpoint"
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

describe("topics", () => {
  it.sim("have the partitions that they ask for, and leave nothing in the broker", {
    controllers: Layer.merge(Controller.layerFor(topics), Controller.layerFor(partitions)).pipe(
      Layer.provide(Controller.layer())
    ),
    workload: Sim.script([
      Sim.create(Topic, { metadata: orders, spec: { partitions: 2 } }),
      Sim.edit(Topic, orders, () => ({ spec: { partitions: 1 } })),
      Sim.remove(Topic, orders)
    ]),
    external: [broker],
    matches: (topic, world) =>
      topic.status?.ready === topic.spec.partitions && world.list(Partition).length === topic.spec.partitions,
    atRest: {
      "the broker holds what the partitions stand for": (world) => {
        const names = world.list(Partition).map(({ metadata }) => metadata.name)
        return [...world.external(broker).held].toSorted().join() === names.join()
      }
    },
    depth: 1,
    random: 20
  })
})
