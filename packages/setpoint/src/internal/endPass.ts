/**
 * The one policy switch: what each end of a pass leads to (E2, E3, E11).
 */
import type { Cause } from "../Pass.ts"
import * as WorkQueue from "../WorkQueue.ts"
import * as Feeds from "./feeds.ts"
import * as HotLoop from "./hotLoop.ts"
import * as KeyMemory from "./keyMemory.ts"
import type { PassEnd } from "./passEnd.ts"
import type { EngineRequest, Feed, Registration, Ticket } from "./registration.ts"

/** What the engine is to tell about a pass: logged, recorded as an event, counted by the caller. */
export type Report =
  | { readonly _tag: "Retrying" | "Recheck" | "GaveUp" | "Panicked" | "TimedOut"; readonly error: unknown }
  | { readonly _tag: "HotLoop"; readonly passes: number }

const retry: Cause = { _tag: "Retry" }
const requeued: Cause = { _tag: "Requeue" }
const requeuedAfter: Cause = { _tag: "RequeueAfter" }
const recheck: Cause = { _tag: "Recheck" }
const conflict: Cause = { _tag: "Conflict" }
const newerSpec: Cause = { _tag: "NewerSpec" }

/** Where the cache stands that a conflict waits for: nothing where none covers the object. */
export type StaleAt = { readonly stale: KeyMemory.Stale<Feed>; readonly seen: KeyMemory.Seen | undefined } | undefined

const slowRecheck = (registration: Registration): WorkQueue.Next<Cause> => ({
  delayMillis: registration.behaviour.recheckMillis,
  lane: 2,
  reason: recheck
})

/** A failure that is retried, until the Schedule ends or the retries are used up: then it gives up, never for good (E3). */
const fail = (
  registration: Registration,
  ticket: Ticket,
  error: unknown,
  notBeforeMillis: number,
  tag: "Retrying" | "Panicked" | "TimedOut"
): Report => {
  const { counters, queue } = registration
  const orElse = slowRecheck(registration)
  if (ticket.failures >= registration.behaviour.maxRetries) {
    WorkQueue.finishUnsafe(queue, ticket, { failures: "keep", next: orElse })
    counters.giveUp++
    return { _tag: "GaveUp", error }
  }
  const retried = WorkQueue.failUnsafe(queue, ticket, error, { notBefore: notBeforeMillis, reason: retry, orElse })
  if (retried !== "ended") return { _tag: tag, error }
  counters.giveUp++
  return { _tag: "GaveUp", error }
}

/** A stale write: the key waits for the cache; from the fifth in a row it is a failure like any other. */
const conflicted = (
  registration: Registration,
  request: EngineRequest,
  ticket: Ticket,
  error: unknown,
  at: StaleAt,
  now: number
): Report | undefined => {
  const memory = (request.memory ??= KeyMemory.make())
  memory.conflictsInRow++
  registration.counters.conflict++
  if (memory.conflictsInRow > KeyMemory.patientConflicts) {
    registration.counters.error++
    return fail(registration, ticket, error, 0, "Retrying")
  }
  const delayMillis = at === undefined ? registration.behaviour.firstDelayMillis() : 0
  if (at !== undefined && KeyMemory.conflicted(memory, at.stale, at.seen, now)) {
    Feeds.wait(at.stale.cache, at.stale.object, request)
  }
  WorkQueue.finishUnsafe(registration.queue, ticket, {
    failures: "keep",
    next: { delayMillis, lane: 1, reason: conflict }
  })
  return undefined
}

/** Ends a pass in the queue, counts it, and says what is to be told of it. */
export const endPass = (
  request: EngineRequest,
  ticket: Ticket,
  end: PassEnd,
  staleAt: StaleAt,
  now: number
): Report | undefined => {
  const { registration } = request
  const { counters, queue } = registration
  if (end._tag !== "Conflict" && request.memory !== undefined) request.memory.conflictsInRow = 0
  switch (end._tag) {
    case "Done":
      counters.success++
      WorkQueue.finishUnsafe(queue, ticket, undefined, now)
      return undefined
    case "Gone":
      counters.success++
      WorkQueue.finishUnsafe(queue, ticket, undefined, now)
      return undefined
    case "Requeue": {
      counters.requeue++
      const retried = WorkQueue.requeueUnsafe(queue, ticket, { reason: requeued, orElse: slowRecheck(registration) })
      if (retried !== "ended") return undefined
      counters.giveUp++
      return { _tag: "GaveUp", error: "its Schedule gives no more requeues in a row" }
    }
    case "RequeueAfter":
      counters.requeueAfter++
      WorkQueue.finishUnsafe(queue, ticket, { next: { delayMillis: end.delayMillis, lane: 1, reason: requeuedAfter } })
      return undefined
    case "Terminal":
      counters.error++
      counters.terminal++
      request.isTerminal = true
      WorkQueue.finishUnsafe(queue, ticket, { failures: "keep", next: slowRecheck(registration) })
      return { _tag: "Recheck", error: end.error }
    case "Conflict":
      return conflicted(registration, request, ticket, end.error, staleAt, now)
    case "Failed":
      counters.error++
      return fail(registration, ticket, end.error, end.notBeforeMillis, "Retrying")
    case "Defect":
      counters.error++
      counters.panic++
      return fail(registration, ticket, end.error, 0, "Panicked")
    case "DeadlineExceeded":
      counters.error++
      counters.timeout++
      return fail(registration, ticket, "the pass took longer than its deadline", 0, "TimedOut")
    case "Superseded":
      counters.superseded++
      WorkQueue.finishUnsafe(queue, ticket, { failures: "keep", next: { delayMillis: 0, lane: 0, reason: newerSpec } })
      return undefined
    case "Dropped":
      WorkQueue.finishUnsafe(queue, ticket, { failures: "keep" })
      return undefined
  }
}

/**
 * Whether a pass is caused by nothing but the key's own writes and requeues (E11). A time that the pass before had set,
 * absorbed by such an event before it came (E1), is no other cause.
 */
export const isSelfCaused = (request: EngineRequest, ticket: Ticket): boolean => {
  if (ticket.others > 0) return false
  let isOwn = false
  for (const cause of ticket.reasons) {
    if (timers.has(cause._tag)) continue
    if (cause._tag === "Event" ? !KeyMemory.isOwnRevision(request.memory, cause.revision) : cause._tag !== "Requeue") {
      return false
    }
    isOwn = true
  }
  return isOwn
}

const timers = new Set<Cause["_tag"]>(["RequeueAfter", "Retry", "Conflict", "Recheck"])

/** Counts the pass towards a hot loop, and spaces the key that is in one. */
export const watchForLoops = (
  request: EngineRequest,
  pass: { readonly selfCaused: boolean; readonly wrote: boolean },
  now: number
): Report | undefined => {
  if (request.memory === undefined && !pass.wrote) return undefined
  const memory = (request.memory ??= KeyMemory.make())
  const verdict = HotLoop.passEnded(memory.loop, pass)
  if (verdict.spacingMillis > 0) memory.spacedUntil = now + verdict.spacingMillis
  if (!verdict.report) return undefined
  request.registration.counters.hotLoop++
  return { _tag: "HotLoop", passes: memory.loop.selfCaused }
}
