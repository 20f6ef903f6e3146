/**
 * The reconciler of one definition's instances. The rules decide (`instanceRules.ts`); here it is done.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import {
  EventRecorder,
  Finalizer,
  type Kind,
  Outcome,
  Reconciler,
  type Resource,
  Store,
  type StoreError
} from "setpoint"
import type { Definition, Node } from "./definition.ts"
import * as Rules from "./instanceRules.ts"
import type { AnyObject } from "./Kinds.ts"
import * as Names from "./names.ts"
import * as World from "./World.ts"

/** Hears what each pass has found out: for pictures of what moves. Default: nobody. */
export const Progress: Context.Reference<(run: Rules.Run) => void> = Context.Reference<(run: Rules.Run) => void>(
  "blueprints/Progress",
  { defaultValue: () => () => {} }
)

/** What a pass reads is what wakes its instance (`track`): its objects, what it refers to, whether they are there or not. */
export const make = (definition: Definition) =>
  Reconciler.make(definition.kind, {
    name: definition.kind.groupKind,
    track: true,
    suspended: ({ metadata }) => metadata.annotations?.[Names.reconcileAnnotation] === "suspended",
    reconcile: (request) =>
      Effect.flatMap(
        Store.get(definition.kind, request),
        (instance) => Finalizer.run(finalizerOf(definition), instance, (instance) => bring(definition, instance))
      )
  })

/** Makes the world as the instance asks, as far as can be said now, and says in its status how far that is. */
const bring = Effect.fnUntraced(function*(definition: Definition, read: AnyObject) {
  const instance = yield* manage(definition, read)
  const run = Rules.start(definition, instance)
  const errors: Array<ApplyError> = []
  for (const node of definition.nodes) {
    yield* Effect.catch(settle(run, node), (error) => {
      errors.push(error)
      Rules.put(run, node, { _tag: "Failed", why: error.message })
      return Effect.void
    })
  }
  const present = yield* belongings(definition, instance)
  yield* Effect.forEach(Rules.unwanted(run, present), World.remove, { discard: true })
  yield* report(definition, instance, Rules.statusOf(run))
  const tell = yield* Progress
  tell(run)
  return yield* endOf(errors)
})

/** A refusal is a failure; what the same call can do later is no news to anybody: it is tried again. */
const endOf = (errors: ReadonlyArray<ApplyError>) => {
  const refusal = errors.find((error) => error._tag === "InvalidKind" || !error.retryable)
  return refusal === undefined ? Effect.succeed(errors.length === 0 ? Outcome.done : Outcome.requeue) : refusal
}

type ApplyError = StoreError.StoreError | Kind.InvalidKind

/** Writes the status, with an Event for each condition that has changed. */
const report = Effect.fnUntraced(function*(definition: Definition, instance: AnyObject, status: Rules.Status) {
  yield* Store.updateStatus(definition.kind, instance, status)
  for (const { message, reason, status: now, type } of Rules.transitions(statusOf(instance), status)) {
    yield* EventRecorder.record(instance, {
      type: now === "True" ? "Normal" : "Warning",
      reason: type,
      message: message === "" ? reason : message
    })
  }
})

/** A stored object is JSON. */
const statusOf = (instance: AnyObject) => instance["status"] as Resource.Json | undefined

const settle = Effect.fnUntraced(function*(run: Rules.Run, node: Node) {
  const step = Rules.next(run, node)
  switch (step._tag) {
    case "Settled":
      return
    case "Read": {
      const found = yield* World.findIn({ ...node, namespace: step.namespace }, step.name)
      return Rules.observe(run, node, found === undefined ? [] : [found])
    }
    case "List":
      return Rules.observe(run, node, yield* World.list({ ...node, namespace: step.namespace }, step.selector))
    case "Apply": {
      for (const wanted of step.wanted) {
        const obstacle = Rules.obstacle(run, yield* World.findIn(wanted, wanted.name))
        if (obstacle !== undefined) return Rules.put(run, node, obstacle)
      }
      return Rules.observe(run, node, yield* Effect.forEach(step.wanted, World.apply))
    }
  }
})

// ---------------------------------------------------------------------------------------------------------------------
// what an instance carries: labels, and the kinds that it ever made objects of
// ---------------------------------------------------------------------------------------------------------------------

/** Stored before the first object of a kind is made, so that no crash can leave one that nothing looks for. */
const kindsAnnotation = "internal.kro.run/kinds"

const kindText = ({ apiVersion, kind }: World.Place): string => `${apiVersion} ${kind}`

/** What is no kind has no objects: somebody else has written it. */
const recordedKinds = (instance: AnyObject): ReadonlyArray<World.Place> =>
  (instance.metadata.annotations?.[kindsAnnotation] ?? "").split(",").flatMap((text) => {
    const parts = /^(\S+) ([A-Z]\w*)$/.exec(text)
    return parts === null ? [] : [{ apiVersion: parts[1], kind: parts[2] }]
  })

/** Of now and of before, each once. */
const kindsOf = (definition: Definition, instance: AnyObject): ReadonlyArray<World.Place> => {
  const own = definition.nodes.filter(({ source }) => source._tag === "Own")
  const byText = new Map([...recordedKinds(instance), ...own].map((kind) => [kindText(kind), kind]))
  return [...byText.keys()].toSorted().flatMap((text) => byText.get(text) ?? [])
}

const manage = (definition: Definition, instance: AnyObject) => {
  const { annotations, labels } = instance.metadata
  const kinds = kindsOf(definition, instance).map(kindText).join(",")
  const wanted = { [Names.labels.owned]: "true", [Names.labels.definition]: definition.name }
  const isManaged = Object.entries(wanted).every(([label, value]) => labels?.[label] === value) &&
    (annotations?.[kindsAnnotation] ?? "") === kinds
  if (isManaged) return Effect.succeed(instance)
  const merge = { metadata: { labels: wanted, annotations: { [kindsAnnotation]: kinds } } }
  return Store.patch(definition.kind, instance, { merge })
}

/** All objects that were made for an instance. */
const belongings = (definition: Definition, instance: AnyObject) =>
  Effect.map(
    Effect.forEach(
      kindsOf(definition, instance),
      (kind) =>
        Effect.catchTag(
          World.list(kind, `${Names.labels.instanceId}=${instance.metadata.uid}`),
          "InvalidKind",
          () => Effect.succeed([])
        )
    ),
    (found) => found.flat()
  )

// ---------------------------------------------------------------------------------------------------------------------
// deletion
// ---------------------------------------------------------------------------------------------------------------------

const finalizerOf = (definition: Definition) =>
  Finalizer.make(definition.kind, { name: Names.finalizer, cleanup: (instance) => cleanUp(definition, instance) })

/** In reverse order, as far as it goes now; the end of what is still there makes the next pass. */
const cleanUp = Effect.fnUntraced(function*(definition: Definition, instance: AnyObject) {
  for (;;) {
    const present = yield* belongings(definition, instance)
    if (present.length === 0) return
    const gone = yield* Effect.forEach(Rules.deletable(definition, present), World.remove)
    if (gone.includes(true)) continue
    yield* report(definition, instance, Rules.deletingStatus(statusOf(instance), present))
    return Finalizer.notYet(Outcome.done)
  }
})
