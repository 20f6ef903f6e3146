/**
 * The store that users call: typed objects over any driver.
 *
 * **Ordering** Every store has one total order of revisions (S1). A watch is ordered, gap-free, resumable from a cursor
 * and filterable: from `"current"` come the objects at one revision, in batches marked initial, then one initial-done
 * mark, then what changes, nothing twice and nothing missing at the seam; an object that comes to match a filter is
 * Added, one that ceases to is Deleted with its last matching state (S3). A list is a snapshot at one revision, pages
 * included, in the order of the UTF-8 bytes of `namespace/name` (S8).
 *
 * **Delivery** A bookmark says "seen all up to here", never ahead of what is not delivered (S4). A cursor that is no
 * longer retained, or is of another timeline, is `Expired` (S5). Writers never wait for watchers: past its buffer a watch
 * ends with `Lagged`, after what is buffered (S9). An unknown outcome is an error of its own, never a refusal (S1).
 *
 * **Consistency** Preconditions are judged first; a write equal to what is stored makes no revision and no event;
 * Schema defaults are stored when an object is written; `generation` is 1 at creation and moves when desired state
 * changes and when deletion is marked (S2). Delete with finalizers marks first and removes when the last one goes (S6).
 * A uid is one life of a name (S7). Nothing handed out aliases what is stored in a way that a mutation could be seen
 * (S10). What does not decode is an error of that object alone (S12). Fields that the Schema does not know survive
 * every typed read-modify-write (S13).
 *
 * **Memory** A typed object is decoded once a revision, and kept as long as somebody keeps the stored one.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as Door from "./internal/door.ts"
import * as ids from "./internal/ids.ts"
import * as metadata from "./internal/metadata.ts"
import * as names from "./internal/names.ts"
import * as timestamps from "./internal/timestamps.ts"
import * as Writer from "./internal/writer.ts"
import type { AnyKind, Input, Kind, Status } from "./Kind.ts"
import * as Pass from "./Pass.ts"
import { type Any, type Json, type Key, key as keyOfObject, type KeyInput, type Raw } from "./Resource.ts"
import type { Cursor, Revision } from "./Revision.ts"
import * as Selector from "./Selector.ts"
import * as StoreDriver from "./StoreDriver.ts"
import { type DecodeError, Invalid, NotFound, type Reason, type StoreError } from "./StoreError.ts"
import * as StoreRules from "./StoreRules.ts"

/**
 * Which objects of a kind: all of them by default. `selector` takes a {@link Selector} or its text.
 *
 * @category models
 * @since 0.1.0
 */
export interface ListOptions {
  /** Default: all namespaces. */
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly selector?: Selector.Selector | string | undefined
  /** Page size. Default: everything at once. */
  readonly limit?: number | undefined
  /** `next` of the page before. */
  readonly page?: string | undefined
  /** Default `"mostRecent"`; in a pass a cache that covers the read answers (E10), unless this is given. */
  readonly consistency?: "mostRecent" | "any" | undefined
}

/**
 * Objects at one revision (S8). What does not decode stands apart (S12), so that one bad object hides no other. A list
 * that a cache answered in a pass has no revision and no cursor: both are `""`.
 *
 * @category models
 * @since 0.1.0
 */
export interface List<A> {
  readonly items: ReadonlyArray<A>
  readonly undecodable: ReadonlyArray<readonly [Key, DecodeError]>
  readonly revision: Revision
  readonly cursor: Cursor
  readonly next?: string | undefined
}

/** @category models @since 0.1.0 */
export interface WriteOptions {
  /** Judge and answer, but store nothing. */
  readonly dryRun?: boolean | undefined
}

/** @category models @since 0.1.0 */
export interface DeleteOptions extends WriteOptions {
  /** Default `"background"`. */
  readonly propagation?: StoreDriver.Propagation | undefined
  /** Also require the object's revision, not only its uid. Default `false`. */
  readonly ifUnchanged?: boolean | undefined
}

/** @category models @since 0.1.0 */
export interface ApplyOptions extends WriteOptions {
  /** Who owns the fields that are set. */
  readonly manager: string
  /** Take over fields that others own. Default `false`. */
  readonly force?: boolean | undefined
}

/**
 * A patch of an object: RFC 7386 (`merge`) or RFC 6902 (`json`).
 *
 * @category models
 * @since 0.1.0
 */
export type Patch =
  | { readonly merge: Json; readonly subresource?: "status" | "scale" | undefined }
  | { readonly json: ReadonlyArray<Json>; readonly subresource?: "status" | "scale" | undefined }

/** @category models @since 0.1.0 */
export interface Deleted<A> {
  /** The last state; `undefined` where it does not decode (S12): it can be deleted all the same. */
  readonly object: A | undefined
  /** Gone; `false` while finalizers hold it (S6). */
  readonly removed: boolean
}

/** @category models @since 0.1.0 */
export interface Ensured<A> {
  readonly object: A
  readonly operation: "created" | "updated" | "unchanged"
}

/** @category models @since 0.1.0 */
export interface WatchOptions {
  /** `"current"` begins with the objects that are there. Default `"current"`. */
  readonly from?: "current" | Cursor | undefined
  readonly namespace?: string | undefined
  readonly selector?: Selector.Selector | string | undefined
  /** Events; past it the stream ends with `Lagged` (S9). Default 1,024. */
  readonly bufferSize?: number | undefined
}

/**
 * A change of a typed object, or a mark in the stream of changes.
 *
 * @category models
 * @since 0.1.0
 */
export type WatchEvent<A> =
  | { readonly _tag: "Added" | "Modified"; readonly object: A; readonly initial: boolean; readonly cursor: Cursor }
  | { readonly _tag: "Deleted"; readonly last: A; readonly revision: Revision; readonly cursor: Cursor }
  | {
    readonly _tag: "Undecodable"
    readonly change: "Added" | "Modified" | "Deleted"
    readonly key: Key
    readonly error: DecodeError
    readonly cursor: Cursor
  }
  | { readonly _tag: "InitialDone" | "Bookmark"; readonly revision: Revision; readonly cursor: Cursor }

/** @category models @since 0.1.0 */
export interface Service {
  /** Part of informer identity, metrics and spans. */
  readonly name: string
  readonly driver: StoreDriver.Service
  readonly get: <A extends Any>(kind: Kind<A>, key: KeyInput) => Effect.Effect<A, StoreError>
  readonly latest: <A extends Any>(kind: Kind<A>, key: KeyInput) => Effect.Effect<A, StoreError>
  readonly list: <A extends Any>(kind: Kind<A>, options?: ListOptions) => Effect.Effect<List<A>, StoreError>
  readonly create: <A extends Any>(
    kind: Kind<A>,
    input: Input<A>,
    options?: WriteOptions
  ) => Effect.Effect<A, StoreError>
  readonly update: <A extends Any>(kind: Kind<A>, object: A, options?: WriteOptions) => Effect.Effect<A, StoreError>
  readonly updateStatus: <A extends Any>(
    kind: Kind<A>,
    object: A,
    status: Status<A> | ((current: Status<A> | undefined) => Status<A>),
    options?: WriteOptions
  ) => Effect.Effect<A, StoreError>
  readonly patch: <A extends Any>(
    kind: Kind<A>,
    object: A,
    patch: Patch,
    options?: WriteOptions
  ) => Effect.Effect<A, StoreError>
  readonly patchUnconditionally: <A extends Any>(
    kind: Kind<A>,
    key: KeyInput,
    patch: Patch,
    options?: WriteOptions
  ) => Effect.Effect<A, StoreError>
  readonly apply: <A extends Any>(
    kind: Kind<A>,
    input: Input<A>,
    options: ApplyOptions
  ) => Effect.Effect<A, StoreError>
  readonly delete: <A extends Any>(
    kind: Kind<A>,
    object: A,
    options?: DeleteOptions
  ) => Effect.Effect<Deleted<A>, StoreError>
  readonly deleteUnconditionally: <A extends Any>(
    kind: Kind<A>,
    key: KeyInput,
    options?: DeleteOptions
  ) => Effect.Effect<Deleted<A>, StoreError>
  readonly ensure: <A extends Any>(
    kind: Kind<A>,
    key: KeyInput,
    f: (current: A | undefined) => Input<A>
  ) => Effect.Effect<Ensured<A>, StoreError>
  readonly watch: <A extends Any>(
    kind: Kind<A>,
    options?: WatchOptions
  ) => Stream.Stream<ReadonlyArray<WatchEvent<A>>, StoreError>
  /** Tells the store the epoch of a lease: a new leader calls it before its first pass. */
  readonly fence: (lease: string, epoch: number) => Effect.Effect<void, StoreError>
}

/**
 * @category services
 * @since 0.1.0
 */
export class Store extends Context.Service<Store, Service>()("setpoint/Store") {}

/**
 * A store over a driver. `name` (default `"default"`) is part of informer identity, metrics and spans.
 *
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Kind, MemoryStore, Store } from "setpoint"
 *
 * const Website = Kind.make({
 *   group: "example.dev",
 *   version: "v1",
 *   kind: "Website",
 *   spec: Schema.Struct({ host: Schema.String, replicas: Schema.Int }),
 *   status: Schema.Struct({ ready: Schema.Int })
 * })
 *
 * const program = Effect.gen(function*() {
 *   const driver = yield* MemoryStore.make()
 *   const store = Store.make(driver, { name: "archive" })
 *   const site = yield* store.create(Website, {
 *     metadata: { generateName: "site-" },
 *     spec: { host: "blog.example.dev", replicas: 2 }
 *   })
 *   console.log(site.metadata.name.startsWith("site-")) // true
 * })
 *
 * Effect.runPromise(Effect.scoped(program))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  driver: StoreDriver.Service,
  options: { readonly name?: string | undefined } = {}
): Service => {
  const name = options.name ?? "default"
  const door = Door.make()
  const writer = Writer.make(name, driver)

  const decoded = <A extends Any>(operation: string, kind: Kind<A>, raw: Raw): Effect.Effect<A, StoreError> =>
    answer(operation, kind, keyOfObject(raw), Door.decode(door, kind, raw))

  const get: Service["get"] = (kind, input) =>
    Effect.withFiber((fiber) => {
      const pass = countCall(fiber)
      const asked = keyOf(kind, input)
      pass?.tracker?.asksForOne(name, kind, asked)
      const cached = pass?.reader.get(name, kind.groupKind, asked)
      if (cached !== undefined && cached !== "absent") return decoded("get", kind, cached)
      const key = checkedKey("get", kind, asked)
      if (Result.isFailure(key)) return Effect.fail(key.failure)
      if (cached === "absent") return Effect.fail(Writer.failure("get", kind, asked, new NotFound()))
      return Effect.flatMap(readOne(pass, kind, key.success), (raw) => decoded("get", kind, raw))
    })

  /** From the store itself; the pass hears the answer. */
  const readOne = (pass: Pass.Pass | undefined, kind: AnyKind, key: Key): Effect.Effect<Raw, StoreError> => {
    const read = driver.get(kind.address, key, mostRecent)
    if (pass === undefined) return read
    const { reader, tracker } = pass
    const heard = Effect.map(read, (raw) => {
      reader.fetched(name, kind.groupKind, [raw])
      tracker?.gotOne(name, kind, key, raw)
      return raw
    })
    if (tracker === undefined) return heard
    return Effect.tapError(heard, (error) =>
      Effect.sync(() => {
        if (error.reason._tag === "NotFound") tracker.gotOne(name, kind, key, undefined)
      }))
  }

  const latest: Service["latest"] = (kind, input) =>
    Effect.withFiber((fiber) => {
      const key = checkedKey("get", kind, input)
      if (Result.isFailure(key)) return Effect.fail(key.failure)
      const pass = countCall(fiber)
      pass?.tracker?.asksForOne(name, kind, key.success)
      return Effect.flatMap(readOne(pass, kind, key.success), (raw) => decoded("get", kind, raw))
    })

  const list: Service["list"] = <A extends Any>(kind: Kind<A>, options: ListOptions = {}) =>
    Effect.withFiber((fiber) => {
      const selector = selectorText("list", kind, options.selector)
      if (Result.isFailure(selector)) return Effect.fail(selector.failure)
      const flaw = options.namespace === undefined
        ? undefined
        : metadata.checkNamespace(kind.address, options.namespace)
      if (flaw !== undefined) return Effect.fail(Writer.failure("list", kind, wholeKind, invalid("namespace", flaw)))
      const filter = { namespace: options.namespace, name: options.name, selector: selector.success }
      const pass = countCall(fiber)
      const { consistency, limit, page } = options
      pass?.tracker?.asksForMany(name, kind, filter)
      if (pass !== undefined && consistency === undefined && limit === undefined && page === undefined) {
        const cached = pass.reader.list(name, kind.groupKind, filter)
        if (cached !== undefined) return Effect.succeed(listOf(door, kind, { items: cached, revision: "", cursor: "" }))
      }
      return Effect.map(
        driver.list(kind.address, { ...filter, consistency: consistency ?? "mostRecent", limit, page }),
        (found) => {
          pass?.reader.fetched(name, kind.groupKind, found.items)
          if (page === undefined && found.next === undefined) pass?.tracker?.gotMany(name, kind, filter, found.items)
          return listOf(door, kind, found)
        }
      )
    })

  /** The stored object that a typed one was read as: found by identity, else read. Another revision: a `Conflict` anyway. */
  const baseOf = <A extends Any>(kind: Kind<A>, object: A): Effect.Effect<Raw | undefined, StoreError> => {
    const known = Door.baseOf(door, object)
    if (known !== undefined) return Effect.succeed(known)
    return driver.get(kind.address, keyOfObject(object), mostRecent).pipe(
      Effect.map((raw) => raw.metadata.resourceVersion === object.metadata.resourceVersion ? raw : undefined),
      Effect.catchReason("StoreError", "NotFound", () => Effect.undefined)
    )
  }

  const written = <A extends Any>(
    operation: string,
    kind: Kind<A>,
    write: Effect.Effect<StoreDriver.Written, StoreError>
  ) => Effect.flatMap(write, ({ object }) => decoded(operation, kind, object))

  const createNamed = <A extends Any>(kind: Kind<A>, input: Input<A>, key: Key, options: WriteOptions) =>
    Effect.withFiber((fiber) => {
      const encoded = Door.encode(door, kind, named(kind, input, key), undefined)
      if (Result.isFailure(encoded)) return Effect.fail(Writer.failure("create", kind, key, encoded.failure))
      const write = { op: "create", object: encoded.success } as const
      return written("create", kind, writer(fiber, kind, key, write, options))
    })

  const createGenerated = <A extends Any>(
    kind: Kind<A>,
    input: Input<A>,
    key: (name: string) => Result.Result<Key, StoreError>,
    pick: () => string,
    options: WriteOptions
  ): Effect.Effect<A, StoreError> => {
    const attempt = (left: number): Effect.Effect<A, StoreError> => {
      const picked = key(pick())
      if (Result.isFailure(picked)) return Effect.fail(picked.failure)
      const created = createNamed(kind, input, picked.success, options)
      return left === 0 ? created : Effect.catchReason(created, "StoreError", "AlreadyExists", () => attempt(left - 1))
    }
    return attempt(generatedNameTries - 1)
  }

  const create: Service["create"] = (kind, input, options = {}) =>
    Effect.withFiber((fiber) => {
      countCall(fiber)
      const { generateName, name, namespace } = input.metadata
      const key = (name: string) => checkedKey("create", kind, { namespace, name })
      if (name === undefined && generateName !== undefined) {
        const pick = () => names.generatedName(generateName, ids.below(fiber.getRef(Random.Random)))
        return createGenerated(kind, input, key, pick, options)
      }
      const given = key(name ?? "")
      return Result.isFailure(given) ? Effect.fail(given.failure) : createNamed(kind, input, given.success, options)
    })

  const update: Service["update"] = (kind, object, options = {}) =>
    Effect.withFiber((fiber) => {
      countCall(fiber)
      const read = checkedObject("update", kind, object)
      if (Result.isFailure(read)) return Effect.fail(read.failure)
      return Effect.flatMap(baseOf(kind, object), (base) => {
        const encoded = Door.encode(door, kind, object, base)
        if (Result.isFailure(encoded)) {
          return Effect.fail(Writer.failure("update", kind, read.success.key, encoded.failure))
        }
        const write = { op: "update", object: encoded.success } as const
        return written("update", kind, writer(fiber, kind, read.success.key, write, { ...options, ...read.success.at }))
      })
    })

  const updateStatus: Service["updateStatus"] = (kind, object, status, options = {}) =>
    Effect.withFiber((fiber) => {
      countCall(fiber)
      const read = checkedObject("updateStatus", kind, object)
      if (Result.isFailure(read)) return Effect.fail(read.failure)
      return Effect.flatMap(baseOf(kind, object), (base) => {
        const now = timestamps.fromMillis(fiber.getRef(Clock.Clock).currentTimeMillisUnsafe())
        const next = isUpdater(status) ? status(statusOf(object)) : status
        const encoded = Door.encodeStatus(door, kind, object, next, base, now)
        if (Result.isFailure(encoded)) {
          return Effect.fail(Writer.failure("updateStatus", kind, read.success.key, encoded.failure))
        }
        const write = { op: "updateStatus", object: encoded.success } as const
        return written(
          "updateStatus",
          kind,
          writer(fiber, kind, read.success.key, write, { ...options, ...read.success.at })
        )
      })
    })

  /** Runs in the driver, on what a patch or an apply made of the stored object. */
  const admit = <A extends Any>(operation: string, kind: Kind<A>, key: Key) => (raw: Raw): Raw => {
    const admitted = Door.admit(kind, raw)
    if (Result.isFailure(admitted)) throw Writer.failure(operation, kind, key, admitted.failure)
    return admitted.success
  }

  const patched = <A extends Any>(
    fiber: Fiber.Fiber<unknown, unknown>,
    kind: Kind<A>,
    key: Key,
    patch: Patch,
    options: WriteOptions & { readonly uid?: string | undefined; readonly revision?: Revision | undefined }
  ) => {
    const { subresource } = patch
    const body = "merge" in patch
      ? { type: "merge", patch: patch.merge } as const
      : { type: "json", patch: patch.json } as const
    const write = { op: "patch", key, ...body, subresource } as const
    return written("patch", kind, writer(fiber, kind, key, write, { ...options, admit: admit("patch", kind, key) }))
  }

  const patch: Service["patch"] = (kind, object, patch, options = {}) =>
    Effect.withFiber((fiber) => {
      countCall(fiber)
      const read = checkedObject("patch", kind, object)
      if (Result.isFailure(read)) return Effect.fail(read.failure)
      return patched(fiber, kind, read.success.key, patch, { ...options, ...read.success.at })
    })

  const patchUnconditionally: Service["patchUnconditionally"] = (kind, input, patch, options = {}) =>
    Effect.withFiber((fiber) => {
      countCall(fiber)
      const key = checkedKey("patch", kind, input)
      return Result.isFailure(key) ? Effect.fail(key.failure) : patched(fiber, kind, key.success, patch, options)
    })

  const apply: Service["apply"] = (kind, input, options) =>
    Effect.withFiber((fiber) => {
      countCall(fiber)
      const key = checkedKey("apply", kind, { namespace: input.metadata.namespace, name: input.metadata.name ?? "" })
      if (Result.isFailure(key)) return Effect.fail(key.failure)
      const encoded = Door.encodeApplied(kind, named(kind, input, key.success))
      if (Result.isFailure(encoded)) return Effect.fail(Writer.failure("apply", kind, key.success, encoded.failure))
      const { dryRun, force = false, manager } = options
      const write = { op: "apply", object: encoded.success, manager, force } as const
      return written(
        "apply",
        kind,
        writer(fiber, kind, key.success, write, { dryRun, admit: admit("apply", kind, key.success) })
      )
    })

  const deleted = <A extends Any>(
    fiber: Fiber.Fiber<unknown, unknown>,
    kind: Kind<A>,
    key: Key,
    options: DeleteOptions & { readonly uid?: string | undefined; readonly revision?: Revision | undefined }
  ): Effect.Effect<Deleted<A>, StoreError> => {
    const { dryRun, propagation = "background", revision, uid } = options
    const write = { op: "delete", key, propagation } as const
    return Effect.map(writer(fiber, kind, key, write, { dryRun, uid, revision }), ({ object, removed }) => ({
      object: Result.getOrUndefined(Door.decode(door, kind, object)),
      removed
    }))
  }

  const delete_: Service["delete"] = (kind, object, options = {}) =>
    Effect.withFiber((fiber) => {
      countCall(fiber)
      const read = checkedObject("delete", kind, object)
      if (Result.isFailure(read)) return Effect.fail(read.failure)
      const { at: { revision, uid }, key } = read.success
      const { dryRun, ifUnchanged, propagation } = options
      return deleted(fiber, kind, key, {
        dryRun,
        propagation,
        uid,
        revision: ifUnchanged === true ? revision : undefined
      })
    })

  const deleteUnconditionally: Service["deleteUnconditionally"] = (kind, input, options = {}) =>
    Effect.withFiber((fiber) => {
      countCall(fiber)
      const key = checkedKey("delete", kind, input)
      if (Result.isFailure(key)) return Effect.fail(key.failure)
      const { dryRun, propagation } = options
      return deleted(fiber, kind, key.success, { dryRun, propagation })
    })

  const ensure: Service["ensure"] = <A extends Any>(
    kind: Kind<A>,
    input: KeyInput,
    f: (current: A | undefined) => Input<A>
  ): Effect.Effect<Ensured<A>, StoreError> =>
    Effect.withFiber((fiber) => {
      const key = checkedKey("ensure", kind, input)
      if (Result.isFailure(key)) return Effect.fail(key.failure)
      const read = (fresh: boolean): Effect.Effect<A | undefined, StoreError> =>
        Effect.catchReason((fresh ? latest : get)(kind, key.success), "StoreError", "NotFound", () => Effect.undefined)
      const settle = (current: A | undefined): Effect.Effect<Ensured<A>, StoreError> => {
        const wanted = f(current)
        if (current === undefined) {
          return Effect.map(createNamed(kind, wanted, key.success, {}), (object) => ({ object, operation: "created" }))
        }
        const base = Door.baseOf(door, current)
        if (base === undefined) throw new Error("S13 is broken: an object was read and is not known")
        const encoded = Door.encode(door, kind, replacing(kind, current, wanted), base)
        if (Result.isFailure(encoded)) return Effect.fail(Writer.failure("ensure", kind, key.success, encoded.failure))
        if (isUnchanged(kind, base, encoded.success)) return Effect.succeed({ object: current, operation: "unchanged" })
        const { resourceVersion: revision, uid } = base.metadata
        const write = writer(fiber, kind, key.success, { op: "update", object: encoded.success }, { uid, revision })
        return Effect.flatMap(write, ({ changed, object }) =>
          Effect.map(
            decoded("ensure", kind, object),
            (object) => ({ object, operation: changed ? "updated" : "unchanged" })
          ))
      }
      const attempt = (left: number, fresh: boolean): Effect.Effect<Ensured<A>, StoreError> => {
        const once = Effect.flatMap(read(fresh), settle)
        return left === 0
          ? once
          : Effect.catchIf(once, (error) => races.has(error.reason._tag), () => attempt(left - 1, true))
      }
      return attempt(ensureTries - 1, false)
    })

  const watch: Service["watch"] = (kind, options = {}) => {
    const selector = selectorText("watch", kind, options.selector)
    if (Result.isFailure(selector)) return Stream.fail(selector.failure)
    const { bufferSize, from = "current", namespace } = options
    const raw = driver.watch(kind.address, { from, namespace, selector: selector.success, bufferSize })
    return Stream.map(raw, (events) => events.map((event) => typedEvent(door, kind, event)))
  }

  return {
    name,
    driver,
    get,
    latest,
    list,
    create,
    update,
    updateStatus,
    patch,
    patchUnconditionally,
    apply,
    delete: delete_,
    deleteUnconditionally,
    ensure,
    watch,
    fence: driver.fence
  }
}

const mostRecent: StoreDriver.ReadOptions = { consistency: "mostRecent" }
const wholeKind: Key = { namespace: "", name: "" }
const generatedNameTries = 8
const ensureTries = 5

/** What another writer can cause between the read and the write of `ensure`. */
const races: ReadonlySet<Reason["_tag"]> = new Set(["AlreadyExists", "Conflict", "NotFound"])

/** Each call of a pass is counted; the pass, where there is one. */
const countCall = (fiber: Fiber.Fiber<unknown, unknown>): Pass.Pass | undefined => {
  const pass = fiber.getRef(Pass.Current)
  if (pass !== undefined) pass.calls++
  return pass
}

// ---------------------------------------------------------------------------------------------------------------------
// what users give
// ---------------------------------------------------------------------------------------------------------------------

/** Whether the update would change nothing: by the same rules that the store goes by. */
const isUnchanged = <A extends Any>(kind: Kind<A>, base: Raw, object: Raw): boolean => {
  const decision = StoreRules.decide(base, { op: "update", object }, { writeId: "", hasStatus: kind.hasStatus }, {
    at: kind.address,
    nowText: "",
    uid: "",
    revision: "",
    maxObjectBytes: Infinity
  })
  return decision._tag === "Unchanged"
}

const keyOf = <A extends Any>(kind: Kind<A>, input: KeyInput): Key => ({
  namespace: input.namespace ?? (kind.address.scope === "Namespaced" ? "default" : ""),
  name: input.name
})

const checkedKey = <A extends Any>(
  operation: string,
  kind: Kind<A>,
  input: KeyInput
): Result.Result<Key, StoreError> => {
  const namespace = input.namespace ?? (kind.address.scope === "Namespaced" ? "default" : "")
  const key: Key = { namespace, name: input.name }
  const fields = StoreRules.checkKey(kind.address, key)
  return fields.length === 0
    ? Result.succeed(key)
    : Result.fail(Writer.failure(operation, kind, key, new Invalid({ fields })))
}

/** The key of an object that was read, and the preconditions that it carries. */
const checkedObject = <A extends Any>(operation: string, kind: Kind<A>, object: A) => {
  const key = keyOfObject(object)
  const { resourceVersion: revision, uid } = object.metadata
  for (const [name, value] of [["uid", uid], ["resourceVersion", revision]] as const) {
    if (typeof value === "string" && value !== "") continue
    const why = "is missing: give an object that was read from the store"
    return Result.fail(Writer.failure(operation, kind, key, invalid(`metadata.${name}`, why)))
  }
  return Result.succeed({ key, at: { uid, revision } })
}

const selectorText = <A extends Any>(
  operation: string,
  kind: Kind<A>,
  selector: Selector.Selector | string | undefined
): Result.Result<string | undefined, StoreError> => {
  if (selector === undefined) return Result.succeed(undefined)
  if (typeof selector !== "string") return Result.succeed(selector.text)
  return Result.mapBoth(Selector.parse(selector), {
    onSuccess: ({ text }) => text,
    onFailure: (error) => Writer.failure(operation, kind, wholeKind, invalid("selector", error.message))
  })
}

const invalid = (path: string, why: string): Invalid => new Invalid({ fields: [{ path, why }] })

const answer = <A extends Any, B>(
  operation: string,
  kind: Kind<A>,
  key: Key,
  result: Result.Result<B, Reason>
): Effect.Effect<B, StoreError> =>
  Result.isSuccess(result)
    ? Effect.succeed(result.success)
    : Effect.fail(Writer.failure(operation, kind, key, result.failure))

/** An input under its key, as far as encoding looks at it: the store sets the rest. */
const named = <A extends Any>(kind: Kind<A>, input: Input<A>, key: Key): A => {
  const { name, namespace } = key
  const metadata = { ...input.metadata, name, ...(namespace === "" ? {} : { namespace }) }
  return { ...input, apiVersion: kind.apiVersion, kind: kind.address.kind, metadata } as unknown as A
}

/** The current object with the desired state and the metadata that are wanted. */
const replacing = <A extends Any>(kind: Kind<A>, current: A, wanted: Input<A>): A => {
  const { annotations, finalizers, labels, ownerReferences } = wanted.metadata
  const given = Object.entries({ annotations, finalizers, labels, ownerReferences }).filter(([, value]) =>
    value !== undefined
  )
  const { apiVersion: _, kind: __, metadata: ___, ...fields } = wanted
  return {
    ...current,
    ...fields,
    ...(kind.hasStatus ? { status: statusOf(current) } : {}),
    metadata: given.length === 0 ? current.metadata : { ...current.metadata, ...Object.fromEntries(given) }
  }
}

/** `Status<A>` is the type of this field, wherever the kind declares it. */
const statusOf = <A extends Any>(object: A): Status<A> | undefined =>
  (object as { readonly status?: unknown }).status as Status<A> | undefined

/** No status is a function: it could not be encoded. */
const isUpdater = <S>(status: S | ((current: S | undefined) => S)): status is (current: S | undefined) => S =>
  typeof status === "function"

// ---------------------------------------------------------------------------------------------------------------------
// what users get
// ---------------------------------------------------------------------------------------------------------------------

const listOf = <A extends Any>(door: Door.Door, kind: Kind<A>, page: StoreDriver.Page): List<A> => {
  const items: Array<A> = []
  const undecodable: Array<readonly [Key, DecodeError]> = []
  for (const raw of page.items) {
    const decoded = Door.decode(door, kind, raw)
    if (Result.isSuccess(decoded)) items.push(decoded.success)
    else undecodable.push([keyOfObject(raw), decoded.failure])
  }
  return { items, undecodable, revision: page.revision, cursor: page.cursor, next: page.next }
}

const typedEvent = <A extends Any>(
  door: Door.Door,
  kind: Kind<A>,
  event: StoreDriver.WatchEvent
): WatchEvent<A> => {
  switch (event._tag) {
    case "Added":
    case "Modified": {
      const decoded = Door.decode(door, kind, event.object)
      if (Result.isFailure(decoded)) return undecodable(event._tag, event.object, decoded.failure, event.cursor)
      return { _tag: event._tag, object: decoded.success, initial: event.initial, cursor: event.cursor }
    }
    case "Deleted": {
      const decoded = Door.decode(door, kind, event.last)
      if (Result.isFailure(decoded)) return undecodable(event._tag, event.last, decoded.failure, event.cursor)
      return { _tag: event._tag, last: decoded.success, revision: event.revision, cursor: event.cursor }
    }
    case "InitialDone":
    case "Bookmark":
      return event
  }
}

const undecodable = (
  change: "Added" | "Modified" | "Deleted",
  raw: Raw,
  error: DecodeError,
  cursor: Cursor
): WatchEvent<never> => ({ _tag: "Undecodable", change, key: keyOfObject(raw), error, cursor })

// ---------------------------------------------------------------------------------------------------------------------
// layers and accessors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The store over the driver of the context, named `"default"`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Store, never, StoreDriver.StoreDriver> = Layer.effect(
  Store,
  Effect.map(StoreDriver.StoreDriver, (driver) => make(driver))
)

/**
 * The store over the driver of the context, under a name of its own.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerNamed = (name: string): Layer.Layer<Store, never, StoreDriver.StoreDriver> =>
  Layer.effect(Store, Effect.map(StoreDriver.StoreDriver, (driver) => make(driver, { name })))

/**
 * The object under a key: from a cache that covers it in a pass (E10), else from the store. An absent one is `NotFound`,
 * one that does not fit its kind's Schema is a `DecodeError` (S12).
 *
 * @category reading
 * @since 0.1.0
 */
export const get = <A extends Any>(kind: Kind<A>, key: KeyInput): Effect.Effect<A, StoreError, Store> =>
  Store.use((store) => store.get(kind, key))

/**
 * The object under a key, read past every cache.
 *
 * @category reading
 * @since 0.1.0
 */
export const latest = <A extends Any>(kind: Kind<A>, key: KeyInput): Effect.Effect<A, StoreError, Store> =>
  Store.use((store) => store.latest(kind, key))

/**
 * The objects of a kind at one revision (S8): all, or those that the options mean.
 *
 * @category reading
 * @since 0.1.0
 */
export const list = <A extends Any>(kind: Kind<A>, options?: ListOptions): Effect.Effect<List<A>, StoreError, Store> =>
  Store.use((store) => store.list(kind, options))

/**
 * What happens to the objects of a kind, in batches (S3).
 *
 * @example
 * ```ts
 * import { Effect, Schema, Stream } from "effect"
 * import { Kind, MemoryStore, Store } from "setpoint"
 *
 * const Website = Kind.make({
 *   group: "example.dev",
 *   version: "v1",
 *   kind: "Website",
 *   spec: Schema.Struct({ host: Schema.String, replicas: Schema.Int }),
 *   status: Schema.Struct({ ready: Schema.Int })
 * })
 *
 * const program = Effect.gen(function*() {
 *   yield* Store.create(Website, { metadata: { name: "blog" }, spec: { host: "blog.example.dev", replicas: 2 } })
 *   const seen = yield* Store.watch(Website).pipe(
 *     Stream.flatMap(Stream.fromIterable),
 *     Stream.takeUntil((event) => event._tag === "InitialDone"),
 *     Stream.runCollect
 *   )
 *   console.log(seen.map((event) => event._tag)) // ["Added", "InitialDone"]
 * })
 *
 * Effect.runPromise(Effect.provide(program, MemoryStore.layer))
 * ```
 *
 * @category reading
 * @since 0.1.0
 */
export const watch = <A extends Any>(
  kind: Kind<A>,
  options?: WatchOptions
): Stream.Stream<ReadonlyArray<WatchEvent<A>>, StoreError, Store> =>
  Stream.unwrap(Effect.map(Store, (store) => store.watch(kind, options)))

/**
 * Waits until an object is as wanted, and gives it: at once where it is already. For scripts and tests; a reconciler
 * returns an Outcome instead of waiting. Bound it with `Effect.timeout`.
 *
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 * import { Kind, MemoryStore, Store } from "setpoint"
 *
 * const Website = Kind.make({
 *   group: "example.dev",
 *   version: "v1",
 *   kind: "Website",
 *   spec: Schema.Struct({ host: Schema.String })
 * })
 *
 * const program = Effect.gen(function*() {
 *   yield* Store.create(Website, { metadata: { name: "blog" }, spec: { host: "blog.example.dev" } })
 *   return yield* Store.waitFor(Website, { name: "blog" }, (site) => site.spec.host !== "")
 * })
 *
 * Effect.runPromise(Effect.provide(program, MemoryStore.layer))
 * ```
 *
 * @category watching
 * @since 0.1.0
 */
export const waitFor = <A extends Any>(
  kind: Kind<A>,
  input: KeyInput,
  isWanted: (object: A) => boolean
): Effect.Effect<A, StoreError, Store> => {
  const key = keyOf(kind, input)
  const isIt = (event: WatchEvent<A>): event is WatchEvent<A> & { readonly _tag: "Added" | "Modified" } =>
    (event._tag === "Added" || event._tag === "Modified") && event.object.metadata.name === key.name &&
    (event.object.metadata.namespace ?? "") === key.namespace && isWanted(event.object)
  const found = watch(kind, kind.address.scope === "Cluster" ? {} : { namespace: key.namespace }).pipe(
    Stream.map((events) => events.find(isIt)?.object),
    Stream.filter((object) => object !== undefined),
    Stream.runHead
  )
  return Effect.flatMap(found, Effect.fromOption).pipe(
    // The reader was too slow, or the history was trimmed: what is wanted may be there by now.
    Effect.retry({ while: (error) => error._tag === "StoreError" && isResumable(error) }),
    Effect.catchTag("NoSuchElementError", () => Effect.never) // a watch ends only by an error
  )
}

const isResumable = ({ reason }: StoreError): boolean => reason._tag === "Lagged" || reason._tag === "Expired"

/**
 * Creates an object. Its status is left alone where the kind declares one. A taken name is `AlreadyExists`; with
 * `generateName` a free one is found.
 *
 * @category writing
 * @since 0.1.0
 */
export const create = <A extends Any>(
  kind: Kind<A>,
  input: Input<A>,
  options?: WriteOptions
): Effect.Effect<A, StoreError, Store> => Store.use((store) => store.create(kind, input, options))

/**
 * Replaces desired state, labels, annotations, finalizers and owner references of an object that was read. Status is
 * left alone. An object that has changed since is a `Conflict`.
 *
 * @category writing
 * @since 0.1.0
 */
export const update = <A extends Any>(
  kind: Kind<A>,
  object: A,
  options?: WriteOptions
): Effect.Effect<A, StoreError, Store> => Store.use((store) => store.update(kind, object, options))

/**
 * Replaces the status of an object that was read, and nothing else. Conditions keep their transition time where their
 * status is unchanged; the object's generation is stamped where the status declares `observedGeneration`.
 *
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Kind, MemoryStore, Store } from "setpoint"
 *
 * const Website = Kind.make({
 *   group: "example.dev",
 *   version: "v1",
 *   kind: "Website",
 *   spec: Schema.Struct({ host: Schema.String, replicas: Schema.Int }),
 *   status: Schema.Struct({ ready: Schema.Int })
 * })
 *
 * const program = Effect.gen(function*() {
 *   const site = yield* Store.create(Website, {
 *     metadata: { name: "blog" },
 *     spec: { host: "blog.example.dev", replicas: 2 }
 *   })
 *   const ready = yield* Store.updateStatus(Website, site, { ready: 2 })
 *   const again = yield* Store.updateStatus(Website, ready, (status) => ({ ready: status?.ready ?? 0 }))
 *   console.log(ready.metadata.resourceVersion === again.metadata.resourceVersion) // true: nothing was written
 * })
 *
 * Effect.runPromise(Effect.provide(program, MemoryStore.layer))
 * ```
 *
 * @category writing
 * @since 0.1.0
 */
export const updateStatus = <A extends Any>(
  kind: Kind<A>,
  object: A,
  status: Status<A> | ((current: Status<A> | undefined) => Status<A>),
  options?: WriteOptions
): Effect.Effect<A, StoreError, Store> => Store.use((store) => store.updateStatus(kind, object, status, options))

/**
 * Patches an object that was read, in the kind's stored version. An object that has changed since is a `Conflict`.
 *
 * @category writing
 * @since 0.1.0
 */
export const patch = <A extends Any>(
  kind: Kind<A>,
  object: A,
  patch: Patch,
  options?: WriteOptions
): Effect.Effect<A, StoreError, Store> => Store.use((store) => store.patch(kind, object, patch, options))

/**
 * Patches whatever is under a key.
 *
 * @category writing
 * @since 0.1.0
 */
export const patchUnconditionally = <A extends Any>(
  kind: Kind<A>,
  key: KeyInput,
  patch: Patch,
  options?: WriteOptions
): Effect.Effect<A, StoreError, Store> => Store.use((store) => store.patchUnconditionally(kind, key, patch, options))

/**
 * Sets the fields of an input, whatever the revision, and owns them (S11): what it owned and no longer sets goes, what
 * another manager owns is a `Conflict` with the list of them. Creates the object where there is none.
 *
 * @category writing
 * @since 0.1.0
 */
export const apply = <A extends Any>(
  kind: Kind<A>,
  input: Input<A>,
  options: ApplyOptions
): Effect.Effect<A, StoreError, Store> => Store.use((store) => store.apply(kind, input, options))

const delete_ = <A extends Any>(
  kind: Kind<A>,
  object: A,
  options?: DeleteOptions
): Effect.Effect<Deleted<A>, StoreError, Store> => Store.use((store) => store.delete(kind, object, options))

export {
  /**
   * Deletes an object that was read: this life of its name only. With finalizers it is marked, and goes with the last
   * one (S6).
   *
   * @category writing
   * @since 0.1.0
   */
  delete_ as delete
}

/**
 * Deletes whatever is under a key.
 *
 * @category writing
 * @since 0.1.0
 */
export const deleteUnconditionally = <A extends Any>(
  kind: Kind<A>,
  key: KeyInput,
  options?: DeleteOptions
): Effect.Effect<Deleted<A>, StoreError, Store> => Store.use((store) => store.deleteUnconditionally(kind, key, options))

/**
 * Creates or updates: `f` says what the object shall be, given what it is. Metadata that `f` leaves out stays, status is
 * left alone, and nothing is written where nothing would change. Races with other writers are met by reading again, five
 * times at most.
 *
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Kind, MemoryStore, Store } from "setpoint"
 *
 * const Website = Kind.make({
 *   group: "example.dev",
 *   version: "v1",
 *   kind: "Website",
 *   spec: Schema.Struct({ host: Schema.String, replicas: Schema.Int }),
 *   status: Schema.Struct({ ready: Schema.Int })
 * })
 *
 * const program = Effect.gen(function*() {
 *   const wanted = { metadata: { labels: { tier: "web" } }, spec: { host: "blog.example.dev", replicas: 2 } }
 *   const first = yield* Store.ensure(Website, { name: "blog" }, () => wanted)
 *   const again = yield* Store.ensure(Website, { name: "blog" }, () => wanted)
 *   console.log(first.operation, again.operation) // created unchanged
 * })
 *
 * Effect.runPromise(Effect.provide(program, MemoryStore.layer))
 * ```
 *
 * @category writing
 * @since 0.1.0
 */
export const ensure = <A extends Any>(
  kind: Kind<A>,
  key: KeyInput,
  f: (current: A | undefined) => Input<A>
): Effect.Effect<Ensured<A>, StoreError, Store> => Store.use((store) => store.ensure(kind, key, f))

/**
 * Tells the store the epoch of a lease: writes that carry an older one are `Fenced` from now on.
 *
 * @category writing
 * @since 0.1.0
 */
export const fence = (lease: string, epoch: number): Effect.Effect<void, StoreError, Store> =>
  Store.use((store) => store.fence(lease, epoch))
