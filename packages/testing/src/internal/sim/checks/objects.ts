/** What checks look at: everything that is stored, past every cache. */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { MemoryStore, type Resource } from "setpoint"
import * as World from "../world.ts"

/** Events are no part of what a world is. */
export const objects = (world: World.World): ReadonlyArray<Resource.Raw> =>
  MemoryStore.Core.exported(world.core).filter((object) => !World.isEvent(object))

/** `App team/a`: how titles name an object. */
export const nameOf = (object: Resource.Any): string => `${object.kind} ${World.keyText(object)}`

/** What the engine answers at once; `undefined` where it cannot. */
export const answer = <A, E>(world: World.World, effect: Effect.Effect<A, E>): A | undefined => {
  const exit = World.at(world, effect)
  return Exit.isSuccess(exit) ? exit.value : undefined
}
