/** What a run tells and what its predicates see: models that the spec and the world share. */
import type { Kind, Resource } from "setpoint"
import type { External } from "./external.ts"

/** One change of the store. */
export interface Change {
  readonly type: "created" | "updated" | "marked" | "removed"
  readonly before: Resource.Raw | undefined
  /** Of a removal: the last state. */
  readonly object: Resource.Raw
  readonly revision: number
  /** `ctl`, `user`, `rival`: who made it. */
  readonly by: string
}

/** A law that does not hold, and what shows it. */
export interface Violation {
  /** `P1` … `P20` of the simulator's checks, or what makes a run meaningless: `leak`, `input`. */
  readonly law: string
  readonly title: string
  /** Other laws that broke at the same moment. */
  readonly also: ReadonlyArray<string>
  /** When, in steps of the loop. */
  readonly step: number
}

/** Of a search rather than of a run. */
export const flaw = (law: string, title: string): Violation => ({ law, title, also: [], step: 0 })

export interface Line {
  readonly millis: number
  readonly who: string
  readonly text: string
  readonly isFault: boolean
  /** Whose call it was: `src/app.ts:41`. */
  readonly site?: string | undefined
  /** What the store made of it. */
  readonly change?: Change | undefined
  /** What a write was bound to: nothing means that it hits whatever is there. */
  readonly bound?: ReadonlyArray<"uid" | "revision"> | undefined
  /** Of which pass: `apps/a/2`. */
  readonly pass?: string | undefined
  /** Told where there is room: answers of calls, passes that begin and end. */
  readonly isAside?: boolean | undefined
}

/** The store as it is, past every cache. */
export interface View {
  readonly get: <A extends Resource.Any>(kind: Kind.Kind<A>, key: string | Resource.KeyInput) => A | undefined
  /** Wall time in milliseconds. */
  readonly now: number
  readonly list: <A extends Resource.Any>(kind: Kind.Kind<A>) => ReadonlyArray<A>
  /** The fake of an external service, one for the whole run. */
  readonly external: <F>(external: External<unknown, F>) => F
}
