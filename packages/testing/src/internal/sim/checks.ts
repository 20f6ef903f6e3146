/**
 * What must hold, whatever happened: each module of `checks/` reads the world, and names what is wrong.
 *
 * The first violation in time ends a run. Of those that show at one moment the first is reported and the others are told
 * beside it, so that no law hides another: at each change, what the user says before what the simulator knows; at rest,
 * what makes all else meaningless, then from the engine up to the reconciler.
 */
import type { Controller, Pass } from "setpoint"
import * as Again from "./checks/again.ts"
import * as Bounds from "./checks/bounds.ts"
import * as Caches from "./checks/caches.ts"
import * as Counts from "./checks/counts.ts"
import * as Deletions from "./checks/deletions.ts"
import * as EndState from "./checks/endState.ts"
import * as Generations from "./checks/generations.ts"
import * as Guards from "./checks/guards.ts"
import * as Honesty from "./checks/honesty.ts"
import * as Isolation from "./checks/isolation.ts"
import type { Sent } from "./checks/notes.ts"
import * as Ownership from "./checks/ownership.ts"
import * as Passes from "./checks/passes.ts"
import * as Predicates from "./checks/predicates.ts"
import * as Recovery from "./checks/recovery.ts"
import type * as Choices from "./choices.ts"
import type { Change, Violation } from "./story.ts"
import type * as World from "./world.ts"

/** How the plain run ended: what other runs are compared with. */
export interface Baseline {
  /** Everything that was there at rest; `undefined` where a violation came first. */
  readonly end: string | undefined
  readonly counts: Counts.Counts
}

/** After every change. */
export const onChange = (world: World.World, change: Change, sent: Sent): void => {
  Predicates.never(world, change)
  Predicates.always(world)
  Again.onChange(world, change, sent)
  Guards.fenced(world, change, sent)
  Ownership.onChange(world, change)
  Generations.onChange(world, change)
  Honesty.onChange(world, change)
  Guards.deletes(world, change, sent)
  Passes.onChange(world, change)
  Counts.onChange(world, change)
}

/** After something outside of the store may have changed. */
export const look = Predicates.always

/** Before each step of the workload, and after the last one. */
export const between = (world: World.World): void => {
  Bounds.between(world)
  Isolation.between(world)
  Recovery.note(world)
}

/** Once faults and users have stopped, and nothing is left to do. `plain`: where it is known. */
export const atRest = (world: World.World, plain: Baseline | undefined): void => {
  Passes.neverBuilt(world)
  Passes.endless(world)
  Caches.atRest(world)
  Passes.noLostWakeUp(world)
  Bounds.atRest(world)
  Deletions.nothingLeaks(world)
  Predicates.holds(world)
  if (world.spec.matches !== undefined) Predicates.matches(world)
  else if (plain?.end !== undefined) EndState.same(world, plain.end)
  Generations.atRest(world)
  Recovery.atRest(world)
  if (plain !== undefined) Counts.atRest(world, plain.counts)
}

/** A Controller was built in a process. */
export const began = (world: World.World, label: string, probe: Controller.Probe): void => {
  world.notes.probes.set(label, [...(world.notes.probes.get(label) ?? []), probe])
}

export const passStarted = (world: World.World, pass: Pass.Pass): void => {
  Caches.follow(world)
  Passes.passStarted(world, pass)
  Again.passStarted(world, pass)
}

/** Changes of what a process sees, and of nothing else. */
const ofTheView = /^(?:late|cut|expire|outage|behind)/

/** A law that has another name where nothing but the view differed: P15, the same end whatever was seen on the way. */
export const named = (violation: Violation, plan: ReadonlyArray<Choices.Deviation>): Violation =>
  violation.law === "P2" && plan.length > 0 && plan.every(({ alternative }) => ofTheView.test(alternative))
    ? { ...violation, law: "P15" }
    : violation

export { always } from "./checks/predicates.ts"

export { endState } from "./checks/endState.ts"
