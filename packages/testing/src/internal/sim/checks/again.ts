/**
 * P5: a key whose pass was done, and for which nothing is left to do, runs again with nothing changed: it must write
 * nothing. Judged only where nothing else happens, nothing is on its way, and the caches have seen all: else the second
 * pass has reasons of its own.
 */
import type { Pass } from "setpoint"
import type { Change } from "../story.ts"
import * as World from "../world.ts"
import * as Caches from "./caches.ts"
import * as Notes from "./notes.ts"
import { answer, nameOf } from "./objects.ts"

const reason = "simulator: again"

/** Long enough for passes that write nothing. */
export const millis = 5_000

/** Makes every key that is done run once more. */
export const begin = (world: World.World): void => {
  const label = world.current?.process.label
  const probes = world.notes.probes.get(label ?? "") ?? []
  if (label === undefined || world.running.size > 0 || !Caches.areCurrent(world)) return
  Notes.clockBegins(world.notes)
  world.notes.again = { passes: new Set(), isDisturbed: false }
  for (const probe of probes) {
    const busy = new Set((answer(world, probe.keys) ?? []).filter(({ place }) => place !== "idle").map(nameOfKey))
    for (const [name, pass] of world.notes.lastPasses) {
      if (!name.startsWith(`${label} `) || world.ended.get(name) !== "Done") continue
      if (busy.has(nameOfKey(pass))) continue
      answer(world, probe.controller.enqueue(pass.registration, pass.request, reason))
    }
  }
}

const nameOfKey = ({ registration, request }: Pick<Pass.Pass, "registration" | "request">): string =>
  `${registration} ${request.namespace}/${request.name}`

/** Whether a pass runs for no other reason. */
export const passStarted = ({ notes }: World.World, pass: Pass.Pass): void => {
  const [cause, other] = pass.causes
  const isAgain = cause?._tag === "Enqueue" && cause.reason === reason && other === undefined && pass.otherCauses === 0
  if (isAgain) notes.again?.passes.add(pass)
}

export const onChange = (world: World.World, { object, type }: Change, { isBeat, pass }: Notes.Sent): void => {
  const { again } = world.notes
  if (again === undefined || again.isDisturbed) return
  again.isDisturbed = true
  if (pass === undefined || !again.passes.has(pass) || isBeat) return
  const key = `${pass.registration} ${pass.request.name}`
  World.violate(world, "P5", `a pass of ${key} that ran again with nothing changed ${type} ${nameOf(object)}`)
}

export const end = ({ notes }: World.World): void => {
  notes.again = undefined
}
