/**
 * What a server makes of what is written: it fills in, changes, or refuses (W9, X14).
 *
 * Asked within the write, after Setpoint's own checks and before the store's, of every writer: so a dry run sees it too.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { type Kind, MemoryStore, type Resource, type StoreDriver, StoreError, StoreRules } from "setpoint"

/** What a rule sees beside the object. */
export interface Context<out A> {
  /** What is stored; `undefined` before creation. */
  readonly before: A | undefined
  /** Wall time in milliseconds. */
  readonly now: number
}

/** A rule of the server for one kind: the object as it is to be stored, or why it is refused. */
export interface Admission {
  readonly kind: Kind.AnyKind
  readonly rule: (
    object: Resource.Raw,
    context: Context<Resource.Raw>
  ) => Result.Result<Resource.Raw, StoreError.Reason>
}

export const make = <A extends Resource.Any>(
  kind: Kind.Kind<A>,
  rule: (object: A, context: Context<A>) => A | string
): Admission => ({
  kind,
  rule: (raw, { before, now }) => {
    const object = kind.decode(raw)
    if (Result.isFailure(object)) return Result.succeed(raw) // none of this kind's objects: not this rule's business
    const stored = before === undefined ? undefined : Result.getOrUndefined(kind.decode(before))
    const admitted = rule(object.success, { before: stored, now })
    return typeof admitted === "string"
      ? Result.fail(new StoreError.Invalid({ fields: [{ path: "", why: admitted }] }))
      : kind.encode(admitted)
  }
})

/** The driver of a server with these rules. Of a status nothing is asked: it is its controller's own. */
export const wrap = (
  driver: StoreDriver.Service,
  core: MemoryStore.Core.State,
  rules: ReadonlyArray<Admission>,
  now: () => number
): StoreDriver.Service => {
  if (rules.length === 0) return driver
  const admitted = (at: StoreDriver.KindAddress, key: Resource.Key) => (object: Resource.Raw) => {
    const stored = MemoryStore.Core.get(core, at, key)
    const before = Result.isSuccess(stored) ? stored.success : undefined
    let result: ReturnType<Admission["rule"]> = Result.succeed(object)
    for (const { kind: { address }, rule } of rules) {
      if (address.kind !== at.kind || address.group !== at.group) continue
      result = Result.flatMap(result, (object) => rule(object, { before, now: now() }))
    }
    return result
  }
  return {
    ...driver,
    write: (at, write, options) => {
      const key = StoreRules.keyOf(write)
      const admit = admitted(at, key)
      const fail = (reason: StoreError.Reason) => StoreError.make(StoreError.subject(write.op, at, key), reason)
      switch (write.op) {
        case "create":
        case "update":
          return Result.match(admit(write.object), {
            onFailure: (reason) => Effect.fail(fail(reason)),
            onSuccess: (object) => driver.write(at, { ...write, object }, options)
          })
        case "patch":
        case "apply": {
          if (write.subresource !== undefined) return driver.write(at, write, options)
          const whole = (object: Resource.Raw) => Result.getOrThrowWith(admit(options.admit?.(object) ?? object), fail)
          return driver.write(at, write, { ...options, admit: whole })
        }
        default:
          return driver.write(at, write, options)
      }
    }
  }
}
