/** Creates a topic, makes it smaller, deletes it, and looks at the broker after each. */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Stream } from "effect"
import { Controller, type Kind, MemoryStore, Store } from "setpoint"
import { Broker, Partition, partitions, Topic, topics } from "./Topic.ts"

const Main = Layer.mergeAll(Controller.layerFor(topics), Controller.layerFor(partitions))
  .pipe(
    Layer.provide(Controller.layer()),
    Layer.provideMerge(Layer.merge(MemoryStore.layer, Broker.layer))
  )

/** Waits until the kind's objects are as they should be; they are looked at anew after each change. */
const until = <A extends Kind.Resource<typeof Topic> | Kind.Resource<typeof Partition>>(
  kind: Kind.Kind<A>,
  holds: (objects: ReadonlyArray<A>) => boolean
) =>
  Store.watch(kind).pipe(
    Stream.mapEffect(() => Store.list(kind)),
    Stream.takeUntil(({ items }) => holds(items)),
    Stream.runDrain
  )

const expectInBroker = Effect.fnUntraced(function*(...expected: ReadonlyArray<string>) {
  const names = yield* Effect.flatMap(Broker, (broker) => broker.names)
  yield* Console.log(`the broker holds ${names.join(", ") || "nothing"}`)
  if (names.join() !== expected.join()) return yield* Effect.die(`it should hold ${expected.join(", ") || "nothing"}`)
})

const program = Effect.gen(function*() {
  yield* Store.create(Topic, { metadata: { name: "orders" }, spec: { partitions: 3 } })
  yield* until(Topic, ([topic]) => topic?.status?.ready === 3)
  yield* expectInBroker("orders-0", "orders-1", "orders-2")

  const topic = yield* Store.get(Topic, { name: "orders" })
  yield* Store.patch(Topic, topic, { merge: { spec: { partitions: 1 } } })
  yield* until(Partition, (partitions) => partitions.length === 1)
  yield* expectInBroker("orders-0")

  yield* Store.deleteUnconditionally(Topic, { name: "orders" })
  yield* until(Partition, (partitions) => partitions.length === 0)
  yield* expectInBroker()
})

program.pipe(Effect.provide(Main), Effect.timeout("20 seconds"), NodeRuntime.runMain)
