/** Random writes, lists, pages, watches and moves to a new store, beside the model. */
import { assert } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Raw } from "setpoint/Resource"
import * as StoreDriver from "setpoint/StoreDriver"
import { isStoreError, type StoreError } from "setpoint/StoreError"
import * as kit from "./contractKit.ts"
import type { MakeLayer, Test } from "./contractTypes.ts"
import * as Model from "./storeModel.ts"

const Name = Schema.Literals(["a", "b", "c"])
const Namespace = Schema.Literals(["east", "west"])
const Host = Schema.Literals(["h0", "h1"])
const Tier = Schema.Literals(["web", "api"])
const Filter = Schema.Literals(["all", "east", "web"])

const Op = Schema.Union([
  Schema.TaggedStruct("create", { namespace: Namespace, name: Name, host: Host, tier: Tier, held: Schema.Boolean }),
  Schema.TaggedStruct("update", {
    namespace: Namespace,
    name: Name,
    host: Host,
    tier: Tier,
    held: Schema.Boolean,
    stale: Schema.Boolean
  }),
  Schema.TaggedStruct("status", {
    namespace: Namespace,
    name: Name,
    ready: Schema.Literals([0, 1]),
    stale: Schema.Boolean
  }),
  Schema.TaggedStruct("patch", { namespace: Namespace, name: Name, host: Host }),
  Schema.TaggedStruct("release", { namespace: Namespace, name: Name }),
  Schema.TaggedStruct("delete", { namespace: Namespace, name: Name, carries: Schema.Boolean, stale: Schema.Boolean }),
  Schema.TaggedStruct("list", { filter: Filter }),
  Schema.TaggedStruct("page", { limit: Schema.Literals([1, 2]), anew: Schema.Literals([true, false, false, false]) }),
  Schema.TaggedStruct("resume", { back: Schema.Literals([0, 1, 3, 9, 30]), filter: Filter }),
  Schema.TaggedStruct("move", {})
])
type Op = typeof Op.Type

const [Create, Update, Status, Patch, Release, Delete, List, Page, Resume, Move] = Op.members

/** How often an operation comes, beside the others. */
const weights: ReadonlyArray<readonly [(typeof Op.members)[number], number]> = [
  [Create, 8],
  [Update, 4],
  [Status, 2],
  [Patch, 2],
  [Release, 2],
  [Delete, 2],
  [Page, 6],
  [Resume, 2],
  [List, 1],
  [Move, 1]
]
const Weighted = Schema.Union(weights.flatMap(([op, weight]) => Array.from({ length: weight }, () => op)))

const filters: {
  readonly [_ in typeof Filter.Type]: {
    readonly model: Model.Filter
    readonly options: { readonly namespace?: string; readonly selector?: string }
  }
} = {
  all: { model: () => true, options: {} },
  east: { model: (key) => key.startsWith("east/"), options: { namespace: "east" } },
  web: { model: (_, object) => object.tier === "web", options: { selector: "tier=web" } }
}

const hold = "example.dev/hold"

/** What the stores of the runs must keep; they may keep more. */
const history = 25

/** Whether a store may have forgotten a revision of the model. */
const mayBeForgotten = (world: World, revision: number) => Model.revision(world.model) - revision > history

/** One store of the run: an import makes the next one. */
interface World {
  readonly driver: StoreDriver.Service
  readonly scope: Scope.Closeable
  readonly model: Model.Model
  /** The store's revision where the model's is 0. */
  readonly base: number
  /** The model's revision when the world was opened: no cursor of an earlier one is known. */
  readonly first: number
  /** The cursor at each revision of the model since then. */
  readonly cursors: Array<string>
  readonly uids: Map<number, string>
  /** Objects as they were at each revision: what stale writers carry. */
  readonly read: Map<string, Array<readonly [Raw, Model.ModelObject]>>
  readonly watches: ReadonlyArray<readonly [typeof Filter.Type, kit.Events]>
  page: { readonly next: string; readonly at: number; readonly seen: number } | undefined
}

class Mismatch extends Schema.TaggedError<Mismatch>()("Mismatch", {
  what: Schema.String,
  expected: Schema.Unknown,
  actual: Schema.Unknown
}) {}

const agree = (what: string, actual: unknown, expected: unknown) =>
  JSON.stringify(actual) === JSON.stringify(expected)
    ? Effect.void
    : Effect.fail(new Mismatch({ what, expected, actual }))

export const tests = (test: Test, makeLayer: MakeLayer, runs: number): void => {
  test(
    "[S1] [S2] [S3] [S5] [S6] [S7] [S8] random writes, lists, pages, watches and imports agree with the model",
    Effect.gen(function*() {
      const ops = Arbitrary.array(Arbitrary.schema(Weighted), { minLength: 20, maxLength: 80 })
      const result = yield* Arbitrary.checkEffect(ops, (ops) => Effect.as(Effect.scoped(run(makeLayer, ops)), true), {
        runs,
        maxShrinks: 300
      })
      const failure = Arbitrary.formatCheckFailure(result)
      if (failure !== undefined) assert.fail(failure)
    })
  )
}

const run = (makeLayer: MakeLayer, ops: ReadonlyArray<Op>) =>
  Effect.gen(function*() {
    let world = yield* open(makeLayer, Model.empty(), [])
    for (const op of ops) {
      if (op._tag === "move") world = yield* move(makeLayer, world)
      else yield* step(world, op)
    }
    yield* settle(world)
    yield* Scope.close(world.scope, yield* Effect.exit(Effect.void))
  })

const open = (makeLayer: MakeLayer, model: Model.Model, objects: ReadonlyArray<Raw>) =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(Layer.fresh(makeLayer({ bookmarkEvery: 7, history })), scope)
    const driver = Context.get(context, StoreDriver.StoreDriver)
    if (objects.length > 0) yield* driver.import(Stream.fromIterable(objects))
    const { cursor, items, revision } = yield* driver.list(kit.at, { consistency: "mostRecent" })
    const watches: Array<readonly [typeof Filter.Type, kit.Events]> = []
    for (const filter of Filter.literals) {
      const events = yield* Effect.provideService(kit.follow(filters[filter].options), StoreDriver.StoreDriver, driver)
        .pipe(
          Scope.provide(scope)
        )
      yield* kit.initial(events)
      watches.push([filter, events])
    }
    const world: World = {
      driver,
      scope,
      model,
      base: Number(revision) - Model.revision(model),
      first: Model.revision(model),
      cursors: Array.from({ length: Model.revision(model) + 1 }, () => cursor),
      uids: new Map(),
      read: new Map(),
      watches,
      page: undefined
    }
    for (const raw of items) {
      const key = `${raw.metadata.namespace}/${raw.metadata.name}`
      const object = Model.now(model).get(key)
      if (object === undefined) {
        return yield* agree("an imported object", key, undefined).pipe(Effect.andThen(Effect.die(key)))
      }
      world.uids.set(object.life, raw.metadata.uid)
      world.read.set(key, [[raw, object]])
    }
    return world
  })

/** Exports everything into a fresh store: there the model begins anew, with the objects in their old order. */
const move = (makeLayer: MakeLayer, world: World) =>
  Effect.gen(function*() {
    yield* settle(world)
    const objects = yield* Stream.runCollect(world.driver.export)
    const last = world.cursors.at(-1) ?? ""
    const model = Model.empty()
    model.lives = world.model.lives
    let snapshot: Model.Snapshot = new Map()
    const inOrder = [...Model.now(world.model)].toSorted(([, a], [, b]) => a.revision - b.revision)
    for (const [key, object] of inOrder) {
      snapshot = new Map([...snapshot, [key, { ...object, revision: model.snapshots.length }]])
      model.snapshots.push(snapshot)
    }
    yield* Scope.close(world.scope, yield* Effect.exit(Effect.void))
    const next = yield* open(makeLayer, model, objects)
    for (const [life, uid] of next.uids) yield* agree(`uid of life ${life} after an import`, uid, world.uids.get(life))
    const stale = yield* followIn(next, { from: last })
    yield* sentinel(next)
    const end = yield* Effect.exit(kit.until(stale, () => true))
    yield* agree("whether a cursor of the old timeline is Expired", isExpired(end), true)
    yield* compareNow(next)
    return next
  })

const answerOf = (effect: Effect.Effect<StoreDriver.Written, StoreError>) =>
  Effect.map(Effect.result(effect), (result): readonly [string, Raw | undefined] =>
    result._tag === "Failure"
      ? [result.failure.reason._tag, undefined]
      : [result.success.removed ? "removed" : result.success.changed ? "changed" : "unchanged", result.success.object])

const step = (world: World, op: Exclude<Op, { readonly _tag: "move" }>) =>
  Effect.gen(function*() {
    switch (op._tag) {
      case "list":
        return yield* compareList(world, op.filter)
      case "page":
        return yield* comparePage(world, op.limit, op.anew)
      case "resume":
        return yield* compareResume(world, op.back, op.filter)
    }
    const { model } = world
    const key = `${op.namespace}/${op.name}`
    const history = world.read.get(key) ?? []
    const stale = "stale" in op && op.stale && history.length > 1
    const read = stale ? history[history.length - 2] : history.at(-1)
    const [expected, write, options] = plan(model, key, op, read)
    const id = { namespace: op.namespace, name: op.name }
    const before = Model.revision(model)
    const expectedAnswer = expected()
    const [actual, object] = yield* answerOf(
      world.driver.write(kit.at, write(id), { writeId: kit.writeId(), hasStatus: true, ...options })
    )
    yield* agree(`the answer to ${JSON.stringify(op)}`, actual, expectedAnswer)
    if (Model.revision(model) > before) yield* noteChange(world, key, object)
  })

type Plan = readonly [
  expected: () => Model.Answer,
  write: (key: { readonly namespace: string; readonly name: string }) => StoreDriver.Write,
  options: Partial<StoreDriver.WriteOptions>
]

const plan = (
  model: Model.Model,
  key: string,
  op: Exclude<Op, { readonly _tag: "move" | "list" | "page" | "resume" }>,
  read: readonly [Raw, Model.ModelObject] | undefined
): Plan => {
  const carried = read === undefined ? {} : { uid: read[0].metadata.uid, revision: read[0].metadata.resourceVersion }
  switch (op._tag) {
    case "create": {
      const { held, host, tier } = op
      const parts = {
        namespace: op.namespace,
        spec: { host },
        labels: { tier },
        ...(held ? { finalizers: [hold] } : {})
      }
      const object = kit.website(op.name, parts)
      return [() => Model.create(model, key, { host, tier, held }), () => ({ op: "create", object }), {}]
    }
    case "update": {
      const { held, host, tier } = op
      const parts = {
        namespace: op.namespace,
        spec: { host },
        labels: { tier },
        ...(held ? { finalizers: [hold] } : {})
      }
      const object = kit.website(op.name, parts)
      return [
        () => Model.change(model, key, read?.[1], { host, tier, held }),
        () => ({ op: "update", object }),
        carried
      ]
    }
    case "status": {
      const object = kit.website(op.name, { namespace: op.namespace, status: { ready: op.ready } })
      const expected = () => Model.change(model, key, read?.[1], { ready: op.ready })
      return [expected, () => ({ op: "updateStatus", object }), carried]
    }
    case "patch": {
      const patch = { spec: { host: op.host } }
      return [
        () => Model.change(model, key, undefined, { host: op.host }),
        (key) => ({ op: "patch", key, type: "merge", patch }),
        {}
      ]
    }
    case "release": {
      const patch = { metadata: { finalizers: null } }
      return [
        () => Model.change(model, key, undefined, { held: false }),
        (key) => ({ op: "patch", key, type: "merge", patch }),
        {}
      ]
    }
    case "delete": {
      const carries = op.carries && read !== undefined
      const expected = () => Model.remove(model, key, carries ? read[1] : undefined)
      return [expected, (key) => ({ op: "delete", key, propagation: "background" }), carries ? carried : {}]
    }
  }
}

const noteChange = (world: World, key: string, object: Raw | undefined) =>
  Effect.gen(function*() {
    // Of another kind, so that this look leaves the order of the objects as it is.
    const { cursor, revision } = yield* world.driver.list(kit.Region.address, { consistency: "mostRecent" })
    world.cursors.push(cursor)
    yield* agree("the store's revision", Number(revision) - world.base, Model.revision(world.model))
    const stored = Model.now(world.model).get(key)
    if (stored === undefined || object === undefined) return
    const uid = world.uids.get(stored.life)
    if (uid === undefined) {
      yield* agree("a new life's uid is new", [...world.uids.values()].includes(object.metadata.uid), false)
      world.uids.set(stored.life, object.metadata.uid)
    }
    world.read.set(key, [...(world.read.get(key) ?? []), [object, stored]])
    yield* compareObject(world, object, stored)
  })

const compareObject = (world: World, raw: Raw, object: Model.ModelObject) =>
  agree(`the object ${raw.metadata.name}`, project(world, raw), {
    uid: world.uids.get(object.life),
    generation: object.generation,
    revision: object.revision,
    spec: { host: object.host },
    status: object.ready === undefined ? undefined : { ready: object.ready },
    tier: object.tier,
    held: object.held,
    marked: object.marked
  })

const project = (world: World, { metadata, spec, status }: Raw) => ({
  uid: metadata.uid,
  generation: metadata.generation,
  revision: Number(metadata.resourceVersion) - world.base,
  spec,
  status,
  tier: metadata.labels?.tier,
  held: (metadata.finalizers ?? []).length > 0,
  marked: metadata.deletionTimestamp !== undefined
})

const keysOf = (items: ReadonlyArray<Raw>) => items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)

const compareList = (world: World, filter: typeof Filter.Type) =>
  Effect.gen(function*() {
    const { items } = yield* world.driver.list(kit.at, { consistency: "mostRecent", ...filters[filter].options })
    const snapshot = Model.now(world.model)
    yield* agree(`the list of ${filter}`, keysOf(items), Model.keys(snapshot, filters[filter].model))
    for (const raw of items) {
      const object = snapshot.get(`${raw.metadata.namespace}/${raw.metadata.name}`)
      if (object !== undefined) yield* compareObject(world, raw, object)
    }
  })

const compareNow = (world: World) => Effect.forEach(Filter.literals, (filter) => compareList(world, filter))

/** Begins a list in pages, or reads the next page of the one that was begun, however long ago. */
const comparePage = (world: World, limit: number, anew: boolean) =>
  Effect.gen(function*() {
    const begun = anew ? undefined : world.page
    const at = begun?.at ?? Model.revision(world.model)
    const seen = begun?.seen ?? 0
    const read = yield* Effect.exit(
      world.driver.list(kit.at, { consistency: "mostRecent", limit, page: begun?.next })
    )
    if (mayBeForgotten(world, at) && isExpired(read)) {
      world.page = undefined
      return
    }
    const { items, next } = yield* read
    const snapshot = world.model.snapshots[at] ?? new Map<string, Model.ModelObject>()
    const all = Model.keys(snapshot, () => true)
    yield* agree("a page", keysOf(items), all.slice(seen, seen + limit))
    yield* agree("whether a page follows", next !== undefined, all.length > seen + limit)
    for (const raw of items) {
      const object = snapshot.get(`${raw.metadata.namespace}/${raw.metadata.name}`)
      if (object !== undefined) yield* compareObject(world, raw, object)
    }
    world.page = next === undefined ? undefined : { next, at, seen: seen + limit }
  })

const textOf = (world: World, event: StoreDriver.WatchEvent): string => {
  const object = event._tag === "Deleted" ? event.last : "object" in event ? event.object : undefined
  const key = object === undefined ? "" : ` ${object.metadata.namespace}/${object.metadata.name}`
  return `${event._tag}${key} ${Number(kit.eventRevision(event)) - world.base}`
}

const isExpired = (exit: Exit.Exit<unknown, unknown>): boolean => {
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
  return isStoreError(error) && error.reason._tag === "Expired"
}

/** A change that every watch sees: what comes before it has come. */
const sentinel = (world: World) =>
  Effect.gen(function*() {
    const name = { namespace: "east", name: "zz" }
    const key = "east/zz"
    const options = () => ({ writeId: kit.writeId(), hasStatus: true })
    const object = kit.website("zz", { namespace: "east", spec: { host: "h0" }, labels: { tier: "web" } })
    const created = yield* world.driver.write(kit.at, { op: "create", object }, options())
    Model.create(world.model, key, { host: "h0", tier: "web", held: false })
    yield* noteChange(world, key, created.object)
    yield* world.driver.write(kit.at, { op: "delete", key: name, propagation: "background" }, options())
    Model.remove(world.model, key, undefined)
    yield* noteChange(world, key, undefined)
    return Model.revision(world.model)
  })

const followIn = (world: World, options: Partial<StoreDriver.WatchOptions>) =>
  Effect.provideService(kit.follow(options), StoreDriver.StoreDriver, world.driver)

/** What a watch delivers up to the sentinel of revision `to`, beside what the model says. */
const compareEvents = (
  world: World,
  what: string,
  events: kit.Events,
  from: number,
  to: number,
  filter: typeof Filter.Type
) =>
  Effect.gen(function*() {
    const isLast = (event: StoreDriver.WatchEvent) => Number(kit.eventRevision(event)) - world.base >= to
    const seen = (yield* kit.until(events, isLast)).filter((event) => event._tag !== "Bookmark")
    const expected = Model.events(world.model, from, to, filters[filter].model)
    yield* agree(what, seen.map((event) => textOf(world, event)), expected)
  })

const compareResume = (world: World, back: number, filter: typeof Filter.Type) =>
  Effect.scoped(Effect.gen(function*() {
    const from = Math.max(world.first, Model.revision(world.model) - back)
    const events = yield* followIn(world, { from: world.cursors[from] ?? "", ...filters[filter].options })
    const to = yield* sentinel(world)
    const compared = yield* Effect.exit(
      compareEvents(world, `a watch of ${filter} resumed from ${from}`, events, from, to, filter)
    )
    if (!(mayBeForgotten(world, from) && isExpired(compared))) yield* compared
  }))

/** All that the watches have seen since they were opened. */
const settle = (world: World) =>
  Effect.gen(function*() {
    yield* compareNow(world)
    const to = yield* sentinel(world)
    for (const [filter, events] of world.watches) {
      yield* compareEvents(world, `the watch of ${filter}`, events, world.first, to, filter)
    }
  })
