/**
 * The contract of stores: one suite of tests that every store must pass, whatever it is made of.
 *
 * A store's test file calls {@link suite} with a function that gives a Layer of a fresh, empty store. Each test builds
 * its own. Titles begin with the ids of the laws (S1-S13) and parity lines that they cover.
 *
 * @since 0.1.0
 */
import { describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as backup from "./internal/contractBackup.ts"
import * as limits from "./internal/contractLimits.ts"
import * as modelled from "./internal/contractModelled.ts"
import * as typed from "./internal/contractTyped.ts"
import type { MakeLayer, Test } from "./internal/contractTypes.ts"
import * as watching from "./internal/contractWatching.ts"
import * as writing from "./internal/contractWriting.ts"

export type { MakeLayer, StoreOptions } from "./internal/contractTypes.ts"

/** @category models @since 0.1.0 */
export interface Options {
  /** `"live"` for stores that need real time. Default `"test"`. */
  readonly clock?: "test" | "live" | undefined
  /**
   * A fresh place that keeps a store while it is closed: its function opens it, as often as it is called. Default: the
   * store is kept nowhere, and the tests of reopening are left out.
   */
  readonly place?: Effect.Effect<MakeLayer, unknown, Scope.Scope> | undefined
  /** Runs of the property test. Default 150. */
  readonly runs?: number | undefined
  /** Milliseconds that one test may take. Default 20,000. */
  readonly timeoutMillis?: number | undefined
}

/**
 * Declares the tests of the contract for a store.
 *
 * @example
 * ```ts no-run
 * import { StoreContract } from "@setpoint/testing"
 * import { MemoryStore } from "setpoint"
 *
 * StoreContract.suite("MemoryStore", (options) => MemoryStore.layerWith(options))
 * ```
 *
 * @category tests
 * @since 0.1.0
 */
export const suite = (name: string, makeLayer: MakeLayer, options: Options = {}): void => {
  const declare = options.clock === "live" ? it.live : it.effect
  const timeout = options.timeoutMillis ?? 20_000
  const test: Test = (title, body, storeOptions = {}) =>
    declare(title, () => Effect.provide(body, Layer.fresh(makeLayer(storeOptions))), timeout)
  describe(name, () => {
    describe("writing", () => writing.tests(test))
    describe("watching and listing", () => watching.tests(test, makeLayer))
    describe("backup", () => backup.tests(test, makeLayer, options.place))
    describe("typed objects", () => typed.tests(test))
    describe("limits and bad input", () => limits.tests(test))
    describe("beside a model", () => modelled.tests(test, makeLayer, options.runs ?? 150))
  })
}
