/**
 * A store in front of which faults happen: for people who test against real stores, under a real or a test clock.
 *
 * {@link layer} takes a store's Layer and gives the same services over it: calls are refused before they take effect,
 * replies are lost after it, everything takes time, watches are cut and must be listed anew, and reads that may be old are.
 * The simulator (`Sim`) tries every single fault, in a store of its own; this meets a few of them, in yours.
 *
 * **Ordering** What becomes of a call follows from the seed, from what is called, and from how often it was called before,
 * not from how calls interleave. So a run with one seed is repeated as far as the program itself is.
 *
 * **Delivery** What is cut off can be resumed from its cursor: nothing is lost, and nothing comes twice. An expired cursor
 * must be listed anew.
 *
 * **Consistency** The store behind it keeps its laws, and so does this: without faults, and with latency alone, it passes
 * the contract of stores. A refusal is `Unavailable` and was not applied. A lost reply is `UnknownOutcome`, and was; what
 * became of it the store has forgotten, so that the caller itself must look. A read that asks for `mostRecent`, as all of
 * `Store` do by default, is never old.
 *
 * **Memory** An answer for each read that may be old, the last 1,000 of them; a count for each name of a call.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { type Resource, Store, StoreDriver, StoreError, StoreRules } from "setpoint"
import * as randomness from "./internal/sim/randomness.ts"

/**
 * One call, as a script sees it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Call {
  /** `get`, `list`, `watch`, `kinds`, `outcome`, `fence`, or a write: `create`, `update`, `updateStatus`, … */
  readonly operation: string
  /** `Website.example.dev`; empty where a call is about no kind. */
  readonly kind: string
  readonly key: Resource.Key | undefined
  /** Counts calls of this operation on this object, or on the kind, from 1. */
  readonly number: number
}

/**
 * What can become of a call: it is refused, not applied; applied, and its reply lost (a read is then refused); answered as
 * it was answered before (a read that may be old); a watch: cut off after its next events, or its cursor has expired.
 *
 * @category models
 * @since 0.1.0
 */
export type Fault = "refuse" | "lose" | "stale" | "cut" | "expire"

/**
 * How often faults happen: chances from 0 to 1, all 0 by default.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Default 1. */
  readonly seed?: number | undefined
  /** Of any call. */
  readonly refuse?: number | undefined
  /** Of a write. */
  readonly lose?: number | undefined
  /** Of a read that may be old (`consistency: "any"`): answered as it was within the last {@link staleFor}. */
  readonly stale?: number | undefined
  /** How old an answer may be. Default 10 seconds. */
  readonly staleFor?: Duration.Input | undefined
  /** Of each batch of a watch: what comes after it must be resumed for. */
  readonly cut?: number | undefined
  /** Of a watch that resumes: its cursor is no longer kept. */
  readonly expire?: number | undefined
  /** Calls and their replies take up to so long each, and so does what a watch brings. Default 0. */
  readonly latency?: Duration.Input | undefined
  /** Says what becomes of a call, by hand; where it says nothing, chances do. */
  readonly script?: ((call: Call) => Fault | undefined) | undefined
}

/**
 * A fault that happened.
 *
 * @category models
 * @since 0.1.0
 */
export interface Happened extends Call {
  readonly fault: Fault
}

/**
 * Faults as a service: they can be ended, and asked for.
 *
 * @category models
 * @since 0.1.0
 */
export interface Service {
  /** No faults from here on, nor latency: what must hold in the end can be waited for. */
  readonly calm: Effect.Effect<void>
  /** Faults again. */
  readonly storm: Effect.Effect<void>
  /** Every fault that happened, in order. */
  readonly happened: Effect.Effect<ReadonlyArray<Happened>>
}

/**
 * The faults in front of a store.
 *
 * @category services
 * @since 0.1.0
 */
export class TestStore extends Context.Service<TestStore, Service>()("@setpoint/testing/TestStore") {}

/**
 * The same store, with faults in front of it.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { TestStore } from "@setpoint/testing"
 * import { Effect, Schema } from "effect"
 * import { Kind, MemoryStore, Store } from "setpoint"
 *
 * const Website = Kind.make({ group: "example.dev", version: "v1", kind: "Website", spec: Schema.Struct({ host: Schema.String }) })
 *
 * const program = Effect.gen(function*() {
 *   const error = yield* Effect.flip(Store.create(Website, { metadata: { name: "blog" }, spec: { host: "blog" } }))
 *   assert.equal(error.reason._tag, "UnknownOutcome")
 *   const blog = yield* Store.get(Website, { name: "blog" }) // it was applied all the same
 *   assert.equal(blog.spec.host, "blog")
 * })
 *
 * const store = TestStore.layer(MemoryStore.layer, {
 *   script: ({ number, operation }) => operation === "create" && number === 1 ? "lose" : undefined
 * })
 * Effect.runSync(Effect.provide(program, store))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = <E, R>(
  store: Layer.Layer<Store.Store | StoreDriver.StoreDriver, E, R>,
  options: Options = {}
): Layer.Layer<Store.Store | StoreDriver.StoreDriver | TestStore, E, R> =>
  Layer.effectContext(Effect.gen(function*() {
    const { name } = yield* Store.Store
    const { driver, faults } = make(yield* StoreDriver.StoreDriver, options)
    return Context.make(StoreDriver.StoreDriver, driver).pipe(
      Context.add(Store.Store, Store.make(driver, { name })),
      Context.add(TestStore, faults)
    )
  })).pipe(Layer.provide(store))

/**
 * The same driver, with faults in front of it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  driver: StoreDriver.Service,
  options: Options = {}
): { readonly driver: StoreDriver.Service; readonly faults: Service } => {
  const state: State = {
    options,
    latencyMillis: Duration.toMillis(options.latency ?? 0),
    staleForMillis: Duration.toMillis(options.staleFor ?? "10 seconds"),
    isCalm: false,
    counts: new Map(),
    lost: new Set(),
    answers: new Map(),
    happened: []
  }
  const set = (isCalm: boolean) =>
    Effect.sync(() => {
      state.isCalm = isCalm
    })
  const faults: Service = { calm: set(true), storm: set(false), happened: Effect.sync(() => [...state.happened]) }
  return { driver: faulty(state, driver), faults }
}

// ---------------------------------------------------------------------------------------------------------------------
// what becomes of a call
// ---------------------------------------------------------------------------------------------------------------------

interface State {
  readonly options: Options
  readonly latencyMillis: number
  readonly staleForMillis: number
  isCalm: boolean
  /** How often each name was called. */
  readonly counts: Map<string, number>
  /** Writes whose replies were lost, by their ids. */
  readonly lost: Set<string>
  /** Answers to reads that may be old, by what was asked; the latest last. */
  readonly answers: Map<string, { readonly at: number; readonly exit: Exit.Exit<unknown, StoreError.StoreError> }>
  readonly happened: Array<Happened>
}

interface Fate {
  readonly fault: Fault | undefined
  readonly beforeMillis: number
  readonly afterMillis: number
}

/** Chances are drawn in this order, each from the call's own name: one that can be had leaves no draw for the next. */
const fateOf = (state: State, subject: StoreError.Subject, can: ReadonlyArray<Fault>): Fate => {
  const { key, kind, operation } = subject
  const name = `${operation}:${kind}/${key.namespace}/${key.name}`
  const number = (state.counts.get(name) ?? 0) + 1
  state.counts.set(name, number)
  if (state.isCalm) return { fault: undefined, beforeMillis: 0, afterMillis: 0 }
  const draw = randomness.make(randomness.seedOf(`${state.options.seed ?? 1}/${name}#${number}`))
  const [beforeMillis, afterMillis] = [draw() * state.latencyMillis, draw() * state.latencyMillis]
  const call: Call = { operation, kind, key: key.name === "" ? undefined : key, number }
  const scripted = state.options.script?.(call)
  const drawn = can.find((fault) => draw() < (state.options[fault] ?? 0))
  const fault = scripted !== undefined && can.includes(scripted) ? scripted : drawn
  if (fault !== undefined) state.happened.push({ ...call, fault })
  return { fault, beforeMillis, afterMillis }
}

const pause = (millis: number): Effect.Effect<void> => millis === 0 ? Effect.void : Effect.sleep(millis)

const refusal = (subject: StoreError.Subject) =>
  StoreError.make(subject, new StoreError.Unavailable({ why: "the test store refuses" }))

/** A call under its fate. A read of which the reply is lost has had no effect: it is refused. */
const call = <A>(
  state: State,
  subject: StoreError.Subject,
  can: ReadonlyArray<Fault>,
  effect: Effect.Effect<A, StoreError.StoreError>,
  lost: () => StoreError.StoreError
): Effect.Effect<A, StoreError.StoreError> =>
  Effect.suspend(() => {
    const { afterMillis, beforeMillis, fault } = fateOf(state, subject, can)
    if (fault === "refuse") return Effect.andThen(pause(beforeMillis), Effect.fail(refusal(subject)))
    const done = fault === "lose" ? Effect.andThen(effect, Effect.suspend(() => Effect.fail(lost()))) : effect
    return Effect.andThen(pause(beforeMillis), replied(done, () => pause(afterMillis)))
  })

/** Something between the end of a call and its reply, whatever it is. One that is interrupted gets no reply. */
const replied = <A>(
  effect: Effect.Effect<A, StoreError.StoreError>,
  between: (exit: Exit.Exit<A, StoreError.StoreError>) => Effect.Effect<void>
): Effect.Effect<A, StoreError.StoreError> =>
  Effect.flatMap(Effect.exit(effect), (exit) => Effect.andThen(between(exit), exit))

const everything = (operation: string) => StoreError.subject(operation, { kind: "", group: "" })

// ---------------------------------------------------------------------------------------------------------------------
// the driver
// ---------------------------------------------------------------------------------------------------------------------

const faulty = (state: State, driver: StoreDriver.Service): StoreDriver.Service => {
  const read = <A>(
    subject: StoreError.Subject,
    effect: Effect.Effect<A, StoreError.StoreError>,
    may?: { readonly beOld: boolean; readonly asked: string }
  ): Effect.Effect<A, StoreError.StoreError> =>
    may?.beOld === true
      ? staleRead(state, subject, may.asked, effect)
      : call(state, subject, ["refuse"], effect, () => refusal(subject))
  return {
    ...driver,
    kinds: read(everything("kinds"), driver.kinds),
    get: (at, key, options) =>
      read(StoreError.subject("get", at, key), driver.get(at, key, options), {
        beOld: options.consistency === "any",
        asked: JSON.stringify([at.kind, at.group, key, options])
      }),
    list: (at, options) =>
      read(StoreError.subject("list", at), driver.list(at, options), {
        beOld: options.consistency === "any" && options.page === undefined,
        asked: JSON.stringify([at.kind, at.group, options])
      }),
    write: (at, write, options) => {
      const subject = StoreError.subject(write.op, at, StoreRules.keyOf(write))
      return call(state, subject, ["refuse", "lose"], driver.write(at, write, options), () => {
        state.lost.add(options.writeId)
        const { writeId } = options
        return StoreError.make(
          subject,
          new StoreError.UnknownOutcome({ why: "the test store lost the reply", writeId })
        )
      })
    },
    outcome: (writeId) =>
      read(
        everything("outcome"),
        Effect.suspend(() => state.lost.has(writeId) ? Effect.succeed("forgotten" as const) : driver.outcome(writeId))
      ),
    watch: (at, options) => watched(state, driver, at, options),
    fence: (lease, epoch) => read(everything("fence"), driver.fence(lease, epoch))
  }
}

const mostAnswers = 1_000

/** A read that may be old: as it was answered before, if that is not too long ago. */
const staleRead = <A>(
  state: State,
  subject: StoreError.Subject,
  asked: string,
  effect: Effect.Effect<A, StoreError.StoreError>
): Effect.Effect<A, StoreError.StoreError> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const { afterMillis, beforeMillis, fault } = fateOf(state, subject, ["refuse", "stale"])
    if (fault === "refuse") return Effect.andThen(pause(beforeMillis), Effect.fail(refusal(subject)))
    const old = state.answers.get(asked)
    if (fault === "stale" && old !== undefined && now - old.at <= state.staleForMillis) {
      // What was asked names the answer's type: only this call writes under it.
      return Effect.andThen(pause(beforeMillis + afterMillis), old.exit as Exit.Exit<A, StoreError.StoreError>)
    }
    return Effect.andThen(
      pause(beforeMillis),
      replied(effect, (exit) => Effect.andThen(remember(state, asked, now, exit), pause(afterMillis)))
    )
  })

const remember = (state: State, asked: string, at: number, exit: Exit.Exit<unknown, StoreError.StoreError>) =>
  Effect.sync(() => {
    if (Exit.hasInterrupts(exit) || Exit.hasDies(exit)) return
    state.answers.delete(asked)
    state.answers.set(asked, { at, exit })
    const [oldest] = state.answers.keys()
    if (state.answers.size > mostAnswers && oldest !== undefined) state.answers.delete(oldest)
  })

const watched = (
  state: State,
  driver: StoreDriver.Service,
  at: StoreDriver.KindAddress,
  options: StoreDriver.WatchOptions
): Stream.Stream<ReadonlyArray<StoreDriver.WatchEvent>, StoreError.StoreError> =>
  Stream.suspend(() => {
    const subject = StoreError.subject("watch", at)
    const can: ReadonlyArray<Fault> = options.from === "current" ? ["refuse"] : ["refuse", "expire"]
    const { fault } = fateOf(state, subject, can)
    if (fault === "refuse") return Stream.fail(refusal(subject))
    if (fault === "expire") {
      return Stream.fail(StoreError.make(subject, new StoreError.Expired({ why: "the test store has forgotten it" })))
    }
    // What was handed over stays handed over: the cut comes after it.
    let isCut = false
    const events = StoreError.subject("events", at)
    return Stream.mapEffect(driver.watch(at, options), (batch) =>
      Effect.suspend(() => {
        if (isCut) return Effect.fail(refusal(subject))
        const { beforeMillis, fault } = fateOf(state, events, ["cut"])
        isCut = fault === "cut"
        return Effect.as(pause(beforeMillis), batch)
      }))
  })
