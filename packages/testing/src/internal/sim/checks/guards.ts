/** P20: what cannot be undone rests on more than the word of a cache. P10: an old leader writes no more. */
import type { Pass } from "setpoint"
import type { Change } from "../story.ts"
import * as World from "../world.ts"
import type { Sent } from "./notes.ts"
import { nameOf } from "./objects.ts"

/**
 * P20: a pass deletes without a uid or a revision, and has not read the kind from the store itself: what it deletes may be
 * another life than the one it means.
 */
export const deletes = (world: World.World, { object, type }: Change, { options, pass, write }: Sent): void => {
  if (pass === undefined || write.op !== "delete" || (type !== "removed" && type !== "marked")) return
  if (options.uid !== undefined || options.revision !== undefined) return
  if (world.notes.calls.get(pass)?.read.has(object.kind) === true) return
  const text = `a pass of ${pass.registration} deletes a ${object.kind} without its uid or revision, ` +
    "on the word of a cache or of none"
  if (world.spec.checks.unguarded === "fail") World.violate(world, "P20", `${nameOf(object)}: ${text}`)
  else World.warn(world, `${text} (P20)`)
}

/** P10: once a registration writes under a fence, no effective write of an older epoch than the highest follows. */
export const fenced = (world: World.World, { by, object }: Change, { options, pass }: Sent): void => {
  if (pass === undefined) return
  const { epochs, fences } = world.notes
  const writer = `${by} ${pass.registration}`
  if (options.fence !== undefined) {
    fences.set(writer, options.fence)
    told(world, options.fence)
  }
  const fence = fences.get(writer)
  const highest = fence && epochs.get(fence.lease)
  if (fence === undefined || highest === undefined || fence.epoch >= highest) return
  const how = options.fence === undefined ? "without a fence" : `under epoch ${fence.epoch}`
  World.violate(world, "P10", `${by} wrote ${nameOf(object)} ${how}, and ${fence.lease} is at epoch ${highest}`)
}

/** The epoch of a lease, as the store hears it. */
export const told = (world: World.World, { epoch, lease }: Pass.Fence): void => {
  const known = world.notes.epochs.get(lease)
  if (known === undefined || known < epoch) world.notes.epochs.set(lease, epoch)
}
