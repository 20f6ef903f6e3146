import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Kind, MemoryStore, Store } from "setpoint"

const Website = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Website",
  spec: Schema.Struct({ host: Schema.String, replicas: Schema.Int }),
  status: Schema.Struct({ ready: Schema.Int })
})

it.effect("smoke", () =>
  Effect.gen(function*() {
    const a = yield* Store.create(Website, { metadata: { name: "a" }, spec: { host: "h", replicas: 1 } })
    assert.strictEqual(a.metadata.generation, 1)
    const b = yield* Store.update(Website, { ...a, spec: { ...a.spec, replicas: 2 } })
    assert.strictEqual(b.metadata.generation, 2)
    const c = yield* Store.updateStatus(Website, b, { ready: 2 })
    assert.strictEqual(c.metadata.generation, 2)
    assert.strictEqual(yield* Store.get(Website, { name: "a" }), c)
    const list = yield* Store.list(Website)
    assert.deepStrictEqual(list.items, [c])
    const applied = yield* Store.apply(Website, { metadata: { name: "z" }, spec: { host: "h", replicas: 1 } }, {
      manager: "m"
    })
    assert.strictEqual(applied.metadata.managedFields?.length, 1)
    const error = yield* Effect.flip(Store.update(Website, b))
    assert.strictEqual(error.reason._tag, "Conflict")
    const deleted = yield* Store.delete(Website, c)
    assert.isTrue(deleted.removed)
  }).pipe(Effect.provide(MemoryStore.layer)))
