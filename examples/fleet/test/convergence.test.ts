/**
 * Whatever people, processes and supervisors do, and in whatever order: the fleet comes to be what was declared last.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import { MemoryStore, Store } from "setpoint"
import * as Fleet from "../src/Fleet.ts"
import { Process, Service } from "../src/Kinds.ts"
import { World } from "./utils/World.ts"

const Name = Schema.Literals(["api", "web"])
const Small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))

const Op = Schema.Union([
  Schema.TaggedStruct("Declare", { name: Name, replicas: Small, version: Small }),
  Schema.TaggedStruct("Delete", { name: Name }),
  /** The n-th living process dies. */
  Schema.TaggedStruct("Kill", { n: Small }),
  /** The n-th living process answers no longer, or no longer ends when asked to. */
  Schema.TaggedStruct("Sicken", { n: Small }),
  Schema.TaggedStruct("Defy", { n: Small }),
  /** A process that is nobody's, under the number of one that has ended. */
  Schema.TaggedStruct("Stranger", { n: Small }),
  Schema.TaggedStruct("Restart", {}),
  Schema.TaggedStruct("Wait", { seconds: Small })
])
type Op = typeof Op.Type

/** What was declared last: the model of it all. */
type Model = Map<string, { readonly replicas: number; readonly version: number }>

const declare = (name: string, replicas: number, version: number) =>
  Store.apply(Service, {
    metadata: { name },
    spec: {
      command: "node",
      args: [`v${version}`],
      env: {},
      stopTimeout: "5 seconds",
      replicas,
      ports: { from: 10, to: 19 },
      health: { path: "/", every: "1 second", timeout: "1 second", failures: 2 }
    }
  }, { manager: "test", force: true })

const supervisor = Effect.fnUntraced(function*(world: World, run: string) {
  const scope = yield* Scope.make()
  yield* Scope.provide(
    Layer.build(Layer.provide(Layer.fresh(Fleet.layer({ leave: true })), world.layer(run))),
    scope
  )
  return { close: Scope.close(scope, Exit.void) }
})

const play = Effect.fnUntraced(function*(ops: ReadonlyArray<Op>) {
  const world = new World()
  const model: Model = new Map()
  const strangers: Array<ReturnType<World["add"]>> = []
  const ours = () => world.living.filter(({ mark }) => mark !== undefined)
  let runs = 0
  let current = yield* supervisor(world, `run ${runs}`)
  for (const op of ops) {
    switch (op._tag) {
      case "Declare":
        model.set(op.name, op)
        yield* declare(op.name, op.replicas, op.version)
        break
      case "Delete":
        if (model.delete(op.name)) yield* Store.deleteUnconditionally(Service, { name: op.name })
        break
      case "Kill": {
        const victim = ours()[op.n]
        if (victim !== undefined) world.end(victim, "signal SIGKILL")
        break
      }
      case "Sicken": {
        const victim = ours()[op.n]
        if (victim !== undefined) victim.healthy = false
        break
      }
      case "Defy": {
        const victim = ours()[op.n]
        if (victim !== undefined) victim.obeys = false
        break
      }
      case "Stranger": {
        const former = world.all.filter(({ end }) => end !== undefined)[op.n]
        if (former !== undefined) {
          strangers.push(world.add("stranger", undefined, undefined, { pid: former.identity.pid }))
        }
        break
      }
      case "Restart":
        yield* current.close
        runs += 1
        current = yield* supervisor(world, `run ${runs}`)
        break
      case "Wait":
        yield* TestClock.adjust(op.seconds * 1000)
    }
    const names = ours().map(({ name }) => name)
    assert.strictEqual(new Set(names).size, names.length, `no two of a name live: ${names.join()}`)
  }
  yield* TestClock.adjust("2 minutes")
  const expected = [...model].flatMap(([name, { replicas, version }]) =>
    Array.from({ length: replicas }, (_, ordinal) => `${name}-${ordinal} v${version}`)
  )
  const living = ours().map(({ launch, name }) => `${name} ${launch?.args.join()}`)
  assert.deepStrictEqual(living.toSorted(), expected.toSorted())
  const { items } = yield* Store.list(Service)
  for (const { metadata, status } of items) {
    assert.strictEqual(status?.ready, model.get(metadata.name)?.replicas, `${metadata.name} says how many are ready`)
  }
  const objects = (yield* Store.list(Process)).items.length
  assert.strictEqual(objects, expected.length, "no object is left of what is gone")
  const ports = ours().map(({ launch }) => launch?.port)
  assert.strictEqual(new Set(ports).size, ports.length, "no two share a port")
  assert.isTrue(strangers.every(({ end }) => end === undefined), "no stranger was touched")
  yield* current.close
})

describe("a fleet", () => {
  it.effect.prop(
    "comes to be what was declared last, whatever happened before",
    [Schema.Array(Op).check(Schema.isMinLength(20), Schema.isMaxLength(40))],
    ([ops]) => play(ops).pipe(Effect.provide(MemoryStore.layer, { local: true })),
    { arbitrary: { runs: 25 } }
  )
})
