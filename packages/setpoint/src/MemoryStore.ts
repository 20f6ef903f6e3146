/**
 * A store in memory: nothing is kept on disk. For tests, for programs that rebuild their state, and as the measure that
 * the contract suite holds other stores to.
 *
 * It keeps all laws of {@link Store} (S1-S11), and is the fastest store there is: a read is a look-up, a write is one
 * synchronous step.
 *
 * **Ordering** Every change has the next revision; a list is in the order of the bytes of `namespace/name`.
 * **Delivery** Writers never wait: each watch has a buffer of its own and ends with `Lagged` where it overflows. Watches
 * get a bookmark every `bookmarkEvery` changes of the store, and every `bookmarkInterval`.
 * **Consistency** A write is judged, stored, remembered and handed to the watches in one synchronous step.
 * **Shutdown** Closing the Layer's Scope ends the bookmarks. Watches end with their readers.
 * **Memory** The objects, and of the last `history` changes the objects before and after, which share what did not
 * change. Write ids and pages reach as far back as the history.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as ids from "./internal/ids.ts"
import * as Core from "./internal/memoryStore.ts"
import * as timestamps from "./internal/timestamps.ts"
import type { Key } from "./Resource.ts"
import * as Store from "./Store.ts"
import * as StoreDriver from "./StoreDriver.ts"
import * as StoreError from "./StoreError.ts"
import * as StoreRules from "./StoreRules.ts"
import * as WatchBuffer from "./WatchBuffer.ts"

/**
 * The synchronous core: one state record, and functions that read and change it. A simulated store is made of it.
 *
 * @category core
 * @since 0.1.0
 */
export * as Core from "./internal/memoryStore.ts"

/** @category models @since 0.1.0 */
export interface Options {
  /** The store's name: part of informer identity, metrics and spans. Default `"default"`. */
  readonly name?: string | undefined
  /** Changes that are kept for resumed watches and for pages. Default 10,000. */
  readonly history?: number | undefined
  /** Freeze objects deeply. `false` is faster, and then S10 holds only for callers who do not mutate. Default `true`. */
  readonly freeze?: boolean | undefined
  /** Most that one object may have, as JSON text in UTF-16 units; past it `TooLarge`. Default 8 MiB. */
  readonly maxObjectBytes?: number | undefined
  /** Every watch gets a bookmark once in so many changes of the store. Default 1,000. */
  readonly bookmarkEvery?: number | undefined
  /** How often an idle watch gets a bookmark. Default 1 minute. */
  readonly bookmarkInterval?: Duration.Input | undefined
}

/**
 * An empty store's driver.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): Effect.Effect<StoreDriver.Service, never, Scope.Scope> =>
  Effect.withFiber((fiber) => {
    const state = Core.make(ids.writeId(fiber.getRef(Random.Random)), {
      ...Core.defaults,
      history: options.history ?? Core.defaults.history,
      freeze: options.freeze ?? Core.defaults.freeze,
      maxObjectBytes: options.maxObjectBytes ?? Core.defaults.maxObjectBytes,
      bookmarkEvery: options.bookmarkEvery ?? Core.defaults.bookmarkEvery
    })
    const interval = Duration.fromInputUnsafe(options.bookmarkInterval ?? "1 minute")
    const bookmarks = Effect.forever(Effect.andThen(Effect.sleep(interval), Effect.sync(() => Core.bookmark(state))))
    return Effect.as(Effect.forkScoped(bookmarks), fromCore(state))
  })

/**
 * An empty store with defaults.
 *
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Kind, MemoryStore, Store } from "setpoint"
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
 *   console.log(site.metadata.generation) // 1
 * })
 *
 * Effect.runPromise(Effect.provide(program, MemoryStore.layer))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Store.Store | StoreDriver.StoreDriver> = Layer.suspend(() => layerWith({}))

/**
 * An empty store.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerWith = (options: Options): Layer.Layer<Store.Store | StoreDriver.StoreDriver> =>
  Layer.effectContext(Effect.map(make(options), (driver) =>
    Context.make(StoreDriver.StoreDriver, driver).pipe(
      Context.add(Store.Store, Store.make(driver, { name: options.name }))
    )))

/**
 * The driver over a core.
 *
 * @category core
 * @since 0.1.0
 */
export const fromCore = (state: Core.State): StoreDriver.Service => {
  const nowText = timestamps.ofClock()
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
    kinds: Effect.sync(() => Core.kinds(state)),
    get: (at, key, options) => Effect.suspend(() => answer("get", at, key, Core.get(state, at, key, options))),
    list: (at, options) => Effect.suspend(() => answer("list", at, undefined, Core.list(state, at, options))),
    write: (at, write, options) =>
      Effect.withFiber((fiber) => {
        const written = Core.write(state, at, write, options, {
          nowText: nowText(fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()),
          uid: () => ids.uuid(fiber.getRef(Random.Random))
        })
        return answer(write.op, at, StoreRules.keyOf(write), written)
      }),
    outcome: (writeId) => Effect.sync(() => Core.outcome(state, writeId)),
    watch: (at, options) =>
      Stream.unwrap(Effect.map(
        Effect.acquireRelease(
          Effect.suspend(() => answer("watch", at, undefined, Core.watch(state, at, options))),
          (watch) => Effect.sync(() => Core.close(watch))
        ),
        (watch) => Stream.fromPull(Effect.succeed(pull(at, watch)))
      )),
    fence: (lease, epoch) =>
      Effect.suspend(() => answer("fence", wholeStore, undefined, Core.fence(state, lease, epoch))),
    export: Stream.suspend(() => Stream.fromIterable(Core.exported(state))),
    import: (objects) =>
      Effect.flatMap(Stream.runCollect(objects), (all) =>
        Effect.withFiber((fiber) => {
          const random = fiber.getRef(Random.Random)
          const imported = Core.imported(state, all, {
            birthId: ids.writeId(random),
            gap: 1 + ids.below(random)(2 ** 32),
            writeId: () => ids.writeId(random)
          })
          return answer("import", wholeStore, undefined, imported)
        }))
  }
}

const wholeStore = { kind: "store", group: "" }

const answer = <A>(
  operation: string,
  at: { readonly kind: string; readonly group: string },
  key: Key | undefined,
  result: Result.Result<A, StoreError.Reason>
): Effect.Effect<A, StoreError.StoreError> =>
  Result.isSuccess(result)
    ? Effect.succeed(result.success)
    : Effect.fail(StoreError.make(StoreError.subject(operation, at, key), result.failure))

/** What is there, as one batch; waits where nothing is. */
const pull = (
  at: StoreDriver.KindAddress,
  watch: Core.Watch
): Effect.Effect<readonly [ReadonlyArray<StoreDriver.WatchEvent>], StoreError.StoreError> => {
  const fail = (reason: StoreError.Reason) => Effect.fail(StoreError.make(StoreError.subject("watch", at), reason))
  return Effect.suspend(() => {
    const taken = Core.take(watch)
    if (taken === undefined) {
      return Effect.matchEffect(WatchBuffer.pull(watch.buffer), {
        onFailure: fail,
        onSuccess: (events) => Effect.succeed([events] as const)
      })
    }
    return "length" in taken ? Effect.succeed([taken] as const) : fail(taken)
  })
}
