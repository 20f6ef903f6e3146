/**
 * Overload (X22): somebody edits all objects of the workload again and again at once. All of their keys are wanted together,
 * each of them is hot, and the watches hold more than their readers have taken.
 */
import { Resource } from "setpoint"
import { objects } from "./checks/objects.ts"
import * as Driver from "./driver.ts"
import type * as World from "./world.ts"

const editsOfEach = 40

export const flood = (world: World.World): void => {
  const kinds = world.spec.kinds.map(({ address }) => address)
  const all = objects(world)
  for (let edit = 0; edit < editsOfEach; edit++) {
    for (const object of all) {
      const at = kinds.find(({ kind }) => kind === object.kind)
      if (at !== undefined) Driver.touch(world, at, Resource.key(object), `${world.loop.steps}-${edit}`)
    }
  }
}
