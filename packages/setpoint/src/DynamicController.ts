/**
 * Kinds that come and go while the program runs: registrations by name, made and ended from any fiber.
 *
 * It adds no queue and no cache of its own: a registration here is one of `Controller`, kept in a Scope of this service
 * until {@link deregister} or the end of the Layer. A kind from data (`Kind.fromJsonSchema`) works like a compiled one.
 *
 * **Delivery** {@link register} waits until the caches of the registration are synced, 30 seconds at most. A failure before
 * it returns rolls back whole: what was registered under the name before goes on as it was. With `waitForSync: false` it
 * returns at once, and a cache that cannot sync is told by health and status (E4 of `Controller`).
 *
 * **Shutdown** {@link deregister} interrupts the passes that run (`drain` is 0 here), releases every watch that their
 * objects asked for, also those of passes that were running, and ends with the last of them. An unknown name is no error.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Controllers from "./Controller.ts"
import type { Reconciler } from "./Reconciler.ts"
import { type Store } from "./Store.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface RegisterOptions {
  /** Wait until the caches are synced. Default `true`. */
  readonly waitForSync?: boolean | undefined
  /** How long to wait. Default 30 seconds. */
  readonly syncTimeout?: Duration.Input | undefined
  /** How long {@link deregister} waits for passes that run. Default 0. */
  readonly drain?: Duration.Input | undefined
}

/**
 * The caches of a registration did not sync in time: nothing is registered.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotSynced extends Schema.TaggedError<NotSynced>()("DynamicController/NotSynced", {
  registration: Schema.String,
  troubles: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `registration "${this.registration}" did not sync: ${this.troubles.join("; ")}`
  }
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Service {
  readonly register: <R>(
    reconciler: Reconciler<R>,
    options?: RegisterOptions
  ) => Effect.Effect<Controllers.Registration, Controllers.RegistrationError | NotSynced, R | Store>
  /** Ends the registration of this name; waits until its last pass has ended. */
  readonly deregister: (name: string) => Effect.Effect<void>
  /** The names that are registered. */
  readonly names: Effect.Effect<ReadonlyArray<string>>
}

/**
 * @category services
 * @since 0.1.0
 */
export class DynamicController extends Context.Service<DynamicController, Service>()("setpoint/DynamicController") {}

/** One call of `register`: its registration, and how to make it anew. */
interface Held {
  readonly register: (scope: Scope.Scope) => Effect.Effect<Controllers.Registration, Controllers.RegistrationError>
  scope: Scope.Closeable
  registration: Controllers.Registration
  /** What it took the place of, until it has synced. */
  before: Held | undefined
}

/**
 * Over a Controller; ends all that is registered with its Scope.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.gen(function*() {
  const controller = yield* Controllers.Controller
  const outer = yield* Effect.scope
  const held = new Map<string, Held>()
  const turns = new Map<string, { readonly semaphore: Semaphore.Semaphore; users: number }>()

  /** One step at a time of a name; other names go on meanwhile. Never held while a cache syncs. */
  const inTurn = <A, E>(name: string, work: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      const turn = turns.get(name) ?? { semaphore: Semaphore.makeUnsafe(1), users: 0 }
      turns.set(name, turn)
      turn.users++
      const leave = Effect.sync(() => {
        if (--turn.users === 0) turns.delete(name)
      })
      return Effect.ensuring(Semaphore.withPermit(turn.semaphore, Effect.uninterruptible(work)), leave)
    })

  const registerIn = (register: Held["register"]) =>
    Effect.gen(function*() {
      const scope = yield* Scope.fork(outer)
      const registration = yield* Effect.onError(register(scope), (cause) => Scope.close(scope, Exit.failCause(cause)))
      return { scope, registration }
    })

  /** Puts a reconciler under its name: the one before it is swapped, and its Scope closes without effect. */
  const put = (name: string, register: Held["register"]): Effect.Effect<Held, Controllers.RegistrationError> =>
    Effect.gen(function*() {
      const made = yield* registerIn(register)
      const before = held.get(name)
      const now: Held = { register, before, ...made }
      held.set(name, now)
      if (before !== undefined) yield* Scope.close(before.scope, Exit.void)
      return now
    })

  const remove = (name: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      const now = held.get(name)
      held.delete(name)
      return now === undefined ? Effect.void : Scope.close(now.scope, Exit.void)
    })

  /** As if it had never been registered: what it took the place of is back, unless others have come since. */
  const rollBack = (name: string, failed: Held): Effect.Effect<void> =>
    Effect.suspend(() => {
      const { before } = failed
      const top = held.get(name)
      if (top === failed) return before === undefined ? remove(name) : restore(name, before, failed)
      for (let later = top; later !== undefined; later = later.before) {
        if (later.before === failed) later.before = before
      }
      return Effect.void
    })

  const restore = (name: string, before: Held, failed: Held): Effect.Effect<void> =>
    Effect.gen(function*() {
      const made = yield* Effect.orDie(registerIn(before.register)) // it was right before
      Object.assign(before, made)
      held.set(name, before)
      yield* Scope.close(failed.scope, Exit.void)
    })

  /** Fails where the caches do not sync in time, or where somebody deregisters meanwhile. */
  const awaitSynced = (
    { registration }: Held,
    duration: Duration.Input
  ): Effect.Effect<void, NotSynced | Controllers.RegistrationError> =>
    Effect.exit(registration.synced).pipe(
      Effect.timeoutOrElse({
        duration,
        orElse: () =>
          Effect.flatMap(registration.status, ({ name, troubles }) =>
            Effect.fail(new NotSynced({ registration: name, troubles })))
      }),
      Effect.flatMap((exit) =>
        Exit.isSuccess(exit) ? Effect.void : Effect.fail(
          new Controllers.RegistrationError({
            registration: registration.name,
            field: "name",
            why: "was deregistered before its caches had synced"
          })
        )
      )
    )

  return DynamicController.of({
    register: <R>(reconciler: Reconciler<R>, options: RegisterOptions = {}) =>
      Effect.uninterruptibleMask(Effect.fnUntraced(function*(restore) {
        const context = yield* Effect.context<R | Store>()
        const { name } = reconciler
        const register: Held["register"] = (scope) =>
          controller.register(reconciler, { drain: options.drain ?? 0 }).pipe(
            Effect.provideContext(Context.add(context, Scope.Scope, scope))
          )
        const now = yield* restore(inTurn(name, put(name, register)))
        if (options.waitForSync !== false) {
          yield* Effect.onError(
            restore(awaitSynced(now, options.syncTimeout ?? "30 seconds")),
            () => inTurn(name, rollBack(name, now))
          )
        }
        now.before = undefined
        return now.registration
      })),
    // in a fiber of its own, since a pass may end its own registration: what waits for it to end must not be the pass
    deregister: (name) =>
      Effect.flatMap(Effect.forkIn(inTurn(name, remove(name)), outer, { startImmediately: true }), Fiber.join),
    names: Effect.sync(() => Array.from(held.keys()))
  })
})

/**
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<DynamicController, never, Controllers.Controller> = Layer.effect(
  DynamicController,
  make
)

/**
 * As the service's `register`.
 *
 * @category registering
 * @since 0.1.0
 */
export const register = <R>(
  reconciler: Reconciler<R>,
  options?: RegisterOptions
): Effect.Effect<
  Controllers.Registration,
  Controllers.RegistrationError | NotSynced,
  R | Store | DynamicController
> => Effect.flatMap(DynamicController, (dynamic) => dynamic.register(reconciler, options))

/**
 * As the service's `deregister`.
 *
 * @category registering
 * @since 0.1.0
 */
export const deregister = (name: string): Effect.Effect<void, never, DynamicController> =>
  Effect.flatMap(DynamicController, (dynamic) => dynamic.deregister(name))
