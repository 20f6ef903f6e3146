import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Schema, Stream } from "effect"
import { Controller, Kind, MemoryStore, Reconciler, Store } from "setpoint"

const Website = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Website",
  spec: Schema.Struct({ host: Schema.String }),
  status: Schema.Struct({ url: Schema.String })
})

const websites = Reconciler.make(Website, {
  reconcile: Effect.fn("Website.reconcile")(function*(request) {
    const site = yield* Store.get(Website, request)
    // …make the world match site.spec, then say so:
    yield* Store.updateStatus(Website, site, { url: `https://${site.spec.host}` })
  })
})

const Main = Controller.layerFor(websites).pipe(
  Layer.provide(Controller.layer()),
  Layer.provideMerge(MemoryStore.layer)
)

const program = Effect.gen(function*() {
  yield* Store.create(Website, { metadata: { name: "blog" }, spec: { host: "blog.example.dev" } })
  const events = Stream.flattenIterable(Store.watch(Website))
  const sites = Stream.flatMap(events, (event) => "object" in event ? Stream.make(event.object) : Stream.empty)
  const ready = Stream.filter(sites, (site) => site.status !== undefined)
  yield* Stream.runForEach(
    Stream.take(ready, 1),
    (site) => Console.log(`${site.metadata.name} is at ${site.status?.url}`)
  )
})

program.pipe(Effect.provide(Main), Effect.timeout("10 seconds"), NodeRuntime.runMain)
