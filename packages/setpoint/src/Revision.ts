/**
 * Revisions: the strings that order the changes of one store.
 *
 * A revision stands in `metadata.resourceVersion`, on lists and on watch events. Stores of our own and etcd count
 * changes, so their revisions are decimal numbers of any length; a store whose revisions cannot be ordered says so in
 * its capabilities, and `compare` answers `"incomparable"` for them.
 *
 * @since 0.1.0
 */

/**
 * `metadata.resourceVersion`: opaque to users, ordered by {@link compare}.
 *
 * @category models
 * @since 0.1.0
 */
export type Revision = string

/**
 * An opaque point in a store's history from which a watch resumes without a gap: a revision together with the random
 * write id of the change made at it, so that a restored backup is never mistaken for the store it was.
 *
 * @category models
 * @since 0.1.0
 */
export type Cursor = string

/**
 * How one revision stands to another.
 *
 * @category models
 * @since 0.1.0
 */
export type Order = "before" | "same" | "after" | "incomparable"

/** Digits without a leading zero. A loop, since every watch event asks. */
const isDecimal = (text: string): boolean => {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 48 || unit > 57) return false
  }
  return text.length === 1 || (text.length > 1 && text.charCodeAt(0) !== 48)
}

/**
 * Says how `self` stands to `that`. Decimal revisions of any length are ordered as numbers; other strings are the same
 * or incomparable.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Revision } from "setpoint"
 *
 * assert.equal(Revision.compare("9", "10"), "before")
 * assert.equal(Revision.compare("a", "b"), "incomparable")
 * ```
 *
 * @category comparisons
 * @since 0.1.0
 */
export const compare = (self: Revision, that: Revision): Order => {
  if (self === that) return "same"
  if (!isDecimal(self) || !isDecimal(that)) return "incomparable"
  if (self.length !== that.length) return self.length < that.length ? "before" : "after"
  return self < that ? "before" : "after"
}

/**
 * Whether who has seen everything up to `self` has seen `that`: not where they are incomparable.
 *
 * @category comparisons
 * @since 0.1.0
 */
export const reaches = (self: Revision, that: Revision): boolean => {
  const order = compare(self, that)
  return order === "same" || order === "after"
}
