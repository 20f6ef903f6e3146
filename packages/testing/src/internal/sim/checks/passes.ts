/** P11, and passes that never end: what is wanted is seen by a pass that began after it, and soon. */
import type { Controller, Pass, Resource } from "setpoint"
import type { Change } from "../story.ts"
import * as World from "../world.ts"
import { nameOf, objects } from "./objects.ts"

/** `App/a`: what a pass is about. */
export const aboutOf = ({ request }: Pick<Pass.Pass, "request">): string =>
  `${request.kind.split(".", 1)[0]}/${World.nameOf(request)}`

/** `apps App/a`: the key of a pass, in any process. */
export const keyOf = (pass: Pick<Pass.Pass, "registration" | "request">): string =>
  `${pass.registration} ${aboutOf(pass)}`

const well: ReadonlySet<string | undefined> = new Set<Controller.End>(["Done", "RequeueAfter", "Gone", "Requeue"])

/** Whether a pass ended with an Outcome. */
export const isWell = (end: string | undefined): boolean => well.has(end)

/** A pass that nothing in the world will ever wake. */
export const endless = (world: World.World): void => {
  for (const [name, pass] of world.running) {
    const key = name.slice(name.indexOf(" ") + 1)
    const last = world.notes.calls.get(pass)?.last
    const after = last === undefined ? "before its first call" : `after its call ${pass.calls} (${last})`
    World.violate(
      world,
      "leak",
      `pass ${pass.number} of ${key} never ended: ${after} it waits for what the simulator does not run ` +
        "(a promise, a real timer, native I/O), or for ever"
    )
  }
}

/** A Layer that waits for what never comes: then no pass runs, and nothing was tried. */
export const neverBuilt = (world: World.World): void => {
  const label = world.current?.process.label
  if (world.passes > 0 || label === undefined || world.notes.built.has(label)) return
  World.violate(
    world,
    "leak",
    "the Layer was never built: it waits for what the simulator does not run (a promise, a real timer, native I/O), or for ever"
  )
}

/** Of a world that does not come to rest: which passes run, and what they do. */
export const busy = (world: World.World): string =>
  [...world.running].slice(0, 3).map(([name, pass]) => {
    const last = world.notes.calls.get(pass)?.last
    const calls = last === undefined ? "without a call" : `in its call ${pass.calls} (${last})`
    return `; pass ${pass.number} of ${name.slice(name.indexOf(" ") + 1)} runs, ${calls}`
  }).join("")

/** P11: what others wanted last was seen by a pass that began after it. */
export const noLostWakeUp = (world: World.World): void => {
  for (const object of unheard(world)) {
    World.violate(world, "P11", `${nameOf(object)} changed, and no pass began after it`)
  }
}

const pausedAnnotation = "setpoint.dev/paused"

/** Objects that somebody wants changed, of keys that have had passes, but none since. */
export const unheard = (world: World.World): ReadonlyArray<Resource.Raw> =>
  objects(world).filter((object) => {
    const about = `${object.kind}/${World.keyText(object)}`
    const wanted = world.wanted.get(about)
    if (wanted === undefined || object.metadata.annotations?.[pausedAnnotation] === "true") return false
    const started = [...world.started].filter(([key]) => key.endsWith(` ${about}`)).map(([, at]) => at)
    return started.length > 0 && Math.max(...started) < wanted
  })

/** A wait is too long when it takes more than both: passes that sleep are long, and a crowd makes many at once. */
const longestWait = { millis: 120_000, passes: 100 }

/** P11, the bound: no key waits for so long while so many others run. */
export const passStarted = (world: World.World, pass: Pass.Pass): void => {
  const { loop, notes, passes } = world
  notes.waits.delete(aboutOf(pass))
  for (const [about, since] of notes.waits) {
    const millis = loop.now - since.millis
    const others = passes - since.passes
    if (millis <= longestWait.millis || others <= longestWait.passes) continue
    const meanwhile = `${others} passes of others in ${Math.round(millis / 1000)} s`
    World.violate(world, "P11", `${about} changed, and still waits for a pass after ${meanwhile}`)
  }
}

/** Begins the wait of a key that has had passes, and is wanted again. */
export const onChange = ({ loop, notes, passes, started, wanted }: World.World, { object }: Change): void => {
  const about = `${object.kind}/${World.keyText(object)}`
  if (wanted.get(about) !== loop.steps || notes.waits.has(about)) return
  if ([...started.keys()].some((key) => key.endsWith(` ${about}`))) notes.waits.set(about, { millis: loop.now, passes })
}
