/**
 * D6 beside the plainest model there is: after whatever happened, the world must be as one pass of every object, made now
 * from nothing but the store, would make it. Objects of one kind are made from others by two kinds of reconcilers, one
 * of which reads what the other writes, so that a wake-up that is lost anywhere is seen at the end.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import {
  Controller,
  InstanceWatcher,
  Kind,
  MemoryStore,
  Reconciler,
  type Resource,
  Store,
  type StoreError
} from "setpoint"
import { Expired, Forbidden, Unavailable } from "setpoint/StoreError"
import { settle } from "./support/engine.ts"
import { FaultyStore } from "./support/faultyStore.ts"

const group = "example.dev"
const version = "v1"

/** Made from configs: one by name, the one that this names, and those of a tone. */
const App = Kind.make({
  group,
  version,
  kind: "App",
  spec: Schema.Struct({ config: Schema.String, tone: Schema.String }),
  status: Schema.Struct({ seen: Schema.String })
})

const Config = Kind.make({
  group,
  version,
  kind: "Config",
  fields: { data: Schema.Struct({ value: Schema.Int, next: Schema.String }) }
})

/** Made by apps, one each. */
const Output = Kind.make({ group, version, kind: "Output", spec: Schema.Struct({ text: Schema.String }) })

/** Made from all outputs, and from how many totals there are. */
const Total = Kind.make({
  group,
  version,
  kind: "Total",
  spec: Schema.Struct({}),
  status: Schema.Struct({ seen: Schema.String })
})

type App = Kind.Resource<typeof App>

/** How a pass reads: tracked, or asked for first; or, outside of a pass, straight from the store. */
interface Reads {
  readonly get: <A extends Resource.Any>(
    kind: Kind.Kind<A>,
    name: string
  ) => Effect.Effect<A | undefined, StoreError.StoreError, Store.Store>
  readonly list: <A extends Resource.Any>(
    kind: Kind.Kind<A>,
    selector?: string
  ) => Effect.Effect<ReadonlyArray<A>, StoreError.StoreError, Store.Store>
}

const plain: Reads = {
  get: (kind, name) => Effect.catchReason(Store.get(kind, { name }), "StoreError", "NotFound", () => Effect.undefined),
  list: (kind, selector) => Effect.map(Store.list(kind, { selector }), ({ items }) => items)
}

const askedFirst: Reads = {
  get: (kind, name) => Effect.andThen(Effect.ignore(InstanceWatcher.watch({ kind, name })), plain.get(kind, name)),
  list: (kind, selector) =>
    Effect.andThen(
      Effect.ignore(InstanceWatcher.watch({ kind, selector: selector ?? "" })),
      plain.list(kind, selector)
    )
}

const viewOfApp = Effect.fnUntraced(function*({ get, list }: Reads, { spec }: App) {
  const first = yield* get(Config, spec.config)
  const second = first === undefined ? undefined : yield* get(Config, first.data.next)
  const toned = yield* list(Config, `tone=${spec.tone}`)
  const text = toned.map(({ data, metadata }) => `${metadata.name}=${data.value}`).join()
  return `${first?.data.value}>${second?.data.value} ${text}`
})

const viewOfTotal = Effect.fnUntraced(function*({ list }: Reads) {
  const outputs = yield* list(Output)
  const totals = yield* list(Total)
  return `${totals.length}: ${outputs.map(({ metadata, spec }) => `${metadata.name} ${spec.text}`).join("; ")}`
})

const appsWith = (reads: Reads, track: boolean) =>
  Reconciler.make(App, {
    track,
    reconcile: Effect.fnUntraced(function*(request) {
      const app = yield* Store.get(App, request)
      const seen = yield* viewOfApp(reads, app)
      yield* reads.get(Output, request.name) // asks for it, lest somebody else delete it
      yield* Store.ensure(Output, { name: request.name }, (known) => ({
        metadata: { ...known?.metadata },
        spec: { text: seen }
      }))
      yield* Store.updateStatus(App, app, { seen })
    })
  })

const totalsWith = (reads: Reads, track: boolean) =>
  Reconciler.make(Total, {
    track,
    reconcile: Effect.fnUntraced(function*(request) {
      const total = yield* Store.get(Total, request)
      yield* Store.updateStatus(Total, total, { seen: yield* viewOfTotal(reads) })
    })
  })

// ---------------------------------------------------------------------------------------------------------------------

const AppName = Schema.Literals(["a", "b", "c"])
const ConfigName = Schema.Literals(["k", "l", "m"])
const Tone = Schema.Literals(["warm", "cold", "none"])
const Faulty = Schema.Literals(["Config", "Output", "Total", "App"])
const PutConfig = Schema.TaggedStruct("config", {
  name: ConfigName,
  tone: Tone,
  value: Schema.Literals([1, 2, 3]),
  next: ConfigName
})
const PutApp = Schema.TaggedStruct("app", { name: AppName, config: ConfigName, tone: Tone })
const Op = Schema.Union([
  PutConfig,
  PutConfig,
  PutConfig,
  PutApp,
  PutApp,
  Schema.TaggedStruct("total", { name: Schema.Literals(["x", "y"]) }),
  Schema.TaggedStruct("delete", { name: Schema.Union([AppName, ConfigName, Schema.Literals(["x", "y"])]) }),
  Schema.TaggedStruct("output", { name: AppName }),
  Schema.TaggedStruct("yield", { times: Schema.Literals([1, 3, 10]) }),
  Schema.TaggedStruct("yield", { times: Schema.Literals([1, 3, 10]) }),
  Schema.TaggedStruct("settle", {}),
  Schema.TaggedStruct("time", { seconds: Schema.Literals([1, 10, 100]) }),
  Schema.TaggedStruct("refuse", { kind: Faulty }),
  Schema.TaggedStruct("heal", {}),
  Schema.TaggedStruct("hold", { kind: Faulty }),
  Schema.TaggedStruct("letGo", { kind: Faulty }),
  Schema.TaggedStruct("drop", { kind: Faulty, expired: Schema.Boolean }),
  Schema.TaggedStruct("events", { flow: Schema.Boolean }),
  Schema.TaggedStruct("failPass", {}),
  Schema.TaggedStruct("register", {}),
  Schema.TaggedStruct("deregister", {})
])
type Op = typeof Op.Type

class Disagreement extends Schema.TaggedError<Disagreement>()("Disagreement", {
  what: Schema.String,
  is: Schema.Unknown,
  shouldBe: Schema.Unknown
}) {}

const run = Effect.fnUntraced(function*(mode: "tracked" | "asked first", ops: ReadonlyArray<Op>) {
  const faults = new FaultyStore(yield* MemoryStore.make())
  const inner = faults.target
  const store = Store.make(faults.driver)
  const outside = Store.make(inner) // what a user does is not refused
  const context = yield* Layer.build(Layer.provideMerge(
    Controller.layer({ events: false, collector: false, drain: 0 }),
    Layer.succeed(Store.Store, store)
  ))
  const controller = Context.get(context, Controller.Controller)
  const refused = new Set<string>()
  let failing = 0
  faults.refuse = (operation, kind) => {
    if (operation === "get" && failing > 0) return failing--, new Unavailable({ why: "a test" })
    return refused.has(kind) && operation !== "write" ? new Forbidden({ why: "a test" }) : undefined
  }
  let scope: Scope.Closeable | undefined = undefined
  const register = Effect.gen(function*() {
    const before = scope
    scope = yield* Scope.make()
    const reads = mode === "tracked" ? plain : askedFirst
    for (const reconciler of [appsWith(reads, mode === "tracked"), totalsWith(reads, mode === "tracked")]) {
      yield* Effect.provideContext(controller.register(reconciler), Context.add(context, Scope.Scope, scope))
    }
    if (before !== undefined) yield* Scope.close(before, Exit.void)
  })
  const deregister = Effect.suspend(() => {
    const before = scope
    scope = undefined
    return before === undefined ? Effect.void : Scope.close(before, Exit.void)
  })
  const heal = Effect.sync(() => {
    refused.clear()
    failing = 0
  })
  const step = (op: Op): Effect.Effect<unknown, unknown, Scope.Scope> => {
    switch (op._tag) {
      case "config":
        return outside.ensure(Config, { name: op.name }, (known) => ({
          metadata: { ...known?.metadata, labels: { tone: op.tone } },
          data: { value: op.value, next: op.next }
        }))
      case "app":
        return outside.ensure(App, { name: op.name }, (known) => ({
          metadata: { ...known?.metadata },
          spec: { config: op.config, tone: op.tone }
        }))
      case "total":
        return outside.ensure(Total, { name: op.name }, (known) => ({ metadata: { ...known?.metadata }, spec: {} }))
      case "output": // somebody meddles
        return Effect.ignore(outside.deleteUnconditionally(Output, { name: op.name }))
      case "delete":
        return Effect.all([
          Effect.ignore(outside.deleteUnconditionally(App, { name: op.name })),
          Effect.ignore(outside.deleteUnconditionally(Config, { name: op.name })),
          Effect.ignore(outside.deleteUnconditionally(Total, { name: op.name }))
        ])
      case "yield":
        return Effect.repeat(Effect.yieldNow, { times: op.times })
      case "settle":
        return settle
      case "time":
        return TestClock.adjust(op.seconds * 1000)
      case "refuse":
        return Effect.sync(() => refused.add(op.kind))
      case "heal":
        return heal
      case "hold":
        return Effect.sync(() => faults.hold(op.kind))
      case "letGo":
        return faults.letGo(op.kind)
      case "drop":
        return faults.drop(op.expired ? new Expired({ why: "a test" }) : new Unavailable({ why: "a test" }), op.kind)
      case "events":
        return Effect.sync(() => (op.flow ? faults.events.openUnsafe() : faults.events.closeUnsafe()))
      case "failPass":
        return Effect.sync(() => void failing++)
      case "register":
        return register
      case "deregister":
        return deregister
    }
  }
  yield* register
  yield* Effect.forEach(ops, step)
  yield* heal
  for (const kind of ["Config", "Output", "Total", "App"]) yield* faults.letGo(kind)
  yield* Effect.sync(() => faults.events.openUnsafe())
  if (scope === undefined) yield* register
  for (let i = 0; i < 20; i++) yield* TestClock.adjust("1 minute") // every cooldown and backoff is over
  yield* compare(outside)
  yield* deregister
  yield* settle
  if (faults.open > 0) return yield* new Disagreement({ what: "open watches", is: faults.open, shouldBe: 0 })
  return true
})

/** Every object beside what one pass of it would make now. */
const compare = (store: Store.Service) =>
  Effect.gen(function*() {
    for (const app of yield* plain.list(App)) {
      const shouldBe = yield* viewOfApp(plain, app)
      const output = yield* plain.get(Output, app.metadata.name)
      const is = { status: app.status?.seen, output: output?.spec.text }
      if (is.status !== shouldBe || is.output !== shouldBe) {
        return yield* new Disagreement({ what: `app ${app.metadata.name}`, is, shouldBe })
      }
    }
    for (const total of yield* plain.list(Total)) {
      const shouldBe = yield* viewOfTotal(plain)
      if (total.status?.seen !== shouldBe) {
        return yield* new Disagreement({ what: `total ${total.metadata.name}`, is: total.status?.seen, shouldBe })
      }
    }
  }).pipe(Effect.provideService(Store.Store, store))

const runs = process.env.SETPOINT_NIGHTLY === "1" ? 2_000 : 100

describe("the world after any changes is as one pass of every object would make it now", () => {
  for (const mode of ["tracked", "asked first"] as const) {
    it.effect(
      `[D1] [D6] of reconcilers whose reads are ${mode}`,
      () =>
        Effect.gen(function*() {
          const result = yield* Arbitrary.checkEffect(
            Arbitrary.array(Arbitrary.schema(Op), { maxLength: 60 }),
            (ops) => Effect.scoped(run(mode, ops)),
            { runs, size: 60, maxShrinks: 2000 }
          )
          assert.strictEqual(result._tag, "Passed", Arbitrary.formatCheckFailure(result))
        }).pipe(Effect.provide(Logger.layer([]))),
      600_000
    )
  }
})
