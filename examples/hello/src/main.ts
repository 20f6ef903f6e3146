import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Stream } from "effect"
import { Controller, MemoryStore, Store } from "setpoint"
import { Website, websites } from "./Website.ts"

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
