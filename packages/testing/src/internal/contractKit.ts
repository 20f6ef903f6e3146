/** What the tests of the store contract are written with: a kind, raw writes, and a reader of watches. */
import { assert } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Kind from "setpoint/Kind"
import type { Json, JsonObject, Key, Raw } from "setpoint/Resource"
import * as StoreDriver from "setpoint/StoreDriver"
import type { Reason, StoreError } from "setpoint/StoreError"

export const Website = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Website",
  spec: Schema.Struct({
    host: Schema.String,
    replicas: Schema.Int,
    paths: Schema.optionalKey(Schema.Array(Schema.Struct({ name: Schema.String, to: Schema.String })))
  }),
  status: Schema.Struct({
    ready: Schema.Int,
    observedGeneration: Schema.optionalKey(Schema.Int),
    conditions: Schema.optionalKey(Schema.Array(Schema.Struct({
      type: Schema.String,
      status: Schema.String,
      reason: Schema.optionalKey(Schema.String),
      lastTransitionTime: Schema.optionalKey(Schema.String),
      observedGeneration: Schema.optionalKey(Schema.Int)
    })))
  })
})

export const Region = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Region",
  scope: "Cluster",
  fields: { data: Schema.Record(Schema.String, Schema.String) }
})

export const at: StoreDriver.KindAddress = Website.address

export interface Parts {
  readonly namespace?: string
  readonly spec?: JsonObject
  readonly status?: JsonObject
  readonly labels?: { readonly [key: string]: string }
  readonly annotations?: { readonly [key: string]: string }
  readonly finalizers?: ReadonlyArray<string>
  readonly ownerReferences?: Raw["metadata"]["ownerReferences"]
}

/** A Website as a caller would write it down. */
export const website = (name: string, parts: Parts = {}): Raw => {
  const { namespace = "default", spec = { host: `${name}.example.dev`, replicas: 1 }, status, ...metadata } = parts
  return {
    apiVersion: "example.dev/v1",
    kind: "Website",
    metadata: { name, namespace, ...metadata } as Raw["metadata"], // the rest is the store's
    spec,
    ...(status === undefined ? {} : { status })
  }
}

let writes = 0
/** Unique in this process, which is all that a test needs. */
export const writeId = (): string => `write-${++writes}`

type Options = Partial<StoreDriver.WriteOptions>

export const write = (
  write: StoreDriver.Write,
  options: Options = {},
  address: StoreDriver.KindAddress = at
): Effect.Effect<StoreDriver.Written, StoreError, StoreDriver.StoreDriver> =>
  Effect.flatMap(
    StoreDriver.StoreDriver,
    (driver) => driver.write(address, write, { writeId: writeId(), hasStatus: true, ...options })
  )

export const create = (name: string, parts?: Parts, options?: Options) =>
  Effect.map(write({ op: "create", object: website(name, parts) }, options), ({ object }) => object)

/** An update that carries what was read. */
export const update = (read: Raw, change: Partial<Raw>, options?: Options) =>
  write({ op: "update", object: { ...read, ...change } }, { ...carried(read), ...options })

export const updateStatus = (read: Raw, status: Json, options?: Options) =>
  write({ op: "updateStatus", object: { ...read, status } }, { ...carried(read), ...options })

export const withMetadata = (read: Raw, change: Partial<Raw["metadata"]>): Partial<Raw> => ({
  metadata: { ...read.metadata, ...change }
})

export const remove = (
  key: Key,
  options?: Options & { readonly propagation?: StoreDriver.Propagation }
) => write({ op: "delete", key, propagation: options?.propagation ?? "background" }, options)

export const patch = (
  key: Key,
  type: "merge" | "json",
  patch: Json,
  options?: Options & { readonly subresource?: "status" | "scale" }
) => write({ op: "patch", key, type, patch, subresource: options?.subresource }, options)

const carried = (read: Raw) => ({ uid: read.metadata.uid, revision: read.metadata.resourceVersion })

export const keyOf = (name: string, namespace = "default"): Key => ({ namespace, name })

export const get = (name: string, namespace?: string) =>
  Effect.flatMap(
    StoreDriver.StoreDriver,
    (driver) => driver.get(at, keyOf(name, namespace), { consistency: "mostRecent" })
  )

export const list = (options: Omit<StoreDriver.ListOptions, "consistency"> = {}) =>
  Effect.flatMap(StoreDriver.StoreDriver, (driver) => driver.list(at, { consistency: "mostRecent", ...options }))

export const names = (objects: ReadonlyArray<Raw>): ReadonlyArray<string> =>
  objects.map((object) => object.metadata.name)

export const revisionOf = (object: Raw): number => Number(object.metadata.resourceVersion)

/** The reason why it failed. */
export const reasonOf = <A, R>(effect: Effect.Effect<A, StoreError, R>): Effect.Effect<Reason, A, R> =>
  Effect.map(Effect.flip(effect), (error) => error.reason)

export const failsWith = <A, R>(tag: Reason["_tag"], effect: Effect.Effect<A, StoreError, R>) =>
  Effect.map(Effect.exit(reasonOf(effect)), (exit) => {
    if (exit._tag === "Success") return assert.strictEqual(exit.value._tag, tag)
    assert.fail(
      `it did not fail with ${tag}: ${Cause.pretty(Cause.map(exit.cause, (value) => new Error(JSON.stringify(value))))}`
    )
  })

/** The fields that an `Invalid` names. */
export const invalidFields = <A, R>(effect: Effect.Effect<A, StoreError, R>) =>
  Effect.map(reasonOf(effect), (reason) => {
    if (reason._tag === "Invalid") return reason.fields.map((field) => field.path)
    return assert.fail(`it failed with ${reason._tag}, not Invalid`)
  })

// ---------------------------------------------------------------------------------------------------------------------
// watches
// ---------------------------------------------------------------------------------------------------------------------

export type Events = Queue.Queue<StoreDriver.WatchEvent, StoreError | Cause.Done>

/** Runs a watch in the background, and gives what it delivers one by one. */
export const follow = (
  options: Partial<StoreDriver.WatchOptions> = {},
  address: StoreDriver.KindAddress = at
): Effect.Effect<Events, never, StoreDriver.StoreDriver | Scope.Scope> =>
  Effect.gen(function*() {
    const driver = yield* StoreDriver.StoreDriver
    const events: Events = yield* Queue.unbounded<StoreDriver.WatchEvent, StoreError | Cause.Done>()
    yield* driver.watch(address, { from: "current", ...options }).pipe(
      Stream.runForEach((batch) => Queue.offerAll(events, batch)),
      Effect.catchCause((cause) => Queue.failCause(events, cause)),
      Effect.forkScoped({ startImmediately: true })
    )
    return events
  })

/** The events up to the first that satisfies the condition, bookmarks left out. */
export const until = (
  events: Events,
  isLast: (event: StoreDriver.WatchEvent) => boolean
): Effect.Effect<ReadonlyArray<StoreDriver.WatchEvent>, StoreError | Cause.Done> =>
  Effect.gen(function*() {
    const seen: Array<StoreDriver.WatchEvent> = []
    while (true) {
      const event = yield* Queue.take(events)
      if (event._tag !== "Bookmark" || isLast(event)) seen.push(event)
      if (isLast(event)) return seen
    }
  })

/** The events up to this revision, which must concern the watch. */
export const through = (events: Events, revision: string) =>
  until(events, (event) => eventRevision(event) === revision && !(event._tag === "Added" && event.initial))

export const initial = (events: Events) => until(events, (event) => event._tag === "InitialDone")

export const eventRevision = (event: StoreDriver.WatchEvent): string =>
  "object" in event ? event.object.metadata.resourceVersion : event.revision

/** `Added a`, `Deleted b`, `InitialDone`. */
export const eventText = (event: StoreDriver.WatchEvent): string => {
  switch (event._tag) {
    case "Added":
    case "Modified":
      return `${event._tag} ${event.object.metadata.name}`
    case "Deleted":
      return `${event._tag} ${event.last.metadata.name}`
    case "InitialDone":
    case "Bookmark":
      return event._tag
  }
}

export const texts = (events: ReadonlyArray<StoreDriver.WatchEvent>) => events.map(eventText)

/** A deep copy of JSON, which nobody else holds. */
export const copy = <A>(value: A): A => JSON.parse(JSON.stringify(value)) as A
