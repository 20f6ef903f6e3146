/**
 * The rules of the work queue: one state record, changed by the functions below and by nothing else. Synchronous; time is
 * an argument in milliseconds of the monotonic clock, and never goes back.
 *
 * The life of a key: it is *added*, stands *ready* in its lane, is *taken* and runs, and *ends* its pass: then it is ready
 * again, waits for its time, or is dropped. While its gate is closed it is *held* where it would be ready.
 *
 * What is to happen to a key next is collected on its entry (`again`, `timing`); `settleDown` turns it into a place. So an
 * add means the same whichever place the key is in.
 */
import type * as Tracer from "effect/Tracer"
import type * as RateLimiter from "../RateLimiter.ts"
import * as DelayHeap from "./delayHeap.ts"
import * as Histogram from "./histogram.ts"
import * as Line from "./line.ts"

/** 0: watch events, mapped requests, enqueue. 1: requeues and retries. 2: initial list, redelivery, relist, rechecks. */
export type Lane = 0 | 1 | 2

/** The lane that a key is in before any add put it higher. */
const lowest: Lane = 2

export type Place = "Idle" | "Ready" | "Running" | "Waiting" | "Held"

/** What a key remembers from pass to pass: dropped when a pass ends well. */
interface Memory<E> {
  /** In a row. A key that failed last has no requeues, one that was requeued last no failures. */
  failures: number
  requeues: number
  /** When the retry is due that the last failure asked for, even where an add came first; -Infinity for none. */
  retryDue: number
  retry: RateLimiter.Backoff<E> | undefined
  requeue: RateLimiter.Backoff | undefined
}

/** The times of a key that was delayed, debounced or gated. */
export class Timing<N> implements DelayHeap.Due {
  readonly entry: N
  due: number = Infinity
  order: number = 0
  heapIndex: number = -1
  /** The earliest delayed add collected, or Infinity. */
  delayDue: number = Infinity
  /** The debounce window that is open: it ends at `due`, however many adds come, never after `by`. */
  settle: { due: number; readonly by: number } | undefined = undefined
  /** The gate is closed until then; -Infinity where it is open. */
  gate: number = -Infinity
  gateExpired: boolean = false
  constructor(entry: N) {
    this.entry = entry
  }
}

/**
 * Everything about one live key. `place` says where it is; it stands in the line or heap of that place. Small, since a list
 * of a million objects makes a million of them: what few keys need is made when they first need it.
 */
export class Entry<K, R, E> implements Line.Linked<Entry<K, R, E>> {
  readonly key: K
  place: Place = "Idle"
  line: Line.Line<Entry<K, R, E>> | undefined = undefined
  previous: Entry<K, R, E> | undefined = undefined
  next: Entry<K, R, E> | undefined = undefined
  /** Ready, Held: the lane it stands in. Else: the highest lane of the adds collected so far. */
  lane: Lane = lowest
  /** Ready: when it came to its lane. Running: when its pass began. */
  since: number = 0
  /** When it became ready, where it was lifted to another lane since then. */
  beforeLift: number | undefined = undefined
  /** A direct add is collected. */
  again: boolean = false
  timing: Timing<Entry<K, R, E>> | undefined = undefined
  reasons: Array<R> | undefined = undefined
  others: number = 0
  trace: Tracer.AnySpan | undefined = undefined
  memory: Memory<E> | undefined = undefined
  /** How many passes began: a ticket of an earlier one has no say. */
  passes: number = 0
  constructor(key: K) {
    this.key = key
  }
}

/** Where the entry of a key is kept: by default in a Map, by an engine on the key itself. */
export interface Slot<K, R, E> {
  readonly get: (key: K) => Entry<K, R, E> | undefined
  readonly set: (key: K, entry: Entry<K, R, E> | undefined) => void
}

export const mapSlot = <K, R, E>(): Slot<K, R, E> => {
  const entries = new Map<K, Entry<K, R, E>>()
  return {
    get: (key) => entries.get(key),
    set: (key, entry) => void (entry === undefined ? entries.delete(key) : entries.set(key, entry))
  }
}

export interface Settings<K, R, E> {
  readonly slot: Slot<K, R, E>
  readonly retry: RateLimiter.Policy<E>
  readonly requeue: RateLimiter.Policy
  readonly random: () => number
  readonly ageAfterMillis: number
  readonly maxReasons: number
  readonly sameReason: (a: R, b: R) => boolean
  debounce: { readonly windowMillis: number; readonly maxWaitMillis: number } | undefined
  readonly metrics: boolean
}

type Entries<K, R, E> = Line.Line<Entry<K, R, E>>

export interface State<K, R, E> {
  readonly settings: Settings<K, R, E>
  /** Open: adds are accepted. Closed: what is ready is still handed out. Shut: nothing is. */
  phase: "Open" | "Closed" | "Shut"
  readonly lanes: readonly [Entries<K, R, E>, Entries<K, R, E>, Entries<K, R, E>]
  readonly running: Entries<K, R, E>
  /** Keys that only remember something: failures, or a closed gate. */
  readonly idle: Entries<K, R, E>
  /** Waiting and Held by when they are due, and idle ones by when their gate opens. */
  readonly delayed: DelayHeap.DelayHeap<Timing<Entry<K, R, E>>>
  adds: number
  retries: number
  readonly queueSeconds: Histogram.Histogram
  readonly workSeconds: Histogram.Histogram
}

export const make = <K, R, E>(settings: Settings<K, R, E>): State<K, R, E> => ({
  settings,
  phase: "Open",
  lanes: [Line.make(), Line.make(), Line.make()],
  running: Line.make(),
  idle: Line.make(),
  delayed: DelayHeap.make(),
  adds: 0,
  retries: 0,
  queueSeconds: Histogram.make(),
  workSeconds: Histogram.make()
})

// Delays

/** The longest delay, in millis: 285,000 years. */
export const longestDelayMillis = Number.MAX_SAFE_INTEGER

/** Whole millis from 0 to the longest: no delay is negative, none overflows, none is not a number (Q4). */
export const clampDelay = (millis: number): number => millis > 0 ? Math.min(Math.ceil(millis), longestDelayMillis) : 0

// Places

const leavePlace = <K, R, E>(state: State<K, R, E>, entry: Entry<K, R, E>): void => {
  Line.leave(entry)
  if (entry.timing !== undefined) DelayHeap.remove(state.delayed, entry.timing)
}

const timingOf = <K, R, E>(entry: Entry<K, R, E>): Timing<Entry<K, R, E>> => entry.timing ??= new Timing(entry)

const waitUntil = <K, R, E>(state: State<K, R, E>, entry: Entry<K, R, E>, due: number): void => {
  const timing = timingOf(entry)
  timing.due = due
  DelayHeap.insert(state.delayed, timing)
}

const gateOf = <K, R, E>({ timing }: Entry<K, R, E>): number => timing === undefined ? -Infinity : timing.gate

/** The earliest time that an add asked for, or Infinity. */
const dueOf = <K, R, E>({ timing }: Entry<K, R, E>): number =>
  timing === undefined
    ? Infinity
    : timing.settle === undefined
    ? timing.delayDue
    : Math.min(timing.delayDue, timing.settle.due)

const readySince = <K, R, E>(entry: Entry<K, R, E>): number => entry.beforeLift ?? entry.since

const drop = <K, R, E>(state: State<K, R, E>, entry: Entry<K, R, E>): void => {
  entry.place = "Idle"
  state.settings.slot.set(entry.key, undefined)
}

/** The key is due: it stands ready at the end of its lane, or is held while its gate is closed. */
const standInLine = <K, R, E>(state: State<K, R, E>, entry: Entry<K, R, E>, now: number): void => {
  const { timing } = entry
  if (timing !== undefined && timing.gate > now) {
    entry.place = "Held"
    return waitUntil(state, entry, timing.gate)
  }
  if (timing !== undefined && timing.gate !== -Infinity) {
    timing.gateExpired = true
    timing.gate = -Infinity
  }
  entry.place = "Ready"
  entry.since = now
  entry.beforeLift = undefined
  Line.join(state.lanes[entry.lane], entry)
}

const becomeDue = <K, R, E>(state: State<K, R, E>, entry: Entry<K, R, E>, now: number): void => {
  entry.again = false
  if (entry.timing !== undefined) {
    entry.timing.delayDue = Infinity
    entry.timing.settle = undefined
  }
  state.adds++
  standInLine(state, entry, now)
}

const rest = <K, R, E>(state: State<K, R, E>, entry: Entry<K, R, E>, now: number): void => {
  const gate = gateOf(entry)
  if (gate <= now) entry.timing = undefined
  if (entry.memory === undefined && gate <= now) return drop(state, entry)
  entry.place = "Idle"
  Line.join(state.idle, entry)
  if (gate > now) waitUntil(state, entry, gate)
}

/** Gives an entry that is in no place the place that its collected adds ask for (Q4: the earliest of them). */
const settleDown = <K, R, E>(state: State<K, R, E>, entry: Entry<K, R, E>, now: number): void => {
  if (state.phase !== "Open") return endAfterClose(state, entry, now)
  const due = dueOf(entry)
  if (entry.again || due <= now) return becomeDue(state, entry, now)
  if (due === Infinity) return rest(state, entry, now)
  entry.place = "Waiting"
  waitUntil(state, entry, due)
}

/** After a close only a direct add that came before it counts (Q8). */
const endAfterClose = <K, R, E>(state: State<K, R, E>, entry: Entry<K, R, E>, now: number): void => {
  if (state.phase === "Closed" && entry.again && gateOf(entry) <= now) becomeDue(state, entry, now)
  else drop(state, entry)
}

// Adds

/**
 * Notes an add: its reason and, where it is the first since the last take, its trace (Q6). Gives the entry where the add
 * may move it, undefined where it changes no place: a key that is ready or will be, in a lane at least as high.
 */
export const hear = <K, R, E>(
  state: State<K, R, E>,
  key: K,
  lane: Lane,
  reason: R | undefined,
  trace: Tracer.AnySpan | undefined
): Entry<K, R, E> | undefined => {
  if (state.phase !== "Open") return undefined
  const entry = entryOf(state, key)
  if (reason !== undefined) noteReason(state, entry, reason)
  if (trace !== undefined && entry.trace === undefined) entry.trace = trace
  const isCovered = entry.place === "Ready" || entry.place === "Held" || entry.again
  return isCovered && lane >= entry.lane ? undefined : entry
}

const entryOf = <K, R, E>(state: State<K, R, E>, key: K): Entry<K, R, E> => {
  const known = state.settings.slot.get(key)
  if (known !== undefined) return known
  const entry = new Entry<K, R, E>(key)
  state.settings.slot.set(key, entry)
  return entry
}

const noteReason = <K, R, E>(state: State<K, R, E>, entry: Entry<K, R, E>, reason: R): void => {
  const reasons = entry.reasons
  if (reasons === undefined) {
    entry.reasons = [reason]
    return
  }
  for (const known of reasons) if (state.settings.sameReason(known, reason)) return
  if (reasons.length < state.settings.maxReasons) reasons.push(reason)
  else entry.others++
}

/** A direct add. It absorbs a delayed one; of a running key it makes one more pass, however many come (Q2, Q4). */
export const addNow = <K, R, E>(state: State<K, R, E>, entry: Entry<K, R, E>, lane: Lane, now: number): void => {
  if (entry.place === "Ready") return liftNeverSink(state, entry, lane, now)
  if (lane < entry.lane) entry.lane = lane
  if (entry.place === "Held") return
  if (state.settings.debounce === undefined) entry.again = true
  else restartWindow(entry, state.settings.debounce, now)
  if (entry.place !== "Running") moveOn(state, entry, now)
}

const moveOn = <K, R, E>(state: State<K, R, E>, entry: Entry<K, R, E>, now: number): void => {
  leavePlace(state, entry)
  settleDown(state, entry, now)
}

const restartWindow = <K, R, E>(
  entry: Entry<K, R, E>,
  debounce: { readonly windowMillis: number; readonly maxWaitMillis: number },
  now: number
): void => {
  const due = now + debounce.windowMillis
  const timing = timingOf(entry)
  if (timing.settle === undefined) timing.settle = { due, by: now + debounce.maxWaitMillis }
  else timing.settle.due = Math.min(due, timing.settle.by)
}

/** A delayed add: the earliest time wins, and one that is due already is a direct add (Q4). */
export const addAfter = <K, R, E>(
  state: State<K, R, E>,
  entry: Entry<K, R, E>,
  lane: Lane,
  delayMillis: number,
  now: number
): void => {
  const delay = clampDelay(delayMillis)
  if (delay === 0 || entry.place === "Ready" || entry.place === "Held") return addNow(state, entry, lane, now)
  if (lane < entry.lane) entry.lane = lane
  const timing = timingOf(entry)
  if (now + delay >= timing.delayDue) return
  timing.delayDue = now + delay
  if (entry.place !== "Running") moveOn(state, entry, now)
}

/** The lane in which a ready key stands by now: each `ageAfter` of waiting lifts it by one (Q3). */
const lanesRisen = <K, R, E>(state: State<K, R, E>, entry: Entry<K, R, E>, now: number): number =>
  Math.min(entry.lane, Math.floor((now - entry.since) / state.settings.ageAfterMillis))

const liftNeverSink = <K, R, E>(state: State<K, R, E>, entry: Entry<K, R, E>, lane: Lane, now: number): void => {
  if (lane >= entry.lane - lanesRisen(state, entry, now)) return
  Line.leave(entry)
  entry.lane = lane
  entry.beforeLift ??= entry.since
  entry.since = now
  Line.join(state.lanes[lane], entry)
}

// Time

/** When the earliest delayed entry is due, or Infinity. */
export const earliestDue = <K, R, E>(state: State<K, R, E>): number => DelayHeap.firstDue(state.delayed)

/** What is due by now becomes ready, in order of its time; gates whose time has come open. Gives how many became ready. */
export const releaseDue = <K, R, E>(state: State<K, R, E>, now: number): number => {
  const before = depth(state)
  for (;;) {
    const timing = DelayHeap.first(state.delayed)
    if (timing === undefined || timing.due > now) return depth(state) - before
    const { entry } = timing
    leavePlace(state, entry)
    if (entry.place === "Waiting") becomeDue(state, entry, now)
    else if (entry.place === "Held") standInLine(state, entry, now)
    else rest(state, entry, now)
  }
}

// Gates

/** Until then the key is held where it would be ready. A gate that closes for a time already past is none. */
export const closeGate = <K, R, E>(state: State<K, R, E>, key: K, untilMillis: number, now: number): void => {
  if (state.phase !== "Open" || !(untilMillis > now)) return
  const entry = entryOf(state, key)
  timingOf(entry).gate = untilMillis
  moveByGate(state, entry, now)
}

export const openGate = <K, R, E>(state: State<K, R, E>, key: K, now: number): void => {
  const entry = state.settings.slot.get(key)
  if (entry?.timing === undefined || entry.timing.gate === -Infinity) return
  entry.timing.gate = -Infinity
  moveByGate(state, entry, now)
}

const moveByGate = <K, R, E>(state: State<K, R, E>, entry: Entry<K, R, E>, now: number): void => {
  if (entry.place === "Running" || entry.place === "Waiting") return
  leavePlace(state, entry)
  if (entry.place === "Idle") rest(state, entry, now)
  else standInLine(state, entry, now)
}

// Take

/** What a worker gets with a key. It stays as it is when the key moves on. */
export interface Ticket<K, R, E> {
  readonly key: K
  readonly lane: Lane
  readonly reasons: ReadonlyArray<R>
  readonly others: number
  readonly trace: Tracer.AnySpan | undefined
  readonly readySinceMillis: number
  readonly startedMillis: number
  readonly failures: number
  readonly requeues: number
  readonly retryDueMillis: number | undefined
  readonly gateExpired: boolean
  /** @internal */
  readonly entry: Entry<K, R, E>
  /** @internal */
  readonly pass: number
}

const none: ReadonlyArray<never> = []

/**
 * The ready key that stands in the highest lane, ages counted, and of those the one that came to it first (Q3). A line is
 * in order of `since`, so that its head is also the one that has risen furthest.
 */
const firstInLine = <K, R, E>(state: State<K, R, E>, now: number): Entry<K, R, E> | undefined => {
  let first: Entry<K, R, E> | undefined = undefined
  let firstLane = 3
  let firstCame = Infinity
  for (const { head } of state.lanes) {
    if (head === undefined) continue
    const risen = head.lane === 0 ? 0 : lanesRisen(state, head, now)
    const lane = head.lane - risen
    const came = risen === 0 ? head.since : head.since + risen * state.settings.ageAfterMillis
    // Who rose to a lane at one instant was there before who was added at it.
    if (lane > firstLane || (lane === firstLane && came > firstCame)) continue
    first = head
    firstLane = lane
    firstCame = came
  }
  return first
}

/** Takes the first key in line, which runs from now on. What is due was released before, so that all takers hear of it. */
export const take = <K, R, E>(state: State<K, R, E>, now: number): Ticket<K, R, E> | undefined => {
  const entry = firstInLine(state, now)
  if (entry === undefined) return undefined
  const memory = entry.memory
  const ticket: Ticket<K, R, E> = {
    key: entry.key,
    lane: entry.lane,
    reasons: entry.reasons ?? none,
    others: entry.others,
    trace: entry.trace,
    readySinceMillis: readySince(entry),
    startedMillis: now,
    failures: memory === undefined ? 0 : memory.failures,
    requeues: memory === undefined ? 0 : memory.requeues,
    retryDueMillis: memory === undefined || memory.retryDue === -Infinity ? undefined : memory.retryDue,
    gateExpired: entry.timing !== undefined && entry.timing.gateExpired,
    entry,
    pass: ++entry.passes
  }
  run(state, entry, now)
  return ticket
}

const run = <K, R, E>(state: State<K, R, E>, entry: Entry<K, R, E>, now: number): void => {
  if (state.settings.metrics) Histogram.observe(state.queueSeconds, (now - readySince(entry)) / 1000)
  Line.leave(entry)
  entry.place = "Running"
  entry.since = now
  entry.lane = lowest
  entry.reasons = undefined
  entry.others = 0
  entry.trace = undefined
  if (entry.timing !== undefined) entry.timing.gateExpired = false
  Line.join(state.running, entry)
}

// The end of a pass

/** What is to follow a pass: an add of its key, which is merged with those that came during the pass. */
export interface Next<R> {
  /** Default 0: at once, but behind what is in line. */
  readonly delayMillis?: number | undefined
  /** Default 1. */
  readonly lane?: Lane | undefined
  readonly reason?: R | undefined
}

/** The pass of this ticket has not ended. */
export const isRunning = <K, R, E>(ticket: Ticket<K, R, E>): boolean =>
  ticket.entry.place === "Running" && ticket.entry.passes === ticket.pass

const endPass = <K, R, E>(state: State<K, R, E>, ticket: Ticket<K, R, E>, now: number): Entry<K, R, E> => {
  const entry = ticket.entry
  if (!isRunning(ticket)) {
    throw new Error(`Q2 is broken: pass ${ticket.pass} of ${String(ticket.key)} ended, but is not running`)
  }
  if (state.settings.metrics && state.phase !== "Shut") Histogram.observe(state.workSeconds, (now - entry.since) / 1000)
  leavePlace(state, entry)
  return entry
}

const follow = <K, R, E>(
  state: State<K, R, E>,
  entry: Entry<K, R, E>,
  next: Next<R> | undefined,
  now: number
): void => {
  if (next !== undefined && state.phase === "Open") {
    const lane = next.lane ?? 1
    const delay = clampDelay(next.delayMillis ?? 0)
    if (lane < entry.lane) entry.lane = lane
    if (next.reason !== undefined) noteReason(state, entry, next.reason)
    if (delay === 0) entry.again = true
    else {
      const timing = timingOf(entry)
      timing.delayDue = Math.min(timing.delayDue, now + delay)
    }
  }
  settleDown(state, entry, now)
}

/** Ends a pass that did not fail. It forgets the failures, unless they shall be kept, and the requeues in a row. */
export const finish = <K, R, E>(
  state: State<K, R, E>,
  ticket: Ticket<K, R, E>,
  failures: "forget" | "keep",
  next: Next<R> | undefined,
  now: number
): void => {
  const entry = endPass(state, ticket, now)
  if (failures === "forget" || entry.memory?.failures === 0) entry.memory = undefined
  follow(state, entry, next, now)
}

const memoryOf = <K, R, E>(entry: Entry<K, R, E>): Memory<E> =>
  entry.memory ??= { failures: 0, requeues: 0, retryDue: -Infinity, retry: undefined, requeue: undefined }

const forgetRequeues = (memory: Memory<never>): void => {
  memory.requeues = 0
  memory.requeue = undefined
}

/** How a failed or requeued pass goes on: after the policy's delay, at the time already set, or no more by the policy. */
export type Retried = "stepped" | "kept" | "ended"

/**
 * Ends a pass that failed: its key is retried after the policy's delay, not before `notBeforeMillis` from now. Where the
 * retry of an earlier failure is not due yet, the policy is not stepped and that retry keeps its time (E2). Where the
 * policy has ended, `orElse` follows.
 */
export const fail = <K, R, E>(
  state: State<K, R, E>,
  ticket: Ticket<K, R, E>,
  error: E,
  options: { readonly notBeforeMillis: number; readonly reason: R | undefined; readonly orElse: Next<R> | undefined },
  now: number
): Retried => {
  const entry = endPass(state, ticket, now)
  const memory = memoryOf(entry)
  forgetRequeues(memory)
  const isPending = memory.retryDue > now
  const delay = isPending ? memory.retryDue - now : stepRetry(state, memory, error, now)
  if (delay === undefined) {
    follow(state, entry, options.orElse, now)
    return "ended"
  }
  const delayMillis = Math.max(clampDelay(delay), clampDelay(options.notBeforeMillis))
  memory.retryDue = now + delayMillis
  follow(state, entry, { delayMillis, lane: 1, reason: options.reason }, now)
  return isPending ? "kept" : "stepped"
}

const stepRetry = <K, R, E>(state: State<K, R, E>, memory: Memory<E>, error: E, now: number): number | undefined => {
  memory.failures++
  memory.retryDue = -Infinity
  memory.retry ??= state.settings.retry.start(state.settings.random)
  const delay = memory.retry.next(now, error)
  if (delay !== undefined) state.retries++
  return delay
}

/** Ends a pass that wants to run again: in lane 1 after the requeue policy's delay, stepped by its requeues in a row. */
export const requeue = <K, R, E>(
  state: State<K, R, E>,
  ticket: Ticket<K, R, E>,
  reason: R | undefined,
  orElse: Next<R> | undefined,
  now: number
): Retried => {
  const entry = endPass(state, ticket, now)
  const memory = memoryOf(entry)
  memory.failures = 0
  memory.retry = undefined
  memory.retryDue = -Infinity
  memory.requeues++
  memory.requeue ??= state.settings.requeue.start(state.settings.random)
  const delayMillis = memory.requeue.next(now, undefined)
  if (delayMillis !== undefined) state.retries++
  follow(state, entry, delayMillis === undefined ? orElse : { delayMillis, reason }, now)
  return delayMillis === undefined ? "ended" : "stepped"
}

/** Drops what the key remembers of its failures. */
export const forget = <K, R, E>(state: State<K, R, E>, key: K, now: number): void => {
  const entry = state.settings.slot.get(key)
  if (entry === undefined) return
  entry.memory = undefined
  if (entry.place === "Idle") {
    leavePlace(state, entry)
    rest(state, entry, now)
  }
}

// Shutdown

const dropAll = <K, R, E>(state: State<K, R, E>, entries: ReadonlyArray<Entry<K, R, E>>): void => {
  for (const entry of entries) {
    leavePlace(state, entry)
    drop(state, entry)
  }
}

/** No add is accepted from now on; delayed and held keys are dropped, ready ones still handed out (Q8). */
export const close = <K, R, E>(state: State<K, R, E>): void => {
  if (state.phase !== "Open") return
  state.phase = "Closed"
  dropAll(state, state.delayed.items.toReversed().map(({ entry }) => entry))
  dropAll(state, Line.toArray(state.idle))
}

/** As `close`, and ready keys are dropped too. */
export const shutDown = <K, R, E>(state: State<K, R, E>): void => {
  close(state)
  state.phase = "Shut"
  for (const lane of state.lanes) dropAll(state, Line.toArray(lane))
}

/** Nothing is ready or runs. */
export const isQuiet = <K, R, E>(state: State<K, R, E>): boolean => depth(state) === 0 && state.running.length === 0

/** Nothing will be handed out any more: a take need not wait (Q8). */
export const isSpent = <K, R, E>(state: State<K, R, E>): boolean =>
  state.phase !== "Open" && depth(state) === 0 &&
  (state.phase === "Shut" || Line.toArray(state.running).every((entry) => !entry.again))

// Probe

/** How many keys are ready. */
export const depth = <K, R, E>(state: State<K, R, E>): number =>
  state.lanes[0].length + state.lanes[1].length + state.lanes[2].length

/** What is known of a key (Q9). */
export interface Probe<K, R> {
  readonly key: K
  readonly place: Place
  /** The lane it is ready or held in, or will be. */
  readonly lane: Lane
  /** How long it has been ready or running. */
  readonly sinceMillis: number | undefined
  /** In how many millis something happens to it without an add, and why. */
  readonly next: { readonly inMillis: number; readonly why: "delay" | "retry" | "debounce" | "gate" } | undefined
  readonly failures: number
  readonly requeues: number
  /** Of the adds since its last pass began. */
  readonly reasons: ReadonlyArray<R>
  readonly others: number
  readonly gateClosed: boolean
}

const nextOf = <K, R, E>(entry: Entry<K, R, E>, now: number): Probe<K, R>["next"] => {
  if (entry.place === "Ready" || entry.again) return undefined
  const { timing } = entry
  const due = timing === undefined ? Infinity : entry.place === "Running" ? dueOf(entry) : timing.due
  if (timing === undefined || due === Infinity || (entry.place === "Idle" && timing.heapIndex < 0)) return undefined
  const inMillis = Math.max(0, due - now)
  if (entry.place === "Held" || entry.place === "Idle") return { inMillis, why: "gate" }
  if (timing.settle !== undefined && timing.settle.due < timing.delayDue) return { inMillis, why: "debounce" }
  return { inMillis, why: entry.memory?.retryDue === due ? "retry" : "delay" }
}

const probeOf = <K, R, E>(entry: Entry<K, R, E>, now: number): Probe<K, R> => ({
  key: entry.key,
  place: entry.place,
  lane: entry.lane,
  sinceMillis: entry.place === "Ready"
    ? now - readySince(entry)
    : entry.place === "Running"
    ? now - entry.since
    : undefined,
  next: nextOf(entry, now),
  failures: entry.memory?.failures ?? 0,
  requeues: entry.memory?.requeues ?? 0,
  reasons: entry.reasons?.slice() ?? none,
  others: entry.others,
  gateClosed: gateOf(entry) > now
})

export const probe = <K, R, E>(state: State<K, R, E>, key: K, now: number): Probe<K, R> | undefined => {
  const entry = state.settings.slot.get(key)
  return entry === undefined ? undefined : probeOf(entry, now)
}

/** Every live key: ready ones in the order of their lanes, running ones, delayed ones in no order, idle ones. */
export const entries = <K, R, E>(state: State<K, R, E>): Array<Entry<K, R, E>> => [
  ...state.lanes.flatMap(Line.toArray),
  ...Line.toArray(state.running),
  ...state.delayed.items.map(({ entry }) => entry).filter(({ place }) => place !== "Idle"),
  ...Line.toArray(state.idle)
]

/** What is known of every live key, those of each place in order. */
export const probeAll = <K, R, E>(state: State<K, R, E>, now: number): Array<Probe<K, R>> => {
  const inPlace = (place: Place) => entries(state).filter((entry) => entry.place === place)
  const byTime = (place: Place) =>
    state.delayed.items.filter(({ entry }) => entry.place === place)
      .toSorted((a, b) => a.due - b.due || a.order - b.order)
      .map(({ entry }) => entry)
  return [
    ...inPlace("Ready"),
    ...inPlace("Running"),
    ...byTime("Waiting"),
    ...byTime("Held"),
    ...inPlace("Idle")
  ].map((entry) => probeOf(entry, now))
}

/** Seconds that running passes have taken so far: of all of them, and of the longest. */
export const unfinishedSeconds = <K, R, E>(
  state: State<K, R, E>,
  now: number
): { readonly total: number; readonly longest: number } => {
  let total = 0
  for (let entry = state.running.head; entry !== undefined; entry = entry.next) total += (now - entry.since) / 1000
  const oldest = state.running.head
  return { total, longest: oldest === undefined ? 0 : (now - oldest.since) / 1000 }
}
