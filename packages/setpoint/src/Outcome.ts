/**
 * Outcomes: what a pass that did not fail says about the next one.
 *
 * One meaning a case (E2): each forgets the failures of the key. A failure is an error in the Effect's error channel, so
 * an error together with a delay cannot be written.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"

/**
 * - `Done`: wait for the next change.
 * - `Requeue`: run again, in lane 1, after a delay from the registration's requeue Schedule, which steps with each
 *   requeue in a row and starts anew after any other end of a pass.
 * - `RequeueAfter`: run again after `delayMillis`; a delay that is not positive is `Requeue`.
 *
 * @category models
 * @since 0.1.0
 */
export type Outcome =
  | { readonly _tag: "Done" }
  | { readonly _tag: "Requeue" }
  | { readonly _tag: "RequeueAfter"; readonly delayMillis: number }

/**
 * Nothing more to do until something changes. A reconcile that returns nothing means the same.
 *
 * @category constructors
 * @since 0.1.0
 */
export const done: Outcome = { _tag: "Done" }

/**
 * Run again soon: more is to be done.
 *
 * @category constructors
 * @since 0.1.0
 */
export const requeue: Outcome = { _tag: "Requeue" }

/**
 * Run again after a time, for what no watch tells. An event that comes first runs the pass earlier, and the time is then
 * the next Outcome's to say (E1).
 *
 * @example
 * ```ts
 * import { Outcome } from "setpoint"
 *
 * const poll = Outcome.requeueAfter("10 seconds")
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const requeueAfter = (delay: Duration.Input): Outcome => {
  const delayMillis = Duration.toMillis(Duration.fromInputUnsafe(delay))
  return delayMillis > 0 ? { _tag: "RequeueAfter", delayMillis } : requeue
}
