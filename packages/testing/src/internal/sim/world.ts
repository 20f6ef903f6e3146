/**
 * A simulated world: the store and what it was told, who acts in it, and the first law that broke.
 *
 * The store is `MemoryStore`'s own rules, so that a simulated program meets the store it meets in production. Every
 * change is written down here with who made it, and is judged at once.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import { type Controller, MemoryStore, type Pass, Resource, Store, type StoreDriver, StoreRules } from "setpoint"
import * as Admission from "./admission.ts"
import type * as Calls from "./calls.ts"
import * as Notes from "./checks/notes.ts"
import * as Choices from "./choices.ts"
import { exactText } from "./exact.ts"
import type { External } from "./external.ts"
import type { Starts } from "./known.ts"
import * as Loop from "./loop.ts"
import * as randomness from "./randomness.ts"
import type { Spec } from "./spec.ts"
import type { Change, Line, View, Violation } from "./story.ts"

/** A process and its root fiber. */
export interface Running {
  readonly process: Loop.Process
  readonly fiber: Fiber.Fiber<unknown, unknown>
}

/** What the run does when the world asks for it. */
export interface Hooks {
  /** Judges a change as it happens. */
  readonly judge: (world: World, change: Change, sent: Notes.Sent) => void
  /** Judges the world after something outside of the store may have changed. */
  readonly look: (world: World) => void
  /** The user's next step, now. */
  readonly takeStep: (world: World) => void
  /** Ends a process, which starts anew a second later. */
  readonly kill: (world: World, process: Loop.Process) => void
}

export interface EndedPass {
  readonly process: string
  readonly pass: Pass.Pass
  readonly end: Controller.End
}

/** Whose turn it is, and what a line says of it. */
export type Turn = Pick<Line, "who" | "site" | "pass" | "bound">

/** An old view: a snapshot that the store still keeps. */
export interface OldView {
  readonly revision: number
  /** `undefined`: of every kind. */
  readonly kind: string | undefined
}

/** One change of the store. */
export interface Commit {
  readonly writeId: string
  readonly kind: string
}

export interface World {
  readonly spec: Spec
  readonly hooks: Hooks
  readonly loop: Loop.Loop
  readonly choices: Choices.Choices
  readonly core: MemoryStore.Core.State
  /** The store itself, without choices: for the user's steps and for checks. */
  readonly driver: StoreDriver.Service
  readonly store: Store.Service
  readonly view: View
  readonly externals: Map<string, unknown>
  readonly actor: Context.Context<never>
  current: Running | undefined
  /** Others that run the same Layer, by name. */
  readonly standbys: Map<string, Running>
  readonly starts: Starts
  /** When the user's next step is due. */
  nextStepAt: number
  /** A hash of all that external services were asked and answered, and of the steps in between, where it can be told. */
  asked: number | undefined
  /** Off for good in phase two. */
  hasFaults: boolean
  /** All is checked but the restart at rest. */
  isEnding: boolean
  violation: Violation | undefined
  /** By revision, so that an old list can be asked for. */
  readonly commits: Map<number, Commit>
  /** Write ids whose replies were lost for good. */
  readonly lost: Set<string>
  /** Changes that processes made; Events do not count, nor what comes by the clock and says so. */
  writes: number
  /** By watch: until when it cannot be opened. */
  readonly outages: Map<string, number>
  /** Changes of external services. */
  externalCalls: number
  /** What actors did, here or outside. */
  othersActs: number
  lastWriteAt: number
  passes: number
  /** Steps of the workload that were taken. */
  stepsTaken: number
  /** Where a kill was last offered, by process: kills between which nothing happened are one. */
  readonly killedAt: Map<string, string>
  /** From which revision on the store keeps its history: a watch cannot resume from before. */
  keptFrom: number
  /** Where fresh processes list; `undefined`: at the head. */
  oldView: OldView | undefined
  /** The kind whose next first list comes late. */
  lateList: string | undefined
  /** Kinds of which informers made lists. */
  readonly informed: Set<string>
  /** What the trace is told; kept only where it is asked for. */
  readonly lines: Array<Line> | undefined
  /** Passes that ended; kept only where lines are. */
  readonly passLog: Array<EndedPass> | undefined
  /** By kind: watches whose events wait until they are let go, by what lets them. */
  readonly held: Map<string, Array<() => void>>
  /** The user's calls, where the run is told. */
  readonly calls: Calls.Calls | undefined
  /** The call that takes its turn now: lines of its process are its doing. */
  turn: Turn | undefined
  hash: number
  /** By registration and key: when its last pass began, in steps of the loop. */
  readonly started: Map<string, number>
  /** By process, registration and key: how its last pass ended. */
  readonly ended: Map<string, string>
  readonly running: Map<string, Pass.Pass>
  /** By kind and key: when others last changed what is desired. */
  readonly wanted: Map<string, number>
  readonly observed: Map<string, number>
  /** What the checks remember. */
  readonly notes: Notes.Notes
  /** The pass whose call takes effect at this moment. */
  acting: Pass.Pass | undefined
  /** Whether `matches` was false at any time: one that never is checks nothing. */
  wasUnmatched: boolean
}

export const make = (
  spec: Spec,
  source: Choices.Source,
  calls: Calls.Calls | undefined,
  starts: Starts,
  hooks: Hooks
): World => {
  const loop = Loop.make(spec.seed)
  const random = randomness.service(randomness.seedOf(`${spec.seed}/store`))
  const core = MemoryStore.Core.make("birth", { ...MemoryStore.Core.defaults, freeze: true })
  const driver = Admission.wrap(MemoryStore.fromCore(core), core, spec.admit, () => Loop.wallMillis(loop))
  const world: World = {
    spec,
    hooks,
    loop,
    choices: Choices.make(source),
    core,
    driver,
    store: Store.make(observed(() => world, "user", driver)),
    view: viewOf(() => world),
    externals: new Map(),
    actor: Context.make(Clock.Clock, Loop.clockOf(loop, () => undefined)).pipe(Context.add(Random.Random, random)),
    current: undefined,
    standbys: new Map(),
    starts,
    nextStepAt: Infinity,
    asked: randomness.hash(""),
    hasFaults: true,
    isEnding: false,
    violation: undefined,
    commits: new Map([[0, { writeId: "birth", kind: "" }]]),
    lost: new Set(),
    outages: new Map(),
    writes: 0,
    externalCalls: 0,
    othersActs: 0,
    lastWriteAt: 0,
    passes: 0,
    stepsTaken: 0,
    killedAt: new Map(),
    keptFrom: 0,
    oldView: undefined,
    lateList: undefined,
    informed: new Set(),
    lines: calls === undefined ? undefined : [],
    calls,
    turn: undefined,
    passLog: calls === undefined ? undefined : [],
    held: new Map(),
    hash: randomness.hash(""),
    started: new Map(),
    ended: new Map(),
    running: new Map(),
    wanted: new Map(),
    observed: new Map(),
    notes: Notes.make(),
    acting: undefined,
    wasUnmatched: false
  }
  return world
}

// ---------------------------------------------------------------------------------------------------------------------
// what is told
// ---------------------------------------------------------------------------------------------------------------------

/** A line of the story, and a part of its hash. */
export const tell = (world: World, who: string, text: string, isFault = false, change?: Change): void => {
  world.hash = randomness.hash(`${world.loop.now} ${who} ${text}\n`, world.hash)
  const turn = world.turn?.who === who ? world.turn : undefined
  world.lines?.push({ ...turn, millis: world.loop.now, who, text, isFault, change })
  if (isFault && world.notes.again !== undefined) world.notes.again.isDisturbed = true // a reason to write (P5)
}

/** What the outside was asked and answered: where that is equal, in the same order, it is in the same state. */
export const ask = (world: World, what: unknown): void => {
  const text = exactText(what)
  world.asked = text === undefined || world.asked === undefined ? undefined : randomness.hash(text, world.asked)
}

/** The first law that breaks ends the run; others that show in the same step are told beside it. */
export const violate = (world: World, law: string, title: string): void => {
  const { violation } = world
  if (world.spec.except[law] !== undefined) return
  if (violation === undefined) {
    world.violation = { law, title, also: [], step: world.loop.steps }
    tell(world, "check", title, true)
  } else if (violation.step === world.loop.steps) {
    world.violation = { ...violation, also: [...violation.also, `${title} (${law})`] }
  }
}

/** What is worth a look and breaks no law; `detail`: what differs from run to run. */
export const warn = (world: World, text: string, detail = ""): void => void world.notes.warnings.set(text, detail)

// ---------------------------------------------------------------------------------------------------------------------
// changes
// ---------------------------------------------------------------------------------------------------------------------

/** Runs a call to the store at once. Its effects never wait. */
export const at = <A, E>(world: World, effect: Effect.Effect<A, E>): Exit.Exit<A, E> =>
  Effect.runSyncExitWith(world.actor)(effect)

/** One write, from whomever: judged by the store's rules, then by the checks. */
export const write = (
  world: World,
  by: string,
  ...args: Parameters<StoreDriver.Service["write"]>
): ReturnType<StoreDriver.Service["write"]> =>
  Effect.suspend(() => {
    const [address, write, options] = args
    const found = MemoryStore.Core.get(world.core, address, StoreRules.keyOf(write))
    const before = Result.isSuccess(found) ? found.success : undefined
    return Effect.tap(world.driver.write(...args), (written) =>
      Effect.sync(() => {
        if (!written.changed || options.dryRun === true) return
        const sent = { write, options, pass: isOutsider(world, by) ? undefined : world.acting }
        committed(world, by, before, written, sent)
      }))
  })

export const isEvent = (object: Resource.Any): boolean => object.kind === "Event"

export const isEventKind = (at: StoreDriver.KindAddress): boolean => at.kind === "Event"

const committed = (
  world: World,
  by: string,
  before: Resource.Raw | undefined,
  { object, removed }: StoreDriver.Written,
  sent: Omit<Notes.Sent, "isBeat">
): void => {
  const { revision, writeId } = world.core.timeline.latest
  world.commits.set(revision, { writeId, kind: object.kind })
  if (isEvent(object)) return
  const change: Change = { type: typeOf(before, object, removed), before, object, revision, by }
  const isOutside = isOutsider(world, by)
  const isBeat = !isOutside &&
    Notes.wrote(world.notes, object, change.type === "updated", world.loop.now, world.spec.checks.writesEveryMillis)
  if (!isBeat) world.lastWriteAt = world.loop.now
  if (!isBeat && !isOutside) world.writes++
  const mark = change.type === "marked" ? " (marked)" : ""
  const verb = change.type === "marked" ? "delete" : verbs[change.type]
  tell(world, by, `${verb} ${object.kind} ${keyText(object)}    rev ${revision}${mark}`, false, change)
  noteWanted(world, change)
  world.hooks.judge(world, change, { ...sent, isBeat })
}

/** What a rival's write leaves on an object. */
export const rivalAnnotation = "sim.setpoint.dev/rival"

/** Who acts without being a process. */
export const isOutsider = (world: World, by: string): boolean =>
  outsiders.has(by) || world.spec.actors.some(({ name }) => name === by)

const outsiders: ReadonlySet<string> = new Set(["user", "rival", "somebody"])

const verbs = { created: "create", updated: "update", removed: "remove" } as const

const typeOf = (before: Resource.Raw | undefined, object: Resource.Raw, removed: boolean): Change["type"] => {
  if (removed) return "removed"
  if (before === undefined) return "created"
  const isMarked = Resource.isMarkedForDeletion(object) && !Resource.isMarkedForDeletion(before)
  return isMarked ? "marked" : "updated"
}

/** What a pass must start after (P11): changes of desired state that others made. */
const noteWanted = (world: World, { before, by, object, type }: Change): void => {
  if (type === "removed" || !isOutsider(world, by)) return
  if (type === "updated" && before?.metadata.generation === object.metadata.generation) return
  world.wanted.set(`${object.kind}/${keyText(object)}`, world.loop.steps)
}

/** `web` in the default namespace or in none, else `team/web`. */
export const keyText = (object: Resource.Any): string => nameOf(Resource.key(object))

export const nameOf = ({ name, namespace }: Resource.Key): string =>
  namespace === "" || namespace === "default" ? name : `${namespace}/${name}`

/** The store as somebody who is no process writes it. */
export const storeOf = (world: World, by: string): Store.Service => Store.make(observed(() => world, by, world.driver))

const observed = (world: () => World, by: string, driver: StoreDriver.Service): StoreDriver.Service => ({
  ...driver,
  write: (address, operation, options) => write(world(), by, address, operation, options)
})

const viewOf = (world: () => World): View => ({
  get now() {
    return Loop.wallMillis(world().loop)
  },
  get: (kind, key) => {
    const { name, namespace } = typeof key === "string" ? { name: key, namespace: undefined } : key
    const scoped = kind.address.scope === "Cluster" ? "" : namespace ?? "default"
    const raw = MemoryStore.Core.get(world().core, kind.address, { namespace: scoped, name })
    if (Result.isFailure(raw)) return undefined
    return Result.getOrUndefined(kind.decode(raw.success))
  },
  list: (kind) => {
    const page = MemoryStore.Core.list(world().core, kind.address, {})
    if (Result.isFailure(page)) return []
    return page.success.items.flatMap((raw) => Result.getOrUndefined(kind.decode(raw)) ?? [])
  },
  external: <F>(external: External<unknown, F>) => external.instanceIn(world().externals)
})
