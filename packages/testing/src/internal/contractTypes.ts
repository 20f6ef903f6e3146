/** What the suite asks of a store, and how its parts declare their tests. */
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Store } from "setpoint/Store"
import type { StoreDriver } from "setpoint/StoreDriver"

/**
 * What the tests ask of a store's constructor. A store may keep more history than it is asked to, and send bookmarks
 * more often.
 *
 * @category models
 * @since 0.1.0
 */
export interface StoreOptions {
  /** Changes that are kept for resumed watches. */
  readonly history?: number | undefined
  /** A bookmark for every watch once in so many changes. */
  readonly bookmarkEvery?: number | undefined
  readonly maxObjectBytes?: number | undefined
}

/** @category models @since 0.1.0 */
export type MakeLayer = (options: StoreOptions) => Layer.Layer<Store | StoreDriver, unknown>

/** How the parts of the suite declare a test: its body gets a fresh store. */
export type Test = (
  title: string,
  body: Effect.Effect<unknown, unknown, Store | StoreDriver | Scope.Scope>,
  options?: StoreOptions
) => void
