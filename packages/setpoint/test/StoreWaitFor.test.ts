import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { Kind, MemoryStore, Store } from "setpoint"

const Website = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Website",
  spec: Schema.Struct({ host: Schema.String })
})

describe("waiting for an object", () => {
  it.effect("it is given at once where it is as wanted, and else when it becomes so", () =>
    Effect.gen(function*() {
      const waiting = yield* Effect.forkChild(
        Store.waitFor(Website, { name: "blog" }, (site) => site.spec.host === "b"),
        { startImmediately: true }
      )
      yield* Store.create(Website, { metadata: { name: "blog", namespace: "other" }, spec: { host: "b" } })
      const site = yield* Store.create(Website, { metadata: { name: "blog" }, spec: { host: "a" } })
      assert.strictEqual(waiting.pollUnsafe(), undefined)
      yield* Store.update(Website, { ...site, spec: { host: "b" } })
      assert.strictEqual((yield* Fiber.join(waiting)).metadata.namespace, "default")
      const again = yield* Store.waitFor(Website, { name: "blog" }, () => true)
      assert.strictEqual(again.spec.host, "b")
    }).pipe(Effect.provide(MemoryStore.layer)))

  it.effect("[S9] a reader that was too slow begins anew, and misses nothing that lasts", () =>
    Effect.gen(function*() {
      const waiting = yield* Effect.forkChild(
        Store.waitFor(Website, { name: "last" }, () => true),
        { startImmediately: true }
      )
      for (let i = 0; i < 3000; i++) {
        yield* Store.create(Website, { metadata: { name: `site-${i}` }, spec: { host: "a" } })
      }
      yield* Store.create(Website, { metadata: { name: "last" }, spec: { host: "a" } })
      assert.strictEqual((yield* Fiber.join(waiting)).metadata.name, "last")
    }).pipe(Effect.provide(MemoryStore.layer)))
})
