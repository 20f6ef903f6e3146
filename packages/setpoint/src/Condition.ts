/**
 * Conditions: what a status says about an object, one aspect at a time, in Kubernetes' form.
 *
 * A reconciler builds conditions without times: `Store.updateStatus` stamps `lastTransitionTime` and
 * `observedGeneration` when it writes, keeps the time where the status is as it was, and writes nothing where nothing
 * changed. The functions here are pure, so that a list can also be prepared, compared and tested on its own.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import * as Schema from "effect/Schema"

/**
 * Longest message that a condition carries, in UTF-16 code units: longer ones are cut, with a mark, by {@link make}.
 *
 * @category constants
 * @since 0.1.0
 */
export const maxMessageLength = 32_768

const typePattern =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/
const reasonPattern = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/

/**
 * Whether the condition holds; `"Unknown"` where the reconciler cannot tell.
 *
 * @category models
 * @since 0.1.0
 */
export const Status = Schema.Literals(["True", "False", "Unknown"])

/** @category models @since 0.1.0 */
export type Status = typeof Status.Type

/**
 * One aspect of an object. A list holds at most one of each `type`.
 *
 * `lastTransitionTime` (RFC 3339, UTC) is when `status` last changed, not when the condition was last written;
 * `observedGeneration` is the `metadata.generation` that the writer had seen. Both are stamped when the status is
 * written. Lengths and patterns are those of the Kubernetes API: a store refuses others as `Invalid`, naming the field.
 *
 * @category models
 * @since 0.1.0
 */
export const Condition = Schema.Struct({
  type: Schema.String.check(
    Schema.isMaxLength(316),
    Schema.isPattern(typePattern, { message: "must be a condition type such as Ready or example.dev/Synced" })
  ),
  status: Status,
  reason: Schema.String.check(
    Schema.isMaxLength(1024),
    Schema.isPattern(reasonPattern, { message: "must be one CamelCase word such as ImagePullFailed" })
  ),
  message: Schema.String.check(Schema.isMaxLength(maxMessageLength)),
  lastTransitionTime: Schema.optionalKey(Schema.String),
  observedGeneration: Schema.optionalKey(Schema.Int)
})

/** @category models @since 0.1.0 */
export type Condition = typeof Condition.Type

/**
 * The conditions of an object: `status: Schema.Struct({ conditions: Condition.List })`.
 *
 * @category models
 * @since 0.1.0
 */
export const List = Schema.Array(Condition)

/** @category models @since 0.1.0 */
export type List = typeof List.Type

/**
 * What {@link make} takes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** `Ready`, `Synced`, `example.dev/Backup`, … */
  readonly type: string
  readonly status: Status
  /** For programs: one CamelCase word. */
  readonly reason: string
  /** For people. Default `""`. */
  readonly message?: string | undefined
}

/**
 * A condition that is not stamped yet.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Condition } from "setpoint"
 *
 * const stalled = Condition.make({ type: "Stalled", status: "True", reason: "BadImage", message: "no such image" })
 *
 * assert.equal(Condition.isTrue([stalled], "Stalled"), true)
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Condition => ({
  type: options.type,
  status: options.status,
  reason: options.reason,
  message: truncate(options.message ?? "")
})

/**
 * `Ready` is `True`: the world is as the object asks. Reason `Ready` by default.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ready = (
  options?: { readonly reason?: string | undefined; readonly message?: string | undefined }
): Condition => make({ type: "Ready", status: "True", reason: options?.reason ?? "Ready", message: options?.message })

/**
 * `Ready` is `False`, and why.
 *
 * @category constructors
 * @since 0.1.0
 */
export const notReady = (options: { readonly reason: string; readonly message?: string | undefined }): Condition =>
  make({ type: "Ready", status: "False", reason: options.reason, message: options.message })

const mark = " … (truncated)"

const truncate = (message: string): string => {
  if (message.length <= maxMessageLength) return message
  const end = maxMessageLength - mark.length
  const last = message.charCodeAt(end - 1)
  const splitsPair = last >= 0xd800 && last <= 0xdbff
  return message.slice(0, splitsPair ? end - 1 : end) + mark
}

/**
 * The condition of a type, if the list has it.
 *
 * @category getters
 * @since 0.1.0
 */
export const find: {
  (type: string): (self: List) => Condition | undefined
  (self: List, type: string): Condition | undefined
} = dual(2, (self: List, type: string): Condition | undefined => self.find((condition) => condition.type === type))

/**
 * Whether the condition is there and its status is `"True"`.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isTrue: {
  (type: string): (self: List) => boolean
  (self: List, type: string): boolean
} = dual(2, (self: List, type: string): boolean => find(self, type)?.status === "True")

/**
 * Whether the condition is there and its status is `"False"`.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isFalse: {
  (type: string): (self: List) => boolean
  (self: List, type: string): boolean
} = dual(2, (self: List, type: string): boolean => find(self, type)?.status === "False")

/**
 * Puts a condition in the place of the one of its type, or at the end.
 *
 * The transition time is honest: where the status is as it was, the old time stays, whatever the new condition brings;
 * where it changed, the time is the new condition's own, or absent until the write stamps it. Gives the same list where
 * nothing changed.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Condition } from "setpoint"
 *
 * const before = [{ ...Condition.ready(), lastTransitionTime: "2026-01-01T00:00:00Z" }]
 *
 * const same = Condition.set(before, Condition.ready({ message: "3 of 3" }))
 * assert.equal(same[0].lastTransitionTime, "2026-01-01T00:00:00Z")
 *
 * const moved = Condition.set(before, Condition.notReady({ reason: "Starting" }))
 * assert.equal(moved[0].lastTransitionTime, undefined)
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const set: {
  (condition: Condition): (self: List) => List
  (self: List, condition: Condition): List
} = dual(2, (self: List, condition: Condition): List => {
  const index = self.findIndex((old) => old.type === condition.type)
  if (index < 0) return [...self, condition]
  const old = self[index]
  const next = old.status === condition.status && old.lastTransitionTime !== undefined
    ? { ...condition, lastTransitionTime: old.lastTransitionTime }
    : condition
  return sameCondition(old, next) ? self : self.with(index, next)
})

const sameCondition = (a: Condition, b: Condition): boolean =>
  a.status === b.status && a.reason === b.reason && a.message === b.message &&
  a.lastTransitionTime === b.lastTransitionTime && a.observedGeneration === b.observedGeneration

/**
 * The list without the condition of a type.
 *
 * @category combinators
 * @since 0.1.0
 */
export const remove: {
  (type: string): (self: List) => List
  (self: List, type: string): List
} = dual(2, (self: List, type: string): List => {
  const rest = self.filter((condition) => condition.type !== type)
  return rest.length === self.length ? self : rest
})

/**
 * How {@link summarize} reads a list.
 *
 * @category models
 * @since 0.1.0
 */
export interface SummaryOptions {
  /** The condition that sums the others up. Default `"Ready"`. */
  readonly type?: string | undefined
  /** Types that must be `True`; an absent one counts as `Unknown`. Default: every other type in the list. */
  readonly of?: ReadonlyArray<string> | undefined
  /** Types whose normal status is `False`, such as `Stalled`; absent is normal. Default: none. */
  readonly abnormal?: ReadonlyArray<string> | undefined
}

/**
 * One condition from the others: `False` where one of them is wrong, else `Unknown` where one is not known, else
 * `True`. It takes its reason from the first that decides, and names every one that does in its message.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Condition } from "setpoint"
 *
 * const summary = Condition.summarize([
 *   Condition.make({ type: "Synced", status: "True", reason: "Synced" }),
 *   Condition.make({ type: "Healthy", status: "False", reason: "Crashing", message: "exit code 1" })
 * ])
 *
 * assert.equal(summary.status, "False")
 * assert.equal(summary.message, "Healthy: exit code 1")
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const summarize: {
  (options?: SummaryOptions): (self: List) => Condition
  (self: List, options?: SummaryOptions): Condition
} = dual((args) => Array.isArray(args[0]), (self: List, options?: SummaryOptions): Condition => {
  const type = options?.type ?? "Ready"
  const abnormal = options?.abnormal ?? []
  const of = options?.of ??
    self.flatMap((condition) => condition.type === type || abnormal.includes(condition.type) ? [] : [condition.type])
  const parts = [
    ...of.map((type) => partOf(self, type, "True")),
    ...abnormal.map((type) => partOf(self, type, "False"))
  ]
  for (const status of ["False", "Unknown"] as const) {
    const deciding = parts.filter((part) => part.verdict === status)
    if (deciding.length === 0) continue
    const message = deciding.map((part) => `${part.type}: ${part.message}`).join("; ")
    return make({ type, status, reason: deciding[0].reason, message })
  }
  return make({ type, status: "True", reason: type.slice(type.indexOf("/") + 1) })
})

interface Part {
  readonly type: string
  /** What the part means for the whole. */
  readonly verdict: Status
  readonly reason: string
  readonly message: string
}

const partOf = (self: List, type: string, normal: "True" | "False"): Part => {
  const found = find(self, type)
  if (found === undefined) {
    return { type, verdict: normal === "True" ? "Unknown" : "True", reason: "NotReported", message: "not reported yet" }
  }
  const verdict = found.status === "Unknown" ? "Unknown" : found.status === normal ? "True" : "False"
  return { type, verdict, reason: found.reason, message: found.message === "" ? found.reason : found.message }
}
