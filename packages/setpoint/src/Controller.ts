/**
 * The engine: registers reconcilers, watches their objects, and runs their passes on shared workers.
 *
 * **Ordering**
 *
 * Passes of one key never overlap. Keys of a registration run first in, first out by lane; registrations take turns by
 * their weights (Q3, Q5 of `WorkQueue`).
 *
 * **Delivery**
 *
 * - E1: a pass that starts satisfies every add made before it, delayed ones too; who needs a time returns it as Outcome.
 *   Adds during a pass are kept, and merged with the Outcome's time at its end. A debounce stands before the queue.
 * - E3: give-up never loses a key. When its Schedule ends, or after `maxRetries`, it is reported (metric, event, log) and
 *   falls to the slow recheck.
 * - E4: no pass before the caches of its kind, and of every kind it owns or watches, are synced, save those marked
 *   `optional`. A kind that cannot sync fails alone, with backoff and a health signal, and never holds a worker.
 * - E5: registrations come and go while the Controller runs. The same name swaps the reconciler: the running pass ends
 *   under the old one, and every object that exists is run again.
 * - E7: by default a change of desired state, labels, annotations, finalizers, owner references, deletion mark or uid of
 *   its own objects runs a pass, and every revision of those it owns or watches. Predicates judge watch events only.
 *   Foreign edits of status are met by redelivery.
 * - E9: a pass past its deadline is interrupted and counts as a failure, with a metric of its own.
 * - E11: a pass is *self-caused* if its only causes are events of revisions that its key's own passes wrote, or requeues.
 *   After 10 of them in a row that each made a revision the key is reported as a hot loop and spaced by a growing delay, up
 *   to a minute, until a pass with another cause or without a write.
 *
 * **Consistency**
 *
 * E10: a read in a pass is answered from a cache only if that informer holds full objects, is synced, and covers the read's
 * namespace and selector; else by the store. A key whose passes wrote is *held*, a place in the queue and no worker, until
 * the covering caches have shown its acknowledged writes and deletes, for 10 seconds at most; then, or at once after an
 * unknown outcome or a new timeline, its next pass reads the store, and what was remembered is dropped when that pass
 * ends with an Outcome: where it fails, its retry reads the store too. What the store answered in such doubt is awaited as an
 * acknowledged write is. Within a pass, reads of a kind that it wrote go to the store. What no cache covers is not
 * remembered.
 *
 * A pass that the deletion of an owned object woke reads its own object from the store (E10): it may be gone, and the
 * collector have taken what it owned, before the cache knows. Else the pass would make anew what the collector takes away,
 * at full speed, until the cache does. What the store answered is awaited from the cache, so that the next pass does not
 * see an earlier life. Whether the object is marked for deletion is the reconciler's to look at.
 *
 * Where caches of a kind wake the keys of a registration, as its inputs or as what a pass asked for, no other cache answers
 * reads of the kind: it may lag behind the one that woke the key, and its catching up would wake nobody.
 *
 * What a pass read or wrote at the store may be ahead of a cache that wakes its key. Told change by change the cache comes
 * to it; listed anew it may never show it, so whoever is ahead then, or learns only later of what the list passed over, runs
 * again, as after a difference (E6 of `Informer`).
 *
 * What remains: this covers the key's own writes, in this process. Another key's writes, another process's, and those of
 * the process before a restart may not be seen yet; deterministic names for what a reconciler creates close that gap.
 *
 * **Shutdown**
 *
 * E8: closing a registration or the Controller stops intake, drains to the deadline, interrupts the rest, and closes the
 * watches. Background work ends before the workers drain.
 *
 * **Memory**
 *
 * A request for each object of the own kind that was ever added, on its cache entry; of any other key only while it is
 * live. What E10 and E11 remember of a key is dropped when its caches have shown what it wrote; that it
 * is ahead of a cache, when the cache is that far or listed anew (where revisions have no order, only then).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Tracer from "effect/Tracer"
import type * as Informer from "./Informer.ts"
import * as Dynamic from "./internal/dynamic.ts"
import * as Engine from "./internal/engine.ts"
import * as Feeds from "./internal/feeds.ts"
import * as Inputs from "./internal/inputs.ts"
import type * as PassEnd from "./internal/passEnd.ts"
import * as Registrations from "./internal/registration.ts"
import * as Spans from "./internal/spans.ts"
import * as Supervised from "./internal/supervised.ts"
import * as Telemetry from "./internal/telemetry.ts"
import * as Workers from "./internal/workers.ts"
import { type Cause, Current, type Pass } from "./Pass.ts"
import type { Reconciler } from "./Reconciler.ts"
import type { Request, Target } from "./Request.ts"
import { Store } from "./Store.ts"
import * as WatchManager from "./WatchManager.ts"
import * as WorkQueue from "./WorkQueue.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Passes at once, over all registrations. Default 4. */
  readonly workers?: number | undefined
  /** How long closing waits for what runs and is ready, before it interrupts (E8). Default 25 seconds. */
  readonly drain?: Duration.Input | undefined
  /** A ready key rises one lane after this time. Default 10 seconds. */
  readonly ageAfter?: Duration.Input | undefined
  /** Keep duration histograms. Default `true`. */
  readonly metrics?: boolean | undefined
  /** Record give-ups, hot loops, panics and failures for good as Events of their objects. Default `true`. */
  readonly events?: boolean | undefined
  /**
   * Start the garbage collector of a store with its first registration, where its driver has none of its own. Default
   * `true`.
   */
  readonly collector?: boolean | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface RegisterOptions {
  /** Another registration has this name: `"swap"` replaces its reconciler, `"fail"` refuses. Default `"swap"`. */
  readonly onDuplicate?: "swap" | "fail" | undefined
  /** How long closing this registration waits for its passes (E8). Default: the Controller's `drain`. */
  readonly drain?: Duration.Input | undefined
}

/**
 * A registration that cannot be: which option is wrong and what would be right, or a name that is taken.
 *
 * @category errors
 * @since 0.1.0
 */
export class RegistrationError extends Schema.TaggedError<RegistrationError>()("RegistrationError", {
  registration: Schema.String,
  field: Schema.String,
  why: Schema.String
}) {
  override get message(): string {
    return `registration "${this.registration}", ${this.field}: ${this.why}`
  }
}

/**
 * Where a key is (Q9).
 *
 * @category models
 * @since 0.1.0
 */
export interface KeyStatus {
  readonly request: Request
  readonly place: "ready" | "running" | "waiting" | "held" | "idle"
  readonly failures: number
  readonly paused: boolean
  /** Why it will run, or runs. */
  readonly causes: ReadonlyArray<Cause>
  /** Milliseconds until it is due, where it waits. */
  readonly dueInMillis: number | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface RegistrationStatus {
  readonly name: string
  readonly kind: string
  readonly store: string
  /** Every cache that must be synced is. */
  readonly synced: boolean
  /** What is in the way: one sentence an input that is not synced, or that is in trouble. */
  readonly troubles: ReadonlyArray<string>
  readonly paused: boolean
  readonly pausedKeys: number
  readonly ready: number
  readonly running: number
  readonly waiting: number
  readonly held: number
  readonly failing: number
}

/**
 * A reconciler at work. Closing the Scope it was registered in deregisters it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Registration {
  readonly name: string
  /** Waits until every cache that must be synced is (E4). */
  readonly synced: Effect.Effect<void>
  /** Runs a pass for the object, in lane 0. `false`: the registration is closed. */
  readonly enqueue: (target: Target, reason?: string) => Effect.Effect<boolean>
  /** Starts no pass until {@link Registration.resume}; keys go on collecting. */
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
  readonly status: Effect.Effect<RegistrationStatus>
  readonly probe: (target: Target) => Effect.Effect<KeyStatus | undefined>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Service {
  /** Registers until the Scope closes. Does not wait for caches: see {@link Registration.synced}. */
  readonly register: <R>(
    reconciler: Reconciler<R>,
    options?: RegisterOptions
  ) => Effect.Effect<Registration, RegistrationError, R | Store | Scope.Scope>
  readonly registration: (name: string) => Effect.Effect<Registration, RegistrationError>
  readonly enqueue: (name: string, target: Target, reason?: string) => Effect.Effect<boolean, RegistrationError>
  /** Changes the number of workers at run time; passes that run are not cut. */
  readonly setWorkers: (workers: number) => Effect.Effect<void, InvalidOptions>
  readonly status: Effect.Effect<ReadonlyArray<RegistrationStatus>>
  /**
   * Work beside the passes, supervised: restarted with backoff when it fails, ended with the Scope, or with the
   * Controller, before workers drain.
   */
  readonly background: <E, R>(
    name: string,
    work: Effect.Effect<unknown, E, R>
  ) => Effect.Effect<void, never, R | Scope.Scope>
}

/**
 * @category services
 * @since 0.1.0
 */
export class Controller extends Context.Service<Controller, Service>()("setpoint/Controller") {}

/**
 * How a pass ended, as {@link Observer} hears it.
 *
 * @category models
 * @since 0.1.0
 */
export type End = PassEnd.PassEnd["_tag"]

/**
 * Hears when passes start and end: for tests and simulators. Called synchronously in the worker.
 *
 * @category models
 * @since 0.1.0
 */
export interface Observer {
  readonly passStarted: (pass: Pass) => void
  /** `error`: what it failed with or died of, where it did. */
  readonly passEnded: (pass: Pass, end: End, error: unknown) => void
  /** A Controller was built: what it holds can be read from now on. */
  readonly began?: ((probe: Probe) => void) | undefined
}

/**
 * A look into a Controller: for tests and simulators. Costs a walk over what it holds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Probe {
  readonly controller: Service
  /** Every key that a queue keeps, and those that are kept though no cache holds their object. */
  readonly keys: Effect.Effect<ReadonlyArray<ProbedKey>>
  /** The caches that run now, shared by the registrations. */
  readonly caches: () => ReadonlyArray<Informer.Informer>
}

/** @category models @since 0.1.0 */
export interface ProbedKey extends KeyStatus {
  readonly registration: string
  /** It asked for dynamic watches, which are kept for it. */
  readonly watching: boolean
}

/**
 * The observer of the Controller that is built under it. Default: none, and nothing is paid.
 *
 * @category references
 * @since 0.1.0
 */
export const Observer: Context.Reference<Observer | undefined> = Context.Reference<Observer | undefined>(
  "setpoint/Controller/Observer",
  { defaultValue: () => undefined }
)

const invalid = (registration: string, flaw: Engine.Flaw) =>
  new RegistrationError({ registration, field: flaw.field, why: flaw.why })

/**
 * An option of the Controller that cannot work.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidOptions extends Schema.TaggedError<InvalidOptions>()("Controller/InvalidOptions", {
  option: Schema.String,
  why: Schema.String
}) {
  override get message(): string {
    return `controller option ${this.option} ${this.why}`
  }
}

const duration = (option: string, input: Duration.Input, least: number) => {
  const millis = typeof input === "number"
    ? input
    : Option.match(Duration.fromInput(input), { onNone: () => Number.NaN, onSome: Duration.toMillis })
  return millis >= least
    ? Effect.succeed(millis)
    : Effect.fail(
      new InvalidOptions({ option, why: `must be a duration of at least ${least} ms, but is ${String(input)}` })
    )
}

const workersOf = (workers: number) =>
  Number.isSafeInteger(workers) && workers >= 1 ? Effect.succeed(workers) : Effect.fail(
    new InvalidOptions({ option: "workers", why: `must be a whole number of at least 1, but is ${String(workers)}` })
  )

/**
 * Makes a Controller; its Scope ends it (E8).
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function*(options: Options = {}) {
  const workers = yield* workersOf(options.workers ?? 4)
  const drainMillis = yield* duration("drain", options.drain ?? 25_000, 0)
  const ageAfterMillis = yield* duration("ageAfter", options.ageAfter ?? 10_000, 1)
  const scope = yield* Scope.fork(yield* Effect.scope) // closed when all is drained
  const now = yield* Engine.monotonicNow
  const observer = yield* Observer
  const feeds = Feeds.make<Registrations.EngineRequest>()
  const watches = yield* WatchManager.make()
  const context = yield* Effect.context<never>()
  const companions: Engine.Engine["companions"] = new Map()
  const spawn = yield* Scope.provide(FiberSet.makeRuntime<never, void, never>(), scope)
  const dynamic = Dynamic.make({
    spawn: (work) => void spawn(work),
    hold: (source) => Engine.holdSource(engine, source),
    now,
    add: (request, cause, lane) => void Inputs.add(request, cause, lane)
  })
  const pool = yield* Workers.make({
    group: yield* WorkQueue.makeGroup<Registrations.EngineRequest, Cause, unknown>(),
    host: { feeds, dynamic, spans: Spans.make(), now },
    observer: observer && {
      passStarted: observer.passStarted,
      passEnded: (pass, end) => observer.passEnded(pass, end._tag, "error" in end ? end.error : undefined)
    },
    context,
    report: Telemetry.report((registration) => companions.get(registration.store)?.recorder),
    wanted: workers
  })
  const engine: Engine.Engine = {
    pool,
    feeds,
    watches,
    dynamic,
    registrations: new Map(),
    closing: new Map(),
    registering: yield* Semaphore.make(1),
    drainMillis,
    ageAfterMillis,
    metrics: options.metrics ?? true,
    now,
    scope,
    companions,
    wanted: { events: options.events ?? true, collector: options.collector ?? true },
    isClosed: false
  }
  yield* Effect.addFinalizer(() => closeAll(engine))
  const background = yield* Scope.fork(yield* Effect.scope) // closed before the workers drain
  const controller = Controller.of({
    register: (reconciler, options) => register(engine, reconciler, options),
    registration: (name) => Effect.map(find(engine, name), (registration) => handleOf(registration)),
    enqueue: (name, target, reason) =>
      Effect.flatMap(find(engine, name), (registration) => enqueue(registration, target, reason)),
    setWorkers: (workers) => Effect.map(workersOf(workers), (workers) => Workers.resize(pool, workers)),
    status: Effect.sync(() => Array.from(engine.registrations.values(), statusOf)),
    background: (name, work) => runInBackground(background, name, work)
  })
  observer?.began?.({
    controller,
    keys: Effect.suspend(() => probeAll(engine)),
    caches: () => WatchManager.informers(watches)
  })
  return controller
})

/**
 * The Controller with its defaults, or with options.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options?: Options): Layer.Layer<Controller, InvalidOptions> =>
  Layer.effect(Controller, make(options))

/**
 * Registers a reconciler for as long as the Layer lives.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerFor = <R>(
  reconciler: Reconciler<R>,
  options?: RegisterOptions
): Layer.Layer<never, RegistrationError, R | Store | Controller> =>
  Layer.effectDiscard(Effect.flatMap(Controller, (controller) => controller.register(reconciler, options)))

const closeAll = Effect.fnUntraced(function*(engine: Engine.Engine) {
  yield* Semaphore.withPermit(engine.registering, Effect.sync(() => void (engine.isClosed = true)))
  yield* Effect.forEach(
    [...engine.registrations.values(), ...engine.closing.values()],
    (registration) => Engine.close(engine, registration, registration.owner.drainMillis),
    { concurrency: "unbounded", discard: true }
  )
  Workers.close(engine.pool)
})

const register = <R>(
  engine: Engine.Engine,
  reconciler: Reconciler<R>,
  options: RegisterOptions = {}
): Effect.Effect<Registration, RegistrationError, R | Store | Scope.Scope> =>
  Effect.mapError(registered(engine, reconciler, options), (flaw) => invalid(reconciler.name, flaw))

const registered = Effect.fnUntraced(function*<R>(
  engine: Engine.Engine,
  reconciler: Reconciler<R>,
  options: RegisterOptions
) {
  const store = yield* Store
  const drainMillis = options.drain === undefined ? engine.drainMillis : yield* Effect.mapError(
    duration("drain", options.drain, 0),
    ({ why }): Engine.Flaw => ({ field: "drain", why })
  )
  const registration = yield* Engine.register(engine, store, reconciler, {
    onDuplicate: options.onDuplicate ?? "swap",
    drainMillis
  })
  return handleOf(registration)
})

const find = (engine: Engine.Engine, name: string): Effect.Effect<Registrations.Registration, RegistrationError> =>
  Effect.suspend(() => {
    const registration = engine.registrations.get(name)
    if (registration !== undefined) return Effect.succeed(registration)
    const names = Array.from(engine.registrations.keys(), (name) => `"${name}"`)
    const why = names.length === 0 ? "nothing is registered" : `is none of those registered: ${names.join(", ")}`
    return Effect.fail(new RegistrationError({ registration: name, field: "name", why }))
  })

const enqueue = (registration: Registrations.Registration, target: Target, reason = "enqueue") =>
  Effect.map(
    Effect.serviceOption(Tracer.ParentSpan),
    (span) => Engine.enqueue(registration, target, { _tag: "Enqueue", reason }, Option.getOrUndefined(span))
  )

const handleOf = (registration: Registrations.Registration): Registration => ({
  name: registration.name,
  synced: Effect.suspend(() => Deferred.await(registration.synced)),
  enqueue: (target, reason) => enqueue(registration, target, reason),
  pause: Effect.sync(() => Engine.setPausedByHand(registration, true)),
  resume: Effect.sync(() => Engine.setPausedByHand(registration, false)),
  status: Effect.sync(() => statusOf(registration)),
  probe: (target) => probe(registration, target)
})

const statusOf = (registration: Registrations.Registration): RegistrationStatus => {
  const counts = WorkQueue.countsUnsafe(registration.queue)
  return {
    name: registration.name,
    kind: registration.kind.groupKind,
    store: registration.store.name,
    synced: !registration.isStarting && registration.unsynced.size === 0,
    troubles: Telemetry.troublesOf(registration),
    paused: registration.isPaused,
    pausedKeys: registration.pausedKeys.size,
    ...counts
  }
}

const probe = (registration: Registrations.Registration, target: Target) =>
  Effect.suspend(() => {
    const request = Registrations.intern(registration, Inputs.namespaceOf(registration.kind, target), target.name)
    Registrations.forgetIfIdle(request) // to ask about a key leaves no trace of it
    return probeRequest(registration, request)
  })

const probeRequest = (registration: Registrations.Registration, request: Registrations.EngineRequest) =>
  Effect.map(
    WorkQueue.probe(registration.queue, request),
    Option.match({
      onNone: () => undefined,
      onSome: ({ failures, key, next, place, reasons }): KeyStatus => ({
        request: key,
        place: placeNames[place],
        failures,
        paused: registration.pausedKeys.has(key),
        causes: reasons,
        dueInMillis: next?.inMillis
      })
    })
  )

const probeAll = (engine: Engine.Engine): Effect.Effect<ReadonlyArray<ProbedKey>> =>
  Effect.forEach(
    [...engine.registrations.values(), ...engine.closing.values()].flatMap((registration) =>
      [...new Set([...WorkQueue.keysUnsafe(registration.queue), ...registration.strays.values()])].map((request) => ({
        registration,
        request
      }))
    ),
    ({ registration, request }) =>
      Effect.map(probeRequest(registration, request), (status): ProbedKey => ({
        ...(status ?? idle(request)),
        registration: registration.name,
        watching: request.isWatching
      }))
  )

const idle = (request: Request): KeyStatus => ({
  request,
  place: "idle",
  failures: 0,
  paused: false,
  causes: [],
  dueInMillis: undefined
})

const placeNames = {
  Ready: "ready",
  Running: "running",
  Waiting: "waiting",
  Held: "held",
  Idle: "idle"
} as const

const runInBackground = <E, R>(
  background: Scope.Scope,
  name: string,
  work: Effect.Effect<unknown, E, R>
): Effect.Effect<void, never, R | Scope.Scope> =>
  Effect.gen(function*() {
    const supervised = Supervised.forEver(Effect.provideService(work, Current, undefined), {
      onFailure: (cause) => Effect.logWarning(`background work ${name} failed and is begun anew`, cause),
      onWell: () => {}
    })
    const fiber = yield* Effect.forkIn(supervised, background)
    yield* Effect.addFinalizer(() => Fiber.interrupt(fiber))
  })
