/** Bad input and bounds: every wrong thing is a typed failure that names its place, and changes nothing. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Json, Raw } from "setpoint/Resource"
import * as StoreDriver from "setpoint/StoreDriver"
import * as kit from "./contractKit.ts"
import type { Test } from "./contractTypes.ts"

export const tests = (test: Test): void => {
  test(
    "names and namespaces that break Kubernetes' rules are Invalid, whatever Unicode is in them",
    Effect.gen(function*() {
      for (
        const name of [
          "",
          "A",
          "a_b",
          "-a",
          "a-",
          "a..b",
          "ä",
          "a b",
          "a/b",
          "😀",
          "a\u0000",
          "a".repeat(254),
          "__proto__"
        ]
      ) {
        assert.include(yield* kit.invalidFields(kit.create(name)), "metadata.name")
        yield* kit.failsWith("Invalid", kit.get(name))
      }
      for (const namespace of ["", "A", "a.b", "ä", "a/b", "a".repeat(64)]) {
        assert.include(yield* kit.invalidFields(kit.create("a", { namespace })), "metadata.namespace")
      }
      yield* kit.create("constructor")
      yield* kit.create("tostring.valueof.has-own-property")
      yield* kit.create("a".repeat(253))
      assert.strictEqual((yield* kit.list()).items.length, 3)
    })
  )
  test(
    "a namespace on an object of a cluster kind is Invalid",
    Effect.gen(function*() {
      const object = { ...kit.website("north"), kind: "Region", data: {} }
      const fields = yield* kit.invalidFields(
        kit.write({ op: "create", object }, { hasStatus: false }, kit.Region.address)
      )
      assert.include(fields, "metadata.namespace")
    })
  )
  test(
    "labels, annotations, finalizers and owner references are checked, each with its path",
    Effect.gen(function*() {
      const owner = { apiVersion: "v1", kind: "X", name: "x", uid: "u" }
      const bad: ReadonlyArray<readonly [string, { readonly [name: string]: unknown }]> = [
        ["metadata.labels", { labels: { "not a key!": "x" } }],
        ["metadata.labels", { labels: { tier: "not a value!" } }],
        ["metadata.labels", { labels: { tier: 1 } }],
        ["metadata.labels", { labels: ["tier"] }],
        ["metadata.annotations", { annotations: { "": "x" } }],
        ["metadata.annotations", { annotations: { a: "x".repeat(300_000) } }],
        ["metadata.finalizers[0]", { finalizers: ["not qualified!"] }],
        ["metadata.finalizers", { finalizers: "x" }],
        ["metadata.ownerReferences[0].uid", { ownerReferences: [{ ...owner, uid: "" }] }],
        ["metadata.ownerReferences[1]", { ownerReferences: [owner, null] }],
        ["metadata.ownerReferences", {
          ownerReferences: [{ ...owner, controller: true }, { ...owner, controller: true }]
        }]
      ]
      const read = yield* kit.create("read")
      for (const [path, parts] of bad) {
        assert.include(yield* kit.invalidFields(kit.create("a", parts as kit.Parts)), path)
        assert.include(
          yield* kit.invalidFields(kit.update(read, { metadata: { ...read.metadata, ...parts } as Raw["metadata"] })),
          path
        )
      }
      yield* kit.failsWith("NotFound", kit.get("a"))
      assert.deepStrictEqual(yield* kit.get("read"), read)
    })
  )
  test(
    "a kind or an apiVersion other than that of the call is Invalid",
    Effect.gen(function*() {
      const object = kit.website("a")
      assert.deepStrictEqual(
        yield* kit.invalidFields(kit.write({ op: "create", object: { ...object, kind: "Other" } })),
        ["kind"]
      )
      const apiVersion = "example.dev/v9"
      assert.deepStrictEqual(yield* kit.invalidFields(kit.write({ op: "create", object: { ...object, apiVersion } })), [
        "apiVersion"
      ])
    })
  )
  test(
    "what JSON cannot hold is Invalid with its path: NaN, functions, dates, cycles, endless nesting",
    Effect.gen(function*() {
      const cycle: { [name: string]: unknown } = {}
      cycle.self = cycle
      let deep: unknown = 1
      for (let i = 0; i < 10_000; i++) deep = { deep }
      const bad: ReadonlyArray<readonly [string, unknown]> = [
        ["spec.replicas", Number.NaN],
        ["spec.replicas", Number.POSITIVE_INFINITY],
        ["spec.replicas", () => 1],
        ["spec.replicas", 1n],
        ["spec.replicas", Symbol("x")],
        ["spec.replicas", new Date(0)],
        ["spec.replicas", new Map()]
      ]
      for (const [path, replicas] of bad) {
        const create = kit.create("a", { spec: { host: "x", replicas: replicas as Json } })
        assert.deepStrictEqual(yield* kit.invalidFields(create), [path])
      }
      for (const spec of [cycle, deep]) yield* kit.failsWith("Invalid", kit.create("a", { spec: spec as never }))
      yield* kit.failsWith("NotFound", kit.get("a"))
    })
  )
  test(
    "names of an object's prototype are members as any other, but __proto__, which is Invalid",
    Effect.gen(function*() {
      const spec = JSON.parse(`{"constructor": {"prototype": 1}, "toString": "x", "hasOwnProperty": null}`)
      const created = yield* kit.create("a", { spec })
      assert.deepStrictEqual(created.spec, spec)
      const { object } = yield* kit.patch(kit.keyOf("a"), "merge", { spec: { valueOf: 1, constructor: null } })
      assert.deepStrictEqual(Object.keys(object.spec ?? {}).toSorted(), ["hasOwnProperty", "toString", "valueOf"])
      const polluting = JSON.parse(`{"__proto__": {"polluted": true}}`)
      yield* kit.failsWith("Invalid", kit.create("b", { spec: polluting }))
      yield* kit.failsWith("Invalid", kit.patch(kit.keyOf("a"), "merge", { spec: polluting }))
      assert.isFalse("polluted" in {})
    })
  )
  test(
    "an object over the limit is TooLarge with both sizes, on create and on update",
    Effect.gen(function*() {
      const read = yield* kit.create("a")
      const spec = { host: "x".repeat(20_000), replicas: 1 }
      for (const write of [Effect.asVoid(kit.create("b", { spec })), Effect.asVoid(kit.update(read, { spec }))]) {
        const reason = yield* kit.reasonOf(write)
        if (reason._tag !== "TooLarge") return assert.fail(reason._tag)
        assert.strictEqual(reason.limitBytes, 10_000)
        assert.isAtLeast(reason.actualBytes, 20_000)
      }
    }),
    { maxObjectBytes: 10_000 }
  )
  test(
    "ten megabytes are TooLarge by default, and 100,000 labels or 5 MB of text are stored",
    Effect.gen(function*() {
      yield* kit.failsWith("TooLarge", kit.create("a", { spec: { host: "x".repeat(10_000_000), replicas: 1 } }))
      const large = yield* kit.create("b", { spec: { host: "x".repeat(5_000_000), replicas: 1 } })
      assert.strictEqual(Object(large.spec).host.length, 5_000_000)
      const labels = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`l${i}`, "x"]))
      const many = yield* kit.create("c", { labels })
      assert.strictEqual(Object.keys(many.metadata.labels ?? {}).length, 100_000)
    })
  )
  test(
    "a patch that is none is Invalid",
    Effect.gen(function*() {
      const read = yield* kit.create("a")
      const key = kit.keyOf("a")
      const bad: ReadonlyArray<readonly ["merge" | "json", Json]> = [
        ["merge", null],
        ["merge", 1],
        ["merge", []],
        ["merge", { metadata: null }],
        ["merge", { metadata: 1 }],
        ["json", {}],
        ["json", [{ op: "nothing" }]],
        ["json", [{ op: "replace", path: "no pointer", value: 1 }]],
        ["json", [{ op: "remove", path: "/spec/absent" }]],
        ["json", [{ op: "replace", path: "", value: null }]],
        ["json", [{ op: "remove", path: "/metadata" }]]
      ]
      for (const [type, patch] of bad) yield* kit.failsWith("Invalid", kit.patch(key, type, patch))
      yield* kit.failsWith("Invalid", kit.patch(key, "merge", { spec: { replicas: 2 } }, { subresource: "scale" }))
      assert.deepStrictEqual(yield* kit.get("a"), read)
    })
  )
  test(
    "wrong selectors, limits, pages and buffer sizes are Invalid",
    Effect.gen(function*() {
      yield* kit.create("a")
      for (const selector of ["=", "a in (", "a b", "é=x", "!", "a=b,"]) {
        yield* kit.failsWith("Invalid", kit.list({ selector }))
        yield* kit.failsWith("Invalid", kit.list({ selector, limit: 1 }))
      }
      for (const limit of [0, -1, 1.5, Number.NaN]) yield* kit.failsWith("Invalid", kit.list({ limit }))
      for (const page of ["", "x", "[]", "{}", "null", "[1,2,3]", "[\"1\"]", "__proto__"]) {
        yield* kit.failsWith("Invalid", kit.list({ page, limit: 1 }))
      }
      for (const bufferSize of [0, -1, 1.5, Number.NaN]) {
        const events = yield* kit.follow({ bufferSize })
        yield* kit.failsWith("Invalid", Effect.catchTag(kit.initial(events), "Done", () => Effect.die("it ended")))
      }
    })
  )
  test(
    "an error names the operation, the kind and the object",
    Effect.gen(function*() {
      const error = yield* Effect.flip(kit.get("absent"))
      assert.deepStrictEqual([error.operation, error.kind, error.key], [
        "get",
        "Website.example.dev",
        kit.keyOf("absent")
      ])
      const driver = yield* StoreDriver.StoreDriver
      const region = yield* Effect.flip(
        driver.get(kit.Region.address, { namespace: "", name: "north" }, { consistency: "any" })
      )
      assert.include(region.message, "Region.example.dev north")
    })
  )
}
