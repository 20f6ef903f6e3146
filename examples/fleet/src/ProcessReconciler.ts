/**
 * Brings a process of the operating system to the state that its object asks for. What to do is `processRules.ts`'s to
 * say; here it is done.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Finalizer, Outcome, Reconciler, Store } from "setpoint"
import { type Identity, type Launch, millis, Process, type ProcessStatus } from "./Kinds.ts"
import { Processes } from "./Processes.ts"
import * as Rules from "./processRules.ts"

const poll = Outcome.requeueAfter(Rules.pollMillis)

/** One step towards what the object asks for; `undefined` when nothing runs and nothing should. */
const step = Effect.fnUntraced(function*(process: Process) {
  const processes = yield* Processes
  const now = yield* Clock.currentTimeMillis
  const next = Rules.next(process, yield* see(process), processes.self, now)
  switch (next._tag) {
    case "Start":
      yield* start(process)
      return poll
    case "Adopt": {
      const { identity, launch } = next
      yield* Effect.logInfo(`${process.metadata.name} is adopted, pid ${identity.pid}`)
      yield* write(process, Rules.adopted(process, identity, launch, processes.self, now))
      return poll
    }
    case "Check":
      return yield* check(process, now)
    case "Terminate":
      yield* Effect.logInfo(`${process.metadata.name} is asked to end, pid ${next.identity.pid}: ${next.why}`)
      yield* ask(yield* write(process, Rules.stopping(process, next)), next.identity)
      return poll
    case "Ask":
      yield* ask(process, next.identity)
      return poll
    case "Kill":
      yield* Effect.logWarning(`${process.metadata.name} did not end within ${process.spec.stopTimeout}: it is killed`)
      yield* processes.signal(next.identity, "SIGKILL")
      return poll
    case "Wait":
      return Outcome.requeueAfter(next.millis)
    case "BackOff":
      yield* sweep(yield* backOff(process, next.launch, next.why))
      return poll
    case "Rest": {
      yield* rest(process)
      return undefined
    }
  }
})

/** Looks for the process that the object's phase speaks of. */
const see = Effect.fnUntraced(function*(process: Process): Effect.fn.Return<Rules.Sight, never, Processes> {
  const processes = yield* Processes
  const suspect = Rules.suspect(process.status?.phase)
  if (suspect === "none") return { _tag: "Down", how: undefined }
  if (suspect !== "marked") {
    const sight = yield* processes.look(suspect)
    return sight._tag === "Alive" ? { _tag: "Up", identity: suspect } : { _tag: "Down", how: sight.how }
  }
  // The supervisor ended between its decision to start and the note of what it had started.
  const found = yield* processes.find(process.metadata.uid)
  const mine = found.find(({ leader, mark }) => leader && mark.start === process.status?.starts)
  return mine === undefined ? { _tag: "Down", how: undefined } : { _tag: "Up", identity: mine.identity }
})

/** Notes the decision, starts, notes what was started: whatever is lost between, the mark finds it again. */
const start = Effect.fnUntraced(function*(process: Process) {
  const processes = yield* Processes
  const decided = yield* write(process, Rules.starting(process, processes.self))
  yield* sweep(decided)
  const launch = Rules.launchOf(process.spec)
  const mark = { owner: process.metadata.uid, start: decided.status?.starts ?? 0 }
  yield* processes.start(process.metadata.name, mark, launch).pipe(
    Effect.flatMap((identity) => record(decided, identity, launch)),
    Effect.catchTag("CannotStart", (error) => backOff(decided, launch, error.message))
  )
})

const record = Effect.fnUntraced(function*(process: Process, identity: Identity, launch: Launch) {
  const now = yield* Clock.currentTimeMillis
  const { self } = yield* Processes
  yield* Effect.logInfo(`${process.metadata.name} is started, pid ${identity.pid}, port ${launch.port}`)
  return yield* write(process, Rules.started(process, identity, launch, self, now))
})

const backOff = Effect.fnUntraced(function*(process: Process, launch: Launch, why: string) {
  const status = Rules.backingOff(process, launch, why, yield* Clock.currentTimeMillis)
  const delay = Rules.backoffMillis(status.crashes)
  yield* Effect.logWarning(`${process.metadata.name} ended (${why}): starts again in ${delay} ms`)
  return yield* write(process, status)
})

/** The decision is noted before, that it was asked after: whatever is lost between, it is asked at least once. */
const ask = Effect.fnUntraced(function*(process: Process, identity: Identity) {
  const processes = yield* Processes
  yield* processes.signal(identity, "SIGTERM")
  const status = Rules.asked(process, yield* Clock.currentTimeMillis)
  if (status !== undefined) yield* write(process, status)
})

const rest = Effect.fnUntraced(function*(process: Process) {
  if (process.status?.phase._tag === "Stopped") return yield* sweep(process)
  yield* Effect.logInfo(`${process.metadata.name} has ended`)
  yield* sweep(yield* write(process, Rules.stopped(process)))
})

/**
 * Ends what processes of earlier starts left behind: their children. Only under a status that was just written or read
 * as it is: under a stale one, what runs would be taken for what was left.
 */
const sweep = Effect.fnUntraced(function*(process: Process) {
  if ((process.status?.starts ?? 0) === 0) return
  const processes = yield* Processes
  const left = yield* processes.find(process.metadata.uid)
  yield* Effect.forEach(left, ({ identity }) => processes.signal(identity, "SIGKILL"), { discard: true })
})

const check = Effect.fnUntraced(function*(process: Process, now: number) {
  const processes = yield* Processes
  const { health, port } = process.spec
  const failure = health === undefined
    ? undefined
    : yield* processes.probe(port, health).pipe(
      Effect.as(undefined),
      Effect.catchTag("Unhealthy", (error) => Effect.succeed(error.why))
    )
  const status = Rules.checked(process, failure, now)
  if (status === undefined) return poll
  yield* write(process, status)
  const waits = status.conditions.some((condition) => condition.reason === "Starting")
  return waits ? poll : Outcome.requeueAfter(health === undefined ? "1 second" : millis(health.every))
})

const write = (process: Process, status: ProcessStatus) => Store.updateStatus(Process, process, status)

/** An object goes only when its process is gone. */
const ended = Finalizer.make(Process, {
  name: "fleet.example.dev/process",
  cleanup: (process) =>
    Effect.map(step(process), (outcome) => outcome === undefined ? undefined : Finalizer.notYet(outcome))
})

export const processes = Reconciler.make(Process, {
  sources: [
    Reconciler.fromStream(
      "ends",
      Stream.unwrap(Effect.map(Processes, (processes) => Stream.map(processes.ends, (name) => ({ name }))))
    )
  ],
  // Probes wait for answers, so many run at once.
  concurrency: 64,
  reconcile: Effect.fn("Process.reconcile")(function*(request) {
    const process = yield* Store.get(Process, request)
    return yield* Finalizer.run(ended, process, step)
  })
})
