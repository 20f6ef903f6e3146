/**
 * A driver around another one: it notes what is asked of it, refuses what a test says, drops its watches, holds their
 * events back, and can be turned to another store as if a backup had been restored.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Stream from "effect/Stream"
import * as Pass from "setpoint/Pass"
import type * as StoreDriver from "setpoint/StoreDriver"
import { make as storeError, type Reason, type StoreError } from "setpoint/StoreError"

type Operation = "get" | "list" | "watch" | "write"

interface Watch {
  readonly kind: string
  readonly failure: Deferred.Deferred<never, StoreError>
}

export class FaultyStore {
  target: StoreDriver.Service
  /** `list Website`, `watch Website current`, `write Website create`. */
  readonly calls: Array<string> = []
  /** What an operation on a kind fails with now; nothing: it goes on. */
  refuse: (operation: Operation, kind: string) => Reason | undefined = () => undefined
  /** Open: events flow. */
  readonly events = Latch.makeUnsafe(true)
  /** Open: passes are answered. */
  readonly replies = Latch.makeUnsafe(true)
  readonly #watches = new Set<Watch>()
  /** Kinds whose caches wait before they look at anything. */
  readonly #held = new Map<string, Latch.Latch>()

  constructor(target: StoreDriver.Service) {
    this.target = target
  }

  count(call: string): number {
    return this.calls.filter((known) => known.startsWith(call)).length
  }

  /** How many watches are open. */
  get open(): number {
    return this.#watches.size
  }

  /** Ends the open watches of a kind, or all. */
  drop(reason: Reason, kind?: string): Effect.Effect<void> {
    return Effect.forEach(
      Array.from(this.#watches).filter((watch) => kind === undefined || watch.kind === kind),
      (watch) => Deferred.fail(watch.failure, errorOf("watch", watch, reason)),
      { discard: true }
    )
  }

  /** Lists and watches of a kind from outside of passes begin only when they are let go. */
  hold(kind: string): void {
    this.#held.set(kind, Latch.makeUnsafe(false))
  }

  letGo(kind: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const latch = this.#held.get(kind)
      this.#held.delete(kind)
      return latch === undefined ? Effect.void : Effect.asVoid(latch.open)
    })
  }

  #checked<A>(operation: Operation, at: StoreDriver.KindAddress, work: Effect.Effect<A, StoreError>, what: string) {
    return Effect.gen({ self: this }, function*() {
      this.calls.push(`${operation} ${at.kind}${what}`)
      const reason = this.refuse(operation, at.kind)
      if (reason !== undefined) return yield* errorOf(operation, at, reason)
      const held = operation === "list" || operation === "watch" ? this.#held.get(at.kind) : undefined
      const isOutside = (yield* Pass.Current) === undefined
      if (held !== undefined && isOutside) yield* held.await
      const answer = yield* work
      if (!isOutside) yield* this.replies.await
      return answer
    })
  }

  #watch(
    at: StoreDriver.KindAddress,
    options: StoreDriver.WatchOptions
  ): Stream.Stream<ReadonlyArray<StoreDriver.WatchEvent>, StoreError> {
    return Stream.unwrap(Effect.gen({ self: this }, function*() {
      const watch: Watch = { kind: at.kind, failure: yield* Deferred.make<never, StoreError>() }
      yield* Effect.acquireRelease(
        Effect.sync(() => this.#watches.add(watch)),
        () => Effect.sync(() => this.#watches.delete(watch))
      )
      const events = Stream.mapEffect(
        Stream.suspend(() => this.target.watch(at, options)),
        (frame) => Effect.as(this.events.await, frame)
      )
      return Stream.merge(events, Stream.fromEffect(Deferred.await(watch.failure)), { haltStrategy: "either" })
    }))
  }

  readonly driver: StoreDriver.Service = {
    capabilities: memory,
    kinds: Effect.suspend(() => this.target.kinds),
    get: (at, key, options) => this.#checked("get", at, Effect.suspend(() => this.target.get(at, key, options)), ""),
    list: (at, options) => this.#checked("list", at, Effect.suspend(() => this.target.list(at, options)), ""),
    write: (at, write, options) =>
      this.#checked("write", at, Effect.suspend(() => this.target.write(at, write, options)), ` ${write.op}`),
    outcome: (writeId) => Effect.suspend(() => this.target.outcome(writeId)),
    watch: (at, options) =>
      Stream.unwrap(
        this.#checked(
          "watch",
          at,
          Effect.sync(() => this.#watch(at, options)),
          options.from === "current" ? " current" : " resume"
        )
      ),
    fence: (lease, epoch) => Effect.suspend(() => this.target.fence(lease, epoch)),
    export: Stream.suspend(() => this.target.export),
    import: (objects) => Effect.suspend(() => this.target.import(objects))
  }
}

const memory: StoreDriver.Capabilities = {
  collector: false,
  apply: false,
  order: "store",
  comparableRevisions: true,
  snapshotPages: true,
  fence: "all",
  generation: "all",
  writeIds: true
}

const errorOf = (operation: string, at: { readonly kind: string }, reason: Reason): StoreError =>
  storeError({ operation, kind: `${at.kind}.example.dev`, key: { namespace: "", name: "" } }, reason)
