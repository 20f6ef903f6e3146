/**
 * Definitions: a ResourceGraphDefinition as a document, compiled, or refused with all that is wrong with it.
 *
 * What a compiled definition promises: its resources come in an order in which each stands after all it waits for, every
 * expression names only what there is and agrees with the types that are known, and the kind it makes is a right one.
 */
import * as Result from "effect/Result"
import { Kind, type Resource } from "setpoint"
import * as Cel from "./cel.ts"
import * as Expression from "./expression.ts"
import { below, type Flaw } from "./flaws.ts"
import * as Graph from "./graph.ts"
import * as Names from "./names.ts"
import * as SimpleSchema from "./simpleSchema.ts"

type Json = Resource.Json
type Mapping = { readonly [key: string]: Json }

export interface Definition {
  /** Of the ResourceGraphDefinition. */
  readonly name: string
  readonly kind: Kind.Kind<Resource.Raw>
  /** Schema of the instances, `spec` and `status` included. */
  readonly schema: SimpleSchema.JsonSchema
  /** Schema of what expressions see as `schema`. */
  readonly seen: SimpleSchema.JsonSchema
  /** In the order of creation. */
  readonly nodes: ReadonlyArray<Node>
  readonly dependencies: Graph.Dependencies
  readonly status: Expression.Template
  /** Names, printer columns and metadata of the kind, as the document gives them. */
  readonly extras: Mapping
}

/** One resource, or a collection of such. */
export interface Node {
  readonly id: string
  readonly apiVersion: string
  readonly kind: string
  readonly source: Source
  /** Outer loops first. Empty: one object. */
  readonly iterators: ReadonlyArray<Iterator>
  readonly includeWhen: ReadonlyArray<Cel.Expression>
  /** Sees only the object itself: as `each` in a collection, else by the id. */
  readonly readyWhen: ReadonlyArray<Cel.Expression>
}

export interface Iterator {
  readonly name: string
  readonly list: Cel.Expression
}

/** `Own`: created from the template. `Named` and `Selected`: somebody else's, read by name or by labels. */
export type Source =
  | { readonly _tag: "Own"; readonly template: Expression.Template }
  | { readonly _tag: "Named"; readonly metadata: Expression.Template }
  | { readonly _tag: "Selected"; readonly metadata: Expression.Template }

/** What other expressions see of a node: a list, or one object. */
export const isList = (node: Node): boolean => node.iterators.length > 0 || node.source._tag === "Selected"

/** Schemas of kinds that are known: their CustomResourceDefinitions, or definitions that make them. */
export type KnownKinds = (groupKind: string) => SimpleSchema.JsonSchema | undefined

export const compile = (
  document: Mapping,
  known: KnownKinds = () => undefined
): Result.Result<Definition, ReadonlyArray<Flaw>> => {
  const flaws: Array<Flaw> = []
  const definition = compileInto(flaws, document, known)
  return definition === undefined || flaws.length > 0 ? Result.fail(flaws) : Result.succeed(definition)
}

const compileInto = (flaws: Array<Flaw>, document: Mapping, known: KnownKinds): Definition | undefined => {
  const reader = readerOf(flaws)
  const spec = reader.mapping(document["spec"], "spec")
  const schema = reader.mapping(spec["schema"], "spec.schema")
  const scope = schema["scope"] ?? "Namespaced"
  if (scope !== "Namespaced" && scope !== "Cluster") {
    reader.refuse("spec.schema.scope", `must be Namespaced or Cluster, found ${JSON.stringify(scope)}`)
  }
  const drafts = reader.list(spec["resources"], "spec.resources").flatMap((item, index) => {
    const draft = readDraft(reader, item, below("spec.resources", index))
    return draft === undefined ? [] : [draft]
  })
  refuseDoubles(reader, drafts)
  const specSchema = SimpleSchema.toJsonSchema({
    fields: schema["spec"] ?? {},
    at: "spec.schema.spec",
    types: schema["types"],
    typesAt: "spec.schema.types"
  })
  flaws.push(...specSchema.flaws)
  if (flaws.length > 0) return undefined

  const seen = seenSchema(specSchema.schema)
  const scopeOf = scopes(seen, drafts, known)
  const compiled = drafts.map((draft) => compileNode(reader, draft, scopeOf, scope === "Cluster"))
  const status = reader.template(
    Cel.makeChecker(scopeOf({})),
    reader.mapping(schema["status"] ?? {}, "spec.schema.status"),
    "spec.schema.status"
  )
  const dependencies = new Map(compiled.map(({ node, uses }) => [node.id, uses]))
  const order = Graph.orderOf(dependencies)
  if (order._tag === "Cyclic") {
    const at = drafts.find((draft) => draft.id === order.cycle[0])?.at ?? "spec.resources"
    reader.refuse(at, `waits for itself: ${order.cycle.join(" -> ")}`)
  }
  const whole = instanceSchema(specSchema.schema, status)
  const kind = reader.kind(schema, scope === "Cluster" ? "Cluster" : "Namespaced", whole)
  if (kind === undefined || order._tag === "Cyclic") return undefined
  const nodes = new Map(compiled.map(({ node }) => [node.id, node]))
  return {
    name: nameOf(document),
    kind,
    schema: whole,
    seen,
    nodes: order.ids.flatMap((id) => nodes.get(id) ?? []),
    dependencies,
    status,
    extras: schema
  }
}

const nameOf = (document: Mapping): string => {
  const metadata = document["metadata"]
  return isMapping(metadata) ? String(metadata["name"] ?? "") : ""
}

const isMapping = (value: Json | undefined): value is Mapping =>
  typeof value === "object" && value !== null && !Array.isArray(value)

// ---------------------------------------------------------------------------------------------------------------------
// reading: values of the right form, and a flaw for each that is not
// ---------------------------------------------------------------------------------------------------------------------

interface Reader {
  readonly refuse: (field: string, why: string) => void
  readonly mapping: (value: Json | undefined, at: string) => Mapping
  readonly list: (value: Json | undefined, at: string) => ReadonlyArray<Json>
  readonly template: (checker: Cel.Checker, value: Json, at: string, uses?: Set<string>) => Expression.Template
  /** A text that is one expression and nothing else. */
  readonly expression: (
    checker: Cel.Checker,
    value: Json,
    at: string,
    uses?: Set<string>
  ) => Cel.Expression | undefined
  readonly kind: (
    schema: Mapping,
    scope: "Namespaced" | "Cluster",
    whole: SimpleSchema.JsonSchema
  ) => Kind.Kind<Resource.Raw> | undefined
}

const readerOf = (flaws: Array<Flaw>): Reader => {
  const refuse = (field: string, why: string): void => void flaws.push({ field, why })
  const reader: Reader = {
    refuse,
    mapping: (value, at) => {
      if (isMapping(value)) return value
      refuse(at, value === undefined ? "is missing" : "must be a mapping")
      return {}
    },
    list: (value, at) => {
      if (Array.isArray(value)) return value
      if (value !== undefined && value !== null) refuse(at, "must be a list")
      return []
    },
    template: (checker, value, at, uses) => {
      const compiled = Expression.compile(checker, value, at)
      flaws.push(...compiled.flaws)
      compiled.uses.forEach((name) => uses?.add(name))
      return compiled.template
    },
    expression: (checker, value, at, uses) => {
      const count = flaws.length
      const template = reader.template(checker, typeof value === "string" ? value.trim() : value, at, uses)
      if (template._tag === "Whole") return template.expression
      if (flaws.length === count) refuse(at, "must be one expression: ${…}")
      return undefined
    },
    kind: (schema, scope, whole) => {
      const made = Kind.fromJsonSchema({
        group: textOf(schema["group"]) ?? Names.group,
        version: textOf(schema["apiVersion"]) ?? "",
        kind: textOf(schema["kind"]) ?? "",
        scope,
        schema: whole
      })
      if (Result.isSuccess(made)) return made.success
      refuse(below("spec.schema", kindFields[made.failure.field] ?? made.failure.field), made.failure.why)
      return undefined
    }
  }
  return reader
}

/** The field of the document that a field of the kind comes from. */
const kindFields: { readonly [field: string]: string } = { version: "apiVersion", plural: "kind" }

const textOf = (value: Json | undefined): string | undefined => typeof value === "string" ? value : undefined

/** A resource as it is written. */
interface Draft {
  readonly id: string
  readonly at: string
  readonly apiVersion: string
  readonly kind: string
  readonly source: "Own" | "Named" | "Selected"
  readonly object: Mapping
  readonly objectAt: string
  readonly iterators: ReadonlyArray<{ readonly name: string; readonly list: Json; readonly at: string }>
  readonly includeWhen: ReadonlyArray<Json>
  readonly readyWhen: ReadonlyArray<Json>
}

const readDraft = (reader: Reader, item: Json, at: string): Draft | undefined => {
  const resource = reader.mapping(item, at)
  const id = textOf(resource["id"]) ?? ""
  const wrong = checkName(id)
  if (wrong !== undefined) reader.refuse(below(at, "id"), wrong)
  const isExternal = resource["externalRef"] !== undefined
  if (isExternal === (resource["template"] !== undefined)) {
    reader.refuse(at, "must have a template or an externalRef, and not both")
    return undefined
  }
  const objectAt = below(at, isExternal ? "externalRef" : "template")
  const object = reader.mapping(resource[isExternal ? "externalRef" : "template"], objectAt)
  const metadataAt = below(objectAt, "metadata")
  const metadata = reader.mapping(object["metadata"], metadataAt)
  const isSelected = isExternal && metadata["selector"] !== undefined
  if (isSelected === (metadata["name"] !== undefined)) {
    reader.refuse(metadataAt, isExternal ? "must have a name or a selector, and not both" : "must have a name")
  }
  const iterators = readIterators(reader, resource["forEach"], below(at, "forEach"))
  if (isExternal && iterators.length > 0) {
    reader.refuse(below(at, "forEach"), "is for templates, not for an externalRef")
  }
  if (!isExternal) refuseOwnLabels(reader, metadata, metadataAt)
  return {
    id,
    at,
    apiVersion: readFixed(reader, object["apiVersion"], below(objectAt, "apiVersion")),
    kind: readFixed(reader, object["kind"], below(objectAt, "kind")),
    source: !isExternal ? "Own" : isSelected ? "Selected" : "Named",
    object,
    objectAt,
    iterators,
    includeWhen: reader.list(resource["includeWhen"], below(at, "includeWhen")),
    readyWhen: reader.list(resource["readyWhen"], below(at, "readyWhen"))
  }
}

const checkName = (name: string): string | undefined =>
  Names.checkId(name) ?? (Cel.isTaken(name) ? `${JSON.stringify(name)} is a name of CEL; choose another` : undefined)

/** A kind cannot depend on an instance: which kinds a definition has to do with is known from its text. */
const readFixed = (reader: Reader, value: Json | undefined, at: string): string => {
  if (typeof value === "string" && value !== "" && !value.includes("${")) return value
  reader.refuse(at, value === undefined ? "is missing" : "must be a text without expressions")
  return ""
}

const readIterators = (reader: Reader, value: Json | undefined, at: string): Draft["iterators"] => {
  const seen = new Set<string>()
  return reader.list(value, at).flatMap((item, index) => {
    const itemAt = below(at, index)
    const entries = Object.entries(reader.mapping(item, itemAt))
    if (entries.length !== 1) reader.refuse(itemAt, "must be one name with one expression")
    return entries.map(([name, list]) => {
      const nameAt = below(itemAt, name)
      const wrong = checkName(name)
      // kro reserves `item` for resources, and its own documentation iterates with it.
      if (wrong !== undefined && name !== "item") reader.refuse(nameAt, wrong)
      if (seen.has(name)) reader.refuse(nameAt, `the name ${name} stands twice`)
      seen.add(name)
      return { name, list, at: nameAt }
    })
  })
}

const refuseOwnLabels = (reader: Reader, metadata: Mapping, at: string): void => {
  for (const field of ["labels", "annotations"]) {
    const given = metadata[field]
    if (!isMapping(given)) continue
    for (const key of Object.keys(given)) {
      if (key.startsWith("kro.run/")) reader.refuse(below(below(at, field), key), "is set by the engine alone")
    }
  }
}

const refuseDoubles = (reader: Reader, drafts: ReadonlyArray<Draft>): void => {
  const seen = new Map<string, Draft>()
  for (const draft of drafts) {
    const first = seen.get(draft.id)
    if (first !== undefined) reader.refuse(below(draft.at, "id"), `${draft.id} is the id of ${first.at} too`)
    seen.set(draft.id, draft)
  }
  for (const draft of drafts) {
    for (const iterator of draft.iterators) {
      if (seen.has(iterator.name)) reader.refuse(iterator.at, `${iterator.name} is the id of a resource`)
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// checking: what each expression may name
// ---------------------------------------------------------------------------------------------------------------------

const metadataSchema: SimpleSchema.JsonSchema = {
  type: "object",
  properties: {
    name: { type: "string" },
    namespace: { type: "string" },
    uid: { type: "string" },
    resourceVersion: { type: "string" },
    generation: { type: "integer" },
    creationTimestamp: { type: "string" },
    labels: { type: "object", additionalProperties: { type: "string" } },
    annotations: { type: "object", additionalProperties: { type: "string" } }
  }
}

const seenSchema = (spec: SimpleSchema.JsonSchema): SimpleSchema.JsonSchema => ({
  type: "object",
  properties: { apiVersion: { type: "string" }, kind: { type: "string" }, metadata: metadataSchema, spec }
})

interface ScopeOptions {
  /** The node whose expressions these are: it does not see itself. */
  readonly without?: string | undefined
  readonly iterators?: Cel.Scope | undefined
}

const scopes = (seen: SimpleSchema.JsonSchema, drafts: ReadonlyArray<Draft>, known: KnownKinds) => {
  const types = drafts.map((draft): readonly [string, Cel.Type] => {
    const one = typeOf(draft, known)
    return [draft.id, draft.iterators.length > 0 || draft.source === "Selected" ? Cel.listOf(one) : one]
  })
  return (options: ScopeOptions): Cel.Scope => ({
    schema: Cel.ofSchema(seen),
    ...Object.fromEntries(types.filter(([id]) => id !== options.without)),
    ...options.iterators
  })
}

const typeOf = (draft: Draft, known: KnownKinds): Cel.Type => {
  const schema = known(Names.groupKind(draft.apiVersion, draft.kind))
  if (schema === undefined || !isMapping(schema["properties"])) return Cel.any
  const properties = { ...schema["properties"], ...metadataOnly }
  return Cel.ofSchema({ type: "object", properties })
}

const metadataOnly = { apiVersion: { type: "string" }, kind: { type: "string" }, metadata: metadataSchema }

const compileNode = (
  reader: Reader,
  draft: Draft,
  scopeOf: (options: ScopeOptions) => Cel.Scope,
  isCluster: boolean
): { readonly node: Node; readonly uses: ReadonlySet<string> } => {
  const uses = new Set<string>()
  const outer = scopeOf({ without: draft.id })
  const outerChecker = Cel.makeChecker(outer)
  const items: { [name: string]: Cel.Type } = {}
  const iterators = draft.iterators.flatMap(({ at, list, name }) => {
    const expression = reader.expression(outerChecker, list, at, uses)
    const item = expression === undefined ? Cel.any : Cel.itemOf(expression.type)
    if (item === undefined) reader.refuse(at, `must give a list, but gives ${expression?.type}`)
    items[name] = item ?? Cel.any
    return expression === undefined ? [] : [{ name, list: expression }]
  })
  const checker = iterators.length === 0 ? outerChecker : Cel.makeChecker({ ...outer, ...items })
  if (isCluster) requireNamespace(reader, draft)
  const object = draft.source === "Own" ? draft.object : draft.object["metadata"]
  const objectAt = draft.source === "Own" ? draft.objectAt : below(draft.objectAt, "metadata")
  const template = reader.template(checker, object, objectAt, uses)
  const self = draft.iterators.length > 0 || draft.source === "Selected" ? "each" : draft.id
  const own = Cel.makeChecker({ [self]: selfType(scopeOf({}), draft.id) })
  const node: Node = {
    id: draft.id,
    apiVersion: draft.apiVersion,
    kind: draft.kind,
    source: draft.source === "Own" ? { _tag: "Own", template } : { _tag: draft.source, metadata: template },
    iterators,
    includeWhen: conditions(reader, outerChecker, draft.includeWhen, below(draft.at, "includeWhen"), uses),
    readyWhen: conditions(reader, own, draft.readyWhen, below(draft.at, "readyWhen"))
  }
  uses.delete("schema")
  for (const { name } of draft.iterators) uses.delete(name)
  return { node, uses }
}

const selfType = (scope: Cel.Scope, id: string): Cel.Type => {
  const type = scope[id]
  return type._tag === "ListOf" ? type.item : type
}

const conditions = (
  reader: Reader,
  checker: Cel.Checker,
  list: ReadonlyArray<Json>,
  at: string,
  uses?: Set<string>
): ReadonlyArray<Cel.Expression> =>
  list.flatMap((item, index) => {
    const itemAt = below(at, index)
    const expression = reader.expression(checker, item, itemAt, uses)
    if (expression === undefined) return []
    if (expression.type === "bool" || expression.type === "dyn") return [expression]
    reader.refuse(itemAt, `\${${expression.source}}: must give true or false, but gives ${expression.type}`)
    return []
  })

/** An instance without a namespace has none to give to its resources. */
const requireNamespace = (reader: Reader, draft: Draft): void => {
  if (draft.source === "Selected" || Names.isClusterScoped(draft.apiVersion, draft.kind)) return
  const metadata = draft.object["metadata"]
  if (isMapping(metadata) && typeof metadata["namespace"] === "string" && metadata["namespace"] !== "") return
  reader.refuse(below(draft.objectAt, "metadata"), "needs a namespace, since the instances of a cluster kind have none")
}

// ---------------------------------------------------------------------------------------------------------------------
// the kind
// ---------------------------------------------------------------------------------------------------------------------

const text = { type: "string" }

const conditionsSchema = {
  type: "array",
  items: {
    type: "object",
    properties: {
      lastTransitionTime: text,
      message: text,
      observedGeneration: { type: "integer" },
      reason: text,
      status: text,
      type: text
    }
  }
}

const instanceSchema = (spec: SimpleSchema.JsonSchema, status: Expression.Template): SimpleSchema.JsonSchema => {
  const declared = statusSchema(status)
  const fields = isMapping(declared["properties"]) ? declared["properties"] : {}
  return {
    type: "object",
    properties: {
      apiVersion: text,
      kind: text,
      metadata: { type: "object" },
      spec,
      status: {
        type: "object",
        properties: { ...fields, state: text, paused: { type: "boolean" }, conditions: conditionsSchema }
      }
    }
  }
}

/** What a status will look like, from the types of its expressions. */
const statusSchema = (template: Expression.Template): SimpleSchema.JsonSchema => {
  switch (template._tag) {
    case "Literal":
      return template.value === null ? {} : literalSchema(template.value)
    case "Text":
      return text
    case "Whole":
      return Cel.schemaOf(template.expression.type)
    case "List":
      return { type: "array", items: { "x-kubernetes-preserve-unknown-fields": true } }
    case "Map":
      return {
        type: "object",
        properties: Object.fromEntries(template.entries.map(([key, item]) => [key, statusSchema(item)]))
      }
  }
}

const literalSchema = (value: Json): SimpleSchema.JsonSchema => {
  if (typeof value === "number") return { type: Number.isInteger(value) ? "integer" : "number" }
  return typeof value === "object" ? { "x-kubernetes-preserve-unknown-fields": true } : { type: typeof value }
}
