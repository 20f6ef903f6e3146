/** P16: good, bad, good again: the world returns to its first state. */
import * as World from "../world.ts"
import { difference, endState } from "./endState.ts"

/** Which generation it was says nothing about the state. */
const withoutGenerations = (text: string): string => text.replaceAll(/"observedGeneration":\d+/g, "<generation>")

const stateOf = (world: World.World): string => withoutGenerations(endState(world))

/** Remembers the state that must come back, where nothing odd has led to it. */
export const note = (world: World.World): void => {
  if (world.spec.checks.returnsTo !== world.stepsTaken || world.choices.taken.length > 0) return
  world.notes.first ??= stateOf(world)
}

export const atRest = (world: World.World): void => {
  const { first } = world.notes
  if (first === undefined) return
  const last = stateOf(world)
  if (last !== first) World.violate(world, "P16", `the first state does not come back: ${difference(first, last)}`)
}
