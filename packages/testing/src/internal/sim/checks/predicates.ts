/** P1 and P6: what the user says must hold, of an object, at rest, and never. */
import { Resource } from "setpoint"
import type { Change } from "../story.ts"
import * as World from "../world.ts"
import { nameOf, objects } from "./objects.ts"

/** A predicate of the user's that throws is the test's own fault, and said so. */
export const guarded = <A>(world: World.World, what: string, f: () => A): A | undefined => {
  try {
    return f()
  } catch (error) {
    World.violate(world, "input", `${what} threw: ${String(error)}`)
    return undefined
  }
}

/** P6, after every change. */
export const never = (world: World.World, change: Change): void => {
  for (const [name, breaks] of Object.entries(world.spec.never)) {
    const broke = guarded(world, `never "${name}"`, () => breaks(world.view, change))
    if (broke === true) World.violate(world, "P6", `never: ${name}`)
  }
}

/** P6, also where nothing changed but what is outside of the store. */
export const always = (world: World.World): void => {
  for (const [name, holds] of Object.entries(world.spec.always)) {
    const held = guarded(world, `always "${name}"`, () => holds(world.view))
    if (held === false) World.violate(world, "P6", `it does not always hold: ${name}`)
  }
}

/** P1: what must hold at rest, by name. */
export const holds = (world: World.World): void => {
  for (const [name, holds] of Object.entries(world.spec.atRest)) {
    if (guarded(world, `atRest "${name}"`, () => holds(world.view)) === false) {
      World.violate(world, "P1", `at rest it does not hold: ${name}`)
    }
  }
}

/** P1: every object of the workload is as it should be. */
export const matches = (world: World.World): void => {
  const object = guarded(world, "matches", () => unmatched(world))
  if (object !== undefined) World.violate(world, "P1", `${nameOf(object)} came to rest, and does not match`)
}

/** An object of the workload that does not match, of those that nobody wants gone. */
export const unmatched = (
  world: World.World,
  isAsked: (object: Resource.Any) => boolean = () => true
): Resource.Any | undefined => {
  const { matches, of } = world.spec
  if (matches === undefined) return undefined
  for (const kind of of) {
    for (const raw of objects(world)) {
      if (raw.kind !== kind.address.kind || Resource.isMarkedForDeletion(raw) || !isAsked(raw)) continue
      const object = kind.decode(raw)
      if (object._tag === "Success" && !matches(object.success, world.view)) return object.success
    }
  }
  return undefined
}
