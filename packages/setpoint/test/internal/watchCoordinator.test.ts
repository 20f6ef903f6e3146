import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as NameMap from "setpoint/internal/nameMap"
import type * as Resource from "setpoint/Resource"
import * as Selector from "setpoint/Selector"
import * as WatchCoordinator from "setpoint/WatchCoordinator"

const Instance = Schema.Literals(["blue/1", "blue/2", "red/1"])
const Source = Schema.Literals(["pods", "secrets"])
const Namespace = Schema.Literals(["a", "b", ""])
const Name = Schema.Literals(["x", "y", "toString"])
const Value = Schema.Literals(["1", "2", "3"])
const Target = Schema.Union([
  Schema.TaggedStruct("Name", { namespace: Namespace, name: Name }),
  Schema.TaggedStruct("Selector", {
    namespace: Schema.UndefinedOr(Schema.Literals(["a", "a", "b"])),
    text: Schema.Literals([
      "",
      "k=1",
      "k=2",
      "k in (1,2)",
      "k",
      "!k",
      "k!=1",
      "l=1,k=1",
      "l=1,!k",
      "k>1",
      "k=1,!k",
      "k=1,l!=2"
    ])
  }),
  Schema.TaggedStruct("Owner", { uid: Value }),
  Schema.TaggedStruct("Index", { index: Schema.Literals(["one", "two"]), value: Value })
])
const Labels = Schema.UndefinedOr(Schema.Struct({ k: Schema.optionalKey(Value), l: Schema.optionalKey(Value) }))
const Thing = Schema.UndefinedOr(Schema.Struct({
  labels: Labels,
  owners: Schema.Array(Value),
  one: Schema.Array(Value),
  two: Schema.Array(Value)
}))
const Watch = Schema.TaggedStruct("watch", { instance: Instance, source: Source, target: Target })
const Route = Schema.TaggedStruct("route", {
  source: Source,
  namespace: Namespace,
  name: Name,
  now: Thing,
  before: Thing
})
/** Requests and events come often. */
const Op = Schema.Union([
  Watch,
  Watch,
  Watch,
  Watch,
  Schema.TaggedStruct("again", { instance: Instance }),
  Schema.TaggedStruct("commit", { instance: Instance }),
  Schema.TaggedStruct("commit", { instance: Instance }),
  Schema.TaggedStruct("abort", { instance: Instance }),
  Schema.TaggedStruct("remove", { instance: Instance }),
  Schema.TaggedStruct("removeGroup", { group: Schema.Literals(["blue", "red", "green"]) }),
  Route,
  Route,
  Route
])
type Op = typeof Op.Type
type Source = typeof Source.Type
type Thing = typeof Thing.Type

describe("the rules of the watch coordinator", () => {
  for (const selectors of ["few selectors", "many selectors"]) {
    it.effect(
      `[D1] [D4] [D5] agree with a list of requests in every step, nothing lost and nothing left, with ${selectors}`,
      () =>
        Effect.gen(function*() {
          const result = yield* Arbitrary.checkEffect(
            Arbitrary.array(Arbitrary.schema(Op), { maxLength: 80 }),
            (ops) =>
              Effect.try({
                try: () => {
                  const both = new Both(selectors === "many selectors")
                  for (const op of ops) both.step(op)
                  both.end()
                  return true
                },
                catch: (error) =>
                  new Disagreement({ stack: error instanceof Error ? String(error.stack) : String(error) })
              }),
            { runs: 500, size: 80, maxShrinks: 3000 }
          )
          assert.strictEqual(result._tag, "Passed", Arbitrary.formatCheckFailure(result))
        }),
      60_000
    )
  }

  it("a pass that asks for what the last one did allocates no request and looks nothing up", () => {
    const coordinator = WatchCoordinator.make<string, string>()
    const board = WatchCoordinator.makeBoard(coordinator, "pods")
    const targets = Array.from({ length: 20 }, (_, i) => ({ _tag: "Name", namespace: "a", name: `n${i}` }) as const)
    for (const target of targets) WatchCoordinator.watch(board, "blue/1", target)
    WatchCoordinator.commit(coordinator, "blue/1")
    const { names } = board.state
    let lookUps = 0
    const get = names.get.bind(names)
    names.get = (key) => {
      lookUps++
      return get(key)
    }
    const before = coordinator.state.groups.get(undefined)?.get("blue/1")?.requests
    for (const target of targets) WatchCoordinator.watch(board, "blue/1", { ...target })
    WatchCoordinator.commit(coordinator, "blue/1")
    assert.strictEqual(lookUps, 0)
    assert.strictEqual(coordinator.state.groups.get(undefined)?.get("blue/1")?.requests, before)
  })
})

// ---------------------------------------------------------------------------------------------------------------------

class Disagreement extends Schema.TaggedError<Disagreement>()("Disagreement", { stack: Schema.String }) {}

interface Asked {
  readonly instance: string
  readonly source: Source
  readonly target: WatchCoordinator.Target
  committed: boolean
  inThisPass: boolean
}

/** The coordinator, and a list of all requests, taken through the same steps and compared after each. */
class Both {
  asked: Array<Asked> = []
  readonly coordinator = WatchCoordinator.make<string, Source>({ groupOf: (instance) => instance.split("/")[0] })
  readonly boards: { readonly [source in Source]: WatchCoordinator.Board<string, Source> }

  constructor(manySelectors: boolean) {
    const indexes = { one: texts("one"), two: texts("two") }
    this.boards = {
      pods: WatchCoordinator.makeBoard(this.coordinator, "pods", { indexes }),
      secrets: WatchCoordinator.makeBoard(this.coordinator, "secrets", { indexes })
    }
    if (!manySelectors) return
    for (const namespace of ["a", "b", undefined]) {
      for (let i = 0; i < 12; i++) this.watch("white/1", "pods", select(`k=1,other=${i}`, namespace))
    }
  }

  step(op: Op): void {
    switch (op._tag) {
      case "watch":
        this.watch(op.instance, op.source, targetOf(op.target))
        break
      case "again":
        for (const { instance, source, target } of this.of(op.instance)) this.watch(instance, source, target)
        break
      case "commit":
        this.drop(
          WatchCoordinator.commit(this.coordinator, op.instance),
          (_) => _.instance === op.instance && !_.inThisPass
        )
        this.passEnds(op.instance)
        break
      case "abort":
        this.drop(
          WatchCoordinator.abort(this.coordinator, op.instance),
          (_) => _.instance === op.instance && !_.committed
        )
        this.passEnds(op.instance)
        break
      case "remove":
        this.drop(WatchCoordinator.remove(this.coordinator, op.instance), (_) => _.instance === op.instance)
        break
      case "removeGroup":
        this.drop(
          WatchCoordinator.members(this.coordinator, op.group).flatMap((instance) =>
            WatchCoordinator.remove(this.coordinator, instance)
          ),
          (_) => _.instance.startsWith(`${op.group}/`)
        )
        break
      case "route":
        this.route(op)
    }
    this.compare()
  }

  of(instance: string): ReadonlyArray<Asked> {
    return this.asked.filter((_) => _.instance === instance)
  }

  watch(instance: string, source: Source, target: WatchCoordinator.Target): void {
    const known = this.of(instance).find((_) => _.source === source && text(_.target) === text(target))
    const answer = WatchCoordinator.watch(this.boards[source], instance, target)
    assert.strictEqual(answer, known === undefined ? "new" : "known")
    if (known === undefined) this.asked.push({ instance, source, target, committed: false, inThisPass: true })
    else known.inThisPass = true
  }

  passEnds(instance: string): void {
    for (const asked of this.of(instance)) {
      asked.committed = true
      asked.inThisPass = false
    }
  }

  drop(unused: ReadonlyArray<Source>, goes: (_: Asked) => boolean): void {
    const before = new Set(this.asked.map(({ source }) => source))
    this.asked = this.asked.filter((_) => !goes(_))
    const after = new Set(this.asked.map(({ source }) => source))
    assert.deepStrictEqual(unused.toSorted(), [...before].filter((source) => !after.has(source)).toSorted())
  }

  route({ before, name, namespace, now, source }: Op & { readonly _tag: "route" }): void {
    const told: Array<string> = []
    const states = { object: objectOf(now, namespace, name), old: objectOf(before, namespace, name) }
    const count = WatchCoordinator.route(this.boards[source], states, (instance) => told.push(instance))
    const wanted = this.asked.filter((_) =>
      _.source === source && [states.object, states.old].some((object) => wants(_.target, object))
    )
    assert.strictEqual(count, told.length)
    assert.deepStrictEqual(told.toSorted(), [...new Set(wanted.map(({ instance }) => instance))].toSorted())
  }

  compare(): void {
    const tags = ["Name", "Selector", "Owner", "Index"] as const
    for (const [source, board] of Object.entries(this.boards)) {
      const on = this.asked.filter((_) => _.source === source)
      const counts = Object.fromEntries(tags.map((tag) => [tag, on.filter(({ target }) => target._tag === tag).length]))
      assert.deepStrictEqual({ ...WatchCoordinator.counts(board) }, counts)
      assert.strictEqual(WatchCoordinator.isUsed(board), on.length > 0)
      for (const many of board.state.selectors.values()) {
        if (!("byKey" in many)) continue
        const postings = [many.byKey, many.byAbsence, ...many.byValue.values()].flatMap((_) => [...NameMap.values(_)])
        assert.isTrue(postings.every((posting) => !(posting instanceof Set) || posting.size > 0), "an empty posting")
        assert.isTrue([...many.byValue.values()].every((values) => values.size > 0), "a label without values")
      }
    }
    const groups = new Map<string | undefined, number>()
    for (const instance of new Set(this.asked.map(({ instance }) => instance))) {
      const group = instance.split("/")[0]
      groups.set(group, (groups.get(group) ?? 0) + 1)
      assert.isTrue(WatchCoordinator.members(this.coordinator, group).includes(instance))
      const requests = WatchCoordinator.requestsOf(this.coordinator, instance)
      assert.deepStrictEqual(
        requests.map(({ isCommitted, source, target }) => `${source} ${text(target)} ${isCommitted}`).toSorted(),
        this.of(instance).map(({ committed, source, target }) => `${source} ${text(target)} ${committed}`).toSorted()
      )
    }
    assert.deepStrictEqual(new Map(WatchCoordinator.instances(this.coordinator)), groups)
  }

  /** All are removed, those that make the selectors many as the last: nothing is left. */
  end(): void {
    for (const { instance } of this.asked.toReversed()) WatchCoordinator.remove(this.coordinator, instance)
    assert.strictEqual(this.coordinator.state.groups.size, 0)
    for (const { state: { indexes, names, owners, selectors } } of Object.values(this.boards)) {
      const sizes = [names.size, selectors.size, owners.size, ...Array.from(indexes.values(), (_) => _.postings.size)]
      assert.deepStrictEqual(sizes, [0, 0, 0, 0, 0])
    }
  }
}

const texts = (field: string) => (raw: Resource.Raw): ReadonlyArray<string> => raw[field] as ReadonlyArray<string>

const select = (text: string, namespace: string | undefined): WatchCoordinator.Target => ({
  _tag: "Selector",
  namespace,
  selector: Result.getOrThrow(Selector.parse(text))
})

const targetOf = (target: typeof Target.Type): WatchCoordinator.Target =>
  target._tag === "Selector" ? select(target.text, target.namespace) : { ...target }

const text = (target: WatchCoordinator.Target): string =>
  target._tag === "Selector" ? `${target.namespace} ${target.selector.text}` : JSON.stringify(target)

const wants = (target: WatchCoordinator.Target, object: Resource.Raw | undefined): boolean => {
  if (object === undefined) return false
  const { labels, name, namespace = "", ownerReferences } = object.metadata
  switch (target._tag) {
    case "Name":
      return target.namespace === namespace && target.name === name
    case "Selector":
      return (target.namespace ?? namespace) === namespace && Selector.matches(target.selector, labels)
    case "Owner":
      return ownerReferences?.some(({ uid }) => uid === target.uid) === true
    case "Index":
      return texts(target.index)(object).includes(target.value)
  }
}

const objectOf = (thing: Thing, namespace: string, name: string): Resource.Raw | undefined =>
  thing === undefined ? undefined : {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      ...(namespace === "" ? {} : { namespace }),
      ...(thing.labels === undefined ? {} : { labels: thing.labels }),
      ownerReferences: thing.owners.map((uid) => ({ apiVersion: "v1", kind: "Blue", name: uid, uid })),
      uid: "1",
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: "2026-01-01T00:00:00Z"
    },
    one: thing.one,
    two: thing.two
  }
