/**
 * The history of a store in memory (S5): its last changes in a ring, each found by its revision, and how far back it
 * reaches. An import begins another timeline.
 */
import * as Result from "effect/Result"
import { Expired } from "../StoreError.ts"

/** A change was made at a revision, by a write. */
export interface Made {
  readonly revision: number
  readonly writeId: string
}

/** Revisions have no holes: every one above `birth` was one change. */
export interface Timeline<Change extends Made> {
  /** Where it began; the birth id stands for a write id there. */
  readonly birth: Made
  /** The latest change. */
  latest: Made
  /** The oldest one to resume from: the changes after it are all there. */
  floor: Made
  readonly length: number
  /** A ring: the change of revision r stands at `(r - birth - 1) % length`. */
  readonly changes: Array<Change>
}

export const begin = <Change extends Made>(
  revision: number,
  birthId: string,
  length: number
): Timeline<Change> => {
  const birth = { revision, writeId: birthId }
  return { birth, latest: birth, floor: birth, length, changes: [] }
}

const slotOf = <Change extends Made>(self: Timeline<Change>, revision: number): number =>
  (revision - self.birth.revision - 1) % self.length

/** Adds the next change; where the ring is full, the oldest one becomes the floor. */
export const remember = <Change extends Made>(self: Timeline<Change>, change: Change): void => {
  self.latest = change
  if (self.length === 0) {
    self.floor = { revision: change.revision, writeId: change.writeId }
    return
  }
  const slot = slotOf(self, change.revision)
  const oldest = self.changes[slot] as Change | undefined // absent until the ring is full
  if (oldest !== undefined) self.floor = { revision: oldest.revision, writeId: oldest.writeId }
  self.changes[slot] = change
}

/** The changes after a revision that is retained. */
export function* after<Change extends Made>(self: Timeline<Change>, revision: number): Generator<Change> {
  for (let r = revision + 1; r <= self.latest.revision; r++) yield self.changes[slotOf(self, r)]
}

/** That the changes after this one are all there, and that it is a change of this timeline (S5). */
export const retained = <Change extends Made>(
  self: Timeline<Change>,
  revision: number,
  writeId: string
): Result.Result<void, Expired> => {
  const expired = (why: string) => Result.fail(new Expired({ why }))
  const other = (why: string) => Result.fail(new Expired({ why, otherTimeline: true }))
  if (!(revision >= self.birth.revision && revision <= self.latest.revision)) {
    return other(`revision ${revision} is not of this store's timeline`)
  }
  if (revision < self.floor.revision) {
    return expired(`revision ${revision} is no longer retained; the oldest is ${self.floor.revision}`)
  }
  const known = revision === self.floor.revision ? self.floor : self.changes[slotOf(self, revision)]
  return known.writeId === writeId
    ? Result.succeed(undefined)
    : other(`revision ${revision} was another change: the store was restored or made anew`)
}

/** Whether a write was applied, as far as the history reaches. Looks it through: it is asked after lost replies only. */
export const outcome = <Change extends Made>(
  self: Timeline<Change>,
  writeId: string
): "applied" | "notApplied" | "forgotten" => {
  if (self.changes.some((change) => change.writeId === writeId)) return "applied"
  const isWhole = self.floor === self.birth && self.birth.revision === 0
  return isWhole ? "notApplied" : "forgotten"
}
