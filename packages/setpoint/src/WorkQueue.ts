/**
 * A queue of keys for a pool of workers: deduplicated, delayed, fair, and never twice at once.
 *
 * It holds keys, never objects: who takes a key looks at the world as it is then. Keys may be of any type; they are told
 * apart as a `Map` does it. A key is added with {@link add} or {@link addAfter}, taken with {@link take}, and its pass is
 * ended by one of {@link finish}, {@link requeue}, {@link fail}. {@link takeWith} does the whole round.
 *
 * **Ordering**
 *
 * - Q3: first in, first out within a lane. Lane 0 comes before 1, and 1 before 2. A ready key rises one lane each
 *   `ageAfter`, so no lane starves. A higher add lifts a ready key to the end of the higher lane, a lower one never sinks
 *   it. A key added while it runs takes its place in line when its pass ends.
 * - Q5: queues of one {@link Group} give keys in turns of their weights: a flood in one delays another's key by at most the
 *   sum of the other weights. A queue never has more keys running than its `concurrency`.
 *
 * **Delivery**
 *
 * - Q1: a key is in one place at most: ready, running, waiting for its time, or held by its gate.
 * - Q2: a key is never in two workers, and any number of adds during a pass make exactly one more.
 * - Q4: of several adds of a key the earliest time and the highest lane win; a direct add absorbs a delayed one. A delay
 *   is rounded up to a whole millisecond; one that is not above zero is none; none overflows.
 * - Q6: the reasons of all adds since the last take come with the key, `maxReasons` of them by name and the others as a
 *   number, with the trace of the first.
 *
 * **Consistency**
 *
 * Each operation is one synchronous step on one state record: no fiber sees a change half made. The functions that end in
 * `Unsafe` are those steps, for callers that cannot wait: they never block.
 *
 * **Shutdown**
 *
 * - Q8: after {@link close} no add is accepted, and delayed and held keys are dropped; ready keys are still handed out, and
 *   a take ends with `Done` once none is left. {@link drain} waits until the last pass has ended, up to a deadline.
 *   {@link shutdown}, which also closes the queue's Scope, drops ready keys too. All of them may be called twice.
 *
 * **Memory**
 *
 * - Q7: one entry for each key that is ready, runs, waits, is held, or remembers failures. Nothing is kept of any other.
 *   Delays cost one timer a group, not one a key.
 * - Q9: {@link probe}, {@link snapshot} and {@link metrics} cost nothing unread.
 *
 * ```ts
 * import { Effect } from "effect"
 * import { WorkQueue } from "setpoint"
 *
 * const program = Effect.gen(function*() {
 *   const queue = yield* WorkQueue.make<string>()
 *   yield* WorkQueue.add(queue, "blue", { reason: "created" })
 *   yield* WorkQueue.add(queue, "blue", { reason: "changed" })
 *   return yield* WorkQueue.takeWith(queue, (ticket) =>
 *     Effect.as(WorkQueue.finish(queue, ticket), ticket.reasons)) // ["created", "changed"]
 * })
 * ```
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberHandle from "effect/FiberHandle"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Random from "effect/Random"
import * as Ref from "effect/Ref"
import type * as Scope from "effect/Scope"
import type * as Tracer from "effect/Tracer"
import * as FairPool from "./internal/fairPool.ts"
import * as Histogram from "./internal/histogram.ts"
import * as Line from "./internal/line.ts"
import { millisOf } from "./internal/millis.ts"
import * as Rules from "./internal/workQueue.ts"
import * as RateLimiter from "./RateLimiter.ts"

/**
 * 0: watch events, mapped requests, enqueue. 1: requeues and retries. 2: initial list, redelivery, relist, rechecks.
 *
 * @since 0.1.0
 * @category models
 */
export type Lane = Rules.Lane

/**
 * Where a key is. `Idle`: it only remembers failures, or that its gate is closed.
 *
 * @since 0.1.0
 * @category models
 */
export type Place = Rules.Place

/**
 * What the queue knows of one live key. Opaque: it is for a {@link Slot} to keep.
 *
 * @since 0.1.0
 * @category models
 */
export type Entry<K, R = string, E = unknown> = Rules.Entry<K, R, E>

/**
 * Where the entries of keys are kept. The default is a `Map`; who interns its keys keeps the entry on the key itself, and
 * the queue looks nothing up.
 *
 * @since 0.1.0
 * @category models
 */
export type Slot<K, R = string, E = unknown> = Rules.Slot<K, R, E>

/**
 * A key in a worker's hands: why it was added, and what it remembers. Times are milliseconds of the monotonic clock.
 *
 * `retryDueMillis` is when the retry of an earlier failure is or was due; `gateExpired` says that the key's gate was opened
 * by its deadline and not by {@link openGate}.
 *
 * @since 0.1.0
 * @category models
 */
export type Ticket<K, R = string, E = unknown> = Rules.Ticket<K, R, E>

/**
 * An add that follows a pass: merged with the adds made during it. Defaults: no delay, lane 1.
 *
 * @since 0.1.0
 * @category models
 */
export type Next<R = string> = Rules.Next<R>

/**
 * How a failed or requeued pass goes on. `stepped`: after the policy's next delay. `kept`: at the time of a retry that was
 * not due yet. `ended`: the policy gives no more tries, and `orElse` follows.
 *
 * @since 0.1.0
 * @category models
 */
export type Retried = Rules.Retried

/**
 * What is known of a key at one moment.
 *
 * @since 0.1.0
 * @category models
 */
export type Probe<K, R = string> = Rules.Probe<K, R>

/**
 * Workers shared by several queues: who takes from the group takes from its queues in turn.
 *
 * @since 0.1.0
 * @category models
 */
export interface Group<in out K, in out R = string, in out E = unknown> {
  /** @internal */
  readonly hints: Queue.Queue<void>
  /** @internal */
  readonly ring: FairPool.Ring<WorkQueue<K, R, E>>
  /** @internal */
  readonly members: Set<WorkQueue<K, R, E>>
  /** @internal */
  readonly now: () => number
  /** @internal */
  readonly timer: Timer
  /** How many takers wait. @internal */
  idle: number
  /** @internal */
  isClosed: boolean
}

/** One fiber that sleeps until the earliest time of all queues of a group, while there is one (Q4). */
interface Timer {
  readonly start: (run: Effect.Effect<void>) => void
  readonly sleep: (millis: number) => Effect.Effect<void>
  /** Until when it sleeps; Infinity where it does not run. */
  until: number
}

/**
 * A queue of keys `K`, added for reasons `R`, whose failures are of type `E`.
 *
 * @since 0.1.0
 * @category models
 */
export interface WorkQueue<in out K, in out R = string, in out E = unknown>
  extends FairPool.Member<WorkQueue<K, R, E>>
{
  readonly name: string
  readonly group: Group<K, R, E>
  /** The whole state, changed by one synchronous function an operation. @internal */
  readonly state: Ref.Ref<Rules.State<K, R, E>>
  /** Done when the queue is closed and its last pass has ended (true), or when it is shut down before (false). @internal */
  readonly drained: Deferred.Deferred<boolean>
  /** It has a group of its own. @internal */
  readonly isAlone: boolean
  /** How many of its keys may run at once. Set by {@link setConcurrency}. */
  concurrency: number
  /** Gives no key while it is set. Set by {@link setPausedUnsafe}. */
  isPaused: boolean
}

/**
 * Makes a {@link Group}. Closing its Scope shuts all its queues down.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeGroup = <K, R = string, E = unknown>(): Effect.Effect<Group<K, R, E>, never, Scope.Scope> =>
  Effect.acquireRelease(newGroup<K, R, E>(), closeGroup)

const newGroup = Effect.fnUntraced(function*<K, R, E>() {
  const clock = yield* Clock.Clock
  const start = yield* FiberHandle.makeRuntime<never, never, void>()
  const group: Group<K, R, E> = {
    hints: yield* Queue.unbounded<void>(),
    ring: Line.make(),
    members: new Set(),
    now: () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6,
    timer: {
      start: (run) => void start(run),
      sleep: (millis) => clock.sleep(Duration.millis(millis)),
      until: Infinity
    },
    idle: 0,
    isClosed: false
  }
  return group
})

/**
 * Shuts all queues of a group down, and ends its takes with `Done`.
 *
 * @since 0.1.0
 * @category shutdown
 */
export const closeGroup = <K, R, E>(group: Group<K, R, E>): Effect.Effect<void> =>
  Effect.sync(() => {
    group.isClosed = true
    for (const queue of group.members) shutdownUnsafe(queue)
    wakeAll(group)
  })

/**
 * Stops the queue from giving keys, or lets it go on. Keys are added, dedupe and wait as ever.
 *
 * @since 0.1.0
 * @category configuration
 */
export const setPausedUnsafe = <K, R, E>(self: WorkQueue<K, R, E>, isPaused: boolean): void => {
  if (self.isPaused === isPaused) return
  self.isPaused = isPaused
  const state = stateOf(self)
  settle(self, state, Rules.depth(state))
}

/**
 * Direct adds wait until none came for `window`, but not longer than `maxWait` after the first (default five windows).
 *
 * @since 0.1.0
 * @category models
 */
export interface Debounce {
  readonly window: Duration.Input
  readonly maxWait?: Duration.Input | undefined
}

/**
 * Debounces direct adds from now on, or no more; a window that is open ends as it was to end.
 *
 * @since 0.1.0
 * @category configuration
 */
export const setDebounce = <K, R, E>(
  self: WorkQueue<K, R, E>,
  debounce: Debounce | undefined
): Effect.Effect<void, RateLimiter.InvalidOptions> =>
  Effect.map(debounceOf(debounce), (millis) => {
    stateOf(self).settings.debounce = millis
  })

/**
 * How many keys are in each place, and how many remember failures. Costs a walk over the live keys.
 *
 * @since 0.1.0
 * @category reading
 */
export const countsUnsafe = <K, R, E>(self: WorkQueue<K, R, E>): {
  readonly ready: number
  readonly running: number
  readonly waiting: number
  readonly held: number
  readonly failing: number
} => {
  const state = stateOf(self)
  const counts = { ready: Rules.depth(state), running: state.running.length, waiting: 0, held: 0, failing: 0 }
  for (const { memory, place } of Rules.entries(state)) {
    if (memory !== undefined && memory.failures > 0) counts.failing++
    if (place === "Waiting") counts.waiting++
    else if (place === "Held") counts.held++
  }
  return counts
}

/**
 * Every live key: ready, running, waiting, held, or only remembered for its failures.
 *
 * @since 0.1.0
 * @category reading
 */
export const keysUnsafe = <K, R, E>(self: WorkQueue<K, R, E>): ReadonlyArray<K> =>
  Rules.entries(stateOf(self)).map(({ key }) => key)

/**
 * The options of {@link make}.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<K, R = string, E = unknown> {
  /** Names the queue in metrics. Default `"queue"`. */
  readonly name?: string | undefined
  /** The workers it shares. Default: a group of its own. */
  readonly group?: Group<K, R, E> | undefined
  /** How many keys it gives in a turn, a whole number from 1. Default 1. */
  readonly weight?: number | undefined
  /** How many of its keys may run at once; 0: none until {@link setConcurrency} says more. Default: no bound. */
  readonly concurrency?: number | undefined
  /** The delays of {@link fail}. Default `RateLimiter.standard`: 5 millis doubling to 5 minutes. */
  readonly retry?: RateLimiter.Policy<E> | undefined
  /** The delays of {@link requeue}. Default `RateLimiter.standard`. */
  readonly requeue?: RateLimiter.Policy | undefined
  /** After how long a ready key rises one lane. Default 10 seconds. */
  readonly ageAfter?: Duration.Input | undefined
  /** How many reasons of a key are kept by name. Default 8. */
  readonly maxReasons?: number | undefined
  /** Whether two reasons are one. Default: `===`. */
  readonly sameReason?: ((a: R, b: R) => boolean) | undefined
  /**
   * Direct adds wait until none came for `window`, but not longer than `maxWait` after the first (default five windows).
   * Default: no debounce.
   */
  readonly debounce?: Debounce | undefined
  /** Whether durations are counted into histograms. Default true. */
  readonly metrics?: boolean | undefined
  /** Where entries are kept. Default: a `Map` by key. */
  readonly slot?: Slot<K, R, E> | undefined
}

/**
 * Makes a queue. Closing its Scope shuts it down. Fails with `InvalidOptions` for an option that cannot work.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <K, R = string, E = unknown>(
  options: Options<K, R, E> = {}
): Effect.Effect<WorkQueue<K, R, E>, RateLimiter.InvalidOptions, Scope.Scope> =>
  Effect.acquireRelease(newQueue(options), shutdown)

const newQueue = Effect.fnUntraced(function*<K, R, E>(options: Options<K, R, E>) {
  const settings = yield* settingsOf(options)
  const queue: WorkQueue<K, R, E> = {
    name: options.name ?? "queue",
    group: options.group ?? (yield* newGroup<K, R, E>()),
    state: yield* Ref.make(Rules.make(settings)),
    drained: yield* Deferred.make<boolean>(),
    isAlone: options.group === undefined,
    isPaused: false,
    weight: yield* wholeFrom(1, "weight", options.weight ?? 1),
    concurrency: yield* wholeFrom(0, "concurrency", options.concurrency ?? Infinity),
    turn: 0,
    line: undefined,
    previous: undefined,
    next: undefined
  }
  if (queue.group.isClosed) shutdownUnsafe(queue)
  else queue.group.members.add(queue)
  return queue
})

const settingsOf = Effect.fnUntraced(function*<K, R, E>(options: Options<K, R, E>) {
  const random = yield* Random.Random
  const settings: Rules.Settings<K, R, E> = {
    slot: options.slot ?? Rules.mapSlot(),
    retry: options.retry ?? RateLimiter.standard,
    requeue: options.requeue ?? RateLimiter.standard,
    random: () => random.nextDoubleUnsafe(),
    ageAfterMillis: yield* positiveMillis("ageAfter", options.ageAfter ?? 10_000),
    maxReasons: yield* wholeFrom(1, "maxReasons", options.maxReasons ?? 8),
    sameReason: options.sameReason ?? Object.is,
    debounce: yield* debounceOf(options.debounce),
    metrics: options.metrics ?? true
  }
  return settings
})

const debounceOf = Effect.fnUntraced(function*(debounce: Debounce | undefined) {
  if (debounce === undefined) return undefined
  const windowMillis = yield* positiveMillis("debounce.window", debounce.window)
  const { maxWait } = debounce
  return {
    windowMillis,
    maxWaitMillis: maxWait === undefined ? 5 * windowMillis : yield* positiveMillis("debounce.maxWait", maxWait)
  }
})

const invalid = (field: string, expected: string, actual: unknown) =>
  Effect.fail(new RateLimiter.InvalidOptions({ field: `WorkQueue.${field}`, expected, actual: String(actual) }))

const wholeFrom = (least: number, field: string, value: number) =>
  value >= least && (Number.isInteger(value) || value === Infinity)
    ? Effect.succeed(value)
    : invalid(field, `a whole number of at least ${least}`, value)

const positiveMillis = (field: string, input: Duration.Input) => {
  const millis = millisOf(input)
  return millis > 0 ? Effect.succeed(millis) : invalid(field, "a duration above zero", input)
}

// What follows a step: members are seated, takers told, the timer armed.

const stateOf = <K, R, E>(self: WorkQueue<K, R, E>): Rules.State<K, R, E> => Ref.getUnsafe(self.state)

const canGive = <K, R, E>(self: WorkQueue<K, R, E>, state: Rules.State<K, R, E>): boolean =>
  !self.isPaused && state.running.length < self.concurrency && Rules.depth(state) > 0

/** One hint a ready key, while takers wait that have none: nobody wakes for nothing, nobody sleeps beside a key. */
const wake = <K, R, E>(group: Group<K, R, E>, keys: number): void => {
  for (let left = keys; left > 0; left--) {
    if (group.ring.head === undefined || Queue.sizeUnsafe(group.hints) >= group.idle) return
    Queue.offerUnsafe(group.hints, undefined)
  }
}

const wakeAll = <K, R, E>(group: Group<K, R, E>): void => {
  while (Queue.sizeUnsafe(group.hints) < group.idle) Queue.offerUnsafe(group.hints, undefined)
}

/** Ends a step that made some keys ready, or made room for one. */
const settle = <K, R, E>(self: WorkQueue<K, R, E>, state: Rules.State<K, R, E>, ready: number): void => {
  const group = self.group
  FairPool.seat(group.ring, self, canGive(self, state))
  if (group.idle > 0) wake(group, ready)
  const due = Rules.earliestDue(state)
  if (due < group.timer.until) arm(group, due)
  if (state.phase !== "Open") afterClose(self, state)
}

const afterClose = <K, R, E>(self: WorkQueue<K, R, E>, state: Rules.State<K, R, E>): void => {
  const isQuiet = Rules.isQuiet(state)
  if (isQuiet || state.phase === "Shut") Deferred.doneUnsafe(self.drained, Effect.succeed(isQuiet))
  if (Rules.isSpent(state)) self.group.members.delete(self)
  wakeAll(self.group)
}

const arm = <K, R, E>(group: Group<K, R, E>, due: number): void => {
  group.timer.until = due
  group.timer.start(sleepAndRelease(group))
}

const sleepAndRelease = <K, R, E>(group: Group<K, R, E>): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (group.timer.until === Infinity) return Effect.void
    const now = group.now()
    const millis = Math.ceil(group.timer.until - now)
    if (millis > 0) return Effect.flatMap(group.timer.sleep(millis), () => sleepAndRelease(group))
    releaseAll(group, now)
    return sleepAndRelease(group)
  })

/** What is due becomes ready in all queues; the timer is left set for the earliest time that remains. */
const releaseAll = <K, R, E>(group: Group<K, R, E>, now: number): void => {
  let until = Infinity
  for (const queue of group.members) {
    const state = stateOf(queue)
    const ready = Rules.releaseDue(state, now)
    until = Math.min(until, Rules.earliestDue(state))
    if (ready === 0) continue
    FairPool.seat(group.ring, queue, canGive(queue, state))
    wake(group, ready)
  }
  group.timer.until = until
}

// Adds

/**
 * What comes with an add. Defaults: lane 0 ({@link addAfter}: 1), no reason, no trace.
 *
 * @since 0.1.0
 * @category models
 */
export interface AddOptions<R = string> {
  readonly lane?: Lane | undefined
  readonly reason?: R | undefined
  readonly trace?: Tracer.AnySpan | undefined
}

/**
 * Adds a key: it is ready now, or runs once more after the pass that it is in. O(1); an add that changes nothing neither
 * reads the clock nor allocates. False when the queue is closed.
 *
 * @since 0.1.0
 * @category adding
 */
export const addUnsafe = <K, R, E>(self: WorkQueue<K, R, E>, key: K, options?: AddOptions<R>): boolean => {
  const state = stateOf(self)
  const lane = options?.lane ?? 0
  const entry = Rules.hear(state, key, lane, options?.reason, options?.trace)
  if (entry === undefined) return state.phase === "Open"
  Rules.addNow(state, entry, lane, self.group.now())
  settle(self, state, 1)
  return true
}

/**
 * As {@link addUnsafe}.
 *
 * @since 0.1.0
 * @category adding
 */
export const add = <K, R, E>(self: WorkQueue<K, R, E>, key: K, options?: AddOptions<R>): Effect.Effect<boolean> =>
  Effect.sync(() => addUnsafe(self, key, options))

/**
 * Adds a key to be ready after a delay (Q4). O(log n) of the waiting keys. A number is milliseconds. False when the queue
 * is closed.
 *
 * @since 0.1.0
 * @category adding
 */
export const addAfterUnsafe = <K, R, E>(
  self: WorkQueue<K, R, E>,
  key: K,
  delay: Duration.Input,
  options?: AddOptions<R>
): boolean => {
  const state = stateOf(self)
  const lane = options?.lane ?? 1
  const entry = Rules.hear(state, key, lane, options?.reason, options?.trace)
  if (entry === undefined) return state.phase === "Open"
  Rules.addAfter(state, entry, lane, millisOf(delay), self.group.now())
  settle(self, state, 1)
  return true
}

/**
 * As {@link addAfterUnsafe}.
 *
 * @since 0.1.0
 * @category adding
 */
export const addAfter = <K, R, E>(
  self: WorkQueue<K, R, E>,
  key: K,
  delay: Duration.Input,
  options?: AddOptions<R>
): Effect.Effect<boolean> => Effect.sync(() => addAfterUnsafe(self, key, delay, options))

// Gates

/**
 * Closes the gate of a key for a while: where the key would be ready it is held instead, a place in the queue and no
 * worker, until {@link openGate} or the deadline. A running key runs on.
 *
 * @since 0.1.0
 * @category gates
 */
export const closeGateUnsafe = <K, R, E>(self: WorkQueue<K, R, E>, key: K, atMost: Duration.Input): void => {
  const state = stateOf(self)
  const now = self.group.now()
  Rules.closeGate(state, key, now + Rules.clampDelay(millisOf(atMost)), now)
  settle(self, state, 0)
}

/**
 * As {@link closeGateUnsafe}.
 *
 * @since 0.1.0
 * @category gates
 */
export const closeGate = <K, R, E>(self: WorkQueue<K, R, E>, key: K, atMost: Duration.Input): Effect.Effect<void> =>
  Effect.sync(() => closeGateUnsafe(self, key, atMost))

/**
 * Opens the gate of a key. A held key is ready, at the end of its lane.
 *
 * @since 0.1.0
 * @category gates
 */
export const openGateUnsafe = <K, R, E>(self: WorkQueue<K, R, E>, key: K): void => {
  const state = stateOf(self)
  Rules.openGate(state, key, self.group.now())
  settle(self, state, 1)
}

/**
 * As {@link openGateUnsafe}.
 *
 * @since 0.1.0
 * @category gates
 */
export const openGate = <K, R, E>(self: WorkQueue<K, R, E>, key: K): Effect.Effect<void> =>
  Effect.sync(() => openGateUnsafe(self, key))

// Taking

/**
 * A key taken from a group, with the queue it came from.
 *
 * @since 0.1.0
 * @category models
 */
export interface Taken<in out K, in out R = string, in out E = unknown> {
  readonly queue: WorkQueue<K, R, E>
  readonly ticket: Ticket<K, R, E>
}

/**
 * Takes the next key of the group, if one is ready. The key runs from then on, until its pass is ended.
 *
 * @since 0.1.0
 * @category taking
 */
export const takeAnyUnsafe = <K, R, E>(group: Group<K, R, E>): Taken<K, R, E> | undefined => {
  const now = group.now()
  if (group.timer.until <= now) releaseAll(group, now)
  const queue = group.ring.head
  if (queue === undefined) return undefined
  const state = stateOf(queue)
  const ticket = Rules.take(state, now)
  if (ticket === undefined) throw new Error(`Q5 is broken: ${queue.name} stood in the ring with no key ready`)
  FairPool.gave(group.ring, queue, canGive(queue, state))
  return { queue, ticket }
}

const isSpent = <K, R, E>(group: Group<K, R, E>): boolean => {
  if (!group.isClosed) return false
  for (const queue of group.members) if (!Rules.isSpent(stateOf(queue))) return false
  return true
}

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** The wait can be interrupted, the steps around it cannot: no hint and no key is lost. */
const takeMasked = <K, R, E>(group: Group<K, R, E>, restore: Restore): Effect.Effect<Taken<K, R, E>, Cause.Done> =>
  Effect.suspend(() => {
    const taken = takeAnyUnsafe(group)
    if (taken !== undefined) return Effect.succeed(taken)
    return Effect.flatMap(waitMasked(group, restore), () => takeMasked(group, restore))
  })

const waitMasked = <K, R, E>(group: Group<K, R, E>, restore: Restore): Effect.Effect<void, Cause.Done> =>
  Effect.suspend(() => {
    if (isSpent(group)) return Effect.fail(Cause.Done())
    group.idle++
    return Effect.onExit(restore(Queue.take(group.hints)), (exit) =>
      Effect.sync(() => {
        group.idle--
        // It may have gone with a hint in hand, or on its way to one: another taker gets a new one.
        if (Exit.isFailure(exit) && group.idle > 0) Queue.offerUnsafe(group.hints, undefined)
      }))
  })

/**
 * Waits until a key of the group may be ready, and takes none. Fails with `Done` when the group is closed and has none
 * left. For workers that take with {@link takeAnyUnsafe} in an uninterruptible region: the wait can be interrupted there
 * too, and only the wait, so that a worker that goes leaves its hint to another.
 *
 * @since 0.1.0
 * @category taking
 */
export const waitAny = <K, R, E>(group: Group<K, R, E>): Effect.Effect<void, Cause.Done> =>
  Effect.uninterruptible(waitMasked(group, Effect.interruptible))

/**
 * Waits for the next key of the group and takes it. Fails with `Done` when the group is closed and has none left.
 *
 * The wait can be interrupted. A key that was taken is the caller's to end: {@link takeAnyWith} sees to it.
 *
 * @since 0.1.0
 * @category taking
 */
export const takeAny = <K, R, E>(group: Group<K, R, E>): Effect.Effect<Taken<K, R, E>, Cause.Done> =>
  Effect.suspend(() => {
    const taken = takeAnyUnsafe(group)
    return taken === undefined
      ? Effect.uninterruptibleMask((restore) => takeMasked(group, restore))
      : Effect.succeed(taken)
  })

/**
 * Waits for a key of the group and runs a pass with it. The pass ends its key itself by {@link finish}, {@link requeue} or
 * {@link fail}; where it does not, its success ends it as `finish` does, and any other exit as `finish` that keeps the
 * failures. A key is never left behind, wherever an interruption falls.
 *
 * @since 0.1.0
 * @category taking
 */
export const takeAnyWith = <K, R, E, A, E2, R2>(
  group: Group<K, R, E>,
  pass: (taken: Taken<K, R, E>) => Effect.Effect<A, E2, R2>
): Effect.Effect<A, E2 | Cause.Done, R2> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(
      takeMasked(group, restore),
      (taken) =>
        Effect.onExit(restore(pass(taken)), (exit) =>
          Effect.sync(() => {
            if (!Rules.isRunning(taken.ticket)) return
            finishUnsafe(taken.queue, taken.ticket, { failures: Exit.isSuccess(exit) ? "forget" : "keep" })
          }))
    )
  )

const groupOfItsOwn = <K, R, E>(self: WorkQueue<K, R, E>): Group<K, R, E> => {
  if (self.isAlone) return self.group
  throw new Error(`${self.name} shares its workers: take from its group, so that Q5 holds`)
}

/**
 * {@link takeAnyUnsafe} of a queue that has a group of its own. A queue that shares one is a defect.
 *
 * @since 0.1.0
 * @category taking
 */
export const takeUnsafe = <K, R, E>(self: WorkQueue<K, R, E>): Ticket<K, R, E> | undefined =>
  takeAnyUnsafe(groupOfItsOwn(self))?.ticket

/**
 * {@link takeAny} of a queue that has a group of its own.
 *
 * @since 0.1.0
 * @category taking
 */
export const take = <K, R, E>(self: WorkQueue<K, R, E>): Effect.Effect<Ticket<K, R, E>, Cause.Done> =>
  Effect.suspend(() => Effect.map(takeAny(groupOfItsOwn(self)), (taken) => taken.ticket))

/**
 * {@link takeAnyWith} of a queue that has a group of its own.
 *
 * @since 0.1.0
 * @category taking
 */
export const takeWith = <K, R, E, A, E2, R2>(
  self: WorkQueue<K, R, E>,
  pass: (ticket: Ticket<K, R, E>) => Effect.Effect<A, E2, R2>
): Effect.Effect<A, E2 | Cause.Done, R2> =>
  Effect.suspend(() => takeAnyWith(groupOfItsOwn(self), (taken) => pass(taken.ticket)))

// Ending a pass

/**
 * Ends a pass that did not fail. `failures: "keep"` keeps what the key remembers of its failures (default: it is
 * forgotten). `next` is merged with the adds made during the pass (Q4). To end a pass twice is a defect (Q2).
 *
 * `nowMillis` is for who has just read the monotonic clock.
 *
 * @since 0.1.0
 * @category ending
 */
export const finishUnsafe = <K, R, E>(
  self: WorkQueue<K, R, E>,
  ticket: Ticket<K, R, E>,
  options?: { readonly failures?: "forget" | "keep" | undefined; readonly next?: Next<R> | undefined },
  nowMillis: number = self.group.now()
): void => {
  const state = stateOf(self)
  Rules.finish(state, ticket, options?.failures ?? "forget", options?.next, nowMillis)
  settle(self, state, 1)
}

/**
 * As {@link finishUnsafe}.
 *
 * @since 0.1.0
 * @category ending
 */
export const finish = <K, R, E>(
  self: WorkQueue<K, R, E>,
  ticket: Ticket<K, R, E>,
  options?: { readonly failures?: "forget" | "keep" | undefined; readonly next?: Next<R> | undefined }
): Effect.Effect<void> => Effect.sync(() => finishUnsafe(self, ticket, options))

/**
 * Ends a pass that asks to run again, and forgets the failures: the key runs in lane 1 after a delay of the queue's
 * `requeue` policy, stepped by its requeues in a row. Where the policy has ended, `orElse` follows (default: nothing).
 *
 * @since 0.1.0
 * @category ending
 */
export const requeueUnsafe = <K, R, E>(
  self: WorkQueue<K, R, E>,
  ticket: Ticket<K, R, E>,
  options?: { readonly reason?: R | undefined; readonly orElse?: Next<R> | undefined }
): Retried => {
  const state = stateOf(self)
  const retried = Rules.requeue(state, ticket, options?.reason, options?.orElse, self.group.now())
  settle(self, state, 1)
  return retried
}

/**
 * As {@link requeueUnsafe}.
 *
 * @since 0.1.0
 * @category ending
 */
export const requeue = <K, R, E>(
  self: WorkQueue<K, R, E>,
  ticket: Ticket<K, R, E>,
  options?: { readonly reason?: R | undefined; readonly orElse?: Next<R> | undefined }
): Effect.Effect<Retried> => Effect.sync(() => requeueUnsafe(self, ticket, options))

/**
 * The options of {@link fail}.
 *
 * @since 0.1.0
 * @category models
 */
export interface FailOptions<R = string> {
  /** No retry before that: of it and the policy's delay the later counts. Default: none. */
  readonly notBefore?: Duration.Input | undefined
  /** The reason of the retry. */
  readonly reason?: R | undefined
  /** What follows where the policy gives no more tries. Default: nothing until the next add. */
  readonly orElse?: Next<R> | undefined
}

/**
 * Ends a pass that failed: the key is retried in lane 1 after a delay of the queue's `retry` policy, which is given the
 * error. A pass that fails before the retry of an earlier failure was due, because an add came first, does not step the
 * policy, and that retry keeps its time.
 *
 * @since 0.1.0
 * @category ending
 */
export const failUnsafe = <K, R, E>(
  self: WorkQueue<K, R, E>,
  ticket: Ticket<K, R, E>,
  error: E,
  options?: FailOptions<R>
): Retried => {
  const state = stateOf(self)
  const notBeforeMillis = options?.notBefore === undefined ? 0 : millisOf(options.notBefore)
  const how = { notBeforeMillis, reason: options?.reason, orElse: options?.orElse }
  const retried = Rules.fail(state, ticket, error, how, self.group.now())
  settle(self, state, 1)
  return retried
}

/**
 * As {@link failUnsafe}.
 *
 * @since 0.1.0
 * @category ending
 */
export const fail = <K, R, E>(
  self: WorkQueue<K, R, E>,
  ticket: Ticket<K, R, E>,
  error: E,
  options?: FailOptions<R>
): Effect.Effect<Retried> => Effect.sync(() => failUnsafe(self, ticket, error, options))

/**
 * Drops what a key remembers of its failures and requeues. An add that waits goes on waiting.
 *
 * @since 0.1.0
 * @category ending
 */
export const forget = <K, R, E>(self: WorkQueue<K, R, E>, key: K): Effect.Effect<void> =>
  Effect.sync(() => Rules.forget(stateOf(self), key, self.group.now()))

// Changes at run time

/**
 * Changes how many keys of a queue may run at once; 0 pauses it. Fewer than run now end no pass: none begins until enough
 * have ended.
 *
 * @since 0.1.0
 * @category configuration
 */
export const setConcurrency = <K, R, E>(
  self: WorkQueue<K, R, E>,
  concurrency: number
): Effect.Effect<void, RateLimiter.InvalidOptions> =>
  Effect.map(wholeFrom(0, "concurrency", concurrency), () => {
    self.concurrency = concurrency
    const state = stateOf(self)
    settle(self, state, Rules.depth(state))
  })

/**
 * Changes how many keys a queue gives in a turn, from its next turn on.
 *
 * @since 0.1.0
 * @category configuration
 */
export const setWeight = <K, R, E>(
  self: WorkQueue<K, R, E>,
  weight: number
): Effect.Effect<void, RateLimiter.InvalidOptions> =>
  Effect.map(wholeFrom(1, "weight", weight), () => {
    self.weight = weight
  })

// Shutdown

/**
 * Stops intake: delayed and held keys are dropped, ready ones are still handed out, and so is a running key that was added
 * again before the close.
 *
 * @since 0.1.0
 * @category shutdown
 */
export const closeUnsafe = <K, R, E>(self: WorkQueue<K, R, E>): void => endWith(self, Rules.close)

/**
 * As {@link closeUnsafe}.
 *
 * @since 0.1.0
 * @category shutdown
 */
export const close = <K, R, E>(self: WorkQueue<K, R, E>): Effect.Effect<void> => Effect.sync(() => closeUnsafe(self))

/**
 * Closes the queue and drops its ready keys too. Passes that run are not ended by it: their keys go nowhere when they end.
 * Releases every wait in {@link drain}.
 *
 * @since 0.1.0
 * @category shutdown
 */
export const shutdownUnsafe = <K, R, E>(self: WorkQueue<K, R, E>): void => endWith(self, Rules.shutDown)

/**
 * As {@link shutdownUnsafe}.
 *
 * @since 0.1.0
 * @category shutdown
 */
export const shutdown = <K, R, E>(self: WorkQueue<K, R, E>): Effect.Effect<void> =>
  Effect.sync(() => shutdownUnsafe(self))

const endWith = <K, R, E>(self: WorkQueue<K, R, E>, end: (state: Rules.State<K, R, E>) => void): void => {
  const state = stateOf(self)
  end(state)
  if (self.isAlone) self.group.isClosed = true
  settle(self, state, 0)
}

/**
 * Closes the queue and waits until its last pass has ended. At the deadline (default 25 seconds) it shuts the queue down.
 * True when every ready and running key had its pass; what still runs is for the workers' owner to interrupt.
 *
 * @since 0.1.0
 * @category shutdown
 */
export const drain = Effect.fn("WorkQueue.drain")(function*<K, R, E>(
  self: WorkQueue<K, R, E>,
  options?: { readonly deadline?: Duration.Input | undefined }
) {
  closeUnsafe(self)
  const drained = yield* Effect.timeoutOption(Deferred.await(self.drained), options?.deadline ?? "25 seconds")
  shutdownUnsafe(self)
  return Option.getOrElse(drained, () => false)
})

// Reading

/**
 * The queues of a group that may still give keys.
 *
 * @since 0.1.0
 * @category reading
 */
export const members = <K, R, E>(group: Group<K, R, E>): Effect.Effect<ReadonlyArray<WorkQueue<K, R, E>>> =>
  Effect.sync(() => [...group.members])

/**
 * What is known of a key now; none, when the queue keeps nothing of it (Q9).
 *
 * @since 0.1.0
 * @category reading
 */
export const probe = <K, R, E>(self: WorkQueue<K, R, E>, key: K): Effect.Effect<Option.Option<Probe<K, R>>> =>
  Effect.sync(() => Option.fromUndefinedOr(Rules.probe(stateOf(self), key, self.group.now())))

/**
 * What is known of every live key, place by place. O(keys): for people and tests, not for a loop.
 *
 * @since 0.1.0
 * @category models
 */
export interface Snapshot<K, R = string> {
  /** Lane by lane, each in order. */
  readonly ready: ReadonlyArray<Probe<K, R>>
  readonly running: ReadonlyArray<Probe<K, R>>
  /** By time. */
  readonly waiting: ReadonlyArray<Probe<K, R>>
  /** By the time at which their gates open. */
  readonly held: ReadonlyArray<Probe<K, R>>
  /** In any place: those that remember failures. */
  readonly failing: ReadonlyArray<Probe<K, R>>
}

/**
 * Reads a {@link Snapshot}.
 *
 * @since 0.1.0
 * @category reading
 */
export const snapshot = <K, R, E>(self: WorkQueue<K, R, E>): Effect.Effect<Snapshot<K, R>> =>
  Effect.sync(() => {
    const all = Rules.probeAll(stateOf(self), self.group.now())
    const at = (place: Place) => all.filter((probe) => probe.place === place)
    const failing = all.filter((probe) => probe.failures > 0)
    return { ready: at("Ready"), running: at("Running"), waiting: at("Waiting"), held: at("Held"), failing }
  })

/**
 * How many keys are ready.
 *
 * @since 0.1.0
 * @category reading
 */
export const depthUnsafe = <K, R, E>(self: WorkQueue<K, R, E>): number => Rules.depth(stateOf(self))

/**
 * As {@link depthUnsafe}.
 *
 * @since 0.1.0
 * @category reading
 */
export const depth = <K, R, E>(self: WorkQueue<K, R, E>): Effect.Effect<number> => Effect.sync(() => depthUnsafe(self))

/**
 * A histogram of seconds as a scrape wants it: how many were at most so long, each bucket with those below it.
 *
 * @since 0.1.0
 * @category models
 */
export type Durations = ReturnType<typeof Histogram.read>

/**
 * The figures of a queue under the names that client-go's work queue gives them. Depth is by lane, and of ready keys only;
 * an add counts when its key becomes ready, so that adds of one key before it is taken count once.
 *
 * @since 0.1.0
 * @category models
 */
export interface Metrics {
  readonly workqueue_depth: readonly [lane0: number, lane1: number, lane2: number]
  readonly workqueue_adds_total: number
  readonly workqueue_retries_total: number
  readonly workqueue_queue_duration_seconds: Durations
  readonly workqueue_work_duration_seconds: Durations
  readonly workqueue_unfinished_work_seconds: number
  readonly workqueue_longest_running_processor_seconds: number
}

/**
 * Reads the figures of a queue. They are plain counters, made into this record here only.
 *
 * @since 0.1.0
 * @category reading
 */
export const metrics = <K, R, E>(self: WorkQueue<K, R, E>): Effect.Effect<Metrics> =>
  Effect.sync(() => metricsUnsafe(self))

/**
 * As {@link metrics}, for readers that are called when metrics are scraped.
 *
 * @since 0.1.0
 * @category reading
 */
export const metricsUnsafe = <K, R, E>(self: WorkQueue<K, R, E>): Metrics => {
  const state = stateOf(self)
  const unfinished = Rules.unfinishedSeconds(state, self.group.now())
  return {
    workqueue_depth: [state.lanes[0].length, state.lanes[1].length, state.lanes[2].length],
    workqueue_adds_total: state.adds,
    workqueue_retries_total: state.retries,
    workqueue_queue_duration_seconds: Histogram.read(state.queueSeconds),
    workqueue_work_duration_seconds: Histogram.read(state.workSeconds),
    workqueue_unfinished_work_seconds: unfinished.total,
    workqueue_longest_running_processor_seconds: unfinished.longest
  }
}
