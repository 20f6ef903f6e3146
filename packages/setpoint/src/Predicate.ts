/**
 * Predicates: which watch events cause a pass.
 *
 * They judge watch events only; never redelivery, timers, enqueues, or the reruns after a relist (E7). They do not make
 * the cache smaller: that is what a namespace, a selector or a transform does.
 *
 * @since 0.1.0
 */
import * as json from "./internal/json.ts"
import type { Any, Raw } from "./Resource.ts"

/**
 * A watch event as predicates and mapping functions see it. `old` is the state that the cache held before, absent for
 * `Added`. `object` of `Deleted` is the last state.
 *
 * @category models
 * @since 0.1.0
 */
export interface Change<out A> {
  readonly type: "Added" | "Modified" | "Deleted"
  readonly object: A
  readonly old: A | undefined
  /** The stored form, whether or not it decodes. */
  readonly raw: Raw
  readonly oldRaw: Raw | undefined
}

/**
 * Whether a watch event causes a pass. A predicate that throws lets the event pass, and is counted: better one pass too
 * many than a change that nobody hears of.
 *
 * @category models
 * @since 0.1.0
 */
export type Predicate<in A = Any> = (change: Change<A>) => boolean

const statusAside = new Set(["apiVersion", "kind", "metadata", "status"])

const sameDesiredFields = (a: Raw, b: Raw): boolean => {
  for (const field of Object.keys(a)) {
    if (!statusAside.has(field) && !sameValue(a[field], b[field])) return false
  }
  for (const field of Object.keys(b)) {
    if (!statusAside.has(field) && !(field in a) && b[field] !== undefined) return false
  }
  return true
}

const sameValue = (a: unknown, b: unknown): boolean =>
  a === b || (a !== undefined && b !== undefined && json.equal(a as json.Json, b as json.Json))

/**
 * Desired state changed: by generation where the object has one, else by content. A new life under an old name (another
 * uid) is a change. `Added` and `Deleted` pass.
 *
 * @category predicates
 * @since 0.1.0
 */
export const generationChanged: Predicate = ({ oldRaw, raw, type }) => {
  if (type !== "Modified" || oldRaw === undefined || oldRaw.metadata.uid !== raw.metadata.uid) return true
  const generation = raw.metadata.generation
  return generation === undefined || oldRaw.metadata.generation === undefined
    ? !sameDesiredFields(oldRaw, raw)
    : generation !== oldRaw.metadata.generation
}

const metadataChanged =
  (field: "labels" | "annotations" | "finalizers" | "ownerReferences"): Predicate => ({ oldRaw, raw, type }) =>
    type !== "Modified" || oldRaw === undefined || !sameValue(oldRaw.metadata[field], raw.metadata[field])

/**
 * Labels changed. `Added` and `Deleted` pass.
 *
 * @category predicates
 * @since 0.1.0
 */
export const labelsChanged: Predicate = metadataChanged("labels")

/**
 * Annotations changed. `Added` and `Deleted` pass.
 *
 * @category predicates
 * @since 0.1.0
 */
export const annotationsChanged: Predicate = metadataChanged("annotations")

/**
 * Deletion was asked for since the event before, or the object is gone.
 *
 * @category predicates
 * @since 0.1.0
 */
export const deletionMarked: Predicate = ({ oldRaw, raw, type }) =>
  type === "Deleted" ||
  (raw.metadata.deletionTimestamp !== undefined && oldRaw?.metadata.deletionTimestamp === undefined)

/**
 * The revision moved: everything but a repeated delivery. The default for *Owns* and *Watches*.
 *
 * @category predicates
 * @since 0.1.0
 */
export const revisionChanged: Predicate = ({ oldRaw, raw, type }) =>
  type !== "Modified" || oldRaw === undefined || oldRaw.metadata.resourceVersion !== raw.metadata.resourceVersion

const finalizersChanged = metadataChanged("finalizers")
const ownersChanged = metadataChanged("ownerReferences")

/**
 * The default for *For* (E7): desired state, labels, annotations, finalizers, owner references, deletion mark or uid
 * changed. A status write does not pass, so it does not wake its own writer.
 *
 * @category predicates
 * @since 0.1.0
 */
export const intentChanged: Predicate = (change) =>
  generationChanged(change) || labelsChanged(change) || annotationsChanged(change) || finalizersChanged(change) ||
  ownersChanged(change) || deletionMarked(change)

/**
 * All of them pass.
 *
 * @example
 * ```ts
 * import { Predicate } from "setpoint"
 *
 * const quiet = Predicate.and(Predicate.labelsChanged, Predicate.not(Predicate.deletionMarked))
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const and = <A = Any>(...predicates: ReadonlyArray<Predicate<A>>): Predicate<A> => (change) =>
  predicates.every((predicate) => predicate(change))

/**
 * At least one passes.
 *
 * @category combinators
 * @since 0.1.0
 */
export const or = <A = Any>(...predicates: ReadonlyArray<Predicate<A>>): Predicate<A> => (change) =>
  predicates.some((predicate) => predicate(change))

/**
 * The predicate does not pass.
 *
 * @category combinators
 * @since 0.1.0
 */
export const not = <A = Any>(predicate: Predicate<A>): Predicate<A> => (change) => !predicate(change)
