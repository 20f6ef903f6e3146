/**
 * A store in one SQLite file: the embedded default, on Node's own `node:sqlite`.
 *
 * It keeps all laws of `Store` (S1-S11), across processes too: several may open one file. The file is in write-ahead
 * mode, so readers never wait for a writer. Writes that arrive together share one commit, and a write is answered after
 * its commit.
 *
 * What is acknowledged survives, by `durability`:
 *
 * | | the process is killed | the system crashes, the power goes |
 * | --- | --- | --- |
 * | `"power"` (default; `synchronous=FULL`, one flush a commit) | all | all |
 * | `"process"` (`synchronous=NORMAL`, no flush but at checkpoints) | all | the last commits may be gone, in order; the file is sound |
 *
 * This takes the disk at its word: one that acknowledges a flush before it has happened can lose either.
 *
 * **Ordering** Every change has the next revision, whichever process makes it; a list is in the order of the bytes of
 * `namespace/name`.
 * **Delivery** Watches of this process learn of its writes at once, of other processes' within `pollInterval`. Each watch
 * has a buffer of its own and ends with `Lagged` where it overflows.
 * **Consistency** A write is judged and stored in one transaction with the file locked against other writers. Where
 * another process holds the lock, calls wait without blocking, up to `lockTimeout`, and then fail with `Unavailable`.
 * **Shutdown** Closing the Layer's Scope fails the writes that wait (they are not applied) and closes the file.
 * **Memory** Objects that were lately used, up to 8 MiB of their text; of a watch its buffer; of a list that is not
 * paged all that it gives. Watches, pages and exports read slices, and expire where the history has gone past them.
 *
 * Statements run on the caller's thread. A commit takes it for as long as the disk flushes: measured on a 2-core virtual
 * machine, 0.2 ms (0.3 ms at the 99th percentile) for one write of 1 KB, 1.6 ms for 256 in one commit; the same through a
 * worker thread took 0.3 ms (2.7 ms) and 1.4 ms (24 ms), and would let a typed store's checks not run inside the
 * transaction. On a disk that flushes slowly, or with objects of megabytes, keep latency-sensitive work elsewhere.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Store from "setpoint/Store"
import * as StoreDriver from "setpoint/StoreDriver"
import * as StoreError from "setpoint/StoreError"
import * as StoreRules from "setpoint/StoreRules"
import * as WatchBuffer from "setpoint/WatchBuffer"
import * as GroupCommit from "./internal/groupCommit.ts"
import { OpenError } from "./internal/openError.ts"
import * as OpenFile from "./internal/openFile.ts"
import * as Reading from "./internal/reading.ts"
import * as Schema from "./internal/schema.ts"
import * as Sqlite from "./internal/sqlite.ts"
import * as Tables from "./internal/tables.ts"
import * as Watching from "./internal/watching.ts"
import * as Writing from "./internal/writing.ts"

export {
  /**
   * @category errors
   * @since 0.1.0
   */
  OpenError
} from "./internal/openError.ts"

/** @category models @since 0.1.0 */
export interface Options {
  /** The file; made where it is not there, its folder is not. `":memory:"` keeps nothing on disk. */
  readonly filename: string
  /** The store's name: part of informer identity, metrics and spans. Default `"default"`. */
  readonly name?: string | undefined
  /** What an acknowledged write survives: see above. Default `"power"`. */
  readonly durability?: "power" | "process" | undefined
  /**
   * Changes that are kept for resumed watches and for pages. Processes that share a file should agree: the least counts.
   * Default 10,000.
   */
  readonly history?: number | undefined
  /** How soon watches learn of what other processes wrote. Default 100 ms. */
  readonly pollInterval?: Duration.Input | undefined
  /** How long calls, and the opening, wait for a file that another process has locked. Default 5 s. */
  readonly lockTimeout?: Duration.Input | undefined
  /** Freeze objects deeply. `false` is faster, and then S10 holds only for callers who do not mutate. Default `true`. */
  readonly freeze?: boolean | undefined
  /** Most that one object may have, as JSON text in UTF-16 units; past it `TooLarge`. Default 8 MiB. */
  readonly maxObjectBytes?: number | undefined
  /** A bookmark for every watch once in so many changes of the store. Default 1,000. */
  readonly bookmarkEvery?: number | undefined
  /** How often an idle watch gets a bookmark. Default 1 minute. */
  readonly bookmarkInterval?: Duration.Input | undefined
}

/**
 * The driver over a file.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Effect.Effect<StoreDriver.Service, OpenError, Scope.Scope> =>
  Effect.gen(function*() {
    const settings = yield* validated(options)
    const state = yield* Effect.acquireRelease(opened(settings), ({ db }) => Effect.sync(() => db.close()))
    const commits = GroupCommit.make(state)
    const { bookmarkInterval, pollInterval } = settings
    yield* Effect.forkScoped(GroupCommit.run(commits, patiently(settings)), { startImmediately: true })
    yield* Effect.forkScoped(every(bookmarkInterval, () => Tables.bookmark(state)))
    if (settings.filename !== ":memory:") yield* Effect.forkScoped(every(pollInterval, () => poll(state)))
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        const closed = new StoreError.Unavailable({ why: "the store is closed" })
        GroupCommit.close(commits, closed)
        Tables.endWatches(state, closed)
      })
    )
    return driver(state, commits, patiently(settings))
  })

/**
 * A store over a file.
 *
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Kind, Store } from "setpoint"
 * import { SqliteStore } from "@setpoint/sql"
 *
 * const Website = Kind.make({
 *   group: "example.dev",
 *   version: "v1",
 *   kind: "Website",
 *   spec: Schema.Struct({ host: Schema.String })
 * })
 *
 * const program = Effect.gen(function*() {
 *   const site = yield* Store.create(Website, { metadata: { name: "blog" }, spec: { host: "blog.example.dev" } })
 *   console.log(site.metadata.resourceVersion) // 1
 * })
 *
 * Effect.runPromise(Effect.provide(program, SqliteStore.layer({ filename: ":memory:" })))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<Store.Store | StoreDriver.StoreDriver, OpenError> =>
  Layer.effectContext(Effect.map(make(options), (driver) =>
    Context.make(StoreDriver.StoreDriver, driver).pipe(
      Context.add(Store.Store, Store.make(driver, { name: options.name }))
    )))

// ---------------------------------------------------------------------------------------------------------------------
// opening
// ---------------------------------------------------------------------------------------------------------------------

interface Settings extends Tables.Options {
  readonly filename: string
  readonly synchronous: "FULL" | "NORMAL"
  readonly pollInterval: Duration.Duration
  readonly lockTimeout: Duration.Duration
  readonly bookmarkInterval: Duration.Duration
}

const validated = (options: Options): Effect.Effect<Settings, OpenError> => {
  const { durability = "power", filename, freeze = true, history = 10_000 } = options
  const { bookmarkEvery = 1_000, maxObjectBytes = StoreRules.defaultMaxObjectBytes } = options
  const invalid = (option: string, why: string) =>
    Effect.fail(new OpenError({ filename: String(filename), reason: "InvalidOption", why: `${option} ${why}` }))
  if (typeof filename !== "string" || filename === "" || filename.startsWith("file:") || filename.includes("\0")) {
    return invalid("filename", "must be the path of a file or \":memory:\"")
  }
  if (!(Number.isSafeInteger(history) && history >= 0)) {
    return invalid("history", `must be a whole number, at least 0, but is ${history}`)
  }
  if (!(maxObjectBytes > 0)) return invalid("maxObjectBytes", `must be a number above 0, but is ${maxObjectBytes}`)
  if (!(Number.isSafeInteger(bookmarkEvery) && bookmarkEvery > 0)) {
    return invalid("bookmarkEvery", `must be a whole number above 0, but is ${bookmarkEvery}`)
  }
  if (durability !== "power" && durability !== "process") {
    return invalid("durability", `must be "power" or "process", but is ${JSON.stringify(durability)}`)
  }
  const durations = {
    pollInterval: Duration.fromInput(options.pollInterval ?? "100 millis"),
    lockTimeout: Duration.fromInput(options.lockTimeout ?? "5 seconds"),
    bookmarkInterval: Duration.fromInput(options.bookmarkInterval ?? "1 minute")
  }
  const { bookmarkInterval, lockTimeout, pollInterval } = durations
  if (!isPositive(pollInterval)) return invalid("pollInterval", "must be a duration above 0")
  if (!isPositive(bookmarkInterval)) return invalid("bookmarkInterval", "must be a duration above 0")
  if (Option.isNone(lockTimeout)) return invalid("lockTimeout", "must be a duration")
  return Effect.succeed({
    filename,
    synchronous: durability === "power" ? "FULL" : "NORMAL",
    history,
    freeze,
    maxObjectBytes,
    bookmarkEvery,
    pollInterval: pollInterval.value,
    lockTimeout: lockTimeout.value,
    bookmarkInterval: bookmarkInterval.value
  })
}

const isPositive = (duration: Option.Option<Duration.Duration>): duration is Option.Some<Duration.Duration> =>
  Option.isSome(duration) && Duration.toMillis(duration.value) > 0

const opened = (settings: Settings) =>
  Effect.withFiber((fiber) => {
    const birthId = StoreRules.writeId(fiber.getRef(Random.Random))
    const attempt = Effect.suspend(() =>
      Effect.fromResult(
        OpenFile.open({ ...settings, steps: Schema.migrations, birthId }, (db) => Tables.make(db, settings))
      )
    )
    return Effect.catchTag(patiently(settings)(attempt), "Busy", ({ why }) => {
      const { filename } = settings
      return Effect.fail(new OpenError({ filename, reason: "Locked", why: `another program holds it: ${why}` }))
    })
  })

/** Tries again while another process holds the file: never blocks the thread, and not for ever. */
const patiently = ({ lockTimeout }: Settings) => {
  const schedule = Schedule.min([Schedule.exponential("1 millis"), Schedule.spaced("50 millis")]).pipe(
    Schedule.jittered,
    Schedule.upTo({ duration: lockTimeout })
  )
  return <A, E extends { readonly _tag: string }>(attempt: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.retry(attempt, { schedule, while: ({ _tag }) => _tag === "Busy" })
}

const every = (interval: Duration.Duration, act: () => void): Effect.Effect<never> =>
  Effect.forever(Effect.andThen(Effect.sleep(interval), Effect.sync(act)), { disableYield: true })

// ---------------------------------------------------------------------------------------------------------------------
// the driver
// ---------------------------------------------------------------------------------------------------------------------

type Patiently = ReturnType<typeof patiently>

const driver = (state: Tables.State, commits: GroupCommit.GroupCommit, patiently: Patiently): StoreDriver.Service => {
  const nowText = StoreRules.timestamps()

  /** What SQLite refuses is `Unavailable`, after a while of patience where it is busy. */
  const read = <A>(
    subject: StoreError.Subject,
    statements: () => Result.Result<A, StoreError.Reason>
  ): Effect.Effect<A, StoreError.StoreError> => {
    const fail = (reason: StoreError.Reason) => Effect.fail(StoreError.make(subject, reason))
    const attempt = Effect.suspend((): Effect.Effect<A, StoreError.StoreError | Sqlite.Busy> => {
      if (commits.closed !== undefined) return fail(commits.closed)
      const answer = Sqlite.attempt(statements)
      if (Result.isSuccess(answer)) {
        return Result.isSuccess(answer.success) ? Effect.succeed(answer.success.success) : fail(answer.success.failure)
      }
      const { failure } = answer
      return failure._tag === "Busy" ? Effect.fail(failure) : fail(GroupCommit.reasonOf(failure))
    })
    const refused = (busy: Sqlite.Busy) => fail(GroupCommit.reasonOf(busy))
    return Effect.catchTag(attempt, "Busy", () => Effect.catchTag(patiently(attempt), "Busy", refused))
  }

  const readSnapshot = <A>(subject: StoreError.Subject, statements: () => Result.Result<A, StoreError.Reason>) =>
    read(subject, () => Tables.inSnapshot(state, statements))

  const commit = <A>(subject: StoreError.Subject, run: () => Result.Result<A, StoreError.Reason>) =>
    Effect.mapError(GroupCommit.submit(commits, run), (reason) => StoreError.make(subject, reason))

  const pull = (subject: StoreError.Subject, watch: Watching.Watch): Effect.Effect<Events, StoreError.StoreError> => {
    const batch = Effect.suspend(() => {
      const { opening } = watch
      return opening === undefined
        ? Effect.mapError(WatchBuffer.pull(watch.buffer), (reason) => StoreError.make(subject, reason))
        : readSnapshot(subject, () => Watching.open(state, watch, opening))
    })
    return Effect.flatMap(
      batch,
      (events) => Arr.isReadonlyArrayNonEmpty(events) ? Effect.succeed([events]) : pull(subject, watch)
    )
  }

  return {
    capabilities: {
      collector: false,
      apply: false,
      order: "store",
      comparableRevisions: true,
      snapshotPages: true,
      fence: "all",
      generation: "all",
      writeIds: true
    },
    kinds: read(wholeStore("kinds"), () => Result.succeed(Reading.kinds(state))),
    get: (at, key, options) =>
      read(StoreError.subject("get", at, key), () => Reading.get(state, at, key, options.metadataOnly)),
    list: (at, options) => readSnapshot(StoreError.subject("list", at), () => Reading.list(state, at, options)),
    write: (at, write, options) =>
      Effect.withFiber((fiber) => {
        const given = {
          nowText: nowText(fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()),
          uid: () => StoreRules.uuid(fiber.getRef(Random.Random))
        }
        const subject = StoreError.subject(write.op, at, StoreRules.keyOf(write))
        return commit(subject, () => Writing.write(state, at, write, options, given))
      }),
    outcome: (writeId) => readSnapshot(wholeStore("outcome"), () => Result.succeed(Reading.outcome(state, writeId))),
    watch: (at, options) => {
      const subject = StoreError.subject("watch", at)
      const watch = Effect.acquireRelease(
        readSnapshot(subject, () => Watching.watch(state, at, options)),
        (watch) => Effect.sync(() => Watching.close(state, watch))
      )
      return Stream.unwrap(Effect.map(watch, (watch) => Stream.fromPull(Effect.succeed(pull(subject, watch)))))
    },
    fence: (lease, epoch) => commit(wholeStore("fence"), () => Writing.fence(state, lease, epoch)),
    export: Stream.unwrap(Effect.map(
      readSnapshot(wholeStore("export"), () => Result.succeed(Reading.walks(state))),
      (walks) => {
        const subject = wholeStore("export")
        return Stream.paginate(0, (i) =>
          i === walks.length
            ? Effect.succeed([[], Option.none()])
            : Effect.map(readSnapshot(subject, () => Reading.step(state, walks[i], 500)), (slice) => [
              slice.map(([, object]) => object),
              Option.some(walks[i].done ? i + 1 : i)
            ]))
      }
    )),
    import: (objects) =>
      Effect.flatMap(Stream.runCollect(objects), (all) =>
        Effect.withFiber((fiber) => {
          const random = fiber.getRef(Random.Random)
          const given = {
            birthId: StoreRules.writeId(random),
            gap: 1 + Math.floor(random.nextDoubleUnsafe() * 2 ** 32),
            writeId: () => StoreRules.writeId(random)
          }
          return commit(wholeStore("import"), () => Writing.importAll(state, all, given))
        }))
  }
}

type Events = Arr.NonEmptyReadonlyArray<ReadonlyArray<StoreDriver.WatchEvent>>

const wholeStore = (operation: string): StoreError.Subject =>
  StoreError.subject(operation, { kind: "store", group: "" })

/** Takes in what other processes wrote. Where it cannot be read, the watches end: they would miss it. */
const poll = (state: Tables.State): void => {
  if (state.watches.size === 0) return
  const polled = Sqlite.attempt(() => Tables.inSnapshot(state, () => undefined))
  if (Result.isSuccess(polled) || polled.failure._tag === "Busy") return
  Tables.endWatches(state, GroupCommit.reasonOf(polled.failure))
}
