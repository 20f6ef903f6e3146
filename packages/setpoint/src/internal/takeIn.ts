/**
 * How a value comes into a store: checked to be JSON, copied, frozen, and compared with what is stored, in one walk.
 *
 * What is equal to the stored value keeps the stored value's identity, so "has it changed?" is `===` afterwards, and
 * an object shares with its earlier revisions all that did not change. Nothing of the caller's is kept or changed.
 */
import * as Result from "effect/Result"
import type { Field } from "../StoreError.ts"
import * as fieldPath from "./fieldPath.ts"
import { isArray, isObject, type Json, type JsonArray, type JsonObject, maxDepth } from "./json.ts"

/** Takes `value` in, in place of `stored`. */
export const takeIn = (
  value: unknown,
  stored: Json | undefined,
  options: { readonly freeze: boolean }
): Result.Result<Json, Field> => {
  const walk: Walk = { freeze: options.freeze, depth: 0, why: "", path: [] }
  const taken = enter(walk, value, stored)
  return taken === undefined
    ? Result.fail({ path: fieldPath.text(walk.path.toReversed()), why: walk.why })
    : Result.succeed(taken)
}

type Walk = {
  readonly freeze: boolean
  depth: number
  why: string
  /** Innermost first: filled while a refusal goes up. */
  readonly path: Array<string | number>
}

const refuse = (walk: Walk, why: string): undefined => {
  walk.why = why
}

const enter = (walk: Walk, value: unknown, stored: Json | undefined): Json | undefined => {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value
  if (typeof value === "number") {
    return Number.isFinite(value) ? value : refuse(walk, `is ${value}: a JSON number must be finite`)
  }
  if (typeof value !== "object") return refuse(walk, `is of type ${typeof value}, which JSON cannot hold`)
  if (value === stored) return stored
  if (walk.depth === maxDepth) return refuse(walk, `is nested deeper than ${maxDepth} levels`)
  walk.depth++
  const taken = Array.isArray(value)
    ? enterArray(walk, value, isArray(stored) ? stored : undefined)
    : enterObject(walk, value, isObject(stored) ? stored : undefined)
  walk.depth--
  return taken
}

const enterArray = (
  walk: Walk,
  values: ReadonlyArray<unknown>,
  stored: JsonArray | undefined
): Json | undefined => {
  const copy: Array<Json> = []
  let same = stored !== undefined && stored.length === values.length
  for (let i = 0; i < values.length; i++) {
    const taken = enter(walk, values[i], stored?.[i])
    if (taken === undefined) {
      walk.path.push(i)
      return undefined
    }
    same &&= taken === stored?.[i]
    copy.push(taken)
  }
  return same ? stored : walk.freeze ? Object.freeze(copy) : copy
}

const enterObject = (walk: Walk, value: object, stored: JsonObject | undefined): Json | undefined => {
  if (!isPlain(value)) return refuse(walk, "is an instance of a class: encode it as a JSON value")
  const copy: { [key: string]: Json } = {}
  let same = stored !== undefined
  let members = 0
  for (const key of Object.keys(value)) {
    const at = (value as { readonly [key: string]: unknown })[key] // an own key, just listed
    if (at === undefined) continue
    const before = stored !== undefined && Object.hasOwn(stored, key) ? stored[key] : undefined
    const taken = key === "__proto__"
      ? refuse(walk, "is a name that no member of an object may have")
      : enter(walk, at, before)
    if (taken === undefined) {
      walk.path.push(key)
      return undefined
    }
    members++
    same &&= taken === before
    copy[key] = taken
  }
  if (same && stored !== undefined && Object.keys(stored).length === members) return stored
  return walk.freeze ? Object.freeze(copy) : copy
}

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** About how long the JSON text of a value is, in UTF-16 units. */
export const sizeOf = (value: Json): number => {
  if (typeof value === "string") return value.length + 2
  if (typeof value === "number") return 8
  if (typeof value !== "object" || value === null) return 4
  let size = 2
  if (isArray(value)) {
    for (const element of value) size += sizeOf(element) + 1
  } else {
    const object = value as JsonObject // neither null, scalar nor array
    for (const key in object) size += key.length + 4 + sizeOf(object[key])
  }
  return size
}
