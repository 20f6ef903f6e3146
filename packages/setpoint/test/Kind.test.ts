import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { Kind, MemoryStore, type Resource, Store } from "setpoint"

const Website = Kind.make({
  group: "example.dev",
  version: "v2",
  kind: "Website",
  spec: Schema.Struct({
    hosts: Schema.Array(Schema.String),
    replicas: Schema.Int.pipe(Schema.withDecodingDefaultType(Effect.succeed(1)))
  }),
  status: Schema.Struct({ ready: Schema.Int })
})

const WebsiteV1 = Kind.served(Website, {
  version: "v1",
  spec: Schema.Struct({ host: Schema.String, replicas: Schema.Int }),
  conversion: SchemaTransformation.transform({
    decode: ({ spec }) => ({ spec: { host: spec.hosts[0] ?? "", replicas: spec.replicas } }),
    encode: ({ spec }) => ({ spec: { hosts: [spec.host], replicas: spec.replicas } })
  })
})

const refused = (options: Partial<Parameters<typeof Kind.make>[0]>): string => {
  try {
    Kind.make({ group: "example.dev", version: "v1", kind: "Website", ...options })
    return "accepted"
  } catch (error) {
    return error instanceof Kind.InvalidKind ? error.message : String(error)
  }
}

describe("declaring", () => {
  it("a kind has an address, an apiVersion, and a name without version", () => {
    assert.deepStrictEqual(Website.address, {
      group: "example.dev",
      version: "v2",
      kind: "Website",
      plural: "websites",
      scope: "Namespaced"
    })
    assert.strictEqual(Website.apiVersion, "example.dev/v2")
    assert.strictEqual(Website.groupKind, "Website.example.dev")
    assert.deepStrictEqual(Website.fields, ["spec", "status"])
    const Node = Kind.make({ group: "", version: "v1", kind: "Node", scope: "Cluster" })
    assert.strictEqual(Node.apiVersion, "v1")
    assert.strictEqual(Node.groupKind, "Node")
  })

  it("the plural follows Kubernetes' rule, or is what one says", () => {
    const plural = (kind: string, given?: string) =>
      Kind.make({ group: "", version: "v1", kind, plural: given }).address.plural
    assert.deepStrictEqual(["Policy", "Ingress", "Endpoints", "Pod"].map((kind) => plural(kind)), [
      "policies",
      "ingresses",
      "endpoints",
      "pods"
    ])
    assert.strictEqual(plural("Sheep", "sheep"), "sheep")
  })

  it("object types are inferred: metadata, declared fields, optional status", () => {
    const take = (site: Kind.Resource<typeof Website>) => {
      const hosts: ReadonlyArray<string> = site.spec.hosts
      const ready: number | undefined = site.status?.ready
      const kind: "Website" = site.kind
      // @ts-expect-error there is no such field
      const none = site.spec.host
      return [hosts, ready, kind, none]
    }
    assert.strictEqual(take.length, 1)
  })

  it("a declaration that breaks a rule says which field, and what would be right", () => {
    assert.match(refused({ group: "Example.dev" }), /^kind Website, group: /)
    assert.match(refused({ version: "1" }), /^kind Website, version: /)
    assert.match(refused({ kind: "" }), /kind: /)
    assert.match(refused({ plural: "Web Sites" }), /^kind Website, plural: /)
    assert.match(refused({ fields: { metadata: Schema.String } }), /^kind Website, fields.metadata: /)
    assert.strictEqual(refused({}), "accepted")
  })

  it("a kind whose Schema transforms nothing hands out the stored object itself", () => {
    const Plain = Kind.make({ group: "", version: "v1", kind: "Plain", spec: Schema.Struct({ a: Schema.String }) })
    assert.isTrue(Plain.plain)
    assert.isFalse(Website.plain)
    const raw: Resource.Raw = {
      apiVersion: "v1",
      kind: "Plain",
      metadata: { name: "a", uid: "u", resourceVersion: "1", creationTimestamp: "" },
      spec: { a: "x" }
    }
    assert.strictEqual<unknown>(Result.getOrThrow(Plain.decode(raw)), raw)
  })

  it("what does not decode is told field by field", () => {
    const raw: Resource.Raw = {
      apiVersion: "example.dev/v2",
      kind: "Website",
      metadata: { name: "a", uid: "u", resourceVersion: "1", creationTimestamp: "" },
      spec: { hosts: ["a", 1], replicas: 1.5 }
    }
    const decoded = Website.decode(raw)
    assert.deepStrictEqual(
      Result.isFailure(decoded) ? decoded.failure.fields.map(({ path }) => path) : [],
      ["spec.hosts[1]", "spec.replicas"]
    )
  })

  it("a manifest is read in its own version's form, with defaults, and is refused field by field", () => {
    const read = Website.decodeManifest({ metadata: { name: "a" }, spec: { hosts: ["x"] } })
    assert.deepStrictEqual(Result.getOrThrow(read).spec, { hosts: ["x"], replicas: 1 })
    const wrong = Website.decodeManifest({ metadata: { name: "a" }, spec: { hosts: "x" } })
    assert.deepStrictEqual(Result.isFailure(wrong) ? wrong.failure.fields.map(({ path }) => path) : [], ["spec.hosts"])
  })
})

describe("several versions", () => {
  it.effect("[S2] both versions are one object: written in one, read in the other, with one uid and revision", () =>
    Effect.gen(function*() {
      const created = yield* Store.create(WebsiteV1, { metadata: { name: "a" }, spec: { host: "x", replicas: 2 } })
      assert.strictEqual(created.apiVersion, "example.dev/v1")
      const stored = yield* Store.get(Website, { name: "a" })
      assert.strictEqual(stored.apiVersion, "example.dev/v2")
      assert.deepStrictEqual(stored.spec, { hosts: ["x"], replicas: 2 })
      assert.strictEqual(stored.metadata.uid, created.metadata.uid)
      assert.strictEqual(stored.metadata.resourceVersion, created.metadata.resourceVersion)
      const same = yield* Store.update(WebsiteV1, created)
      assert.strictEqual(same.metadata.resourceVersion, created.metadata.resourceVersion)
      const { items } = yield* Store.list(WebsiteV1)
      assert.deepStrictEqual(items.map(({ spec }) => spec.host), ["x"])
    }).pipe(Effect.provide(MemoryStore.layer)))

  it.effect("[S13] a view keeps what it does not show", () =>
    Effect.gen(function*() {
      yield* Store.create(Website, { metadata: { name: "a" }, spec: { hosts: ["x"], replicas: 1 } })
      const raw = yield* Store.patchUnconditionally(Website, { name: "a" }, { merge: { spec: { colour: "red" } } })
      assert.strictEqual(raw.spec.replicas, 1)
      const view = yield* Store.get(WebsiteV1, { name: "a" })
      yield* Store.update(WebsiteV1, { ...view, spec: { ...view.spec, replicas: 3 } })
      const store = yield* Store.Store
      const stored = yield* store.driver.get(Website.address, { namespace: "default", name: "a" }, {
        consistency: "mostRecent"
      })
      assert.deepStrictEqual(stored["spec"], { hosts: ["x"], replicas: 3, colour: "red" })
    }).pipe(Effect.provide(MemoryStore.layer)))
})

describe("kinds from data", () => {
  const schema = {
    type: "object",
    properties: {
      spec: {
        type: "object",
        required: ["size"],
        properties: { size: { type: "integer", minimum: 1 }, colour: { type: "string", default: "red" } }
      },
      status: { type: "object", properties: { ready: { type: "boolean" } } }
    }
  }

  it.effect("a kind from a JSON Schema works like a compiled one", () =>
    Effect.gen(function*() {
      const Widget = yield* Effect.fromResult(
        Kind.fromJsonSchema({ group: "example.dev", version: "v1", kind: "Widget", schema })
      )
      assert.isTrue(Widget.hasStatus)
      assert.deepStrictEqual(Widget.statusFields, ["ready"])
      const created = yield* Store.create(Widget, { metadata: { name: "a" }, spec: { size: 1 } })
      assert.deepStrictEqual(created["spec"], { size: 1, colour: "red" }) // defaults are stored at write (S2)
      const error = yield* Effect.flip(Store.create(Widget, { metadata: { name: "b" }, spec: { size: 0 } }))
      assert.strictEqual(error.reason._tag, "Invalid")
      assert.match(error.message, /spec.size/)
    }).pipe(Effect.provide(MemoryStore.layer)))

  it.effect("[S11] an applier owns what it set, not the defaults that a schema filled in", () =>
    Effect.gen(function*() {
      const Widget = yield* Effect.fromResult(
        Kind.fromJsonSchema({ group: "example.dev", version: "v1", kind: "Widget", schema })
      )
      const metadata = { name: "a" }
      const mine = yield* Store.apply(Widget, { metadata, spec: { size: 1 } }, { manager: "me" })
      assert.deepStrictEqual(mine["spec"], { size: 1, colour: "red" })
      const again = yield* Store.apply(Widget, { metadata, spec: { size: 1 } }, { manager: "me" })
      assert.strictEqual(again.metadata.resourceVersion, mine.metadata.resourceVersion)
      const both = yield* Store.apply(Widget, { metadata, spec: { colour: "blue" } }, { manager: "you" })
      assert.deepStrictEqual(both["spec"], { size: 1, colour: "blue" })
    }).pipe(Effect.provide(MemoryStore.layer)))

  it("a document that is no schema, and a name that breaks a rule, are typed failures", () => {
    const wrong = Kind.fromJsonSchema({
      group: "example.dev",
      version: "v1",
      kind: "Widget",
      schema: { type: "object", properties: { spec: { type: "strin" } } }
    })
    assert.match(Result.isFailure(wrong) ? wrong.failure.message : "", /^kind Widget, schema\/properties\/spec\/type: /)
    const name = Kind.fromJsonSchema({ group: "Example.dev", version: "v1", kind: "Widget", schema })
    assert.match(Result.isFailure(name) ? name.failure.message : "", /^kind Widget, group: /)
  })
})
