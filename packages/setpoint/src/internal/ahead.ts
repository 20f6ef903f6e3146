/**
 * Who knows more than a cache has shown (E6). A pass may read or write the store ahead of a cache that wakes its key. Told
 * change by change, the cache comes to what the pass knew and wakes the key for whatever became of it. A list skips what was
 * in between: an object may have come into a key's sight and left it again, and no difference names that key. So who is
 * ahead of a cache when it is listed runs again, and so does who comes to know only then what the list passed over.
 */
import * as Revision from "../Revision.ts"

/** By who it is: the revision that the cache has still to reach; in the order in which they were noted. */
export type Ahead<W> = Map<W, Revision.Revision>

/** Notes that `who` knows an object at a revision, unless the cache is `upTo` there. */
export const knows = <W>(
  self: Ahead<W>,
  who: W,
  revision: Revision.Revision,
  upTo: Revision.Revision | undefined
): void => {
  if (upTo !== undefined && Revision.reaches(upTo, revision)) return
  self.delete(who) // what it knew before the cache reaches no later, as far as revisions have an order
  self.set(who, revision)
}

/** The cache was told everything up to a revision. Stops at the first who is ahead: the later ones mostly are. */
export const caughtUp = <W>(self: Ahead<W>, upTo: Revision.Revision): void => {
  for (const [who, revision] of self) {
    if (!Revision.reaches(upTo, revision)) return
    self.delete(who)
  }
}

/** Takes all who are ahead. */
export const take = <W>(self: Ahead<W>): ReadonlyArray<W> => {
  const all = Array.from(self.keys())
  self.clear()
  return all
}
