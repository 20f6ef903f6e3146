/**
 * The simulator: finds a reconciler's crash, staleness and ordering bugs before its users do.
 *
 * {@link check} takes a production Layer, unchanged, and a workload. It runs the Layer with its engine, caches, queues and
 * a store in one synchronous loop, under its own scheduler, clock and randomness; tries every single fault at every call
 * of every pass, then every pair, then random ones; and fails with the shortest story that breaks, and a token that
 * replays it. A run takes milliseconds, so that thousands are tried where a cluster tries one.
 *
 * **Ordering** A run is the plain run and a list of deviations from it, each at a named point
 * (`process/registration/key/pass/operation:kind/name`). At a point nothing odd happens unless the list names it. All
 * lists of one deviation are tried before those of two, so that the first that fails has the fewest there are.
 *
 * **Delivery** What can happen: a process is killed before a call or after it took effect (`kill`, `kill-after`); a call is
 * refused (`refuse`), applied with its reply lost (`lose`), answered late (`slow`), or comes after the next step of the
 * workload (`early`), after somebody else's write (`rival`), or after all that waits (`behind`); a watch event is late
 * (`late`), the watch is cut and resumed (`cut`), or stands still and must list anew (`expire`); a process at rest is
 * killed (`restart`) or stopped gracefully (`stop`), or killed, and one of its next caches is synced long after the others
 * (`unsynced`); or every pass that was done runs once more (`again`); a process stands still for 45 s at rest or just
 * before it changes something, while its timers come due and its events pile up (`pause`); the clock on the wall jumps 12
 * hours `ahead`, or 30 seconds `back`; a list that an external service gives has another order (`unordered`). Off unless
 * asked for: the lists of a new process are old (`old`), which stores of Setpoint's contract never do, or those of one kind
 * alone (`old-kind`); somebody deletes an object that the workload did not make (`delete`); a second process starts while
 * the first goes on (`overlap`), as without a leader election, or with one that failed; from a step on all that the passes
 * of one key change is refused (`poison`); a watch is cut and cannot be opened for a while (`outage`); all objects of the
 * workload are edited 40 times at once (`flood`); of two fibers that can run the later one goes first (`fibers`). A killed
 * process runs nothing more, no finalizer either; it is built anew a second later, from what is stored.
 *
 * **Consistency** Checked in every run: the objects match at rest, or, without `matches`, the end is the plain run's (P1,
 * P2; P15 where nothing but the view differed); writes stop (P3); what is owned does not outlive its owners, and deletions
 * end (P4); a pass that runs again with nothing changed writes nothing (P5); `never` and `always` (P6); nothing is taken
 * from a controller that lives (P7); observedGeneration is honest (P8); `Ready` at the generation of now is true or was,
 * and transition times move with their status (P9); a key has one pass at a time, and who writes under a fence writes no
 * more when it is an old leader (P10); what others want is seen by a pass that began after, and soon (P11); the queue keeps
 * a key once, and nothing of what is gone, failures are forgotten after success, watches are opened with pauses (P12); no
 * defect, and a graceful stop ends (P13); others go on while a key fails for ever (P14, with `poison`); cached objects are
 * not edited (P17: they are frozen, so that an edit is a defect); caches tell lives that make sense, and hold at rest what
 * is stored (P18); a restart at rest writes nothing (P19). Told and no failure, unless {@link Checks} asks for it: objects
 * that are made or deleted more often than in the plain run (P2), deletes on the word of a cache (P20), timers of what is
 * gone (P12). With {@link recovery}: good, bad and good again is the first state (P16). The first violation in time is
 * reported, and what else shows at the same moment beside it. Two runs of one list must be equal, else what leaks is named.
 *
 * **Memory** Nothing outlives a run but its points, and those only while lists that begin with it are tried; and, bounded,
 * hashes of states in which processes started.
 *
 * Limits, plainly: a bounded search is no proof; what needs three deviations or a long workload is left to chance. The
 * world is a model. A fake of an external service is as good as its author. Module-level variables, real I/O and worker
 * threads escape: the guard reports them, it does not contain them, and a loop without an Effect in it hangs.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { Kind, Resource, Store, StoreDriver } from "setpoint"
import * as Admissions from "./internal/sim/admission.ts"
import * as Choices from "./internal/sim/choices.ts"
import * as Drive from "./internal/sim/drive.ts"
import * as Externals from "./internal/sim/external.ts"
import * as Redraw from "./internal/sim/redraw.ts"
import * as Report from "./internal/sim/report.ts"
import * as Search from "./internal/sim/search.ts"
import { type Fault as AnyFault, faults, type Spec } from "./internal/sim/spec.ts"
import type * as Story from "./internal/sim/story.ts"
import * as Workloads from "./internal/sim/workload.ts"
import * as Wrap from "./internal/sim/wrap.ts"
import type { Workload } from "./SimWorkload.ts"

/**
 * What can happen instead of what is planned: see the module.
 *
 * @category models
 * @since 0.1.0
 */
export type Fault = AnyFault

/**
 * What predicates see: the store as it is, past every cache.
 *
 * @category models
 * @since 0.1.0
 */
export type World = Story.View

/**
 * One change of the store, as `never` sees it.
 *
 * @category models
 * @since 0.1.0
 */
export type Change = Story.Change

/**
 * Somebody else's controller. Made by {@link actor}.
 *
 * @category models
 * @since 0.1.0
 */
export type Actor = Workloads.Actor

/**
 * What is asked beside what every run is asked, and what is not.
 *
 * @category models
 * @since 0.1.0
 */
export interface Checks {
  /**
   * P2: an object that is made or deleted more often than in the plain run. There are good reasons for it, so that it is
   * told and fails nothing: default `"warn"`.
   */
  readonly counts?: "warn" | "fail" | undefined
  /**
   * P3: the controllers write by the clock by design, each object at most once in this time: such writes are no unrest.
   * One more when a process starts, or a pass is made to run again. Default: all writes are.
   */
  readonly writesEvery?: Duration.Input | undefined
  /** P7: all that the controllers make has an owner, or one of these labels or annotations. Default: not asked. */
  readonly owned?: boolean | { readonly orTagged: ReadonlyArray<string> } | undefined
  /**
   * P20: a pass that deletes without uid or revision and has not read the kind from the store itself. Default `"warn"`.
   */
  readonly unguardedDeletes?: "warn" | "fail" | undefined
}

/**
 * A service outside of the store, and the fake that stands for it. Made by {@link external}.
 *
 * @category models
 * @since 0.1.0
 */
export type External<S, F> = Externals.External<S, F>

/**
 * A rule of the server for what is written. Made by {@link admission}.
 *
 * @category models
 * @since 0.1.0
 */
export type Admission = Admissions.Admission

/**
 * What {@link check} takes. Only `controllers` and `workload` are needed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<A, S = never> {
  /** The production Layer, without its store. */
  readonly controllers: Layer.Layer<never, unknown, Store.Store | StoreDriver.StoreDriver | NoInfer<S>>
  readonly workload: Workload<A>
  /**
   * Whether an object of the workload is as it should be, asked at rest. Default: the end of every run is compared with
   * that of the plain run.
   */
  readonly matches?: ((object: A, world: World) => boolean) | undefined
  /** What must never hold, by name; asked after every change, which it is given. */
  readonly never?: { readonly [name: string]: (world: World, change: Change) => boolean } | undefined
  /** What must hold at any time, by name; asked after every change, of the store or of what is outside. */
  readonly always?: { readonly [name: string]: (world: World) => boolean } | undefined
  /** What must hold at rest, by name. */
  readonly atRest?: { readonly [name: string]: (world: World) => boolean } | undefined
  /** Somebody else's controllers, made by {@link actor}. */
  readonly actors?: ReadonlyArray<Actor> | undefined
  /** Checks that are not asked of everybody. */
  readonly checks?: Checks | undefined
  /** Fakes of what is outside of the store: each of their methods is a point where faults happen. */
  readonly external?: ReadonlyArray<External<S, unknown>> | undefined
  /** What the server makes of what is written: see {@link admission}. Default: what was written. */
  readonly admit?: ReadonlyArray<Admission> | undefined
  /** Processes that run the Layer at once, as behind a leader election. Default 1. */
  readonly replicas?: number | undefined
  /** Default: {@link defaultFaults}. */
  readonly faults?: ReadonlyArray<Fault> | undefined
  /**
   * Laws that the program breaks by design, each with the reason, which the summary repeats: a process that notes at its
   * start that it has started breaks P19.
   */
  readonly except?: { readonly [law in "P8" | "P19"]?: string | undefined } | undefined
  /** All runs with at most so many deviations. Default 2. */
  readonly depth?: number | undefined
  /**
   * A depth beyond the first that would take more runs is left out, and the summary says so. Counted, not timed, so that
   * equal checks try equal runs on every machine. Default 2,000: some five seconds.
   */
  readonly maxRuns?: number | undefined
  /**
   * Whether a run ends where a process starts anew in a state (of objects, steps, and what fakes were asked) in which one
   * started before and all went well: what follows was tried. Equal but for the time of day and for random draws.
   * Default `true`.
   */
  readonly prune?: boolean | undefined
  /**
   * Random runs after that: three of four with other steps than the workload's (see {@link changes} and {@link script}),
   * each with some kinds of faults and a rate of its own, every other one with some who always come last. Default 500.
   */
  readonly random?: number | undefined
  /** One run of so many is made twice: a difference is a leak, which is told. Default 50. */
  readonly repeatEvery?: number | undefined
  /** Of the random runs. One seed draws the same runs each time: give it another every night. Default 1. */
  readonly seed?: number | undefined
  /** Steps of the loop in one run, past which it is an endless loop. Default 20,000. */
  readonly maxSteps?: number | undefined
  /** Tokens that failed once: replayed first. One whose point no longer exists fails the check and says so. */
  readonly tokens?: ReadonlyArray<string> | undefined
  /** Told how far the search is, after some tens of milliseconds of it each time. */
  readonly onProgress?: ((progress: Progress) => Effect.Effect<void>) | undefined
}

/**
 * How far a search is: its phase, the deviations of its runs, how many of them are done, and different courses of events
 * seen. It knows no clock: runs a second are for who is told to measure.
 *
 * @category models
 * @since 0.1.0
 */
export type Progress = Search.Progress

/**
 * What a clean check tried: all `runs` with at most `depth` deviations, and `random` random ones.
 *
 * @category models
 * @since 0.1.0
 */
export interface Summary {
  readonly depth: number
  readonly runs: number
  /** About how many more lists of deviations these stand for: see `prune` of {@link Options}. */
  readonly pruned: number
  readonly random: number
  /** Runs that were made twice, and were equal. */
  readonly repeated: number
  /** Points of the plain run. */
  readonly points: number
  /** What is worth a look and breaks no law: with the number of runs that showed it, and the token of the first. */
  readonly warnings: ReadonlyArray<string>
  /** All of it in words; of the warnings the first five. */
  readonly text: string
}

/**
 * The shortest story that breaks. Its `report` has at most 25 lines: the law, the deviations, what happened with the lines of
 * the user's calls, a hint, and how to replay it.
 *
 * @category errors
 * @since 0.1.0
 */
export class Counterexample extends Schema.TaggedError<Counterexample>()("Sim/Counterexample", {
  /** `P1` … `P20`; `leak` where a run cannot be repeated, `input` where the check itself is at fault. */
  law: Schema.String,
  title: Schema.String,
  /** Replays it: {@link replay}. */
  token: Schema.String,
  deviations: Schema.Int,
  /** Runs that were tried before it was found. */
  runs: Schema.Int,
  report: Schema.String
}) {
  override get message(): string {
    return `\n${this.report}`
  }
}

/**
 * All that a store of Setpoint's contract and its users may do.
 *
 * @category faults
 * @since 0.1.0
 */
export const defaultFaults: ReadonlyArray<Fault> = faults.filter((fault) =>
  !["old", "old-kind", "delete", "overlap", "poison", "outage", "flood", "fibers"].includes(fault)
)

/**
 * Every fault there is.
 *
 * @category faults
 * @since 0.1.0
 */
export const allFaults: ReadonlyArray<Fault> = faults

// ---------------------------------------------------------------------------------------------------------------------
// checking
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Searches for a run that breaks a law; fails with the one that has the fewest deviations.
 *
 * @example
 * ```ts
 * import { Sim } from "@setpoint/testing"
 * import { Effect, Layer, Schema } from "effect"
 * import { Controller, Kind, Owner, Reconciler, Store } from "setpoint"
 *
 * const spec = Schema.Struct({ size: Schema.Int })
 * const Widget = Kind.make({ group: "example.dev", version: "v1", kind: "Widget", spec })
 * const Volume = Kind.make({ group: "example.dev", version: "v1", kind: "Volume", spec })
 *
 * const widgets = Reconciler.make(Widget, {
 *   owns: [Volume],
 *   reconcile: Effect.fnUntraced(function*(request) {
 *     const widget = yield* Store.latest(Widget, request)
 *     const owned = yield* Owner.setController({ metadata: { name: request.name }, spec: widget.spec }, widget)
 *     yield* Store.ensure(Volume, request, () => owned)
 *   })
 * })
 *
 * const program = Sim.check({
 *   controllers: Controller.layerFor(widgets).pipe(Layer.provide(Controller.layer())),
 *   workload: Sim.changes(Widget, { names: 1 }),
 *   matches: (widget, world) => world.get(Volume, widget.metadata.name)?.spec.size === widget.spec.size,
 *   depth: 1,
 *   random: 10
 * })
 *
 * console.log(Effect.runSync(program).text)
 * ```
 *
 * @category checking
 * @since 0.1.0
 */
export const check = <A, S = never>(options: Options<A, S>): Effect.Effect<Summary, Counterexample> =>
  Effect.suspend(() => {
    const spec = specOf(options)
    for (const token of options.tokens ?? []) {
      const failure = replayed(spec, token)
      if (failure !== undefined) return Effect.fail(failure)
    }
    const search = Search.search(spec, {
      depth: options.depth ?? 2,
      maxRuns: options.maxRuns ?? 2_000,
      random: options.random ?? 500,
      seed: options.seed ?? 1,
      prune: options.prune ?? true,
      repeatEvery: options.repeatEvery ?? 50
    })
    return Effect.flatMap(Drive.drive(search, options.onProgress ?? (() => Effect.void)), (searched) => {
      if (searched._tag === "Found") return Effect.fail(counterexample(searched))
      const { depth, points, pruned, random, repeated, runs } = searched.tried
      return Effect.succeed({
        depth,
        points,
        pruned,
        random,
        repeated,
        runs,
        warnings: Report.warnings(searched.tried),
        text: Report.summary(spec, searched.tried)
      })
    })
  })

/**
 * Runs one list of deviations again: fails as it failed, or says which of its points was not reached.
 *
 * @category checking
 * @since 0.1.0
 */
export const replay = <A, S = never>(options: Options<A, S>, token: string): Effect.Effect<void, Counterexample> =>
  Effect.suspend(() => {
    const failure = replayed(specOf(options), token)
    return failure === undefined ? Effect.void : Effect.fail(failure)
  })

/**
 * One run as a page: a time line of who did what to which object, to be stepped through by keys or buttons, with every
 * object as it was at each step. The page is one text of HTML that loads nothing; write it where a browser finds it.
 * `token` is a failure's, or `""` for the plain run: a run in which no law breaks has a page as well. Fails where the token
 * is none, or names a point that is not reached.
 *
 * @example
 * ```ts
 * import { Sim } from "@setpoint/testing"
 * import { Effect, Layer, Schema } from "effect"
 * import { Controller, Kind, Reconciler, Store } from "setpoint"
 *
 * const Widget = Kind.make({ group: "example.dev", version: "v1", kind: "Widget", spec: Schema.Struct({ size: Schema.Int }) })
 * const widgets = Reconciler.make(Widget, { reconcile: (request) => Effect.asVoid(Store.get(Widget, request)) })
 *
 * const page = Sim.page({
 *   controllers: Controller.layerFor(widgets).pipe(Layer.provide(Controller.layer())),
 *   workload: Sim.changes(Widget, { names: 1 })
 * }, "")
 *
 * console.log(Effect.runSync(page).startsWith("<!doctype html>")) // true
 * ```
 *
 * @category checking
 * @since 0.1.0
 */
export const page = <A, S = never>(options: Options<A, S>, token: string): Effect.Effect<string, Counterexample> =>
  Effect.suspend(() => {
    const told = toldBy(specOf(options), token)
    return told instanceof Counterexample ? Effect.fail(told) : Effect.succeed(Report.page(told.run, told.plan))
  })

/**
 * Only what costs least and finds most: the process is killed at every call that changes something, and before every
 * other that could show it.
 *
 * @category checking
 * @since 0.1.0
 */
export const crashes = <A, S = never>(options: Options<A, S>): Effect.Effect<Summary, Counterexample> =>
  check({ ...options, faults: ["kill", "kill-after", "restart"], depth: 1, random: 0 })

const replayed = (spec: Spec, token: string): Counterexample | undefined => {
  const told = toldBy(spec, token)
  if (told instanceof Counterexample) return told
  const { plan, run } = told
  if (run.violation === undefined) return undefined
  const none = { depth: 0, leftOut: undefined, points: 0, pruned: 0, random: 0, repeated: 0, runs: 1 }
  const tried = { ...none, warnings: new Map() }
  return counterexample({ violation: run.violation, plan, run, tried, byChance: undefined }, { isReplay: true })
}

/** The run that a token names, or what is wrong with the token. */
const toldBy = (spec: Spec, token: string) => {
  const plan = Choices.parse(token)
  if (plan === undefined) return invalidToken(token, "it is no list of point=alternative")
  const run = Search.replay(spec, plan)
  if (run === undefined) return invalidToken(token, "its workload is none of the kind's, or not any more")
  const unmet = Redraw.rest(plan).find(({ alternative, point }) =>
    !run.taken.some((taken) => taken.point === point && taken.alternative === alternative)
  )
  if (unmet === undefined || run.violation !== undefined) return { plan, run }
  return invalidToken(token, `its point ${unmet.point} was not reached, or has no ${unmet.alternative} any more`)
}

const invalidToken = (token: string, why: string): Counterexample => {
  const title = `the token cannot be replayed: ${why}`
  return new Counterexample({
    law: "input",
    title,
    token,
    deviations: 0,
    runs: 0,
    report: `FAIL  ${title}\n  ${token}`
  })
}

const counterexample = (found: Search.Found, how?: { readonly isReplay: boolean }): Counterexample =>
  new Counterexample({
    law: found.violation.law,
    title: found.violation.title,
    token: Choices.print(found.plan),
    deviations: found.plan.length,
    runs: found.tried.runs + found.tried.random,
    report: Report.failure(found, how)
  })

/** Chance inside of a world does not depend on the seed of a search: a token that was found with one replays under any. */
const worldSeed = 1

const specOf = <A, S>(options: Options<A, S>): Spec => {
  const { checks = {}, matches, workload } = options
  const kinds = new Map(workload.steps.flatMap(({ kind }) => kind === undefined ? [] : [[kind.groupKind, kind]]))
  return {
    // The externals give what the Layer needs beside the store; a Spec no longer tells which services these are.
    layer: options.controllers as Spec["layer"],
    steps: workload.steps,
    kinds: [...kinds.values()],
    of: workload.of ?? [...kinds.values()],
    checks: {
      counts: checks.counts ?? "warn",
      writesEveryMillis: checks.writesEvery === undefined ? undefined : Duration.toMillis(checks.writesEvery),
      ownedOrTagged: ownedOf(checks.owned),
      returnsTo: workload.returnsTo,
      unguarded: checks.unguardedDeletes ?? "warn"
    },
    // Asked about objects of the kinds of the steps alone, which are of type A.
    matches: matches && ((object, world) => matches(object as A, world)),
    never: options.never ?? {},
    always: options.always ?? {},
    atRest: options.atRest ?? {},
    external: options.external ?? [],
    actors: options.actors ?? [],
    faults: new Set(options.faults ?? defaultFaults),
    admit: options.admit ?? [],
    replicas: options.replicas ?? 1,
    except: options.except ?? {},
    seed: worldSeed,
    maxSteps: options.maxSteps ?? 20_000,
    redraw: workload.redraw,
    workload: undefined
  }
}

const ownedOf = (owned: Checks["owned"]): ReadonlyArray<string> | undefined =>
  owned === undefined || owned === false ? undefined : owned === true ? [] : owned.orTagged

/**
 * A world for a test that drives single steps by hand: see `SimWorld`.
 *
 * @category checking
 * @since 0.1.0
 */
export { make as world } from "./SimWorld.ts"

/**
 * Workloads and their steps: see `SimWorkload`.
 *
 * @category workloads
 * @since 0.1.0
 */
export { act, changes, create, edit, recovery, remove, script, soon, type Step, type Workload } from "./SimWorkload.ts"

// ---------------------------------------------------------------------------------------------------------------------
// actors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Somebody else's controller: it hears of every change of a kind, whoever made it, and answers 100 ms later, or, as a
 * deviation (`slow`), 25 s later. It is outside of the processes that are killed, and its writes are its own in the story.
 *
 * @example
 * ```ts
 * import { Sim } from "@setpoint/testing"
 * import { Effect, Schema } from "effect"
 * import { Kind, Store } from "setpoint"
 *
 * const spec = Schema.Struct({ host: Schema.String })
 * const Request = Kind.make({ group: "example.dev", version: "v1", kind: "Request", spec })
 * const Secret = Kind.make({ group: "example.dev", version: "v1", kind: "Secret", spec })
 *
 * const issuer = Sim.actor("issuer", Request, ({ metadata: { name }, spec }, { type }) =>
 *   type === "created" ? Store.create(Secret, { metadata: { name }, spec }) : Effect.void
 * )
 * ```
 *
 * @category actors
 * @since 0.1.0
 */
export const actor: <A extends Resource.Any>(
  name: string,
  kind: Kind.Kind<A>,
  answer: (object: A, change: Change, world: World) => Effect.Effect<unknown, unknown, Store.Store>
) => Actor = Workloads.actor

// ---------------------------------------------------------------------------------------------------------------------
// the server
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A server that fills in, changes or refuses what is written, as admission does in Kubernetes, and triggers in a database:
 * the rule gives the object to store, or the text of a refusal (`Invalid`, which no retry cures). It is asked of every
 * create, update, patch and apply, whoever makes it; not of a status. It must be a function of what it is given.
 *
 * @example
 * ```ts
 * import { Sim } from "@setpoint/testing"
 * import { Schema } from "effect"
 * import { Kind } from "setpoint"
 *
 * const spec = Schema.Struct({ size: Schema.Int, zone: Schema.optionalKey(Schema.String) })
 * const Volume = Kind.make({ group: "example.dev", version: "v1", kind: "Volume", spec })
 *
 * const rules = Sim.admission(Volume, (volume, { before }) =>
 *   before !== undefined && before.spec.size > volume.spec.size
 *     ? "a volume never shrinks"
 *     : { ...volume, spec: { zone: "a", ...volume.spec } }
 * )
 * ```
 *
 * @category server
 * @since 0.1.0
 */
export const admission: <A extends Resource.Any>(
  kind: Kind.Kind<A>,
  rule: (
    object: A,
    context: {
      /** What is stored; `undefined` before creation. */
      readonly before: A | undefined
      /** Wall time in milliseconds. */
      readonly now: number
    }
  ) => A | string
) => Admission = Admissions.make

// ---------------------------------------------------------------------------------------------------------------------
// external services
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Stands a fake in for a service: one for a whole run, outside of every process that is killed. Each method that gives an
 * Effect becomes a point; it must answer at once, without waiting. With `fails` its calls are also refused, and applied
 * with their reply lost. Methods that change nothing belong into `reads`: fewer runs say the same then.
 *
 * @example
 * ```ts
 * import { Sim } from "@setpoint/testing"
 * import { Context, Effect } from "effect"
 *
 * class Cloud extends Context.Service<Cloud, {
 *   readonly create: (name: string) => Effect.Effect<void, Error>
 * }>()("example/Cloud") {}
 *
 * const cloud = Sim.external(Cloud, () => {
 *   const volumes = new Set<string>()
 *   return { volumes, create: (name) => Effect.sync(() => void volumes.add(name)) }
 * }, { fails: () => new Error("the cloud does not answer") })
 *
 * const noLeak = (world: Sim.World) => world.external(cloud).volumes.size === 0
 * ```
 *
 * @category external
 * @since 0.1.0
 */
export const external = <I, S extends object, F extends S, E = never>(
  service: Context.Key<I, S>,
  fake: () => F,
  options: {
    /** The error of a call that is refused, or whose reply is lost. Default: calls do not fail. */
    readonly fails?: (() => E) | undefined
    /** Methods that change nothing. Default: none. */
    readonly reads?: ReadonlyArray<keyof S> | undefined
  } = {}
): External<I, F> => Externals.make(service, fake, options)

/**
 * Faults by chance in front of one service, in the simulator or out of it: the service's own Layer, whose calls take time,
 * are refused, or take effect and lose their reply. What becomes of a call follows from the seed, from its name, and from
 * how often it was made, so that a test with a seed is repeated.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Sim } from "@setpoint/testing"
 * import { Context, Effect, Layer } from "effect"
 *
 * class Cloud extends Context.Service<Cloud, {
 *   readonly create: (name: string) => Effect.Effect<void, Error>
 * }>()("example/Cloud") {}
 *
 * const volumes: Array<string> = []
 * const cloud = Layer.succeed(Cloud, { create: (name) => Effect.sync(() => void volumes.push(name)) })
 *
 * const faulty = Sim.wrap(Cloud, {
 *   fails: () => new Error("no answer"),
 *   script: (operation, number) => operation === "Cloud.create" && number === 1 ? "lose" : undefined
 * })
 *
 * const program = Effect.flatMap(Cloud, ({ create }) => create("a"))
 * Effect.runSync(Effect.flip(Effect.provide(program, faulty(cloud))))
 * assert.deepEqual(volumes, ["a"]) // it failed, and was done all the same
 * ```
 *
 * @category external
 * @since 0.1.0
 */
export const wrap = <I, S extends object, E = never>(
  service: Context.Key<I, S>,
  options: {
    /** The error of a call that is refused, or whose reply is lost. Default: calls do not fail. */
    readonly fails?: (() => E) | undefined
    /** Methods that change nothing: a lost reply of theirs is a refusal. Default: none. */
    readonly reads?: ReadonlyArray<keyof S> | undefined
    /** How often a call is refused: from 0, the default, to 1. */
    readonly refuse?: number | undefined
    /** How often a call takes effect, and its reply is lost: from 0, the default, to 1. */
    readonly lose?: number | undefined
    /** A call and its reply take up to so long each. Default 0. */
    readonly latency?: Duration.Input | undefined
    /** Default 1. */
    readonly seed?: number | undefined
    /** Says what becomes of a call, by its name (`Cloud.create`) and number from 1; where it says nothing, chance does. */
    readonly script?: ((operation: string, number: number) => "refuse" | "lose" | undefined) | undefined
  }
): <LE, R>(layer: Layer.Layer<I, LE, R>) => Layer.Layer<I, LE, R> =>
(layer) => Wrap.layer(service, options, layer)
