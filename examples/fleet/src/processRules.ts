/**
 * The life of a process as pure rules: from what its object says, what was seen of it and the time, the next step.
 */
import * as Equal from "effect/Equal"
import { Condition, Resource } from "setpoint"
import { type Identity, type Launch, millis, type Phase, type Process, type ProcessStatus } from "./Kinds.ts"

/** What was seen of the process that the object's phase speaks of. `how` it ended, where that is known. */
export type Sight =
  | { readonly _tag: "Up"; readonly identity: Identity }
  | { readonly _tag: "Down"; readonly how: string | undefined }

export type Step =
  /** Start it, for the first time or again. */
  | { readonly _tag: "Start" }
  /** It runs, and this supervisor did not know: make it its own. */
  | { readonly _tag: "Adopt"; readonly identity: Identity; readonly launch: Launch }
  /** It runs as it should: ask for its health. */
  | { readonly _tag: "Check"; readonly identity: Identity }
  | {
    readonly _tag: "Terminate"
    readonly identity: Identity
    readonly launch: Launch
    readonly why: string
    readonly crashed: boolean
  }
  /** It was decided to end it, and it may not know: ask it, perhaps once more. */
  | { readonly _tag: "Ask"; readonly identity: Identity }
  | { readonly _tag: "Kill"; readonly identity: Identity }
  | { readonly _tag: "Wait"; readonly millis: number }
  /** It ended, and nobody asked for that: note it, and start it again after a while. */
  | { readonly _tag: "BackOff"; readonly launch: Launch; readonly why: string }
  /** Nothing runs, and nothing should. */
  | { readonly _tag: "Rest" }

/** How often what nobody tells is looked at: the end of an adopted process, the health of one that starts. */
export const pollMillis = 200
/** How long a process may take to become healthy for the first time. */
export const graceMillis = 30_000
/** A process that ran this long crashed for the first time, whatever was before. */
export const settledMillis = 10_000

const firstDelayMillis = 500
const maxDelayMillis = 60_000

/** 500 ms, doubled by each crash in a row, up to a minute. */
export const backoffMillis = (crashes: number): number =>
  Math.min(maxDelayMillis, firstDelayMillis * 2 ** Math.max(0, crashes - 1))

export const launchOf = ({ args, command, directory, env, port }: Process["spec"]): Launch => ({
  command,
  args,
  env,
  ...(directory === undefined ? {} : { directory }),
  port
})

/** Which process the phase speaks of, if one may be there. */
export const suspect = (phase: Phase | undefined): Identity | "marked" | "none" => {
  switch (phase?._tag) {
    case "Running":
    case "Stopping":
      return phase.identity
    case "Starting":
      return "marked"
    default:
      return "none"
  }
}

export const isWanted = (process: Process): boolean =>
  process.spec.state === "Running" && !Resource.isMarkedForDeletion(process)

/** The one switch: what to do next. `supervisor` is this run of it, `now` the wall clock in milliseconds. */
export const next = (process: Process, sight: Sight, supervisor: Identity, now: number): Step => {
  const phase = process.status?.phase
  const wanted = isWanted(process)
  const nothing: Step = wanted ? { _tag: "Start" } : { _tag: "Rest" }
  switch (phase?._tag) {
    case undefined:
    case "Stopped":
      return nothing
    case "Backoff": {
      const remaining = Date.parse(phase.until) - now
      const sameLaunch = Equal.equals(phase.launch, launchOf(process.spec))
      return wanted && sameLaunch && remaining > 0 ? { _tag: "Wait", millis: remaining } : nothing
    }
    case "Starting":
      return sight._tag === "Up" ? { _tag: "Adopt", identity: sight.identity, launch: phase.launch } : nothing
    case "Running":
      return running(process, phase, sight, supervisor)
    case "Stopping": {
      if (sight._tag === "Up") {
        if (phase.killAt === undefined) return { _tag: "Ask", identity: phase.identity }
        const remaining = Date.parse(phase.killAt) - now
        if (remaining <= 0) return { _tag: "Kill", identity: phase.identity }
        return { _tag: "Wait", millis: Math.min(remaining, pollMillis) }
      }
      if (wanted && phase.crashed) return { _tag: "BackOff", launch: phase.launch, why: reasonOf(process) }
      return nothing
    }
  }
}

const running = (
  process: Process,
  { failedChecks, identity, launch }: Extract<Phase, { readonly _tag: "Running" }>,
  sight: Sight,
  supervisor: Identity
): Step => {
  const wanted = isWanted(process)
  if (sight._tag === "Down") {
    return wanted ? { _tag: "BackOff", launch, why: sight.how ?? "ended unseen" } : { _tag: "Rest" }
  }
  const terminate = (why: string, crashed: boolean): Step => ({ _tag: "Terminate", identity, launch, why, crashed })
  if (!wanted) {
    return terminate(Resource.isMarkedForDeletion(process) ? "it is no longer wanted" : "the supervisor ends", false)
  }
  if (!Equal.equals(launch, launchOf(process.spec))) return terminate("its spec changed", false)
  const limit = process.spec.health?.failures ?? Infinity
  if (failedChecks >= limit) return terminate(`it failed ${failedChecks} health checks: ${reasonOf(process)}`, true)
  if (!Equal.equals(process.status?.supervisor, supervisor)) return { _tag: "Adopt", identity, launch }
  return { _tag: "Check", identity }
}

const reasonOf = (process: Process): string =>
  Condition.find(process.status?.conditions ?? [], "Ready")?.message ?? "for no known reason"

const iso = (millis: number): string => new Date(millis).toISOString()

const rest: Phase = { _tag: "Stopped" }

/** What each step writes. */
const status = (process: Process, changes: Partial<ProcessStatus>, condition: Condition.Condition): ProcessStatus => ({
  phase: rest,
  starts: 0,
  crashes: 0,
  ...process.status,
  ...changes,
  conditions: [condition]
})

/** Written before the process is started: from then on one with this number of start may exist. */
export const starting = (process: Process, supervisor: Identity): ProcessStatus => {
  const launch = launchOf(process.spec)
  const before = process.status?.phase
  const again = before !== undefined && "launch" in before && Equal.equals(before.launch, launch)
  return status(
    process,
    {
      phase: { _tag: "Starting", launch },
      starts: (process.status?.starts ?? 0) + 1,
      crashes: again ? process.status?.crashes ?? 0 : 0,
      supervisor
    },
    Condition.notReady({ reason: "Starting", message: "is started" })
  )
}

export const started = (process: Process, identity: Identity, launch: Launch, supervisor: Identity, now: number) =>
  status(
    process,
    { phase: { _tag: "Running", launch, identity, since: iso(now), failedChecks: 0 }, supervisor },
    process.spec.health === undefined
      ? Condition.ready({ reason: "Running", message: "runs" })
      : Condition.notReady({ reason: "Starting", message: "is not healthy yet" })
  )

/** As it was found: only whose it is changes. One that was on its way to run is now known to run. */
export const adopted = (process: Process, identity: Identity, launch: Launch, supervisor: Identity, now: number) => {
  const phase = process.status?.phase
  if (phase?._tag !== "Running") return started(process, identity, launch, supervisor, now)
  const ready = Condition.find(process.status?.conditions ?? [], "Ready")
  return status(
    process,
    { supervisor },
    Condition.make({
      type: "Ready",
      status: ready?.status ?? "Unknown",
      reason: "Adopted",
      message: `was adopted (pid ${identity.pid})`
    })
  )
}

/** After a health check; `failure` says why it failed. */
export const checked = (process: Process, failure: string | undefined, now: number): ProcessStatus | undefined => {
  const phase = process.status?.phase
  if (phase?._tag !== "Running") return undefined
  const age = now - Date.parse(phase.since)
  if (failure === undefined) {
    const ready = Condition.find(process.status?.conditions ?? [], "Ready")
    const healthy = { reason: "Running", message: process.spec.health === undefined ? "runs" : "is healthy" }
    return status(
      process,
      { phase: { ...phase, failedChecks: 0 }, crashes: age >= settledMillis ? 0 : process.status?.crashes ?? 0 },
      // Why it is ready stays as it was said first: that it was adopted, say.
      Condition.ready(ready?.status === "True" ? { reason: ready.reason, message: ready.message } : healthy)
    )
  }
  // One that was never healthy is given time to become so.
  const wasReady = Condition.isTrue(process.status?.conditions ?? [], "Ready") || phase.failedChecks > 0
  const failedChecks = wasReady || age >= graceMillis ? phase.failedChecks + 1 : 0
  return status(
    process,
    { phase: { ...phase, failedChecks } },
    failedChecks > 0
      ? Condition.notReady({ reason: "Unhealthy", message: failure })
      : Condition.notReady({ reason: "Starting", message: `is not healthy yet: ${failure}` })
  )
}

/** Written before it is asked to end. */
export const stopping = (
  process: Process,
  { crashed, identity, launch, why }: Extract<Step, { readonly _tag: "Terminate" }>
) =>
  status(
    process,
    { phase: { _tag: "Stopping", launch, identity, crashed } },
    Condition.notReady({ reason: "Stopping", message: `ends: ${why}` })
  )

/** Written after it was asked to end: its time runs. */
export const asked = (process: Process, now: number): ProcessStatus | undefined => {
  const { status } = process
  if (status?.phase._tag !== "Stopping") return undefined
  return { ...status, phase: { ...status.phase, killAt: iso(now + millis(process.spec.stopTimeout)) } }
}

export const backingOff = (process: Process, launch: Launch, why: string, now: number) => {
  const phase = process.status?.phase
  const settled = phase?._tag === "Running" && now - Date.parse(phase.since) >= settledMillis
  const crashes = (settled ? 0 : process.status?.crashes ?? 0) + 1
  return status(
    process,
    { phase: { _tag: "Backoff", launch, until: iso(now + backoffMillis(crashes)) }, crashes },
    Condition.notReady({ reason: "Crashed", message: why })
  )
}

export const stopped = (process: Process): ProcessStatus =>
  status(process, { phase: rest, crashes: 0 }, Condition.notReady({ reason: "Stopped", message: "does not run" }))

/** How many times it was started again. */
export const restarts = (process: Process): number => Math.max(0, (process.status?.starts ?? 0) - 1)
