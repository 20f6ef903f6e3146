/**
 * A store of one's own: every change makes a new version of everything, in a persistent map, and the last versions are
 * kept. So a list at an earlier revision is a look at an earlier version, and a watch that comes back reads the changes of
 * the versions since.
 *
 * What a write does to an object is not this store's to say: `StoreRules.decide` says it for all stores, and
 * `WatchBuffer` stands between the changes and each reader. A store keeps objects, revisions and changes.
 */
import { Clock, Context, Effect, HashMap, Layer, Option, Random, Result, type Scope, Stream } from "effect"
import { type Resource, Selector, Store, StoreDriver, StoreError, StoreRules, WatchBuffer } from "setpoint"

export interface Options {
  /** Versions that are kept. */
  readonly history: number
  /** A bookmark for every watch once in so many changes. */
  readonly bookmarkEvery: number
  readonly maxObjectBytes: number
}

type Objects = HashMap.HashMap<string, Resource.Raw>

/** Everything at one revision, and the change that made it of the version before; the first one has none. */
interface Version {
  readonly revision: number
  readonly writeId: string
  readonly kinds: HashMap.HashMap<string, Objects>
  readonly change: (WatchBuffer.Change & { readonly kind: string }) | undefined
}

interface State {
  readonly options: Options
  /** The oldest one that is kept first, the one of now last: there is always one. */
  readonly versions: Array<Version>
  readonly addresses: Map<string, StoreDriver.KindAddress>
  readonly watches: Map<string, Set<WatchBuffer.WatchBuffer>>
  readonly fences: Map<string, number>
}

type Answer<A> = Result.Result<A, StoreError.Reason>

const latest = ({ versions }: State): Version => versions[versions.length - 1]
const cursorOf = ({ revision, writeId }: Version) => StoreRules.cursor(String(revision), writeId)
const kindName = ({ group, kind }: { readonly group: string; readonly kind: string }) => `${kind}.${group}`
const textOf = ({ name, namespace }: Resource.Key) => `${namespace}/${name}`

const objectsOf = (version: Version, kind: string): Objects =>
  Option.getOrElse(HashMap.get(version.kinds, kind), () => HashMap.empty<string, Resource.Raw>())

const invalid = (path: string, why: string): Answer<never> =>
  Result.fail(new StoreError.Invalid({ fields: [{ path, why }] }))

const watchesOf = (state: State, kind: string): Set<WatchBuffer.WatchBuffer> => {
  const watches = state.watches.get(kind) ?? new Set()
  state.watches.set(kind, watches)
  return watches
}

/** The version of a cursor (S5): one that is no longer kept, or is another one than it says, is `Expired`. */
const versionAt = (state: State, revision: number, writeId: string): Answer<Version> => {
  const { versions } = state
  const version = versions.find((version) => version.revision === revision)
  if (version?.writeId === writeId) return Result.succeed(version)
  const isTooOld = version === undefined && revision < versions[0].revision
  return Result.fail(new StoreError.Expired({ why: `revision ${revision} is not kept`, otherTimeline: !isTooOld }))
}

// ---------------------------------------------------------------------------------------------------------------------
// reading
// ---------------------------------------------------------------------------------------------------------------------

const get = (state: State, at: StoreDriver.KindAddress, key: Resource.Key): Answer<Resource.Raw> =>
  Option.match(HashMap.get(objectsOf(latest(state), kindName(at)), textOf(key)), {
    onNone: () => Result.fail(StoreRules.notFound(at, key)),
    onSome: Result.succeed
  })

/** In the order of `namespace/name` (S8); names are ASCII, so that code units do. */
const inOrder = (objects: Objects): ReadonlyArray<readonly [string, Resource.Raw]> =>
  HashMap.toEntries(objects).toSorted(([a], [b]) => (a < b ? -1 : 1))

const list = (
  state: State,
  at: StoreDriver.KindAddress,
  options: StoreDriver.ListOptions
): Answer<StoreDriver.Page> =>
  Result.gen(function*() {
    const { limit = Infinity } = options
    if (limit !== Infinity && !(Number.isInteger(limit) && limit > 0)) {
      return yield* invalid("limit", `must be a whole number above 0, but is ${limit}`)
    }
    const selector = yield* WatchBuffer.selector(options.selector)
    const { after, version } = yield* pageOf(state, options.page)
    const found = inOrder(objectsOf(version, kindName(at))).filter(([key, { metadata }]) =>
      key > after &&
      (options.namespace === undefined || options.namespace === (metadata.namespace ?? "")) &&
      (options.name === undefined || options.name === metadata.name) &&
      (options.ownerUid === undefined || metadata.ownerReferences?.some(({ uid }) => uid === options.ownerUid)) &&
      (selector === undefined || Selector.matches(selector, metadata.labels))
    )
    const page = found.slice(0, limit)
    return {
      items: page.map(([, object]) => options.metadataOnly === true ? WatchBuffer.metadataOf(object) : object),
      revision: String(version.revision),
      cursor: cursorOf(version),
      next: found.length > page.length
        ? JSON.stringify([version.revision, version.writeId, page.at(-1)?.[0]])
        : undefined
    }
  })

/** Where a page begins: the version that its first page was of, and the key it comes after. */
const pageOf = (
  state: State,
  page: string | undefined
): Answer<{ readonly version: Version; readonly after: string }> => {
  if (page === undefined) return Result.succeed({ version: latest(state), after: "" })
  const token = Result.getOrElse(Result.try(() => JSON.parse(page) as unknown), () => undefined)
  const [revision, writeId, after]: ReadonlyArray<unknown> = Array.isArray(token) ? token : []
  if (typeof revision !== "number" || typeof writeId !== "string" || typeof after !== "string") {
    return invalid("page", "is not the `next` of an earlier page")
  }
  return Result.map(versionAt(state, revision, writeId), (version) => ({ version, after }))
}

const outcome = ({ versions }: State, writeId: string) =>
  versions.some((version) => version.writeId === writeId)
    ? "applied"
    : versions[0].revision === 0
    ? "notApplied"
    : "forgotten"

// ---------------------------------------------------------------------------------------------------------------------
// writing
// ---------------------------------------------------------------------------------------------------------------------

const fence = (state: State, lease: string, epoch: number): Answer<void> => {
  const refused = StoreRules.fenced(lease, epoch, state.fences.get(lease))
  if (refused !== undefined) return Result.fail(refused)
  state.fences.set(lease, epoch)
  return Result.succeed(undefined)
}

const write = (
  state: State,
  at: StoreDriver.KindAddress,
  write: StoreDriver.Write,
  options: StoreDriver.WriteOptions,
  given: { readonly nowText: string; readonly uid: string }
): Answer<StoreDriver.Written> =>
  Result.gen(function*() {
    if (options.fence !== undefined) yield* fence(state, options.fence.lease, options.fence.epoch)
    const key = StoreRules.keyOf(write)
    const stored = Option.getOrUndefined(HashMap.get(objectsOf(latest(state), kindName(at)), textOf(key)))
    if (stored === undefined && write.op !== "create" && StoreRules.checkKey(at, key).length > 0) {
      return yield* Result.fail(StoreRules.notFound(at, key))
    }
    const revision = String(latest(state).revision + 1)
    const context = { at, revision, ...given, maxObjectBytes: state.options.maxObjectBytes }
    const decision = StoreRules.decide(stored, write, options, context)
    if (decision._tag === "Refused") return yield* Result.fail(decision.reason)
    if (decision._tag === "Unchanged") return { object: decision.object, changed: false, removed: false }
    const [after, last] = decision._tag === "Put" ? [decision.object, undefined] : [undefined, decision.last]
    if (options.dryRun !== true) {
      commit(state, at, textOf(key), { before: stored, after, last, writeId: options.writeId })
      WatchBuffer.wake(allWatches(state))
    }
    const removed = decision._tag === "Remove"
    return { object: removed ? decision.last : decision.object, changed: true, removed }
  })

/** The next version. Its readers are told, and run once all is done: they run at once, and may write. */
const commit = (
  state: State,
  at: StoreDriver.KindAddress,
  key: string,
  given: Omit<WatchBuffer.Change, "revision">
): void => {
  const kind = kindName(at)
  const before = latest(state)
  const revision = before.revision + 1
  const change = { ...given, revision, kind }
  const objects = objectsOf(before, kind)
  const next = given.after === undefined ? HashMap.remove(objects, key) : HashMap.set(objects, key, given.after)
  const version = { revision, writeId: given.writeId, kinds: HashMap.set(before.kinds, kind, next), change }
  state.addresses.set(kind, at)
  state.versions.push(version)
  if (state.versions.length > state.options.history + 1) state.versions.shift()
  WatchBuffer.publish(change, watchesOf(state, kind))
  if (revision % state.options.bookmarkEvery !== 0) return
  for (const watch of allWatches(state)) WatchBuffer.bookmark(watch, revision, given.writeId)
}

const allWatches = ({ watches }: State) => [...watches.values()].flatMap((watches) => [...watches])

// ---------------------------------------------------------------------------------------------------------------------
// watching
// ---------------------------------------------------------------------------------------------------------------------

/** A watch, and what it begins with: all that is there, or the changes since its cursor. */
const watch = (state: State, at: StoreDriver.KindAddress, options: StoreDriver.WatchOptions) =>
  Result.gen(function*() {
    const kind = kindName(at)
    const buffer = yield* WatchBuffer.make(options)
    const backlog = options.from === "current"
      ? initial(buffer, latest(state), kind)
      : yield* missed(state, buffer, kind, options.from)
    const watches = watchesOf(state, kind)
    watches.add(buffer)
    return { buffer, backlog, close: Effect.sync(() => void watches.delete(buffer)) }
  })

const initial = (
  buffer: WatchBuffer.WatchBuffer,
  version: Version,
  kind: string
): ReadonlyArray<StoreDriver.WatchEvent> => {
  const cursor = cursorOf(version)
  const added = inOrder(objectsOf(version, kind)).filter(([, object]) => WatchBuffer.concerns(buffer, object)).map(
    ([, object]) => ({ _tag: "Added", object: WatchBuffer.shown(buffer, object), initial: true, cursor }) as const
  )
  return [...added, { _tag: "InitialDone", revision: String(version.revision), cursor }]
}

const missed = (state: State, buffer: WatchBuffer.WatchBuffer, kind: string, from: string) =>
  Result.gen(function*() {
    const cursor = yield* StoreRules.parseCursor(from)
    const version = yield* versionAt(state, Number(cursor.revision), cursor.writeId)
    return state.versions.slice(state.versions.indexOf(version) + 1).flatMap(({ change }) =>
      change?.kind === kind ? WatchBuffer.eventFor(buffer, change) ?? [] : []
    )
  })

// ---------------------------------------------------------------------------------------------------------------------
// backup
// ---------------------------------------------------------------------------------------------------------------------

/** Into an empty store, all or none, as a new timeline (S5): `first` is a revision that no object has. */
const imported = (
  state: State,
  objects: ReadonlyArray<unknown>,
  given: { readonly gap: number; readonly newId: () => string }
): Answer<void> =>
  Result.gen(function*() {
    const kinds = HashMap.toValues(latest(state).kinds)
    if (kinds.some((objects) => HashMap.size(objects) > 0)) {
      return yield* Result.fail(new StoreError.Conflict({ why: "the store has objects; import into an empty one" }))
    }
    const read = yield* StoreRules.importAll(objects, { freeze: true })
    const ended = allWatches(state)
    for (const watch of ended) {
      WatchBuffer.end(watch, new StoreError.Expired({ why: "another timeline was imported", otherTimeline: true }))
    }
    state.watches.clear()
    const revision = Math.max(read.highest, latest(state).revision) + given.gap
    state.versions.splice(0, Infinity, { revision, writeId: given.newId(), kinds: HashMap.empty(), change: undefined })
    for (const { at, key, object } of read.objects) {
      const metadata = Object.freeze({ ...object.metadata, resourceVersion: String(latest(state).revision + 1) })
      const after = Object.freeze({ ...object, metadata })
      commit(state, at, textOf(key), { before: undefined, after, last: undefined, writeId: given.newId() })
    }
    WatchBuffer.wake(ended)
  })

// ---------------------------------------------------------------------------------------------------------------------
// the driver
// ---------------------------------------------------------------------------------------------------------------------

const driverOf = (state: State): StoreDriver.Service => {
  const answer = <A>(
    operation: string,
    at: StoreDriver.KindAddress,
    key: Resource.Key | undefined,
    f: () => Answer<A>
  ) =>
    Effect.suspend(() =>
      Effect.mapError(
        Effect.fromResult(f()),
        (reason) => StoreError.make(StoreError.subject(operation, at, key), reason)
      )
    )
  return {
    capabilities: {
      collector: false,
      apply: false,
      order: "store",
      comparableRevisions: true,
      snapshotPages: true,
      fence: "all",
      generation: "all",
      writeIds: true
    },
    kinds: Effect.sync(() =>
      HashMap.toEntries(latest(state).kinds).flatMap(([kind, objects]) =>
        HashMap.isEmpty(objects) ? [] : state.addresses.get(kind) ?? []
      )
    ),
    get: (at, key, { metadataOnly }) =>
      Effect.map(
        answer("get", at, key, () => get(state, at, key)),
        (object) => metadataOnly === true ? WatchBuffer.metadataOf(object) : object
      ),
    list: (at, options) => answer("list", at, undefined, () => list(state, at, options)),
    write: (at, operation, options) =>
      Effect.gen(function*() {
        const nowText = StoreRules.timestamp(yield* Clock.currentTimeMillis)
        const uid = StoreRules.uuid(yield* Random.Random)
        const key = StoreRules.keyOf(operation)
        return yield* answer(operation.op, at, key, () => write(state, at, operation, options, { nowText, uid }))
      }),
    outcome: (writeId) => Effect.sync(() => outcome(state, writeId)),
    watch: (at, options) =>
      Stream.unwrap(Effect.map(
        Effect.acquireRelease(answer("watch", at, undefined, () => watch(state, at, options)), ({ close }) => close),
        ({ backlog, buffer }) =>
          Stream.concat(
            Stream.fromIterable(backlog.length === 0 ? [] : [backlog]),
            Stream.fromEffectRepeat(Effect.mapError(
              WatchBuffer.pull(buffer),
              (reason) => StoreError.make(StoreError.subject("watch", at), reason)
            ))
          )
      )),
    fence: (lease, epoch) => answer("fence", wholeStore, undefined, () => fence(state, lease, epoch)),
    export: Stream.suspend(() =>
      Stream.fromIterable(
        HashMap.toEntries(latest(state).kinds).toSorted(([a], [b]) => a < b ? -1 : 1).flatMap(([, objects]) =>
          inOrder(objects).map(([, object]) => object)
        )
      )
    ),
    import: (objects) =>
      Effect.gen(function*() {
        const all = yield* Stream.runCollect(objects)
        const random = yield* Random.Random
        const gap = yield* Random.nextIntBetween(1, 2 ** 32)
        const newId = () => StoreRules.writeId(random)
        return yield* answer("import", wholeStore, undefined, () => imported(state, all, { gap, newId }))
      })
  }
}

const wholeStore: StoreDriver.KindAddress = { group: "", version: "", kind: "store", plural: "", scope: "Cluster" }

/** How often an idle watch is told how far it is. */
const bookmarkInterval = "1 minute"

const make = (options: Partial<Options>): Effect.Effect<StoreDriver.Service, never, Scope.Scope> =>
  Effect.gen(function*() {
    const writeId = StoreRules.writeId(yield* Random.Random)
    const state: State = {
      options: { history: 1_000, bookmarkEvery: 1_000, maxObjectBytes: StoreRules.defaultMaxObjectBytes, ...options },
      versions: [{ revision: 0, writeId, kinds: HashMap.empty(), change: undefined }],
      addresses: new Map(),
      watches: new Map(),
      fences: new Map()
    }
    const bookmark = Effect.sync(() => {
      const { revision, writeId } = latest(state)
      for (const watch of allWatches(state)) WatchBuffer.bookmark(watch, revision, writeId)
      WatchBuffer.wake(allWatches(state))
    })
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(bookmarkInterval), bookmark)))
    return driverOf(state)
  })

/** An empty store. */
export const layer = (options: Partial<Options> = {}): Layer.Layer<Store.Store | StoreDriver.StoreDriver> =>
  Layer.effectContext(
    Effect.map(
      make(options),
      (driver) => Context.make(StoreDriver.StoreDriver, driver).pipe(Context.add(Store.Store, Store.make(driver)))
    )
  )
