/** Metadata of objects: what is the store's and what is the user's, and Kubernetes' rules for it. */
import type { Address } from "../Kind.ts"
import type { Key, Metadata } from "../Resource.ts"
import type { Field } from "../StoreError.ts"
import * as names from "./names.ts"

/** Set by the store alone: what a caller gives in their place is not looked at. */
const serverOwned: ReadonlySet<string> = new Set([
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "managedFields",
  "selfLink"
])

export const isServerOwned = (name: string): boolean => serverOwned.has(name)

const identity: ReadonlySet<string> = new Set(["name", "namespace"])

/** Absent and empty are the same: the absent form is stored. */
const isVoid = (value: unknown): boolean =>
  value === undefined || value === null ||
  (typeof value === "object" && Object.keys(value).length === 0)

/** What a user gives for an object: all but what is the store's. Not yet checked. */
export const given = (metadata: object): { readonly [name: string]: unknown } => {
  const fields: { [name: string]: unknown } = {}
  for (const [name, value] of Object.entries(metadata)) {
    if (!serverOwned.has(name) && !identity.has(name) && !isVoid(value)) fields[name] = value
  }
  return fields
}

/** The stored metadata with the user's part replaced. Not yet checked. */
export const replaced = (stored: Metadata, metadata: object): { readonly [name: string]: unknown } => {
  const fields: { [name: string]: unknown } = {}
  for (const [name, value] of Object.entries(stored)) {
    if (serverOwned.has(name) || identity.has(name) || name === "generateName") fields[name] = value
  }
  for (const [name, value] of Object.entries(metadata)) {
    if (!serverOwned.has(name) && !identity.has(name) && name !== "generateName" && !isVoid(value)) fields[name] = value
  }
  return fields
}

/** How objects of this group are named: those of RBAC as a segment of a path. */
const nameRule = (at: Address) =>
  at.group === "rbac.authorization.k8s.io" ? names.checkPathSegment : names.checkSubdomain

/** What is wrong with a key: cluster kinds have no namespace, others need one. */
export const checkKey = (at: Address, key: Key): ReadonlyArray<Field> => {
  const flaws: Array<Field> = []
  const name = typeof key.name === "string" ? nameRule(at)(key.name) : "must be a string"
  if (name !== undefined) flaws.push({ path: "metadata.name", why: name })
  const namespace = checkNamespace(at, key.namespace)
  if (namespace !== undefined) flaws.push({ path: "metadata.namespace", why: namespace })
  return flaws
}

export const checkNamespace = (at: Address, namespace: string): string | undefined => {
  if (at.scope === "Namespaced") {
    return typeof namespace === "string" ? names.checkLabel(namespace) : "must be a string"
  }
  return namespace === "" ? undefined : `must be left out: ${at.kind} is a kind of the cluster, without namespaces`
}

const isRecord = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isStrings = (value: unknown): value is { readonly [key: string]: string } =>
  isRecord(value) && Object.values(value).every((member) => typeof member === "string")

/** What is wrong with the user's part of metadata. */
export const check = (metadata: { readonly [name: string]: unknown }): ReadonlyArray<Field> => {
  const flaws: Array<Field> = []
  for (const [name, rule] of [["labels", names.checkLabels], ["annotations", names.checkAnnotations]] as const) {
    const value = metadata[name]
    if (value === undefined) continue
    const why = isStrings(value) ? rule(value) : "must be an object of strings"
    if (why !== undefined) flaws.push({ path: `metadata.${name}`, why })
  }
  return [...flaws, ...checkFinalizers(metadata.finalizers), ...checkOwners(metadata.ownerReferences)]
}

const checkFinalizers = (finalizers: unknown): ReadonlyArray<Field> => {
  if (finalizers === undefined) return []
  if (!Array.isArray(finalizers)) return [{ path: "metadata.finalizers", why: "must be an array of strings" }]
  return finalizers.flatMap((finalizer: unknown, i) => {
    const why = typeof finalizer === "string" ? names.checkQualifiedName(finalizer) : "must be a string"
    return why === undefined ? [] : [{ path: `metadata.finalizers[${i}]`, why }]
  })
}

const checkOwners = (owners: unknown): ReadonlyArray<Field> => {
  if (owners === undefined) return []
  if (!Array.isArray(owners)) return [{ path: "metadata.ownerReferences", why: "must be an array of references" }]
  const flaws: Array<Field> = []
  let controllers = 0
  for (let i = 0; i < owners.length; i++) {
    const owner: unknown = owners[i]
    const at = `metadata.ownerReferences[${i}]`
    if (!isRecord(owner)) {
      flaws.push({ path: at, why: "must be an object with apiVersion, kind, name and uid" })
      continue
    }
    for (const field of ["apiVersion", "kind", "name", "uid"]) {
      if (typeof owner[field] !== "string" || owner[field] === "") {
        flaws.push({ path: `${at}.${field}`, why: "must be a string that is not empty" })
      }
    }
    if (owner.controller === true) controllers++
  }
  if (controllers > 1) {
    flaws.push({ path: "metadata.ownerReferences", why: `must have at most one controller, but has ${controllers}` })
  }
  return flaws
}
