/** Lists of services outside, which promise no order unless they say so (X21). The store's do: by name (S8). */
import * as Exit from "effect/Exit"
import * as Choices from "./choices.ts"
import { sentence } from "./spec.ts"
import * as World from "./world.ts"

/** What a call outside gave: where that is a list, its order can be another. */
export const given = <A, E>(
  world: World.World,
  who: string,
  operation: string,
  exit: Exit.Exit<A, E>
): Exit.Exit<A, E> => {
  if (!world.hasFaults || !world.spec.faults.has("unordered") || !Exit.isSuccess(exit)) return exit
  const { value } = exit
  if (!Array.isArray(value) || value.length < 2) return exit
  const pass = world.acting
  const caller = pass === undefined ? "outside" : `${pass.registration}/${World.nameOf(pass.request)}/${pass.number}`
  const name = Choices.numbered(world.choices, `${who}/${caller}/${operation}/order`)
  const alternative = Choices.pick(world.choices, name, ["unordered"])
  if (alternative === undefined) return exit
  World.tell(world, who, `${caller}/${operation}: ${sentence(alternative)}`, true)
  return Exit.succeed(value.toReversed() as A) // of the same members
}
