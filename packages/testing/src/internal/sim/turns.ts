/**
 * The order of fibers: of two of a process that can run, the later one may go first. Not among the default faults, since it
 * has many points, whose names count them.
 */
import * as Choices from "./choices.ts"
import { sentence } from "./spec.ts"
import * as World from "./world.ts"

/** Makes the order of fibers a choice, where it is asked for. */
export const offer = (world: World.World): void => {
  if (!world.spec.faults.has("fibers")) return
  world.loop.turns = ({ label }) => {
    if (!world.hasFaults) return false
    const point = Choices.numbered(world.choices, `${label}/fibers`)
    if (Choices.pick(world.choices, point, ["fibers"]) === undefined) return false
    World.tell(world, label, sentence("fibers"), true)
    return true
  }
}
