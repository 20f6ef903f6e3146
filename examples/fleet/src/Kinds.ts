/**
 * What the fleet is made of: services, which people declare, and processes, which services own.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Condition, Kind } from "setpoint"

const group = "fleet.example.dev"

/** A time as text: `5 seconds`, `250 millis`. */
const TimeSpan = Schema.String.check(
  Schema.makeFilter((text) => Option.isSome(timeSpan(text)) || "must be a time such as \"5 seconds\" or \"250 millis\"")
)

// Any text may be asked about; Duration knows which are times.
const timeSpan = (text: string) => Duration.fromInput(text as Duration.Input)

/** The time that a checked text means, in milliseconds. */
export const millis = (text: string): number =>
  Option.match(timeSpan(text), { onNone: () => 0, onSome: Duration.toMillis })

const Port = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65_535 }))

/** Ports that the replicas of a service may use, both ends included. */
const PortRange = Schema.Struct({ from: Port, to: Port }).check(
  Schema.makeFilter((range) =>
    range.from <= range.to || { path: ["to"], issue: `must not be below from (${range.from})` }
  )
)

/** Asked of `http://127.0.0.1:PORT` + path: healthy where the answer is 2xx or 3xx. */
const HealthCheck = Schema.Struct({
  path: Schema.String.check(Schema.isPattern(/^\//, { message: "must begin with /" })),
  every: TimeSpan.pipe(Schema.withDecodingDefaultType(Effect.succeed("1 second"))),
  timeout: TimeSpan.pipe(Schema.withDecodingDefaultType(Effect.succeed("1 second"))),
  /** Failed checks in a row after which a process is replaced. */
  failures: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 })).pipe(
    Schema.withDecodingDefaultType(Effect.succeed(3))
  )
})
export type HealthCheck = typeof HealthCheck.Type

const template = {
  command: Schema.String.check(Schema.isMinLength(1)),
  args: Schema.Array(Schema.String).pipe(Schema.withDecodingDefaultType(Effect.succeed([]))),
  env: Schema.Record(Schema.String, Schema.String).pipe(Schema.withDecodingDefaultType(Effect.succeed({}))),
  /** Where the command runs; in a manifest relative to its folder. */
  directory: Schema.optionalKey(Schema.String),
  health: Schema.optionalKey(HealthCheck),
  /** How long a process may take to end by itself after SIGTERM. */
  stopTimeout: TimeSpan.pipe(Schema.withDecodingDefaultType(Effect.succeed("10 seconds")))
}

export const Service = Kind.make({
  group,
  version: "v1",
  kind: "Service",
  scope: "Cluster",
  spec: Schema.Struct({
    ...template,
    replicas: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 })).pipe(
      Schema.withDecodingDefaultType(Effect.succeed(1))
    ),
    ports: PortRange
  }),
  status: Schema.Struct({ replicas: Schema.Int, ready: Schema.Int, conditions: Condition.List })
})
export type Service = Kind.Resource<typeof Service>

/** What an operating-system process is started with: another launch means another process. */
export const Launch = Schema.Struct({
  command: Schema.String,
  args: Schema.Array(Schema.String),
  env: Schema.Record(Schema.String, Schema.String),
  directory: Schema.optionalKey(Schema.String),
  port: Port
})
export type Launch = typeof Launch.Type

/**
 * A process of the operating system for as long as it lives: process ids are used again, a process id together with the
 * time at which the process began is not. `began` also names the boot of the machine.
 */
export const Identity = Schema.Struct({ pid: Schema.Int, began: Schema.String })
export type Identity = typeof Identity.Type

/**
 * Where a process is in its life, and what that place carries. Times are RFC 3339.
 *
 * ```
 *   Starting ──► Running ──► Stopping ──► Stopped
 *      ▲            │            │
 *      └─ Backoff ◄─┴────────────┘
 * ```
 */
export const Phase = Schema.TaggedUnion({
  /** It was decided to start it; from here on such a process may exist. */
  Starting: { launch: Launch },
  Running: { launch: Launch, identity: Identity, since: Schema.String, failedChecks: Schema.Int },
  /**
   * It was decided to end it. Once it was asked to, it is killed at `killAt`; without that, a supervisor that ended in
   * between may have asked or not.
   */
  Stopping: { launch: Launch, identity: Identity, killAt: Schema.optionalKey(Schema.String), crashed: Schema.Boolean },
  Backoff: { launch: Launch, until: Schema.String },
  Stopped: {}
})
export type Phase = typeof Phase.Type

export const Process = Kind.make({
  group,
  version: "v1",
  kind: "Process",
  plural: "processes",
  scope: "Cluster",
  spec: Schema.Struct({
    ...template,
    service: Schema.String,
    ordinal: Schema.Int,
    port: Port,
    /** `Stopped` keeps the object and ends the process: so a supervisor that is told to end ends its processes. */
    state: Schema.Literals(["Running", "Stopped"])
  }),
  status: Schema.Struct({
    phase: Phase,
    /** How many times it was started. A process that runs carries the number of its start. */
    starts: Schema.Int,
    /** Ends in a row that nobody asked for. */
    crashes: Schema.Int,
    /** Which run of the supervisor started or adopted it. */
    supervisor: Schema.optionalKey(Identity),
    conditions: Condition.List
  })
})
export type Process = Kind.Resource<typeof Process>
export type ProcessStatus = NonNullable<Process["status"]>

/** Which supervisor the state belongs to: one at a time. */
export const Supervisor = Kind.make({
  group,
  version: "v1",
  kind: "Supervisor",
  scope: "Cluster",
  spec: Schema.Struct({ identity: Identity })
})
export type Supervisor = Kind.Resource<typeof Supervisor>
