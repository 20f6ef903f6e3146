/**
 * What the engine remembers of a key from pass to pass: the rules of E10 and E11, and of conflicts (E2).
 *
 * A write that the store acknowledged is *pending* at each cache of its kind until that cache has shown it. While a
 * covering cache lags, the key's gate is closed, for `longestHoldMillis` at most; a pass that starts all the same reads the
 * store, and so does one after an unknown outcome or a new timeline: what was remembered is dropped when it ends.
 *
 * A key without anything to remember has no memory at all (Q7). Times are milliseconds of the monotonic clock.
 */
import * as Revision from "../Revision.ts"
import * as HotLoop from "./hotLoop.ts"

/** How long a lagging cache may hold a key, and a conflict too. */
export const longestHoldMillis = 10_000

/** Conflicts in a row before one counts as an ordinary failure. */
export const patientConflicts = 4

/** How many writes of a key are remembered; the oldest goes first. */
export const maxPending = 256

/** A write that a cache has not shown yet. */
export interface Pending<Cache> {
  readonly cache: Cache
  /** `namespace/name` of the object written. */
  readonly object: string
  readonly uid: string
  readonly revision: string
  /** The object is gone by this write: its Deleted event is awaited. */
  readonly removed: boolean
  /** Whether the cache answers reads, so that the key waits for it (E10). */
  readonly holds: boolean
}

/** A write that was refused as stale: the key waits until the cache has another revision than it carried. */
export interface Stale<Cache> {
  readonly cache: Cache
  readonly object: string
  readonly revision: string
}

export interface KeyMemory<Cache> {
  pending: Array<Pending<Cache>>
  stale: Stale<Cache> | undefined
  /** The next pass reads the store. */
  readStore: boolean
  /** Until when pending writes or a stale one hold the key. */
  holdUntil: number
  /** Until when a hot loop is spaced (E11). */
  spacedUntil: number
  /** Until when the breaker slows it. */
  slowedUntil: number
  /** Revisions that the key's own passes made and whose events may yet be causes. */
  ownRevisions: Set<string>
  conflictsInRow: number
  readonly loop: HotLoop.State
}

export const make = <Cache>(): KeyMemory<Cache> => ({
  pending: [],
  stale: undefined,
  readStore: false,
  holdUntil: -Infinity,
  spacedUntil: -Infinity,
  slowedUntil: -Infinity,
  ownRevisions: new Set(),
  conflictsInRow: 0,
  loop: HotLoop.make()
})

/** Whether there is nothing left to remember. */
export const isEmpty = <Cache>(memory: KeyMemory<Cache>, now: number): boolean =>
  memory.pending.length === 0 && memory.stale === undefined && !memory.readStore && memory.ownRevisions.size === 0 &&
  memory.spacedUntil <= now && memory.slowedUntil <= now && memory.conflictsInRow === 0 && memory.loop.selfCaused === 0

const isHeld = <Cache>(memory: KeyMemory<Cache>): boolean =>
  memory.stale !== undefined || (!memory.readStore && memory.pending.some((write) => write.holds))

/** Until when the gate of the key is closed; in the past: it is open. */
export const gateUntil = <Cache>(memory: KeyMemory<Cache>): number =>
  Math.max(isHeld(memory) ? memory.holdUntil : -Infinity, memory.spacedUntil, memory.slowedUntil)

/** Whether something of this object is still awaited from the cache. */
export const waitsFor = <Cache>(memory: KeyMemory<Cache>, cache: Cache, object: string): boolean =>
  memory.pending.some((write) => write.cache === cache && write.object === object) ||
  (memory.stale !== undefined && memory.stale.cache === cache && memory.stale.object === object)

/** What a cache holds of an object. */
export interface Seen {
  readonly uid: string
  readonly revision: string
}

/** Whether a cache that holds `seen` (nothing: undefined) shows the write. */
const shows = <Cache>(write: Pending<Cache>, seen: Seen | undefined): boolean =>
  write.removed
    ? seen === undefined || seen.uid !== write.uid
    : seen !== undefined && Revision.reaches(seen.revision, write.revision)

/**
 * Remembers an acknowledged write at a cache, unless the cache shows it already, or is past it (`upTo`): what became of it
 * is shown then. Of an object that this pass created and deleted the cache may hold nothing because it is behind: the
 * Deleted event is awaited then.
 */
export const wrote = <Cache>(
  memory: KeyMemory<Cache>,
  write: Pending<Cache>,
  seen: Seen | undefined,
  upTo: Revision.Revision | undefined,
  now: number
): void => {
  const isBehind = memory.pending.some((earlier) => earlier.cache === write.cache && earlier.object === write.object)
  if (!write.removed) memory.ownRevisions.add(write.revision)
  if (write.removed && isBehind) return awaitShown(memory, write, now)
  if (!shows(write, seen) && (write.removed || !isPast(upTo, write))) awaitShown(memory, write, now)
}

const isPast = <Cache>(upTo: Revision.Revision | undefined, write: Pending<Cache>): boolean =>
  upTo !== undefined && Revision.reaches(upTo, write.revision)

/**
 * What the store answers to a pass that does not know what became of its writes may be one of them, and what it answers
 * past a cache that may not know of a deletion must not be unknown to the next pass: it is awaited like a write that was
 * acknowledged, unless the cache shows it already or is past it.
 */
export const found = <Cache>(
  memory: KeyMemory<Cache>,
  write: Pending<Cache>,
  seen: Seen | undefined,
  upTo: Revision.Revision | undefined,
  now: number
): void => {
  if (!shows(write, seen) && !isPast(upTo, write)) awaitShown(memory, write, now)
}

const awaitShown = <Cache>(memory: KeyMemory<Cache>, write: Pending<Cache>, now: number): void => {
  if (memory.pending.length >= maxPending) memory.pending.shift()
  memory.pending.push(write)
  memory.holdUntil = now + longestHoldMillis
}

/** A reply was lost: the next pass reads the store. */
export const outcomeUnknown = <Cache>(memory: KeyMemory<Cache>): void => {
  memory.readStore = true
}

/** A cache moved to an object's state (`seen`), or to its absence after the revision `deleted`. */
export const cacheMoved = <Cache>(
  memory: KeyMemory<Cache>,
  cache: Cache,
  object: string,
  seen: Seen | undefined,
  deleted: Seen | undefined
): void => {
  const isOver = (write: Pending<Cache>): boolean =>
    write.cache === cache && write.object === object &&
    (deleted === undefined
      ? shows(write, seen)
      : write.uid === deleted.uid || (!write.removed && Revision.reaches(deleted.revision, write.revision)))
  if (memory.pending.length > 0) memory.pending = memory.pending.filter((write) => !isOver(write))
  const stale = memory.stale
  if (stale === undefined || stale.cache !== cache || stale.object !== object) return
  if (seen === undefined || seen.revision !== stale.revision) memory.stale = undefined
}

/** A cache was listed: it shows what became of every write up to that revision, the object's absence too. */
export const listed = <Cache>(memory: KeyMemory<Cache>, cache: Cache, upTo: Revision.Revision): void => {
  memory.pending = memory.pending.filter((write) => write.cache !== cache || !Revision.reaches(upTo, write.revision))
}

/** A cache begins a new timeline: nothing that was written can be told from it, so the next pass reads the store. */
export const timelineBegan = <Cache>(memory: KeyMemory<Cache>, cache: Cache): void => {
  const isOf = (place: { readonly cache: Cache }) => place.cache === cache
  if (memory.pending.some(isOf)) memory.readStore = true
  if (memory.stale !== undefined && isOf(memory.stale)) memory.stale = undefined
  memory.pending = memory.pending.filter((write) => !isOf(write))
}

/**
 * Waits for a cache to leave the revision that a refused write carried. False: it has left it already.
 */
export const conflicted = <Cache>(
  memory: KeyMemory<Cache>,
  stale: Stale<Cache>,
  seen: Seen | undefined,
  now: number
): boolean => {
  if (seen === undefined || seen.revision !== stale.revision) return false
  memory.stale = stale
  memory.holdUntil = now + longestHoldMillis
  return true
}

/** Whether a cause is the key's own doing: an event of a revision that its own passes made (E11). */
export const isOwnRevision = <Cache>(memory: KeyMemory<Cache> | undefined, revision: string): boolean =>
  memory !== undefined && memory.ownRevisions.has(revision)

/**
 * A pass begins. It reads the store where caches still lag, since its gate can only have been opened by the deadline.
 * Own revisions whose events have come are causes of this pass or never will be.
 */
export const passBegan = <Cache>(
  memory: KeyMemory<Cache>
): { readonly readStore: boolean; readonly isInDoubt: boolean } => {
  const isInDoubt = memory.readStore
  const readStore = isHeld(memory) || isInDoubt
  memory.readStore = false // a reply that is lost from here on concerns the next pass
  memory.stale = undefined
  memory.spacedUntil = -Infinity
  memory.ownRevisions = new Set(memory.pending.map((write) => write.revision))
  return { readStore, isInDoubt }
}

/** A pass that read the store has ended: what was remembered before it is dropped; what it wrote itself is not. */
export const storeWasRead = <Cache>(memory: KeyMemory<Cache>, before: ReadonlySet<Pending<Cache>>): void => {
  memory.pending = memory.pending.filter((write) => !before.has(write))
}
