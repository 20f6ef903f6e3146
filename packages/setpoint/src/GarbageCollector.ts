/**
 * The garbage collector: deletes what no owner holds any more.
 *
 * It follows the metadata of all kinds of a store, and acts where an owner went:
 *
 * - *background*: the owner goes once its own finalizers are done, and its dependents go after it;
 * - *foreground*: the owner is marked, its dependents go first, and it waits for those whose reference says
 *   `blockOwnerDeletion`;
 * - *orphan*: the references to the owner are cut first, and the dependents stay.
 *
 * A dependent of several owners stays while one of them lives, and loses its references to the others. An owner in
 * another namespace counts as absent, and a warning says so. Where a `Namespace` object exists, the collector holds it
 * by a finalizer, and once it is marked, empties the namespace before it goes. Events go an hour after they last
 * happened, and the oldest of an object beyond 100.
 *
 * **Consistency** Nothing is deleted on the word of a watch. That an owner is absent is confirmed by a most-recent read
 * of the owner, and the object is read again before it is written; every write carries its uid and revision. So two
 * collectors on one store are harmless, and what a living owner holds is never deleted. Before an owner goes by
 * foreground or orphan deletion, its dependents are listed once more from the store.
 *
 * **Delivery** Each object is tried again, with a backoff of its own, until what is due for it is done. A kind that
 * appears is found within `discovery`.
 *
 * **Shutdown** Interrupting it leaves nothing half done: what is due is seen from the store, by whoever collects next.
 *
 * **Memory** One node for each object that has owners or is one, each Namespace and each Event: its metadata, which is
 * shared with the watch that brought it. Of other objects nothing is kept.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as EventRecorder from "./EventRecorder.ts"
import * as Health from "./Health.ts"
import * as Rules from "./internal/collector.ts"
import * as ids from "./internal/ids.ts"
import * as Metrics from "./Metrics.ts"
import { groupOf } from "./Owner.ts"
import * as Pass from "./Pass.ts"
import * as RateLimiter from "./RateLimiter.ts"
import {
  groupKind,
  isMarkedForDeletion,
  type JsonObject,
  type Key,
  key as keyOf,
  keyText,
  type Metadata,
  type OwnerReference,
  type Raw
} from "./Resource.ts"
import type { Cursor } from "./Revision.ts"
import { Store } from "./Store.ts"
import type * as StoreDriver from "./StoreDriver.ts"
import type { StoreError } from "./StoreError.ts"
import { orphanFinalizer } from "./StoreRules.ts"
import * as WorkQueue from "./WorkQueue.ts"

/**
 * The finalizer by which the collector holds a `Namespace` object until the namespace is empty.
 *
 * @category constants
 * @since 0.1.0
 */
export const namespaceFinalizer = Rules.namespaceFinalizer

/**
 * How a collector works.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** The store's name in metrics and health. Default `"default"`; {@link layer} takes the store's own. */
  readonly store?: string | undefined
  /** Objects at once. Default 4. */
  readonly workers?: number | undefined
  /** Kinds to follow from the start, though they may have no objects yet. Default: those that have objects. */
  readonly kinds?: ReadonlyArray<StoreDriver.KindAddress> | undefined
  /** Kinds to follow as they are announced: what is known of new kinds need not wait for `discovery`. */
  readonly announced?: Queue.Dequeue<StoreDriver.KindAddress> | undefined
  /** How often it looks for kinds that are new. Default 10 seconds. */
  readonly discovery?: Duration.Input | undefined
  /** How long the start waits for kinds that do not sync. Default 30 seconds. */
  readonly syncTimeout?: Duration.Input | undefined
}

const maxSearches = 100
const pageSize = 500

interface Collector {
  readonly driver: StoreDriver.Service
  readonly state: Rules.State
  readonly queue: WorkQueue.WorkQueue<string, string, unknown>
  readonly watchers: FiberSet.FiberSet<void, never>
  /** Kinds that are followed, by group and kind. */
  readonly followed: Map<string, StoreDriver.KindAddress>
  /** Kinds that are followed and have not brought their initial list yet, and what is in the way. */
  readonly unsynced: Map<string, string>
  /** Opened when nothing is unsynced. */
  readonly synced: Latch.Latch
  readonly counts: { deleted: number; errors: number }
  /** Searches for owners out of reach that are left until the next discovery. */
  searches: number
  /** Tells people about an owner that is out of reach. */
  readonly warn: (object: Raw, message: string) => Effect.Effect<void>
}

/**
 * Collects until it is interrupted.
 *
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import { GarbageCollector, MemoryStore } from "setpoint"
 *
 * export const program = Effect.gen(function*() {
 *   const driver = yield* MemoryStore.make()
 *   yield* Effect.forkScoped(GarbageCollector.run(driver))
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const run = (
  driver: StoreDriver.Service,
  options: Options = {}
): Effect.Effect<never, RateLimiter.InvalidOptions> =>
  validated(options).pipe(
    Effect.andThen(make(driver, options)),
    Effect.flatMap((self) => collect(self, options)),
    Effect.scoped,
    Effect.provideService(Pass.Caller, "collector")
  )

/**
 * Collects for the `Store` of its context, where its driver has no collector of its own. A defect is logged, and the
 * collector starts anew.
 *
 * It reports to `Health` and to an `EventRecorder` where the context has them.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<never, RateLimiter.InvalidOptions, Store> =>
  Layer.effectDiscard(collecting(options))

const collecting = Effect.fnUntraced(function*(options: Options) {
  const store = yield* Store
  if (store.driver.capabilities.collector) return
  yield* validated(options)
  yield* run(store.driver, { ...options, store: options.store ?? store.name }).pipe(
    Effect.catchDefect((defect) => Effect.logError("the collector starts anew after a defect", defect)),
    Effect.repeat(Schedule.spaced("1 second")),
    Effect.forkScoped({ startImmediately: true })
  )
})

const validated = ({ workers = 4 }: Options): Effect.Effect<void, RateLimiter.InvalidOptions> =>
  Number.isInteger(workers) && workers > 0 ? Effect.void : Effect.fail(
    new RateLimiter.InvalidOptions({
      field: "GarbageCollector.workers",
      expected: "a whole number above 0",
      actual: String(workers)
    })
  )

const make = Effect.fnUntraced(function*(driver: StoreDriver.Service, options: Options) {
  const store = options.store ?? "default"
  const recorder = yield* Effect.serviceOption(EventRecorder.EventRecorder)
  const health = yield* Effect.serviceOption(Health.Health)
  const self: Collector = {
    driver,
    state: Rules.make({ eventMillis: 3_600_000, eventsPerObject: 100 }),
    queue: yield* WorkQueue.make<string, string, unknown>({
      name: "collector",
      concurrency: options.workers ?? 4,
      requeue: yield* RateLimiter.exponential({ base: "5 millis", cap: "10 seconds" }),
      metrics: false
    }),
    watchers: yield* FiberSet.make<void, never>(),
    followed: new Map(),
    unsynced: new Map(),
    synced: yield* Latch.make(),
    counts: { deleted: 0, errors: 0 },
    searches: maxSearches,
    warn: (object, message) =>
      Effect.andThen(
        Effect.logWarning(`${object.kind} ${keyText(keyOf(object))}: ${message}`),
        Option.isNone(recorder)
          ? Effect.void
          : recorder.value.record(object, { type: "Warning", reason: "OwnerRefInvalidNamespace", message })
      )
  }
  yield* Metrics.register([
    Metrics.series("setpoint_collector_objects", { store }, () => self.state.nodes.size),
    Metrics.series("setpoint_collector_deleted_total", { store }, () => self.counts.deleted),
    Metrics.series("setpoint_collector_errors_total", { store }, () => self.counts.errors)
  ])
  if (Option.isSome(health)) {
    yield* health.value.register({ name: `collector ${store}`, optional: true, status: () => statusOf(self) })
  }
  for (const at of options.kinds ?? []) yield* follow(self, at)
  return self
})

const statusOf = ({ unsynced }: Collector): Health.Status =>
  unsynced.size === 0
    ? Health.ready
    : Health.notReady(Array.from(unsynced, ([kind, why]) => `${kind}: ${why}`).join("; "))

const collect = Effect.fnUntraced(function*(self: Collector, options: Options): Effect.fn.Return<never> {
  const again = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("10 seconds")])
  yield* Effect.tapError(discover(self), complain("the kinds of the store cannot be read")).pipe(
    Effect.retry(again),
    Effect.orDie // it is retried for ever
  )
  yield* Effect.timeoutOption(Latch.await(self.synced), options.syncTimeout ?? "30 seconds")
  const rediscover = Effect.suspend(() => {
    self.searches = maxSearches
    return Effect.catch(discover(self), complain("the kinds of the store cannot be read"))
  })
  const discovering = Effect.forever(Effect.andThen(Effect.sleep(options.discovery ?? "10 seconds"), rediscover))
  const { announced } = options
  const listening = announced === undefined
    ? Effect.never
    : Effect.forever(Effect.flatMap(Queue.take(announced), (at) => follow(self, at)))
  const passes = Effect.forever(WorkQueue.takeWith(self.queue, (ticket) => pass(self, ticket)), { disableYield: true })
  const working = Effect.catchTag(passes, "Done", () => Effect.never) // closed: the scope is about to interrupt
  const workers = Array.from({ length: options.workers ?? 4 }, () => working)
  yield* Effect.all([FiberSet.join(self.watchers), discovering, listening, ...workers], {
    concurrency: "unbounded",
    discard: true
  })
  return yield* Effect.never
})

const complain = (what: string) => (error: StoreError) => Effect.logWarning(`collector: ${what}: ${error.message}`)

// Following kinds

/** Follows the kinds that have objects. Gives them. */
const discover = (self: Collector): Effect.Effect<ReadonlyArray<StoreDriver.KindAddress>, StoreError> =>
  Effect.tap(self.driver.kinds, (kinds) =>
    Effect.andThen(
      Effect.forEach(kinds, (at) => follow(self, at), { discard: true }),
      Effect.sync(() => openWhenSynced(self))
    ))

const openWhenSynced = (self: Collector): void => {
  if (self.unsynced.size === 0) Latch.openUnsafe(self.synced)
}

const follow = (self: Collector, at: StoreDriver.KindAddress): Effect.Effect<void> =>
  Effect.suspend(() => {
    const kind = groupKind(at)
    if (self.followed.has(kind)) return Effect.void
    self.followed.set(kind, at)
    self.unsynced.set(kind, "has not brought its initial list")
    return Effect.asVoid(FiberSet.run(self.watchers, followFor(self, at)))
  })

/** How far a kind was followed: `undefined` until it is listed. */
interface Progress {
  cursor: Cursor | undefined
  failures: number
}

/** Brings a kind into the graph, for ever: lists it, watches from there, goes on where a watch ended or lists anew. */
const followFor = Effect.fnUntraced(function*(
  self: Collector,
  at: StoreDriver.KindAddress
): Effect.fn.Return<never> {
  const progress: Progress = { cursor: undefined, failures: 0 }
  const kind = groupKind(at)
  while (true) {
    const ended = yield* Effect.result(Effect.andThen(list(self, at, progress), watch(self, at, progress)))
    if (Result.isFailure(ended)) {
      const { message, reason } = ended.failure
      if (reason._tag === "Expired") {
        progress.cursor = undefined
        Rules.newTimeline(self.state)
      }
      if (self.unsynced.has(kind)) self.unsynced.set(kind, message)
      yield* Effect.logDebug(`collector: following ${kind} ended: ${message}`)
    }
    yield* Effect.sleep(backoffMillis(progress.failures++) * (0.8 + 0.4 * (yield* Random.next)))
  }
})

const backoffMillis = (failures: number): number => Math.min(30_000, 100 * 2 ** Math.min(failures, 20))

/** Lists a kind, unless its cursor is known, page by page, so that others get their turn in between. */
const list = Effect.fnUntraced(function*(
  self: Collector,
  at: StoreDriver.KindAddress,
  progress: Progress
): Effect.fn.Return<void, StoreError> {
  if (progress.cursor !== undefined) return
  const present = new Set<string>() // of what the graph keeps
  const options = { consistency: "mostRecent", metadataOnly: !Rules.isEvent(at), limit: pageSize } as const
  let page = yield* self.driver.list(at, options)
  const { cursor } = page
  while (true) {
    for (const object of page.items) {
      enqueue(self, Rules.observed(self.state, at, object), 2)
      if (self.state.nodes.has(object.metadata.uid)) present.add(object.metadata.uid)
    }
    if (page.next === undefined) break
    yield* Effect.yieldNow
    page = yield* self.driver.list(at, { ...options, page: page.next })
  }
  enqueue(self, Rules.relisted(self.state, at, present), 0)
  progress.cursor = cursor
  self.unsynced.delete(groupKind(at))
  openWhenSynced(self)
})

/** Takes in changes from the cursor on. */
const watch = (
  self: Collector,
  at: StoreDriver.KindAddress,
  progress: Progress
): Effect.Effect<void, StoreError> => {
  const events = Stream.suspend(() =>
    self.driver.watch(at, { from: progress.cursor ?? "current", metadataOnly: !Rules.isEvent(at) })
  )
  return Stream.runForEach(events, (batch) =>
    Effect.sync(() => {
      progress.failures = 0
      for (const event of batch) {
        if ("object" in event) enqueue(self, Rules.observed(self.state, at, event.object), 0)
        else if ("last" in event) enqueue(self, Rules.vanished(self.state, event.last.metadata.uid), 0)
        progress.cursor = event.cursor
      }
    }))
}

const enqueue = (self: Collector, uids: ReadonlyArray<string>, lane: WorkQueue.Lane): void => {
  for (const uid of uids) WorkQueue.addUnsafe(self.queue, uid, { lane })
}

// One object

/** What follows an attempt: nothing, another soon (with a backoff), or one at a time. */
type After = "done" | "again" | { readonly afterMillis: number }

const pass = Effect.fnUntraced(function*(self: Collector, ticket: WorkQueue.Ticket<string, string, unknown>) {
  const exit = yield* Effect.exit(attempt(self, ticket.key))
  if (Exit.isSuccess(exit)) return endWith(self, ticket, exit.value)
  if (Cause.hasInterrupts(exit.cause)) return yield* Effect.interrupt
  self.counts.errors++
  WorkQueue.failUnsafe(self.queue, ticket, exit.cause)
  const object = self.state.nodes.get(ticket.key)?.object
  const about = object === undefined ? ticket.key : `${object.kind} ${keyText(keyOf(object))}`
  yield* Effect.logWarning(`collector: ${about} is tried again`, exit.cause)
})

const endWith = (self: Collector, ticket: WorkQueue.Ticket<string, string, unknown>, after: After): void => {
  if (after === "again") WorkQueue.requeueUnsafe(self.queue, ticket)
  else if (after === "done") WorkQueue.finishUnsafe(self.queue, ticket)
  else WorkQueue.finishUnsafe(self.queue, ticket, { next: { delayMillis: after.afterMillis } })
}

const attempt = Effect.fnUntraced(function*(self: Collector, uid: string): Effect.fn.Return<After, StoreError> {
  const node = self.state.nodes.get(uid)
  if (node === undefined) return "done"
  const step = Rules.due(self.state, node, yield* Clock.currentTimeMillis)
  switch (step._tag) {
    case "Nothing":
      return "done"
    case "Later":
      return { afterMillis: step.millis }
    case "Confirm": {
      const isSettled = yield* Effect.forEach(step.owners, (owner) => confirm(self, node.object, owner))
      return isSettled.includes(false) ? "again" : yield* attempt(self, uid)
    }
    case "Hold":
    case "Cut":
    case "Delete":
      return yield* onLatest(self, node, step)
    case "Finalize":
      return yield* finalize(self, node, step.finalizer)
  }
})

/**
 * Tells the graph what a most-recent read finds of an owner. What could not be read is not absent: the read's error says
 * why. `false`: the answer may be out of date already.
 */
const confirm = Effect.fnUntraced(function*(
  self: Collector,
  dependent: Raw,
  owner: OwnerReference
): Effect.fn.Return<boolean, StoreError> {
  const namespace = dependent.metadata.namespace ?? ""
  const at = yield* kindOfOwner(self, owner)
  const before = Rules.moment(self.state)
  const isReadable = at !== undefined && (at.scope === "Cluster" || namespace !== "")
  const found = isReadable ? yield* readOwner(self, at, namespace, owner) : undefined
  if (at !== undefined && found?.metadata.uid === owner.uid) return Rules.learned(self.state, at, found, before)
  const elsewhere = at === undefined ? undefined : yield* findOutOfReach(self, at, owner)
  if (at !== undefined && elsewhere !== undefined) return Rules.learned(self.state, at, elsewhere, before)
  Rules.confirmedAbsent(self.state, namespace, owner.uid)
  return true
})

/**
 * An owner that never was in reach may be in another namespace: that is worth a warning. Looking for it can be a search
 * through a whole kind, so it is done `maxSearches` times between two discoveries only.
 */
const findOutOfReach = Effect.fnUntraced(function*(
  self: Collector,
  at: StoreDriver.KindAddress,
  owner: OwnerReference
): Effect.fn.Return<Raw | undefined, StoreError> {
  if (at.scope === "Cluster" || Rules.wasSeen(self.state, owner) || self.searches === 0) return undefined
  self.searches--
  const page = yield* self.driver.list(at, { consistency: "mostRecent", metadataOnly: true, name: owner.name })
  return page.items.find((object) => object.metadata.uid === owner.uid)
})

/** `undefined`: the store has no object of the owner's kind. */
const kindOfOwner = Effect.fnUntraced(function*(self: Collector, owner: OwnerReference) {
  const group = groupOf(owner)
  const isOwners = (at: StoreDriver.KindAddress) => at.kind === owner.kind && at.group === group
  // A kind that the store does not list has no objects.
  return [...self.followed.values()].find(isOwners) ?? (yield* discover(self)).find(isOwners)
})

const readOwner = (self: Collector, at: StoreDriver.KindAddress, namespace: string, { name }: OwnerReference) =>
  read(self, at, { namespace: at.scope === "Cluster" ? "" : namespace, name })

const read = (self: Collector, at: StoreDriver.KindAddress, key: Key): Effect.Effect<Raw | undefined, StoreError> =>
  self.driver.get(at, key, { consistency: "mostRecent", metadataOnly: !Rules.isEvent(at) }).pipe(
    Effect.catchReason("StoreError", "NotFound", () => Effect.undefined)
  )

/** Carries a step out on the object as it is stored, if the step is still due for that. */
const onLatest = Effect.fnUntraced(function*(
  self: Collector,
  { at, object }: Rules.Node,
  step: Rules.Step
): Effect.fn.Return<After, StoreError> {
  const latest = yield* read(self, at, keyOf(object))
  if (latest === undefined || latest.metadata.uid !== object.metadata.uid) return "done"
  const due = Rules.due(self.state, { at, object: latest }, yield* Clock.currentTimeMillis)
  if (due._tag !== step._tag) return "again"
  switch (due._tag) {
    case "Hold":
      return yield* patch(self, at, latest, { finalizers: [...latest.metadata.finalizers ?? [], namespaceFinalizer] })
    case "Cut":
      yield* warnOfOwnersOutOfReach(self, latest)
      return yield* patch(self, at, latest, { ownerReferences: Rules.cut(latest, due.owners) })
    case "Delete":
      yield* warnOfOwnersOutOfReach(self, latest)
      return yield* remove(self, at, latest, due.propagation)
    default:
      return "again"
  }
})

const warnOfOwnersOutOfReach = (self: Collector, object: Raw): Effect.Effect<void> => {
  const owners = (object.metadata.ownerReferences ?? []).filter((owner) =>
    Rules.standing(self.state, object, owner) === "outOfReach"
  )
  return Effect.forEach(
    owners,
    ({ kind, name }) => self.warn(object, `its owner ${kind} ${name} is in another namespace, and so counts as absent`),
    { discard: true }
  )
}

// Objects that wait for the collector

const finalize = Effect.fnUntraced(function*(
  self: Collector,
  { at, object }: Rules.Node,
  finalizer: string
): Effect.fn.Return<After, StoreError> {
  const isClear = finalizer === namespaceFinalizer
    ? yield* emptied(self, object.metadata.name)
    : finalizer === orphanFinalizer
    ? yield* orphaned(self, object)
    : yield* unblocked(self, object)
  if (!isClear) return "again"
  const latest = yield* read(self, at, keyOf(object))
  if (latest?.metadata.uid !== object.metadata.uid || latest.metadata.finalizers?.includes(finalizer) !== true) {
    return "done"
  }
  return yield* patch(self, at, latest, { finalizers: latest.metadata.finalizers.filter((one) => one !== finalizer) })
})

/** Cuts the references to an owner. `true`: there were none. */
const orphaned = Effect.fnUntraced(function*(self: Collector, owner: Raw) {
  const dependents = yield* dependentsOf(self, owner)
  const owners = new Set([owner.metadata.uid])
  yield* Effect.forEach(
    dependents,
    ([at, object]) => patch(self, at, object, { ownerReferences: Rules.cut(object, owners) }),
    { discard: true }
  )
  return dependents.length === 0
})

/**
 * Whether no dependent is left that its owner waits for. The dependents themselves are attempted as the graph brings
 * them.
 */
const unblocked = (self: Collector, owner: Raw): Effect.Effect<boolean, StoreError> =>
  Effect.map(
    dependentsOf(self, owner),
    (dependents) => !dependents.some(([, object]) => Rules.blocks(self.state, object, owner))
  )

const dependentsOf = (self: Collector, owner: Raw) => listAll(self, () => ({ ownerUid: owner.metadata.uid }))

/** Deletes what is in a namespace, a page of each kind. `true`: there was nothing. */
const emptied = Effect.fnUntraced(function*(self: Collector, namespace: string) {
  const contents = yield* listAll(self, (at) => at.scope === "Cluster" ? undefined : { namespace, limit: pageSize })
  yield* Effect.forEach(
    contents.filter(([, object]) => !isMarkedForDeletion(object)),
    ([at, object]) => remove(self, at, object, "background"),
    { discard: true }
  )
  return contents.length === 0
})

type Found = readonly [at: StoreDriver.KindAddress, object: Raw]

/** The metadata of objects of every kind, as the store has them now. */
const listAll = Effect.fnUntraced(function*(
  self: Collector,
  filter: (at: StoreDriver.KindAddress) => Pick<StoreDriver.ListOptions, "namespace" | "ownerUid" | "limit"> | undefined
): Effect.fn.Return<ReadonlyArray<Found>, StoreError> {
  const kinds = yield* discover(self)
  const pages = yield* Effect.forEach(kinds, (at) => {
    const which = filter(at)
    if (which === undefined) return Effect.succeed<ReadonlyArray<Found>>([])
    const options = { ...which, consistency: "mostRecent", metadataOnly: true } as const
    return Effect.map(self.driver.list(at, options), (page) => page.items.map((object): Found => [at, object]))
  })
  return pages.flat()
})

// Writes: each under the uid and the revision of the object that was read

const patch = (
  self: Collector,
  at: StoreDriver.KindAddress,
  object: Raw,
  change: Pick<Metadata, "finalizers" | "ownerReferences">
): Effect.Effect<After, StoreError> => {
  const metadata = change as unknown as JsonObject // metadata of stored objects is JSON
  return write(self, at, object, { op: "patch", key: keyOf(object), type: "merge", patch: { metadata } })
}

const remove = (
  self: Collector,
  at: StoreDriver.KindAddress,
  object: Raw,
  propagation: StoreDriver.Propagation
): Effect.Effect<After, StoreError> =>
  Effect.tap(write(self, at, object, { op: "delete", key: keyOf(object), propagation }), (after) =>
    Effect.sync(() => {
      if (after === "done") self.counts.deleted++
    }))

const write = Effect.fnUntraced(function*(
  self: Collector,
  at: StoreDriver.KindAddress,
  { metadata: { resourceVersion: revision, uid } }: Raw,
  change: StoreDriver.Write
): Effect.fn.Return<After, StoreError> {
  const fence = yield* Pass.Fence
  const writeId = ids.writeId(yield* Random.Random)
  const writing = self.driver.write(at, change, { uid, revision, writeId, fence, hasStatus: false })
  return yield* Effect.as(writing, "done" as const).pipe(
    Effect.catchReason("StoreError", "NotFound", () => Effect.succeed("done" as const)),
    Effect.catchReason("StoreError", "Conflict", () => Effect.succeed("again" as const))
  )
})
