/**
 * One run: phase one with faults and users, phase two without, the checks at rest, and a restart that must be a no-op.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as References from "effect/References"
import { Controller, MemoryStore, Metrics, Resource, Store, StoreDriver } from "setpoint"
import * as Actors from "./actors.ts"
import * as Asides from "./asides.ts"
import * as BootFaults from "./bootFaults.ts"
import * as Calls from "./calls.ts"
import * as Checks from "./checks.ts"
import * as Again from "./checks/again.ts"
import * as Bounds from "./checks/bounds.ts"
import * as Isolation from "./checks/isolation.ts"
import * as Notes from "./checks/notes.ts"
import { objects } from "./checks/objects.ts"
import * as Passes from "./checks/passes.ts"
import * as Choices from "./choices.ts"
import * as Driver from "./driver.ts"
import * as Guard from "./guard.ts"
import * as Known from "./known.ts"
import * as Loop from "./loop.ts"
import * as Overload from "./overload.ts"
import { faults, sentence, type Spec } from "./spec.ts"
import * as Starts from "./starts.ts"
import type { Line, Violation } from "./story.ts"
import * as Time from "./time.ts"
import * as Turns from "./turns.ts"
import * as World from "./world.ts"

/** What a run was. */
export interface Run {
  readonly points: ReadonlyArray<Choices.Point>
  readonly taken: ReadonlyArray<Choices.Deviation>
  readonly violation: Violation | undefined
  readonly hash: number
  /** Everything that was there at rest; `undefined` where a violation came first, or the run was cut. */
  readonly end: string | undefined
  /** After the checks at rest. */
  readonly writesAtRest: number
  /** Alternatives that would have come where it was cut. */
  readonly after: number
  /** How often each object was made and deleted. */
  readonly counts: Checks.Baseline["counts"]
  /** With what they were in this run. */
  readonly warnings: ReadonlyMap<string, string>
  readonly passes: number
  /** Of the loop. */
  readonly steps: number
  readonly wasUnmatched: boolean
  readonly lines: ReadonlyArray<Line>
}

const restartMillis = 1_000
const stepMillis = 20_000
/** Without a write, with every key well: at rest. Longer than a held key waits (E10). */
const restMillis = 60_000
/** Longer than the slow recheck after `Terminal`. */
const settleMillis = 40 * 60_000
const sliceMillis = 15_000
const bookmarkMillis = 60_000
/** Past the next step of the workload. */
const overlapMillis = 30_000
/** A graceful stop drains for 25 s by default. */
const stopMillis = 60_000

/** Runs a spec once, from nothing. `plain`: how the plain run ended, for P2. */
export const run = (spec: Spec, source: Choices.Source, options: {
  readonly isRecorded: boolean
  readonly plain: Checks.Baseline | undefined
  /** Whether the process goes on at rest, where else it is restarted: what then still happens, time alone has brought. */
  readonly isControl?: boolean
  /** Starts that are known, and how many deviations the list has: see `starts.ts`. */
  readonly starts?: Known.Starts | undefined
}): Run => {
  const starts = options.starts ?? Known.make(undefined, undefined, false)
  const calls = options.isRecorded ? Calls.make((...answer) => Asides.answered(world, ...answer)) : undefined
  const world: World.World = World.make(spec, source, calls, starts, { judge, look: Checks.look, takeStep, kill })
  Turns.offer(world)
  const leak = guarded(world, () => {
    live(world)
    if (!isOver(world)) Checks.atRest(world, options.plain)
  })
  if (leak !== undefined) World.violate(world, "leak", leak)
  const end = isOver(world) ? undefined : Checks.endState(world)
  const counts = new Map(world.notes.counts)
  const isControl = options.isControl === true
  let writesAtRest = 0
  if (!isOver(world)) {
    guarded(world, () => {
      runsAgain(world, isControl)
      const { writes } = world
      if (!isOver(world)) goOn(world, isControl)
      writesAtRest = world.writes - writes
    })
  }
  if (world.violation === undefined && !isControl && writesAtRest > 0) {
    const control = run(spec, Choices.planned(world.choices.taken), { ...options, starts: undefined, isControl: true })
    if (control.writesAtRest < writesAtRest) {
      World.violate(world, "P19", `a restart at rest made ${writesAtRest} writes`)
    }
  }
  return {
    points: world.choices.points,
    taken: world.choices.taken,
    violation: world.violation,
    hash: world.hash,
    end,
    after: Known.afterCut(starts),
    writesAtRest,
    counts,
    warnings: world.notes.warnings,
    passes: world.passes,
    steps: world.loop.steps,
    wasUnmatched: world.wasUnmatched,
    lines: world.lines ?? []
  }
}

/** A law broke, or all that would follow is known. */
const isOver = (world: World.World): boolean => world.violation !== undefined || world.starts.cutAt !== undefined

/** What leaks is caught; where the run is told, so is where the user's calls are made. */
export const guarded = ({ calls }: World.World, act: () => void): string | undefined =>
  Guard.watch(calls !== undefined, calls === undefined ? act : () => Calls.during(calls, act))

export const judge: World.Hooks["judge"] = (world, change, sent) => {
  Checks.onChange(world, change, sent)
  Actors.hear(world, change)
}

/** Phase one, then phase two. */
const live = (world: World.World): void => {
  bookmark(world)
  boot(world, 1)
  for (let replica = 2; replica <= world.spec.replicas; replica++) boot(world, 1, `ctl-${replica}`)
  while (world.stepsTaken < world.spec.steps.length && !isOver(world)) {
    const step = world.spec.steps[world.stepsTaken]
    if (step === undefined) break
    const due = world.loop.now + step.afterMillis
    world.nextStepAt = due
    const taken = world.stepsTaken
    const isEarly = () => world.stepsTaken !== taken
    if (!until(world, due, isEarly)) return
    if (isEarly()) continue
    interlude(world)
    takeStep(world)
  }
  world.nextStepAt = Infinity
  if (!until(world, world.loop.now + stepMillis)) return
  interlude(world)
  until(world, world.loop.now + stepMillis)
  world.hasFaults = false
  phaseTwo(world)
}

/** The store tells its watches how far they are, once a minute, as it does in production. */
export const bookmark = (world: World.World): void => {
  Loop.after(world.loop, undefined, bookmarkMillis, () => {
    MemoryStore.Core.bookmark(world.core)
    bookmark(world)
  })
}

/** Runs until then. `false`: a law broke, or the world does not come to rest. */
export const until = (world: World.World, millis: number, isEnough: () => boolean = () => false): boolean => {
  const isQuiet = Loop.runUntil(world.loop, millis, world.spec.maxSteps, () => isOver(world) || isEnough())
  if (!isQuiet) {
    const what = `${world.writes} writes, ${world.passes} passes`
    World.violate(
      world,
      "P3",
      `no rest after ${world.spec.maxSteps} steps (${what}): an endless loop${Passes.busy(world)}`
    )
  }
  return !isOver(world)
}

/** Phase two; where a key fails for ever, first with it, then without. */
const phaseTwo = (world: World.World): void => {
  settle(world)
  if (world.notes.poisoned === undefined || isOver(world)) return
  Isolation.atRest(world)
  world.notes.poisoned = undefined
  if (!isOver(world)) settle(world)
}

/** Until every key is well and nothing was written for a while. Who still writes at its end never rests. */
export const settle = (world: World.World): void => {
  let from = world.loop.steps
  // Who wanted to be woken at a time of day is woken before it where the clock was put back, and looks once more.
  let looks = world.choices.taken.some(({ alternative }) => alternative === "back") ? 2 : 1
  const last = world.loop.now + settleMillis
  while (world.loop.now < last) {
    if (!until(world, world.loop.now + sliceMillis)) return
    if (!isAtRest(world) || !hasLookedAgain(world, from)) continue
    if (--looks === 0) return
    from = world.loop.steps
  }
  const { passes, writes } = world
  if (!until(world, last + 10 * 60_000) || world.writes === writes) return
  const what = `${world.writes - writes} writes and ${world.passes - passes} passes in 10 minutes`
  World.violate(world, "P3", `no rest: ${what}, with nobody wanting anything`)
}

const isAtRest = (world: World.World): boolean =>
  world.loop.now - world.lastWriteAt >= restMillis && world.current !== undefined &&
  [world.current, ...world.standbys.values()].every(({ process: { held, isAlive } }) =>
    isAlive && held === undefined
  ) &&
  [...world.ended].every(([name, end]) => Passes.isWell(end) || isPoisoned(world, name)) &&
  !Loop.isBusy(world.loop) && [...world.running.values()].every((pass) => !Loop.passesAsleep(world.loop).has(pass)) &&
  !Bounds.isWanted(world)

/** Who looks at the world from time to time, by `requeueAfter`, has looked at it as it is since then. */
const hasLookedAgain = (world: World.World, from: number): boolean =>
  [...world.ended].every(([here, end]) =>
    end !== "RequeueAfter" || (world.started.get(here.slice(here.indexOf(" ") + 1)) ?? 0) > from
  )

const isPoisoned = (world: World.World, name: string): boolean => {
  const pass = world.notes.lastPasses.get(name)
  return pass !== undefined && Isolation.isPoisoned(world, pass)
}

/** P5, at rest: every pass once more. */
const runsAgain = (world: World.World, isControl = false): void => {
  if (!isControl) Again.begin(world)
  until(world, world.loop.now + Again.millis)
  Again.end(world)
}

/** P19: who starts at rest has nothing to do. */
const goOn = (world: World.World, isControl: boolean): void => {
  const { current } = world
  if (current === undefined) return
  world.isEnding = true
  if (!isControl) {
    World.tell(world, "world", "restarted at rest")
    for (const { process } of [current, ...world.standbys.values()]) kill(world, process)
  }
  until(world, world.loop.now + restartMillis + restMillis)
}

// ---------------------------------------------------------------------------------------------------------------------
// users
// ---------------------------------------------------------------------------------------------------------------------

export const takeStep = (world: World.World): void => {
  const step = world.spec.steps[world.stepsTaken]
  if (step === undefined || isOver(world)) return
  world.stepsTaken++
  World.ask(world, step.title)
  const exit = World.at(world, Effect.provideService(step.run(world.view), Store.Store, world.store))
  if (Exit.isSuccess(exit)) return
  const why = Cause.squash(exit.cause)
  World.tell(world, "user", `${step.title}: ${why instanceof Error ? why.message : String(why)}`)
  if (Cause.hasDies(exit.cause)) World.violate(world, "input", `the step "${step.title}" died: ${String(why)}`)
}

/** Between two steps the world is at rest: what can happen to it then. */
const interlude = (world: World.World): void => {
  for (const standby of world.standbys.values()) disturb(world, standby)
  const { current } = world
  if (current === undefined || !current.process.isAlive) return
  Checks.between(world)
  const offered = [
    ...disturbances(current),
    "overlap",
    "ahead",
    "back",
    ...BootFaults.alternatives(world),
    ...Isolation.offered(world),
    "flood",
    ...children(world).map((object) => `delete:${object.kind}/${World.keyText(object)}`)
  ].filter((alternative) => isWanted(world, alternative))
  const alternative = Choices.pick(world.choices, `world/step/${world.stepsTaken + 1}`, offered)
  if (alternative === undefined) return
  const [fault, argument = ""] = alternative.split(":")
  const isSomebodys = fault === "delete" || fault === "flood"
  World.tell(world, isSomebodys ? "somebody" : current.process.label, sentence(alternative), true)
  if (fault === "delete") return remove(world, argument)
  if (fault === "flood") return Overload.flood(world)
  if (fault === "ahead" || fault === "back") return Time.jump(world, fault)
  if (fault === "pause") return Time.pause(world, current.process)
  if (fault === "again") return runsAgain(world)
  if (fault === "poison") return void (world.notes.poisoned = argument)
  if (fault === "stop") return stop(world, current)
  if (fault === "overlap") return overlap(world, current.process)
  BootFaults.prepare(world, fault ?? "", argument)
  restart(world, current.process)
  world.oldView = undefined
  world.lateList = undefined
}

/** What can happen to a process at rest. One that stands still hears no signal. */
const disturbances = ({ process }: World.Running): ReadonlyArray<string> =>
  process.held === undefined ? ["restart", "stop", "pause", "again"] : ["restart"]

/** The same for a replica. */
const disturb = (world: World.World, replica: World.Running): void => {
  const { process } = replica
  if (!process.isAlive) return
  const offered = disturbances(replica).filter((fault) => fault !== "again" && isWanted(world, fault))
  const fault = Choices.pick(world.choices, `world/step/${world.stepsTaken + 1}/${process.name}`, offered)
  if (fault === undefined) return
  World.tell(world, process.label, sentence(fault), true)
  if (fault === "pause") return Time.pause(world, process)
  if (fault === "stop") return stop(world, replica)
  restart(world, process)
}

const isWanted = (world: World.World, alternative: string): boolean => {
  const fault = faults.find((fault) => alternative === fault || alternative.startsWith(`${fault}:`))
  return fault !== undefined && world.spec.faults.has(fault)
}

/** What the workload did not make. */
const children = (world: World.World): ReadonlyArray<Resource.Raw> => {
  const own = new Set(world.spec.kinds.map(({ address }) => address.kind))
  return objects(world).filter((object) => !own.has(object.kind) && !Resource.isMarkedForDeletion(object))
}

const remove = (world: World.World, text: string): void => {
  const object = children(world).find((object) => `${object.kind}/${World.keyText(object)}` === text)
  const at = MemoryStore.Core.kinds(world.core).find(({ kind }) => kind === object?.kind)
  if (object === undefined || at === undefined) return
  const key = Resource.key(object)
  const options = { writeId: `somebody-${world.loop.steps}`, hasStatus: true }
  World.at(world, World.write(world, "somebody", at, { op: "delete", key, propagation: "background" }, options))
}

// ---------------------------------------------------------------------------------------------------------------------
// the process
// ---------------------------------------------------------------------------------------------------------------------

export const kill = (world: World.World, process: Loop.Process): void => {
  Loop.kill(world.loop, process)
  for (const passes of [world.running, world.ended, world.notes.lastPasses]) {
    for (const name of passes.keys()) if (name.startsWith(`${process.label} `)) passes.delete(name)
  }
  world.notes.probes.delete(process.label)
  const isCurrent = [world.current, ...world.standbys.values()].some((running) => running?.process === process)
  if (isCurrent) Loop.after(world.loop, undefined, restartMillis, () => boot(world, process.boot + 1, process.name))
}

/** Killed, and back again. */
const restart = (world: World.World, process: Loop.Process): void => {
  kill(world, process)
  until(world, world.loop.now + 2 * restartMillis)
}

/** Two at once (X16): the new one takes over, the old one does not know yet. */
export const overlap = (world: World.World, process: Loop.Process): void => {
  boot(world, process.boot + 1, process.name)
  Loop.after(world.loop, undefined, overlapMillis, () => {
    if (!process.isAlive) return
    World.tell(world, process.label, "ended")
    kill(world, process)
  })
  until(world, world.loop.now + 2 * restartMillis)
}

/** P13: a graceful stop ends within its bound, and nothing is written after it. */
export const stop = (world: World.World, { fiber, process }: World.Running): void => {
  fiber.interruptUnsafe()
  if (!until(world, world.loop.now + stopMillis)) return
  if (process.held !== undefined && !until(world, world.loop.now + stopMillis)) return // it stood still meanwhile
  if (!process.isAlive) return // killed while it stopped
  if (fiber.pollUnsafe() === undefined) {
    return World.violate(world, "P13", `${process.label} did not stop within ${stopMillis / 1000} s`)
  }
  restart(world, process)
}

/** The production Layer, from nothing: no memory of an earlier start but what was stored. */
export const boot = (world: World.World, number: number, name = "ctl"): void => {
  if (number > 1 && Starts.isKnown(world)) return
  const process = Loop.startProcess(world.loop, name, number)
  const metFaults = world.hasFaults
  if (number > 1) {
    World.tell(world, process.label, `started${BootFaults.inWords(world)}`)
  }
  const driver = Driver.make(world, process)
  const store = Store.make(driver)
  const outside = world.spec.external.map((external) => Driver.externals(world, process, external))
  const services = Context.make(StoreDriver.StoreDriver, driver).pipe(
    Context.add(Store.Store, world.calls === undefined ? store : Calls.watched(world.calls, store)),
    Context.merge(Context.mergeAll(...outside))
  )
  const program = Effect.scopedWith((scope) =>
    Effect.andThen(
      Layer.buildWithMemoMap(
        Layer.provide(world.spec.layer, Layer.succeedContext(services)),
        Layer.makeMemoMapUnsafe(),
        scope
      ),
      Effect.andThen(Effect.sync(() => world.notes.built.add(process.label)), Effect.never)
    )
  ).pipe(
    Effect.catchCause((cause) =>
      Effect.sync(() => {
        if (Cause.hasInterruptsOnly(cause)) return
        notBuilt(world, process, Cause.pretty(cause).split("\n")[0] ?? "", metFaults)
      })
    ),
    Effect.provideContext(seams(world, process))
  )
  Notes.clockBegins(world.notes)
  const running = { process, fiber: Loop.fork(process, program) }
  if (name === "ctl") world.current = running
  else world.standbys.set(name, running)
}

/** A process that cannot start ends, and who supervises it starts it anew: so one fault may stop one start, and no more. */
const notBuilt = (world: World.World, process: Loop.Process, why: string, metFaults: boolean): void => {
  if (world.choices.taken.length === 0) return World.violate(world, "input", `the Layer was not built: ${why}`)
  if (!metFaults) return World.violate(world, "P1", `${process.label} cannot start any more: ${why}`)
  World.tell(world, process.label, `could not start: ${why}`)
  kill(world, process)
}

/** What is quiet or watched, and else as in production. */
const seams = (world: World.World, process: Loop.Process): Context.Context<never> =>
  Context.make(Controller.Observer, observerOf(world, process)).pipe(
    Context.add(Asides.Process, process.label),
    Context.add(References.TracerEnabled, false),
    Context.add(References.MinimumLogLevel, "None"),
    Context.add(Metric.MetricRegistry, new Map()),
    Context.add(Metrics.Enabled, false)
  )

const observerOf = (world: World.World, process: Loop.Process): Controller.Observer => ({
  began: (probe) => Checks.began(world, process.label, probe),
  passStarted: (pass) => {
    const name = Passes.keyOf(pass)
    const here = `${process.label} ${name}`
    world.passes++
    if (world.running.has(here)) World.violate(world, "P10", `two passes of ${name} at once in ${process.label}`)
    world.running.set(here, pass)
    world.notes.lastPasses.set(here, pass)
    Checks.passStarted(world, pass)
    world.started.set(name, world.loop.steps)
    Asides.passStarted(world, process.label, pass)
  },
  passEnded: (pass, end, error) => {
    Asides.passEnded(world, process.label, pass, end, error)
    const name = Passes.keyOf(pass)
    const here = `${process.label} ${name}`
    world.running.delete(here)
    world.ended.set(here, end)
    world.passLog?.push({ process: process.label, pass, end })
    if (end === "Defect") World.violate(world, "P13", `pass ${pass.number} of ${name} died of a defect`)
  }
})
