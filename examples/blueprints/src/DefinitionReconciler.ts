/**
 * The reconciler of definitions: each one that is right is a kind, with a reconciler for its instances, for as long as it
 * is there. One that is no longer right keeps the last that was; one that goes waits for its instances to go first.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import {
  Condition,
  Controller,
  DynamicController,
  type EventRecorder,
  Finalizer,
  Kind,
  Outcome,
  Reconciler,
  Store
} from "setpoint"
import * as Crd from "./crd.ts"
import * as Definition from "./definition.ts"
import type { Flaw } from "./flaws.ts"
import * as InstanceReconciler from "./InstanceReconciler.ts"
import { Kinds } from "./Kinds.ts"
import * as Names from "./names.ts"
import * as World from "./World.ts"

export const ResourceGraphDefinition = Kind.make({
  group: Names.group,
  version: "v1alpha1",
  kind: "ResourceGraphDefinition",
  scope: "Cluster",
  spec: Schema.Record(Schema.String, Schema.Json),
  status: Schema.Struct({
    state: Schema.Literals(["Active", "Inactive", "Deleting"]),
    topologicalOrder: Schema.Array(Schema.String),
    conditions: Condition.List
  })
})

export type ResourceGraphDefinition = Kind.Resource<typeof ResourceGraphDefinition>

/** A definition at work, and the text that it was compiled from. By the name of the ResourceGraphDefinition. */
type State = Map<string, { readonly specText: string; readonly definition: Definition.Definition }>

/** Reconciles definitions while the Layer lives. */
export const layer: Layer.Layer<
  never,
  Controller.RegistrationError,
  Controller.Controller | DynamicController.DynamicController | EventRecorder.EventRecorder | Store.Store | Kinds
> = Layer.effectDiscard(Effect.gen(function*() {
  const controller = yield* Controller.Controller
  const state: State = new Map()
  yield* controller.register(Reconciler.make(ResourceGraphDefinition, {
    track: true,
    reconcile: (request) =>
      Effect.flatMap(
        Store.get(ResourceGraphDefinition, request),
        (object) => Finalizer.run(finalizerOf(state), object, (object) => activate(state, object))
      )
  }))
}))

const activate = Effect.fnUntraced(function*(state: State, object: ResourceGraphDefinition) {
  const kinds = yield* Kinds
  const { name } = object.metadata
  const current = state.get(name)
  const specText = JSON.stringify(object.spec)
  const compiled = current?.specText === specText
    ? Result.succeed(current.definition)
    : Definition.compile(documentOf(object), kinds.schemaOf)
  const flaws = Result.isFailure(compiled)
    ? compiled.failure
    : [...yield* taken(name, compiled.success), ...yield* left(name, compiled.success)]
  if (Result.isFailure(compiled) || flaws.length > 0) {
    yield* report(object, current?.definition, [rejected(flaws), Result.isFailure(compiled) ? kindUnknown : kindTaken])
    return Outcome.done
  }
  const definition = compiled.success
  yield* declareKind(name, definition)
  if (definition !== current?.definition) {
    yield* kinds.declare({ ...definition.kind.address, schema: definition.schema })
    yield* start(state, name, specText, definition)
  }
  yield* report(object, definition, [accepted, kindReady, controllerReady])
  return Outcome.done
})

const start = Effect.fnUntraced(
  function*(state: State, name: string, specText: string, definition: Definition.Definition) {
    const before = state.get(name)?.definition.kind.groupKind
    yield* DynamicController.register(InstanceReconciler.make(definition))
    state.set(name, { specText, definition })
    // The same name was swapped; the kind of another name is no longer this definition's.
    if (before !== undefined && before !== definition.kind.groupKind) yield* DynamicController.deregister(before)
  }
)

const documentOf = ({ metadata: { name }, spec }: ResourceGraphDefinition) => ({ metadata: { name }, spec })

const kindOfCrds = Effect.flatMap(Kinds, (kinds) => kinds.of(Crd.apiVersion, Crd.kind))

/**
 * A kind's CustomResourceDefinition says whose it is: that of the definition that made it, as long as that one is there.
 * What is read here wakes the one that is refused.
 */
const taken = Effect.fnUntraced(function*(name: string, definition: Definition.Definition) {
  const crd = yield* World.find(yield* kindOfCrds, Crd.nameOf(definition))
  if (crd === undefined) return []
  const refuse = (why: string): ReadonlyArray<Flaw> => [{ field: "spec.schema.kind", why }]
  const { groupKind } = definition.kind
  const owner = crd.metadata.labels?.[Names.labels.definition]
  if (owner === undefined) return refuse(`${groupKind} has a CustomResourceDefinition that no definition made`)
  if (owner === name || (yield* World.find(ResourceGraphDefinition, owner)) === undefined) return []
  return refuse(`${groupKind} is made by the definition ${owner}`)
})

/** A definition that turns to another kind would leave the instances of the one before without a reconciler. */
const left = Effect.fnUntraced(function*(name: string, definition: Definition.Definition) {
  const flaws: Array<Flaw> = []
  for (
    const crd of yield* World.list({ apiVersion: Crd.apiVersion, kind: Crd.kind }, `${Names.labels.definition}=${name}`)
  ) {
    const before = Crd.declared(crd)
    if (before === undefined || crd.metadata.name === Crd.nameOf(definition)) continue
    const apiVersion = `${before.group}/${before.version}`
    if ((yield* World.countIn({ apiVersion, kind: before.kind })) === 0) continue
    const why = `cannot change while there are instances of ${before.kind}; make another definition, or delete them`
    flaws.push({ field: "spec.schema.kind", why })
  }
  return flaws
})

/**
 * Writes the kind's CustomResourceDefinition, which outlives the definition, as its instances' data do. Of two definitions
 * that come at once one creates it, and the other one fails and sees, when it is tried again, that it is taken.
 */
const declareKind = Effect.fnUntraced(function*(name: string, definition: Definition.Definition) {
  const kind = yield* kindOfCrds
  const { annotations, labels } = Crd.metadataOf(definition)
  const own = { [Names.labels.owned]: "true", [Names.labels.definition]: name }
  const wanted = {
    metadata: {
      name: Crd.nameOf(definition),
      labels: { ...labels, ...own },
      ...(annotations === undefined ? {} : { annotations })
    },
    spec: Crd.specOf(definition)
  }
  const found = yield* World.find(kind, wanted.metadata.name)
  yield* found === undefined
    ? Store.create(kind, wanted)
    : Store.apply(kind, wanted, { manager: Names.manager, force: true })
})

// ---------------------------------------------------------------------------------------------------------------------
// the end of a definition
// ---------------------------------------------------------------------------------------------------------------------

const finalizerOf = (state: State) =>
  Finalizer.make(ResourceGraphDefinition, {
    name: Names.finalizer,
    cleanup: (object) => deactivate(state, object)
  })

const deactivate = Effect.fnUntraced(function*(state: State, object: ResourceGraphDefinition) {
  const kinds = yield* Kinds
  const { name } = object.metadata
  const compiled = Definition.compile(documentOf(object), kinds.schemaOf)
  const definition = state.get(name)?.definition ?? Result.getOrUndefined(compiled)
  if (definition === undefined || (yield* taken(name, definition)).length > 0) return // it never made a kind
  const count = yield* World.count(definition.kind)
  if (count > 0) {
    // Their finalizers can be taken away by their reconciler alone; the end of the last one wakes this pass.
    if (!state.has(name)) yield* start(state, name, JSON.stringify(object.spec), definition)
    yield* report(object, definition, [accepted, kindReady, instancesLeft(count)], "Deleting")
    return Finalizer.notYet(Outcome.done)
  }
  state.delete(name)
  yield* DynamicController.deregister(definition.kind.groupKind)
})

// ---------------------------------------------------------------------------------------------------------------------
// status
// ---------------------------------------------------------------------------------------------------------------------

const condition = (type: string, status: Condition.Status, reason: string, message = "") =>
  Condition.make({ type, status, reason, message })

const accepted = condition("ResourceGraphAccepted", "True", "Valid", "resource graph and schema are valid")
const kindReady = condition("KindReady", "True", "Ready", "kind is declared")
const controllerReady = condition("ControllerReady", "True", "Running", "instances are reconciled")
const kindUnknown = condition("KindReady", "Unknown", "NotCompiled", "the definition is not valid")
const kindTaken = condition("KindReady", "False", "Refused", "the kind cannot be made")

const rejected = (flaws: ReadonlyArray<Flaw>) =>
  condition(
    "ResourceGraphAccepted",
    "False",
    "InvalidResourceGraph",
    flaws.map(({ field, why }) => `${field}: ${why}`).join("; ")
  )

const instancesLeft = (count: number) =>
  condition("ControllerReady", "False", "InstancesLeft", `waits for ${count} instances to be deleted`)

const report = (
  object: ResourceGraphDefinition,
  definition: Definition.Definition | undefined,
  parts: ReadonlyArray<Condition.Condition>,
  state?: "Deleting"
) => {
  const ready = Condition.summarize(parts)
  return Store.updateStatus(ResourceGraphDefinition, object, {
    state: state ?? (ready.status === "True" ? "Active" : "Inactive"),
    topologicalOrder: definition?.nodes.map(({ id }) => id) ?? [],
    conditions: [...parts, ready]
  })
}
