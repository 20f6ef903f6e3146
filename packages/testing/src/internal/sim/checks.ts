/**
 * What must hold, whatever happened: each module of `checks/` reads the world, and names the first thing that is wrong.
 *
 * The first violation in time ends a run. Of those that show at one moment the first is reported and the others are told
 * beside it, so that no law hides another: at each change, what the user says before what the simulator knows; at rest,
 * what makes all else meaningless, then from the engine up to the reconciler.
 */
import * as Deletions from "./checks/deletions.ts"
import * as EndState from "./checks/endState.ts"
import * as Generations from "./checks/generations.ts"
import * as Passes from "./checks/passes.ts"
import * as Predicates from "./checks/predicates.ts"
import type { Change } from "./story.ts"
import type * as World from "./world.ts"

/** After every change. */
export const onChange = (world: World.World, change: Change): void => {
  Predicates.never(world, change)
  Generations.onChange(world, change)
  Predicates.noteUnmatched(world)
}

/** Once faults and users have stopped, and nothing is left to do. `plain`: how the plain run ended, where it is known. */
export const atRest = (world: World.World, plain: string | undefined): void => {
  Passes.endless(world)
  Passes.noLostWakeUp(world)
  Deletions.nothingLeaks(world)
  Predicates.holds(world)
  if (world.spec.matches !== undefined) Predicates.matches(world)
  else if (plain !== undefined) EndState.same(world, plain)
  Generations.atRest(world)
}

export { endState } from "./checks/endState.ts"
