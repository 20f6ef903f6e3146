/**
 * Dynamic watches beside a plain model: which instance has asked for what. After every step the model says which instances
 * an event wakes, how many requests and how many caches there are.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { Controller, InstanceWatcher, MemoryStore, Reconciler, Store } from "setpoint"
import { Forbidden, NotFound, Unavailable } from "setpoint/StoreError"
import { Palette, Server, settle, storeFailure, Website } from "./support/engine.ts"
import { FaultyStore } from "./support/faultyStore.ts"

const kinds = { Palette, Server }
const Instance = Schema.Literals(["shop", "blog", "wiki"])
const KindName = Schema.Literals(["Palette", "Server"])
const Name = Schema.Literals(["x", "y"])
const Tone = Schema.Literals(["warm", "cold", "none"])
const Target = Schema.Union([
  Schema.TaggedStruct("Name", { kind: KindName, name: Name }),
  Schema.TaggedStruct("Selector", {
    kind: KindName,
    selector: Schema.Literals(["tone=warm", "tone!=warm", "!tone", ""])
  })
])
const End = Schema.Literals(["commit", "commit", "commit", "abort", "defect", "timeout", "gone"])
const Op = Schema.Union([
  Schema.TaggedStruct("pass", { instance: Instance, asks: Schema.Array(Target), end: End }),
  Schema.TaggedStruct("pass", { instance: Instance, asks: Schema.Array(Target), end: End }),
  Schema.TaggedStruct("pass", { instance: Instance, asks: Schema.Array(Target), end: End }),
  Schema.TaggedStruct("event", { kind: KindName, name: Name, tone: Tone }),
  Schema.TaggedStruct("event", { kind: KindName, name: Name, tone: Tone }),
  Schema.TaggedStruct("event", { kind: KindName, name: Name, tone: Tone }),
  Schema.TaggedStruct("event", { kind: KindName, name: Name, tone: Tone }),
  Schema.TaggedStruct("delete", { kind: KindName, name: Name }),
  Schema.TaggedStruct("delete", { kind: KindName, name: Name }),
  Schema.TaggedStruct("ail", { kind: KindName, how: Schema.Literals(["refuse", "hold"]), drop: Schema.Boolean }),
  Schema.TaggedStruct("time", { seconds: Schema.Literals([1, 31, 400]) }),
  Schema.TaggedStruct("heal", {}),
  Schema.TaggedStruct("deregister", {})
])
type Op = typeof Op.Type
type Instance = typeof Instance.Type
type Target = typeof Target.Type
type Tone = typeof Tone.Type
const instances: ReadonlyArray<Instance> = ["shop", "blog", "wiki"]

class Disagreement extends Schema.TaggedError<Disagreement>()("Disagreement", {
  what: Schema.String,
  is: Schema.Unknown,
  shouldBe: Schema.Unknown
}) {}

const agree = (what: string, is: unknown, shouldBe: unknown): Effect.Effect<void, Disagreement> =>
  JSON.stringify(is) === JSON.stringify(shouldBe)
    ? Effect.void
    : Effect.fail(new Disagreement({ what, is, shouldBe }))

const selects = (selector: string, tone: Tone): boolean =>
  selector === "" || (selector === "tone=warm" && tone === "warm") || (selector === "tone!=warm" && tone !== "warm") ||
  (selector === "!tone" && tone === "none")

/** Who asks for what, and what there is. */
class Model {
  committed = new Map<Instance, ReadonlyArray<Target>>()
  readonly objects = new Map<string, Tone>()
  readonly ailing = new Set<string>()
  /** Must have run since: so many passes it had when the event came. */
  readonly owed = new Map<Instance, number>()

  commit(instance: Instance, asks: ReadonlyArray<Target>): void {
    const texts = new Set<string>()
    this.committed.set(
      instance,
      asks.filter((target) => {
        const text = JSON.stringify(target)
        return !texts.has(text) && texts.add(text)
      })
    )
  }

  concerned(kind: string, name: string, now: Tone | undefined): ReadonlyArray<Instance> {
    const old = this.objects.get(`${kind}/${name}`)
    const matches = (target: Target) =>
      target.kind === kind && (target._tag === "Name"
        ? target.name === name
        : [old, now].some((tone) => tone !== undefined && selects(target.selector, tone)))
    return instances.filter((instance) => this.committed.get(instance)?.some(matches))
  }

  get requests(): number {
    return instances.reduce((count, instance) => count + (this.committed.get(instance)?.length ?? 0), 0)
  }

  get caches(): number {
    return new Set(instances.flatMap((_) => this.committed.get(_)?.map(({ kind }) => kind) ?? [])).size
  }
}

const run = Effect.fnUntraced(function*(ops: ReadonlyArray<Op>) {
  const faults = new FaultyStore(yield* MemoryStore.make())
  const outside = Store.make(faults.target)
  const context = yield* Layer.build(Layer.provideMerge(
    Controller.layer({ events: false, collector: false, drain: 0 }),
    Layer.succeed(Store.Store, Store.make(faults.driver))
  ))
  const controller = Context.get(context, Controller.Controller)
  const model = new Model()
  const passes: Record<Instance, number> = { shop: 0, blog: 0, wiki: 0 }
  const plans = new Map<string, Op & { readonly _tag: "pass" }>()

  const ask = (target: Target) => Effect.ignore(InstanceWatcher.watch({ ...target, kind: kinds[target.kind] }))
  const websites = Reconciler.make(Website, {
    retry: Schedule.spaced("10 days"),
    deadline: "100 millis",
    reconcile: Effect.fnUntraced(function*({ name }) {
      const instance = instances.find((instance) => instance === name)
      if (instance === undefined) return
      passes[instance]++
      const plan = plans.get(instance)
      plans.delete(instance)
      yield* Effect.forEach(plan?.asks ?? model.committed.get(instance) ?? [], ask)
      switch (plan?.end) {
        case "abort":
          return yield* new Unavailable({ why: "a test" })
        case "defect":
          return yield* Effect.die("a test")
        case "timeout":
          return yield* Effect.never
        case "gone":
          return yield* goneOf(instance)
      }
    })
  })
  let scope = yield* Scope.make()
  const register = Effect.suspend(() =>
    Effect.provideContext(controller.register(websites), Context.add(context, Scope.Scope, scope))
  )
  const isWell = () => model.ailing.size === 0
  const healthy = Effect.gen(function*() {
    if (!isWell()) return
    yield* agree("requests", yield* gauge, model.requests)
    yield* agree("watches", faults.open, 1 + model.caches)
  })
  const heal = Effect.gen(function*() {
    faults.refuse = () => undefined
    yield* faults.letGo("Palette")
    yield* faults.letGo("Server")
    for (let minute = 0; minute < 12; minute++) yield* TestClock.adjust("1 minute")
    for (const [instance, before] of model.owed) {
      yield* agree(`${instance} was woken`, passes[instance] > before, true)
    }
    model.owed.clear()
    model.ailing.clear()
  })
  /** An event wakes whom it concerns, each once; where the cache does not run, by the time that it does. */
  const event = (kind: string, name: string, tone: Tone | undefined, write: Effect.Effect<unknown, unknown>) =>
    Effect.gen(function*() {
      const before = { ...passes }
      const concerned = model.concerned(kind, name, tone)
      yield* Effect.ignore(write)
      yield* settle
      if (tone === undefined) model.objects.delete(`${kind}/${name}`)
      else model.objects.set(`${kind}/${name}`, tone)
      if (!isWell()) {
        for (const instance of concerned) if (!model.owed.has(instance)) model.owed.set(instance, before[instance])
        return
      }
      for (const instance of instances) {
        const woken = concerned.includes(instance) ? 1 : 0
        yield* agree(`wake-ups of ${instance}`, passes[instance] - before[instance], woken)
      }
    })
  const remove = (kind: "Palette" | "Server", name: string) =>
    kind === "Palette"
      ? outside.deleteUnconditionally(Palette, { name })
      : outside.deleteUnconditionally(Server, { name })
  let writes = 0
  const step = (op: Op): Effect.Effect<unknown, unknown> => {
    switch (op._tag) {
      case "pass":
        return Effect.gen(function*() {
          plans.set(op.instance, op)
          yield* controller.enqueue("websites", { name: op.instance })
          yield* settle
          if (op.end === "timeout") yield* TestClock.adjust(100)
          if (op.end === "commit") model.commit(op.instance, op.asks)
          if (op.end === "gone") model.committed.delete(op.instance)
          yield* settle
        })
      case "event": {
        const metadata = { labels: op.tone === "none" ? {} : { tone: op.tone } }
        const spec = { color: String(++writes), port: writes }
        const write = op.kind === "Palette"
          ? outside.ensure(
            Palette,
            { name: op.name },
            (known) => ({ metadata: { ...known?.metadata, ...metadata }, spec })
          )
          : outside.ensure(
            Server,
            { name: op.name },
            (known) => ({ metadata: { ...known?.metadata, ...metadata }, spec })
          )
        return event(op.kind, op.name, op.tone, write)
      }
      case "delete":
        return model.objects.has(`${op.kind}/${op.name}`)
          ? event(op.kind, op.name, undefined, remove(op.kind, op.name))
          : Effect.void
      case "ail":
        return Effect.gen(function*() {
          model.ailing.add(op.kind)
          if (op.how === "hold") faults.hold(op.kind)
          else {
            faults.refuse = (_, kind) => model.ailing.has(kind) ? new Forbidden({ why: "a test" }) : undefined
          }
          if (op.drop) yield* faults.drop(new Unavailable({ why: "a test" }), op.kind)
        })
      case "time":
        return TestClock.adjust(op.seconds * 1000)
      case "heal":
        return heal
      case "deregister":
        return Effect.gen(function*() {
          yield* Scope.close(scope, Exit.void)
          yield* settle
          model.committed.clear()
          model.owed.clear()
          if (isWell()) yield* agree("watches without a registration", faults.open, 0)
          scope = yield* Scope.make()
          yield* register
          yield* settle
        })
    }
  }
  yield* register
  for (const op of ops) yield* Effect.andThen(step(op), healthy)
  yield* heal
  yield* healthy
  yield* Scope.close(scope, Exit.void)
  yield* settle
  yield* agree("watches at the end", faults.open, 0)
  return true
}, (effect) => Effect.suspend(() => Effect.provideService(effect, Metric.MetricRegistry, new Map())))

const goneOf = (name: string) => Effect.fail(storeFailure("Website", new NotFound(), name))

const gauge = Effect.map(PrometheusMetrics.format(), (text) => {
  const found = /^setpoint_dynamic_watches\{controller="websites"\} (\d+)/m.exec(text)
  return found === null ? undefined : Number(found[1])
})

const runs = process.env.SETPOINT_NIGHTLY === "1" ? 2_000 : 100

describe("dynamic watches beside a model", () => {
  it.effect(
    "[D1] [D2] [D3] [D5] whatever happens no wake-up is lost, each event wakes once, counts are exact, no cache is left",
    () =>
      Effect.gen(function*() {
        const result = yield* Arbitrary.checkEffect(
          Arbitrary.array(Arbitrary.schema(Op), { maxLength: 60 }),
          (ops) => Effect.scoped(run(ops)),
          { runs, size: 60, maxShrinks: 2000 }
        )
        assert.strictEqual(result._tag, "Passed", Arbitrary.formatCheckFailure(result))
      }).pipe(Effect.provide(Logger.layer([]))),
    600_000
  )
})
