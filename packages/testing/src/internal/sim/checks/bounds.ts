/** P12: work and memory are bounded by what there is. */
import * as Result from "effect/Result"
import { type Controller, MemoryStore, type Pass, Resource } from "setpoint"
import * as World from "../world.ts"
import { answer } from "./objects.ts"
import * as Passes from "./passes.ts"

/** A watch that is opened more often than so in a second is opened in a loop. */
const mostOpened = 10

/** Reconnects are spaced. */
export const watchOpened = (world: World.World, who: string): void => {
  const { loop, notes } = world
  const recent = [...(notes.opened.get(who) ?? []).filter((at) => at > loop.now - 1_000), loop.now]
  notes.opened.set(who, recent)
  if (recent.length <= mostOpened) return
  World.violate(world, "P12", `${who} was opened ${recent.length} times within a second, without a pause in between`)
}

/** Between two steps: a key has one place in its queue. */
export const between = (world: World.World): void => {
  const seen = new Set<string>()
  for (const key of keysOf(world)) {
    const name = nameOf(key)
    if (seen.has(name)) World.violate(world, "P12", `${name} is kept twice by its queue`)
    seen.add(name)
  }
}

/** At rest: nothing is kept of what is gone, and no failure is remembered that a good pass has made up for. */
export const atRest = (world: World.World): void => {
  between(world)
  for (const key of keysOf(world)) {
    const end = world.ended.get(`${world.current?.process.label} ${Passes.keyOf(key)}`)
    if (Passes.isWell(end) && key.failures > 0) {
      World.violate(world, "P12", `${nameOf(key)} ended well, and ${key.failures} failures are still remembered`)
    }
    if (!isGone(world, key) || key.watching) continue
    if (end === "RequeueAfter") World.warn(world, `${nameOf(key)} is gone, and its passes go on by a timer (P12)`)
    else World.violate(world, "P12", `${nameOf(key)} is gone, and still kept: ${stateOf(key, end)}`)
  }
}

const ownTimers: ReadonlySet<string> = new Set<Pass.Cause["_tag"]>(["RequeueAfter", "Recheck"])

/** Whether a key waits to be run for what happened, not only by a timer of its own. */
export const isWanted = (world: World.World): boolean =>
  keysOf(world).some(({ causes, paused, place }) =>
    !paused && place !== "idle" && place !== "running" && causes.some(({ _tag }) => !ownTimers.has(_tag))
  )

const keysOf = (world: World.World): ReadonlyArray<Controller.ProbedKey> =>
  (world.notes.probes.get(world.current?.process.label ?? "") ?? []).flatMap((probe) => answer(world, probe.keys) ?? [])

const nameOf = ({ registration, request }: Controller.ProbedKey): string =>
  `${request.kind.split(".", 1)[0]} ${World.nameOf(request)} of ${registration}`

const stateOf = ({ dueInMillis, failures, place }: Controller.ProbedKey, end: string | undefined): string => {
  const due = dueInMillis === undefined ? "" : ` for ${Math.round(dueInMillis / 1000)} s`
  return `it is ${place}${due} after ${failures} failures, and its last pass ended ${end ?? "before it began"}`
}

const isGone = (world: World.World, { request }: Controller.ProbedKey): boolean => {
  const at = MemoryStore.Core.kinds(world.core).find((at) => Resource.groupKind(at) === request.kind)
  return at === undefined || Result.isFailure(MemoryStore.Core.get(world.core, at, request))
}
