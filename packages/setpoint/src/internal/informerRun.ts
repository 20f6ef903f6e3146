/**
 * What an informer does while it runs: it lists, watches, waits and hands objects again. A shell that keeps no rule: what
 * follows an end is the machine's, what an event does is the rules'.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Latch from "effect/Latch"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"
import * as Pass from "../Pass.ts"
import type { Cursor, Revision } from "../Revision.ts"
import type * as StoreDriver from "../StoreDriver.ts"
import type { StoreError } from "../StoreError.ts"
import * as Rules from "./informer.ts"
import * as Cache from "./informerCache.ts"
import * as Machine from "./informerMachine.ts"

/** What an informer works with. */
export interface Work {
  readonly driver: StoreDriver.Service
  readonly at: StoreDriver.KindAddress
  readonly kind: string
  readonly namespace: string | undefined
  readonly selector: string | undefined
  readonly settings: Settings
  readonly state: Rules.State
  /** Opens when the first list was told. */
  readonly synced: Latch.Latch
  /** What users declared, by name. */
  readonly indexes: ReadonlyMap<string, Cache.Values>
  lastSignMillis: number
  relistAtMillis: number
}

export interface Settings {
  readonly metadataOnly: boolean
  readonly pageSize: number
  readonly bufferSize: number
  readonly redeliveryMillis: number
  readonly relistMillis: number
  readonly idleMillis: number
  /** How long those wait who wait for the first list. */
  readonly syncMillis: number
}

/** Monotonic milliseconds. */
export const now: Effect.Effect<number> = Effect.map(Clock.Clock, (clock) => millisOf(clock))

const millisOf = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

/** Objects between two pauses: about a millisecond. */
const sliceSize = 1000

/** Does something for each, and lets others run now and then. */
export const sliced = Effect.fnUntraced(function*<A>(items: Iterable<A>, f: (item: A) => void) {
  let count = 0
  for (const item of items) {
    f(item)
    if (++count % sliceSize === 0) yield* Effect.yieldNow
  }
})

/**
 * Lists, watches and waits until interrupted. Outside of any pass, whoever started it. A rule that broke closes the
 * informer: a cache that nothing keeps in step must not look like one.
 */
export const run = (self: Work): Effect.Effect<never> =>
  Effect.raceFirst(keepInStep(self), redeliverForEver(self)).pipe(
    Effect.catchDefect((defect) =>
      Effect.andThen(
        Effect.logError(`informer ${self.kind}: a rule broke, and it is closed`, defect),
        Effect.flatMap(now, (millis) => {
          Rules.close(self.state, millis, `a rule broke: ${String(defect)}`)
          return Effect.never
        })
      )
    ),
    Effect.provideService(Pass.Current, undefined),
    Effect.provideService(Pass.Caller, `informer/${self.kind}`)
  )

const keepInStep = Effect.fnUntraced(function*(self: Work) {
  const { machine } = self.state
  Machine.start(machine, yield* now)
  while (true) {
    const { place } = machine
    if (place._tag === "Listing") yield* attempt(self, firstInTime(self, listAll(self, place.paged)))
    else if (place._tag === "Watching") yield* attempt(self, watch(self, place.from))
    else if (place._tag === "BackingOff") {
      yield* Effect.sleep(place.delayMillis)
      Machine.goOn(machine, yield* now)
    } else return yield* Effect.never
  }
})

/** An attempt at the first list that is spaced by a cooldown may take as long as others would wait for it. */
const firstInTime = <E>(self: Work, list: Effect.Effect<void, E>): Effect.Effect<void, E | Machine.Failure> =>
  Machine.isCooling(self.state.machine)
    ? Effect.timeoutOrElse(list, {
      duration: self.settings.syncMillis,
      orElse: () =>
        Effect.fail<Machine.Failure>({
          _tag: "Silent",
          message: `the first list took longer than ${self.settings.syncMillis} ms`
        })
    })
    : list

/** A list or a watch that ends in whatever way: the machine decides what follows. */
const attempt = (self: Work, work: Effect.Effect<void, StoreError | Machine.Failure>): Effect.Effect<void> =>
  work.pipe(
    Effect.catch((error) => failed(self, error._tag === "StoreError" ? ofStore(error) : error)),
    Effect.catchDefect((defect) => failed(self, { _tag: "Defect", message: `defect: ${String(defect)}` }))
  )

const ofStore = (error: StoreError): Machine.Failure => ({
  _tag: "Store",
  reason: error.reason,
  message: error.message
})

const failed = Effect.fnUntraced(function*(self: Work, failure: Machine.Failure) {
  const { machine } = self.state
  const random = yield* Random.next
  Rules.failed(self.state, failure, yield* now, random)
  const text = `informer ${self.kind}: ${failure.message}`
  // The first of a row is news; an outage is not told at each attempt.
  yield* machine.place._tag === "BackingOff" && machine.failures === 1 ? Effect.logWarning(text) : Effect.logDebug(text)
})

const listAll = Effect.fnUntraced(function*(self: Work, paged: boolean) {
  const { driver, settings, state } = self
  const staged = Cache.stage(state.cache, Machine.distrusts(state.machine))
  let first: StoreDriver.Page | undefined
  let page: string | undefined
  do {
    const got: StoreDriver.Page = yield* inTime(
      self,
      driver.list(self.at, {
        consistency: "mostRecent",
        metadataOnly: settings.metadataOnly,
        namespace: self.namespace,
        selector: self.selector,
        limit: paged ? settings.pageSize : undefined,
        page
      })
    )
    yield* sliced(got.items, (raw) => Rules.stageObject(state, staged, raw))
    first ??= got // pages that are no snapshot: a watch from the first misses nothing
    page = got.next
    if (page !== undefined) yield* Effect.yieldNow
  } while (page !== undefined)
  yield* takeOver(self, staged, first.revision, first.cursor)
})

/** A store that does not answer is as silent as a watch that brings nothing. */
const inTime = <A>(self: Work, list: Effect.Effect<A, StoreError>): Effect.Effect<A, StoreError | Machine.Failure> => {
  const { idleMillis } = self.settings
  if (idleMillis === Infinity) return list
  const silent: Machine.Failure = { _tag: "Silent", message: `the list brought nothing for ${idleMillis} ms` }
  return Effect.timeoutOrElse(list, { duration: idleMillis, orElse: () => Effect.fail(silent) })
}

/** Not to be interrupted: handlers would miss what the cache has. It ends when the informer is closed. */
const takeOver = Effect.fnUntraced(function*(self: Work, staged: Cache.Staged, revision: Revision, cursor: Cursor) {
  const { state } = self
  const verdict = Machine.judgeList(state.machine, revision, staged.disproved)
  if (verdict === "refuse") {
    return yield* Effect.fail<Machine.Failure>({
      _tag: "WentBack",
      message: `a most-recent list is at ${revision}, below ${state.machine.revision} that was seen before`
    })
  }
  yield* sliced(Cache.entries(state.cache), (entry) => Cache.stageGone(staged, entry))
  const list = { revision, cursor, newTimeline: verdict === "newTimeline", now: yield* now }
  yield* sliced(Rules.takeOver(state, staged, list), () => {})
  const clock = yield* Clock.Clock
  self.lastSignMillis = millisOf(clock)
  self.relistAtMillis = self.lastSignMillis + jittered(self.settings.relistMillis, yield* Random.next)
  self.synced.openUnsafe()
  yield* settle(self)
}, Effect.uninterruptible)

/** ±10 %. */
const jittered = (millis: number, random: number): number => millis * (0.9 + 0.2 * random)

const watch = (
  self: Work,
  from: "current" | Cursor
): Effect.Effect<void, StoreError | Machine.Failure> =>
  Effect.flatMap(Clock.Clock, (clock) => {
    const { driver, settings, state } = self
    Rules.beginWatch(state, from)
    self.lastSignMillis = millisOf(clock)
    const events = driver.watch(self.at, {
      from,
      namespace: self.namespace,
      selector: self.selector,
      metadataOnly: settings.metadataOnly,
      bufferSize: settings.bufferSize
    })
    const live = Effect.andThen(
      Stream.runForEachArray(events, (frames) => take(self, clock, frames)),
      Effect.fail<Machine.Failure>({ _tag: "Ended", message: "the watch ended without an error" })
    )
    return live.pipe(
      settings.idleMillis === Infinity ? (_) => _ : Effect.raceFirst(untilSilent(self, clock)),
      settings.relistMillis === Infinity ? (_) => _ : Effect.raceFirst(untilRelist(self, clock))
    )
  })

const untilSilent = Effect.fnUntraced(function*(self: Work, clock: Clock.Clock) {
  const { settings } = self
  while (true) {
    const left = self.lastSignMillis + settings.idleMillis - millisOf(clock)
    if (left <= 0) {
      return yield* Effect.fail<Machine.Failure>({
        _tag: "Silent",
        message: `the watch brought nothing for ${settings.idleMillis} ms`
      })
    }
    yield* Effect.sleep(left)
  }
})

/** Once: what it asks for may come through a watch too, and is due again only when it is in. */
const untilRelist = Effect.fnUntraced(function*(self: Work, clock: Clock.Clock) {
  while (true) {
    const left = self.relistAtMillis - millisOf(clock)
    if (left <= 0) {
      self.relistAtMillis = Infinity
      return Machine.relist(self.state.machine, millisOf(clock))
    }
    yield* Effect.sleep(Math.min(left, self.settings.relistMillis))
  }
})

type Frames = ReadonlyArray<ReadonlyArray<StoreDriver.WatchEvent>>

/** The hot path: what came is applied at once, with no fiber, timer or look at the clock an event. */
const take = (
  self: Work,
  clock: Clock.Clock,
  frames: Frames
): Effect.Effect<void, StoreError | Machine.Failure> => {
  const { state } = self
  self.lastSignMillis = millisOf(clock)
  Machine.isAlive(state.machine, self.lastSignMillis)
  let count = 0
  for (const frame of frames) count += frame.length
  if (state.staged !== undefined || count > sliceSize) return takeSliced(self, frames)
  for (const frame of frames) for (const event of frame) Rules.applyEvent(state, event)
  return settle(self)
}

const takeSliced = Effect.fnUntraced(function*(self: Work, frames: Frames) {
  const { state } = self
  let count = 0
  for (const frame of frames) {
    for (const event of frame) {
      const { staged } = state
      if (event._tag === "InitialDone" && staged !== undefined) {
        yield* takeOver(self, staged, event.revision, event.cursor)
        for (const early of state.early.splice(0)) Rules.applyEvent(state, early)
      } else Rules.applyEvent(state, event)
      if (++count % sliceSize === 0) yield* Effect.yieldNow
    }
  }
  yield* settle(self)
})

/** After a batch: tell how far the cache is, log what died, and give up a watch that went back. */
const settle = (self: Work): Effect.Effect<void, Machine.Failure> => {
  const { state } = self
  Rules.tellRevision(state)
  if (state.wentBack) {
    return Effect.fail<Machine.Failure>({
      _tag: "WentBack",
      message: `the watch brought an event from before ${state.machine.revision}`
    })
  }
  return state.defects.length === 0 ? Effect.void : logDefects(self)
}

export const logDefects = (self: Work): Effect.Effect<void> =>
  Effect.suspend(() =>
    Effect.forEach(
      self.state.defects.splice(0),
      ({ defect, what }) => Effect.logWarning(`informer ${self.kind}: ${what}`, defect),
      { discard: true }
    )
  )

/** At most this many waits a period; more objects than waits are handed out in small groups. */
const redeliverySteps = 1000

/** Goes through the cache once a period. */
const redeliverForEver = Effect.fnUntraced(function*(self: Work) {
  const { settings, state } = self
  const { redeliveryMillis } = settings
  if (redeliveryMillis === Infinity) return yield* Effect.never
  while (true) {
    const size = Rules.wantsRedelivery(state) ? state.cache.content.size : 0
    if (size === 0) yield* Effect.sleep(redeliveryMillis / redeliverySteps)
    else yield* redeliverOnce(self, size, (yield* now) + jittered(redeliveryMillis, yield* Random.next))
  }
})

/** What a relist takes out on the way is skipped, what it brings was told by it. */
const redeliverOnce = Effect.fnUntraced(function*(self: Work, size: number, endsAt: number) {
  const { state } = self
  const entries = Cache.entries(state.cache)[Symbol.iterator]()
  for (let left = size, step = Math.min(size, redeliverySteps); step > 0; step--) {
    yield* Effect.sleep(Math.max(0, (endsAt - (yield* now)) / step))
    while (state.delivering) yield* Effect.yieldNow // a list is told first
    for (let group = Math.ceil(left / step); group > 0; group--, left--) {
      const next = entries.next()
      if (next.done === true) return
      Rules.redeliver(state, next.value)
    }
    yield* logDefects(self)
  }
})
