/** How a watch begins (S3): with the objects that are there, or with the changes after a cursor; then comes its buffer. */
import * as Result from "effect/Result"
import * as Resource from "setpoint/Resource"
import type * as Driver from "setpoint/StoreDriver"
import { Expired, type Reason } from "setpoint/StoreError"
import * as StoreRules from "setpoint/StoreRules"
import * as WatchBuffer from "setpoint/WatchBuffer"
import * as Reading from "./reading.ts"
import { changeOf, floorOf, imported, kindOf, retained, type State, versionRow } from "./tables.ts"

/** A watch: what it begins with, then its buffer. */
export interface Watch {
  readonly kind: string
  readonly at: Driver.KindAddress
  readonly buffer: WatchBuffer.WatchBuffer
  readonly birthId: string
  /** The objects that were there, or the changes up to where the buffer begins; `undefined`: all of it was taken. */
  opening: Reading.Walk | Replay | undefined
}

interface Replay {
  seen: number
  readonly until: number
}

/** Opens a watch. It is fed until {@link close}. Runs in a snapshot. */
export const watch = (
  state: State,
  at: Driver.KindAddress,
  options: Driver.WatchOptions
): Result.Result<Watch, Reason> => {
  const buffer = WatchBuffer.make(options)
  if (Result.isFailure(buffer)) return Result.fail(buffer.failure)
  const opening: Result.Result<Reading.Walk | Replay, Reason> = options.from === "current"
    ? Result.succeed(Reading.startWalk(state, at, { namespace: options.namespace, selector: buffer.success.selector }))
    : startReplay(state, options.from)
  return Result.map(opening, (opening) => {
    const self: Watch = {
      kind: Resource.groupKind(at),
      at,
      buffer: buffer.success,
      birthId: state.birth.writeId,
      opening
    }
    const watches = state.watches.get(self.kind)
    if (watches === undefined) state.watches.set(self.kind, new Set([self.buffer]))
    else watches.add(self.buffer)
    return self
  })
}

const startReplay = (state: State, from: string): Result.Result<Replay, Reason> => {
  const cursor = StoreRules.parseCursor(from)
  if (Result.isFailure(cursor)) return Result.fail(cursor.failure)
  const point = { revision: Number(cursor.success.revision), writeId: cursor.success.writeId }
  return Result.map(
    retained(state, point),
    () => ({ seen: point.revision, until: state.latest.revision })
  )
}

/** Ends a watch: nothing more is kept for it. */
export const close = (state: State, self: Watch): void => {
  const watches = state.watches.get(self.kind)
  watches?.delete(self.buffer)
  if (watches?.size === 0) state.watches.delete(self.kind)
}

const sliceSize = 500

/** The next slice of what a watch begins with; may be empty. Runs in a snapshot. */
export const open = (
  state: State,
  self: Watch,
  opening: Reading.Walk | Replay
): Result.Result<ReadonlyArray<Driver.WatchEvent>, Reason> => {
  if (self.birthId !== state.birth.writeId) return Result.fail(imported())
  return "until" in opening ? replay(state, self, opening) : initial(state, self, opening)
}

/** The objects that are there, all of one revision, however late they are read; then the mark. */
const initial = (
  state: State,
  self: Watch,
  walk: Reading.Walk
): Result.Result<ReadonlyArray<Driver.WatchEvent>, Reason> => {
  const { revision, writeId } = walk.point
  const cursor = StoreRules.cursor(String(revision), writeId)
  return Result.map(Reading.step(state, walk, sliceSize), (slice) => {
    const events = slice.map(([, object]): Driver.WatchEvent => ({
      _tag: "Added",
      object: WatchBuffer.shown(self.buffer, object),
      initial: true,
      cursor
    }))
    if (!walk.done) return events
    self.opening = undefined
    return [...events, { _tag: "InitialDone" as const, revision: String(revision), cursor }]
  })
}

/** The changes after a cursor that the watch would have seen. */
const replay = (
  state: State,
  self: Watch,
  opening: Replay
): Result.Result<ReadonlyArray<Driver.WatchEvent>, Reason> => {
  const floor = floorOf(state)
  if (opening.seen < floor) {
    const why = `revision ${opening.seen} is no longer retained; the oldest is ${floor}`
    return Result.fail(new Expired({ why }))
  }
  const kind = kindOf(state, self.at)
  const rows = kind === undefined ? [] : state.sql.changesOf.all(opening.seen, opening.until, kind.id, sliceSize)
  const changes = rows.map((row) => changeOf(state, versionRow(row)))
  if (changes.length < sliceSize) self.opening = undefined
  else opening.seen = changes[changes.length - 1].revision
  return Result.succeed(changes.flatMap((change) => WatchBuffer.eventFor(self.buffer, change) ?? []))
}
