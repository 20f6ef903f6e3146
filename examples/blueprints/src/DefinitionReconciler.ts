/**
 * The reconciler of definitions: each one that is right is a kind, with a reconciler for its instances, for as long as it
 * is there. One that is no longer right keeps the last that was; one that goes waits for its instances to go first.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { Condition, Controller, Finalizer, Kind, Outcome, Reconciler, Store } from "setpoint"
import * as Crd from "./crd.ts"
import * as Definition from "./definition.ts"
import type { Flaw } from "./flaws.ts"
import * as InstanceReconciler from "./InstanceReconciler.ts"
import { Kinds } from "./Kinds.ts"
import * as Names from "./names.ts"

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

/** A definition at work: the text that it was compiled from, and the Scope of its registration. */
interface Active {
  readonly specText: string
  readonly definition: Definition.Definition
  readonly scope: Scope.Closeable
}

interface State {
  /** By the name of the ResourceGraphDefinition. */
  readonly active: Map<string, Active>
  readonly scope: Scope.Scope
}

/** Reconciles definitions while the Layer lives; their registrations end with it. */
export const layer: Layer.Layer<
  never,
  Controller.RegistrationError,
  Controller.Controller | Store.Store | Kinds
> = Layer.effectDiscard(Effect.gen(function*() {
  const controller = yield* Controller.Controller
  const state: State = { active: new Map(), scope: yield* Effect.scope }
  yield* controller.register(Reconciler.make(ResourceGraphDefinition, {
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
  const current = state.active.get(name)
  const specText = JSON.stringify(object.spec)
  if (current?.specText === specText) {
    yield* report(object, current.definition, [accepted, kindReady, controllerReady])
    return Outcome.done
  }
  const compiled = Definition.compile(documentOf(object), kinds.schemaOf)
  const flaws = Result.isFailure(compiled) ? compiled.failure : taken(state, name, compiled.success)
  if (Result.isFailure(compiled) || flaws.length > 0) {
    yield* report(object, current?.definition, [rejected(flaws), Result.isFailure(compiled) ? kindUnknown : kindTaken])
    return Outcome.done
  }
  const definition = compiled.success
  yield* kinds.declare({ ...definition.kind.address, schema: definition.schema })
  yield* declareKind(object, definition)
  const scope = yield* register(state, definition)
  state.active.set(name, { specText, definition, scope })
  if (current !== undefined) yield* Scope.close(current.scope, Exit.void)
  yield* report(object, definition, [accepted, kindReady, controllerReady])
  return Outcome.done
})

const documentOf = ({ metadata: { name }, spec }: ResourceGraphDefinition) => ({ metadata: { name }, spec })

/** Two definitions cannot make one kind: the first has it. */
const taken = (state: State, name: string, definition: Definition.Definition): ReadonlyArray<Flaw> => {
  const { groupKind } = definition.kind
  const other = [...state.active.values()].find((active) =>
    active.definition.name !== name && active.definition.kind.groupKind === groupKind
  )
  return other === undefined
    ? []
    : [{ field: "spec.schema.kind", why: `${groupKind} is made by the definition ${other.definition.name}` }]
}

/** Registers before the older registration is closed: by the same name it takes the place of that one. */
const register = Effect.fnUntraced(function*(state: State, definition: Definition.Definition) {
  const controller = yield* Controller.Controller
  const scope = yield* Scope.fork(state.scope)
  const reconciler = yield* InstanceReconciler.make(definition)
  yield* controller.register(reconciler, { drain: 0 }).pipe(
    Scope.provide(scope),
    Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
  )
  return scope
})

/** Writes the kind's CustomResourceDefinition, which outlives the definition, as its instances' data do. */
const declareKind = Effect.fnUntraced(function*(object: ResourceGraphDefinition, definition: Definition.Definition) {
  const kind = yield* Effect.flatMap(Kinds, (kinds) => kinds.of(Crd.apiVersion, Crd.kind))
  const { annotations, labels } = Crd.metadataOf(definition)
  const own = { [Names.labels.owned]: "true", [Names.labels.definition]: object.metadata.name }
  yield* Store.apply(kind, {
    metadata: {
      name: Crd.nameOf(definition),
      labels: { ...labels, ...own },
      ...(annotations === undefined ? {} : { annotations })
    },
    spec: Crd.specOf(definition)
  }, { manager: Names.manager, force: true })
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
  const current = state.active.get(object.metadata.name)
  const compiled = Result.map(
    Definition.compile(documentOf(object), kinds.schemaOf),
    (definition) => taken(state, object.metadata.name, definition).length > 0 ? undefined : definition
  )
  const definition = current?.definition ?? Result.getOrUndefined(compiled)
  if (definition === undefined) return // it never made a kind
  const { items, undecodable } = yield* Store.list(definition.kind)
  const count = items.length + undecodable.length
  if (count > 0) {
    // Their finalizers can be taken away by their reconciler alone.
    if (current === undefined) {
      const scope = yield* register(state, definition)
      state.active.set(object.metadata.name, { specText: JSON.stringify(object.spec), definition, scope })
    }
    yield* report(object, definition, [accepted, kindReady, instancesLeft(count)], "Deleting")
    return Finalizer.notYet(Outcome.requeueAfter("1 second"))
  }
  state.active.delete(object.metadata.name)
  if (current !== undefined) yield* Scope.close(current.scope, Exit.void)
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
const kindTaken = condition("KindReady", "False", "Taken", "another definition makes this kind")

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
