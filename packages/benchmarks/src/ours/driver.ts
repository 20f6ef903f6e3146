/** A store driver in memory that does as little as can be: it lists what it is told to, and hands on what it is fed. */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type { Address } from "setpoint/Kind"
import type { Json, Key, Raw } from "setpoint/Resource"
import type { Capabilities, Service, WatchEvent } from "setpoint/StoreDriver"
import { NotFound, StoreError } from "setpoint/StoreError"

const deepFreeze = (value: Json | Raw): void => {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const inner of Object.values(value)) deepFreeze(inner as Json)
}

/** Drivers hand out frozen objects. */
export const frozen = <A extends Raw>(object: A): A => {
  deepFreeze(object)
  return object
}

/** An update as the watch tells it. */
export const modified = (object: Raw): WatchEvent => ({
  _tag: "Modified",
  object,
  initial: false,
  cursor: object.metadata.resourceVersion
})

const revision = "2000000"

const capabilities: Capabilities = {
  collector: true,
  apply: false,
  order: "store",
  comparableRevisions: true,
  snapshotPages: true,
  fence: "none",
  generation: "all",
  writeIds: false
}

const absent = (operation: string, at: Address, key: Key) =>
  Effect.fail(new StoreError({ operation, kind: at.kind, key, reason: new NotFound() }))

/**
 * Lists n objects in pages of what is asked for, each made by `make` when its page is read. It serves one kind, whatever is
 * asked.
 */
const driverOf = (
  n: number,
  make: (i: number) => Raw,
  watch: Stream.Stream<ReadonlyArray<WatchEvent>>
): Service => ({
  capabilities,
  kinds: Effect.succeed([]),
  get: (at, key) => absent("get", at, key),
  list: (_, options) =>
    Effect.sync(() => {
      const from = Number(options.page ?? 0)
      const to = Math.min(n, from + (options.limit ?? n))
      const items = Array.from({ length: to - from }, (_, i) => make(from + i))
      return { items, revision, cursor: revision, next: to < n ? String(to) : undefined }
    }),
  write: (at) => absent("write", at, { namespace: "", name: "" }),
  outcome: () => Effect.succeed("forgotten"),
  watch: () => watch,
  fence: () => Effect.void,
  export: Stream.empty,
  import: () => Effect.void
})

/** A driver whose watch takes what is fed; `feed` waits while it has not taken the last 1,024. */
export interface Feed {
  readonly driver: Service
  readonly feed: (event: WatchEvent) => Effect.Effect<boolean>
}

export const make = (n: number, makeObject: (i: number) => Raw): Effect.Effect<Feed> =>
  Effect.map(Queue.bounded<WatchEvent>(1024), (events) => ({
    driver: driverOf(n, makeObject, Stream.fromEffectRepeat(Queue.takeAll(events))),
    feed: (event) => Queue.offer(events, event)
  }))

/** A driver that hands an event to its watch in the step that has it, as MemoryStore does, and a socket. */
export interface Direct {
  readonly driver: Service
  readonly handOver: (event: WatchEvent) => void
}

export const makeDirect = (n: number, makeObject: (i: number) => Raw): Direct => {
  let buffer: Array<WatchEvent> = []
  let wake: (() => void) | undefined = undefined
  const takeAll = Effect.sync(() => {
    const events = buffer
    buffer = []
    return events
  })
  const somethingThere = Effect.callback<void>((resume) => {
    if (buffer.length > 0) return resume(Effect.void)
    wake = () => resume(Effect.void)
    return Effect.sync(() => {
      wake = undefined
    })
  })
  return {
    driver: driverOf(n, makeObject, Stream.fromEffectRepeat(Effect.andThen(somethingThere, takeAll))),
    handOver: (event) => {
      buffer.push(event)
      const waiting = wake
      wake = undefined
      waiting?.()
    }
  }
}

/** One store of several kinds: the feed of each, by the name of its kind. */
export const byKind = (feeds: { readonly [kind: string]: Feed }): Service => {
  const of = ({ kind }: Address): Service => {
    const feed = feeds[kind]
    if (feed === undefined) throw new Error(`nothing feeds ${kind}`)
    return feed.driver
  }
  const [first] = Object.values(feeds)
  if (first === undefined) throw new Error("give at least one feed")
  return {
    ...first.driver,
    list: (at, options) => of(at).list(at, options),
    watch: (at, options) => of(at).watch(at, options)
  }
}
