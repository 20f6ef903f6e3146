/**
 * The reconciler of one definition's instances. The rules decide (`instanceRules.ts`); here it is done.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Finalizer, type Kind, Outcome, Reconciler, Store, type StoreError } from "setpoint"
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
  const errors: Array<StoreError.StoreError | Kind.InvalidKind> = []
  for (const node of definition.nodes) {
    yield* Effect.catch(settle(run, node), (error) => {
      errors.push(error)
      Rules.put(run, node, { _tag: "Failed", why: error.message })
      return Effect.void
    })
  }
  const present = yield* belongings(instance)
  yield* Effect.forEach(Rules.unwanted(run, present), World.remove, { discard: true })
  yield* Store.updateStatus(definition.kind, instance, Rules.statusOf(run))
  const tell = yield* Progress
  tell(run)
  const [error] = errors
  return error === undefined ? Outcome.done : yield* error
})

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

const recordedKinds = (instance: AnyObject): ReadonlyArray<World.Place> =>
  (instance.metadata.annotations?.[kindsAnnotation] ?? "").split(",").filter((text) => text !== "").map((text) => {
    const [apiVersion, kind = ""] = text.split(" ")
    return { apiVersion, kind }
  })

const manage = (definition: Definition, instance: AnyObject) => {
  const { annotations, labels } = instance.metadata
  const own = definition.nodes.filter(({ source }) => source._tag === "Own")
  const kinds = [...new Set([...recordedKinds(instance), ...own].map(kindText))].toSorted().join(",")
  const wanted = { [Names.labels.owned]: "true", [Names.labels.definition]: definition.name }
  const isManaged = Object.entries(wanted).every(([label, value]) => labels?.[label] === value) &&
    (annotations?.[kindsAnnotation] ?? "") === kinds
  if (isManaged) return Effect.succeed(instance)
  const merge = { metadata: { labels: wanted, annotations: { [kindsAnnotation]: kinds } } }
  return Store.patch(definition.kind, instance, { merge })
}

/** All objects that were made for an instance. */
const belongings = (instance: AnyObject) =>
  Effect.map(
    Effect.forEach(
      recordedKinds(instance),
      (kind) => World.list(kind, `${Names.labels.instanceId}=${instance.metadata.uid}`)
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
    const present = yield* belongings(instance)
    if (present.length === 0) return
    const gone = yield* Effect.forEach(Rules.deletable(definition, present), World.remove)
    if (gone.includes(true)) continue
    yield* Store.updateStatus(definition.kind, instance, (current) => Rules.deletingStatus(current, present))
    return Finalizer.notYet(Outcome.done)
  }
})
