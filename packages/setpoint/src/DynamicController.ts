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

/** What is registered under a name, and how to register it anew. */
interface Held {
  readonly scope: Scope.Closeable
  readonly registration: Controllers.Registration
  readonly register: (scope: Scope.Scope) => Effect.Effect<Controllers.Registration, Controllers.RegistrationError>
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
  const step = yield* Semaphore.make(1) // never held while a cache syncs or a pass ends

  /** Puts a reconciler under its name: the one before it is swapped, and its Scope closes without effect. */
  const put = (name: string, register: Held["register"]): Effect.Effect<Held, Controllers.RegistrationError> =>
    Semaphore.withPermit(
      step,
      Effect.gen(function*() {
        const scope = yield* Scope.fork(outer)
        const registered = yield* Effect.exit(register(scope))
        if (Exit.isFailure(registered)) {
          yield* Scope.close(scope, registered)
          return yield* Effect.failCause(registered.cause)
        }
        const before = held.get(name)
        const now: Held = { scope, registration: registered.value, register }
        held.set(name, now)
        if (before !== undefined) yield* Scope.close(before.scope, Exit.void)
        return now
      })
    )

  const remove = (name: string, which?: Held): Effect.Effect<void> =>
    Effect.suspend(() => {
      const now = held.get(name)
      if (now === undefined || (which !== undefined && now !== which)) return Effect.void
      held.delete(name)
      return Scope.close(now.scope, Exit.void)
    })

  /** Takes back a registration that did not sync, unless another has taken its place. */
  const rollBack = (name: string, failed: Held, before: Held | undefined): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (held.get(name) !== failed) return Effect.void
      return before === undefined
        ? remove(name, failed)
        : Effect.asVoid(Effect.orElseSucceed(put(name, before.register), () => before))
    })

  const awaitSynced = (now: Held, timeout: Duration.Input): Effect.Effect<void, NotSynced> =>
    Effect.timeoutOrElse(now.registration.synced, {
      duration: timeout,
      orElse: () =>
        Effect.flatMap(
          now.registration.status,
          ({ name, troubles }) => Effect.fail(new NotSynced({ registration: name, troubles }))
        )
    })

  return DynamicController.of({
    register: Effect.fnUntraced(function*<R>(reconciler: Reconciler<R>, options: RegisterOptions = {}) {
      const context = yield* Effect.context<R | Store>()
      const { name } = reconciler
      const register: Held["register"] = (scope) =>
        controller.register(reconciler, { drain: options.drain ?? 0 }).pipe(
          Effect.provideContext(Context.add(context, Scope.Scope, scope))
        )
      const before = held.get(name)
      const now = yield* Effect.uninterruptible(put(name, register))
      if (options.waitForSync !== false) {
        yield* Effect.onError(
          awaitSynced(now, options.syncTimeout ?? "30 seconds"),
          () => rollBack(name, now, before)
        )
      }
      return now.registration
    }),
    deregister: (name) => Effect.uninterruptible(remove(name)),
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
