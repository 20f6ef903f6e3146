/**
 * How a pass ended (E2): one function from its Exit to one tagged end. What each end leads to is the Controller's switch.
 */
import type * as Cause from "effect/Cause"
import type * as Exit from "effect/Exit"
import type { Outcome } from "../Outcome.ts"
import { Terminal } from "../Reconciler.ts"
import type { Request } from "../Request.ts"
import { StoreError } from "../StoreError.ts"

/** Why the engine itself interrupted a pass. */
export type Ordered = "newerSpec" | "dropped"

/** The error of a pass that took longer than its deadline. */
export const deadlineExceeded = { _tag: "DeadlineExceeded" } as const

export type PassEnd =
  | { readonly _tag: "Done" }
  | { readonly _tag: "Requeue" }
  | { readonly _tag: "RequeueAfter"; readonly delayMillis: number }
  /** The requested object is not there: nothing to do. */
  | { readonly _tag: "Gone" }
  | { readonly _tag: "Terminal"; readonly error: unknown }
  /** A write carried a stale revision. */
  | { readonly _tag: "Conflict"; readonly error: StoreError }
  | { readonly _tag: "Failed"; readonly error: unknown; readonly notBeforeMillis: number }
  | { readonly _tag: "Defect"; readonly error: unknown }
  | { readonly _tag: "DeadlineExceeded" }
  /** Interrupted, since a newer spec is there. */
  | { readonly _tag: "Superseded" }
  /** Interrupted by shutdown, deregistration or the drain deadline. */
  | { readonly _tag: "Dropped" }

/** Whether the pass came to its end: it has read what it wanted to read. */
export const isOutcome = ({ _tag }: PassEnd): boolean =>
  _tag === "Done" || _tag === "Requeue" || _tag === "RequeueAfter" || _tag === "Gone"

const done: PassEnd = { _tag: "Done" }
const requeue: PassEnd = { _tag: "Requeue" }
const gone: PassEnd = { _tag: "Gone" }

const ofOutcome = (outcome: Outcome | void): PassEnd =>
  outcome === undefined || outcome._tag === "Done" ? done : outcome._tag === "Requeue" ? requeue : outcome

const isOwn = (error: StoreError, request: Request): boolean =>
  error.kind === request.kind && error.key.name === request.name && error.key.namespace === request.namespace

const ofError = (error: unknown, request: Request): PassEnd => {
  if (error === deadlineExceeded) return { _tag: "DeadlineExceeded" }
  if (error instanceof Terminal) return { _tag: "Terminal", error }
  if (!(error instanceof StoreError)) return { _tag: "Failed", error, notBeforeMillis: 0 }
  switch (error.reason._tag) {
    case "NotFound":
      return isOwn(error, request) ? gone : { _tag: "Failed", error, notBeforeMillis: 0 }
    case "DecodeError": // S12: for its own key an object that does not decode is Terminal
      return isOwn(error, request) ? { _tag: "Terminal", error } : { _tag: "Failed", error, notBeforeMillis: 0 }
    case "Conflict": // a field that another manager owns is no stale read: waiting for the cache would not help
      return error.reason.conflicts === undefined
        ? { _tag: "Conflict", error }
        : { _tag: "Failed", error, notBeforeMillis: 0 }
    case "TooManyRequests":
      return { _tag: "Failed", error, notBeforeMillis: error.reason.retryAfterMillis ?? 0 }
    default:
      return { _tag: "Failed", error, notBeforeMillis: 0 }
  }
}

const ofCause = (cause: Cause.Cause<unknown>, request: Request, ordered: Ordered | undefined): PassEnd => {
  let failure: PassEnd | undefined = undefined
  for (const reason of cause.reasons) {
    if (reason._tag === "Die") return { _tag: "Defect", error: reason.defect }
    if (reason._tag === "Fail") failure ??= ofError(reason.error, request)
  }
  if (ordered === "dropped") return { _tag: "Dropped" }
  if (failure !== undefined) return failure
  return ordered === "newerSpec"
    ? { _tag: "Superseded" }
    : { _tag: "Failed", error: "the pass was interrupted from inside", notBeforeMillis: 0 }
}

/**
 * The end of a pass. A defect counts before a failure, a failure before an interruption, unless the engine dropped the
 * pass: then nothing follows, whatever it ended with.
 */
export const ofExit = (
  exit: Exit.Exit<Outcome | void, unknown>,
  request: Request,
  ordered: Ordered | undefined
): PassEnd => (exit._tag === "Success" ? ofOutcome(exit.value) : ofCause(exit.cause, request, ordered))
