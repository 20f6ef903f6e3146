/** What instances do, on definitions of our own. */
import { assert, describe, it } from "@effect/vitest"
import * as Manifest from "@setpoint/example-manifests"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { TestClock } from "effect/testing"
import { EventRecorder, type Kind, MemoryStore, type Resource, Store } from "setpoint"
import * as Harness from "./utils/harness.ts"
import * as Inputs from "./utils/inputs.ts"

type Json = Resource.Json

const at = (object: Json | undefined, path: string): Json | undefined =>
  object === undefined ? undefined : Manifest.valueAt(object, Manifest.pathOf(path))

const example = "example.dev/v1"

const get = (kind: string, name: string) => Harness.get(kind === "ConfigMap" ? "v1" : example, kind, name)

const configMaps = Harness.names("v1", "ConfigMap")

const conditionOf = (object: Json | undefined, type: string): Json | undefined => {
  const conditions = at(object, "status.conditions")
  return Array.isArray(conditions) ? conditions.find((condition) => at(condition, "type") === type) : undefined
}

const definition = (kind: string, spec: string, resources: string, more = "") => `
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: { name: ${kind.toLowerCase()} }
spec:
  schema:
    apiVersion: v1
    group: example.dev
    kind: ${kind}
    spec: ${spec}
${more}
  resources:
${resources}
`

const instance = (kind: string, name: string, spec: string, metadata = "") => `
apiVersion: example.dev/v1
kind: ${kind}
metadata: { name: ${name}${metadata} }
spec: ${spec}
`

const configMap = (id: string, name: string, data: string, more = "") => `
    - id: ${id}
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: { name: "${name}" }
        data: ${data}
${more}`

const database = `
    - id: database
      template:
        apiVersion: db.example.dev/v1
        kind: Database
        metadata: { name: "\${schema.metadata.name}-db" }
        spec: { size: "\${schema.spec.size}" }
      readyWhen:
        - \${database.status.ready == true}
`

const app = definition(
  "App",
  "{ size: 'string | default=small', extra: 'boolean | default=false' }",
  database + configMap("config", "${schema.metadata.name}-config", "{ host: \"${database.status.host}\" }") +
    configMap("extra", "${schema.metadata.name}-extra", "{}", "      includeWhen: [\"${schema.spec.extra}\"]"),
  "    status: { host: \"${database.status.host}\", text: \"at ${database.status.host}\" }"
)

const ready = (host: string) =>
  Harness.patch("db.example.dev/v1", "Database", "one-db", { status: { ready: true, host } }, "status")

describe("order and readiness", () => {
  it.effect("what waits is made when what it waits for is ready, and the status says how far it is", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(app)
      yield* Harness.applyText(instance("App", "one", "{}"))
      assert.deepStrictEqual(at(yield* Harness.get("db.example.dev/v1", "Database", "one-db"), "spec"), {
        size: "small"
      })
      assert.deepStrictEqual(yield* configMaps, [])
      const waiting = yield* get("App", "one")
      assert.strictEqual(at(waiting, "status.state"), "IN_PROGRESS")
      assert.match(
        String(at(conditionOf(waiting, "Ready"), "message")),
        /database: Database one-db is not ready.*config: waits for database/
      )
      yield* ready("db-1")
      assert.deepStrictEqual(at(yield* get("ConfigMap", "one-config"), "data"), { host: "db-1" })
      const done = yield* get("App", "one")
      assert.deepInclude(at(done, "status") as object, { state: "ACTIVE", host: "db-1", text: "at db-1" })
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("a change of a child's status reaches the resources and the status that are made of it", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(app)
      yield* Harness.applyText(instance("App", "one", "{}"))
      yield* ready("db-1")
      yield* ready("db-2")
      assert.deepStrictEqual(at(yield* get("ConfigMap", "one-config"), "data"), { host: "db-2" })
      assert.strictEqual(at(yield* get("App", "one"), "status.host"), "db-2")
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("a condition makes and takes away", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(app)
      yield* Harness.applyText(instance("App", "one", "{ extra: true }"))
      assert.deepStrictEqual(yield* configMaps, ["one-extra"])
      yield* Harness.applyText(instance("App", "one", "{ extra: false }"))
      assert.deepStrictEqual(yield* configMaps, [])
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("what waits for what is left out is left out", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(definition(
        "Opt",
        "{ enabled: boolean }",
        configMap("a", "${schema.metadata.name}-a", "{}", "      includeWhen: [\"${schema.spec.enabled}\"]") +
          configMap("b", "${a.metadata.name}-b", "{}")
      ))
      yield* Harness.applyText(instance("Opt", "one", "{ enabled: false }"))
      assert.deepStrictEqual(yield* configMaps, [])
      assert.strictEqual(at(yield* get("Opt", "one"), "status.state"), "ACTIVE")
      yield* Harness.applyText(instance("Opt", "one", "{ enabled: true }"))
      assert.deepStrictEqual(yield* configMaps, ["one-a", "one-a-b"])
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("an expression that cannot be evaluated is told, and a change of the instance cures it", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(
        definition("Div", "{ by: integer }", configMap("a", "a", "{ x: \"${string(6 / schema.spec.by)}\" }"))
      )
      yield* Harness.applyText(instance("Div", "one", "{ by: 0 }"))
      const failed = yield* get("Div", "one")
      assert.strictEqual(at(failed, "status.state"), "ERROR")
      assert.strictEqual(at(conditionOf(failed, "GraphResolved"), "status"), "False")
      yield* Harness.applyText(instance("Div", "one", "{ by: 2 }"))
      assert.deepStrictEqual(at(yield* get("ConfigMap", "a"), "data"), { x: "3" })
      assert.strictEqual(at(yield* get("Div", "one"), "status.state"), "ACTIVE")
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("an instance that its schema does not allow is refused by the store", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(definition("Strict", "{ size: 'integer | minimum=1' }", configMap("a", "a", "{}")))
      const refused = yield* Effect.flip(Harness.applyText(instance("Strict", "one", "{ size: 0 }")))
      assert.match(refused.message, /spec\.size/)
    }).pipe(Effect.provide(Harness.layer)))
})

const pool = definition(
  "Pool",
  "{ workers: '[]string' }",
  configMap(
    "workers",
    "${schema.metadata.name}-${w}",
    "{ w: \"${w}\" }",
    "      forEach: [{ w: \"${schema.spec.workers}\" }]"
  ) +
    configMap("summary", "${schema.metadata.name}-all", "{ names: \"${workers.map(w, w.metadata.name).join(',')}\" }"),
  "    status: { count: \"${size(workers)}\" }"
)

describe("collections", () => {
  it.effect("a collection grows and shrinks with its list", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(pool)
      yield* Harness.applyText(instance("Pool", "p", "{ workers: [a, b, c] }"))
      assert.deepStrictEqual(yield* configMaps, ["p-a", "p-all", "p-b", "p-c"])
      assert.deepStrictEqual(at(yield* get("ConfigMap", "p-all"), "data"), { names: "p-a,p-b,p-c" })
      assert.strictEqual(at(yield* get("Pool", "p"), "status.count"), 3)
      yield* Harness.applyText(instance("Pool", "p", "{ workers: [b] }"))
      assert.deepStrictEqual(yield* configMaps, ["p-all", "p-b"])
      yield* Harness.applyText(instance("Pool", "p", "{ workers: [] }"))
      assert.deepStrictEqual(yield* configMaps, ["p-all"])
      assert.strictEqual(at(yield* get("Pool", "p"), "status.count"), 0)
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("[K101] a change of an item that is not the last is repaired", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(pool)
      yield* Harness.applyText(instance("Pool", "p", "{ workers: [a, b, c] }"))
      yield* Harness.patch("v1", "ConfigMap", "p-a", { data: { w: "changed" } })
      assert.deepStrictEqual(at(yield* get("ConfigMap", "p-a"), "data"), { w: "a" })
      yield* Harness.remove("v1", "ConfigMap", "p-b")
      assert.isDefined(yield* get("ConfigMap", "p-b"))
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("two items of one name are refused", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(pool)
      yield* Harness.applyText(instance("Pool", "p", "{ workers: [a, a] }"))
      assert.match(String(at(conditionOf(yield* get("Pool", "p"), "Ready"), "message")), /two items have the name/)
      assert.deepStrictEqual(yield* configMaps, [])
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("two loops make every combination, the first one outermost", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(definition(
        "Grid",
        "{ rows: '[]string', cols: '[]integer' }",
        configMap(
          "cells",
          "${row}-${string(col)}",
          "{}",
          "      forEach: [{ row: \"${schema.spec.rows}\" }, { col: \"${schema.spec.cols}\" }]"
        ),
        "    status: { names: \"${cells.map(c, c.metadata.name)}\" }"
      ))
      yield* Harness.applyText(instance("Grid", "g", "{ rows: [b, a], cols: [2, 1] }"))
      assert.deepStrictEqual(at(yield* get("Grid", "g"), "status.names"), ["b-2", "b-1", "a-2", "a-1"])
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("a collection is ready when each of its items is", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(definition(
        "Pods",
        "{ names: '[]string' }",
        `
    - id: pods
      forEach: [{ pod: "\${schema.spec.names}" }]
      template: { apiVersion: v1, kind: Pod, metadata: { name: "\${pod}" } }
      readyWhen: ["\${each.status.phase == 'Running'}"]
` + configMap("after", "after", "{ phases: \"${pods.map(p, p.status.phase).join(',')}\" }")
      ))
      yield* Harness.applyText(instance("Pods", "x", "{ names: [a, b] }"))
      assert.deepStrictEqual(at(yield* get("ConfigMap", "after"), "data"), { phases: "Running,Running" })
    }).pipe(Effect.provide(Harness.layer)))
})

const reader = definition(
  "Reader",
  "{ team: string }",
  `
    - id: shared
      externalRef: { apiVersion: v1, kind: ConfigMap, metadata: { name: shared } }
    - id: others
      externalRef:
        apiVersion: v1
        kind: Secret
        metadata:
          selector:
            matchExpressions: [{ key: team, operator: In, values: ["\${schema.spec.team}"] }]
` + configMap("out", "out", "{ url: \"${shared.data.?url}\", count: \"${string(size(others))}\" }")
)
const shared = (data: string) => `{ apiVersion: v1, kind: ConfigMap, metadata: { name: shared }, data: ${data} }`
const secret = (name: string, team: string) =>
  `{ apiVersion: v1, kind: Secret, metadata: { name: ${name}, labels: { team: ${team} } }, data: {} }`
const outData = Effect.map(get("ConfigMap", "out"), (object) => at(object, "data"))

const chain = definition(
  "Chain",
  "{ name: string }",
  [
    configMap("a", "${schema.spec.name}-a", "{}"),
    configMap("b", "${schema.spec.name}-b", "{ a: \"${a.metadata.name}\" }"),
    configMap("c", "${schema.spec.name}-c", "{ b: \"${b.metadata.name}\" }")
  ].join("")
)

const outer = definition(
  "Outer",
  "{ name: string }",
  `
    - id: inner
      template: { apiVersion: example.dev/v1, kind: Chain, metadata: { name: "\${schema.spec.name}" }, spec: { name: "\${schema.spec.name}" } }
      readyWhen: ["\${inner.status.state == 'ACTIVE'}"]
`
)

describe("what does not concern an instance", () => {
  it.effect("[K102] once a collection has shrunk, what has become foreign makes no pass", () => {
    const { ends, layer } = Harness.observed()
    return Effect.gen(function*() {
      yield* Harness.applyText(pool)
      yield* Harness.applyText(instance("Pool", "p", "{ workers: [a, b] }"))
      yield* Harness.applyText(instance("Pool", "p", "{ workers: [a] }"))
      const before = ends.filter((end) => end.startsWith("Pool")).length
      yield* Harness.applyText("{ apiVersion: v1, kind: ConfigMap, metadata: { name: p-b }, data: { w: foreign } }")
      yield* Harness.patch("v1", "ConfigMap", "p-b", { data: { w: "changed" } })
      yield* Harness.remove("v1", "ConfigMap", "p-b")
      assert.strictEqual(ends.filter((end) => end.startsWith("Pool")).length, before)
    }).pipe(Effect.provide(Layer.provide(Harness.layer, layer)))
  })

  it.effect("an instance at rest makes no pass of its own", () => {
    const { ends, layer } = Harness.observed()
    return Effect.gen(function*() {
      yield* Harness.applyText(pool)
      yield* Harness.applyText(instance("Pool", "p", "{ workers: [a, b] }"))
      const before = ends.length
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(ends.slice(before), [])
    }).pipe(Effect.provide(Layer.provide(Harness.layer, layer)))
  })

  it.effect("[K106] a definition whose kind another one uses goes on when that one's instances are gone", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(chain)
      yield* Harness.applyText(outer)
      yield* Harness.applyText(instance("Outer", "o", "{ name: net }"))
      yield* Harness.applyText(instance("Chain", "alone", "{ name: own }"))
      yield* Harness.remove(example, "Outer", "o")
      yield* Harness.remove("v1", "ConfigMap", "own-b")
      assert.deepStrictEqual(yield* configMaps, ["own-a", "own-b", "own-c"])
    }).pipe(Effect.provide(Harness.layer)))
})

describe("failures and events", () => {
  it.effect("[K108] a store that is not available is tried again, and is no failure of the instance's passes", () => {
    const { ends, layer } = Harness.observed()
    let isDown = true
    const store = Harness.layerBefore((_, { kind }) =>
      isDown && kind === "ConfigMap" ? Harness.unavailable(kind) : Effect.void
    )
    return Effect.gen(function*() {
      yield* Harness.applyText(chain)
      yield* Harness.applyText(instance("Chain", "one", "{ name: net }"))
      assert.match(String(at(conditionOf(yield* get("Chain", "one"), "Ready"), "message")), /unavailable/)
      isDown = false
      yield* TestClock.adjust("1 minute") // the delays have doubled for as long as it was down
      assert.deepStrictEqual(yield* configMaps, ["net-a", "net-b", "net-c"])
      const own = new Set(ends.filter((end) => end.startsWith("Chain")))
      assert.deepStrictEqual([...own].toSorted(), ["Chain.example.dev: Done", "Chain.example.dev: Requeue"])
    }).pipe(Effect.provide(Layer.provide(store, layer)))
  })

  it.effect("[K119] each change of a condition is an event, Normal where it holds now; no change is none", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(app)
      yield* Harness.applyText(instance("App", "one", "{}"))
      const events = Effect.map(
        Store.list(EventRecorder.Event),
        ({ items }) =>
          items.filter(({ involvedObject }) => involvedObject.kind === "App").map(({ count, reason, type }) =>
            `${type} ${reason} ${count ?? 1}`
          ).toSorted()
      )
      const first = [
        "Normal GraphResolved 1",
        "Normal InstanceManaged 1",
        "Warning Ready 1",
        "Warning ResourcesReady 1"
      ]
      assert.deepStrictEqual(yield* events, first)
      yield* ready("db-1")
      const second = [...first, "Normal Ready 1", "Normal ResourcesReady 1"].toSorted()
      assert.deepStrictEqual(yield* events, second)
      yield* ready("db-2")
      assert.deepStrictEqual(yield* events, second)
    }).pipe(Effect.provide(Harness.layer)))
})

describe("external references", () => {
  it.effect("[K103] what is not there yet is waited for, and a change of it comes through", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(reader)
      yield* Harness.applyText(instance("Reader", "r", "{ team: a }"))
      assert.strictEqual(at(yield* get("Reader", "r"), "status.state"), "IN_PROGRESS")
      yield* Harness.applyText(shared("{ url: one }"))
      assert.deepStrictEqual(yield* outData, { url: "one", count: "0" })
      yield* Harness.applyText(shared("{ url: two }"))
      assert.deepStrictEqual(yield* outData, { url: "two", count: "0" })
      yield* Harness.applyText(shared("{}"))
      assert.deepStrictEqual(yield* outData, { count: "0" })
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("[K104] [K105] an object that comes into a selection, or leaves it, comes through", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(reader)
      yield* Harness.applyText(shared("{}"))
      yield* Harness.applyText(instance("Reader", "r", "{ team: a }"))
      yield* Harness.applyText(secret("s1", "a"))
      yield* Harness.applyText(secret("s2", "b"))
      assert.deepStrictEqual(yield* outData, { count: "1" })
      yield* Harness.applyText(secret("s2", "a"))
      assert.deepStrictEqual(yield* outData, { count: "2" })
      yield* Harness.applyText(secret("s1", "b"))
      assert.deepStrictEqual(yield* outData, { count: "1" })
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("[K115] what is external is never deleted, and its end does not keep an instance from going", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(reader)
      yield* Harness.applyText(shared("{}"))
      yield* Harness.applyText(instance("Reader", "r", "{ team: a }"))
      yield* Harness.remove(example, "Reader", "r")
      assert.isUndefined(yield* get("Reader", "r"))
      assert.deepStrictEqual(yield* configMaps, ["shared"])
    }).pipe(Effect.provide(Harness.layer)))
})

describe("the end of an instance", () => {
  it.effect("[K115] resources go in reverse order, each when what waits for it is gone", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(chain)
      yield* Harness.applyText(instance("Chain", "one", "{ name: net }"))
      yield* Harness.patch("v1", "ConfigMap", "net-c", { metadata: { finalizers: ["example.dev/held"] } })
      yield* Harness.remove(example, "Chain", "one")
      assert.deepStrictEqual(yield* configMaps, ["net-a", "net-b", "net-c"])
      assert.strictEqual(at(yield* get("Chain", "one"), "status.state"), "DELETING")
      yield* Harness.patch("v1", "ConfigMap", "net-c", { metadata: { finalizers: [] } })
      assert.deepStrictEqual(yield* configMaps, [])
      assert.isUndefined(yield* get("Chain", "one"))
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("[K115] what the definition does not list goes first, and a spoilt inventory keeps nothing from going", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(chain)
      yield* Harness.applyText(instance("Chain", "one", "{ name: net }"))
      const spoilt = { "internal.kro.run/kinds": "nonsense,, v1 no-kind,v1 ConfigMap x,NO/kind.. Kind" }
      yield* Harness.patch(example, "Chain", "one", {
        metadata: { annotations: { ...spoilt, "kro.run/reconcile": "suspended" } }
      })
      yield* Harness.patch("v1", "ConfigMap", "net-a", {
        metadata: { labels: { "kro.run/node-id": "unknown" }, finalizers: ["example.dev/held"] }
      })
      yield* Harness.remove(example, "Chain", "one")
      assert.deepStrictEqual(yield* configMaps, ["net-a", "net-b", "net-c"])
      yield* Harness.patch("v1", "ConfigMap", "net-a", { metadata: { finalizers: [] } })
      assert.deepStrictEqual(yield* configMaps, [])
      assert.isUndefined(yield* get("Chain", "one"))
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("[K115] an object that was replaced by another one of its name meanwhile is not deleted", () => {
    let isDone = false
    const store = Harness.layerBefore((driver, address, write) => {
      if (isDone || write.op !== "delete" || write.key.name !== "net-b") return Effect.void
      isDone = true
      const metadata = { name: "net-b", namespace: "default", uid: "", resourceVersion: "", creationTimestamp: "" }
      const object = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { mine: "stays" } }
      return Effect.andThen(
        driver.write(address, write, { writeId: "w1", hasStatus: true }),
        driver.write(address, { op: "create", object }, { writeId: "w2", hasStatus: true })
      )
    })
    return Effect.gen(function*() {
      yield* Harness.applyText(chain)
      yield* Harness.applyText(instance("Chain", "one", "{ name: net }"))
      yield* Harness.remove(example, "Chain", "one")
      assert.isTrue(isDone)
      assert.deepStrictEqual(at(yield* get("ConfigMap", "net-b"), "data"), { mine: "stays" })
      assert.deepStrictEqual(yield* configMaps, ["net-b"])
      assert.isUndefined(yield* get("Chain", "one"))
    }).pipe(Effect.provide(store))
  })

  it.effect("[K116] the finalizer goes although somebody writes the instance meanwhile", () => {
    let isDone = false
    const store = Harness.layerBefore((driver, address, write) => {
      if (isDone || write.op !== "delete" || write.key.name !== "net-a") return Effect.void
      isDone = true
      const chains: Kind.Address = { ...address, group: "example.dev", kind: "Chain", plural: "chains" }
      const patch = { metadata: { annotations: { somebody: "was here" } } }
      return driver.write(
        chains,
        { op: "patch", key: { namespace: "default", name: "one" }, type: "merge", patch },
        { writeId: "w1", hasStatus: true }
      )
    })
    return Effect.gen(function*() {
      yield* Harness.applyText(chain)
      yield* Harness.applyText(instance("Chain", "one", "{ name: net }"))
      yield* Harness.remove(example, "Chain", "one")
      assert.isTrue(isDone)
      assert.isUndefined(yield* get("Chain", "one"))
    }).pipe(Effect.provide(store))
  })

  it.effect("[K114] instances of instances go with them", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(chain)
      yield* Harness.applyText(outer)
      yield* Harness.applyText(instance("Outer", "o", "{ name: net }"))
      assert.strictEqual(at(yield* get("Outer", "o"), "status.state"), "ACTIVE")
      yield* Harness.remove(example, "Outer", "o")
      assert.deepStrictEqual(yield* configMaps, [])
      assert.deepStrictEqual(yield* Harness.names(example, "Chain"), [])
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("[K109] nothing is made of an object that is being deleted, and it is made anew when it is gone", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(app)
      yield* Harness.applyText(instance("App", "one", "{}"))
      yield* Harness.patch("db.example.dev/v1", "Database", "one-db", {
        metadata: { finalizers: ["example.dev/held"] }
      })
      yield* Harness.remove("db.example.dev/v1", "Database", "one-db")
      yield* ready("db-1")
      assert.deepStrictEqual(yield* configMaps, [])
      assert.match(
        String(at(conditionOf(yield* get("App", "one"), "Ready"), "message")),
        /Database one-db is being deleted/
      )
      yield* Harness.patch("db.example.dev/v1", "Database", "one-db", { metadata: { finalizers: [] } })
      yield* ready("db-2")
      assert.deepStrictEqual(at(yield* get("ConfigMap", "one-config"), "data"), { host: "db-2" })
    }).pipe(Effect.provide(Harness.layer)))
})

describe("definitions that come, change and go", () => {
  it.effect("an instance that is there before its definition is taken up when the definition comes", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(instance("Chain", "one", "{ name: net }"))
      yield* Harness.applyText(chain)
      assert.deepStrictEqual(yield* configMaps, ["net-a", "net-b", "net-c"])
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("what a changed definition no longer lists is taken away, of kinds that it no longer names too", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(app)
      yield* Harness.applyText(instance("App", "one", "{}"))
      yield* ready("db-1")
      yield* Harness.applyText(
        definition("App", "{ size: string, extra: boolean }", configMap("only", "one-only", "{}"))
      )
      assert.deepStrictEqual(yield* configMaps, ["one-only"])
      assert.deepStrictEqual(yield* Harness.names("db.example.dev/v1", "Database"), [])
      yield* Harness.remove(example, "App", "one")
      assert.deepStrictEqual(yield* configMaps, [])
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("[K111] what is no longer listed goes while another resource is not ready", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(definition("App", "{ size: string }", database + configMap("old", "old", "{}")))
      yield* Harness.applyText(instance("App", "one", "{ size: big }"))
      assert.deepStrictEqual(yield* configMaps, ["old"])
      yield* Harness.applyText(definition("App", "{ size: string }", database))
      assert.strictEqual(at(yield* get("App", "one"), "status.state"), "IN_PROGRESS")
      assert.deepStrictEqual(yield* configMaps, [])
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("what cannot be told now keeps what it has", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(app)
      yield* Harness.applyText(instance("App", "one", "{}"))
      yield* ready("db-1")
      yield* Harness.patch("db.example.dev/v1", "Database", "one-db", { status: { ready: false } }, "status")
      assert.strictEqual(at(yield* get("App", "one"), "status.state"), "IN_PROGRESS")
      assert.deepStrictEqual(yield* configMaps, ["one-config"])
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("[K117] an invalid definition says so and keeps the last valid one at work; the next valid one takes over", () =>
    Effect.gen(function*() {
      const one = (data: string) => definition("One", "{ x: string }", configMap("a", "a", data))
      yield* Harness.applyText(one("{ v: first }"))
      yield* Harness.applyText(instance("One", "one", "{ x: z }"))
      yield* Harness.applyText(one("{ v: \"${nothing.at.all}\" }"))
      const broken = yield* Harness.get("kro.run/v1alpha1", "ResourceGraphDefinition", "one")
      assert.strictEqual(at(broken, "status.state"), "Inactive")
      assert.match(
        String(at(conditionOf(broken, "ResourceGraphAccepted"), "message")),
        /template\.data\.v.*Unknown variable: nothing/
      )
      yield* Harness.remove("v1", "ConfigMap", "a")
      assert.deepStrictEqual(at(yield* get("ConfigMap", "a"), "data"), { v: "first" })
      yield* Harness.applyText(one("{ v: third }"))
      assert.deepStrictEqual(at(yield* get("ConfigMap", "a"), "data"), { v: "third" })
      const mended = yield* Harness.get("kro.run/v1alpha1", "ResourceGraphDefinition", "one")
      assert.strictEqual(at(mended, "status.state"), "Active")
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("a definition waits for its instances to be deleted, and its kind can come back", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(chain)
      yield* Harness.applyText(instance("Chain", "one", "{ name: net }"))
      yield* Harness.remove("kro.run/v1alpha1", "ResourceGraphDefinition", "chain")
      const going = yield* Harness.get("kro.run/v1alpha1", "ResourceGraphDefinition", "chain")
      assert.strictEqual(at(going, "status.state"), "Deleting")
      yield* Harness.remove(example, "Chain", "one")
      assert.deepStrictEqual(yield* configMaps, [])
      assert.isUndefined(yield* Harness.get("kro.run/v1alpha1", "ResourceGraphDefinition", "chain"))
      yield* Harness.applyText(chain)
      yield* Harness.applyText(instance("Chain", "two", "{ name: m }"))
      assert.deepStrictEqual(yield* configMaps, ["m-a", "m-b", "m-c"])
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("of two definitions that come at once one makes the kind, whichever passes come first", () =>
    Effect.gen(function*() {
      const [one] = Inputs.readText("one.yaml", chain)
      const [two] = Inputs.readText("two.yaml", chain.replace("name: chain", "name: second"))
      yield* Effect.forEach([one, two], Harness.write)
      yield* Harness.settle
      const states = yield* Effect.forEach(
        ["chain", "second"],
        (name) => Harness.get("kro.run/v1alpha1", "ResourceGraphDefinition", name)
      )
      assert.sameMembers(states.map((state) => at(state, "status.state")), ["Active", "Inactive"])
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("a kind that somebody else has declared is not taken over", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: chains.example.dev }
spec: { group: example.dev, scope: Namespaced, names: { kind: Chain, plural: chains }, versions: [{ name: v1, served: true, storage: true }] }
`)
      yield* Harness.applyText(chain)
      const refused = yield* Harness.get("kro.run/v1alpha1", "ResourceGraphDefinition", "chain")
      assert.match(String(at(conditionOf(refused, "Ready"), "message")), /that no definition made/)
      yield* Harness.remove("kro.run/v1alpha1", "ResourceGraphDefinition", "chain")
      assert.isDefined(yield* Harness.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "chains.example.dev"))
      assert.isUndefined(yield* Harness.get("kro.run/v1alpha1", "ResourceGraphDefinition", "chain"))
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("a definition cannot turn to another kind while there are instances, and may when they are gone", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(chain)
      yield* Harness.applyText(instance("Chain", "one", "{ name: net }"))
      yield* Harness.applyText(chain.replace("kind: Chain", "kind: Rope"))
      const refused = yield* Harness.get("kro.run/v1alpha1", "ResourceGraphDefinition", "chain")
      assert.match(
        String(at(conditionOf(refused, "Ready"), "message")),
        /cannot change while there are instances of Chain/
      )
      yield* Harness.remove("v1", "ConfigMap", "net-b")
      assert.deepStrictEqual(yield* configMaps, ["net-a", "net-b", "net-c"])
      yield* Harness.remove(example, "Chain", "one")
      assert.deepStrictEqual(yield* configMaps, [])
      yield* Harness.applyText(instance("Rope", "two", "{ name: rope }"))
      assert.deepStrictEqual(yield* configMaps, ["rope-a", "rope-b", "rope-c"])
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("what was begun before a restart is gone on with after it, the deletion of a definition too", () =>
    Effect.gen(function*() {
      const driver = yield* MemoryStore.make()
      const life = Effect.provide(Layer.fresh(Harness.layerOn(Layer.succeed(Store.Store, Store.make(driver)))))
      yield* Effect.gen(function*() {
        yield* Harness.applyText(app)
        yield* Harness.applyText(instance("App", "one", "{}"))
        assert.deepStrictEqual(yield* configMaps, [])
      }).pipe(life)
      yield* Effect.gen(function*() {
        yield* Harness.settle
        yield* ready("db-1")
        assert.deepStrictEqual(yield* configMaps, ["one-config"])
        yield* Harness.remove("kro.run/v1alpha1", "ResourceGraphDefinition", "app")
      }).pipe(life)
      yield* Effect.gen(function*() {
        yield* Harness.settle
        yield* Harness.remove("v1", "ConfigMap", "one-config")
        assert.deepStrictEqual(yield* configMaps, ["one-config"])
        yield* Harness.remove(example, "App", "one")
        assert.deepStrictEqual(yield* configMaps, [])
        assert.isUndefined(yield* Harness.get("kro.run/v1alpha1", "ResourceGraphDefinition", "app"))
      }).pipe(life)
    }))

  it.effect("resources may have names that objects of the language have", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(definition(
        "Odd",
        "{ toString: string }",
        configMap("constructor", "a", "{ valueOf: \"${schema.spec.toString}\" }") +
          configMap("hasOwnProperty", "b", "{ x: \"${constructor.data.valueOf}\" }")
      ))
      yield* Harness.applyText(instance("Odd", "one", "{ toString: text }"))
      assert.deepStrictEqual(at(yield* get("ConfigMap", "b"), "data"), { x: "text" })
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("[K110] two definitions do not touch each other's instances, and cannot make one kind", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(chain)
      yield* Harness.applyText(pool)
      yield* Harness.applyText(instance("Chain", "x", "{ name: net }"))
      yield* Harness.applyText(instance("Pool", "x", "{ workers: [] }"))
      yield* Harness.applyText(chain.replace("name: chain", "name: second"))
      const second = yield* Harness.get("kro.run/v1alpha1", "ResourceGraphDefinition", "second")
      assert.match(
        String(at(conditionOf(second, "Ready"), "message")),
        /Chain\.example\.dev is made by the definition chain/
      )
      yield* Harness.remove("kro.run/v1alpha1", "ResourceGraphDefinition", "chain")
      yield* Harness.remove(example, "Chain", "x")
      const heir = yield* Harness.get("kro.run/v1alpha1", "ResourceGraphDefinition", "second")
      assert.strictEqual(at(heir, "status.state"), "Active")
      yield* Harness.applyText(instance("Chain", "x", "{ name: net }"))
      yield* Harness.remove(example, "Pool", "x")
      assert.deepStrictEqual(yield* configMaps, ["net-a", "net-b", "net-c"])
      yield* Harness.remove("v1", "ConfigMap", "net-b")
      assert.deepStrictEqual(yield* configMaps, ["net-a", "net-b", "net-c"])
    }).pipe(Effect.provide(Harness.layer)))
})

describe("whose objects they are", () => {
  it.effect("[K118] two instances never share an object: the second is told, the first keeps it", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(chain)
      yield* Harness.applyText(instance("Chain", "one", "{ name: net }"))
      yield* Harness.applyText(instance("Chain", "two", "{ name: net }"))
      const two = yield* get("Chain", "two")
      assert.strictEqual(at(two, "status.state"), "ERROR")
      assert.match(String(at(conditionOf(two, "Ready"), "message")), /ConfigMap net-a belongs to Chain one/)
      yield* Harness.remove(example, "Chain", "two")
      assert.deepStrictEqual(yield* configMaps, ["net-a", "net-b", "net-c"])
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("[K107] fields that a template sets are repaired at once, fields of others stay", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(chain)
      yield* Harness.applyText(instance("Chain", "one", "{ name: net }"))
      yield* Harness.patch("v1", "ConfigMap", "net-b", { data: { a: "changed", mine: "stays" } })
      assert.deepStrictEqual(at(yield* get("ConfigMap", "net-b"), "data"), { a: "net-a", mine: "stays" })
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("[K113] an instance of a cluster kind has its resources where it says", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(definition(
        "Tenant",
        "{ target: string }",
        `
    - id: config
      template: { apiVersion: v1, kind: ConfigMap, metadata: { name: "\${schema.metadata.name}-config", namespace: "\${schema.spec.target}" } }
    - id: namespace1
      template: { apiVersion: v1, kind: Namespace, metadata: { name: "\${schema.spec.target}" } }
`,
        "    scope: Cluster"
      ))
      yield* Harness.applyText(instance("Tenant", "t", "{ target: team }"))
      assert.isDefined(yield* Harness.get("v1", "ConfigMap", "t-config", "team"))
      assert.strictEqual(at(yield* get("Tenant", "t"), "status.state"), "ACTIVE")
      yield* Harness.patch(example, "Tenant", "t", { spec: { target: "other" } })
      assert.deepStrictEqual(yield* Harness.names("v1", "ConfigMap", "team"), [])
      yield* Harness.remove(example, "Tenant", "t")
      assert.deepStrictEqual(yield* configMaps, [])
      assert.deepStrictEqual(yield* Harness.names("v1", "Namespace"), [])
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("[K112] a resource that the store refuses is told in the status, and comes when it is allowed", () =>
    Effect.gen(function*() {
      const crd = (minimum: number) => `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { kind: Widget, plural: widgets }
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties: { spec: { type: object, properties: { size: { type: integer, minimum: ${minimum} } } } }
`
      yield* Harness.applyText(crd(5))
      yield* Harness.applyText(definition(
        "Holder",
        "{ size: integer }",
        "    - { id: widget, template: { apiVersion: example.com/v1, kind: Widget, metadata: { name: w }, spec: { size: \"${schema.spec.size}\" } } }"
      ))
      yield* Harness.applyText(instance("Holder", "h", "{ size: 3 }"))
      const refused = yield* get("Holder", "h")
      assert.strictEqual(at(refused, "status.state"), "ERROR")
      assert.match(String(at(conditionOf(refused, "ResourcesReady"), "message")), /widget: .*spec\.size/)
      yield* Harness.applyText(crd(1))
      yield* TestClock.adjust("1 minute")
      assert.isDefined(yield* Harness.get("example.com/v1", "Widget", "w"))
      assert.strictEqual(at(yield* get("Holder", "h"), "status.state"), "ACTIVE")
    }).pipe(Effect.provide(Harness.layer)))

  it.effect("a suspended instance is left alone and says so, can be deleted, and goes on when it is resumed", () =>
    Effect.gen(function*() {
      yield* Harness.applyText(chain)
      yield* Harness.applyText(instance("Chain", "one", "{ name: net }"))
      yield* Harness.patch(example, "Chain", "one", { metadata: { annotations: { "kro.run/reconcile": "suspended" } } })
      yield* Harness.remove("v1", "ConfigMap", "net-c")
      assert.deepStrictEqual(yield* configMaps, ["net-a", "net-b"])
      assert.strictEqual(at(yield* get("Chain", "one"), "status.paused"), true)
      yield* Harness.patch(example, "Chain", "one", { metadata: { annotations: { "kro.run/reconcile": null } } })
      assert.deepStrictEqual(yield* configMaps, ["net-a", "net-b", "net-c"])
      assert.notStrictEqual(at(yield* get("Chain", "one"), "status.paused"), true)
      yield* Harness.patch(example, "Chain", "one", { metadata: { annotations: { "kro.run/reconcile": "suspended" } } })
      yield* Harness.remove(example, "Chain", "one")
      assert.deepStrictEqual(yield* configMaps, [])
    }).pipe(Effect.provide(Harness.layer)))
})
