/**
 * Rules over plain JSON values: comparison, freezing, patches. Pure and synchronous.
 *
 * A value enters by {@link fromUnknown}, which bounds its depth and size and refuses what is not JSON. All other rules
 * take such a value, so their recursion is bounded. What a rule leaves unchanged keeps its identity, and nothing
 * given to a rule is ever changed.
 */
import * as JsonPointer from "effect/JsonPointer"
import * as Result from "effect/Result"
import type { Json, JsonObject } from "../Resource.ts"

export type { Json, JsonObject }
export type JsonArray = ReadonlyArray<Json>

/** Where a value is wrong, as a JSON Pointer (RFC 6901, `""` is the root), and what is wrong with it. */
export type Flaw = { readonly path: string; readonly reason: string }

/** Why a patch was refused. `index` is the operation's place in a JSON patch; a merge patch has none. */
export type PatchFlaw = Flaw & { readonly index: number | undefined }

/** Levels of nesting that a value may have: far more than any manifest, far less than a stack holds. */
export const maxDepth = 500

/** Values, nested ones counted, that one value may hold: what ten megabytes of text hold at most. */
export const maxNodes = 5_000_000

/** Operations that one JSON patch may have: the bound of Kubernetes' API server. */
export const maxOperations = 10_000

/** `Array.isArray` for read-only arrays. */
export const isArray = (value: Json | undefined): value is JsonArray => Array.isArray(value)

/** Of a value that is JSON: whether it is an object, so neither null nor an array nor a scalar. */
export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The text of a path that goes through these members and indexes, escaped as RFC 6901 says. */
export const pointer = (tokens: ReadonlyArray<string | number>): string =>
  tokens.map((token) => `/${JsonPointer.escapeToken(String(token))}`).join("")

// ---------------------------------------------------------------------------------------------------------------------
// entering
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Takes any value in as JSON. Members that are `undefined` are left out, as `JSON.stringify` does; all else that JSON
 * cannot hold is a flaw, as are a member named `__proto__`, too deep a nesting, a cycle, and too many values.
 */
export const fromUnknown = (input: unknown): Result.Result<Json, Flaw> => {
  const path: Array<string | number> = []
  let nodes = 0
  let flaw: Flaw | undefined
  const refuse = (reason: string): undefined => {
    flaw ??= { path: pointer(path), reason }
    return undefined
  }
  const member = (key: string | number, value: unknown): Json | undefined => {
    path.push(key)
    const json = enter(value)
    path.pop()
    return json
  }
  const enter = (value: unknown): Json | undefined => {
    if (++nodes > maxNodes) return refuse(`has more than ${maxNodes} values, which is the most one object may hold`)
    if (value === null || typeof value === "string" || typeof value === "boolean") return value
    if (typeof value === "number") {
      return Number.isFinite(value) ? value : refuse(`is ${value}: a JSON number must be finite`)
    }
    if (typeof value !== "object") return refuse(`is of type ${typeof value}, which JSON cannot hold`)
    if (path.length >= maxDepth) return refuse(`is nested deeper than ${maxDepth} levels`)
    return Array.isArray(value) ? enterArray(value) : enterObject(value)
  }
  const enterArray = (values: ReadonlyArray<unknown>): Json | undefined => {
    for (let i = 0; i < values.length; i++) {
      const json = member(i, values[i])
      if (json === undefined) return undefined
      if (json !== values[i]) return changedArray(values, i, json)
    }
    return values as JsonArray // each was seen to be JSON
  }
  const changedArray = (values: ReadonlyArray<unknown>, at: number, changed: Json): Json | undefined => {
    const copy = values.slice(0, at) as Array<Json> // each was seen to be JSON
    copy.push(changed)
    for (let i = at + 1; i < values.length; i++) {
      const json = member(i, values[i])
      if (json === undefined) return undefined
      copy.push(json)
    }
    return copy
  }
  const enterObject = (value: object): Json | undefined => {
    if (!isPlain(value)) return refuse(`is an instance of ${className(value)}: encode it as a JSON value`)
    const members = value as { readonly [key: string]: unknown }
    const keys = Object.keys(members)
    let changed: Record<string, Json> | undefined
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]
      if (key === "__proto__") return refuse(`has a member named "__proto__", which no object may have`)
      const before = members[key]
      const json = before === undefined ? undefined : member(key, before)
      if (json === undefined && before !== undefined) return undefined
      if (json !== before || before === undefined) changed ??= firstMembers(members, keys.slice(0, i))
      if (changed !== undefined && json !== undefined) changed[key] = json
    }
    return changed ?? members as JsonObject // each member was seen to be JSON
  }
  const firstMembers = (members: { readonly [key: string]: unknown }, keys: ReadonlyArray<string>) => {
    const first: Record<string, Json> = {}
    for (const key of keys) first[key] = members[key] as Json // each was seen to be JSON
    return first
  }
  const json = enter(input)
  return json === undefined ? Result.fail(flaw ?? { path: "", reason: "is not JSON" }) : Result.succeed(json)
}

/** Whether nothing but `Object.prototype`, of whichever realm, stands above the object. */
const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

const className = (value: object): string => {
  const constructor: unknown = value.constructor
  return typeof constructor === "function" && constructor.name !== "" ? constructor.name : "a class"
}

// ---------------------------------------------------------------------------------------------------------------------
// comparing and freezing
// ---------------------------------------------------------------------------------------------------------------------

/** Whether two values are the same JSON. The order of members does not count; `0` and `-0` are the same. */
export const equal = (a: Json, b: Json): boolean => {
  if (a === b) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  if (isArray(a)) {
    if (!isArray(b) || a.length !== b.length) return false
    for (let i = 0; i < a.length; i++) if (!equal(a[i], b[i])) return false
    return true
  }
  if (!isObject(a) || !isObject(b)) return false
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  for (const key of keys) if (!Object.hasOwn(b, key) || !equal(a[key], b[key])) return false
  return true
}

/** `next`, with every part that is equal to the same part of `previous` taken from `previous`. */
export const share = (previous: Json | undefined, next: Json): Json => {
  if (previous === next || typeof next !== "object" || next === null) return next
  if (typeof previous !== "object" || previous === null) return next
  if (isArray(next)) return isArray(previous) ? shareArray(previous, next) : next
  return isObject(previous) && isObject(next) ? shareObject(previous, next) : next
}

const shareArray = (previous: JsonArray, next: JsonArray): JsonArray => {
  const shared = next.map((value, i) => share(previous[i], value))
  if (next.length === previous.length && shared.every((value, i) => value === previous[i])) return previous
  return shared.some((value, i) => value !== next[i]) ? shared : next
}

const shareObject = (previous: JsonObject, next: JsonObject): JsonObject => {
  const keys = Object.keys(next)
  const shared: Record<string, Json> = {}
  let asPrevious = keys.length === Object.keys(previous).length
  let asNext = true
  for (const key of keys) {
    const before = own(previous, key)
    const value = share(before, next[key])
    asPrevious &&= value === before
    asNext &&= value === next[key]
    put(shared, key, value)
  }
  return asPrevious ? previous : asNext ? next : shared
}

/**
 * Freezes a value and all in it, without recursion. What is frozen already is taken as frozen whole, so that an object
 * that shares parts with a frozen one pays for its new parts only. A value that a caller made may be frozen in its
 * outer parts alone: give `foreign` for it, and every part is visited.
 */
export const deepFreeze = <A>(value: A, options?: { readonly foreign?: boolean | undefined }): A => {
  const foreign = options?.foreign ?? false
  const pending: Array<unknown> = [value]
  while (pending.length > 0) {
    const next = pending.pop()
    if (typeof next !== "object" || next === null) continue
    if (!Object.isFrozen(next)) Object.freeze(next)
    else if (!foreign) continue
    for (const part of Array.isArray(next) ? next : Object.values(next)) {
      if (typeof part === "object") pending.push(part)
    }
  }
  return value
}

// ---------------------------------------------------------------------------------------------------------------------
// merge patch (RFC 7386)
// ---------------------------------------------------------------------------------------------------------------------

/** Applies a merge patch: members replace or merge, `null` removes, arrays are replaced whole. */
export const mergePatch = (target: Json, patch: unknown): Result.Result<Json, PatchFlaw> =>
  Result.mapBoth(fromUnknown(patch), {
    onFailure: (flaw): PatchFlaw => ({ ...flaw, index: undefined }),
    onSuccess: (patch) => merge(target, patch)
  })

const merge = (target: Json | undefined, patch: Json): Json => {
  if (!isObject(patch)) return target !== undefined && equal(target, patch) ? target : patch
  const before: JsonObject = isObject(target) ? target : {}
  const after: Record<string, Json> = {}
  let same = before === target
  for (const key of Object.keys(before)) {
    const change = own(patch, key)
    if (change === null) same = false
    else {
      const value = change === undefined ? before[key] : merge(before[key], change)
      same &&= value === before[key]
      put(after, key, value)
    }
  }
  for (const key of Object.keys(patch)) {
    if (Object.hasOwn(before, key) || patch[key] === null) continue
    same = false
    put(after, key, merge(undefined, patch[key]))
  }
  return same ? before : after
}

/**
 * The merge patch that makes `b` of `a`, as small as such a patch can be. `undefined` where there is none: a merge
 * patch cannot write a member whose value is `null`.
 */
export const diffMerge = (a: Json, b: Json): Json | undefined => {
  if (!isObject(b)) return b
  if (!isObject(a)) return writesNull(b) ? undefined : b
  const patch: Record<string, Json> = {}
  for (const key of Object.keys(a)) if (!Object.hasOwn(b, key)) put(patch, key, null)
  for (const key of Object.keys(b)) {
    const before = own(a, key)
    const after = b[key]
    if (before !== undefined && equal(before, after)) continue
    const change = after === null ? undefined : diffMerge(before ?? null, after)
    if (change === undefined) return undefined
    put(patch, key, change)
  }
  return patch
}

const writesNull = (value: Json): boolean =>
  value === null || (isObject(value) && Object.values(value).some((member) => writesNull(member)))

// ---------------------------------------------------------------------------------------------------------------------
// JSON patch (RFC 6902)
// ---------------------------------------------------------------------------------------------------------------------

type Operation =
  | { readonly op: "add" | "replace" | "test"; readonly path: Path; readonly value: Json }
  | { readonly op: "remove"; readonly path: Path }
  | { readonly op: "move" | "copy"; readonly path: Path; readonly from: Path }
type Path = ReadonlyArray<string>
type Step<A> = Result.Result<A, string>

/** Applies a JSON patch, all operations or none. Operations are checked for their form before the first is applied. */
export const jsonPatch = (target: Json, patch: unknown): Result.Result<Json, PatchFlaw> => {
  const entered = fromUnknown(patch)
  if (Result.isFailure(entered)) return Result.fail({ ...entered.failure, index: undefined })
  const document = entered.success
  if (!isArray(document)) return Result.fail({ index: undefined, path: "", reason: "must be an array of operations" })
  if (document.length > maxOperations) {
    const reason = `has ${document.length} operations: at most ${maxOperations} are allowed`
    return Result.fail({ index: undefined, path: "", reason })
  }
  const operations: Array<Operation> = []
  for (let index = 0; index < document.length; index++) {
    const operation = parseOperation(document[index])
    if (Result.isFailure(operation)) return Result.fail({ ...operation.failure, index })
    operations.push(operation.success)
  }
  const budget = { nodes: maxNodes }
  let value = target
  for (let index = 0; index < operations.length; index++) {
    const next = applyOperation(value, operations[index], budget)
    if (Result.isFailure(next)) {
      return Result.fail({ index, path: pointer(operations[index].path), reason: next.failure })
    }
    value = next.success
  }
  return Result.succeed(value)
}

const operationNames: ReadonlyArray<Json | undefined> = ["add", "remove", "replace", "move", "copy", "test"]

const parseOperation = (json: Json): Result.Result<Operation, Flaw> => {
  if (!isObject(json)) return Result.fail({ path: "", reason: `must be an object with "op" and "path"` })
  const op = own(json, "op")
  const text = own(json, "path")
  const at = typeof text === "string" ? text : ""
  const refuse = (reason: string): Result.Result<never, Flaw> => Result.fail({ path: at, reason })
  if (!operationNames.includes(op)) {
    return refuse(`has the operation ${brief(op)}: it must be one of ${operationNames.join(", ")}`)
  }
  const path = parsePointer(text)
  if (path === undefined) {
    return refuse(`has the path ${brief(text)}: it must be a JSON Pointer such as "/spec/replicas"`)
  }
  if (op === "remove") return Result.succeed({ op, path })
  if (op === "move" || op === "copy") {
    const from = parsePointer(own(json, "from"))
    if (from !== undefined) return Result.succeed({ op, path, from })
    return refuse(`has "from" ${brief(own(json, "from"))}: "${op}" needs a JSON Pointer such as "/spec/replicas"`)
  }
  const value = own(json, "value")
  if (value === undefined) return refuse(`has no "value", which "${String(op)}" needs`)
  return Result.succeed({ op: op as "add" | "replace" | "test", path, value }) // all others were handled above
}

/** The tokens of a JSON Pointer; `undefined` where the text is none. */
export const parsePointer = (text: Json | undefined): Path | undefined => {
  if (typeof text !== "string") return undefined
  if (text === "") return []
  if (!text.startsWith("/") || /~(?![01])/.test(text)) return undefined
  return text.slice(1).split("/").map(JsonPointer.unescapeToken)
}

const applyOperation = (root: Json, operation: Operation, budget: { nodes: number }): Step<Json> => {
  const { path } = operation
  switch (operation.op) {
    case "add":
      return addFitting(root, path, operation.value, budget)
    case "remove":
      return remove(root, path)
    case "replace":
      return Result.flatMap(find(root, path), () => replaceFitting(root, path, operation.value, budget))
    case "test":
      return Result.flatMap(find(root, path), (found) =>
        equal(found, operation.value)
          ? Result.succeed(root)
          : Result.fail(`the value there is ${brief(found)}, not the tested ${brief(operation.value)}`))
    case "copy":
      return Result.flatMap(find(root, operation.from), (found) => addFitting(root, path, found, budget))
    case "move": {
      const { from } = operation
      if (from.length < path.length && from.every((token, i) => token === path[i])) {
        return Result.fail(`cannot move ${brief(pointer(from))} into itself`)
      }
      return Result.flatMap(
        find(root, from),
        (found) =>
          from.length === path.length && from.every((token, i) => token === path[i])
            ? Result.succeed(root)
            : Result.flatMap(remove(root, from), (rest) => addFitting(rest, path, found, budget))
      )
    }
  }
}

/** Sees that a value that is put at a path keeps the bounds, and that copies of copies do not grow without bound. */
const fitting = (path: Path, value: Json, budget: { nodes: number }): Step<void> => {
  const fits = (value: Json, depth: number): boolean => {
    if (--budget.nodes < 0) return false
    if (typeof value !== "object" || value === null) return true
    if (depth >= maxDepth) return false
    return isArray(value)
      ? value.every((item) => fits(item, depth + 1))
      : Object.values(value).every((item) => fits(item, depth + 1))
  }
  if (path.includes("__proto__")) return Result.fail(`"__proto__" is no name that a member may have`)
  if (fits(value, path.length)) return Result.succeed(undefined)
  return Result.fail(
    budget.nodes < 0
      ? `the patch writes more than ${maxNodes} values`
      : `the result is nested deeper than ${maxDepth} levels`
  )
}

const addFitting = (root: Json, path: Path, value: Json, budget: { nodes: number }): Step<Json> =>
  Result.flatMap(fitting(path, value, budget), () =>
    edit(root, path, value, (container, token) => {
      if (isObject(container)) return Result.succeed(withMember(container, token, value))
      if (!isArray(container)) return Result.fail(noMember(container, token))
      const index = token === "-" ? container.length : arrayIndex(token)
      if (index === undefined || index > container.length) return Result.fail(noItem(container, token))
      return Result.succeed([...container.slice(0, index), value, ...container.slice(index)])
    }))

const replaceFitting = (root: Json, path: Path, value: Json, budget: { nodes: number }): Step<Json> =>
  Result.flatMap(
    fitting(path, value, budget),
    () => edit(root, path, value, (container, token) => Result.succeed(withChild(container, token, value)))
  )

const remove = (root: Json, path: Path): Step<Json> =>
  path.length === 0
    ? Result.fail("the whole document cannot be removed")
    : edit(root, path, null, (container, token) =>
      Result.map(child(container, token), () => {
        if (isArray(container)) return container.filter((_, i) => i !== Number(token))
        const rest: Record<string, Json> = {}
        if (isObject(container)) {
          for (const key of Object.keys(container)) if (key !== token) put(rest, key, container[key])
        }
        return rest
      }))

/** Changes the container of the path's last token, and copies no more than the containers on the way to it. */
const edit = (
  root: Json,
  path: Path,
  whole: Json,
  change: (container: Json, token: string) => Step<Json>
): Step<Json> => {
  const go = (container: Json, at: number): Step<Json> =>
    at === path.length - 1
      ? change(container, path[at])
      : Result.flatMap(child(container, path[at]), (inner) =>
        Result.map(go(inner, at + 1), (next) => withChild(container, path[at], next)))
  return path.length === 0 ? Result.succeed(equal(root, whole) ? root : whole) : go(root, 0)
}

const find = (root: Json, path: Path): Step<Json> => {
  let value = root
  for (const token of path) {
    const next = child(value, token)
    if (Result.isFailure(next)) return next
    value = next.success
  }
  return Result.succeed(value)
}

const child = (container: Json, token: string): Step<Json> => {
  if (isArray(container)) {
    const index = arrayIndex(token)
    return index !== undefined && index < container.length
      ? Result.succeed(container[index])
      : Result.fail(noItem(container, token))
  }
  const value = isObject(container) ? own(container, token) : undefined
  return value === undefined ? Result.fail(noMember(container, token)) : Result.succeed(value)
}

/** The container with another value at a place that it has. */
const withChild = (container: Json, token: string, value: Json): Json => {
  if (!isArray(container)) return isObject(container) ? withMember(container, token, value) : container
  const index = Number(token)
  return equal(container[index], value) ? container : container.with(index, value)
}

const withMember = (container: JsonObject, key: string, value: Json): JsonObject => {
  const before = own(container, key)
  return before !== undefined && equal(before, value) ? container : { ...container, [key]: value }
}

const arrayIndex = (token: string): number | undefined =>
  /^(0|[1-9][0-9]{0,9})$/.test(token) ? Number(token) : undefined

const noItem = (container: JsonArray, token: string): string =>
  `there is no item ${brief(token)} in an array of ${container.length}`

const noMember = (container: Json, token: string): string =>
  isObject(container) ? `there is no member ${brief(token)}` : `${brief(container)} has no member ${brief(token)}`

// ---------------------------------------------------------------------------------------------------------------------
// leaves
// ---------------------------------------------------------------------------------------------------------------------

/** An own member: a name such as "constructor" never reaches the prototype. */
export const own = (object: JsonObject, key: string): Json | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined

/** Sets an own member: by assignment alone, "__proto__" would set the prototype. */
const put = (object: Record<string, Json>, key: string, value: Json): void => {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  } else object[key] = value
}

/** A value as a message can show it. */
export const brief = (value: Json | undefined): string => {
  if (value === undefined) return "nothing"
  if (isArray(value)) return `an array of ${value.length}`
  if (isObject(value)) return "an object"
  const text = JSON.stringify(typeof value === "string" ? value.slice(0, 64) : value)
  return typeof value === "string" && value.length > 64 ? `${text}…` : text
}

/** A copy that shares nothing with the value. */
export const copy = (value: Json): Json => {
  if (isArray(value)) return value.map(copy)
  if (!isObject(value)) return value
  const copied: Record<string, Json> = {}
  for (const key of Object.keys(value)) put(copied, key, copy(value[key]))
  return copied
}

/** One text for equal values: members in the order of their names. */
export const text = (value: Json): string => {
  if (isArray(value)) return `[${value.map(text).join()}]`
  if (!isObject(value)) return JSON.stringify(value === 0 ? 0 : value)
  return `{${Object.keys(value).toSorted().map((key) => `${JSON.stringify(key)}:${text(value[key])}`).join()}}`
}
