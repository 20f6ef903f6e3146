/**
 * Actors: somebody else's controllers, in the world of what is tested. One hears of every change of a kind, whoever made
 * it, and answers a moment later. It has no process that could be killed; at a point of its own its answer comes late.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Store } from "setpoint"
import * as Choices from "./choices.ts"
import * as Loop from "./loop.ts"
import { type Fault, sentence } from "./spec.ts"
import type { Change } from "./story.ts"
import type { Actor } from "./workload.ts"
import * as World from "./world.ts"

/** Before a killed process is back, or past the next step of the workload. */
const soonMillis = 100
const lateMillis = 25_000
const alternatives: ReadonlyArray<Fault> = ["slow"]

/** Tells those whom a change concerns. */
export const hear = (world: World.World, change: Change): void => {
  for (const actor of world.spec.actors) {
    if (actor.kind.address.kind !== change.object.kind) continue
    Loop.after(world.loop, undefined, soonMillis, () => takeTurn(world, actor, change))
  }
}

const takeTurn = (world: World.World, actor: Actor, change: Change): void => {
  const offered = world.hasFaults ? alternatives.filter((fault) => world.spec.faults.has(fault)) : []
  const point = `${actor.name}/${change.type}:${change.object.kind}/${World.keyText(change.object)}`
  const name = offered.length === 0 ? "" : Choices.numbered(world.choices, point)
  const alternative = Choices.pick(world.choices, name, offered)
  if (alternative === undefined) return act(world, actor, change)
  World.tell(world, actor.name, `${point.slice(actor.name.length + 1)}: ${sentence(alternative)}`, true)
  Loop.after(world.loop, undefined, lateMillis, () => act(world, actor, change))
}

const act = (world: World.World, actor: Actor, change: Change): void => {
  const answer = actor.answer(change, world.view)
  if (answer === undefined) return
  world.othersActs++
  const exit = World.at(world, Effect.provideService(answer, Store.Store, World.storeOf(world, actor.name)))
  world.hooks.look(world)
  if (Exit.isSuccess(exit)) return
  const why = Cause.squash(exit.cause)
  World.tell(world, actor.name, why instanceof Error ? why.message : String(why))
  if (Cause.hasDies(exit.cause)) World.violate(world, "input", `the actor ${actor.name} died: ${String(why)}`)
}
