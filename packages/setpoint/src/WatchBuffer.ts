/**
 * What lies between a store's writes and the one reader of a watch: a filter and a bounded buffer.
 *
 * All stores of our own feed their watches through this, so that they cannot differ. The store hands over each change
 * with {@link publish}, and the reader takes with {@link pull}. How a watch begins (the objects that are there, or the
 * changes after a cursor) is the store's: it knows what it keeps.
 *
 * **Ordering** Events come out in the order of the changes that were handed over (S3).
 * **Delivery** An object that comes to match the filter is Added, one that ceases to is Deleted with its last matching
 * state (S3). A bookmark stands behind all events that were handed over before it (S4). A buffer that overflows ends
 * with `Lagged`, after what is in it (S9).
 * **Memory** At most `size` events. Watches without a filter share one event a change.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Raw } from "./Resource.ts"
import * as Selector from "./Selector.ts"
import type { WatchEvent, WatchOptions } from "./StoreDriver.ts"
import { Invalid, Lagged, type Reason } from "./StoreError.ts"
import * as StoreRules from "./StoreRules.ts"

/**
 * One change of a store. `before` absent: a creation; `after` absent: a removal, of which `last` is the last state where
 * it differs from `before`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Change {
  readonly before: Raw | undefined
  readonly after: Raw | undefined
  readonly last: Raw | undefined
  readonly revision: number
  readonly writeId: string
}

/**
 * Changed by the functions of this module alone.
 *
 * @category models
 * @since 0.1.0
 */
export interface WatchBuffer {
  readonly namespace: string | undefined
  readonly selector: Selector.Selector | undefined
  readonly metadataOnly: boolean
  readonly size: number
  events: Array<WatchEvent>
  /** Why the watch ends once the buffer is empty. */
  ended: Reason | undefined
  /** Called once when something is there; set by the one reader that waits. */
  wake: (() => void) | undefined
}

/**
 * An empty buffer; `Invalid` where the selector or the size is wrong.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Omit<WatchOptions, "from">): Result.Result<WatchBuffer, Invalid> => {
  const size = options.bufferSize ?? 1_024
  if (!(Number.isInteger(size) && size > 0)) {
    return invalid("bufferSize", `must be a whole number above 0, but is ${size}`)
  }
  return Result.map(selector(options.selector), (selector) => ({
    namespace: options.namespace,
    selector,
    metadataOnly: options.metadataOnly ?? false,
    size,
    events: [],
    ended: undefined,
    wake: undefined
  }))
}

/**
 * The selector that a text says; `undefined` where it says nothing.
 *
 * @category constructors
 * @since 0.1.0
 */
export const selector = (text: string | undefined): Result.Result<Selector.Selector | undefined, Invalid> =>
  text === undefined || text === ""
    ? Result.succeed(undefined)
    : Result.mapError(
      Selector.parse(text),
      (error) => new Invalid({ fields: [{ path: "selector", why: error.message }] })
    )

// ---------------------------------------------------------------------------------------------------------------------
// the store's side
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Hands a change to watches of its kind. Never waits: one whose buffer is full ends with `Lagged` and leaves the set.
 *
 * Wakes nobody: a reader that ran in the middle of a store's step would see it half done, and what it writes would
 * overtake this change on its way to the others.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Result } from "effect"
 * import { type Resource, WatchBuffer } from "setpoint"
 *
 * const after: Resource.Raw = {
 *   apiVersion: "v1",
 *   kind: "ConfigMap",
 *   metadata: { name: "a", namespace: "default", uid: "1", resourceVersion: "1", creationTimestamp: "" }
 * }
 * const watch = Result.getOrThrow(WatchBuffer.make({ namespace: "default" }))
 * const change = { before: undefined, after, last: undefined, revision: 1, writeId: "w1" }
 *
 * WatchBuffer.publish(change, new Set([watch]))
 * WatchBuffer.wake([watch])
 *
 * assert.equal(watch.events[0]?._tag, "Added")
 * ```
 *
 * @category feeding
 * @since 0.1.0
 */
export const publish = (change: Change, watches: Set<WatchBuffer>): void => {
  let shared: WatchEvent | undefined
  for (const watch of watches) {
    const whole = watch.namespace === undefined && watch.selector === undefined && !watch.metadataOnly
    const event = whole ? shared ??= eventFor(watch, change) : eventFor(watch, change)
    if (event === undefined) continue
    if (hasRoom(watch)) watch.events.push(event)
    else {
      end(watch, new Lagged({ bufferSize: watch.size }))
      watches.delete(watch)
    }
  }
}

/**
 * Tells a watch how far it is (S4). One that is full learns nothing new.
 *
 * @category feeding
 * @since 0.1.0
 */
export const bookmark = (self: WatchBuffer, revision: number, writeId: string): void => {
  if (self.ended !== undefined || !hasRoom(self)) return
  self.events.push({
    _tag: "Bookmark",
    revision: String(revision),
    cursor: StoreRules.cursor(String(revision), writeId)
  })
}

/** Whether one more event fits. It says all that an unread bookmark before it says, which therefore goes. */
const hasRoom = (self: WatchBuffer): boolean => {
  if (self.events.at(-1)?._tag === "Bookmark") self.events.pop()
  return self.events.length < self.size
}

/**
 * Ends a watch after what is in its buffer.
 *
 * @category feeding
 * @since 0.1.0
 */
export const end = (self: WatchBuffer, reason: Reason): void => {
  self.ended ??= reason
}

/**
 * What a change is to a watch; `undefined` where it does not concern it.
 *
 * @category feeding
 * @since 0.1.0
 */
export const eventFor = (self: WatchBuffer, change: Change): WatchEvent | undefined => {
  const { after, before, last, revision, writeId } = change
  const did = before !== undefined && concerns(self, before)
  const does = after !== undefined && concerns(self, after)
  if (!did && !does) return undefined
  const at = StoreRules.cursor(String(revision), writeId)
  if (does) return { _tag: did ? "Modified" : "Added", object: shown(self, after), initial: false, cursor: at, writeId }
  const gone = last !== undefined && concerns(self, last) ? last : before
  if (gone === undefined) throw new Error("S3 is broken: a change that removed nothing")
  return { _tag: "Deleted", last: shown(self, gone), revision: String(revision), cursor: at }
}

/**
 * Whether an object passes the watch's filter.
 *
 * @category feeding
 * @since 0.1.0
 */
export const concerns = (self: WatchBuffer, object: Raw): boolean =>
  (self.namespace === undefined || self.namespace === (object.metadata.namespace ?? "")) &&
  (self.selector === undefined || Selector.matches(self.selector, object.metadata.labels))

/**
 * The object as the watch shows it.
 *
 * @category feeding
 * @since 0.1.0
 */
export const shown = (self: WatchBuffer, object: Raw): Raw => (self.metadataOnly ? metadataOf(object) : object)

/**
 * The object without all but its envelope: small, and made anew, so that nothing is kept of it.
 *
 * @category feeding
 * @since 0.1.0
 */
export const metadataOf = ({ apiVersion, kind, metadata }: Raw): Raw => Object.freeze({ apiVersion, kind, metadata })

/**
 * Lets readers that wait for something go on, where there is something. They run at once, so it comes last.
 *
 * @category feeding
 * @since 0.1.0
 */
export const wake = (watches: Iterable<WatchBuffer>): void => {
  for (const watch of watches) {
    if (watch.wake === undefined || !isReady(watch)) continue
    const { wake } = watch
    watch.wake = undefined
    wake()
  }
}

const isReady = (self: WatchBuffer): boolean => self.events.length > 0 || self.ended !== undefined

// ---------------------------------------------------------------------------------------------------------------------
// the reader's side
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What is there: events, or why the watch ends, or nothing yet.
 *
 * @category reading
 * @since 0.1.0
 */
export const take = (self: WatchBuffer): ReadonlyArray<WatchEvent> | Reason | undefined => {
  if (self.events.length === 0) return self.ended
  const events = self.events
  self.events = []
  return events
}

/**
 * What is there, as one batch; waits where nothing is.
 *
 * @category reading
 * @since 0.1.0
 */
export const pull = (self: WatchBuffer): Effect.Effect<ReadonlyArray<WatchEvent>, Reason> =>
  Effect.suspend(() => {
    const taken = take(self)
    if (taken === undefined) return Effect.andThen(somethingThere(self), pull(self))
    return "length" in taken ? Effect.succeed(taken) : Effect.fail(taken)
  })

const somethingThere = (self: WatchBuffer): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (isReady(self)) return resume(Effect.void)
    self.wake = () => resume(Effect.void)
    return Effect.sync(() => {
      self.wake = undefined
    })
  })

const invalid = (path: string, why: string): Result.Result<never, Invalid> =>
  Result.fail(new Invalid({ fields: [{ path, why }] }))
