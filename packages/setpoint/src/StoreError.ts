/**
 * The one closed set of errors that stores fail with.
 *
 * Each says what was asked, of which object, why it was refused, whether it was applied, whether a retry can help, and
 * what to do. An outcome that is unknown (the reply was lost) is a reason of its own, never folded into a refusal (S1).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { groupKind, type Key, keyText } from "./Resource.ts"

/** @category reasons @since 0.1.0 */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", {}) {}

/** @category reasons @since 0.1.0 */
export class AlreadyExists extends Schema.TaggedError<AlreadyExists>()("AlreadyExists", {}) {}

/**
 * The object is not as the precondition says. `conflicts` is filled by `apply`: who owns which field (S11).
 *
 * @category reasons
 * @since 0.1.0
 */
export class Conflict extends Schema.TaggedError<Conflict>()("Conflict", {
  why: Schema.String,
  expected: Schema.optionalKey(Schema.String),
  actual: Schema.optionalKey(Schema.String),
  conflicts: Schema.optionalKey(Schema.Array(Schema.Struct({ manager: Schema.String, path: Schema.String })))
}) {}

/**
 * A wrong field: where it is (`spec.replicas`, `metadata.labels["x"]`), what is wrong, and what would be right.
 *
 * @category models
 * @since 0.1.0
 */
export const Field = Schema.Struct({ path: Schema.String, why: Schema.String })

/** @category models @since 0.1.0 */
export type Field = typeof Field.Type

/**
 * What was asked breaks a rule, whatever the store holds.
 *
 * @category reasons
 * @since 0.1.0
 */
export class Invalid extends Schema.TaggedError<Invalid>()("Invalid", { fields: Schema.Array(Field) }) {}

/**
 * A stored object does not decode under its kind's Schema (S12). It concerns that object alone.
 *
 * @category reasons
 * @since 0.1.0
 */
export class DecodeError extends Schema.TaggedError<DecodeError>()("DecodeError", { fields: Schema.Array(Field) }) {}

/** @category reasons @since 0.1.0 */
export class Forbidden extends Schema.TaggedError<Forbidden>()("Forbidden", { why: Schema.String }) {}

/** @category reasons @since 0.1.0 */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", { why: Schema.String }) {}

/** @category reasons @since 0.1.0 */
export class TooLarge extends Schema.TaggedError<TooLarge>()("TooLarge", {
  limitBytes: Schema.Finite,
  actualBytes: Schema.Finite
}) {}

/** @category reasons @since 0.1.0 */
export class TooManyRequests extends Schema.TaggedError<TooManyRequests>()("TooManyRequests", {
  retryAfterMillis: Schema.optionalKey(Schema.Finite)
}) {}

/**
 * The store could not be reached or could not serve; the write was certainly not applied.
 *
 * @category reasons
 * @since 0.1.0
 */
export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", { why: Schema.String }) {}

/**
 * The reply was lost: the write may or may not have been applied. `StoreDriver.outcome(writeId)` can tell for a while.
 *
 * @category reasons
 * @since 0.1.0
 */
export class UnknownOutcome extends Schema.TaggedError<UnknownOutcome>()("UnknownOutcome", {
  why: Schema.String,
  writeId: Schema.optionalKey(Schema.String)
}) {}

/**
 * The revision, cursor or page token is no longer retained, or is of another timeline (S5): list anew.
 *
 * @category reasons
 * @since 0.1.0
 */
export class Expired extends Schema.TaggedError<Expired>()("Expired", {
  why: Schema.String,
  /** The cursor is of another timeline, as the store knows for sure: everything may differ, even at equal revisions. */
  otherTimeline: Schema.optionalKey(Schema.Boolean)
}) {}

/**
 * The reader of a watch was too slow for its buffer (S9): resume from its last cursor.
 *
 * @category reasons
 * @since 0.1.0
 */
export class Lagged extends Schema.TaggedError<Lagged>()("Lagged", { bufferSize: Schema.Finite }) {}

/** @category reasons @since 0.1.0 */
export class KindUnknown extends Schema.TaggedError<KindUnknown>()("KindUnknown", { why: Schema.String }) {}

/** @category reasons @since 0.1.0 */
export class GroupUnavailable extends Schema.TaggedError<GroupUnavailable>()("GroupUnavailable", {
  why: Schema.String
}) {}

/** @category reasons @since 0.1.0 */
export class StoreFull extends Schema.TaggedError<StoreFull>()("StoreFull", { why: Schema.String }) {}

/**
 * The write carried an older epoch than the store was told for that lease: another leader has taken over.
 *
 * @category reasons
 * @since 0.1.0
 */
export class Fenced extends Schema.TaggedError<Fenced>()("Fenced", {
  lease: Schema.String,
  epoch: Schema.Finite,
  highest: Schema.Finite
}) {}

const reasons = [
  NotFound,
  AlreadyExists,
  Conflict,
  Invalid,
  DecodeError,
  Forbidden,
  Unauthorized,
  TooLarge,
  TooManyRequests,
  Unavailable,
  UnknownOutcome,
  Expired,
  Lagged,
  KindUnknown,
  GroupUnavailable,
  StoreFull,
  Fenced
] as const

/**
 * Why a store refused or failed.
 *
 * @category models
 * @since 0.1.0
 */
export const Reason = Schema.Union(reasons)

/** @category models @since 0.1.0 */
export type Reason = typeof Reason.Type

const fieldsText = (fields: ReadonlyArray<Field>): string =>
  fields.map((field) => (field.path === "" ? field.why : `${field.path}: ${field.why}`)).join("; ")

/** Why, and what to do, in one place for all reasons. */
const explain = (reason: Reason): string => {
  switch (reason._tag) {
    case "NotFound":
      return "there is no such object"
    case "AlreadyExists":
      return "an object of this name exists; update it, or use ensure"
    case "Conflict": {
      const owners = reason.conflicts?.map((c) => `${c.path} is owned by "${c.manager}"`).join("; ")
      return owners === undefined
        ? `${reason.why}; read it again and repeat the change`
        : `${reason.why}: ${owners}; leave the fields out, or apply with force`
    }
    case "Invalid":
      return `invalid: ${fieldsText(reason.fields)}`
    case "DecodeError":
      return `the stored object does not fit its kind's schema: ${
        fieldsText(reason.fields)
      }; correct the stored object or the schema`
    case "Forbidden":
      return `forbidden: ${reason.why}; grant the permission`
    case "Unauthorized":
      return `not authenticated: ${reason.why}; renew the credentials`
    case "TooLarge":
      return `${reason.actualBytes} bytes are over the limit of ${reason.limitBytes}; split the object`
    case "TooManyRequests":
      return reason.retryAfterMillis === undefined
        ? "the store asks to slow down"
        : `the store asks to wait ${reason.retryAfterMillis} ms`
    case "Unavailable":
      return `the store is unavailable (nothing was applied): ${reason.why}`
    case "UnknownOutcome":
      return `the reply was lost, it may have been applied: ${reason.why}; read the object before you repeat the write`
    case "Expired":
      return `${reason.why}; list anew`
    case "Lagged":
      return `the reader was more than ${reason.bufferSize} events behind; resume from its last cursor`
    case "KindUnknown":
      return `the store does not serve this kind: ${reason.why}`
    case "GroupUnavailable":
      return `the server of this API group does not answer: ${reason.why}`
    case "StoreFull":
      return `the store is full: ${reason.why}`
    case "Fenced":
      return `epoch ${reason.epoch} of lease "${reason.lease}" is over, epoch ${reason.highest} has taken over; stop writing`
  }
}

/** Reasons after which the same call can succeed without anybody changing the request. */
const retryable: ReadonlySet<Reason["_tag"]> = new Set([
  "TooManyRequests",
  "Unavailable",
  "UnknownOutcome",
  "Lagged",
  "GroupUnavailable",
  "StoreFull",
  "KindUnknown"
])

/**
 * A failed call to a store: `operation` on the object `key` of `kind` (`Website.example.dev`), and the `reason`. The name
 * of the key is `""` where the call concerned the whole kind.
 *
 * Branch on the reason with `Effect.catchReason("StoreError", "NotFound", …)`.
 *
 * @category errors
 * @since 0.1.0
 */
export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  operation: Schema.String,
  kind: Schema.String,
  key: Schema.Struct({ namespace: Schema.String, name: Schema.String }),
  reason: Reason
}) {
  override get message(): string {
    const object = this.key.name === "" ? "" : ` ${keyText(this.key)}`
    return `${this.operation} ${this.kind}${object}: ${explain(this.reason)}`
  }

  /** Whether the write took effect. Reads are never applied. */
  get applied(): "no" | "yes" | "unknown" {
    return this.reason._tag === "UnknownOutcome" ? "unknown" : "no"
  }

  /** Whether the same call can succeed later without a change of the request. */
  get retryable(): boolean {
    return retryable.has(this.reason._tag)
  }
}

/**
 * What a call was about: given to {@link make} by stores, so that every error names its object.
 *
 * @category models
 * @since 0.1.0
 */
export interface Subject {
  readonly operation: string
  readonly kind: string
  /** The name is `""` where the call concerns the whole kind. */
  readonly key: Key
}

/**
 * The subject of a call about one object, or, without a key, about the whole kind. Keys are taken as they come: what is
 * wrong with one is what the error says.
 *
 * @category constructors
 * @since 0.1.0
 */
export const subject = (
  operation: string,
  at: { readonly kind: string; readonly group: string },
  key: Key = wholeKind
): Subject => ({
  operation,
  kind: groupKind(at),
  key: { namespace: String(key.namespace), name: String(key.name) }
})

const wholeKind: Key = { namespace: "", name: "" }

/**
 * An error of a store with its subject.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (subject: Subject, reason: Reason): StoreError => new StoreError({ ...subject, reason })

/** @category guards @since 0.1.0 */
export const isStoreError = (u: unknown): u is StoreError => u instanceof StoreError
