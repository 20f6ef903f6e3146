import { describe } from "@effect/vitest"
import { SqliteStore } from "@setpoint/sql"
import { StoreContract } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { temporaryFile } from "./support/files.ts"

/** One at a time: statements take the thread, so a hundred stores at a time would only wait for each other. */
describe("the contract", { concurrent: false }, () => {
  StoreContract.suite("SqliteStore in memory", (options) => SqliteStore.layer({ ...options, filename: ":memory:" }))

  const place = Effect.map(
    temporaryFile,
    (filename): StoreContract.MakeLayer => (options) => SqliteStore.layer({ ...options, filename })
  )

  StoreContract.suite(
    "SqliteStore in a file",
    (options) => Layer.unwrap(Effect.map(place, (makeLayer) => makeLayer(options))),
    { place, runs: 50 }
  )
})
