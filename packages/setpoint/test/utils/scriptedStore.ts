/**
 * A store that does what a test says: it keeps objects, a history and watchers, and loses, refuses, repeats or goes back
 * in time on demand. Its driver logs every list and watch it is asked for.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type { Key, Raw } from "setpoint/Resource"
import type * as StoreDriver from "setpoint/StoreDriver"
import { Expired, Invalid, make as storeError, type Reason, type StoreError } from "setpoint/StoreError"

export const address: StoreDriver.KindAddress = {
  group: "example.dev",
  version: "v1",
  kind: "Thing",
  plural: "things",
  scope: "Namespaced"
}

type Frame = ReadonlyArray<StoreDriver.WatchEvent>

export interface Put {
  readonly namespace?: string | undefined
  readonly labels?: { readonly [key: string]: string } | undefined
  readonly owner?: string | undefined
  readonly spec?: unknown
}

/** One call that the driver was asked for, as a test reads it. */
export type Call =
  | `list${"" | " next"}`
  | `watch ${string}`

export class ScriptedStore {
  /** Whether the pages of a list are one snapshot. */
  readonly snapshotPages: boolean
  readonly driver: StoreDriver.Service

  constructor(options?: { readonly snapshotPages: boolean }) {
    this.snapshotPages = options?.snapshotPages ?? true
    this.driver = this.makeDriver()
  }

  readonly calls: Array<Call> = []
  readonly objects = new Map<string, Raw>()
  history: Array<StoreDriver.WatchEvent> = []
  revision = 0
  timeline = 1
  /** Cursors below it are expired. */
  floor = 0
  lives = 0
  /** What the next lists and watches fail with, in order. */
  readonly listFailures: Array<Reason> = []
  readonly watchFailures: Array<Reason> = []
  /** How far below the truth the next lists answer, in order. */
  readonly listsBelow: Array<number> = []
  streams = true
  /** Lists and watches that begin now answer nothing. */
  hang = false
  /** How many watches are open now. */
  open = 0
  private readonly pages: Array<StoreDriver.Page> = []
  private readonly watchers = new Set<Queue.Queue<Frame, StoreError | Cause.Done>>()

  cursor(revision: number): string {
    return `${revision}@${this.timeline}`
  }

  put(name: string, { labels, namespace = "default", owner, spec = {} }: Put = {}): Raw {
    const id = `${namespace}/${name}`
    const old = this.objects.get(id)
    const revision = ++this.revision
    const object: Raw = Object.freeze({
      apiVersion: "example.dev/v1",
      kind: "Thing",
      metadata: {
        name,
        namespace,
        uid: old?.metadata.uid ?? `uid-${++this.lives}`,
        resourceVersion: String(revision),
        creationTimestamp: "2026-01-01T00:00:00Z",
        ...(labels === undefined ? {} : { labels }),
        ...(owner === undefined
          ? {}
          : { ownerReferences: [{ apiVersion: "example.dev/v1", kind: "Thing", name: "owner", uid: owner }] })
      },
      spec
    })
    this.objects.set(id, object)
    this.record({
      _tag: old === undefined ? "Added" : "Modified",
      object,
      initial: false,
      cursor: this.cursor(revision),
      writeId: `w${revision}`
    })
    return object
  }

  delete(name: string, namespace = "default"): void {
    const last = this.objects.get(`${namespace}/${name}`)
    if (last === undefined) return
    const revision = ++this.revision
    this.objects.delete(`${namespace}/${name}`)
    this.record({ _tag: "Deleted", last, revision: String(revision), cursor: this.cursor(revision) })
  }

  private record(event: StoreDriver.WatchEvent): void {
    this.history.push(event)
    this.send(event)
  }

  /** Sends frames to the open watches, whatever the history says. */
  send(...events: Frame): void {
    for (const watcher of this.watchers) Queue.offerUnsafe(watcher, events)
  }

  bookmark(): void {
    this.send({ _tag: "Bookmark", revision: String(this.revision), cursor: this.cursor(this.revision) })
  }

  /** Ends the open watches, with an error or without. */
  drop(reason?: Reason): void {
    const watchers = [...this.watchers] // who waits wakes at once, and may watch anew before this loop is over
    this.watchers.clear()
    for (const watcher of watchers) {
      if (reason === undefined) Queue.endUnsafe(watcher)
      else Queue.failCauseUnsafe(watcher, Cause.fail(error("watch", reason)))
    }
  }

  /** The history up to now can no longer be resumed. */
  compact(): void {
    this.floor = this.revision
    this.history = []
  }

  /** A backup is restored: what the store holds is as `keep` says, at `revision`, in a new timeline. */
  restore(keep: ReadonlyArray<Raw>, revision: number): void {
    this.timeline++
    this.floor = revision
    this.history = []
    this.revision = revision
    this.objects.clear()
    for (const object of keep) this.objects.set(`${object.metadata.namespace}/${object.metadata.name}`, object)
  }

  private sorted(): ReadonlyArray<Raw> {
    return Array.from(this.objects.keys()).toSorted().flatMap((id) => this.objects.get(id) ?? [])
  }

  /** What is left of a list: as it was at its first page, or as it is now. */
  private restOf(page: string): StoreDriver.Page {
    const rest = this.pages[Number(page)]
    const first = rest?.items[0]
    if (rest === undefined || first === undefined) throw new Error(`no page ${page}`)
    if (this.snapshotPages) return rest
    const revision = String(this.revision)
    const items = this.sorted().filter(({ metadata }) => metadata.name >= first.metadata.name)
    return { items, revision, cursor: this.cursor(this.revision) }
  }

  private list(options: StoreDriver.ListOptions): Effect.Effect<StoreDriver.Page, StoreError> {
    return Effect.suspend(() => {
      this.calls.push(options.page === undefined ? "list" : "list next")
      if (this.hang) return Effect.never
      const failure = this.listFailures.shift()
      if (failure !== undefined) return Effect.fail(error("list", failure))
      const revision = Math.max(0, this.revision - (this.listsBelow.shift() ?? 0))
      const rest = options.page === undefined
        ? { items: this.sorted(), revision: String(revision), cursor: this.cursor(revision) }
        : this.restOf(options.page)
      const items = rest.items.slice(0, options.limit)
      const next = rest.items.slice(items.length)
      if (next.length === 0) return Effect.succeed({ ...rest, items })
      const page = String(this.pages.length)
      this.pages.push({ ...rest, items: next })
      return Effect.succeed({ ...rest, items, next: page })
    })
  }

  private watch(options: StoreDriver.WatchOptions): Stream.Stream<Frame, StoreError> {
    return Stream.unwrap(Effect.gen({ self: this }, function*() {
      this.calls.push(`watch ${options.from}`)
      if (this.hang) return Stream.never
      const failure = this.watchFailures.shift()
      if (failure !== undefined) return Stream.fail(error("watch", failure))
      const frames: Array<Frame> = []
      const revision = String(this.revision)
      const cursor = this.cursor(this.revision)
      if (options.from === "current") {
        if (!this.streams) {
          return Stream.fail(error("watch", new Invalid({ fields: [{ path: "from", why: "must be a cursor" }] })))
        }
        for (const object of this.sorted()) frames.push([{ _tag: "Added", object, initial: true, cursor }])
        frames.push([{ _tag: "InitialDone", revision, cursor }])
      } else {
        const [at, timeline] = options.from.split("@").map(Number)
        if (at === undefined || timeline !== this.timeline) {
          return Stream.fail(error("watch", new Expired({ why: "another timeline", otherTimeline: true })))
        }
        if (at < this.floor) return Stream.fail(error("watch", new Expired({ why: `below ${this.floor}` })))
        for (const event of this.history) if (revisionOf(event) > at) frames.push([event])
      }
      const queue = yield* Queue.unbounded<Frame, StoreError | Cause.Done>()
      this.watchers.add(queue)
      this.open++
      Queue.offerAllUnsafe(queue, frames)
      const close = Effect.sync(() => {
        this.open--
        this.watchers.delete(queue)
      })
      return Stream.ensuring(Stream.fromQueue(queue), close)
    }))
  }

  private makeDriver(): StoreDriver.Service {
    return {
      capabilities: {
        collector: false,
        apply: false,
        order: "store",
        comparableRevisions: true,
        snapshotPages: this.snapshotPages,
        fence: "none",
        generation: "some",
        writeIds: true
      },
      kinds: Effect.succeed([address]),
      get: (_at, key) => Effect.suspend(() => this.find(key)),
      list: (_at, options) => this.list(options),
      write: () => Effect.die("the script writes"),
      outcome: () => Effect.succeed("forgotten"),
      watch: (_at, options) => this.watch(options),
      fence: () => Effect.void,
      export: Stream.empty,
      import: () => Effect.void
    }
  }

  private find(key: Key): Effect.Effect<Raw, StoreError> {
    const object = this.objects.get(`${key.namespace}/${key.name}`)
    return object === undefined ? Effect.die("not there") : Effect.succeed(object)
  }
}

const revisionOf = (event: StoreDriver.WatchEvent): number =>
  Number("object" in event ? event.object.metadata.resourceVersion : event.revision)

const error = (operation: string, reason: Reason): StoreError =>
  storeError({ operation, kind: "Thing.example.dev", key: { namespace: "", name: "" } }, reason)
