/** A store driver in memory that does as little as can be: it lists what it is told to, and hands on what it is fed. */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type { Address } from "setpoint/Kind"
import type { Json, Key, Raw } from "setpoint/Resource"
import type { Service, WatchEvent } from "setpoint/StoreDriver"
import { NotFound, StoreError } from "setpoint/StoreError"

/**
 * Objects of a kind repeat themselves: one copy of apiVersion, times and labels serves all. What a driver that decodes
 * JSON does before it freezes.
 */
export const sharing = (): (object: Raw) => Raw => {
  const known = new Map<string, string>()
  const share = (text: string): string => {
    const same = known.get(text)
    if (same !== undefined) return same
    if (known.size === 4096) known.clear()
    known.set(text, text)
    return text
  }
  return (object) => {
    const { labels, name } = object.metadata
    const top = object as { apiVersion: string }
    const metadata = object.metadata as { creationTimestamp: string }
    top.apiVersion = share(top.apiVersion)
    metadata.creationTimestamp = share(metadata.creationTimestamp)
    const values = labels as { [key: string]: string } | undefined
    for (const key in values) if (values[key] === name) values[key] = name
    return object
  }
}

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

export interface Feed {
  readonly driver: Service
  /** Waits while the watch has not taken the last 1,024. */
  readonly feed: (event: WatchEvent) => Effect.Effect<boolean>
  readonly feedUnsafe: (event: WatchEvent) => boolean
}

/**
 * Lists n objects in pages of what is asked for, each made by `make` when its page is read, and watches what is fed.
 * It serves one kind, whatever is asked.
 */
export const make = (n: number, makeObject: (i: number) => Raw): Effect.Effect<Feed> =>
  Effect.map(Queue.bounded<WatchEvent>(1024), (events) => {
    const revision = "2000000"
    const absent = (operation: string, at: Address, key: Key) =>
      Effect.fail(new StoreError({ operation, kind: at.kind, key, reason: new NotFound() }))
    const driver: Service = {
      capabilities: {
        collector: true,
        apply: false,
        order: "store",
        comparableRevisions: true,
        snapshotPages: true,
        fence: "none",
        generation: "all",
        writeIds: false
      },
      kinds: Effect.succeed([]),
      get: (at, key) => absent("get", at, key),
      list: (_, options) =>
        Effect.sync(() => {
          const from = Number(options.page ?? 0)
          const to = Math.min(n, from + (options.limit ?? n))
          const items = Array.from({ length: to - from }, (_, i) => makeObject(from + i))
          return { items, revision, cursor: revision, next: to < n ? String(to) : undefined }
        }),
      write: (at) => absent("write", at, { namespace: "", name: "" }),
      outcome: () => Effect.succeed("forgotten"),
      watch: () => Stream.fromEffectRepeat(Queue.takeAll(events)),
      fence: () => Effect.void,
      export: Stream.empty,
      import: () => Effect.void
    }
    return {
      driver,
      feed: (event) => Queue.offer(events, event),
      feedUnsafe: (event) => Queue.offerUnsafe(events, event)
    }
  })

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
