/**
 * What an adapter implements: plain JSON in, plain JSON out.
 *
 * `Store` is built on this once, for all stores: it decodes, converts, defaults, tracks the current pass, and adds the
 * write id and the fence. A driver keeps the laws S1-S11 for the objects it is given; the contract suite of
 * `@setpoint/testing` runs against every one.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { Address } from "./Kind.ts"
import type { Json, Key, Raw } from "./Resource.ts"
import type { Cursor, Revision } from "./Revision.ts"
import type { StoreError } from "./StoreError.ts"

/**
 * Where the objects of a kind are: `version` is the stored one.
 *
 * @category models
 * @since 0.1.0
 */
export type KindAddress = Address

/**
 * How fresh a read must be: `mostRecent` is never from a lagging replica. `metadataOnly` leaves all but apiVersion,
 * kind and metadata out.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReadOptions {
  readonly consistency: "mostRecent" | "any"
  readonly metadataOnly?: boolean | undefined
}

/** @category models @since 0.1.0 */
export interface ListOptions extends ReadOptions {
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  /** Canonical text, as `Selector.print` gives it. */
  readonly selector?: string | undefined
  /** Only dependents of this uid: for collectors. */
  readonly ownerUid?: string | undefined
  /** Page size; absent: everything in one page. */
  readonly limit?: number | undefined
  /** `next` of the page before: it holds the snapshot's revision (S8). */
  readonly page?: string | undefined
}

/** @category models @since 0.1.0 */
export interface Page {
  /** In the order of the UTF-8 bytes of `namespace/name` (S8). */
  readonly items: ReadonlyArray<Raw>
  readonly revision: Revision
  /** A watch from here misses nothing. */
  readonly cursor: Cursor
  readonly next?: string | undefined
}

/** @category models @since 0.1.0 */
export type Propagation = "background" | "foreground" | "orphan"

/**
 * One write. `update` keeps the stored status where the kind declares one (`hasStatus`), `updateStatus` keeps all but
 * status.
 *
 * @category models
 * @since 0.1.0
 */
export type Write =
  | { readonly op: "create"; readonly object: Raw }
  | { readonly op: "update" | "updateStatus"; readonly object: Raw }
  | {
    readonly op: "patch"
    readonly key: Key
    readonly type: "merge" | "json"
    readonly patch: Json
    readonly subresource?: "status" | "scale" | undefined
  }
  | {
    readonly op: "apply"
    readonly object: Raw
    readonly manager: string
    readonly force: boolean
    readonly subresource?: "status" | undefined
  }
  | { readonly op: "delete"; readonly key: Key; readonly propagation: Propagation }

/** @category models @since 0.1.0 */
export interface WriteOptions {
  /** Preconditions are judged first (S2). */
  readonly uid?: string | undefined
  readonly revision?: Revision | undefined
  /** Random, made by `Store`: finds the outcome of a write whose reply was lost. */
  readonly writeId: string
  readonly fence?: { readonly lease: string; readonly epoch: number } | undefined
  readonly dryRun?: boolean | undefined
  /** Whether the kind declares a status, which `create` and `update` then leave alone. */
  readonly hasStatus: boolean
  /**
   * Validates and completes what a patch or an apply made of the stored object, in the store's own transaction: gives
   * the object with Schema defaults filled in, or throws a `StoreError` which the driver passes on. Drivers of servers
   * that validate on their own may leave it uncalled.
   */
  readonly admit?: ((object: Raw) => Raw) | undefined
}

/** @category models @since 0.1.0 */
export interface Written {
  /** As stored; of a delete: the last state. */
  readonly object: Raw
  /** `false`: equal to what was stored, no revision was made (S2). */
  readonly changed: boolean
  /** Of a delete: gone, not only marked (S6). Also of the write that removed the last finalizer. */
  readonly removed: boolean
}

/** @category models @since 0.1.0 */
export interface WatchOptions {
  readonly from: "current" | Cursor
  readonly namespace?: string | undefined
  readonly selector?: string | undefined
  readonly metadataOnly?: boolean | undefined
  /** Events; past it the stream ends with `Lagged` (S9). Default 1,024. */
  readonly bufferSize?: number | undefined
}

/** @category models @since 0.1.0 */
export type WatchEvent =
  | {
    readonly _tag: "Added" | "Modified"
    readonly object: Raw
    readonly initial: boolean
    readonly cursor: Cursor
    /** Absent where a store cannot keep it: then E10 and E11 go by revision. */
    readonly writeId?: string | undefined
  }
  | { readonly _tag: "Deleted"; readonly last: Raw; readonly revision: Revision; readonly cursor: Cursor }
  | { readonly _tag: "InitialDone" | "Bookmark"; readonly revision: Revision; readonly cursor: Cursor }

/**
 * The promises that a driver makes or not; each is read by one place in the engine.
 *
 * @category models
 * @since 0.1.0
 */
export interface Capabilities {
  /** Deletes dependents itself. */
  readonly collector: boolean
  /** Field ownership by the store itself; else `Apply`'s rules run in the driver's transaction. */
  readonly apply: boolean
  /** How far S1's order reaches. */
  readonly order: "store" | "kind"
  readonly comparableRevisions: boolean
  readonly snapshotPages: boolean
  readonly fence: "all" | "partial" | "none"
  readonly generation: "all" | "some"
  readonly writeIds: boolean
}

/** @category models @since 0.1.0 */
export interface Service {
  readonly capabilities: Capabilities
  /** The kinds that have objects. */
  readonly kinds: Effect.Effect<ReadonlyArray<KindAddress>, StoreError>
  /** An absent object is `NotFound`. */
  readonly get: (at: KindAddress, key: Key, options: ReadOptions) => Effect.Effect<Raw, StoreError>
  readonly list: (at: KindAddress, options: ListOptions) => Effect.Effect<Page, StoreError>
  readonly write: (at: KindAddress, write: Write, options: WriteOptions) => Effect.Effect<Written, StoreError>
  readonly outcome: (writeId: string) => Effect.Effect<"applied" | "notApplied" | "forgotten", StoreError>
  /** Ends only by error or interruption. */
  readonly watch: (
    at: KindAddress,
    options: WatchOptions
  ) => Stream.Stream<ReadonlyArray<WatchEvent>, StoreError>
  /** Tells the store the epoch of a lease; a lower one than it knows is `Fenced`. */
  readonly fence: (lease: string, epoch: number) => Effect.Effect<void, StoreError>
  readonly export: Stream.Stream<Raw, StoreError>
  /** Into an empty store, as a new timeline (S5). */
  readonly import: (objects: Stream.Stream<Raw, StoreError>) => Effect.Effect<void, StoreError>
}

/**
 * The driver as a service: what a store's Layer provides beneath `Store`.
 *
 * @category services
 * @since 0.1.0
 */
export class StoreDriver extends Context.Service<StoreDriver, Service>()("setpoint/StoreDriver") {}
