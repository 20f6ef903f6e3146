/**
 * The operating system's processes, as much of them as the fleet needs: the outside world of its reconcilers, behind a
 * service, so that tests and simulations can put another world in its place.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { HealthCheck, Identity, Launch } from "./Kinds.ts"

/** The process could not be started at all: no such command, no such directory, no right to run it. */
export class CannotStart extends Schema.TaggedError<CannotStart>()("CannotStart", {
  command: Schema.String,
  why: Schema.String
}) {
  override get message(): string {
    return `cannot start ${this.command}: ${this.why}`
  }
}

/** The health check did not answer as it should. */
export class Unhealthy extends Schema.TaggedError<Unhealthy>()("Unhealthy", { why: Schema.String }) {
  override get message(): string {
    return this.why
  }
}

/** Whom a process belongs to: the uid of its object, and the number of its start. It carries both as long as it lives. */
export interface Mark {
  readonly owner: string
  readonly start: number
}

/** A process that carries a mark. `leader`: it is the one that was started, not a child of that one. */
export interface Marked {
  readonly identity: Identity
  readonly mark: Mark
  readonly leader: boolean
}

export type Sight =
  | { readonly _tag: "Alive" }
  /** `how` is known of processes that this supervisor started: `exit code 1`, `signal SIGKILL`. */
  | { readonly _tag: "Gone"; readonly how: string | undefined }

export interface Service {
  /** This supervisor. */
  readonly self: Identity
  /** Starts a process that outlives the supervisor. `name` names its log, and what {@link Service.ends} tells. */
  readonly start: (name: string, mark: Mark, launch: Launch) => Effect.Effect<Identity, CannotStart>
  /** Whether this very process lives: not another one that got its number. */
  readonly look: (identity: Identity) => Effect.Effect<Sight>
  /** Every living process that carries a mark of the owner. Costs a look at every process of the machine. */
  readonly find: (owner: string) => Effect.Effect<ReadonlyArray<Marked>>
  /** Signals this very process and those of its group; another one that got its number is never signalled. */
  readonly signal: (identity: Identity, signal: "SIGTERM" | "SIGKILL") => Effect.Effect<void>
  /** Asks for the health of what listens on the port. */
  readonly probe: (port: number, check: HealthCheck) => Effect.Effect<void, Unhealthy>
  /** Names of processes of this supervisor that ended. */
  readonly ends: Stream.Stream<string>
}

export class Processes extends Context.Service<Processes, Service>()("fleet/Processes") {}
