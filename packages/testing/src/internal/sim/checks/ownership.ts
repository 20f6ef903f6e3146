/** P7: who an object belongs to is clear, and stays so. */
import { Owner, type Resource } from "setpoint"
import type { Change } from "../story.ts"
import * as World from "../world.ts"
import { nameOf, objects } from "./objects.ts"

/** Nobody takes an object from a controller that lives; where it is asked for, what is made has an owner or a tag. */
export const onChange = (world: World.World, change: Change): void => {
  if (World.isOutsider(world, change.by)) return
  if (change.type === "created") belongs(world, change.object)
  if (change.type === "updated" && change.before !== undefined) keepsController(world, change.before, change.object)
}

const belongs = (world: World.World, { metadata, ...object }: Resource.Raw): void => {
  const tags = world.spec.checks.ownedOrTagged
  if (tags === undefined || (metadata.ownerReferences ?? []).length > 0) return
  if (tags.some((tag) => tag in (metadata.labels ?? {}) || tag in (metadata.annotations ?? {}))) return
  const orTag = tags.length === 0 ? "" : ` and none of the tags ${tags.join(", ")}`
  World.violate(world, "P7", `${nameOf({ ...object, metadata })} was made without an owner${orTag}`)
}

const keepsController = (world: World.World, before: Resource.Raw, after: Resource.Raw): void => {
  const was = Owner.controllerOf(before)
  const is = Owner.controllerOf(after)
  if (was === undefined || is === undefined || was.uid === is.uid) return
  if (!objects(world).some(({ metadata }) => metadata.uid === was.uid && metadata.deletionTimestamp === undefined)) {
    return
  }
  const text = `${nameOf(after)} was taken from its controller ${was.kind} ${was.name} by ${is.kind} ${is.name}`
  World.violate(world, "P7", text)
}
