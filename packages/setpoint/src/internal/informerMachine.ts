/**
 * The rules of an informer's connection: what it does next, by what happened and when. One tagged place, one record,
 * written by these functions only; times are monotonic milliseconds, `random` is in [0, 1).
 */
import * as Revision from "../Revision.ts"
import type { Reason } from "../StoreError.ts"

/** Why the objects are listed (again). */
export type ListReason = "first" | "expired" | "otherTimeline" | "wentBack" | "periodic"

type Working =
  | { readonly _tag: "Listing"; readonly reason: ListReason; readonly paged: boolean }
  /** `"current"`: the list comes through the watch. */
  | { readonly _tag: "Watching"; readonly from: "current" | Revision.Cursor; readonly reason: ListReason }

export type Place =
  | { readonly _tag: "Idle" }
  | Working
  | { readonly _tag: "BackingOff"; readonly next: Working; readonly delayMillis: number }
  | { readonly _tag: "Closed" }

export interface Policy {
  readonly streamed: boolean
  readonly backoffBaseMillis: number
  readonly backoffCapMillis: number
  /** Waits between the attempts at the first list; `undefined`: as after any other failure. */
  readonly cooldown: { readonly baseMillis: number; readonly capMillis: number } | undefined
  readonly resetAfterMillis: number
}

/** What ended a list or a watch. */
export type Failure =
  | { readonly _tag: "Store"; readonly reason: Reason; readonly message: string }
  | { readonly _tag: "Ended" | "Silent" | "WentBack" | "Defect"; readonly message: string }

export interface Machine {
  readonly policy: Policy
  place: Place
  sinceMillis: number
  /** Holds everything up to `revision`, and no gap is known. */
  synced: boolean
  /** Where a watch resumes. */
  cursor: Revision.Cursor | undefined
  /** The highest revision seen, by objects, lists and bookmarks. */
  revision: Revision.Revision | undefined
  /** Failures in a row: the exponent of the backoff. */
  failures: number
  /** Since when lists are accepted and watches deliver, without a failure. */
  healthySince: number | undefined
  /** Whether the cursor moved since this watch began. */
  progressed: boolean
  expiredInRow: number
  /** Most-recent lists in a row that were below `revision`. */
  belowInRow: number
  /** The store said that the cursor is of another timeline. */
  otherTimeline: boolean
  /** The store does not stream lists. */
  streamRefused: boolean
  lastError: string | undefined
}

export const make = (policy: Policy): Machine => ({
  policy,
  place: { _tag: "Idle" },
  sinceMillis: 0,
  synced: false,
  cursor: undefined,
  revision: undefined,
  failures: 0,
  healthySince: undefined,
  progressed: false,
  expiredInRow: 0,
  belowInRow: 0,
  otherTimeline: false,
  streamRefused: false,
  lastError: undefined
})

const goTo = (machine: Machine, place: Place, now: number): void => {
  if (machine.place._tag === "Closed") return
  machine.place = place
  machine.sinceMillis = now
  machine.progressed = false
}

const listing = (machine: Machine, reason: ListReason): Working =>
  machine.policy.streamed && !machine.streamRefused
    ? { _tag: "Watching", from: "current", reason }
    : { _tag: "Listing", reason, paged: true }

const resuming = (machine: Machine, reason: ListReason): Working =>
  machine.cursor === undefined ? listing(machine, reason) : { _tag: "Watching", from: machine.cursor, reason }

export const start = (machine: Machine, now: number): void => goTo(machine, listing(machine, "first"), now)

/** Nothing keeps the cache in step from here on. */
export const close = (machine: Machine, now: number, why?: string): void => {
  if (machine.place._tag === "Closed") return
  goTo(machine, { _tag: "Closed" }, now)
  machine.synced = false
  machine.lastError = why ?? machine.lastError
}

/** The wait is over. */
export const goOn = (machine: Machine, now: number): void => {
  if (machine.place._tag === "BackingOff") goTo(machine, machine.place.next, now)
}

/** The periodic relist is due. */
export const relist = (machine: Machine, now: number): void => goTo(machine, listing(machine, "periodic"), now)

/** Something came from the store: what is healthy for long enough forgets its failures at the next one. */
export const isAlive = (machine: Machine, now: number): void => {
  machine.healthySince ??= now
}

/** Everything up to `revision` was seen; `cursor` resumes after it. The revision never moves back. */
export const sawUpTo = (machine: Machine, revision: Revision.Revision, cursor: Revision.Cursor): void => {
  if (machine.cursor !== cursor) machine.progressed = true
  machine.cursor = cursor
  if (machine.revision === undefined || Revision.compare(revision, machine.revision) !== "before") {
    machine.revision = revision
  }
}

/** Whether an event of this revision lies before what was already seen. */
export const isPast = (machine: Machine, revision: Revision.Revision): boolean =>
  machine.revision !== undefined && Revision.compare(revision, machine.revision) === "before"

/** Whether the history so far may be of another timeline than the list, so that equal revisions prove nothing. */
export const distrusts = ({ place }: Machine): boolean =>
  (place._tag === "Listing" || place._tag === "Watching") && place.reason !== "first"

/**
 * A most-recent list answered at `revision`. It is of a new timeline where the store itself said so, or where it
 * `disproved` the old one: an object differs at an equal revision. Below what was seen it is refused, since the cache
 * never moves back; twice in a row it is a new timeline too.
 */
export const judgeList = (
  machine: Machine,
  revision: Revision.Revision,
  disproved: boolean
): "accept" | "newTimeline" | "refuse" => {
  if (machine.otherTimeline || disproved) return "newTimeline"
  if (!isPast(machine, revision)) return "accept"
  machine.belowInRow++
  return machine.belowInRow < 2 ? "refuse" : "newTimeline"
}

/** The list is in the cache: watch from its cursor, or go on with the watch that brought it. */
export const listed = (
  machine: Machine,
  revision: Revision.Revision,
  cursor: Revision.Cursor,
  now: number
): void => {
  machine.belowInRow = 0
  machine.otherTimeline = false
  machine.synced = true
  machine.revision = revision
  machine.cursor = cursor
  isAlive(machine, now)
  const { place } = machine
  if (place._tag !== "Listing" && place._tag !== "Watching") return
  goTo(machine, { _tag: "Watching", from: cursor, reason: place.reason }, now)
  machine.progressed = place._tag === "Watching" // the watch that brought the list goes on
}

/** Whether the first list has not come yet and its attempts are spaced by a cooldown of their own (D3). */
export const isCooling = (machine: Machine): boolean =>
  machine.policy.cooldown !== undefined && machine.revision === undefined

/** Why the last attempt at the first list failed, and when the next one begins; `undefined` where none is waited for. */
export const cooldown = (
  machine: Machine,
  now: number
): { readonly why: string; readonly retryInMillis: number } | undefined => {
  const { lastError, place } = machine
  if (!isCooling(machine) || place._tag !== "BackingOff") return undefined
  return {
    why: lastError ?? "its first list failed",
    retryInMillis: Math.max(0, machine.sinceMillis + place.delayMillis - now)
  }
}

/** The exponential delay of this failure in a row, jittered by 0.8 to 1.2. */
const backoff = (machine: Machine, random: number): number => {
  const { backoffBaseMillis, backoffCapMillis, cooldown } = machine.policy
  const [base, cap] = isCooling(machine) && cooldown !== undefined
    ? [cooldown.baseMillis, cooldown.capMillis]
    : [backoffBaseMillis, backoffCapMillis]
  const delay = Math.min(cap, base * 2 ** Math.min(machine.failures, 52))
  machine.failures++
  return delay * (0.8 + 0.4 * random)
}

/** What ended the list or the watch decides what follows: the one place that says so. */
export const failed = (machine: Machine, failure: Failure, now: number, random: number): void => {
  const { place } = machine
  if (place._tag === "Closed") return
  if (place._tag !== "Listing" && place._tag !== "Watching") {
    throw new Error(`an informer that is ${place._tag} neither lists nor watches, so nothing of it can fail`)
  }
  const { healthySince, progressed } = machine
  if (healthySince !== undefined && now - healthySince >= machine.policy.resetAfterMillis) {
    machine.failures = 0
    machine.expiredInRow = 0
  }
  machine.healthySince = undefined
  machine.lastError = failure.message
  const again = place._tag === "Listing" ? place : place.from === "current" ? place : resuming(machine, place.reason)
  const later = (next: Working, atLeast = 0) =>
    goTo(machine, { _tag: "BackingOff", next, delayMillis: Math.max(atLeast, backoff(machine, random)) }, now)

  // What only a person can mend is asked for rarely.
  const patience = isCooling(machine) ? 0 : machine.policy.backoffCapMillis * (0.8 + 0.2 * random)

  if (failure._tag === "WentBack") return later(listing(machine, "wentBack"))
  if (failure._tag !== "Store") return later(again)
  const { reason } = failure
  switch (reason._tag) {
    case "Expired": {
      if (reason.otherTimeline === true) machine.otherTimeline = true
      // A page token expired: begin with the first page; and without pages when it happens again.
      const next: Working = place._tag === "Listing"
        ? { ...place, paged: machine.expiredInRow === 0 }
        : listing(machine, machine.otherTimeline ? "otherTimeline" : "expired")
      if (place._tag === "Watching") machine.synced = false // what the gap held is unknown until the list is in
      machine.expiredInRow++
      return machine.expiredInRow === 1 ? goTo(machine, next, now) : later(next)
    }
    case "Lagged":
      return progressed ? goTo(machine, again, now) : later(again)
    case "TooManyRequests":
      return later(again, clampMillis(reason.retryAfterMillis))
    case "Forbidden":
    case "Unauthorized":
    case "KindUnknown":
      return later(again, patience)
    case "Invalid":
      // The one thing an informer asks for that a store may not know.
      if (place._tag === "Watching" && place.from === "current" && !machine.streamRefused) {
        machine.streamRefused = true
        return goTo(machine, listing(machine, place.reason), now)
      }
      return later(again, patience)
    default:
      return later(again)
  }
}

/** A day at most: longer waits overflow timers, and no store means them. */
const clampMillis = (millis: number | undefined): number =>
  millis === undefined || Number.isNaN(millis) ? 0 : Math.min(Math.max(millis, 0), 86_400_000)

/** Why there is no live watch, in one sentence; `undefined` where there is one. */
export const why = (machine: Machine): string | undefined => {
  const { lastError, place, synced } = machine
  switch (place._tag) {
    case "Idle":
      return "not started"
    case "Closed":
      return lastError === undefined ? "closed" : `closed; last: ${lastError}`
    case "Listing":
      return `listing (${place.reason})${lastError === undefined ? "" : ` after: ${lastError}`}`
    case "Watching":
      return synced ? undefined : "the first list comes through the watch and is not complete yet"
    case "BackingOff":
      return `waiting ${Math.round(place.delayMillis)} ms to ${
        place.next._tag === "Watching" && place.next.from !== "current" ? "watch" : "list"
      } again after: ${lastError ?? "an unknown failure"}`
  }
}
