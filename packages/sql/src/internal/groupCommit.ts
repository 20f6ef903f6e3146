/**
 * Writes that arrive together share one commit, hence one flush to the disk.
 *
 * Writers leave a job and wait; one fiber runs all jobs that are there in one transaction, and answers after its commit.
 * A commit blocks the thread while the disk works, so what could be gathered meanwhile comes from the writers that it
 * answers: with many of them, each commit carries about as many writes.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type { Reason } from "setpoint/StoreError"
import { StoreFull, Unavailable, UnknownOutcome } from "setpoint/StoreError"
import * as Sqlite from "./sqlite.ts"
import * as Tables from "./tables.ts"

interface Job {
  /** Runs in the transaction; does nothing where it fails. */
  readonly run: () => Result.Result<unknown, Reason>
  readonly answer: (exit: Exit.Exit<unknown, Reason>) => void
}

export interface GroupCommit {
  readonly state: Tables.State
  /** In order of arrival. */
  readonly jobs: Set<Job>
  /** Wakes the fiber of {@link run}; set where it waits. */
  wake: (() => void) | undefined
  /** Why no job is taken any more. */
  closed: Reason | undefined
}

/** So that no transaction holds up the thread, or another process, for long. */
const jobsPerCommit = 512

export const make = (state: Tables.State): GroupCommit => ({
  state,
  jobs: new Set(),
  wake: undefined,
  closed: undefined
})

/** Runs `run` in the next commit, and answers after it. Interrupting it takes it out of the line. */
export const submit = <A>(self: GroupCommit, run: () => Result.Result<A, Reason>): Effect.Effect<A, Reason> =>
  Effect.callback<A, Reason>((resume) => {
    if (self.closed !== undefined) return resume(Effect.fail(self.closed))
    const job: Job = { run, answer: (exit) => resume(exit as Exit.Exit<A, Reason>) } // what `run` gave
    self.jobs.add(job)
    self.wake?.()
    return Effect.sync(() => {
      self.jobs.delete(job)
    })
  })

/** Commits whatever comes, for ever. `patient` tries again for a while where another process holds the file. */
export const run = (
  self: GroupCommit,
  patient: (attempt: Effect.Effect<void, Sqlite.Busy>) => Effect.Effect<void, Sqlite.Busy>
): Effect.Effect<never> => {
  const commitAll = patient(commit(self))
  const once = Effect.catch(commitAll, (failure) => Effect.sync(() => failAll(self, reasonOf(failure))))
  // the turn in between is when others that are ready put their writes in line, and timers get theirs
  const next = Effect.andThen(Effect.andThen(somethingThere(self), Effect.yieldNow), once)
  return Effect.forever(next, { disableYield: true })
}

/** No job is taken from now on; those in line fail. */
export const close = (self: GroupCommit, reason: Reason): void => {
  self.closed = reason
  failAll(self, reason)
}

const somethingThere = (self: GroupCommit): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (self.jobs.size > 0) return resume(Effect.void)
    self.wake = () => {
      self.wake = undefined
      resume(Effect.void)
    }
    return Effect.sync(() => {
      self.wake = undefined
    })
  })

/** One transaction of the jobs that are first in line. Fails only where nobody was answered and waiting can help. */
const commit = (self: GroupCommit): Effect.Effect<void, Sqlite.Busy> =>
  Effect.suspend(() => {
    const jobs = firstInLine(self)
    const exits: Array<Exit.Exit<unknown, Reason>> = []
    const committed = Sqlite.attempt(() =>
      Tables.inCommit(self.state, () => {
        for (const job of jobs) exits.push(exitOf(job))
      })
    )
    if (Result.isSuccess(committed)) {
      for (const [i, job] of jobs.entries()) answer(self, job, exits[i])
      return Effect.void
    }
    const failure = committed.failure
    if (failure._tag === "Busy") return Effect.fail(failure)
    const { committing } = self.state
    const reason = committing && failure._tag === "Io" ? new UnknownOutcome({ why: failure.why }) : reasonOf(failure)
    for (const job of jobs) answer(self, job, Exit.fail(reason))
    return Effect.void
  })

/** A defect, or an object that cannot be read, is its own job's, and it wrote nothing yet: the rows come last. */
const exitOf = (job: Job): Exit.Exit<unknown, Reason> => {
  try {
    return Result.match(job.run(), { onFailure: Exit.fail, onSuccess: Exit.succeed })
  } catch (error) {
    if (error instanceof Sqlite.Unreadable) return Exit.fail(reasonOf({ _tag: "Damaged", why: error.message }))
    if (Sqlite.isError(error)) throw error
    return Exit.die(error)
  }
}

const firstInLine = (self: GroupCommit): ReadonlyArray<Job> => {
  const jobs: Array<Job> = []
  for (const job of self.jobs) {
    if (jobs.length === jobsPerCommit) break
    jobs.push(job)
  }
  return jobs
}

/** One that was interrupted meanwhile is not in line any more. */
const answer = (self: GroupCommit, job: Job, exit: Exit.Exit<unknown, Reason>): void => {
  if (self.jobs.delete(job)) job.answer(exit)
}

const failAll = (self: GroupCommit, reason: Reason): void => {
  const jobs = Array.from(self.jobs) // not those that come again at once
  for (const job of jobs) answer(self, job, Exit.fail(reason))
}

/** What a failure of SQLite is to a caller, where nothing was applied. */
export const reasonOf = ({ _tag, why }: Sqlite.Failure): Reason => {
  switch (_tag) {
    case "Full":
      return new StoreFull({ why })
    case "Busy":
      return new Unavailable({ why: `another process has held the file for too long: ${why}` })
    case "Damaged":
    case "NotADatabase":
      return new Unavailable({ why: `the file is damaged (${why}): restore it from a backup` })
    default:
      return new Unavailable({ why })
  }
}
