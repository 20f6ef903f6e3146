/** P8: observedGeneration never falls, is never above the generation, and is equal to it at rest. */
import type { Resource } from "setpoint"
import type { Change } from "../story.ts"
import * as World from "../world.ts"
import { nameOf, objects } from "./objects.ts"

const observedGenerationOf = (object: Resource.Raw): number | undefined => {
  const { status } = object
  if (typeof status !== "object" || status === null || !("observedGeneration" in status)) return undefined
  return typeof status.observedGeneration === "number" ? status.observedGeneration : undefined
}

/** P8: never falls, never above the generation. */
export const onChange = (world: World.World, { object, type }: Change): void => {
  const observed = observedGenerationOf(object)
  if (observed === undefined || type === "removed") return
  const before = world.observed.get(object.metadata.uid)
  const about = `observedGeneration of ${nameOf(object)}`
  if (before !== undefined && observed < before) {
    World.violate(world, "P8", `${about} fell from ${before} to ${observed}`)
  }
  if (observed > (object.metadata.generation ?? observed)) {
    World.violate(world, "P8", `${about} is ${observed}, above its generation ${object.metadata.generation}`)
  }
  world.observed.set(object.metadata.uid, observed)
}

/** At rest: equal. */
export const atRest = (world: World.World): void => {
  for (const object of objects(world)) {
    const observed = observedGenerationOf(object)
    if (observed === undefined || observed === object.metadata.generation) continue
    const about = `observedGeneration of ${nameOf(object)}`
    World.violate(world, "P8", `${about} stays at ${observed}, its generation is ${object.metadata.generation}`)
  }
}
