/**
 * What becomes of an instance, as pure rules over one record: which resource is left out, waits, or is to be as its
 * template says; what the instance's status says of it; what is no longer wanted; what goes next when it is deleted.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { Condition, type Resource, Selector } from "setpoint"
import * as Cel from "./cel.ts"
import * as Definition from "./definition.ts"
import * as Expression from "./expression.ts"
import * as Graph from "./graph.ts"
import * as Names from "./names.ts"

type Json = Resource.Json
type Mapping = { readonly [key: string]: Json }

/** Where a resource of an instance is. */
export type Place =
  | { readonly _tag: "Skipped"; readonly why: string }
  | { readonly _tag: "Waiting"; readonly why: string }
  | { readonly _tag: "Failed"; readonly why: string }
  | { readonly _tag: "NotReady"; readonly why: string }
  | { readonly _tag: "Ready" }

/** One pass over an instance. `places` is what has been decided; `values` is what expressions see. */
export interface Run {
  readonly definition: Definition.Definition
  readonly instance: Resource.Raw
  readonly places: Map<string, Place>
  readonly values: { [name: string]: unknown }
  /** What is wanted of each resource that could be told: others keep what they have. */
  readonly wanted: Map<string, ReadonlyArray<Wanted>>
}

export const start = (definition: Definition.Definition, instance: Resource.Raw): Run => ({
  definition,
  instance,
  places: new Map(),
  values: { schema: Cel.toCel(seenOf(instance), definition.seen) },
  wanted: new Map()
})

const seenOf = (instance: Resource.Raw): Json => {
  const { status: _, ...seen } = instance
  return seen as unknown as Json // a stored object is JSON
}

/** An object as it shall be. */
export interface Wanted {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string | undefined
  readonly name: string
  readonly object: Mapping
}

/** What has to be done for a resource next; `Settled`: nothing, its place is decided. */
export type Step =
  | { readonly _tag: "Settled" }
  | { readonly _tag: "Apply"; readonly wanted: ReadonlyArray<Wanted> }
  | { readonly _tag: "Read"; readonly namespace: string | undefined; readonly name: string }
  | { readonly _tag: "List"; readonly namespace: string | undefined; readonly selector: Selector.Selector }

const settled: Step = { _tag: "Settled" }

/** Resources are asked for in the order of the definition, so that all that one waits for has its place. */
export const next = (run: Run, node: Definition.Node): Step => {
  const held = heldBy(run, node)
  if (held !== undefined) return settle(run, node, held)
  for (const condition of node.includeWhen) {
    const included = condition.evaluate(run.values)
    if (Result.isFailure(included)) return settle(run, node, troubled(included.failure))
    if (included.success !== true) return settle(run, node, { _tag: "Skipped", why: `\${${condition.source}}` })
  }
  return node.source._tag === "Own" ? applyStep(run, node, node.source.template) : readStep(run, node, node.source)
}

const settle = (run: Run, node: Definition.Node, place: Place): Step => {
  run.places.set(node.id, place)
  if (place._tag === "Skipped") run.wanted.set(node.id, [])
  return settled
}

/** What one waits for leaves it out with it, or makes it wait. */
const heldBy = (run: Run, node: Definition.Node): Place | undefined => {
  const others = [...run.definition.dependencies.get(node.id) ?? []].map((id) => [id, placeOf(run, id)] as const)
  const skipped = others.find(([, place]) => place._tag === "Skipped")
  if (skipped !== undefined) return { _tag: "Skipped", why: `${skipped[0]} is left out` }
  const waited = others.filter(([, place]) => place._tag !== "Ready").map(([id]) => id)
  return waited.length === 0 ? undefined : { _tag: "Waiting", why: `waits for ${waited.join(", ")}` }
}

const placeOf = (run: Run, id: string): Place => {
  const place = run.places.get(id)
  if (place === undefined) throw new Error(`instance: ${id} is asked about before its turn`)
  return place
}

const troubled = ({ _tag, why }: Cel.Trouble): Place => ({ _tag: _tag === "Missing" ? "Waiting" : "Failed", why })

// ---------------------------------------------------------------------------------------------------------------------
// own resources
// ---------------------------------------------------------------------------------------------------------------------

const applyStep = (run: Run, node: Definition.Node, template: Expression.Template): Step => {
  const rounds = expand(run, node)
  if (Result.isFailure(rounds)) return settle(run, node, troubled(rounds.failure))
  const wanted: Array<Wanted> = []
  const seen = new Set<string>()
  for (const [index, values] of rounds.success.entries()) {
    const made = make(run, node, template, values, { index, size: rounds.success.length })
    if (Result.isFailure(made)) return settle(run, node, troubled(made.failure))
    const key = `${made.success.namespace ?? ""}/${made.success.name}`
    if (seen.has(key)) {
      return settle(run, node, { _tag: "Failed", why: `two items have the name ${key}; a name must hold what differs` })
    }
    seen.add(key)
    wanted.push(made.success)
  }
  run.wanted.set(node.id, wanted)
  return { _tag: "Apply", wanted }
}

/** The values of each round of the loops, outer loops first; one round without loops. */
const expand = (run: Run, node: Definition.Node): Result.Result<ReadonlyArray<Cel.Values>, Cel.Trouble> => {
  let rounds: ReadonlyArray<Cel.Values> = [run.values]
  for (const { list, name } of node.iterators) {
    const items = list.evaluateRaw(run.values)
    if (Result.isFailure(items)) return Result.fail(items.failure)
    if (!Array.isArray(items.success)) return Result.fail({ _tag: "Wrong", why: `\${${list.source}} gave no list` })
    const values: ReadonlyArray<unknown> = items.success
    if (rounds.length * values.length > maxItems) {
      return Result.fail({ _tag: "Wrong", why: `would make more than ${maxItems} objects` })
    }
    rounds = rounds.flatMap((round) => values.map((value) => ({ ...round, [name]: value })))
  }
  return Result.succeed(rounds)
}

/** Objects that one resource may become. */
const maxItems = 10_000

const make = (
  run: Run,
  node: Definition.Node,
  template: Expression.Template,
  values: Cel.Values,
  round: { readonly index: number; readonly size: number }
): Result.Result<Wanted, Cel.Trouble> => {
  const rendered = Expression.render(template, values)
  if (Result.isFailure(rendered)) return Result.fail(rendered.failure)
  const object = isMapping(rendered.success) ? rendered.success : {}
  const metadata = isMapping(object["metadata"]) ? object["metadata"] : {}
  const name = metadata["name"]
  if (typeof name !== "string" || name === "") {
    return Result.fail({ _tag: "Wrong", why: `metadata.name must be a text, but is ${JSON.stringify(name)}` })
  }
  const namespace = namespaceFor(run, node, metadata["namespace"])
  const labels = {
    ...(isMapping(metadata["labels"]) ? metadata["labels"] : {}),
    ...ownLabels(run, node),
    ...(node.iterators.length === 0
      ? {}
      : { [Names.labels.index]: String(round.index), [Names.labels.size]: String(round.size) })
  }
  return Result.succeed({
    apiVersion: node.apiVersion,
    kind: node.kind,
    namespace,
    name,
    object: { ...object, metadata: { ...metadata, labels, ...(namespace === undefined ? {} : { namespace }) } }
  })
}

/** As written; else the instance's. `undefined`: the kind, or the instance, stands in none. */
const namespaceFor = (run: Run, node: Definition.Node, given: Json | undefined): string | undefined => {
  if (Names.isClusterScoped(node.apiVersion, node.kind)) return undefined
  return typeof given === "string" && given !== "" ? given : run.instance.metadata.namespace
}

const ownLabels = (run: Run, node: Definition.Node): { readonly [label: string]: string } => ({
  [Names.labels.owned]: "true",
  [Names.labels.node]: node.id,
  ...instanceLabels(run.instance)
})

/** What names an instance on all that belongs to it. */
export const instanceLabels = ({ apiVersion, kind, metadata }: Resource.Any): { readonly [label: string]: string } => ({
  [Names.labels.instanceId]: metadata.uid,
  [Names.labels.instanceName]: labelText(metadata.name),
  ...(metadata.namespace === undefined ? {} : { [Names.labels.instanceNamespace]: metadata.namespace }),
  [Names.labels.instanceGroup]: labelText(Names.groupOf(apiVersion)),
  [Names.labels.instanceKind]: kind
})

/** A label holds 63 characters; `instance-id` finds an instance whose name has more. */
const labelText = (text: string): string => text.slice(0, 63).replace(/[^a-zA-Z0-9]+$/, "")

/** Who else a present object belongs to, or why it cannot be changed; `undefined`: it may be. */
export const obstacle = (run: Run, present: Resource.Any | undefined): Place | undefined => {
  if (present === undefined) return undefined
  const name = `${present.kind} ${present.metadata.name}`
  const owner = present.metadata.labels?.[Names.labels.instanceId]
  if (owner !== undefined && owner !== run.instance.metadata.uid) {
    const { [Names.labels.instanceKind]: kind, [Names.labels.instanceName]: other } = present.metadata.labels ?? {}
    return { _tag: "Failed", why: `${name} belongs to ${kind} ${other}; choose another name` }
  }
  return present.metadata.deletionTimestamp === undefined
    ? undefined
    : { _tag: "Waiting", why: `${name} is being deleted` }
}

/** Says where a resource is, where that is not for its template or its objects to tell. */
export const put = (run: Run, node: Definition.Node, place: Place): void => void run.places.set(node.id, place)

// ---------------------------------------------------------------------------------------------------------------------
// what others own
// ---------------------------------------------------------------------------------------------------------------------

const readStep = (
  run: Run,
  node: Definition.Node,
  source: Exclude<Definition.Source, { readonly _tag: "Own" }>
): Step => {
  const rendered = Expression.render(source.metadata, run.values)
  if (Result.isFailure(rendered)) return settle(run, node, troubled(rendered.failure))
  const metadata = isMapping(rendered.success) ? rendered.success : {}
  const namespace = namespaceFor(run, node, metadata["namespace"])
  if (source._tag === "Named") {
    const name = metadata["name"]
    if (typeof name === "string" && name !== "") return { _tag: "Read", namespace, name }
    return settle(run, node, { _tag: "Failed", why: `the name must be a text, but is ${JSON.stringify(name)}` })
  }
  const selector = Result.flatMap(decodeSelector(metadata["selector"]), Selector.fromLabelSelector)
  if (Result.isFailure(selector)) return settle(run, node, { _tag: "Failed", why: selector.failure.message })
  return { _tag: "List", namespace, selector: selector.success }
}

const decodeSelector = Schema.decodeUnknownResult(Selector.LabelSelector)

// ---------------------------------------------------------------------------------------------------------------------
// what is there
// ---------------------------------------------------------------------------------------------------------------------

/** Says what is there of a resource: its place follows, and expressions see it. */
export const observe = (run: Run, node: Definition.Node, objects: ReadonlyArray<Resource.Raw>): void => {
  const values = objects.map((object) => Cel.toCel(object as unknown as Json))
  if (!Definition.isList(node) && values.length === 0) {
    run.places.set(node.id, { _tag: "Waiting", why: `there is no ${node.kind} of this name` })
    return
  }
  run.values[node.id] = Definition.isList(node) ? values : values[0]
  const self = Definition.isList(node) ? "each" : node.id
  run.places.set(node.id, readiness(node, objects, values, self))
}

const readiness = (
  node: Definition.Node,
  objects: ReadonlyArray<Resource.Raw>,
  values: ReadonlyArray<unknown>,
  self: string
): Place => {
  for (const [index, value] of values.entries()) {
    for (const condition of node.readyWhen) {
      const ready = condition.evaluate({ [self]: value })
      if (Result.isFailure(ready) && ready.failure._tag === "Wrong") return troubled(ready.failure)
      if (Result.isSuccess(ready) && ready.success === true) continue
      const name = objects[index].metadata.name
      return { _tag: "NotReady", why: `${node.kind} ${name} is not ready: \${${condition.source}}` }
    }
  }
  return { _tag: "Ready" }
}

// ---------------------------------------------------------------------------------------------------------------------
// what is no longer wanted
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Objects of the instance that no resource wants. A resource that could not be told this time keeps what it has; one
 * that the definition no longer lists keeps nothing.
 */
export const unwanted = (run: Run, present: ReadonlyArray<Resource.Raw>): ReadonlyArray<Resource.Raw> => {
  const listed = new Set(run.definition.nodes.map(({ id }) => id))
  const keys = new Set([...run.wanted.values()].flat().map(keyOfWanted))
  return present.filter((object) => {
    const id = object.metadata.labels?.[Names.labels.node] ?? ""
    if (listed.has(id) && !run.wanted.has(id)) return false
    return !keys.has(keyOf(object)) && object.metadata.deletionTimestamp === undefined
  })
}

const keyOfWanted = ({ apiVersion, kind, name, namespace }: Wanted): string =>
  `${Names.groupKind(apiVersion, kind)} ${namespace ?? ""}/${name}`

const keyOf = ({ apiVersion, kind, metadata }: Resource.Any): string =>
  `${Names.groupKind(apiVersion, kind)} ${metadata.namespace ?? ""}/${metadata.name}`

/**
 * What goes next of a deleted instance's objects: those that no other one waits for any more. An object of a resource
 * that the definition does not list goes first: nothing that is listed can wait for it.
 */
export const deletable = (
  definition: Definition.Definition,
  present: ReadonlyArray<Resource.Raw>
): ReadonlyArray<Resource.Raw> => {
  const idOf = (object: Resource.Raw) => object.metadata.labels?.[Names.labels.node] ?? ""
  const left = new Set(present.map(idOf))
  const unlisted = present.filter((object) => !definition.dependencies.has(idOf(object)))
  const first = unlisted.length > 0 ?
    unlisted :
    present.filter((object) =>
      [...Graph.dependents(definition.dependencies, idOf(object))].every((id) => !left.has(id))
    )
  return first.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
}

// ---------------------------------------------------------------------------------------------------------------------
// status
// ---------------------------------------------------------------------------------------------------------------------

export type State = "ACTIVE" | "IN_PROGRESS" | "ERROR" | "DELETING"

/** A status as it is written: the definition's own fields, `state` and `conditions`. */
export interface Status {
  readonly [field: string]: Json
  readonly state: State
  readonly conditions: ReadonlyArray<Json>
}

export const statusOf = (run: Run): Status => {
  const failed = reasons(run, ["Failed"])
  const pending = reasons(run, ["Waiting", "NotReady"])
  const rendered = Expression.renderWhatIsThere(run.definition.status, run.values)
  const conditions = conditionsOf(
    failed.length === 0 ? resolved : unresolved(failed),
    failed.length === 0 && pending.length === 0
      ? condition("ResourcesReady", "True", "AllResourcesReady", "all resources are created and ready")
      : condition(
        "ResourcesReady",
        failed.length > 0 ? "False" : "Unknown",
        failed.length > 0 ? "ResourcesNotReady" : "ResourcesInProgress",
        [...failed, ...pending].join("; ")
      )
  )
  const state = failed.length > 0 ? "ERROR" : pending.length > 0 ? "IN_PROGRESS" : "ACTIVE"
  return { ...(isMapping(rendered) ? rendered : {}), state, conditions }
}

export const deletingStatus = (current: Json | undefined, left: ReadonlyArray<Resource.Raw>): Status => ({
  ...(isMapping(current) ? current : {}),
  state: "DELETING",
  conditions: conditionsOf(
    resolved,
    condition(
      "ResourcesReady",
      "False",
      "Deleting",
      `still there: ${left.map(({ kind, metadata }) => `${kind} ${metadata.name}`).slice(0, 10).join(", ")}`
    )
  )
})

/** Conditions whose status is another one than before, or that were not there. */
export const transitions = (before: Json | undefined, after: Status): ReadonlyArray<Condition.Condition> => {
  const known = isMapping(before) ? decodeConditions(before["conditions"]) : []
  return decodeConditions(after.conditions).filter(({ status, type }) => Condition.find(known, type)?.status !== status)
}

const decodeConditions = (list: unknown): Condition.List =>
  Result.getOrElse(Schema.decodeUnknownResult(Condition.List)(list), () => [])

const reasons = (run: Run, tags: ReadonlyArray<Place["_tag"]>): ReadonlyArray<string> =>
  [...run.places].flatMap(([id, place]) =>
    place._tag !== "Ready" && tags.includes(place._tag) ? [`${id}: ${place.why}`] : []
  )

const condition = (type: string, status: Condition.Status, reason: string, message: string): Condition.Condition =>
  Condition.make({ type, status, reason, message })

const managed = condition(
  "InstanceManaged",
  "True",
  "Managed",
  "instance is properly managed with finalizers and labels"
)
const resolved = condition("GraphResolved", "True", "Resolved", "runtime graph created and all resources resolved")

const unresolved = (why: ReadonlyArray<string>): Condition.Condition =>
  condition("GraphResolved", "False", "ResolutionFailed", why.join("; "))

const conditionsOf = (graph: Condition.Condition, ready: Condition.Condition): ReadonlyArray<Json> => {
  const parts = [managed, graph, ready]
  return [...parts, Condition.summarize(parts)].map((condition) => ({ ...condition }) as Mapping)
}

const isMapping = (value: unknown): value is Mapping =>
  typeof value === "object" && value !== null && !Array.isArray(value)
