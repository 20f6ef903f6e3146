/** What is simulated, with every default filled in. */
import type * as Layer from "effect/Layer"
import type { Kind, Resource, Store, StoreDriver } from "setpoint"
import type { Admission } from "./admission.ts"
import * as CheckOptions from "./checks/options.ts"
import type { External } from "./external.ts"
import type { Change, View } from "./story.ts"
import type { Actor, Redraw, Step } from "./workload.ts"

/** Kinds of deviations. */
export const faults = [
  "kill",
  "kill-after",
  "refuse",
  "lose",
  "rival",
  "slow",
  "early",
  "behind",
  "late",
  "cut",
  "expire",
  "restart",
  "stop",
  "again",
  "old",
  "old-kind",
  "unsynced",
  "delete",
  "overlap",
  "pause",
  "ahead",
  "back",
  "unordered",
  "poison",
  "outage",
  "flood",
  "fibers"
] as const

export type Fault = typeof faults[number]

/** What each does, in the words of a story. */
export const inWords: Readonly<Record<Fault, string>> = {
  kill: "process killed before the call",
  "kill-after": "process killed after the call took effect, before its reply",
  refuse: "refused, not applied",
  lose: "applied, but the reply was lost",
  rival: "somebody else wrote the object first",
  slow: "the answer took 25 s",
  early: "the next step of the workload came first",
  behind: "everything else that waited went first",
  late: "the event came 500 ms late",
  cut: "the watch was cut, and resumed",
  expire: "the watch stood still for 2 s, then its cursor was no longer kept: listed anew",
  restart: "process killed while it was at rest, and started anew",
  stop: "process stopped gracefully, and started anew",
  again: "every pass that was done ran once more",
  old: "process killed, and its next lists served at an older revision",
  "old-kind": "process killed, and its next lists of one kind served at an older revision",
  unsynced: "process killed, and one kind's first list came long after the others",
  delete: "somebody deleted the object",
  overlap: "a second process started, and the first went on for 30 s",
  pause: "the process stood still for 45 s",
  ahead: "the clock on the wall jumped 12 h ahead",
  back: "the clock on the wall jumped 30 s back",
  unordered: "the list came in the opposite order",
  poison: "from here on all that the passes of its key change is refused",
  outage: "the watch was cut, and could not be opened again for 5 s",
  flood: "somebody edited all objects of the workload 40 times at once",
  fibers: "of two fibers that could run the later one went first"
}

export type Matches = (object: Resource.Any, view: View) => boolean

export interface Spec {
  readonly layer: Layer.Layer<never, unknown, Store.Store | StoreDriver.StoreDriver>
  readonly steps: ReadonlyArray<Step>
  /** Kinds of the workload: what nobody else makes. */
  readonly kinds: ReadonlyArray<Kind.AnyKind>
  /** Kinds whose objects `matches` is asked about. */
  readonly of: ReadonlyArray<Kind.AnyKind>
  readonly checks: CheckOptions.Checks
  readonly matches: Matches | undefined
  readonly never: Readonly<Record<string, (view: View, change: Change) => boolean>>
  readonly always: Readonly<Record<string, (view: View) => boolean>>
  readonly atRest: Readonly<Record<string, (view: View) => boolean>>
  readonly external: ReadonlyArray<External<unknown, unknown>>
  readonly actors: ReadonlyArray<Actor>
  readonly faults: ReadonlySet<Fault>
  /** What the server makes of what is written. */
  readonly admit: ReadonlyArray<Admission>
  /** Processes that run the Layer at once. */
  readonly replicas: number
  /** Laws that do not hold by design, with the reason. */
  readonly except: { readonly [law: string]: string | undefined }
  readonly seed: number
  readonly maxSteps: number
  /** Draws other workloads for random runs. */
  readonly redraw?: Redraw | undefined
  /** Which workload it is, where it is not the one that was given. */
  readonly workload?: string | undefined
}

/** What nobody asks for: all but the Layer. */
export const bare: Omit<Spec, "layer"> = {
  steps: [],
  kinds: [],
  of: [],
  checks: CheckOptions.defaults,
  matches: undefined,
  never: {},
  always: {},
  atRest: {},
  external: [],
  actors: [],
  faults: new Set(),
  admit: [],
  replicas: 1,
  except: {},
  seed: 1,
  maxSteps: 20_000
}

/** What an alternative does, in words. */
export const sentence = (alternative: string): string => {
  if (alternative.startsWith("[")) return "the steps are others: see the token"
  const at = alternative.indexOf(":")
  const fault = at === -1 ? alternative : alternative.slice(0, at)
  const words = faults.find((known) => known === fault)
  const text = words === undefined ? fault : inWords[words]
  return at === -1 ? text : `${text} (${alternative.slice(at + 1)})`
}
