/** What SQLite says when it refuses, as data. What is not SQLite's is a defect and passes through. */
import * as Result from "effect/Result"

/** Another connection holds a lock: trying again can help. */
export interface Busy {
  readonly _tag: "Busy"
  readonly why: string
}

/**
 * - `Damaged`: the file breaks SQLite's format
 * - `NotADatabase`: the file is something else
 * - `ReadOnly`, `CannotOpen`: what the file system allows
 * - `Full`: no room is left
 * - `Io`: the disk failed, so what was being written may be there or not
 */
export interface Refused {
  readonly _tag: "Damaged" | "NotADatabase" | "ReadOnly" | "CannotOpen" | "Full" | "Io" | "Other"
  readonly why: string
}

export type Failure = Busy | Refused

/** Runs statements; what SQLite or the file system throws becomes a {@link Failure}. */
export const attempt = <A>(statements: () => A): Result.Result<A, Failure> => {
  try {
    return Result.succeed(statements())
  } catch (error) {
    return Result.fail(failureOf(error))
  }
}

/** What is refused here as SQLite would, with one of its result codes. */
export class Refusal extends Error {
  readonly errcode: number
  constructor(errcode: 5 | 11 | 14 | 17, why: string) {
    super(why)
    this.errcode = errcode
  }
}

/** Something stored that cannot be what was stored, found by a read: SQLite notices only damage to its own form. */
export class Unreadable extends Refusal {
  constructor(why: string) {
    super(11, why)
  }
}

/** Whether SQLite has thrown it. */
export const isError = (error: unknown): error is Error & { readonly errcode: number } =>
  error instanceof Error && "errcode" in error && typeof error.errcode === "number"

const failureOf = (error: unknown): Failure => {
  if (isError(error)) return { _tag: tags.get(error.errcode & 0xff) ?? "Other", why: error.message }
  if (!(error instanceof Error) || !("syscall" in error && "code" in error)) throw error
  return { _tag: forbidden.has(error.code) ? "ReadOnly" : "CannotOpen", why: error.message }
}

/** What the file system says where it does not allow something. */
const forbidden: ReadonlySet<unknown> = new Set(["EACCES", "EPERM", "EROFS"])

/** By SQLite's primary result codes. */
const tags: ReadonlyMap<number, Failure["_tag"]> = new Map([
  [3, "ReadOnly"],
  [5, "Busy"],
  [6, "Busy"],
  [8, "ReadOnly"],
  [10, "Io"],
  [11, "Damaged"],
  [13, "Full"],
  [14, "CannotOpen"],
  [23, "ReadOnly"],
  [26, "NotADatabase"]
])
