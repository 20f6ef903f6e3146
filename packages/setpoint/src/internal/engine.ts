/**
 * The engine behind a Controller: registrations with their inputs, opened when their caches are synced, swapped, drained
 * and closed.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import type * as Tracer from "effect/Tracer"
import * as EventRecorder from "../EventRecorder.ts"
import * as GarbageCollector from "../GarbageCollector.ts"
import * as Health from "../Health.ts"
import * as Informer from "../Informer.ts"
import type { AnyKind } from "../Kind.ts"
import * as Metrics from "../Metrics.ts"
import * as Pass from "../Pass.ts"
import type * as RateLimiter from "../RateLimiter.ts"
import type { Owned, Reconciler, Source, Watched } from "../Reconciler.ts"
import type { Target } from "../Request.ts"
import * as Selector from "../Selector.ts"
import * as Store from "../Store.ts"
import * as WatchManager from "../WatchManager.ts"
import * as WorkQueue from "../WorkQueue.ts"
import * as Behaviours from "./behaviour.ts"
import * as Dynamic from "./dynamic.ts"
import * as Feeds from "./feeds.ts"
import * as Inputs from "./inputs.ts"
import * as Mapper from "./mapper.ts"
import * as Redelivery from "./redelivery.ts"
import * as Registrations from "./registration.ts"
import * as Supervised from "./supervised.ts"
import * as Telemetry from "./telemetry.ts"
import * as Waiters from "./waiters.ts"
import type * as Workers from "./workers.ts"

type Registration = Registrations.Registration
type EngineRequest = Registrations.EngineRequest

export interface Engine {
  readonly pool: Workers.Pool
  readonly feeds: Feeds.Feeds<EngineRequest>
  readonly watches: WatchManager.WatchManager
  readonly dynamic: Dynamic.Dynamic
  readonly registrations: Map<string, Registration>
  /** Registrations that are being closed: one of the same name waits. */
  readonly closing: Map<string, Registration>
  /** One registers at a time. */
  readonly registering: Semaphore.Semaphore
  readonly drainMillis: number
  readonly ageAfterMillis: number
  readonly metrics: boolean
  readonly now: () => number
  /** The Controller's own Scope: what it owns ends with it. */
  readonly scope: Scope.Scope
  /** What each store got with its first registration. */
  readonly companions: Map<Store.Service, Companions>
  /** Which companions stores get. */
  readonly wanted: { readonly events: boolean; readonly collector: boolean }
  isClosed: boolean
}

/** Who records a store's events, and what its collector is told of kinds. */
export interface Companions {
  readonly recorder: EventRecorder.EventRecorder["Service"] | undefined
  readonly kinds: Queue.Queue<AnyKind["address"]>
}

export type Flaw = Behaviours.Flaw

// ---------------------------------------------------------------------------------------------------------------------
// inputs
// ---------------------------------------------------------------------------------------------------------------------

interface InputScope {
  readonly namespace?: string | undefined
  readonly selector?: Selector.Selector | string | undefined
  readonly metadataOnly?: boolean | undefined
  readonly transform?: Informer.Transform | undefined
  /** Attempts at its first list are spaced by a cooldown (D3). */
  readonly cooldown?: Informer.Options["cooldown"]
}

const selectorText = (selector: Selector.Selector | string | undefined): string | undefined =>
  selector === undefined || typeof selector === "string" ? selector : Selector.print(selector)

/** Holds the informer of an input, and enters it among the feeds. */
const hold = Effect.fnUntraced(function*(
  engine: Engine,
  store: Store.Service,
  kind: AnyKind,
  input: InputScope,
  field: string
): Effect.fn.Return<Registrations.Feed, Flaw, Scope.Scope> {
  const informer = yield* Effect.mapError(
    WatchManager.share(engine.watches, store, kind.address, {
      namespace: input.namespace,
      selector: selectorText(input.selector),
      metadataOnly: input.metadataOnly ?? false,
      transform: input.transform,
      cooldown: input.cooldown
    }),
    (error): Flaw => ({ field: `${field}.${error.option}`, why: error.why })
  )
  const held = yield* Effect.acquireRelease(
    Effect.sync(() => Feeds.hold(engine.feeds, store.name, kind, informer)),
    (held) => Effect.suspend(() => (held.release() ? retire(engine, held.feed) : Effect.void))
  )
  if (held.feed.holders === 1) yield* Waiters.listen(engine, held.feed)
  announce(engine, store, kind)
  if (!engine.dynamic.stores.has(store.name)) engine.dynamic.stores.set(store.name, store)
  return held.feed
})

/** Holds the cache that a source of dynamic watches is of. What could be wrong with its request was checked before. */
export const holdSource = Effect.fnUntraced(function*(engine: Engine, source: Dynamic.Source) {
  const { kind, metadataOnly, store, transform } = source
  const feed = yield* Effect.orDie(hold(engine, store, kind, { metadataOnly, transform, cooldown: {} }, "watch"))
  const health = yield* Effect.serviceOption(Health.Health)
  if (Option.isSome(health)) yield* health.value.register(Telemetry.healthOfWatch(feed.informer))
  return feed
})

/** Nobody holds this cache any more: who waits for it waits in vain. */
const retire = (engine: Engine, feed: Registrations.Feed): Effect.Effect<void> =>
  Effect.suspend(() => {
    Waiters.letGo(engine, feed)
    return Scope.close(feed.scope, Exit.void)
  })

/** Notes the cache of an input, which answers reads of its kind, and whether the first pass still waits for it (E4). */
const enterInput = (
  registration: Registration,
  store: Store.Service,
  feed: Registrations.Feed,
  optional: boolean
): void => {
  const key = Feeds.kindKey(store.name, feed.kind.groupKind)
  const known = registration.caches.get(key) ?? []
  if (!known.includes(feed)) registration.caches.set(key, [...known, feed])
  if (!optional && !Informer.isSynced(feed.informer)) registration.unsynced.add(feed)
}

const inputSynced = (registration: Registration, feed: Registrations.Feed): void => {
  if (!registration.unsynced.delete(feed)) return
  openWhenSynced(registration)
}

const isWaiting = (registration: Registration): boolean => registration.isStarting || registration.unsynced.size > 0

/** Lets passes begin once no input is waited for. */
const openWhenSynced = (registration: Registration): void => {
  if (isWaiting(registration) || registration.isClosed) return
  Deferred.doneUnsafe(registration.synced, Effect.void)
  setPaused(registration)
}

/** The one place that says whether a registration's queue gives keys. */
const setPaused = (registration: Registration): void =>
  WorkQueue.setPausedUnsafe(registration.queue, registration.isPaused || isWaiting(registration))

/** Holds the cache of an input, and notes it. */
const holdInput = (
  engine: Engine,
  registration: Registration,
  kind: AnyKind,
  input: InputScope & { readonly store?: Store.Service | undefined; readonly optional?: boolean | undefined },
  field: string
): Effect.Effect<Registrations.Feed, Flaw, Scope.Scope> => {
  const store = input.store ?? registration.store
  return Effect.tap(
    hold(engine, store, kind, input, field),
    (feed) => Effect.sync(() => enterInput(registration, store, feed, input.optional ?? false))
  )
}

/** Subscribes, and tells what a cache replays at once only when there is a place to hang things on. */
const subscribe = Effect.fnUntraced(function*<A>(
  registration: Registration,
  feed: Registrations.Feed,
  options: Pick<Informer.Handler, "redelivery">,
  listener: (places: Informer.Subscription<A>) => (change: Informer.Change) => void
): Effect.fn.Return<void, never, Scope.Scope> {
  let onChange: ((change: Informer.Change) => void) | undefined = undefined
  const early: Array<Informer.Change> = []
  const places = yield* Informer.subscribe<A>(feed.informer, {
    ...options,
    onChange: (change) => onChange === undefined ? void early.push(change) : onChange(change),
    onSynced: () => inputSynced(registration, feed)
  })
  onChange = listener(places)
  for (const change of early.splice(0)) onChange(change)
  if (Informer.isSynced(feed.informer)) inputSynced(registration, feed)
})

/** Listens to the cache of its own kind. Last of the inputs: it cannot fail, and what the old cache knew is left behind. */
const startOwn = (
  engine: Engine,
  registration: Registration,
  feed: Registrations.Feed
): Effect.Effect<void, never, Scope.Scope> => {
  const { redeliveryMillis } = registration.behaviour
  return Effect.andThen(
    subscribe<EngineRequest>(registration, feed, { redelivery: redeliveryMillis === undefined }, (requests) => {
      const own: Registrations.OwnFeed = { feed, requests }
      moveIn(engine, registration, own)
      return Inputs.onOwnChange(registration, own, interrupt)
    }),
    redeliveryMillis === undefined ? Effect.void : Effect.forkScoped(
      Redelivery.forEver(feed.informer, redeliveryMillis, (raw) => Inputs.redeliver(registration, raw))
    )
  )
}

/** From here on requests hang on this cache. Those the queue knows come along, as strays that find their place again. */
const moveIn = (engine: Engine, registration: Registration, own: Registrations.OwnFeed): void => {
  for (const request of liveRequests(registration)) Registrations.becomeStray(registration, request)
  for (const request of Dynamic.instancesOf(engine.dynamic, registration)) {
    Registrations.becomeStray(registration, request)
  }
  registration.pausedKeys.clear()
  registration.own = own
}

const liveRequests = (registration: Registration): ReadonlyArray<EngineRequest> =>
  WorkQueue.keysUnsafe(registration.queue)

const interrupt = (running: Registrations.Running): void => {
  if (running.ordered !== undefined) return
  running.ordered = "newerSpec"
  running.fiber.interruptUnsafe()
}

const startOwned = (engine: Engine, registration: Registration, input: Owned) =>
  Effect.flatMap(
    holdInput(engine, registration, input.kind, input, `owns ${input.kind.groupKind}`),
    (feed) => subscribe(registration, feed, {}, () => Inputs.onOwnedChange(registration, input))
  )

const startWatched = Effect.fnUntraced(function*(engine: Engine, registration: Registration, input: Watched) {
  const feed = yield* holdInput(engine, registration, input.kind, input, `watches ${input.kind.groupKind}`)
  const name = `mapping of ${input.kind.groupKind}`
  const mapper = Mapper.make(input.map, {
    onFailure: (cause) => {
      registration.counters.handlerDefects++
      registration.troubles.set(name, `the ${name} fails: ${String(Cause.squash(cause))}`)
    },
    onUndecodable: () => void registration.counters.handlerDefects++,
    onAnswer: () => void registration.troubles.delete(name)
  })
  yield* Effect.forkScoped(Effect.provideContext(mapper.run, registration.behaviour.context))
  yield* subscribe<ReadonlyArray<Target>>(registration, feed, {}, (lastTargets) => {
    mapper.remembers(lastTargets)
    return Inputs.onWatchedChange(registration, input, mapper)
  })
})

/** A stream of targets, begun anew with backoff when it ends or fails. */
const startSource = (registration: Registration, source: Source) => {
  const trouble = `source ${source.name}`
  const isWell = () => void registration.troubles.delete(trouble)
  const listen = Stream.runForEach(source.targets, (target) =>
    Effect.sync(() => {
      isWell()
      enqueue(registration, target, { _tag: "Enqueue", reason: source.name })
    }))
  return Supervised.forEver(Effect.andThen(listen, Effect.fail("the stream ended")), {
    onFailure: (cause) =>
      Effect.suspend(() => {
        registration.troubles.set(trouble, `source ${source.name} does not run: ${String(Cause.squash(cause))}`)
        return Effect.logWarning(`source ${source.name} of ${registration.name} is begun anew`, cause)
      }),
    onWell: isWell
  }).pipe(Effect.provideContext(registration.behaviour.context), Effect.forkScoped)
}

const isOwned = (input: AnyKind | Owned): input is Owned => "_tag" in input

const ownedBy = (kind: AnyKind): Owned => ({
  _tag: "Owned",
  kind,
  predicate: undefined,
  namespace: undefined,
  selector: undefined,
  metadataOnly: false,
  transform: undefined,
  optional: false,
  store: undefined,
  controllerOnly: true
})

/** Starts all inputs of a registration's behaviour; they end with the Scope. */
const startInputs = Effect.fnUntraced(
  function*(engine: Engine, registration: Registration): Effect.fn.Return<void, Flaw, Scope.Scope> {
    const { options } = registration.behaviour
    const own = yield* holdInput(engine, registration, registration.kind, options, "reconciler")
    for (const input of options.owns ?? []) {
      yield* startOwned(engine, registration, isOwned(input) ? input : ownedBy(input))
    }
    for (const input of options.watches ?? []) yield* startWatched(engine, registration, input)
    yield* startOwn(engine, registration, own)
    for (const source of options.sources ?? []) yield* startSource(registration, source)
  }
)

// ---------------------------------------------------------------------------------------------------------------------
// registering
// ---------------------------------------------------------------------------------------------------------------------

/** Registers, or swaps the reconciler of the registration that has the name (E5). Ends with the Scope. */
export const register = Effect.fnUntraced(function*<R>(
  engine: Engine,
  store: Store.Service,
  reconciler: Reconciler<R>,
  options: { readonly onDuplicate: "swap" | "fail"; readonly drainMillis: number }
) {
  const context = Context.add(yield* Effect.context<R>(), Pass.Current, undefined) // it may be made inside a pass
  const scope = yield* Effect.scope
  const behaviour = yield* Behaviours.make(reconciler, context)
  return yield* whenFree(engine, reconciler.name, enter(engine, store, reconciler, behaviour, scope, options))
})

const enter = Effect.fnUntraced(function*<R>(
  engine: Engine,
  store: Store.Service,
  reconciler: Reconciler<R>,
  behaviour: Registrations.Behaviour,
  scope: Scope.Scope,
  options: { readonly onDuplicate: "swap" | "fail"; readonly drainMillis: number }
) {
  if (engine.isClosed) return yield* Effect.fail<Flaw>({ field: "controller", why: "is closed" })
  const known = engine.registrations.get(reconciler.name)
  if (known !== undefined) yield* mayReplace(known, store, reconciler, options.onDuplicate)
  const registration = known ?? (yield* create(engine, store, reconciler, behaviour))
  const owner: Registrations.Owner = { drainMillis: options.drainMillis, isClosed: false }
  yield* become(engine, registration, behaviour, owner)
  yield* Scope.addFinalizer(
    scope,
    Effect.suspend(() => {
      owner.isClosed = true
      return registration.owner === owner ? close(engine, registration, owner.drainMillis) : Effect.void
    })
  )
  return registration
})

/** One at a time registers, as a whole or not at all, and not while a registration of its name is being closed. */
const whenFree = <A, E>(engine: Engine, name: string, work: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    const closing = engine.closing.get(name)
    if (closing !== undefined) return Effect.andThen(Deferred.await(closing.closed), whenFree(engine, name, work))
    return Effect.flatten(Semaphore.withPermit(
      engine.registering,
      Effect.suspend(() =>
        engine.closing.has(name)
          ? Effect.succeed(whenFree(engine, name, work))
          : Effect.map(Effect.exit(Effect.uninterruptible(work)), (exit): Effect.Effect<A, E> => exit)
      )
    ))
  })

/** Gives a registration a behaviour, its first or another; where its inputs cannot start, the one before stays. */
const become = Effect.fnUntraced(function*(
  engine: Engine,
  registration: Registration,
  behaviour: Registrations.Behaviour,
  owner: Registrations.Owner
) {
  const { behaviour: lastBehaviour, inputs: lastInputs, owner: lastOwner, unsynced: lastUnsynced } = registration
  const { caches: lastCaches } = registration
  const keys = knownKeys(registration)
  const inputs = Scope.makeUnsafe()
  registration.behaviour = behaviour
  registration.inputs = inputs
  registration.owner = owner
  registration.unsynced = new Set()
  registration.caches = new Map()
  registration.isStarting = true // no pass sees a new reconciler with old caches
  setPaused(registration)
  engine.registrations.set(registration.name, registration)
  const started = yield* Effect.exit(
    Effect.andThen(reconfigure(registration), Scope.provide(startInputs(engine, registration), inputs))
  )
  registration.isStarting = false
  if (Exit.isSuccess(started)) {
    registration.troubles.clear()
    if (lastInputs !== undefined) yield* Scope.close(lastInputs, Exit.void)
    for (const key of keys) Inputs.addKey(registration, key, registered, 2)
    if (isWaiting(registration) && Deferred.isDoneUnsafe(registration.synced)) {
      registration.synced = Deferred.makeUnsafe()
    }
    openWhenSynced(registration)
    return
  }
  yield* Scope.close(inputs, started)
  registration.behaviour = lastBehaviour
  registration.inputs = lastInputs
  registration.owner = lastOwner
  registration.unsynced = lastUnsynced
  registration.caches = lastCaches
  if (lastInputs === undefined || lastOwner.isClosed) yield* close(engine, registration, 0)
  else {
    yield* Effect.ignore(reconfigure(registration)) // it was right before
    openWhenSynced(registration)
  }
  return yield* Effect.failCause(started.cause)
})

const registered: Pass.Cause = { _tag: "Registered" }

const mayReplace = (
  known: Registration,
  store: Store.Service,
  reconciler: Reconciler<unknown>,
  onDuplicate: "swap" | "fail"
): Effect.Effect<void, Flaw> => {
  if (onDuplicate === "fail") {
    return Effect.fail({ field: "name", why: "is taken; choose another, or register with onDuplicate: \"swap\"" })
  }
  return known.kind.groupKind === reconciler.kind.groupKind && known.store === store
    ? Effect.void
    : Effect.fail({
      field: "name",
      why: `is taken by ${known.kind.groupKind} on store "${known.store.name}"; give one of them another name`
    })
}

const create = Effect.fnUntraced(function*<R>(
  engine: Engine,
  store: Store.Service,
  reconciler: Reconciler<R>,
  behaviour: Registrations.Behaviour
) {
  yield* startCompanions(engine, store)
  engine.dynamic.stores.set(store.name, store)
  const scope = yield* Scope.fork(engine.scope)
  const policies = Registrations.policies(() => registration.behaviour)
  const queue = yield* Effect.mapError(
    Scope.provide(
      WorkQueue.make<EngineRequest, Pass.Cause, unknown>({
        name: reconciler.name,
        group: engine.pool.group,
        ageAfter: engine.ageAfterMillis,
        metrics: engine.metrics,
        sameReason: Inputs.sameCause,
        slot: Registrations.slotOnRequest,
        ...policies
      }),
      scope
    ),
    queueFlaw
  )
  WorkQueue.setPausedUnsafe(queue, true)
  const registration: Registration = Registrations.make({
    name: reconciler.name,
    kind: reconciler.kind,
    store,
    queue,
    behaviour,
    scope,
    synced: yield* Deferred.make<void>(),
    idle: yield* Deferred.make<void>(),
    closed: yield* Deferred.make<void>()
  })
  const health = yield* Effect.serviceOption(Health.Health)
  yield* Scope.provide(
    Effect.andThen(
      Metrics.register(Telemetry.seriesOf(registration, {
        workers: () => engine.pool.wanted,
        watches: () => Dynamic.sizeOf(engine.dynamic, registration)
      })),
      Option.isSome(health) ? health.value.register(Telemetry.healthOf(registration)) : Effect.void
    ),
    scope
  )
  return registration
})

/** What a store gets with its first registration: a recorder of events and a collector. They end with the Controller. */
const startCompanions = Effect.fnUntraced(function*(engine: Engine, store: Store.Service) {
  if (engine.companions.has(store)) return
  const own = Layer.succeed(Store.Store, store)
  const given = yield* Effect.serviceOption(EventRecorder.EventRecorder)
  let recorder = Option.getOrUndefined(given)
  if (recorder === undefined && engine.wanted.events) {
    const built = yield* Layer.buildWithScope(Layer.provide(EventRecorder.layer(), own), engine.scope)
    recorder = Context.get(built, EventRecorder.EventRecorder)
  }
  const kinds = yield* Queue.unbounded<AnyKind["address"]>()
  engine.companions.set(store, { recorder, kinds })
  if (!engine.wanted.collector) return
  const told = recorder === undefined ? own : Layer.merge(own, Layer.succeed(EventRecorder.EventRecorder, recorder))
  const collector = Layer.provide(GarbageCollector.layer({ announced: kinds }), told)
  yield* Effect.orDie(Layer.buildWithScope(collector, engine.scope))
})

/** The collector of a store need not discover what a registration knows. */
const announce = (engine: Engine, store: Store.Service, kind: AnyKind): void => {
  const kinds = engine.wanted.collector ? engine.companions.get(store)?.kinds : undefined
  if (kinds !== undefined) Queue.offerUnsafe(kinds, kind.address)
}

const queueFlaw = (error: RateLimiter.InvalidOptions): Flaw => ({
  field: error.field,
  why: `must be ${error.expected}, but is ${error.actual}`
})

/** Settings of the queue that the behaviour says. */
const reconfigure = (registration: Registration): Effect.Effect<void, Flaw> => {
  const { concurrency, debounce, weight } = registration.behaviour.options
  return Effect.mapError(
    Effect.all([
      WorkQueue.setConcurrency(registration.queue, concurrency ?? Infinity),
      WorkQueue.setWeight(registration.queue, weight ?? 1),
      WorkQueue.setDebounce(registration.queue, debounce)
    ], { discard: true }),
    queueFlaw
  )
}

/** Every key that the registration has heard of: a swap runs them all again, those that vanish meanwhile too. */
const knownKeys = (
  registration: Registration
): ReadonlyArray<{ readonly namespace: string; readonly name: string }> => {
  const keys = Array.from(registration.strays.values(), ({ name, namespace }) => ({ namespace, name }))
  if (registration.own === undefined) return keys
  for (const raw of Informer.list(registration.own.feed.informer)) {
    keys.push({ namespace: raw.metadata.namespace ?? "", name: raw.metadata.name })
  }
  return keys
}

// ---------------------------------------------------------------------------------------------------------------------
// adding
// ---------------------------------------------------------------------------------------------------------------------

/** Adds from outside, in lane 0. False: the registration is closed. */
export const enqueue = (
  registration: Registration,
  target: Target,
  cause: Pass.Cause,
  trace?: Tracer.AnySpan
): boolean => {
  const key = { namespace: Inputs.namespaceOf(registration.kind, target), name: target.name }
  return !registration.isClosed && Inputs.addKey(registration, key, cause, 0, trace)
}

export const setPausedByHand = (registration: Registration, isPaused: boolean): void => {
  registration.isPaused = isPaused
  setPaused(registration)
}

// ---------------------------------------------------------------------------------------------------------------------
// closing (E8)
// ---------------------------------------------------------------------------------------------------------------------

/** Stops intake, drains to the deadline, interrupts the rest, closes the watches. Twice is once: who is late waits. */
export const close = Effect.fnUntraced(function*(engine: Engine, registration: Registration, drainMillis: number) {
  if (registration.isClosed) return yield* Deferred.await(registration.closed)
  registration.isClosed = true
  engine.registrations.delete(registration.name)
  engine.closing.set(registration.name, registration)
  Deferred.doneUnsafe(registration.synced, Effect.interrupt)
  if (registration.queue.isPaused || drainMillis === 0) yield* WorkQueue.shutdown(registration.queue)
  else yield* WorkQueue.drain(registration.queue, { deadline: drainMillis })
  if (registration.running.size > 0 && registration.queue.isPaused) {
    yield* Effect.timeoutOption(Deferred.await(registration.idle), drainMillis)
  }
  yield* interruptAll(registration)
  Dynamic.releaseAll(engine.dynamic, registration)
  if (registration.inputs !== undefined) yield* Scope.close(registration.inputs, Exit.void)
  yield* Scope.close(registration.scope, Exit.void)
  engine.closing.delete(registration.name)
  Deferred.doneUnsafe(registration.closed, Effect.void)
})

/** Interrupts what still runs, and waits for it: nothing follows such a pass. */
const interruptAll = (registration: Registration): Effect.Effect<void> =>
  Effect.suspend(() => {
    const fibers: Array<Fiber.Fiber<unknown, unknown>> = []
    for (const { running } of registration.running) {
      if (running === undefined) continue
      running.ordered = "dropped"
      running.fiber.interruptUnsafe()
      fibers.push(running.fiber)
    }
    return Effect.asVoid(Fiber.awaitAll(fibers))
  })

export const monotonicNow: Effect.Effect<() => number> = Effect.map(
  Clock.Clock,
  (clock) => () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
)
