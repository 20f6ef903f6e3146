/**
 * D6 beside the plainest model there is: after whatever happened, the world must be as one pass of every object would make
 * it now, so that a wake-up that is lost anywhere is seen at the end.
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
import { Controller, MemoryStore, Store } from "setpoint"
import { Expired, Forbidden, Unavailable } from "setpoint/StoreError"
import { settle } from "./support/engine.ts"
import { FaultyStore } from "./support/faultyStore.ts"
import { App, compare, Config, Disagreement, type Mode, Output, reconcilers, Total } from "./support/tracked.ts"

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

const run = Effect.fnUntraced(function*(mode: Mode, ops: ReadonlyArray<Op>) {
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
    for (const reconciler of reconcilers(mode)) {
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
