/**
 * After any sequence of changes the world is what it would be had it been made of the last inputs alone: whatever a pass
 * read has woken it when it changed, and what is no longer wanted is gone.
 */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { TestClock } from "effect/testing"
import { type Resource, Store } from "setpoint"
import { type AnyObject, Kinds } from "../src/Kinds.ts"
import * as Harness from "./utils/harness.ts"
import * as Inputs from "./utils/inputs.ts"

// ---------------------------------------------------------------------------------------------------------------------
// inputs
// ---------------------------------------------------------------------------------------------------------------------

/** What people have written: the whole of it says what the world must be. */
interface Model {
  theme: string | undefined
  readonly secrets: Map<string, string>
  readonly instances: Map<
    string,
    { readonly items: ReadonlyArray<string>; readonly extra: boolean; readonly team: string }
  >
  version: 1 | 2
}

const definition = (version: 1 | 2) => `
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: { name: garden }
spec:
  schema:
    apiVersion: v1
    group: example.dev
    kind: Garden
    spec: { team: string, items: '[]string', extra: 'boolean | default=false' }
    status: { parts: "\${parts.map(p, p.metadata.name)}", others: "\${size(others)}" }
  resources:
    - id: shared
      externalRef: { apiVersion: v1, kind: ConfigMap, metadata: { name: shared } }
    - id: others
      externalRef:
        apiVersion: v1
        kind: Secret
        metadata: { selector: { matchLabels: { team: "\${schema.spec.team}" } } }
    - id: web
      template:
        apiVersion: apps/v1
        kind: Deployment
        metadata: { name: "\${schema.metadata.name}", labels: { theme: "\${shared.data.theme}" } }
        spec: { replicas: "\${size(others) + 1}" }
      readyWhen: ["\${web.status.availableReplicas == web.spec.replicas}"]
    - id: parts
      forEach: [{ part: "\${schema.spec.items}" }]
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: { name: "\${schema.metadata.name}-\${part}" }
        data: { part: "\${part}", version: "${version}", replicas: "\${string(web.spec.replicas)}" }
${
  version === 2 ? "" : `
    - id: extra
      includeWhen: ["\${schema.spec.extra}"]
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: { name: "\${schema.metadata.name}-extra" }
        data: { parts: "\${parts.map(p, p.metadata.name).join(',')}" }
`
}`

const shared = (theme: string) =>
  `{ apiVersion: v1, kind: ConfigMap, metadata: { name: shared }, data: { theme: ${theme} } }`
const secret = (name: string, team: string) =>
  `{ apiVersion: v1, kind: Secret, metadata: { name: ${name}, labels: { team: ${team} } } }`
const garden = (name: string, spec: object) =>
  `{ apiVersion: example.dev/v1, kind: Garden, metadata: { name: ${name} }, spec: ${JSON.stringify(spec)} }`

type Op =
  | { readonly _tag: "Theme"; readonly theme: string | undefined }
  | { readonly _tag: "Secret"; readonly name: string; readonly team: string | undefined }
  | {
    readonly _tag: "Garden"
    readonly name: string
    readonly spec: { items: Array<string>; extra: boolean; team: string }
  }
  | { readonly _tag: "Remove"; readonly name: string }
  | { readonly _tag: "Version"; readonly version: 1 | 2 }
  | { readonly _tag: "Tamper"; readonly index: number; readonly how: "delete" | "change" }
  | { readonly _tag: "Time"; readonly millis: number }

const random = (seed: number) => {
  let state = seed
  const next = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
  return { next, pick: <A>(values: ReadonlyArray<A>): A => values[next(values.length)] }
}

const opsOf = (seed: number, count: number): ReadonlyArray<Op> => {
  const { next, pick } = random(seed)
  const one = (): Op => {
    const kind = next(12)
    if (kind < 2) return { _tag: "Theme", theme: pick(["dark", "light", undefined]) }
    if (kind < 4) return { _tag: "Secret", name: pick(["s1", "s2", "s3"]), team: pick(["red", "blue", undefined]) }
    if (kind < 7) {
      const items = ["fern", "moss", "rose"].filter(() => next(2) === 0)
      return {
        _tag: "Garden",
        name: pick(["g1", "g2"]),
        spec: { items, extra: next(2) === 0, team: pick(["red", "blue"]) }
      }
    }
    if (kind === 7) return { _tag: "Remove", name: pick(["g1", "g2"]) }
    if (kind === 8) return { _tag: "Version", version: pick([1, 2] as const) }
    if (kind === 9) return { _tag: "Tamper", index: next(6), how: pick(["delete", "change"] as const) }
    return { _tag: "Time", millis: pick([0, 1, 500, 5000]) }
  }
  return Array.from({ length: count }, one)
}

// ---------------------------------------------------------------------------------------------------------------------
// running
// ---------------------------------------------------------------------------------------------------------------------

const write = (text: string) =>
  Effect.forEach(Inputs.readText("test.yaml", text), (manifest) => Harness.write(manifest))

const list = Effect.fnUntraced(function*(apiVersion: string, name: string) {
  const kind = yield* Effect.flatMap(Kinds, (kinds) => kinds.of(apiVersion, name))
  return (yield* Store.list(kind)).items
})

const drop = Effect.fnUntraced(function*(apiVersion: string, kindName: string, name: string) {
  const kind = yield* Effect.flatMap(Kinds, (kinds) => kinds.of(apiVersion, kindName))
  yield* Effect.ignore(Store.deleteUnconditionally(kind, { name }))
})

const perform = Effect.fnUntraced(function*(model: Model, op: Op) {
  switch (op._tag) {
    case "Theme":
      model.theme = op.theme
      return yield* op.theme === undefined ? drop("v1", "ConfigMap", "shared") : write(shared(op.theme))
    case "Secret":
      if (op.team === undefined) model.secrets.delete(op.name)
      else model.secrets.set(op.name, op.team)
      return yield* op.team === undefined ? drop("v1", "Secret", op.name) : write(secret(op.name, op.team))
    case "Garden": {
      const found = (yield* list("example.dev/v1", "Garden")).find(({ metadata }) => metadata.name === op.name)
      if (found?.metadata.deletionTimestamp !== undefined) return // what is written to it goes with it
      model.instances.set(op.name, op.spec)
      return yield* write(garden(op.name, op.spec))
    }
    case "Remove":
      model.instances.delete(op.name)
      return yield* drop("example.dev/v1", "Garden", op.name)
    case "Version":
      model.version = op.version
      return yield* write(definition(op.version))
    case "Tamper": {
      const children = (yield* list("v1", "ConfigMap")).filter(({ metadata }) => metadata.name !== "shared")
      if (children.length === 0) return
      const { name } = children[op.index % children.length].metadata
      if (op.how === "delete") return yield* drop("v1", "ConfigMap", name)
      const kind = yield* Effect.flatMap(Kinds, (kinds) => kinds.of("v1", "ConfigMap"))
      return yield* Store.patchUnconditionally(kind, { name }, { merge: { data: { version: "tampered" } } })
    }
    case "Time":
      return yield* TestClock.adjust(op.millis)
  }
})

/** What is to be equal: all but what a life of an object has of its own. */
const essence = (object: AnyObject) => {
  const { "kro.run/instance-id": _, ...labels } = object.metadata.labels ?? {}
  const { conditions, observedGeneration: __, ...status } = (object["status"] ?? {}) as Resource.JsonObject
  const summary = Array.isArray(conditions)
    ? conditions.map((condition) => {
      const { message, status, type } = condition as Resource.JsonObject
      return [type, status, message]
    })
    : []
  return { name: object.metadata.name, labels, data: object["data"], spec: object["spec"], status, conditions: summary }
}

const world = Effect.gen(function*() {
  yield* TestClock.adjust("1 minute")
  const kinds = [["v1", "ConfigMap"], ["apps/v1", "Deployment"], ["example.dev/v1", "Garden"]]
  return yield* Effect.forEach(
    kinds,
    ([apiVersion, kind]) => Effect.map(list(apiVersion, kind), (items) => items.map(essence))
  )
})

const empty = (): Model => ({ theme: undefined, secrets: new Map(), instances: new Map(), version: 1 })

const inAWorldOfItsOwn = Effect.provide(Layer.fresh(Harness.layer))

const afterChanges = (ops: ReadonlyArray<Op>) =>
  Effect.gen(function*() {
    const model = empty()
    yield* write(definition(1))
    yield* Effect.forEach(ops, (op) => perform(model, op), { discard: true })
    // What cannot be told keeps what it has: that is its history, and it ends here.
    if (model.theme === undefined) yield* perform(model, { _tag: "Theme", theme: "dark" })
    return { model, world: yield* world }
  }).pipe(inAWorldOfItsOwn)

const madeAtOnce = (model: Model) =>
  Effect.gen(function*() {
    yield* write(definition(model.version))
    if (model.theme !== undefined) yield* write(shared(model.theme))
    for (const [name, team] of model.secrets) yield* write(secret(name, team))
    for (const [name, spec] of model.instances) yield* write(garden(name, spec))
    return yield* world
  }).pipe(inAWorldOfItsOwn)

/** The difference that a sequence of changes leaves; `undefined`: none. */
const difference = Effect.fnUntraced(function*(ops: ReadonlyArray<Op>) {
  const changed = yield* afterChanges(ops)
  const fresh = yield* madeAtOnce(changed.model)
  const [is, should] = [changed.world, fresh].map((world) => JSON.stringify(world, null, 1))
  return is === should ? undefined : { is, should }
})

/** Leaves out what is not needed for the difference. */
const shrink = Effect.fnUntraced(function*(ops: ReadonlyArray<Op>) {
  let least = ops
  for (let index = least.length - 1; index >= 0; index--) {
    const fewer = least.toSpliced(index, 1)
    if ((yield* difference(fewer)) !== undefined) least = fewer
  }
  return least
})

const runs = process.env["SETPOINT_NIGHTLY"] === "1" ? 400 : 12
const firstSeed = Number(process.env["SETPOINT_SEED"] ?? 1)

it.effect("after any changes the world is what its last inputs make of an empty one", () =>
  Effect.gen(function*() {
    for (let seed = firstSeed; seed < firstSeed + runs; seed++) {
      const ops = opsOf(seed, 24)
      if ((yield* difference(ops)) === undefined) continue
      const least = yield* shrink(ops)
      const found = yield* difference(least)
      assert.strictEqual(found?.is, found?.should, `seed ${seed}: ${JSON.stringify(least)}`)
    }
  }), runs * 10_000)
