/**
 * Owners: which object another one belongs to.
 *
 * A dependent lists its owners in `metadata.ownerReferences`, by uid: a new object under an old name owns nothing. At
 * most one owner is the *controller*, which manages the dependent. An owner stands in the dependent's namespace or is
 * cluster-scoped; any other reference counts as absent. When no owner is left, the garbage collector deletes the
 * dependent.
 *
 * All functions are pure: they give a changed object or input, which the caller writes.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { foregroundFinalizer } from "./internal/finalizers.ts"
import type { Address } from "./Kind.ts"
import type { Target } from "./Request.ts"
import {
  type Any,
  isMarkedForDeletion,
  key,
  keyText,
  type Metadata,
  type MetadataInput,
  type OwnerReference
} from "./Resource.ts"

/**
 * What an owner reference is put on: an input for `Store.create` or `Store.apply`, or an object that is there.
 *
 * @category models
 * @since 0.1.0
 */
export interface Dependent {
  readonly metadata: MetadataInput | Metadata
}

/**
 * Another owner is the controller of the object. `owner` says which.
 *
 * @category errors
 * @since 0.1.0
 */
export class AlreadyOwned extends Schema.TaggedError<AlreadyOwned>()("AlreadyOwned", {
  dependent: Schema.String,
  wanted: Schema.String,
  owner: Schema.Struct({
    apiVersion: Schema.String,
    kind: Schema.String,
    name: Schema.String,
    uid: Schema.String
  })
}) {
  override get message(): string {
    const { kind, name, uid } = this.owner
    return `${this.dependent} is controlled by ${kind} ${name} (uid ${uid}), so ${this.wanted} cannot control it; ` +
      "release it there, choose another name, or wait until the collector has removed it"
  }
}

/**
 * The owner stands in another namespace, or the dependent is cluster-scoped and its owner is not: the collector would
 * take such an owner for absent, and delete the dependent.
 *
 * @category errors
 * @since 0.1.0
 */
export class WrongNamespace extends Schema.TaggedError<WrongNamespace>()("WrongNamespace", {
  dependent: Schema.String,
  owner: Schema.String
}) {
  override get message(): string {
    return `${this.owner} cannot own ${this.dependent}: ` +
      "an owner must be in its dependent's namespace, or cluster-scoped"
  }
}

/**
 * Deletion of the object was asked for: it cannot be adopted, and adopts nothing. While it is deleted in the foreground,
 * that is after what it owns, nothing new is made for it either: that would be taken away at once, and made again.
 *
 * @category errors
 * @since 0.1.0
 */
export class BeingDeleted extends Schema.TaggedError<BeingDeleted>()("BeingDeleted", { object: Schema.String }) {
  override get message(): string {
    return `${this.object} is being deleted: it is not adopted, and neither adopts nor gets anything new`
  }
}

/** It goes after what it owns. */
const isDeletedInForeground = ({ metadata }: Any): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(foregroundFinalizer) === true

/**
 * How an owner is referred to.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Whether a foreground deletion of the owner waits for the dependent. Default `true`. */
  readonly block?: boolean | undefined
}

/**
 * A reference to an owner. `controller` is `false` by default, `block` `true`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const reference = (
  owner: Any,
  options?: Options & { readonly controller?: boolean | undefined }
): OwnerReference => ({
  apiVersion: owner.apiVersion,
  kind: owner.kind,
  name: owner.metadata.name,
  uid: owner.metadata.uid,
  ...(options?.controller === true ? { controller: true } : {}),
  ...(options?.block === false ? {} : { blockOwnerDeletion: true })
})

/**
 * Makes `owner` the controller of an object: its reconciler then hears of the object's changes, and the collector
 * deletes the object after its owner. Where a namespaced owner's new dependent names no namespace, it gets the owner's.
 * Other owners stay. Doing it again changes nothing.
 *
 * Fails with {@link AlreadyOwned} where another owner is the controller, with {@link WrongNamespace}, and with
 * {@link BeingDeleted} where something new is to be made for an owner that is deleted in the foreground.
 *
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 * import { Kind, Owner } from "setpoint"
 *
 * const Website = Kind.make({ group: "example.dev", version: "v1", kind: "Website" })
 * const Server = Kind.make({
 *   group: "example.dev",
 *   version: "v1",
 *   kind: "Server",
 *   spec: Schema.Struct({ port: Schema.Int })
 * })
 *
 * export const serverOf = (site: Kind.Resource<typeof Website>) => {
 *   const input: Kind.Input<Kind.Resource<typeof Server>> = {
 *     metadata: { name: `${site.metadata.name}-server` },
 *     spec: { port: 8080 }
 *   }
 *   return Owner.setController(input, site) // an Effect: pass it on to Store.create
 * }
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const setController = <D extends Dependent>(
  dependent: D,
  owner: Any,
  options?: Options
): Effect.Effect<D, AlreadyOwned | WrongNamespace | BeingDeleted> =>
  Effect.suspend((): Effect.Effect<D, AlreadyOwned | WrongNamespace | BeingDeleted> => {
    const controller = controllerOf(dependent)
    if (controller !== undefined && controller.uid !== owner.metadata.uid) {
      const { apiVersion, kind, name, uid } = controller
      return Effect.fail(
        new AlreadyOwned({
          dependent: dependentText(dependent),
          wanted: objectText(owner),
          owner: { apiVersion, kind, name, uid }
        })
      )
    }
    return withReference(dependent, owner, reference(owner, { ...options, controller: true }))
  })

/**
 * Adds an owner that is not the controller: the collector keeps the object while one of its owners lives. A controller
 * stays one. Fails with {@link WrongNamespace}, and with {@link BeingDeleted} as {@link setController} does.
 *
 * @category combinators
 * @since 0.1.0
 */
export const add = <D extends Dependent>(
  dependent: D,
  owner: Any,
  options?: Options
): Effect.Effect<D, WrongNamespace | BeingDeleted> =>
  Effect.suspend(() =>
    withReference(
      dependent,
      owner,
      reference(owner, { ...options, controller: controllerOf(dependent)?.uid === owner.metadata.uid })
    )
  )

/**
 * Makes `owner` the controller of an object that is there and has none. As {@link setController}, and refuses with
 * {@link BeingDeleted} where either is marked for deletion. Read the owner anew before adopting
 * (`Store.latest`): a cache may not know yet that it is being deleted.
 *
 * @category combinators
 * @since 0.1.0
 */
export const adopt = <D extends Any>(
  dependent: D,
  owner: Any,
  options?: Options
): Effect.Effect<D, AlreadyOwned | WrongNamespace | BeingDeleted> =>
  Effect.suspend((): Effect.Effect<D, AlreadyOwned | WrongNamespace | BeingDeleted> => {
    for (const object of [dependent, owner]) {
      if (isMarkedForDeletion(object)) return Effect.fail(new BeingDeleted({ object: objectText(object) }))
    }
    return setController(dependent, owner, options)
  })

/**
 * The object without its reference to `owner`; the same object where it has none. Nothing deletes it then, unless other
 * owners stand and go.
 *
 * @category combinators
 * @since 0.1.0
 */
export const release = <D extends Dependent>(dependent: D, owner: Any): D => {
  const references = dependent.metadata.ownerReferences ?? []
  const rest = references.filter((reference) => reference.uid !== owner.metadata.uid)
  if (rest.length === references.length) return dependent
  return { ...dependent, metadata: { ...dependent.metadata, ownerReferences: rest } }
}

/**
 * Whether the object refers to this very owner, by uid.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isOwnedBy = (dependent: Dependent, owner: Any): boolean =>
  (dependent.metadata.ownerReferences ?? []).some((reference) => reference.uid === owner.metadata.uid)

/**
 * The reference to the controller, if there is one.
 *
 * @category getters
 * @since 0.1.0
 */
export const controllerOf = (dependent: Dependent): OwnerReference | undefined =>
  dependent.metadata.ownerReferences?.find((reference) => reference.controller === true)

/**
 * What an owner's kind is known by: a `Kind`'s `address`, or the like.
 *
 * @category models
 * @since 0.1.0
 */
export type OwnerKind = Pick<Address, "group" | "kind" | "scope">

/**
 * The references to owners of a kind, by group and kind: the version does not matter.
 *
 * @category getters
 * @since 0.1.0
 */
export const ownersOf = (dependent: Dependent, kind: OwnerKind): ReadonlyArray<OwnerReference> =>
  (dependent.metadata.ownerReferences ?? []).filter((reference) =>
    reference.kind === kind.kind && groupOf(reference) === kind.group
  )

/**
 * The group of the owner that a reference names: `""` for the core group.
 *
 * @category getters
 * @since 0.1.0
 */
export const groupOf = (reference: OwnerReference): string => {
  const slash = reference.apiVersion.indexOf("/")
  return slash < 0 ? "" : reference.apiVersion.slice(0, slash)
}

/**
 * Which owners of a kind shall reconcile when this object changed: all that it refers to, or with `controllerOnly`
 * (default `false`) only the one that controls it.
 *
 * @category getters
 * @since 0.1.0
 */
export const requestsOf = (
  object: Any,
  kind: OwnerKind,
  options?: { readonly controllerOnly?: boolean | undefined }
): ReadonlyArray<Target> => {
  const references = ownersOf(object, kind)
  const namespace = kind.scope === "Cluster" ? "" : object.metadata.namespace ?? ""
  return (options?.controllerOnly === true
    ? references.filter((reference) => reference.controller === true)
    : references)
    .map((reference) => ({ namespace, name: reference.name }))
}

/** Sets the one reference to `owner`, in the place of the one that was there. */
const withReference = <D extends Dependent>(
  dependent: D,
  owner: Any,
  reference: OwnerReference
): Effect.Effect<D, WrongNamespace | BeingDeleted> => {
  const isNew = dependent.metadata.uid === undefined
  if (isNew && isDeletedInForeground(owner)) return Effect.fail(new BeingDeleted({ object: objectText(owner) }))
  const namespace = namespaceFor(dependent, owner)
  if (namespace === "wrong") {
    return Effect.fail(new WrongNamespace({ dependent: dependentText(dependent), owner: objectText(owner) }))
  }
  const references = dependent.metadata.ownerReferences ?? []
  const index = references.findIndex((old) => old.uid === reference.uid)
  const ownerReferences = index < 0 ? [...references, reference] : references.with(index, reference)
  return Effect.succeed({ ...dependent, metadata: { ...dependent.metadata, ...namespace, ownerReferences } })
}

const namespaceFor = (dependent: Dependent, owner: Any): { readonly namespace?: string } | "wrong" => {
  const { namespace, uid } = dependent.metadata
  const ownerNamespace = owner.metadata.namespace
  if (ownerNamespace === undefined || namespace === ownerNamespace) return {}
  const isNew = uid === undefined
  return isNew && namespace === undefined ? { namespace: ownerNamespace } : "wrong"
}

const objectText = (object: Any): string => `${object.kind} ${keyText(key(object))}`

const dependentText = ({ metadata }: Dependent): string =>
  keyText({ namespace: metadata.namespace, name: metadata.name ?? `${metadata.generateName ?? ""}…` })
