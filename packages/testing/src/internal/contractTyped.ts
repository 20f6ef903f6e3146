/** Typed objects over the store: decoding, unknown fields, defaults, status, ensure, generated names (S2, S12, S13). */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import * as Stream from "effect/Stream"
import * as Kind from "setpoint/Kind"
import type { JsonObject } from "setpoint/Resource"
import * as Store from "setpoint/Store"
import * as kit from "./contractKit.ts"
import type { Test } from "./contractTypes.ts"

const { Website } = kit

/** The same objects, with a default in the Schema. */
const WebsiteWithDefault = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Website",
  spec: Schema.Struct({
    host: Schema.String,
    replicas: Schema.Int.pipe(Schema.withDecodingDefaultType(Effect.succeed(3)))
  })
})

/** The same objects, seen through another version. */
const WebsiteView = Kind.served(Website, {
  version: "v1beta1",
  spec: Schema.Struct({ address: Schema.String, size: Schema.Int }),
  conversion: SchemaTransformation.transform({
    decode: (stored) => ({ spec: { address: stored.spec.host, size: stored.spec.replicas } }),
    encode: (view) => ({ spec: { host: view.spec.address, replicas: view.spec.size } })
  })
})

const input = (name: string) => ({ metadata: { name }, spec: { host: "x", replicas: 1 } })

export const tests = (test: Test): void => {
  decoding(test)
  unknownFields(test)
  defaults(test)
  status(test)
  ensuring(test)
}

const decoding = (test: Test): void => {
  test(
    "[F20] typed objects go round: create, get, list, update, delete",
    Effect.gen(function*() {
      const site = yield* Store.create(Website, input("a"))
      assert.strictEqual(site.metadata.namespace, "default")
      assert.deepStrictEqual(yield* Store.get(Website, { name: "a" }), site)
      const grown = yield* Store.update(Website, { ...site, spec: { ...site.spec, replicas: 2 } })
      assert.deepStrictEqual((yield* Store.list(Website)).items, [grown])
      const deleted = yield* Store.delete(Website, grown)
      assert.deepStrictEqual(deleted, { object: grown, removed: true })
      yield* kit.failsWith("NotFound", Store.get(Website, { name: "a" }))
    })
  )
  test(
    "[S1] typed update, patch and delete with ifUnchanged carry the revision; delete alone carries the uid",
    Effect.gen(function*() {
      const site = yield* Store.create(Website, input("a"))
      const grown = yield* Store.update(Website, { ...site, spec: { ...site.spec, replicas: 2 } })
      yield* kit.failsWith("Conflict", Store.update(Website, site))
      yield* kit.failsWith("Conflict", Store.updateStatus(Website, site, { ready: 1 }))
      yield* kit.failsWith("Conflict", Store.patch(Website, site, { merge: { spec: { replicas: 3 } } }))
      yield* kit.failsWith("Conflict", Store.delete(Website, site, { ifUnchanged: true }))
      const patched = yield* Store.patch(Website, grown, { merge: { spec: { replicas: 3 } } })
      assert.strictEqual(patched.spec.replicas, 3)
      assert.isTrue((yield* Store.delete(Website, site)).removed)
      yield* Store.create(Website, input("a"))
      yield* kit.failsWith("Conflict", Store.delete(Website, site))
      yield* Store.patchUnconditionally(Website, { name: "a" }, { json: [{ op: "remove", path: "/spec/paths" }] }).pipe(
        (patch) => kit.failsWith("Invalid", patch)
      )
      assert.isTrue((yield* Store.deleteUnconditionally(Website, { name: "a" })).removed)
    })
  )
  test(
    "keys: a namespace is \"default\" where omitted, none on cluster kinds, and a wrong one is Invalid",
    Effect.gen(function*() {
      const region = yield* Store.create(kit.Region, { metadata: { name: "north" }, data: {} })
      assert.isUndefined(region.metadata.namespace)
      assert.deepStrictEqual(yield* Store.get(kit.Region, { name: "north" }), region)
      yield* kit.failsWith("Invalid", Store.get(kit.Region, { name: "north", namespace: "default" }))
      yield* kit.failsWith(
        "Invalid",
        Store.create(kit.Region, { metadata: { name: "south", namespace: "default" }, data: {} })
      )
      yield* kit.failsWith("Invalid", Store.get(Website, { name: "Not A Name" }))
      yield* kit.failsWith("Invalid", Store.list(Website, { namespace: "Not A Namespace" }))
      yield* kit.failsWith("Invalid", Store.list(Website, { selector: "a in (" }))
    })
  )
  test(
    "a typed object that does not fit its Schema is Invalid with its path, on every verb",
    Effect.gen(function*() {
      const site = yield* Store.create(Website, input("a"))
      const spec = { host: "x", replicas: 1.5 }
      const create = kit.invalidFields(Store.create(Website, { metadata: { name: "b" }, spec }))
      assert.deepStrictEqual(yield* create, ["spec.replicas"])
      assert.deepStrictEqual(yield* kit.invalidFields(Store.update(Website, { ...site, spec })), ["spec.replicas"])
      const status = kit.invalidFields(Store.updateStatus(Website, site, { ready: Number.NaN }))
      assert.deepStrictEqual(yield* status, ["status.ready"])
      const patch = kit.invalidFields(Store.patch(Website, site, { merge: { spec: { host: null } } }))
      assert.deepStrictEqual(yield* patch, ["spec.host"])
      const apply = kit.invalidFields(Store.apply(Website, { metadata: { name: "c" }, spec }, { manager: "m" }))
      assert.deepStrictEqual(yield* apply, ["spec.replicas"])
    })
  )
  test(
    "[S12] what does not decode is an error of that object alone: get, list, watch, and it can be deleted",
    Effect.gen(function*() {
      yield* kit.create("a")
      yield* kit.create("bad", { spec: { host: 1, replicas: "many" } })
      yield* kit.create("c")
      const reason = yield* kit.reasonOf(Store.get(Website, { name: "bad" }))
      if (reason._tag !== "DecodeError") return assert.fail(reason._tag)
      assert.deepStrictEqual(reason.fields.map(({ path }) => path), ["spec.host", "spec.replicas"])
      const { items, undecodable } = yield* Store.list(Website)
      assert.deepStrictEqual(items.map(({ metadata }) => metadata.name), ["a", "c"])
      assert.deepStrictEqual(undecodable.map(([key]) => key), [kit.keyOf("bad")])
      const store = yield* Store.Store
      const batches = yield* Stream.runCollect(
        Stream.takeUntil(store.watch(Website), (batch) => batch.some((event) => event._tag === "InitialDone"))
      )
      assert.deepStrictEqual(batches.flat().map(({ _tag }) => _tag), ["Added", "Undecodable", "Added", "InitialDone"])
      const deleted = yield* Store.deleteUnconditionally(Website, { name: "bad" })
      assert.deepStrictEqual(deleted, { object: undefined, removed: true })
    })
  )
  test(
    "[F32] generated names are unique, and the input is left as it was",
    Effect.gen(function*() {
      const generated = { metadata: { generateName: "site-" }, spec: { host: "x", replicas: 1 } }
      const before = kit.copy(generated)
      const sites = yield* Effect.forEach(Array.from({ length: 50 }), () => Store.create(Website, generated))
      assert.strictEqual(new Set(sites.map(({ metadata }) => metadata.name)).size, 50)
      for (const { metadata } of sites) assert.match(metadata.name, /^site-[a-z0-9]{5}$/)
      assert.deepStrictEqual(generated, before)
    })
  )
  test(
    "a typed watch delivers typed objects, and a typed list pages",
    Effect.gen(function*() {
      const store = yield* Store.Store
      for (const name of ["a", "b", "c"]) yield* Store.create(Website, input(name))
      const first = yield* Store.list(Website, { limit: 2 })
      const second = yield* Store.list(Website, { limit: 2, page: first.next })
      const all = [...first.items, ...second.items]
      assert.deepStrictEqual(all.map(({ metadata }) => metadata.name), ["a", "b", "c"])
      yield* Store.delete(Website, all[0] ?? (yield* Effect.die("no object")))
      const batches = yield* Stream.runCollect(Stream.take(store.watch(Website, { from: first.cursor }), 1))
      assert.deepStrictEqual(batches.flat().map(({ _tag }) => _tag), ["Deleted"])
    })
  )
}

/** An object with fields that no Schema here knows: at the top, nested, and inside an array. */
const createWithUnknown = kit.create("a", {
  spec: {
    host: "x",
    replicas: 1,
    paths: [{ name: "one", to: "/1", weight: 1 }, { name: "two", to: "/2", weight: 2 }],
    policy: { mode: "strict" }
  },
  labels: { tier: "web" }
})

const unknownFields = (test: Test): void => {
  const withTopLevel = Effect.flatMap(createWithUnknown, (object) => kit.update(object, { extra: { kept: true } }))
  const stored = Effect.map(kit.get("a"), ({ extra, spec }) => ({ extra, spec: spec as JsonObject }))
  test(
    "[S13] fields that the Schema does not know survive a typed update: top-level, nested, inside arrays",
    Effect.gen(function*() {
      yield* withTopLevel
      const site = yield* Store.get(Website, { name: "a" })
      const [one, two] = site.spec.paths ?? []
      if (one === undefined || two === undefined) return assert.fail("paths")
      yield* Store.update(Website, {
        ...site,
        spec: {
          host: "y",
          replicas: 2,
          paths: [{ name: "zero", to: "/0" }, { name: "two", to: "/two" }, { name: one.name, to: one.to }]
        }
      })
      assert.deepStrictEqual(yield* stored, {
        extra: { kept: true },
        spec: {
          host: "y",
          replicas: 2,
          paths: [{ name: "zero", to: "/0" }, { name: "two", to: "/two", weight: 2 }, {
            name: "one",
            to: "/1",
            weight: 1
          }],
          policy: { mode: "strict" }
        }
      })
    })
  )
  test(
    "[S13] they survive where the metadata is made anew, and where the object is rebuilt from nothing but its values",
    Effect.gen(function*() {
      yield* withTopLevel
      const site = yield* Store.get(Website, { name: "a" })
      const labelled = yield* Store.update(Website, {
        ...site,
        metadata: { ...site.metadata, labels: { tier: "api" } }
      })
      yield* Store.update(
        Website,
        JSON.parse(JSON.stringify({ ...labelled, spec: { ...labelled.spec, policy: undefined } }))
      )
      const { extra, spec } = yield* stored
      assert.deepStrictEqual([extra, spec.policy], [{ kept: true }, { mode: "strict" }])
    })
  )
  test(
    "[S13] they survive updateStatus, ensure and a patch, in status too",
    Effect.gen(function*() {
      const { object } = yield* withTopLevel
      yield* kit.updateStatus(object, { ready: 1, hint: "unknown" })
      const site = yield* Store.get(Website, { name: "a" })
      yield* Store.updateStatus(Website, site, { ready: 2 })
      yield* Store.ensure(Website, { name: "a" }, () => input("a"))
      const now = yield* Store.latest(Website, { name: "a" })
      yield* Store.patch(Website, now, { merge: { spec: { replicas: 9 } } })
      const { extra, spec, status } = yield* kit.get("a")
      assert.deepStrictEqual(status, { ready: 2, observedGeneration: 2, hint: "unknown" })
      assert.deepStrictEqual(extra, { kept: true })
      assert.deepStrictEqual(spec, { host: "x", replicas: 9, policy: { mode: "strict" } })
    })
  )
  test(
    "[S13] they survive an update through a view of another version, as do fields that the view does not show",
    Effect.gen(function*() {
      yield* withTopLevel
      const view = yield* Store.get(WebsiteView, { name: "a" })
      assert.deepStrictEqual([view.apiVersion, view.spec], ["example.dev/v1beta1", { address: "x", size: 1 }])
      const grown = yield* Store.update(WebsiteView, { ...view, spec: { address: "y", size: 5 } })
      assert.strictEqual(grown.metadata.generation, 3)
      const { extra, spec } = yield* stored
      assert.deepStrictEqual(extra, { kept: true })
      assert.deepStrictEqual(spec, {
        host: "y",
        replicas: 5,
        paths: [{ name: "one", to: "/1", weight: 1 }, { name: "two", to: "/2", weight: 2 }],
        policy: { mode: "strict" }
      })
    })
  )
  test(
    "[S13] what the Schema knows can be removed, with all that is in it",
    Effect.gen(function*() {
      yield* withTopLevel
      const site = yield* Store.get(Website, { name: "a" })
      yield* Store.update(Website, { ...site, spec: { host: "x", replicas: 1 } })
      const { spec } = yield* stored
      assert.deepStrictEqual(spec, { host: "x", replicas: 1, policy: { mode: "strict" } })
    })
  )
}

const defaults = (test: Test): void => {
  test(
    "[S2] defaults of the Schema are stored when an object is written, and are no change afterwards",
    Effect.gen(function*() {
      yield* kit.create("a", { spec: { host: "x" } })
      const site = yield* Store.get(WebsiteWithDefault, { name: "a" })
      assert.strictEqual(site.spec.replicas, 3)
      const written = yield* Store.update(WebsiteWithDefault, site)
      assert.deepStrictEqual((yield* kit.get("a")).spec, { host: "x", replicas: 3 })
      const again = yield* Store.update(WebsiteWithDefault, written)
      assert.strictEqual(again.metadata.resourceVersion, written.metadata.resourceVersion)
    })
  )
  test(
    "[S2] a patch and an apply store defaults too",
    Effect.gen(function*() {
      const created = yield* Store.create(WebsiteWithDefault, input("a"))
      yield* Store.patch(WebsiteWithDefault, created, { merge: { spec: { replicas: null } } })
      assert.deepStrictEqual((yield* kit.get("a")).spec, { host: "x", replicas: 3 })
    })
  )
  test(
    "[S11] a typed apply owns what it sets; a status in it is left alone",
    Effect.gen(function*() {
      const applied = yield* Store.apply(Website, { ...input("a"), status: { ready: 5 } }, { manager: "one" })
      assert.isUndefined(applied.status)
      const other = { metadata: { name: "a" }, spec: { host: "y", replicas: 1 } }
      yield* kit.failsWith("Conflict", Store.apply(Website, other, { manager: "two" }))
      const forced = yield* Store.apply(Website, other, { manager: "two", force: true })
      assert.strictEqual(forced.spec.host, "y")
    })
  )
}

const status = (test: Test): void => {
  const condition = (type: string, status: string) => ({ type, status })
  test(
    "[S2] updateStatus stamps times and generation, keeps the time of what is as it was, and then writes nothing",
    Effect.gen(function*() {
      const site = yield* Store.create(Website, input("a"))
      const wanted = { ready: 1, conditions: [condition("Ready", "False"), condition("Synced", "True")] }
      const first = yield* Store.updateStatus(Website, site, wanted)
      const [ready] = first.status?.conditions ?? []
      assert.match(ready?.lastTransitionTime ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      assert.strictEqual(ready?.observedGeneration, 1)
      assert.strictEqual(first.status?.observedGeneration, 1)
      const second = yield* Store.updateStatus(Website, first, wanted)
      assert.strictEqual(second.metadata.resourceVersion, first.metadata.resourceVersion)
    })
  )
  test(
    "updateStatus takes a function of the current status, and carries the revision",
    Effect.gen(function*() {
      const site = yield* Store.create(Website, input("a"))
      const one = yield* Store.updateStatus(Website, site, (current) => ({ ready: (current?.ready ?? 0) + 1 }))
      const two = yield* Store.updateStatus(Website, one, (current) => ({ ready: (current?.ready ?? 0) + 1 }))
      assert.strictEqual(two.status?.ready, 2)
      yield* kit.failsWith(
        "Conflict",
        Store.updateStatus(Website, one, (current) => ({ ready: (current?.ready ?? 0) + 1 }))
      )
    })
  )
}

const ensuring = (test: Test): void => {
  test(
    "ensure creates what is absent, updates what differs, and leaves what is equal unwritten",
    Effect.gen(function*() {
      const key = { name: "a" }
      const created = yield* Store.ensure(Website, key, () => input("a"))
      assert.strictEqual(created.operation, "created")
      yield* Store.updateStatus(Website, created.object, { ready: 1 })
      const unchanged = yield* Store.ensure(Website, key, () => input("a"))
      assert.strictEqual(unchanged.operation, "unchanged")
      const labelled = yield* Store.ensure(
        Website,
        key,
        () => ({ ...input("a"), metadata: { labels: { tier: "web" } } })
      )
      assert.strictEqual(labelled.operation, "updated")
      assert.deepStrictEqual(labelled.object.metadata.labels, { tier: "web" })
      const grown = yield* Store.ensure(Website, key, (current) => ({
        metadata: {},
        spec: { host: "x", replicas: (current?.spec.replicas ?? 0) + 1 }
      }))
      assert.deepStrictEqual([grown.object.spec.replicas, grown.object.metadata.labels], [2, { tier: "web" }])
      assert.deepStrictEqual(grown.object.status, { ready: 1, observedGeneration: 1 })
    })
  )
  test(
    "ensure reads again when others write between its read and its write",
    Effect.gen(function*() {
      const key = { name: "a" }
      const ensure = (i: number) =>
        Store.ensure(Website, key, (current) => ({
          metadata: { annotations: { ...current?.metadata.annotations, [`n${i}`]: "x" } },
          spec: { host: "x", replicas: 1 }
        }))
      yield* Effect.forEach([1, 2, 3], ensure, { concurrency: "unbounded" })
      const site = yield* Store.get(Website, key)
      assert.deepStrictEqual(Object.keys(site.metadata.annotations ?? {}).toSorted(), ["n1", "n2", "n3"])
    })
  )
}
