/**
 * The store that users call: typed objects over any driver.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Input, Kind, Status } from "./Kind.ts"
import type { Any, Json, Key, KeyInput } from "./Resource.ts"
import type { Cursor, Revision } from "./Revision.ts"
import type { Selector } from "./Selector.ts"
import type * as StoreDriver from "./StoreDriver.ts"
import type { DecodeError, StoreError } from "./StoreError.ts"

/**
 * Which objects of a kind: all of them by default. `selector` takes a {@link Selector} or its text.
 *
 * @category models
 * @since 0.1.0
 */
export interface ListOptions {
  /** Default: all namespaces. */
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly selector?: Selector | string | undefined
  /** Page size. Default: everything at once. */
  readonly limit?: number | undefined
  /** `next` of the page before. */
  readonly page?: string | undefined
  /** Default `"mostRecent"`; in a pass a cache that covers the read answers (E10). */
  readonly consistency?: "mostRecent" | "any" | undefined
}

/**
 * Objects at one revision (S8). What does not decode stands apart (S12), so that one bad object hides no other.
 *
 * @category models
 * @since 0.1.0
 */
export interface List<A> {
  readonly items: ReadonlyArray<A>
  readonly undecodable: ReadonlyArray<readonly [Key, DecodeError]>
  readonly revision: Revision
  readonly cursor: Cursor
  readonly next?: string | undefined
}

/** @category models @since 0.1.0 */
export interface WriteOptions {
  /** Judge and answer, but store nothing. */
  readonly dryRun?: boolean | undefined
}

/** @category models @since 0.1.0 */
export interface DeleteOptions extends WriteOptions {
  /** Default `"background"`. */
  readonly propagation?: StoreDriver.Propagation | undefined
  /** Also require the object's revision, not only its uid. Default `false`. */
  readonly ifUnchanged?: boolean | undefined
}

/** @category models @since 0.1.0 */
export interface ApplyOptions extends WriteOptions {
  /** Who owns the fields that are set. */
  readonly manager: string
  /** Take over fields that others own. Default `false`. */
  readonly force?: boolean | undefined
}

/**
 * A patch of an object: RFC 7386 (`merge`) or RFC 6902 (`json`).
 *
 * @category models
 * @since 0.1.0
 */
export type Patch =
  | { readonly merge: Json; readonly subresource?: "status" | "scale" | undefined }
  | { readonly json: ReadonlyArray<Json>; readonly subresource?: "status" | "scale" | undefined }

/** @category models @since 0.1.0 */
export interface Deleted<A> {
  /** The last state. */
  readonly object: A
  /** Gone; `false` while finalizers hold it (S6). */
  readonly removed: boolean
}

/** @category models @since 0.1.0 */
export interface Ensured<A> {
  readonly object: A
  readonly operation: "created" | "updated" | "unchanged"
}

/** @category models @since 0.1.0 */
export interface WatchOptions {
  /** `"current"` begins with the objects that are there. Default `"current"`. */
  readonly from?: "current" | Cursor | undefined
  readonly namespace?: string | undefined
  readonly selector?: Selector | string | undefined
  /** Events; past it the stream ends with `Lagged` (S9). Default 1,024. */
  readonly bufferSize?: number | undefined
}

/**
 * A change of a typed object, or a mark in the stream of changes.
 *
 * @category models
 * @since 0.1.0
 */
export type WatchEvent<A> =
  | { readonly _tag: "Added" | "Modified"; readonly object: A; readonly initial: boolean; readonly cursor: Cursor }
  | { readonly _tag: "Deleted"; readonly last: A; readonly revision: Revision; readonly cursor: Cursor }
  | { readonly _tag: "Undecodable"; readonly key: Key; readonly error: DecodeError; readonly cursor: Cursor }
  | { readonly _tag: "InitialDone" | "Bookmark"; readonly revision: Revision; readonly cursor: Cursor }

/** @category models @since 0.1.0 */
export interface Service {
  /** Part of informer identity, metrics and spans. */
  readonly name: string
  readonly driver: StoreDriver.Service
  readonly get: <A extends Any>(kind: Kind<A>, key: KeyInput) => Effect.Effect<A, StoreError>
  readonly latest: <A extends Any>(kind: Kind<A>, key: KeyInput) => Effect.Effect<A, StoreError>
  readonly list: <A extends Any>(kind: Kind<A>, options?: ListOptions) => Effect.Effect<List<A>, StoreError>
  readonly create: <A extends Any>(
    kind: Kind<A>,
    input: Input<A>,
    options?: WriteOptions
  ) => Effect.Effect<A, StoreError>
  readonly update: <A extends Any>(kind: Kind<A>, object: A, options?: WriteOptions) => Effect.Effect<A, StoreError>
  readonly updateStatus: <A extends Any>(
    kind: Kind<A>,
    object: A,
    status: Status<A> | ((current: Status<A> | undefined) => Status<A>),
    options?: WriteOptions
  ) => Effect.Effect<A, StoreError>
  readonly patch: <A extends Any>(
    kind: Kind<A>,
    object: A,
    patch: Patch,
    options?: WriteOptions
  ) => Effect.Effect<A, StoreError>
  readonly patchUnconditionally: <A extends Any>(
    kind: Kind<A>,
    key: KeyInput,
    patch: Patch,
    options?: WriteOptions
  ) => Effect.Effect<A, StoreError>
  readonly apply: <A extends Any>(
    kind: Kind<A>,
    input: Input<A>,
    options: ApplyOptions
  ) => Effect.Effect<A, StoreError>
  readonly delete: <A extends Any>(
    kind: Kind<A>,
    object: A,
    options?: DeleteOptions
  ) => Effect.Effect<Deleted<A>, StoreError>
  readonly deleteUnconditionally: <A extends Any>(
    kind: Kind<A>,
    key: KeyInput,
    options?: DeleteOptions
  ) => Effect.Effect<Deleted<A>, StoreError>
  readonly ensure: <A extends Any>(
    kind: Kind<A>,
    key: KeyInput,
    f: (current: A | undefined) => Input<A>
  ) => Effect.Effect<Ensured<A>, StoreError>
  readonly watch: <A extends Any>(
    kind: Kind<A>,
    options?: WatchOptions
  ) => Stream.Stream<ReadonlyArray<WatchEvent<A>>, StoreError>
  /** Tells the store the epoch of a lease: a new leader calls it before its first pass. */
  readonly fence: (lease: string, epoch: number) => Effect.Effect<void, StoreError>
}

/**
 * @category services
 * @since 0.1.0
 */
export class Store extends Context.Service<Store, Service>()("setpoint/Store") {}
