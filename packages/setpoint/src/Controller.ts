/**
 * The engine: registrations, workers, and the one policy switch.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Cause } from "./Pass.ts"
import type { Reconciler } from "./Reconciler.ts"
import type { Request, Target } from "./Request.ts"
import type { Store } from "./Store.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Passes at once, over all registrations. Default 4. */
  readonly workers?: number | undefined
  /** How long closing waits for what runs and is ready, before it interrupts (E8). Default 25 seconds. */
  readonly drain?: Duration.Input | undefined
  /** A ready key rises one lane after this time. Default 10 seconds. */
  readonly ageAfter?: Duration.Input | undefined
  /** Keep duration histograms. Default `true`. */
  readonly metrics?: boolean | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface RegisterOptions {
  /** Another registration has this name: `"swap"` replaces its reconciler, `"fail"` refuses. Default `"swap"`. */
  readonly onDuplicate?: "swap" | "fail" | undefined
  /** How long closing this registration waits for its passes (E8). Default: the Controller's `drain`. */
  readonly drain?: Duration.Input | undefined
}

/**
 * A registration that cannot be: which option is wrong and what would be right, or a name that is taken.
 *
 * @category errors
 * @since 0.1.0
 */
export class RegistrationError extends Schema.TaggedError<RegistrationError>()("RegistrationError", {
  registration: Schema.String,
  field: Schema.String,
  why: Schema.String
}) {
  override get message(): string {
    return `registration "${this.registration}", ${this.field}: ${this.why}`
  }
}

/**
 * Where a key is (Q9).
 *
 * @category models
 * @since 0.1.0
 */
export interface KeyStatus {
  readonly request: Request
  readonly place: "ready" | "running" | "waiting" | "held" | "idle"
  readonly failures: number
  readonly paused: boolean
  /** Why it will run, or runs. */
  readonly causes: ReadonlyArray<Cause>
  /** Milliseconds until it is due, where it waits. */
  readonly dueInMillis: number | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface RegistrationStatus {
  readonly name: string
  readonly kind: string
  readonly store: string
  /** Every cache that must be synced is. */
  readonly synced: boolean
  /** What is in the way: one sentence an input that is not synced, or that is in trouble. */
  readonly troubles: ReadonlyArray<string>
  readonly paused: boolean
  readonly pausedKeys: number
  readonly ready: number
  readonly running: number
  readonly waiting: number
  readonly held: number
  readonly failing: number
}

/**
 * A reconciler at work. Closing the Scope it was registered in deregisters it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Registration {
  readonly name: string
  /** Waits until every cache that must be synced is (E4). */
  readonly synced: Effect.Effect<void>
  /** Runs a pass for the object, in lane 0. `false`: the registration is closed. */
  readonly enqueue: (target: Target, reason?: string) => Effect.Effect<boolean>
  /** Starts no pass until {@link Registration.resume}; keys go on collecting. */
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
  readonly status: Effect.Effect<RegistrationStatus>
  readonly probe: (target: Target) => Effect.Effect<KeyStatus | undefined>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Service {
  /** Registers until the Scope closes. Does not wait for caches: see {@link Registration.synced}. */
  readonly register: <R>(
    reconciler: Reconciler<R>,
    options?: RegisterOptions
  ) => Effect.Effect<Registration, RegistrationError, R | Store | Scope.Scope>
  readonly registration: (name: string) => Effect.Effect<Registration, RegistrationError>
  readonly enqueue: (name: string, target: Target, reason?: string) => Effect.Effect<boolean, RegistrationError>
  /** Changes the number of workers at run time; passes that run are not cut. */
  readonly setWorkers: (workers: number) => Effect.Effect<void, RegistrationError>
  readonly status: Effect.Effect<ReadonlyArray<RegistrationStatus>>
  /**
   * Work beside the passes, supervised: restarted with backoff when it fails, ended with the Scope, or with the
   * Controller, before workers drain.
   */
  readonly background: <E, R>(
    name: string,
    work: Effect.Effect<unknown, E, R>
  ) => Effect.Effect<void, never, R | Scope.Scope>
}

/**
 * @category services
 * @since 0.1.0
 */
export class Controller extends Context.Service<Controller, Service>()("setpoint/Controller") {}
