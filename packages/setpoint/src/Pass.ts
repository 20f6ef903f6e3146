/**
 * The current pass: what a call to a store, made from inside a reconciler, belongs to.
 *
 * The Controller sets {@link Current} for the fiber of a pass; child fibers inherit it, and `Store` looks it up at each
 * call, so that a service which captured `Store` when its Layer was built behaves the same. Interfaces only: who gives
 * them behaviour is the engine.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type { AnyKind } from "./Kind.ts"
import type { Request } from "./Request.ts"
import type { Key, Raw } from "./Resource.ts"

/**
 * Why a pass runs. `revision` is that of the event; `object` names whose event it was where it was not the requested
 * object's own (`Server.example.dev default/web-1`).
 *
 * @category models
 * @since 0.1.0
 */
export type Cause =
  | {
    readonly _tag: "Event"
    readonly type: "Added" | "Modified" | "Deleted"
    readonly via: "for" | "owns" | "watches"
    readonly object: string
    readonly revision: string
  }
  | { readonly _tag: "Initial" | "Relist" | "NewTimeline" | "Redelivery" }
  | { readonly _tag: "Enqueue"; readonly reason: string }
  | { readonly _tag: "ReconcileNow"; readonly token: string }
  | { readonly _tag: "Requeue" | "RequeueAfter" | "Retry" | "Conflict" | "Recheck" | "Registered" | "NewerSpec" }

/**
 * Answers reads of a pass from caches (E10). `undefined`: no cache covers it, ask the store.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reader {
  readonly get: (store: string, kind: string, key: Key) => Raw | "absent" | undefined
  readonly list: (store: string, kind: string, options: ReaderListOptions) => ReadonlyArray<Raw> | undefined
  /** What the store answered, where no cache did: it may be ahead of those that wake the key (E6). */
  readonly fetched: (store: string, kind: string, objects: ReadonlyArray<Raw>) => void
}

/** @category models @since 0.1.0 */
export interface ReaderListOptions {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  /** Canonical text of the selector. */
  readonly selector?: string | undefined
  readonly ownerUid?: string | undefined
}

/**
 * Hears about the reads of a pass, before and after the store answers them (D1, D6). Called synchronously.
 *
 * @category models
 * @since 0.1.0
 */
export interface Tracker {
  readonly asksForOne: (store: string, kind: AnyKind, key: Key) => void
  readonly asksForMany: (store: string, kind: AnyKind, options: ReaderListOptions) => void
  /** The store's answer, where no cache answered: `undefined` for absence. */
  readonly gotOne: (store: string, kind: AnyKind, key: Key, object: Raw | undefined) => void
  readonly gotMany: (store: string, kind: AnyKind, options: ReaderListOptions, objects: ReadonlyArray<Raw>) => void
}

/**
 * Hears about the writes of a pass (E10, E11). Called synchronously, after the store has answered.
 *
 * @category models
 * @since 0.1.0
 */
export interface Writes {
  /** The store acknowledged: the object as stored, whether a revision was made, whether it is gone. */
  readonly acknowledged: (store: string, kind: string, key: Key, written: {
    readonly object: Raw
    readonly changed: boolean
    readonly removed: boolean
  }) => void
  /** The reply was lost, or the write was interrupted while in flight. */
  readonly unknown: (store: string, kind: string, key: Key) => void
  /** A precondition failed: the revision that the write carried. */
  readonly conflicted: (store: string, kind: string, key: Key, revision: string | undefined) => void
}

/**
 * The pass that a fiber works for.
 *
 * @category models
 * @since 0.1.0
 */
export interface Pass {
  /** Name of the registration. */
  readonly registration: string
  readonly request: Request
  /** Counts the passes of this registration from 1. */
  readonly number: number
  readonly causes: ReadonlyArray<Cause>
  /** Causes beyond the bound, counted only. */
  readonly otherCauses: number
  /** Store calls made so far: `Store` counts each, so that a call inside a pass has a number. */
  calls: number
  readonly reader: Reader
  readonly writes: Writes
  /** Where reads are part of what wakes the key; `undefined` elsewhere, and nothing is paid. */
  readonly tracker?: Tracker | undefined
}

/**
 * The current pass, `undefined` outside of one.
 *
 * @category references
 * @since 0.1.0
 */
export const Current: Context.Reference<Pass | undefined> = Context.Reference<Pass | undefined>(
  "setpoint/Pass/Current",
  { defaultValue: () => undefined }
)

/**
 * Who calls the store where no pass does: fixed names of the engine (`informer/Website.example.dev`), `"outside"`
 * elsewhere. Simulators name their choice points by it.
 *
 * @category references
 * @since 0.1.0
 */
export const Caller: Context.Reference<string> = Context.Reference<string>("setpoint/Pass/Caller", {
  defaultValue: () => "outside"
})

/**
 * The fence that every write carries: the epoch of a lease. A store refuses an older epoch than it was told (`Fenced`).
 * Given by reference, so that reconcilers do not change when leadership comes into play.
 *
 * @category references
 * @since 0.1.0
 */
export const Fence: Context.Reference<Fence | undefined> = Context.Reference<Fence | undefined>(
  "setpoint/Pass/Fence",
  { defaultValue: () => undefined }
)

/** @category models @since 0.1.0 */
export interface Fence {
  readonly lease: string
  /** Only grows. */
  readonly epoch: number
}
