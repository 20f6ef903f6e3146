/**
 * P9: a status does not lie. A `Ready` condition that is `True` of the generation of now says that the object matches: it
 * must, or must have done so since that generation began, for a pass may have read a world that has moved on. And a
 * condition's transition time moves only with its status.
 */
import { Resource } from "setpoint"
import type { Change } from "../story.ts"
import * as World from "../world.ts"
import { nameOf, objects } from "./objects.ts"
import { guarded } from "./predicates.ts"

interface Condition {
  readonly type: string
  readonly status: string
  readonly lastTransitionTime: string | undefined
  readonly observedGeneration: number | undefined
}

export const onChange = (world: World.World, change: Change): void => {
  note(world, change)
  if (change.type === "removed" || World.isOutsider(world, change.by)) return
  if (change.before !== undefined) timesMoveWithTheStatus(world, change.before, change.object)
  readyMeansMatching(world, change.object)
}

/** Who moved what, and which objects match as they are wanted now. */
const note = (world: World.World, { before, by, object, type }: Change): void => {
  const { matched, movedAt, touchedAt } = world.notes
  const { generation, uid } = object.metadata
  if (before?.metadata.generation !== generation) {
    movedAt.set(uid, { loopSteps: world.loop.steps, workloadSteps: world.stepsTaken })
  }
  if (World.isOutsider(world, by)) touchedAt.set(uid, world.loop.steps)
  if (type === "removed") { for (const map of [matched, movedAt]) map.delete(uid) }
  const { matches } = world.spec
  if (matches === undefined) return
  for (const kind of world.spec.of) {
    for (const raw of objects(world)) {
      const { generation = 0, uid } = raw.metadata
      if (raw.kind !== kind.address.kind || matched.get(uid) === generation) continue
      const decoded = kind.decode(raw)
      if (decoded._tag === "Failure") continue
      if (guarded(world, "matches", () => matches(decoded.success, world.view)) === true) matched.set(uid, generation)
      else world.wasUnmatched ||= !Resource.isMarkedForDeletion(raw)
    }
  }
}

const readyMeansMatching = (world: World.World, object: Resource.Raw): void => {
  const { generation, uid } = object.metadata
  const isAsked = world.spec.of.some(({ address }) => address.kind === object.kind)
  if (world.spec.matches === undefined || !isAsked || Resource.isMarkedForDeletion(object)) return
  const ready = conditionsOf(object).find(({ type }) => type === "Ready")
  const observed = ready?.observedGeneration ?? statusOf(object)["observedGeneration"]
  if (ready?.status !== "True" || observed !== generation || world.notes.matched.get(uid) === generation) return
  if (wasInterferedWith(world, uid)) return
  World.violate(world, "P9", `${nameOf(object)} says it is Ready at generation ${generation}, and never matched it`)
}

/** Whoever else changed the world since, here or outside, may have undone in between what the pass had seen. */
const wasInterferedWith = ({ notes, stepsTaken }: World.World, uid: string): boolean => {
  const moved = notes.movedAt.get(uid)
  return moved === undefined || moved.workloadSteps !== stepsTaken ||
    [...notes.touchedAt].some(([other, step]) => other !== uid && step >= moved.loopSteps)
}

const timesMoveWithTheStatus = (world: World.World, before: Resource.Raw, after: Resource.Raw): void => {
  const known = conditionsOf(before)
  for (const { lastTransitionTime, status, type } of conditionsOf(after)) {
    const was = known.find((condition) => condition.type === type)
    if (was === undefined || was.status !== status || was.lastTransitionTime === undefined) continue
    if (was.lastTransitionTime === lastTransitionTime) continue
    World.violate(world, "P9", `the transition time of ${type} of ${nameOf(after)} moved, and it is still ${status}`)
  }
}

const statusOf = ({ status }: Resource.Raw): { readonly [field: string]: unknown } => fieldsOf(status)

const conditionsOf = (object: Resource.Raw): ReadonlyArray<Condition> => {
  const { conditions } = statusOf(object)
  return Array.isArray(conditions) ? conditions.flatMap((condition: unknown) => conditionOf(fieldsOf(condition))) : []
}

const conditionOf = (
  { lastTransitionTime, observedGeneration, status, type }: { readonly [field: string]: unknown }
): ReadonlyArray<Condition> =>
  typeof type !== "string" || typeof status !== "string" ? [] : [{
    type,
    status,
    lastTransitionTime: typeof lastTransitionTime === "string" ? lastTransitionTime : undefined,
    observedGeneration: typeof observedGeneration === "number" ? observedGeneration : undefined
  }]

const fieldsOf = (value: unknown): { readonly [field: string]: unknown } =>
  typeof value === "object" && value !== null ? Object.fromEntries(Object.entries(value)) : {}
