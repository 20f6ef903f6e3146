/**
 * A `Topic` owns the `Partition`s that it asks for, and a broker outside holds what they stand for. Deleting the topic
 * takes all of it away again: its partitions, and what is in the broker, which no store knows.
 */
import { Context, Effect, Layer, Ref, Schema } from "effect"
import { Finalizer, Kind, Owner, Reconciler, Store } from "setpoint"

const group = "example.dev"

export const Topic = Kind.make({
  group,
  version: "v1",
  kind: "Topic",
  spec: Schema.Struct({ partitions: Schema.Int }),
  status: Schema.Struct({ ready: Schema.Int })
})
export type Topic = Kind.Resource<typeof Topic>

export const Partition = Kind.make({
  group,
  version: "v1",
  kind: "Partition",
  spec: Schema.Struct({ number: Schema.Int }),
  status: Schema.Struct({ online: Schema.Boolean })
})

/** The world outside. */
export class Broker extends Context.Service<Broker, {
  readonly open: (name: string) => Effect.Effect<void>
  readonly drop: (name: string) => Effect.Effect<void>
  readonly names: Effect.Effect<ReadonlyArray<string>>
}>()("example/Broker") {
  static readonly layer = Layer.effect(
    Broker,
    Effect.map(Ref.make<ReadonlySet<string>>(new Set()), (held) => ({
      open: (name) => Ref.update(held, (names) => new Set([...names, name])),
      drop: (name) => Ref.update(held, (names) => new Set([...names].filter((other) => other !== name))),
      names: Effect.map(Ref.get(held), (names) => [...names].toSorted())
    }))
  )
}

/** What must be done before a partition may go. It may run twice, so it must be able to find its work done. */
const inBroker = Finalizer.make(Partition, {
  name: `${group}/broker`,
  cleanup: (partition) => Effect.flatMap(Broker, (broker) => broker.drop(partition.metadata.name))
})

export const partitions = Reconciler.make(Partition, {
  reconcile: Effect.fn("Partition.reconcile")(function*(request) {
    const partition = yield* Store.get(Partition, request)
    yield* Finalizer.run(inBroker, partition, (partition) =>
      Effect.gen(function*() {
        const broker = yield* Broker
        yield* broker.open(partition.metadata.name)
        yield* Store.updateStatus(Partition, partition, { online: true })
      }))
  })
})

/** Names follow from the topic, so that a pass that is repeated finds what it made. */
const nameOf = (topic: Topic, number: number) => `${topic.metadata.name}-${number}`

export const topics = Reconciler.make(Topic, {
  owns: [Partition], // a change of a partition runs its topic
  reconcile: Effect.fn("Topic.reconcile")(function*(request) {
    const topic = yield* Store.get(Topic, request)
    for (let number = 0; number < topic.spec.partitions; number++) {
      const name = nameOf(topic, number)
      const owned = yield* Owner.setController({ metadata: { name }, spec: { number } }, topic)
      yield* Store.ensure(Partition, { name }, () => owned)
    }
    const own = yield* partitionsOf(topic)
    yield* Effect.forEach(
      own.filter((partition) => partition.spec.number >= topic.spec.partitions),
      (partition) => Store.delete(Partition, partition)
    )
    yield* Store.updateStatus(Topic, topic, { ready: own.filter((partition) => partition.status?.online).length })
  })
})

const partitionsOf = (topic: Topic) =>
  Effect.map(Store.list(Partition), ({ items }) => items.filter((partition) => Owner.isOwnedBy(partition, topic)))
