/**
 * What a told run says beside its changes and faults: passes as they begin and end, and the answers of calls. An answer
 * that was out of date, or a refusal, belongs to the story; the rest is for the page.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import { type Kind, MemoryStore, Pass, Resource, type Store, type StoreError } from "setpoint"
import type { Call } from "./calls.ts"
import * as CallSite from "./callSite.ts"
import type { Line } from "./story.ts"
import * as World from "./world.ts"

/** The process that a fiber is of: its label. Given where a run is told. */
export const Process = Context.Reference<string>("setpoint/testing/Process", { defaultValue: () => "ctl" })

/** `apps/a/2`. */
export const passName = (pass: Pass.Pass): string => `${pass.registration}/${World.nameOf(pass.request)}/${pass.number}`

const say = (world: World.World, line: Omit<Line, "millis" | "isFault">): void =>
  void world.lines?.push({ millis: world.loop.now, isFault: false, ...line })

export const passStarted = (world: World.World, who: string, pass: Pass.Pass): void => {
  if (world.lines === undefined) return
  const causes = pass.causes.map(causeText).join("; ")
  say(world, { who, pass: passName(pass), text: `pass ${passName(pass)} began    ${causes}`, isAside: true })
}

/** How it ended; one that failed is part of the story, with the line that it failed at. */
export const passEnded = (world: World.World, who: string, pass: Pass.Pass, end: string, error: unknown): void => {
  if (world.lines === undefined) return
  const stack = error instanceof Error ? CallSite.inStack(error.stack ?? "") : undefined
  const failed = world.calls?.failedAt.get(pass)
  say(world, {
    who,
    pass: passName(pass),
    text: `pass ${passName(pass)} ended    ${end}${error === undefined ? "" : `: ${messageOf(error)}`}`,
    site: error === undefined ? undefined : end === "Defect" ? stack ?? failed : failed ?? stack,
    isAside: error === undefined || end === "Conflict"
  })
}

/** Its first line, as far as there is room. */
const messageOf = (error: unknown): string => {
  const said = error instanceof Error
    ? error.message === ""
      ? `${error.name} ${JSON.stringify({ ...error, _tag: undefined })}`
      : `${error.name}: ${error.message}`
    : String(error)
  const text = said.split("\n", 1)[0] ?? ""
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}

const causeText = (cause: Pass.Cause): string => {
  switch (cause._tag) {
    case "Event":
      return `${cause.type} ${cause.object === "" ? "" : `${cause.object} `}rev ${cause.revision}`
    case "Enqueue":
      return `enqueued: ${cause.reason}`
    default:
      return cause._tag
  }
}

/** A call outside that changes nothing: one that does has its own line. */
export const readOutside = (world: World.World, who: string, operation: string, isSuccess: boolean): void =>
  say(world, { ...world.turn, who, text: `${operation}${isSuccess ? "" : " failed"}`, isAside: true })

/** A call to `Store` was answered. */
export const answered = (
  world: World.World,
  call: Call,
  fiber: Fiber.Fiber<unknown, unknown>,
  exit: Exit.Exit<unknown, unknown>
): void => {
  const [kind, subject] = call.args
  if (!isKind(kind)) return
  const pass = fiber.getRef(Pass.Current)
  if (Exit.isFailure(exit) && pass !== undefined && call.site !== undefined) world.calls?.failedAt.set(pass, call.site)
  const answer = Exit.isSuccess(exit) ? answerText(world, call, kind, exit.value) : failureText(exit.cause)
  if (answer === undefined) return
  const of = [call.operation, kind.address.kind, subjectText(subject)].filter((part) => part !== "").join(" ")
  say(world, {
    who: fiber.getRef(Process),
    text: `${of}    ${answer.text}`,
    site: call.site,
    pass: pass && passName(pass),
    isAside: answer.isUsual
  })
}

interface Answer {
  readonly text: string
  readonly isUsual: boolean
}

/** Of reads: a write that changed something has its own line. */
const answerText = (world: World.World, call: Call, kind: Kind.AnyKind, value: unknown): Answer | undefined => {
  const source = call.hasReachedStore ? "" : ", from a cache"
  if (call.operation === "get" || call.operation === "latest") {
    if (!isObject(value)) return undefined
    const lag = lagOf(world, kind, value)
    const text = `rev ${value.metadata.resourceVersion}${source}${lag === undefined ? "" : `, out of date: it ${lag}`}`
    return { text, isUsual: lag === undefined }
  }
  if (call.operation === "list" && isList(value)) {
    const lag = lagIn(world, kind, value) ??
      missingIn(world, kind, call, value)
    const text = `${value.items.length}${source}${lag === undefined ? "" : `, out of date: ${lag}`}`
    return { text, isUsual: lag === undefined }
  }
  return undefined
}

/** How the store has moved on since. */
const lagOf = (world: World.World, kind: Kind.AnyKind, object: Resource.Any): string | undefined => {
  const found = MemoryStore.Core.get(world.core, kind.address, Resource.key(object))
  if (Result.isFailure(found)) return "is gone"
  const { resourceVersion, uid } = found.success.metadata
  if (uid !== object.metadata.uid) return "is another one by now"
  return resourceVersion === object.metadata.resourceVersion ? undefined : `is at rev ${resourceVersion}`
}

const lagIn = (world: World.World, kind: Kind.AnyKind, list: Store.List<Resource.Any>): string | undefined => {
  for (const object of list.items) {
    const lag = lagOf(world, kind, object)
    if (lag !== undefined) return `${World.keyText(object)} ${lag}`
  }
  return undefined
}

/** Of a list of all: what is there and not in it. */
const missingIn = (
  world: World.World,
  kind: Kind.AnyKind,
  call: Call,
  list: Store.List<Resource.Any>
): string | undefined => {
  if (call.args.length > 1) return undefined
  const page = MemoryStore.Core.list(world.core, kind.address, {})
  if (Result.isFailure(page)) return undefined
  const known = new Set(list.items.map(World.keyText))
  const missing = page.success.items.find((object) => !known.has(World.keyText(object)))
  return missing === undefined ? undefined : `${World.keyText(missing)} is not in it`
}

/** What a reconciler meets every day is told aside; what was a fault has been told. */
const failureText = (cause: Cause.Cause<unknown>): Answer | undefined => {
  const error = Cause.squash(cause)
  if (!isStoreError(error)) return undefined
  const { _tag } = error.reason
  return { text: _tag, isUsual: _tag === "NotFound" || _tag === "Unavailable" || _tag === "UnknownOutcome" }
}

const subjectText = (subject: unknown): string => {
  if (typeof subject !== "object" || subject === null) return ""
  const key: unknown = "metadata" in subject ? subject.metadata : subject
  if (typeof key !== "object" || key === null || !("name" in key) || typeof key.name !== "string") return ""
  const namespace = "namespace" in key && typeof key.namespace === "string" ? key.namespace : ""
  return World.nameOf({ namespace, name: key.name })
}

const has = <K extends string>(value: unknown, key: K): value is { readonly [_ in K]: unknown } =>
  typeof value === "object" && value !== null && key in value

const isKind = (value: unknown): value is Kind.AnyKind => has(value, "groupKind") && has(value, "address")

const isObject = (value: unknown): value is Resource.Any => has(value, "metadata") && has(value.metadata, "uid")

const isList = (value: unknown): value is Store.List<Resource.Any> => has(value, "items") && Array.isArray(value.items)

const isStoreError = (value: unknown): value is StoreError.StoreError =>
  has(value, "reason") && has(value.reason, "_tag")
