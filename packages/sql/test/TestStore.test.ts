/** Faults in front of a real store, which keeps its laws behind them. */
import { assert, describe, it } from "@effect/vitest"
import { SqliteStore } from "@setpoint/sql"
import { StoreContract, TestStore } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Kind, Store } from "setpoint"

const Website = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Website",
  spec: Schema.Struct({ host: Schema.String })
})

describe("a test store over SQLite", { concurrent: false }, () => {
  StoreContract.suite(
    "without faults",
    (options) => TestStore.layer(SqliteStore.layer({ ...options, filename: ":memory:" })),
    { runs: 20 }
  )

  it.effect("what was applied stays, though its reply was lost", () =>
    Effect.gen(function*() {
      const create = Store.create(Website, { metadata: { name: "blog" }, spec: { host: "a" } })
      assert.strictEqual((yield* Effect.flip(create)).reason._tag, "UnknownOutcome")
      assert.strictEqual((yield* Effect.flip(create)).reason._tag, "AlreadyExists")
    }).pipe(Effect.provide(Layer.fresh(
      TestStore.layer(SqliteStore.layer({ filename: ":memory:" }), {
        script: ({ number, operation }) => operation === "create" && number === 1 ? "lose" : undefined
      })
    ))))
})
