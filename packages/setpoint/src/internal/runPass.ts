/**
 * One pass, from a taken key to its end: the only place where user code of a reconciler runs.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type * as Tracer from "effect/Tracer"
import * as InstanceWatcher from "../InstanceWatcher.ts"
import type { Outcome } from "../Outcome.ts"
import * as Pass from "../Pass.ts"
import { keyText } from "../Resource.ts"
import * as Breaker from "./breaker.ts"
import * as Dynamic from "./dynamic.ts"
import * as EndPass from "./endPass.ts"
import { EnginePass, type Host } from "./enginePass.ts"
import * as Inputs from "./inputs.ts"
import * as KeyMemory from "./keyMemory.ts"
import * as PassEnd from "./passEnd.ts"
import type * as Registration from "./registration.ts"
import * as Spans from "./spans.ts"

/** Hears when passes start and end: for tests and simulators. Nothing is paid without one. */
export interface Observer {
  readonly passStarted: (pass: Pass.Pass) => void
  readonly passEnded: (pass: Pass.Pass, end: PassEnd.PassEnd) => void
}

/** A pass that has begun. */
export interface Begun {
  readonly pass: EnginePass
  readonly selfCaused: boolean
  readonly running: Registration.Running
  readonly scope: Scope.Closeable
  readonly work: Effect.Effect<Outcome | void, unknown>
}

const fromCaches = { readStore: false, isInDoubt: false }

/** Begins the pass of a taken key. The key is `running` from here to {@link end}. */
export const begin = (
  host: Host,
  fiber: Fiber.Fiber<unknown, unknown>,
  request: Registration.EngineRequest,
  ticket: Registration.Ticket
): Begun => {
  const { registration } = request
  const { behaviour } = registration
  const selfCaused = EndPass.isSelfCaused(request, ticket)
  const view = request.memory === undefined ? fromCaches : KeyMemory.passBegan(request.memory)
  if (ticket.gateExpired && view.readStore) registration.counters.heldByLag++
  request.isTerminal = false
  slow(request, ticket.startedMillis)
  const pass = new EnginePass(host, request, ticket.reasons, ticket.others, ++registration.passes, view)
  const running: Registration.Running = { fiber, number: pass.number, ordered: undefined }
  request.running = running
  registration.running.add(request)
  const scope = Scope.makeUnsafe()
  const inPass = Context.add(Context.add(behaviour.context, Pass.Current, pass), InstanceWatcher.Current, pass)
  const context = Context.add(inPass, Scope.Scope, scope)
  const reconcile = Effect.suspend(() => behaviour.reconcile(request))
  const work = Effect.suspend(() => {
    fiber.setContext(context) // before anything forks: a deadline runs the pass in a fiber of its own
    return decorate(host, behaviour, pass, ticket, reconcile)
  })
  return { pass, selfCaused, running, scope, work }
}

/** A key that runs too often is held after this pass, for as long as its breaker says. */
const slow = (request: Registration.EngineRequest, now: number): void => {
  const limits = request.registration.behaviour.breaker
  if (limits === undefined) return
  const waitMillis = Breaker.passBegan(request.breaker ??= Breaker.make(limits, now), limits, now)
  if (waitMillis > 0) (request.memory ??= KeyMemory.make()).slowedUntil = now + waitMillis
}

/** Adds what costs something, where it was asked for: the deadline (E9), and a span where a tracer listens. */
const decorate = (
  host: Host,
  behaviour: Registration.Behaviour,
  pass: EnginePass,
  ticket: Registration.Ticket,
  work: Effect.Effect<Outcome | void, unknown>
): Effect.Effect<Outcome | void, unknown> => {
  const inTime = behaviour.deadlineMillis === undefined ? work : Effect.timeoutOrElse(work, {
    duration: behaviour.deadlineMillis,
    orElse: () => Effect.fail(PassEnd.deadlineExceeded)
  })
  if (!behaviour.traced) return inTime
  const { request } = pass
  const known = Effect.flatMap(Effect.currentSpan, (span) => {
    pass.span = span
    return inTime
  })
  return Effect.withSpan(known, `reconcile ${request.kind}`, {
    root: true,
    kind: "consumer",
    links: linksOf(host, request, ticket),
    attributes: {
      "setpoint.registration": request.registration.name,
      "setpoint.store": request.store,
      "setpoint.object": keyText(request),
      "setpoint.pass": pass.number,
      "setpoint.causes": ticket.reasons.map((cause) => cause._tag),
      "setpoint.lane": ticket.lane,
      "setpoint.failures": ticket.failures
    }
  })
}

/** Who added the key first, and the passes whose writes its events are of: judged now, since an event may come first. */
const linksOf = (
  host: Host,
  request: Registration.EngineRequest,
  ticket: Registration.Ticket
): ReadonlyArray<Tracer.SpanLink> => {
  const spans = ticket.trace === undefined ? [] : [ticket.trace]
  for (const cause of ticket.reasons) {
    const span = cause._tag === "Event" ? Spans.of(host.spans, request.store, cause.revision) : undefined
    if (span !== undefined && !spans.includes(span)) spans.push(span)
  }
  return spans.map((span) => ({ span, attributes: {} }))
}

/** Ends the pass: queue, counters, memory. Gives what is to be told of it. */
export const end = (
  host: Host,
  begun: Begun,
  ticket: Registration.Ticket,
  exit: Exit.Exit<Outcome | void, unknown>,
  observer: Observer | undefined
): ReadonlyArray<EndPass.Report> => {
  const { pass, running } = begun
  const { request } = pass
  const { registration } = request
  const now = host.now()
  registration.running.delete(request)
  if (registration.isClosed && registration.running.size === 0) Deferred.doneUnsafe(registration.idle, Effect.void)
  const passEnd = PassEnd.ofExit(exit, request, running.ordered)
  pass.ended(!PassEnd.isOutcome(passEnd))
  const loop = EndPass.watchForLoops(request, { selfCaused: begun.selfCaused, wrote: pass.wrote }, now)
  const told = EndPass.endPass(request, ticket, passEnd, pass.staleAt, now)
  endWatchSet(host, request, passEnd, told)
  request.running = undefined // till here its memory is kept, though the queue may have let it go
  settleMemory(request, now)
  observer?.passEnded(pass, passEnd)
  if (told === undefined) return loop === undefined ? none : [loop]
  return loop === undefined ? [told] : [told, loop]
}

const none: ReadonlyArray<EndPass.Report> = []

/** D2: what it read is what can cure a pass that ended for good; any other failure asks again when it is retried. */
const endWatchSet = (
  host: Host,
  request: Registration.EngineRequest,
  end: PassEnd.PassEnd,
  told: EndPass.Report | undefined
): void => {
  if (!request.isWatching) return
  switch (end._tag) {
    case "Gone":
      return Dynamic.release(host.dynamic, request)
    case "Done":
    case "Requeue":
    case "RequeueAfter":
    case "Terminal":
      return Dynamic.commit(host.dynamic, request)
    default:
      return told?._tag === "GaveUp" ? Dynamic.commit(host.dynamic, request) : Dynamic.abort(host.dynamic, request)
  }
}

/** The gate as the memory has it, and no memory where there is nothing to remember (Q7). */
export const settleMemory = (request: Registration.EngineRequest, now: number): void => {
  const { memory } = request
  if (memory === undefined) return
  Inputs.syncGate(request)
  if (KeyMemory.isEmpty(memory, now)) request.memory = undefined
}
