/**
 * CustomResourceDefinitions: what a definition makes of its kind, and what is read of those that others made.
 *
 * On a store without Kubernetes nobody else answers to them, so that what an API server would say in their status is said
 * by {@link established}.
 */
import type { Resource } from "setpoint"
import type { Definition } from "./definition.ts"
import type { JsonSchema } from "./simpleSchema.ts"

type Json = Resource.Json
type Mapping = { readonly [key: string]: Json }

export const apiVersion = "apiextensions.k8s.io/v1"
export const kind = "CustomResourceDefinition"

/** The name of the kind's CustomResourceDefinition: `webs.kro.run`. */
export const nameOf = (definition: Definition): string => {
  const { group, plural } = definition.kind.address
  return `${plural}.${group}`
}

const defaultColumns: Json = [
  {
    description: "The state of a ResourceGraphDefinition instance",
    jsonPath: ".status.state",
    name: "State",
    type: "string"
  },
  {
    description: "Whether a ResourceGraphDefinition instance is ready",
    jsonPath: `.status.conditions[?(@.type=="Ready")].status`,
    name: "Ready",
    type: "string"
  },
  { description: "Age of the resource", jsonPath: ".metadata.creationTimestamp", name: "Age", type: "date" }
]

/** The desired state of a definition's CustomResourceDefinition. */
export const specOf = (definition: Definition): Mapping => {
  const { group, kind, plural, scope, version } = definition.kind.address
  const { additionalPrinterColumns, categories, shortNames } = definition.extras
  const columns = Array.isArray(additionalPrinterColumns) && additionalPrinterColumns.length > 0
    ? additionalPrinterColumns
    : defaultColumns
  return {
    conversion: { strategy: "None" },
    group,
    names: {
      kind,
      listKind: `${kind}List`,
      plural,
      singular: kind.toLowerCase(),
      ...(shortNames === undefined ? {} : { shortNames }),
      ...(categories === undefined ? {} : { categories })
    },
    scope,
    versions: [{
      additionalPrinterColumns: columns,
      name: version,
      schema: { openAPIV3Schema: definition.schema },
      served: true,
      storage: true,
      subresources: { status: {} }
    }]
  }
}

/** Labels and annotations that the definition wants on it. */
export const metadataOf = (definition: Definition): { readonly labels?: Labels; readonly annotations?: Labels } => {
  const metadata = definition.extras["metadata"]
  return isMapping(metadata) ? metadata as { readonly labels?: Labels; readonly annotations?: Labels } : {}
}

type Labels = { readonly [key: string]: string }

/** The kind that a CustomResourceDefinition declares; `undefined` where it declares none that could be used. */
export const declared = (object: Resource.Any): Declared | undefined => {
  const spec = (object as { readonly spec?: Json }).spec
  if (!isMapping(spec) || !isMapping(spec["names"]) || !Array.isArray(spec["versions"])) return undefined
  const names = spec["names"]
  const versions: ReadonlyArray<Json> = spec["versions"]
  const version = versions.filter(isMapping).find((version) => version["storage"] === true)
  const given = version?.["schema"]
  const schema = isMapping(given) ? given["openAPIV3Schema"] : undefined
  return {
    group: String(spec["group"]),
    version: String(version?.["name"]),
    kind: String(names["kind"]),
    plural: String(names["plural"]),
    scope: spec["scope"] === "Cluster" ? "Cluster" : "Namespaced",
    schema: isMapping(schema) ? schema : anything
  }
}

export interface Declared {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly scope: "Namespaced" | "Cluster"
  readonly schema: JsonSchema
}

/** The schema of kinds that nobody has described. */
export const anything: JsonSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true }

/** What an API server says of names that are free. */
export const established = (object: Resource.Any): Mapping => {
  const { spec } = object as { readonly spec?: { readonly names?: Json; readonly versions?: ReadonlyArray<Mapping> } }
  return {
    acceptedNames: spec?.names ?? {},
    conditions: [
      { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" },
      {
        type: "Established",
        status: "True",
        reason: "InitialNamesAccepted",
        message: "the initial names have been accepted"
      }
    ],
    storedVersions: (spec?.versions ?? []).filter((version) => version["storage"] === true)
      .map((version) => version["name"] ?? "")
  }
}

const isMapping = (value: unknown): value is Mapping =>
  typeof value === "object" && value !== null && !Array.isArray(value)
