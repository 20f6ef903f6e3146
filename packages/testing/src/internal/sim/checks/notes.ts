/** What the checks remember of a run: one record, so that a world carries one field for all of them. */
import type { Controller, Informer, Pass, Resource, StoreDriver } from "setpoint"

/** What a pass asked the world for. */
export interface Calls {
  /** `create:Pod/a`, the last one. */
  last: string
  /** Kinds that it read from the store itself, not from a cache. */
  readonly read: Set<string>
}

/** A write as it was sent, of a change that came of it. */
export interface Sent {
  readonly write: StoreDriver.Write
  readonly options: StoreDriver.WriteOptions
  /** Whose it is; `undefined` outside of passes. */
  readonly pass: Pass.Pass | undefined
  /** It comes by the clock, as the options say it may (P3). */
  readonly isBeat: boolean
}

export interface Notes {
  readonly calls: WeakMap<Pass.Pass, Calls>
  /** By process, registration and key. */
  readonly lastPasses: Map<string, Pass.Pass>
  /** By process: the Controllers that were built in it. */
  readonly probes: Map<string, Array<Controller.Probe>>
  /** Processes whose Layer was built. */
  readonly built: Set<string>
  /** P5: what was made to run again, while nothing else happened. */
  again: { readonly passes: Set<Pass.Pass>; isDisturbed: boolean } | undefined
  /** P2: how often each object was created and removed by processes. */
  readonly counts: Map<string, { created: number; removed: number }>
  /** Caches whose changes are followed (P18). */
  readonly followed: WeakSet<Informer.Informer>
  /** P9: by uid, the generation at which it was last seen to match. */
  readonly matched: Map<string, number>
  /** P9: by uid, when its generation moved, and the step of the loop at which somebody else changed it. */
  readonly movedAt: Map<string, { readonly loopSteps: number; readonly workloadSteps: number }>
  readonly touchedAt: Map<string, number>
  /** P10: the highest epoch by lease, and by process and registration the fence of its last write. */
  readonly epochs: Map<string, number>
  readonly fences: Map<string, Pass.Fence>
  /** P11: when a key was first wanted since its last pass began. */
  readonly waits: Map<string, { readonly millis: number; readonly passes: number }>
  /** P12: when watches were opened, by who opened them. */
  readonly opened: Map<string, ReadonlyArray<number>>
  /** P3: by uid, when a process last wrote it. */
  readonly writtenAt: Map<string, number>
  /** P14: the object whose passes fail for ever, as `App/a`. */
  poisoned: string | undefined
  /** P16: the state that must come back. */
  first: string | undefined
  /** What is worth a look and breaks no law, and what it was in this run. */
  readonly warnings: Map<string, string>
}

export const make = (): Notes => ({
  calls: new WeakMap(),
  lastPasses: new Map(),
  probes: new Map(),
  built: new Set(),
  again: undefined,
  counts: new Map(),
  followed: new WeakSet(),
  matched: new Map(),
  movedAt: new Map(),
  touchedAt: new Map(),
  epochs: new Map(),
  fences: new Map(),
  waits: new Map(),
  opened: new Map(),
  writtenAt: new Map(),
  poisoned: undefined,
  first: undefined,
  warnings: new Map()
})

/** A pass makes a call. */
export const called = (notes: Notes, pass: Pass.Pass, operation: string): void => {
  const calls = notes.calls.get(pass) ?? { last: operation, read: new Set() }
  calls.last = operation
  const read = /^(?:get|list):([^/]+)/.exec(operation)?.[1]
  if (read !== undefined) calls.read.add(read)
  notes.calls.set(pass, calls)
}

/** An external service was called: whatever runs again is no longer alone. */
export const calledOutside = ({ again }: Notes, pass: Pass.Pass | undefined): void => {
  if (again !== undefined && (pass === undefined || !again.passes.has(pass))) again.isDisturbed = true
}

/**
 * A process writes an object. Gives whether the write comes by the clock: an update, and the object was left alone for as
 * long as such a writer says.
 */
export const wrote = (
  { writtenAt }: Notes,
  object: Resource.Raw,
  isUpdate: boolean,
  now: number,
  everyMillis: number | undefined
): boolean => {
  const last = writtenAt.get(object.metadata.uid)
  writtenAt.set(object.metadata.uid, now)
  return everyMillis !== undefined && isUpdate && last !== undefined && now - last >= 0.9 * everyMillis
}

/** Who starts anew does not know when it last wrote: each object may be written at once. */
export const clockBegins = ({ writtenAt }: Notes): void => {
  for (const uid of writtenAt.keys()) writtenAt.set(uid, -Infinity)
}
