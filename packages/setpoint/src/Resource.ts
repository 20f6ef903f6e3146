/**
 * Resources: the objects that a store keeps, in Kubernetes' form.
 *
 * Every object has `apiVersion`, `kind`, `metadata`, and top-level fields that its kind declares (`spec` and `status`
 * most of the time). Objects are immutable and shared: what a store or a cache hands out is frozen and never copied.
 *
 * @since 0.1.0
 */

/**
 * A JSON value, readonly all the way down.
 *
 * @category models
 * @since 0.1.0
 */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | JsonObject

/**
 * A JSON object, readonly all the way down.
 *
 * @category models
 * @since 0.1.0
 */
export interface JsonObject {
  readonly [key: string]: Json
}

/**
 * A reference from a dependent to its owner. References go by `uid`: a new object under an old name owns nothing.
 *
 * @category models
 * @since 0.1.0
 */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** Marks the one owner that manages the dependent. */
  readonly controller?: boolean | undefined
  /** A foreground deletion of the owner waits for this dependent. */
  readonly blockOwnerDeletion?: boolean | undefined
}

/**
 * Which fields one manager set by `apply` or `update`, as Kubernetes prints it.
 *
 * @category models
 * @since 0.1.0
 */
export interface ManagedFieldsEntry {
  readonly manager: string
  readonly operation: "Apply" | "Update"
  readonly apiVersion?: string | undefined
  readonly time?: string | undefined
  readonly fieldsType?: "FieldsV1" | undefined
  readonly fieldsV1?: JsonObject | undefined
  readonly subresource?: string | undefined
}

/**
 * Metadata of a stored object. Timestamps are RFC 3339 strings in UTC.
 *
 * `namespace` is absent on objects of cluster kinds; {@link key} gives `""` for them.
 *
 * @category models
 * @since 0.1.0
 */
export interface Metadata {
  readonly name: string
  readonly namespace?: string | undefined
  /** New for each life of a name (S7). */
  readonly uid: string
  readonly resourceVersion: string
  /** 1 at creation; moves when desired state changes and when deletion is marked (S2). */
  readonly generation?: number | undefined
  readonly creationTimestamp: string
  /** Set once, when deletion is asked for while finalizers stand. */
  readonly deletionTimestamp?: string | undefined
  readonly deletionGracePeriodSeconds?: number | undefined
  readonly labels?: { readonly [key: string]: string } | undefined
  readonly annotations?: { readonly [key: string]: string } | undefined
  readonly finalizers?: ReadonlyArray<string> | undefined
  readonly ownerReferences?: ReadonlyArray<OwnerReference> | undefined
  readonly managedFields?: ReadonlyArray<ManagedFieldsEntry> | undefined
  readonly generateName?: string | undefined
}

/**
 * Metadata as a user gives it at creation: a `name` or a `generateName`, and what is theirs to set. The rest is set by
 * the store. `namespace` defaults to `"default"` for namespaced kinds.
 *
 * @category models
 * @since 0.1.0
 */
export type MetadataInput = Partial<Metadata>

/**
 * What all typed objects have in common.
 *
 * @category models
 * @since 0.1.0
 */
export interface Any {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Metadata
}

/**
 * A typed object: metadata and the top-level fields that its kind declares.
 *
 * @category models
 * @since 0.1.0
 */
export type Resource<KindName extends string = string, Fields = unknown> =
  & { readonly apiVersion: string; readonly kind: KindName; readonly metadata: Metadata }
  & Fields

/**
 * An object as stores keep it: plain JSON in the kind's stored version, frozen.
 *
 * @category models
 * @since 0.1.0
 */
export interface Raw extends Any {
  readonly [field: string]: unknown
}

/**
 * Where an object of a known kind is: `namespace` is `""` for cluster kinds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Key {
  readonly namespace: string
  readonly name: string
}

/**
 * A key as users give it: an omitted `namespace` means `"default"` for namespaced kinds and `""` for cluster kinds.
 *
 * @category models
 * @since 0.1.0
 */
export interface KeyInput {
  readonly namespace?: string | undefined
  readonly name: string
}

/**
 * The key of a stored object.
 *
 * @category getters
 * @since 0.1.0
 */
export const key = (object: Any): Key => ({ namespace: object.metadata.namespace ?? "", name: object.metadata.name })

/**
 * `namespace/name`, or the name alone for cluster kinds: for logs and messages.
 *
 * @category getters
 * @since 0.1.0
 */
export const keyText = (key: KeyInput): string =>
  key.namespace === undefined || key.namespace === "" ? key.name : `${key.namespace}/${key.name}`

/**
 * `kind.group` (`Website.example.dev`), or the kind alone in the core group: what a kind is called in any version.
 *
 * @category getters
 * @since 0.1.0
 */
export const groupKind = (at: { readonly kind: string; readonly group: string }): string =>
  at.group === "" ? at.kind : `${at.kind}.${at.group}`

/**
 * Whether deletion of the object was asked for.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isMarkedForDeletion = (object: Any): boolean => object.metadata.deletionTimestamp !== undefined

/** How many texts are shared at a time. */
const sharedTexts = 4096

/**
 * For stores that decode JSON: gives a function that lets an object share with those before it what all objects repeat
 * (`apiVersion`, namespace, times, a label that is the name again): about a tenth of a small object in a cache. The object
 * is changed in place, so it must be freshly decoded and not yet frozen.
 *
 * @example
 * ```ts
 * import { Resource } from "setpoint"
 *
 * const share = Resource.sharing()
 * const text = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"1","resourceVersion":"1"}}`
 * const object = Object.freeze(share(JSON.parse(text)))
 * console.log(object.metadata.name) // a
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const sharing = (): (decoded: Raw) => Raw => {
  const known = new Map<string, string>()
  const shared = (text: string): string => {
    const same = known.get(text)
    if (same !== undefined) return same
    if (known.size === sharedTexts) known.clear()
    known.set(text, text)
    return text
  }
  return (decoded) => {
    // Fresh from the decoder: nobody else has seen it.
    const object = decoded as { apiVersion: string }
    const metadata = decoded.metadata as { creationTimestamp?: string; name: string; namespace?: string }
    const labels = decoded.metadata.labels as { [key: string]: string } | undefined
    object.apiVersion = shared(object.apiVersion)
    if (metadata.namespace !== undefined) metadata.namespace = shared(metadata.namespace)
    if (metadata.creationTimestamp !== undefined) metadata.creationTimestamp = shared(metadata.creationTimestamp)
    for (const key in labels) if (labels[key] === metadata.name) labels[key] = metadata.name
    return decoded
  }
}
