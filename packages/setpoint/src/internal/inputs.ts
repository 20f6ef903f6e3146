/**
 * Inputs: how changes of caches become requests of a registration. Synchronous, O(1) a change: they run in the informer's
 * own step.
 */
import * as Result from "effect/Result"
import type * as Tracer from "effect/Tracer"
import * as Informer from "../Informer.ts"
import type { AnyKind } from "../Kind.ts"
import * as Owner from "../Owner.ts"
import type { Cause } from "../Pass.ts"
import * as Predicate from "../Predicate.ts"
import type { Owned } from "../Reconciler.ts"
import type { Target } from "../Request.ts"
import { type Any, keyText, type Raw } from "../Resource.ts"
import * as WorkQueue from "../WorkQueue.ts"
import * as KeyMemory from "./keyMemory.ts"
import type { Mapper } from "./mapper.ts"
import * as Registration from "./registration.ts"

/** A change as predicates and mapping functions see it: objects are decoded when they are looked at, and only then. */
class LazyChange implements Predicate.Change<Any> {
  readonly type: "Added" | "Modified" | "Deleted"
  readonly raw: Raw
  readonly oldRaw: Raw | undefined
  readonly #decode: (raw: Raw) => Any
  constructor(change: Informer.Change, decode: (raw: Raw) => Any) {
    this.type = change.type
    this.raw = change.object
    this.oldRaw = change.type === "Added" ? undefined : change.old
    this.#decode = decode
  }
  get object(): Any {
    return this.#decode(this.raw)
  }
  get old(): Any | undefined {
    return this.oldRaw === undefined ? undefined : this.#decode(this.oldRaw)
  }
}

/** Decodes or throws: who looks at an object that does not decode gets no answer, and the event passes (S12). */
const decodeOrThrow = (kind: AnyKind) => (raw: Raw): Any => {
  const decoded = kind.decode(raw)
  if (Result.isFailure(decoded)) throw decoded.failure
  return decoded.success
}

/** Whether a watch event passes. A predicate that throws is counted, and lets it pass. */
const passes = (
  registration: Registration.Registration,
  predicate: Predicate.Predicate<never>,
  change: Predicate.Change<Any>
): boolean => {
  try {
    return predicate(change as Predicate.Change<never>) // the kind of the input decodes what its predicate declares
  } catch {
    registration.counters.handlerDefects++
    return true
  }
}

const changeOf = (change: Informer.Change, kind: AnyKind): Predicate.Change<Any> =>
  new LazyChange(change, decodeOrThrow(kind))

/** Adds with a cause. A foreign cause ends the spacing of a hot loop (E11). */
export const add = (
  request: Registration.EngineRequest,
  cause: Cause,
  lane: WorkQueue.Lane,
  trace?: Tracer.AnySpan
): boolean => {
  const { memory } = request
  const { queue } = request.registration
  if (memory !== undefined && memory.spacedUntil > -Infinity && !isOwn(memory, cause)) {
    memory.spacedUntil = -Infinity
    syncGate(request)
  }
  return WorkQueue.addUnsafe(queue, request, { lane, reason: cause, trace })
}

const isOwn = (memory: KeyMemory.KeyMemory<Registration.Feed>, cause: Cause): boolean =>
  cause._tag === "Event" ? KeyMemory.isOwnRevision(memory, cause.revision) : cause._tag === "Redelivery"

/** Adds a key, whether or not the cache holds its object. False: its queue is closed. */
export const addKey = (
  registration: Registration.Registration,
  key: { readonly namespace: string; readonly name: string },
  cause: Cause,
  lane: WorkQueue.Lane,
  trace?: Tracer.AnySpan
): boolean => {
  const request = Registration.intern(registration, key.namespace, key.name)
  const accepted = add(request, cause, lane, trace)
  Registration.forgetIfIdle(request)
  return accepted
}

/** A cache was listed anew, and what happened on the way was not told. */
export const relisted: Cause = { _tag: "Relist" }

/** Brings the queue's gate of a key in step with what the key remembers. */
export const syncGate = (request: Registration.EngineRequest): void => {
  const { memory } = request
  const { queue } = request.registration
  const now = queue.group.now()
  const until = memory === undefined ? -Infinity : KeyMemory.gateUntil(memory)
  if (until > now) WorkQueue.closeGateUnsafe(queue, request, until - now)
  else WorkQueue.openGateUnsafe(queue, request)
}

/** Whether two causes tell the same. */
export const sameCause = (a: Cause, b: Cause): boolean => {
  if (a === b) return true
  if (a._tag !== b._tag) return false
  if (a._tag === "Event" && b._tag === "Event") {
    return a.revision === b.revision && a.object === b.object && a.via === b.via && a.type === b.type
  }
  if (a._tag === "Enqueue" && b._tag === "Enqueue") return a.reason === b.reason
  return a._tag !== "ReconcileNow" || b._tag !== "ReconcileNow" || a.token === b.token
}

/** Which lane and which cause a change has that is no watch event: those no predicate judges. */
const quiet: { readonly [V in Exclude<Informer.Via, "watch">]: Cause } = {
  initial: { _tag: "Initial" },
  relist: { _tag: "Relist" },
  redelivery: { _tag: "Redelivery" },
  newTimeline: { _tag: "NewTimeline" }
}

const none: ReadonlyArray<Target> = []

/** Owners of the registration's kind, by reference of group and kind. */
const ownersOf = (raw: Raw, owner: AnyKind, controllerOnly: boolean): ReadonlyArray<Target> =>
  raw.metadata.ownerReferences === undefined ? none : Owner.requestsOf(raw, owner.address, { controllerOnly })

/** Stops passes of an object while its value is `"true"`, in capitals or not; deletion runs all the same. */
export const pausedAnnotation = "setpoint.dev/paused"

/** A new value runs a pass, whatever the predicates say. */
export const reconcileNowAnnotation = "setpoint.dev/reconcile-now"

const annotation = (raw: Raw | undefined, name: string): string | undefined => raw?.metadata.annotations?.[name]

/** Whether the annotation stops the passes of this object. */
const isPausedByAnnotation = (raw: Raw): boolean => annotation(raw, pausedAnnotation)?.toLowerCase() === "true"

/** What the reconciler's own option says of the object; one that does not decode, or a function that throws, is no stop. */
const isSuspended = (registration: Registration.Registration, raw: Raw): boolean => {
  const { suspended } = registration.behaviour.options
  if (suspended === undefined) return false
  const decoded = registration.kind.decode(raw)
  try {
    return Result.isSuccess(decoded) && suspended(decoded.success as never) // its own kind decodes what it declares
  } catch {
    registration.counters.handlerDefects++
    return false
  }
}

/** Whether the request's object has the annotation, as the cache holds it. */
export const isPaused = (request: Registration.EngineRequest): boolean => {
  const raw = Registration.cached(request)
  if (raw === undefined || raw.metadata.deletionTimestamp !== undefined) return false
  return isPausedByAnnotation(raw) || isSuspended(request.registration, raw)
}

/** Whether the reconciler's own option says of the object something else than before. */
const isFlipped = (registration: Registration.Registration, { object, old }: Informer.Change): boolean =>
  registration.behaviour.options.suspended !== undefined && old !== undefined &&
  isSuspended(registration, object) !== isSuspended(registration, old)

/** What is for the engine itself, annotations and whether the object is suspended: no predicate of the user's judges it. */
const orderOf = (registration: Registration.Registration, change: Informer.Change): Cause | undefined => {
  if (change.type !== "Modified") return undefined
  const token = annotation(change.object, reconcileNowAnnotation)
  if (token !== undefined && token !== annotation(change.old, reconcileNowAnnotation)) {
    return { _tag: "ReconcileNow", token }
  }
  return annotation(change.object, pausedAnnotation) === annotation(change.old, pausedAnnotation) &&
      !isFlipped(registration, change)
    ? undefined
    : eventCause(change, "for", "")
}

const eventCause = (change: Informer.Change, via: "for" | "owns" | "watches", object: string): Cause => ({
  _tag: "Event",
  type: change.type,
  via,
  object,
  revision: change.revision
})

const objectText = (input: AnyKind, entry: Informer.Entry): string => `${input.groupKind} ${keyText(entry)}`

/** What the registration does with changes of its own kind (For). */
export const onOwnChange = (
  registration: Registration.Registration,
  own: Registration.OwnFeed,
  interrupt: (running: Registration.Running) => void
) => {
  const { kind } = registration
  return (change: Informer.Change): void => {
    if (registration.isClosed || registration.own !== own) return // a swap has moved on
    const request = Registration.requestOf(registration, own, change.entry)
    if (change.type === "Deleted" && change.entry.raw === undefined) Registration.becomeStray(registration, request)
    if (change.via === "redelivery") return addRedelivery(request)
    if (change.via !== "watch") return void add(request, quiet[change.via], 2)
    const { options } = registration.behaviour
    const order = orderOf(registration, change)
    const predicate = options.predicate ?? Predicate.intentChanged
    if (order !== undefined) add(request, order, 0)
    else if (passes(registration, predicate, changeOf(change, kind))) add(request, eventCause(change, "for", ""), 0)
    else return Registration.forgetIfIdle(request)
    const { memory, running } = request
    if (running === undefined || options.cancelOnNewerSpec !== true || change.type !== "Modified") return
    if (KeyMemory.isOwnRevision(memory, change.revision)) return // what the pass wrote itself is no news to it
    if (Predicate.generationChanged(changeOf(change, kind))) interrupt(running)
  }
}

/** Hands an unchanged object on. Terminal waits for news (E2). */
const addRedelivery = (request: Registration.EngineRequest): void => {
  if (!request.isTerminal) add(request, quiet.redelivery, 2)
}

/** Hands an object on at the registration's own pace, if the cache still holds it. */
export const redeliver = (registration: Registration.Registration, raw: Raw): void => {
  const { own } = registration
  const key = { namespace: raw.metadata.namespace ?? "", name: raw.metadata.name }
  const entry = own && Informer.entry(own.feed.informer, key)
  if (own === undefined || entry === undefined || registration.isClosed) return
  addRedelivery(Registration.requestOf(registration, own, entry))
}

/** Which input an event came by, and what judges it. */
interface Input {
  readonly kind: AnyKind
  readonly predicate: Predicate.Predicate<never> | undefined
}

const judge = (registration: Registration.Registration, input: Input, change: Informer.Change): boolean =>
  change.via !== "watch" ||
  passes(registration, input.predicate ?? Predicate.revisionChanged, changeOf(change, input.kind))

const addTargets = (
  registration: Registration.Registration,
  targets: ReadonlyArray<Target>,
  cause: Cause,
  lane: WorkQueue.Lane
): void => {
  for (const target of targets) {
    addKey(registration, { namespace: namespaceOf(registration.kind, target), name: target.name }, cause, lane)
  }
}

/** `""` for cluster kinds, `"default"` where a namespace is left out. */
export const namespaceOf = (kind: AnyKind, target: Target): string =>
  kind.address.scope === "Cluster" ? "" : target.namespace ?? "default"

const laneOf = (change: Informer.Change): WorkQueue.Lane => (change.via === "watch" ? 0 : 2)

const causeOf = (change: Informer.Change, via: "owns" | "watches", input: Input): Cause =>
  change.via === "watch" ? eventCause(change, via, objectText(input.kind, change.entry)) : quiet[change.via]

/** What the registration does with changes of a kind it owns: old and new owners run. */
export const onOwnedChange =
  (registration: Registration.Registration, input: Owned) => (change: Informer.Change): void => {
    if (registration.isClosed || !judge(registration, input, change)) return
    const owners = ownersOf(change.object, registration.kind, input.controllerOnly)
    const old = change.type === "Modified" && change.old !== undefined && change.old !== change.object
      ? ownersOf(change.old, registration.kind, input.controllerOnly)
      : none
    if (owners.length + old.length === 0) return
    const cause = causeOf(change, "owns", input)
    addTargets(registration, owners, cause, laneOf(change))
    if (old.length > 0) addTargets(registration, old, cause, laneOf(change))
  }

/** What the registration does with changes of a kind it watches: whom they concern the mapper says. */
export const onWatchedChange = (
  registration: Registration.Registration,
  input: Input,
  mapper: Mapper
) =>
(change: Informer.Change): void => {
  if (registration.isClosed || !judge(registration, input, change)) return
  const lane = laneOf(change)
  const cause = causeOf(change, "watches", input)
  mapper.map(change, changeOf(change, input.kind), (targets) => addTargets(registration, targets, cause, lane))
}
