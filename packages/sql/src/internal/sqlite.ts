/** What SQLite says when it refuses, as data. What is not SQLite's is a defect and passes through. */
import * as Result from "effect/Result"

/**
 * - `Busy`: another connection holds a lock; trying again can help
 * - `Damaged`: the file breaks SQLite's format
 * - `NotADatabase`: the file is something else
 * - `ReadOnly`, `CannotOpen`: what the file system allows
 * - `Full`: no room is left
 * - `Io`: the disk failed, so what was being written may be there or not
 */
export interface Failure {
  readonly _tag: "Busy" | "Damaged" | "NotADatabase" | "ReadOnly" | "CannotOpen" | "Full" | "Io" | "Other"
  readonly why: string
}

/** Whether it is one of these, among other reasons. */
export const isFailure = (reason: { readonly _tag: string }): reason is Failure => failureTags.has(reason._tag)

/** Runs statements; what SQLite or the file system throws becomes a {@link Failure}. */
export const attempt = <A>(statements: () => A): Result.Result<A, Failure> => {
  try {
    return Result.succeed(statements())
  } catch (error) {
    return Result.fail(failureOf(error))
  }
}

/** An object's text that is none, found by a read: SQLite keeps what it is given, and notices only damage of its own. */
export class Unreadable extends Error {
  readonly errcode = 11
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

const failureTags: ReadonlySet<string> = new Set([...tags.values(), "Other"])
