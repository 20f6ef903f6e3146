/**
 * What a write does to one object: the rules that all stores of our own share, as one pure function.
 *
 * {@link decide} takes what is stored and what is asked, and says what to store. Time, uid and the next revision are
 * arguments. MemoryStore, SQLite, Postgres and etcd run it inside their transaction and do what it says, so that they
 * cannot differ; Kubernetes' server has the same rules of its own.
 *
 * **Consistency** Preconditions are judged first, even where the content is equal (S2). What is equal to what is stored,
 * by the verb's scope, is no change. A delete with finalizers marks; the write that takes the last finalizer away
 * removes (S6). The objects that come out alias nothing of the caller's (S10), and keep the identity of all that did
 * not change.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Apply from "./Apply.ts"
import * as fieldPath from "./internal/fieldPath.ts"
import { foregroundFinalizer as foreground } from "./internal/finalizers.ts"
import * as Json from "./internal/json.ts"
import * as metadata from "./internal/metadata.ts"
import * as names from "./internal/names.ts"
import { sizeOf, takeIn } from "./internal/takeIn.ts"
import { isMarkedForDeletion, type Key, key as keyOfObject, type Raw } from "./Resource.ts"
import { compare as compareRevisions, type Cursor, type Revision } from "./Revision.ts"
import type { KindAddress, Propagation, Write, WriteOptions } from "./StoreDriver.ts"
import {
  AlreadyExists,
  Conflict,
  Fenced,
  type Field,
  Invalid,
  isStoreError,
  NotFound,
  type Reason,
  TooLarge
} from "./StoreError.ts"

/**
 * What the store adds to a write.
 *
 * @category models
 * @since 0.1.0
 */
export interface Context {
  readonly at: KindAddress
  /** RFC 3339 in UTC, to the second. */
  readonly nowText: string
  /** For an object that is created. */
  readonly uid: string
  /** Of the change, where one is made. */
  readonly revision: Revision
  /** Most that one object may have, as JSON text in UTF-16 units. Default {@link defaultMaxObjectBytes}. */
  readonly maxObjectBytes?: number | undefined
  /** Freeze what comes out, deeply. Default `true`. */
  readonly freeze?: boolean | undefined
}

/**
 * What to do: `Put` and `Remove` are changes, each with the context's revision. `last` is the object as it was stored, or,
 * where a write took the last finalizer away, as that write left it.
 *
 * @category models
 * @since 0.1.0
 */
export type Decision =
  | { readonly _tag: "Refused"; readonly reason: Reason }
  | { readonly _tag: "Unchanged"; readonly object: Raw }
  | { readonly _tag: "Put"; readonly object: Raw; readonly desiredChanged: boolean }
  | { readonly _tag: "Remove"; readonly last: Raw }

/**
 * 8 MiB: etcd's limit is 1.5 MiB, Postgres' far above; an object of this size still lists and watches well.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultMaxObjectBytes = 8 * 1024 * 1024

/**
 * The finalizer that the collector removes once all blocking dependents are gone.
 *
 * @category constants
 * @since 0.1.0
 */
export const foregroundFinalizer = foreground

/**
 * The finalizer that the collector removes once no dependent refers to the object.
 *
 * @category constants
 * @since 0.1.0
 */
export const orphanFinalizer = "orphan"

/**
 * Which object a write is about. A `create` names it in its metadata.
 *
 * @category getters
 * @since 0.1.0
 */
export const keyOf = (write: Write): Key => "key" in write ? write.key : keyOfObject(write.object)

/**
 * What is wrong with a key of this kind; empty where nothing is.
 *
 * @category rules
 * @since 0.1.0
 */
export const checkKey: (at: KindAddress, key: Key) => ReadonlyArray<Field> = metadata.checkKey

/**
 * Why there is no object under a key: it is `Invalid`, or `NotFound`.
 *
 * @category rules
 * @since 0.1.0
 */
export const notFound = (at: KindAddress, key: Key): Invalid | NotFound => {
  const fields = checkKey(at, key)
  return fields.length > 0 ? new Invalid({ fields }) : new NotFound()
}

/**
 * Why a call under a fence is refused: its epoch is below the `highest` that the store has seen of the lease.
 *
 * @category rules
 * @since 0.1.0
 */
export const fenced = (lease: string, epoch: number, highest: number | undefined): Fenced | undefined =>
  highest !== undefined && epoch < highest ? new Fenced({ lease, epoch, highest }) : undefined

/**
 * The cursor of a change: its revision and the id of the write that made it. Of an empty store: 0 and its birth id.
 *
 * @category cursors
 * @since 0.1.0
 */
export const cursor = (revision: Revision, writeId: string): Cursor => `${revision}:${writeId}`

/**
 * What a cursor says; `Invalid` where a text is none.
 *
 * @category cursors
 * @since 0.1.0
 */
export const parseCursor = (
  text: string
): Result.Result<{ readonly revision: Revision; readonly writeId: string }, Invalid> => {
  const match = cursorForm.exec(text)
  if (match !== null) return Result.succeed({ revision: match[1], writeId: match[2] })
  const why = "is not a cursor of this store; take it from a list or a watch event"
  return Result.fail(new Invalid({ fields: [{ path: "cursor", why }] }))
}

const cursorForm = /^(0|[1-9]\d{0,15}):(.+)$/s

/**
 * Says what a write does to the object that is stored under its key.
 *
 * @example
 * ```ts
 * import { StoreRules, type StoreDriver } from "setpoint"
 *
 * const at = { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", scope: "Namespaced" } as const
 * const metadata = { name: "a", namespace: "default", uid: "", resourceVersion: "", creationTimestamp: "" }
 * const write: StoreDriver.Write = {
 *   op: "create",
 *   object: { apiVersion: "v1", kind: "ConfigMap", metadata, data: { key: "value" } }
 * }
 *
 * const decision = StoreRules.decide(undefined, write, { writeId: "w1", hasStatus: false }, {
 *   at,
 *   nowText: "2026-01-01T00:00:00Z",
 *   uid: "u1",
 *   revision: "1"
 * })
 *
 * console.log(decision._tag) // Put
 * ```
 *
 * @category rules
 * @since 0.1.0
 */
export const decide = (
  stored: Raw | undefined,
  write: Write,
  options: WriteOptions,
  context: Context
): Decision => {
  const unmet = unmetPrecondition(stored, write, options)
  if (unmet !== undefined) return refused(unmet)
  if (stored === undefined) {
    return write.op === "apply"
      ? applied(stored, write, options, context)
      : created(write, options, context)
  }
  switch (write.op) {
    case "create":
      return refused(new AlreadyExists())
    case "update":
      return updated(stored, write.object, options, context)
    case "updateStatus":
      return statusUpdated(stored, write.object.status, options, context)
    case "patch":
      return patched(stored, write, options, context)
    case "apply":
      return applied(stored, write, options, context)
    case "delete":
      return deleted(stored, write.propagation, context)
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// preconditions
// ---------------------------------------------------------------------------------------------------------------------

const unmetPrecondition = (stored: Raw | undefined, write: Write, options: WriteOptions): Reason | undefined => {
  if (write.op === "create") return stored === undefined ? undefined : new AlreadyExists()
  if (stored === undefined) {
    const creates = write.op === "apply" && options.uid === undefined && options.revision === undefined
    return creates ? undefined : new NotFound()
  }
  return unmetBy(stored, options.uid, options.revision)
}

const unmetBy = (stored: Raw, uid: unknown, revision: unknown): Conflict | undefined => {
  const { uid: actualUid, resourceVersion: actual } = stored.metadata
  if (uid !== undefined && uid !== actualUid) {
    const why = "the object was deleted and created anew since it was read"
    return new Conflict({ why, expected: String(uid), actual: actualUid })
  }
  if (revision === undefined || revision === actual) return undefined
  return new Conflict({ why: "the object has changed since it was read", expected: String(revision), actual })
}

// ---------------------------------------------------------------------------------------------------------------------
// verbs
// ---------------------------------------------------------------------------------------------------------------------

const created = (write: Write, options: WriteOptions, context: Context): Decision =>
  write.op === "create" ? born(write.object, options, context) : refused(new NotFound())

/** A new life of a name (S7). */
const born = (object: Raw, options: WriteOptions, context: Context): Decision => {
  const { apiVersion, kind, metadata: _, status, ...fields } = object
  const flaws = [...metadata.checkKey(context.at, keyOfObject(object)), ...checkType(object, context.at)]
  if (flaws.length > 0) return refused(new Invalid({ fields: flaws }))
  const candidate = {
    apiVersion,
    kind,
    metadata: {
      name: object.metadata.name,
      ...(context.at.scope === "Namespaced" ? { namespace: object.metadata.namespace } : {}),
      ...metadata.given(object.metadata),
      uid: context.uid,
      resourceVersion: context.revision,
      generation: 1,
      creationTimestamp: context.nowText,
      // only `apply` gives them: what a caller of `create` has there is not theirs
      ...(object.metadata.managedFields === undefined ? {} : { managedFields: object.metadata.managedFields })
    },
    ...fields,
    ...(options.hasStatus || status === undefined ? {} : { status })
  }
  const taken = take(candidate, undefined, context)
  return Result.isFailure(taken)
    ? refused(taken.failure)
    : { _tag: "Put", object: taken.success, desiredChanged: true }
}

const updated = (stored: Raw, object: Raw, options: WriteOptions, context: Context): Decision => {
  const unmet = unmetBy(stored, object.metadata.uid, undefined)
  if (unmet !== undefined) return refused(unmet)
  return changed(stored, replacement(stored, object, options.hasStatus), context)
}

const statusUpdated = (stored: Raw, status: unknown, options: WriteOptions, context: Context): Decision => {
  if (!options.hasStatus) {
    return refused(new Invalid({ fields: [{ path: "status", why: `is not declared by ${context.at.kind}` }] }))
  }
  return changed(stored, withStatus(stored, status), context)
}

const patched = (
  stored: Raw,
  write: Write & { readonly op: "patch" },
  options: WriteOptions,
  context: Context
): Decision => {
  if (write.subresource === "scale") {
    const why = "is not served by this store: patch the field that holds the number of replicas"
    return refused(new Invalid({ fields: [{ path: "subresource scale", why }] }))
  }
  if (write.subresource === "status" && !options.hasStatus) return statusUpdated(stored, undefined, options, context)
  const result = write.type === "merge"
    ? Json.mergePatch(json(stored), write.patch)
    : Json.jsonPatch(json(stored), write.patch)
  if (Result.isFailure(result)) {
    const { index, path, reason } = result.failure
    const operation = index === undefined ? "" : `operation ${index} of the patch: `
    return refused(new Invalid({ fields: [{ path: fieldPath.fromPointer(path), why: `${operation}${reason}` }] }))
  }
  const object = result.success
  if (!Json.isObject(object) || !Json.isObject(object.metadata)) {
    const path = Json.isObject(object) ? "metadata" : ""
    return refused(new Invalid({ fields: [{ path, why: "must be an object after the patch" }] }))
  }
  const raw = object as unknown as Raw // has metadata; the rest is checked when it is taken in
  const unmet = unmetBy(stored, raw.metadata.uid, raw.metadata.resourceVersion)
  if (unmet !== undefined) return refused(unmet)
  const moved = checkIdentity(stored, raw)
  if (moved.length > 0) return refused(new Invalid({ fields: moved }))
  const next = write.subresource === "status"
    ? withStatus(stored, raw.status)
    : replacement(stored, raw, options.hasStatus)
  return Result.match(admitted(next, options), {
    onFailure: refused,
    onSuccess: (next) => changed(stored, next, context)
  })
}

const applied = (
  stored: Raw | undefined,
  write: Write & { readonly op: "apply" },
  options: WriteOptions,
  context: Context
): Decision => {
  if (write.subresource === "status" && !options.hasStatus && stored !== undefined) {
    return statusUpdated(stored, undefined, options, context)
  }
  if (write.subresource === "status" && stored === undefined) return refused(new NotFound())
  const whole = takeIn(write.object, undefined, { freeze: context.freeze ?? true })
  if (Result.isFailure(whole)) return refused(new Invalid({ fields: [whole.failure] }))
  const flaws = checkType(write.object, context.at)
  if (flaws.length > 0) return refused(new Invalid({ fields: flaws }))
  const merged = Apply.apply(stored, whole.success as unknown as Raw, {
    manager: write.manager,
    force: write.force,
    subresource: write.subresource,
    hasStatus: options.hasStatus,
    nowText: context.nowText
  })
  if (Result.isFailure(merged)) {
    return refused(new Conflict({ why: "other managers own fields of it", conflicts: merged.failure }))
  }
  return Result.match(admitted(merged.success, options), {
    onFailure: refused,
    onSuccess: (next) =>
      stored === undefined
        ? born(next, options, context)
        : changed(stored, { ...next, metadata: normalized(stored, next) }, context, { owned: true })
  })
}

const deleted = (stored: Raw, propagation: Propagation, context: Context): Decision => {
  const finalizers = stored.metadata.finalizers ?? []
  if (isMarkedForDeletion(stored)) {
    return finalizers.length === 0 ? { _tag: "Remove", last: stored } : { _tag: "Unchanged", object: stored }
  }
  const collectors = propagation === "foreground"
    ? foregroundFinalizer
    : propagation === "orphan"
    ? orphanFinalizer
    : undefined
  const all = collectors === undefined || finalizers.includes(collectors) ? finalizers : [...finalizers, collectors]
  if (all.length === 0) return { _tag: "Remove", last: stored }
  const marked = {
    ...stored,
    metadata: {
      ...stored.metadata,
      finalizers: all,
      deletionTimestamp: context.nowText,
      deletionGracePeriodSeconds: 0,
      generation: (stored.metadata.generation ?? 0) + 1,
      resourceVersion: context.revision
    }
  }
  const taken = take(marked, stored, context)
  return Result.isFailure(taken)
    ? refused(taken.failure)
    : { _tag: "Put", object: taken.success, desiredChanged: false }
}

// ---------------------------------------------------------------------------------------------------------------------
// the change
// ---------------------------------------------------------------------------------------------------------------------

/** The stored object with the desired state and the user's metadata of another one. */
const replacement = (stored: Raw, object: Raw, hasStatus: boolean): Raw => {
  const { apiVersion, kind, metadata: given, status, ...fields } = object
  const kept = hasStatus ? stored.status : status
  return {
    apiVersion,
    kind,
    metadata: metadata.replaced(stored.metadata, given) as unknown as Raw["metadata"],
    ...fields,
    ...(kept === undefined ? {} : { status: kept })
  }
}

const withStatus = (stored: Raw, status: unknown): Raw => {
  const { status: _, ...rest } = stored
  return status === undefined ? rest : { ...rest, status }
}

const normalized = (stored: Raw, next: Raw): Raw["metadata"] => {
  const owned = next.metadata.managedFields
  const { managedFields: _, ...kept } = metadata.replaced(stored.metadata, next.metadata)
  return { ...kept, ...(owned === undefined ? {} : { managedFields: owned }) } as unknown as Raw["metadata"]
}

/** What becomes of the stored object when it shall be as `candidate`. */
const changed = (
  stored: Raw,
  candidate: Raw,
  context: Context,
  ownership: { readonly owned: boolean } = { owned: false }
): Decision => {
  const flaws = checkType(candidate, context.at)
  if (flaws.length > 0) return refused(new Invalid({ fields: flaws }))
  const taken = take(candidate, stored, context)
  if (Result.isFailure(taken)) return refused(taken.failure)
  const next = taken.success
  if (next === stored) return { _tag: "Unchanged", object: stored }
  const marked = isMarkedForDeletion(stored)
  const finalizers = next.metadata.finalizers ?? []
  if (marked) {
    const before = stored.metadata.finalizers ?? []
    const added = finalizers.filter((finalizer) => !before.includes(finalizer))
    if (added.length > 0) {
      const why = `must not gain ${added.map((name) => JSON.stringify(name)).join(", ")}: the object is being deleted`
      return refused(new Invalid({ fields: [{ path: "metadata.finalizers", why }] }))
    }
  }
  const desiredChanged = hasOtherDesiredState(stored, next)
  const managedFields = ownership.owned
    ? next.metadata.managedFields
    : Apply.afterUpdate(stored, next, context.nowText)
  const { managedFields: _, ...rest } = next.metadata
  const object = take(
    {
      ...next,
      metadata: {
        ...rest,
        ...(managedFields === undefined || managedFields.length === 0 ? {} : { managedFields }),
        ...(stored.metadata.generation === undefined
          ? {}
          : { generation: stored.metadata.generation + (desiredChanged ? 1 : 0) }),
        resourceVersion: context.revision
      }
    },
    next,
    context
  )
  if (Result.isFailure(object)) return refused(object.failure)
  return marked && finalizers.length === 0
    ? { _tag: "Remove", last: object.success }
    : { _tag: "Put", object: object.success, desiredChanged }
}

/** What was taken in from the same stored object keeps the identity of all that is equal. */
const hasOtherDesiredState = (stored: Raw, next: Raw): boolean => {
  const isDesired = (name: string) =>
    name !== "metadata" && name !== "status" && name !== "apiVersion" && name !== "kind"
  for (const name of Object.keys(next)) if (isDesired(name) && next[name] !== stored[name]) return true
  for (const name of Object.keys(stored)) if (isDesired(name) && next[name] === undefined) return true
  return false
}

const take = (candidate: Raw | object, stored: Raw | undefined, context: Context): Result.Result<Raw, Reason> => {
  const taken = takeIn(candidate, stored === undefined ? undefined : json(stored), { freeze: context.freeze ?? true })
  if (Result.isFailure(taken)) return Result.fail(new Invalid({ fields: [taken.failure] }))
  const object = taken.success as unknown as Raw // its envelope was built here
  if (object === stored) return Result.succeed(object)
  if (object.metadata !== stored?.metadata) {
    const flaws = metadata.check(object.metadata as unknown as { readonly [name: string]: unknown })
    if (flaws.length > 0) return Result.fail(new Invalid({ fields: flaws }))
  }
  const limitBytes = context.maxObjectBytes ?? defaultMaxObjectBytes
  const actualBytes = limitBytes === Infinity ? 0 : sizeOf(taken.success)
  return actualBytes > limitBytes ? Result.fail(new TooLarge({ limitBytes, actualBytes })) : Result.succeed(object)
}

/** Name and namespace are the object's for life. */
const checkIdentity = (stored: Raw, next: Raw): ReadonlyArray<Field> =>
  (["name", "namespace"] as const)
    .filter((field) => next.metadata[field] !== stored.metadata[field])
    .map((field) => ({ path: `metadata.${field}`, why: "cannot be changed: create another object" }))

const checkType = (object: Raw, at: KindAddress): ReadonlyArray<Field> => {
  const flaws: Array<Field> = []
  const apiVersion = apiVersionOf(at)
  if (object.apiVersion !== apiVersion) flaws.push({ path: "apiVersion", why: `must be ${JSON.stringify(apiVersion)}` })
  if (object.kind !== at.kind) flaws.push({ path: "kind", why: `must be ${JSON.stringify(at.kind)}` })
  return flaws
}

const admitted = (object: Raw, options: WriteOptions): Result.Result<Raw, Reason> => {
  if (options.admit === undefined) return Result.succeed(object)
  try {
    return Result.succeed(options.admit(object))
  } catch (error) {
    if (isStoreError(error)) return Result.fail(error.reason)
    throw error
  }
}

const apiVersionOf = (at: KindAddress): string => at.group === "" ? at.version : `${at.group}/${at.version}`

const refused = (reason: Reason): Decision => ({ _tag: "Refused", reason })

/** A stored object is JSON: it was checked when it came in. */
const json = (raw: Raw): Json.JsonObject => raw as unknown as Json.JsonObject

// ---------------------------------------------------------------------------------------------------------------------
// what stores of our own need beside
// ---------------------------------------------------------------------------------------------------------------------

/**
 * An object from outside, checked as far as a store without its kind can: for `import`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Imported {
  /** Guessed from the object: the first call that names the kind says how it is. */
  readonly at: KindAddress
  readonly key: Key
  readonly object: Raw
}

/**
 * Checks and copies exported objects, and puts them in their old order. `highest` is the highest of their revisions, as
 * far as these are numbers: those that they get must be higher, in a new timeline (S5).
 *
 * @category rules
 * @since 0.1.0
 */
export const importAll = (
  inputs: ReadonlyArray<unknown>,
  options: { readonly freeze: boolean }
): Result.Result<{ readonly objects: ReadonlyArray<Imported>; readonly highest: number }, Invalid> => {
  const objects: Array<Imported> = []
  const seen = new Set<string>()
  let highest = 0
  for (const [i, input] of inputs.entries()) {
    const next = importObject(input, i, options.freeze)
    if (Result.isFailure(next)) return Result.fail(next.failure)
    const { at, key, object } = next.success
    const id = `${at.kind}.${at.group} ${key.namespace}/${key.name}`
    if (seen.has(id)) return Result.fail(new Invalid({ fields: [{ path: `[${i}]`, why: `${id} is there twice` }] }))
    seen.add(id)
    objects.push(next.success)
    highest = Math.max(highest, revisionNumber(object))
  }
  return Result.succeed({ objects: objects.toSorted((a, b) => byRevision(a.object, b.object)), highest })
}

const byRevision = (a: Raw, b: Raw): number => {
  const order = compareRevisions(a.metadata.resourceVersion, b.metadata.resourceVersion)
  return order === "before" ? -1 : order === "after" ? 1 : 0
}

/** Revisions of other stores may be no numbers, or too large for one: they fit no object of ours. */
const revisionNumber = (object: Raw): number => {
  const revision = Number(object.metadata.resourceVersion)
  return Number.isSafeInteger(revision) && revision >= 0 && revision < 2 ** 52 ? revision : 0
}

/** `index` is its place among those that are imported, for the error's paths. */
const importObject = (input: unknown, index: number, freeze: boolean): Result.Result<Imported, Invalid> => {
  const invalid = (fields: ReadonlyArray<Field>) =>
    Result.fail(
      new Invalid({
        fields: fields.map(({ path, why }) => ({ path: `[${index}]${path === "" ? "" : `.${path}`}`, why }))
      })
    )
  const taken = takeIn(input, undefined, { freeze })
  if (Result.isFailure(taken)) return invalid([taken.failure])
  const object = taken.success as unknown as Partial<Raw> | null // what of it is there is checked below
  const meta: Partial<Raw["metadata"]> | undefined = object?.metadata
  if (
    typeof object?.apiVersion !== "string" || typeof object.kind !== "string" || typeof meta !== "object" ||
    typeof meta.uid !== "string" || typeof meta.resourceVersion !== "string"
  ) {
    return invalid([{ path: "", why: "is not an exported object: it needs apiVersion, kind, uid, resourceVersion" }])
  }
  const slash = object.apiVersion.indexOf("/")
  const at: KindAddress = {
    group: slash === -1 ? "" : object.apiVersion.slice(0, slash),
    version: object.apiVersion.slice(slash + 1),
    kind: object.kind,
    plural: names.pluralOf(object.kind),
    scope: meta.namespace === undefined ? "Cluster" : "Namespaced"
  }
  const key: Key = { namespace: meta.namespace ?? "", name: meta.name ?? "" }
  const flaws = [...metadata.checkKey(at, key), ...metadata.check(meta)]
  return flaws.length > 0 ? invalid(flaws) : Result.succeed({ at, key, object: object as Raw })
}

/**
 * A random uid for an object that is created, and a random id for a write, from Effect's `Random`.
 *
 * @category identities
 * @since 0.1.0
 */
export { uuid, writeId } from "./internal/ids.ts"

/**
 * Milliseconds of wall time as an object's timestamp: RFC 3339 in UTC, to the second.
 *
 * @category identities
 * @since 0.1.0
 */
export { fromMillis as timestamp } from "./internal/timestamps.ts"

/**
 * As {@link timestamp}, of a clock that moves on: the text is made once a second.
 *
 * @category identities
 * @since 0.1.0
 */
export { ofClock as timestamps } from "./internal/timestamps.ts"
