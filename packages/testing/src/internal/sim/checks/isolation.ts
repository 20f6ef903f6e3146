/** P14: a key that fails for ever, since all that it changes is refused, does not keep the others from their work. */
import { type Pass, Resource } from "setpoint"
import * as World from "../world.ts"
import { nameOf, objects } from "./objects.ts"
import * as Passes from "./passes.ts"
import * as Predicates from "./predicates.ts"

/** The objects of the workload whose keys can be made to fail. */
export const offered = (world: World.World): ReadonlyArray<string> => {
  if (world.notes.poisoned !== undefined) return []
  const kinds = new Set(world.spec.kinds.map(({ address }) => address.kind))
  return objects(world).filter((object) => kinds.has(object.kind) && !Resource.isMarkedForDeletion(object))
    .map((object) => `poison:${aboutOf(object)}`)
}

const aboutOf = (object: Resource.Any): string => `${object.kind}/${World.keyText(object)}`

export const isPoisoned = ({ notes }: World.World, pass: Pass.Pass | undefined): boolean =>
  pass !== undefined && notes.poisoned !== undefined && notes.poisoned === Passes.aboutOf(pass)

/** Before the next step: who was wanted since the last has had a pass. */
export const between = (world: World.World): void => {
  const { poisoned } = world.notes
  if (poisoned === undefined || world.current?.process.held !== undefined) return // who stands still hears nothing
  for (const object of Passes.unheard(world)) {
    if (aboutOf(object) === poisoned) continue
    World.violate(world, "P14", `${nameOf(object)} changed and no pass began since, while ${poisoned} fails for ever`)
  }
}

/** At rest: all others match. */
export const atRest = (world: World.World): void => {
  const { poisoned } = world.notes
  if (poisoned === undefined) return
  between(world)
  const object = Predicates.guarded(
    world,
    "matches",
    () => Predicates.unmatched(world, (object) => aboutOf(object) !== poisoned)
  )
  if (object === undefined) return
  World.violate(world, "P14", `${nameOf(object)} does not match, while ${poisoned} fails for ever`)
}
