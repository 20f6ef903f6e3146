/** P2, counts: how often each object was made and deleted, beside the plain run. */
import type { Change } from "../story.ts"
import * as World from "../world.ts"
import { nameOf } from "./objects.ts"

export type Counts = World.World["notes"]["counts"]

export const onChange = (world: World.World, { by, object, type }: Change): void => {
  if (World.isOutsider(world, by) || (type !== "created" && type !== "removed")) return
  const { generateName } = object.metadata
  const name = generateName === undefined ? nameOf(object) : `${object.kind} ${generateName}*`
  const known = world.notes.counts.get(name) ?? { created: 0, removed: 0 }
  known[type]++
  world.notes.counts.set(name, known)
}

/** Who changes the order of what users do, or what is there, changes what must be made. */
const changesTheTask = /^(?:early|delete)/

/** At rest: no object was made or deleted more often than without deviations. */
export const atRest = (world: World.World, plain: Counts): void => {
  if (world.choices.taken.some(({ alternative }) => changesTheTask.test(alternative))) return
  for (const [name, { created, removed }] of world.notes.counts) {
    const usual = plain.get(name) ?? { created: 0, removed: 0 }
    const worse = created > usual.created
      ? { verb: "made", now: created, before: usual.created }
      : removed > usual.removed
      ? { verb: "deleted", now: removed, before: usual.removed }
      : undefined
    if (worse === undefined) continue
    const text = `${name} was ${worse.verb} more often than without deviations`
    const detail = `${times(worse.now)}, not ${times(worse.before)}`
    if (world.spec.checks.counts === "fail") World.violate(world, "P2", `${text}: ${detail}`)
    else World.warn(world, `${text} (P2)`, detail)
  }
}

const times = (count: number): string => count === 0 ? "never" : count === 1 ? "once" : `${count} times`
