/**
 * Field ownership (S11): what `apply` does to an object, as a pure function on stored objects.
 *
 * A manager that applies an object owns the fields it sets: scalars, lists (as a whole) and empty maps; maps are merged
 * member by member. Who owns what stands in `metadata.managedFields`, in Kubernetes' form.
 *
 * **Consistency** (S11) An apply sets the manager's fields, removes those that it owned and no longer sets unless
 * another manager owns them too, and fails with the list of managers and paths where another one owns a field that it
 * would change. To set a field to the value that it has is no conflict: both own it. With `force` the fields change
 * hands. Other writes (`update`, `updateStatus`, `patch`) take the fields that they change from the managers that had
 * applied them: those fields then belong to `setpoint`, operation `Update`, so that a later apply cannot revert the
 * change unnoticed. Fields that nobody applied have no owner, and cost nothing.
 *
 * The rules are those of Kubernetes' server-side apply without a schema: a list is owned as a whole, `finalizers` and
 * `ownerReferences` too.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as fieldPath from "./internal/fieldPath.ts"
import { equal, isObject, type Json, type JsonObject } from "./internal/json.ts"
import { isServerOwned } from "./internal/metadata.ts"
import type { ManagedFieldsEntry, Raw } from "./Resource.ts"

/**
 * A field that another manager owns.
 *
 * @category models
 * @since 0.1.0
 */
export interface FieldConflict {
  readonly manager: string
  readonly path: string
}

/** @category models @since 0.1.0 */
export interface Options {
  readonly manager: string
  readonly force: boolean
  /** `"status"`: only the status is applied. Otherwise all but status where `hasStatus`. */
  readonly subresource?: "status" | undefined
  readonly hasStatus: boolean
  readonly nowText: string
}

/** The manager that writes other than apply belong to. */
const updater = "setpoint"

/** Owned fields, a tree: `{ "f:spec": { "f:host": {} } }`; `{}` is an owned field. */
type Fields = JsonObject

type Path = ReadonlyArray<string>

/**
 * The stored object with `applied` merged in and `metadata.managedFields` moved on, or who owns which of the fields.
 * Nothing else is changed: revision, generation and validation are the store's.
 *
 * @example
 * ```ts
 * import * as Result from "effect/Result"
 * import { Apply, type Resource } from "setpoint"
 *
 * const site = (spec: object): Resource.Raw => ({
 *   apiVersion: "example.dev/v1",
 *   kind: "Website",
 *   metadata: { name: "blog", uid: "u1", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" },
 *   spec
 * })
 * const options = { force: false, hasStatus: true, nowText: "2026-01-01T00:00:00Z" }
 *
 * const stored = Result.getOrThrow(Apply.apply(undefined, site({ host: "a", replicas: 1 }), { ...options, manager: "one" }))
 * const conflicts = Result.flip(Apply.apply(stored, site({ replicas: 2 }), { ...options, manager: "two" }))
 *
 * console.log(Result.getOrThrow(conflicts)) // [{ manager: "one", path: "spec.replicas" }]
 * ```
 *
 * @category rules
 * @since 0.1.0
 */
export const apply = (
  stored: Raw | undefined,
  applied: Raw,
  options: Options
): Result.Result<Raw, ReadonlyArray<FieldConflict>> => {
  const wanted = appliedFields(applied, options)
  const entries = stored?.metadata.managedFields ?? []
  const isMine = (entry: ManagedFieldsEntry) =>
    entry.manager === options.manager && entry.operation === "Apply" && entry.subresource === options.subresource
  const before: Json = stored === undefined ? {} : json(stored)
  let others = entries.filter((entry) => !isMine(entry))

  const conflicts: Array<FieldConflict> = []
  for (const [path, value] of leaves(wanted, [])) {
    if (holds(before, path, value)) continue
    for (const entry of others) {
      if (entry.manager !== options.manager && owns(entry.fieldsV1 ?? {}, path, before)) {
        conflicts.push({ manager: entry.manager, path: fieldPath.text(path) })
      }
    }
    others = others.map((entry) => withFields(entry, without(entry.fieldsV1 ?? {}, path)))
  }
  if (conflicts.length > 0 && !options.force) return Result.fail(conflicts)

  const mine = entries.find(isMine)
  let merged: Json = before
  for (const path of ownedPaths(mine?.fieldsV1 ?? {}, [])) {
    const stillOwned = reaches(wanted, path) || others.some((entry) => owns(entry.fieldsV1 ?? {}, path, before))
    if (!stillOwned) merged = removed(merged, path, others.map((entry) => entry.fieldsV1 ?? {}))
  }
  for (const [path, value] of leaves(wanted, [])) {
    if (!holds(merged, path, value)) merged = assigned(merged, path, value)
  }
  const fields = fieldsOf(wanted)
  const entry: ManagedFieldsEntry = mine !== undefined && equal(mine.fieldsV1 ?? {}, fields) ? mine : {
    manager: options.manager,
    operation: "Apply",
    apiVersion: applied.apiVersion,
    time: options.nowText,
    fieldsType: "FieldsV1",
    fieldsV1: fields,
    ...(options.subresource === undefined ? {} : { subresource: options.subresource })
  }
  const kept = others.filter((other) => !isEmpty(other.fieldsV1 ?? {}))
  return Result.succeed(withManagedFields(stored, applied, merged, isEmpty(fields) ? kept : [...kept, entry]))
}

/**
 * The managed fields after a write other than apply made `next` of `stored`: fields that it changed pass from those who
 * had applied them to `setpoint`, fields that it removed have no owner. `undefined` where nobody owns anything.
 *
 * @category rules
 * @since 0.1.0
 */
export const afterUpdate = (
  stored: Raw,
  next: Raw,
  nowText: string
): ReadonlyArray<ManagedFieldsEntry> | undefined => {
  const entries = stored.metadata.managedFields
  if (entries === undefined) return undefined
  const before = json(stored)
  const after = json(next)
  const isUpdate = (entry: ManagedFieldsEntry) => entry.manager === updater && entry.operation === "Update"
  const taken: { desired: Fields; status: Fields } = { desired: {}, status: {} }
  const kept: Array<ManagedFieldsEntry> = []
  let changed = false
  for (const entry of entries) {
    let fields: Fields = entry.fieldsV1 ?? {}
    for (const path of ownedPaths(fields, [])) {
      const now = at(after, path)
      if (sameField(at(before, path), now) || (now !== undefined && isUpdate(entry))) continue
      changed = true
      fields = without(fields, path)
      if (now === undefined) continue
      const part = path[0] === "status" ? "status" : "desired"
      taken[part] = withPath(taken[part], path)
    }
    kept.push(withFields(entry, fields))
  }
  if (!changed) return entries
  for (const part of ["desired", "status"] as const) {
    if (isEmpty(taken[part])) continue
    const isPart = (entry: ManagedFieldsEntry) =>
      isUpdate(entry) && (entry.subresource === "status") === (part === "status")
    const index = kept.findIndex(isPart)
    const owned = index === -1 ? {} : kept[index].fieldsV1 ?? {}
    const entry: ManagedFieldsEntry = {
      manager: updater,
      operation: "Update",
      apiVersion: next.apiVersion,
      time: nowText,
      fieldsType: "FieldsV1",
      fieldsV1: [...ownedPaths(taken[part], [])].reduce(withPath, owned),
      ...(part === "status" ? { subresource: "status" } : {})
    }
    if (index === -1) kept.push(entry)
    else kept[index] = entry
  }
  return kept.filter((entry) => !isEmpty(entry.fieldsV1 ?? {}))
}

// ---------------------------------------------------------------------------------------------------------------------
// what is applied
// ---------------------------------------------------------------------------------------------------------------------

/** The part of an applied object that an apply sets. */
const appliedFields = (applied: Raw, options: Options): JsonObject => {
  const object = json(applied)
  if (options.subresource === "status") return object.status === undefined ? {} : { status: object.status }
  const fields: { [name: string]: Json } = {}
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined || name === "apiVersion" || name === "kind") continue
    if (name === "status" && options.hasStatus) continue
    if (name !== "metadata") {
      fields[name] = value
      continue
    }
    const own = Object.entries(isObject(value) ? value : {}).filter(([name, value]) =>
      value !== undefined && name !== "name" && name !== "namespace" && name !== "generateName" && !isServerOwned(name)
    )
    if (own.length > 0) fields.metadata = Object.fromEntries(own)
  }
  return fields
}

/** The fields that a value sets, each with its value. */
function* leaves(value: Json, path: Path): Generator<readonly [Path, Json]> {
  if (!isObject(value)) return yield [path, value]
  const names = Object.keys(value)
  if (names.length === 0 && path.length > 0) return yield [path, value]
  for (const name of names) if (value[name] !== undefined) yield* leaves(value[name], [...path, name])
}

const fieldsOf = (value: Json): Fields => {
  const fields: { [name: string]: Json } = {}
  if (isObject(value)) { for (const name of Object.keys(value)) fields[`f:${name}`] = fieldsOf(value[name]) }
  return fields
}

/** Whether the object already has what a field would be set to. An empty map asks for no more than a map. */
const holds = (object: Json, path: Path, value: Json): boolean => {
  const stored = at(object, path)
  return stored !== undefined && (equal(stored, value) || (isEmptyMap(value) && isObject(stored)))
}

/** Whether an owned field stayed as it was: of a map that is owned as empty, that it is a map. */
const sameField = (before: Json | undefined, after: Json | undefined): boolean =>
  before === after ||
  (before !== undefined && after !== undefined && (equal(before, after) || (isObject(before) && isObject(after))))

/** Whether a value sets this path, or something below it, or something that it lies in. */
const reaches = (value: Json, path: Path): boolean => {
  let part: Json | undefined = value
  for (const name of path) {
    if (!isObject(part)) return true
    part = own(part, name)
    if (part === undefined) return false
  }
  return true
}

// ---------------------------------------------------------------------------------------------------------------------
// trees of owned fields
// ---------------------------------------------------------------------------------------------------------------------

const isEmpty = (fields: Fields): boolean => Object.keys(fields).length === 0
const isEmptyMap = (value: Json): boolean => isObject(value) && isEmpty(value)
const child = (fields: Json | undefined): Fields => (isObject(fields) ? fields : {})

function* ownedPaths(fields: Fields, path: Path): Generator<Path> {
  for (const name of Object.keys(fields)) {
    const below = child(fields[name])
    const at = [...path, name.slice(2)]
    if (isEmpty(below)) yield at
    else yield* ownedPaths(below, at)
  }
}

/** Whether a field of the tree is this path, or lies in it, or holds it (a map that is owned as empty holds nothing). */
const owns = (fields: Fields, path: Path, object: Json): boolean => {
  let tree = fields
  let value: Json | undefined = object
  for (let depth = 0; depth < path.length; depth++) {
    const below = own(tree, `f:${path[depth]}`)
    if (below === undefined) return false
    value = isObject(value) ? own(value, path[depth]) : undefined
    tree = child(below)
    if (isEmpty(tree)) return depth === path.length - 1 || !isObject(value)
  }
  return true
}

/** The tree without the field at this path, and without those in it or around it. */
const without = (fields: Fields, path: Path): Fields => {
  const name = `f:${path[0]}`
  const below = own(fields, name)
  if (below === undefined) return fields
  const rest = path.length === 1 ? {} : without(child(below), path.slice(1))
  if (rest === below && !isEmpty(rest)) return fields
  const { [name]: _, ...others } = fields
  return isEmpty(rest) ? others : { ...others, [name]: rest }
}

const withPath = (fields: Fields, path: Path): Fields =>
  path.length === 0 ? {} : {
    ...fields,
    [`f:${path[0]}`]: withPath(child(own(fields, `f:${path[0]}`)), path.slice(1))
  }

const withFields = (entry: ManagedFieldsEntry, fields: Fields): ManagedFieldsEntry =>
  entry.fieldsV1 === fields ? entry : { ...entry, fieldsV1: fields }

// ---------------------------------------------------------------------------------------------------------------------
// values at paths
// ---------------------------------------------------------------------------------------------------------------------

const own = (object: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined

const at = (value: Json, path: Path): Json | undefined => {
  let part: Json | undefined = value
  for (const name of path) {
    if (!isObject(part)) return undefined
    part = own(part, name)
  }
  return part
}

const assigned = (value: Json | undefined, path: Path, to: Json): Json => {
  if (path.length === 0) return to
  const map = isObject(value) ? value : {}
  return { ...map, [path[0]]: assigned(own(map, path[0]), path.slice(1), to) }
}

/** Without the field, and without the maps that this leaves empty, but for those that somebody owns as empty. */
const removed = (value: Json, path: Path, owners: ReadonlyArray<Fields>): Json => {
  if (!isObject(value)) return value
  const [name, ...rest] = path
  const below = own(value, name)
  if (below === undefined) return value
  const fieldsBelow = owners.flatMap((fields) => own(fields, `f:${name}`) ?? [])
  const left = rest.length === 0 ? undefined : removed(below, rest, fieldsBelow.map(child))
  if (left === below) return value
  const { [name]: _, ...others } = value
  const isPruned = left === undefined || (isEmptyMap(left) && !fieldsBelow.some(isEmptyMap))
  return isPruned ? others : { ...others, [name]: left }
}

/** A stored object is JSON: it was checked when it came in. */
const json = (raw: Raw): JsonObject => raw as unknown as JsonObject

const withManagedFields = (
  stored: Raw | undefined,
  applied: Raw,
  merged: Json,
  managedFields: ReadonlyArray<ManagedFieldsEntry>
): Raw => {
  const fields = child(merged)
  const before = stored === undefined ? applied.metadata : child(own(fields, "metadata")) as unknown as Raw["metadata"]
  const { managedFields: _, ...metadata } = before
  return {
    ...fields,
    apiVersion: (stored ?? applied).apiVersion,
    kind: (stored ?? applied).kind,
    metadata: managedFields.length === 0 ? metadata : { ...metadata, managedFields }
  }
}
