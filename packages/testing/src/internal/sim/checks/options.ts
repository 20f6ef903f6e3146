/** Which checks are asked for beside those that every run makes, with every default filled in. */

export interface Checks {
  /** P2: objects that are made or deleted more often than in the plain run. */
  readonly counts: "warn" | "fail"
  /** P3, P5 and P19: a writer by the clock writes an object at most once in this time. */
  readonly writesEveryMillis: number | undefined
  /** P7: what processes make has an owner, or one of these labels or annotations. `undefined`: not asked. */
  readonly ownedOrTagged: ReadonlyArray<string> | undefined
  /** P16: after so many steps of the workload the state is one that must come back at its end. */
  readonly returnsTo: number | undefined
  /** P20: deletes without a precondition on the word of a cache. */
  readonly unguarded: "warn" | "fail"
}

export const defaults: Checks = {
  counts: "warn",
  writesEveryMillis: undefined,
  ownedOrTagged: undefined,
  returnsTo: undefined,
  unguarded: "warn"
}
