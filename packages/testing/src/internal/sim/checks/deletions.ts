/** P4: what is deleted goes, and takes with it what it owns. */
import { Resource } from "setpoint"
import * as World from "../world.ts"
import { nameOf, objects } from "./objects.ts"

/** P4: nothing that is owned outlives its owners, and nothing waits for ever to be deleted. */
export const nothingLeaks = (world: World.World): void => {
  const uids = new Set(objects(world).map(({ metadata }) => metadata.uid))
  for (const object of objects(world)) {
    const owners = object.metadata.ownerReferences ?? []
    if (owners.length > 0 && owners.every(({ uid }) => !uids.has(uid))) {
      const names = owners.map(({ kind, name }) => `${kind} ${name}`).join(", ")
      World.violate(world, "P4", `${nameOf(object)} outlives its owner ${names}`)
    }
    if (Resource.isMarkedForDeletion(object)) {
      const held = object.metadata.finalizers?.join(", ") ?? ""
      World.violate(world, "P4", `${nameOf(object)} is never deleted: ${held} stays`)
    }
  }
}
