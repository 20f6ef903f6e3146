/** What a write does: revisions, preconditions, generation, finalizers, ownership, fences (S1, S2, S6, S7, S10, S11). */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Raw } from "setpoint/Resource"
import * as StoreDriver from "setpoint/StoreDriver"
import * as kit from "./contractKit.ts"
import type { Test } from "./contractTypes.ts"

export const tests = (test: Test): void => {
  revisions(test)
  preconditions(test)
  generation(test)
  scopes(test)
  patches(test)
  finalizers(test)
  ownership(test)
  aliasing(test)
  fences(test)
}

const revisions = (test: Test): void => {
  test(
    "[F20] what is created is read back with a uid, generation 1, a revision and a time",
    Effect.gen(function*() {
      const created = yield* kit.create("a")
      const { creationTimestamp, generation, namespace, resourceVersion, uid } = created.metadata
      assert.deepStrictEqual(yield* kit.get("a"), created)
      assert.strictEqual(generation, 1)
      assert.strictEqual(namespace, "default")
      assert.match(uid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      assert.match(resourceVersion, /^[1-9][0-9]*$/)
      assert.match(creationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    })
  )
  test(
    "[S1] every change of any object of any kind has a higher revision than the one before",
    Effect.gen(function*() {
      const a = yield* kit.create("a")
      const region = yield* kit.write({ op: "create", object: region1 }, { hasStatus: false }, kit.Region.address)
      const b = yield* kit.create("b")
      const { object: a2 } = yield* kit.update(a, { spec: { host: "x", replicas: 2 } })
      const { object: a3 } = yield* kit.updateStatus(a2, { ready: 1 })
      const page = yield* kit.list()
      const revisions = [a, region.object, b, a2, a3].map(kit.revisionOf)
      assert.deepStrictEqual(revisions, revisions.toSorted((x, y) => x - y))
      assert.strictEqual(new Set(revisions).size, revisions.length)
      assert.strictEqual(page.revision, a3.metadata.resourceVersion)
    })
  )
  test(
    "[S1] [F22] of two updates with one revision one wins and the other is Conflict",
    Effect.gen(function*() {
      const read = yield* kit.create("a")
      const attempt = (replicas: number) => Effect.exit(kit.update(read, { spec: { host: "x", replicas } }))
      const exits = yield* Effect.all([attempt(2), attempt(3)], { concurrency: "unbounded" })
      assert.deepStrictEqual(exits.map((exit) => exit._tag).toSorted(), ["Failure", "Success"])
      yield* kit.failsWith("Conflict", kit.update(read, { spec: { host: "x", replicas: 4 } }))
    })
  )
  test(
    "[S1] a stale revision is Conflict on every verb that carries one, and names both revisions",
    Effect.gen(function*() {
      const read = yield* kit.create("a")
      const { object: now } = yield* kit.update(read, { spec: { host: "x", replicas: 2 } })
      const { resourceVersion: revision, uid } = read.metadata
      yield* kit.failsWith("Conflict", kit.updateStatus(read, { ready: 1 }))
      yield* kit.failsWith("Conflict", kit.patch(kit.keyOf("a"), "merge", { spec: { replicas: 3 } }, { revision, uid }))
      yield* kit.failsWith("Conflict", kit.remove(kit.keyOf("a"), { revision, uid }))
      const reason = yield* kit.reasonOf(kit.update(read, { spec: { host: "y", replicas: 2 } }))
      if (reason._tag !== "Conflict") return assert.fail(reason._tag)
      assert.strictEqual(reason.expected, revision)
      assert.strictEqual(reason.actual, now.metadata.resourceVersion)
      assert.deepStrictEqual(yield* kit.get("a"), now)
    })
  )
  test(
    "[S1] create of a taken name is AlreadyExists",
    Effect.gen(function*() {
      const first = yield* kit.create("a")
      yield* kit.failsWith("AlreadyExists", kit.create("a", { spec: { host: "other", replicas: 1 } }))
      yield* kit.create("a", { namespace: "elsewhere" })
      assert.deepStrictEqual(yield* kit.get("a"), first)
    })
  )
  test(
    "[F21] get, update, updateStatus, patch and delete of what is absent are NotFound",
    Effect.gen(function*() {
      const read = yield* kit.create("a")
      yield* kit.remove(kit.keyOf("a"))
      yield* kit.failsWith("NotFound", kit.get("a"))
      yield* kit.failsWith("NotFound", kit.update(read, {}))
      yield* kit.failsWith("NotFound", kit.updateStatus(read, { ready: 1 }))
      yield* kit.failsWith("NotFound", kit.patch(kit.keyOf("a"), "merge", {}))
      yield* kit.failsWith("NotFound", kit.remove(kit.keyOf("a")))
    })
  )
  test(
    "[S1] the outcome of a write is known by its id for a while, and a refused write was not applied",
    Effect.gen(function*() {
      const driver = yield* StoreDriver.StoreDriver
      if (!driver.capabilities.writeIds) return
      yield* kit.create("a", {}, { writeId: "first" })
      yield* Effect.exit(kit.create("a", {}, { writeId: "second" }))
      assert.strictEqual(yield* driver.outcome("first"), "applied")
      assert.strictEqual(yield* driver.outcome("second"), "notApplied")
    })
  )
}

const region1: Raw = {
  apiVersion: "example.dev/v1",
  kind: "Region",
  metadata: { name: "north" } as Raw["metadata"], // the rest is the store's
  data: { zone: "1" }
}

const preconditions = (test: Test): void => {
  test(
    "[S2] a stale revision is Conflict even where the content is equal to what is stored",
    Effect.gen(function*() {
      const read = yield* kit.create("a")
      const spec = { host: "x", replicas: 2 }
      yield* kit.update(read, { spec })
      yield* kit.failsWith("Conflict", kit.update(read, { spec }))
    })
  )
  test(
    "[S2] the uid of another life of the name is Conflict on every verb that carries one",
    Effect.gen(function*() {
      const first = yield* kit.create("a")
      yield* kit.remove(kit.keyOf("a"))
      const second = yield* kit.create("a")
      const { uid } = first.metadata
      yield* kit.failsWith("Conflict", kit.write({ op: "update", object: second }, { uid }))
      yield* kit.failsWith("Conflict", kit.write({ op: "updateStatus", object: second }, { uid }))
      yield* kit.failsWith("Conflict", kit.patch(kit.keyOf("a"), "merge", { spec: { replicas: 9 } }, { uid }))
      yield* kit.failsWith("Conflict", kit.remove(kit.keyOf("a"), { uid }))
      assert.deepStrictEqual(yield* kit.get("a"), second)
    })
  )
  test(
    "[S2] a delete that carries a uid alone goes through whatever the revision is",
    Effect.gen(function*() {
      const read = yield* kit.create("a")
      yield* kit.update(read, { spec: { host: "x", replicas: 2 } })
      const { removed } = yield* kit.remove(kit.keyOf("a"), { uid: read.metadata.uid })
      assert.isTrue(removed)
    })
  )
  test(
    "[S2] a dry run is judged and answered, and stores nothing",
    Effect.gen(function*() {
      const would = yield* kit.create("a", {}, { dryRun: true })
      assert.strictEqual(would.metadata.generation, 1)
      yield* kit.failsWith("NotFound", kit.get("a"))
      const read = yield* kit.create("a")
      yield* kit.failsWith("AlreadyExists", kit.create("a", {}, { dryRun: true }))
      const { changed } = yield* kit.update(read, { spec: { host: "x", replicas: 2 } }, { dryRun: true })
      assert.isTrue(changed)
      yield* kit.remove(kit.keyOf("a"), { dryRun: true })
      assert.deepStrictEqual(yield* kit.get("a"), read)
      assert.strictEqual((yield* kit.list()).revision, read.metadata.resourceVersion)
    })
  )
}

const generation = (test: Test): void => {
  test(
    "[S2] [F23] generation moves with desired state, not with metadata and not with status",
    Effect.gen(function*() {
      const a = yield* kit.create("a")
      const { object: labelled } = yield* kit.update(a, kit.withMetadata(a, { labels: { tier: "web" } }))
      assert.strictEqual(labelled.metadata.generation, 1)
      const { object: ready } = yield* kit.updateStatus(labelled, { ready: 1 })
      assert.strictEqual(ready.metadata.generation, 1)
      const { object: grown } = yield* kit.update(ready, { spec: { host: "x", replicas: 2 } })
      assert.strictEqual(grown.metadata.generation, 2)
      const { object: extended } = yield* kit.update(grown, { extra: { any: "top-level field is desired state" } })
      assert.strictEqual(extended.metadata.generation, 3)
      const { object: shrunk } = yield* kit.update(extended, { extra: undefined })
      assert.strictEqual(shrunk.metadata.generation, 4)
      assert.isFalse("extra" in shrunk)
    })
  )
  test(
    "[S2] [S6] generation moves when deletion is marked",
    Effect.gen(function*() {
      yield* kit.create("a", { finalizers: ["example.dev/hold"] })
      const { object, removed } = yield* kit.remove(kit.keyOf("a"))
      assert.isFalse(removed)
      assert.strictEqual(object.metadata.generation, 2)
    })
  )
  test(
    "[S2] [F28] a write equal to what is stored, by its verb's scope, makes no revision and no event",
    Effect.gen(function*() {
      const created = yield* kit.create("a", { labels: { tier: "web" } })
      const { object: read } = yield* kit.updateStatus(created, { ready: 1 })
      const events = yield* kit.follow()
      yield* kit.initial(events)
      const key = kit.keyOf("a")
      const { spec } = read
      const writes = [
        kit.update(read, {}),
        kit.update(read, { spec: reversed(spec), status: { ready: 7 } }),
        kit.update(
          read,
          kit.withMetadata(read, { annotations: {}, finalizers: [], generation: 9, uid: read.metadata.uid })
        ),
        kit.updateStatus(read, { ready: 1 }),
        kit.write({ op: "updateStatus", object: { ...read, spec: { host: "ignored", replicas: 0 } } }),
        kit.patch(key, "merge", { spec: { replicas: 1 } }),
        kit.patch(key, "json", [{ op: "replace", path: "/spec/replicas", value: 1 }]),
        kit.patch(key, "merge", { status: { ready: 1 }, spec: { replicas: 8 } }, { subresource: "status" })
      ]
      for (const write of writes) {
        const { changed, object } = yield* write
        assert.isFalse(changed)
        assert.deepStrictEqual(object, read)
      }
      const { object: next } = yield* kit.update(read, { spec: { host: "x", replicas: 2 } })
      assert.strictEqual(kit.revisionOf(next), kit.revisionOf(read) + 1)
      assert.deepStrictEqual(kit.texts(yield* kit.through(events, next.metadata.resourceVersion)), ["Modified a"])
    })
  )
  test(
    "[S2] [F29] an update that differs makes one revision and one event",
    Effect.gen(function*() {
      const read = yield* kit.create("a")
      const events = yield* kit.follow()
      yield* kit.initial(events)
      const { changed, object } = yield* kit.update(read, { spec: { host: "x", replicas: 2 } })
      assert.isTrue(changed)
      assert.strictEqual(kit.revisionOf(object), kit.revisionOf(read) + 1)
      const last = yield* kit.create("b")
      assert.deepStrictEqual(kit.texts(yield* kit.through(events, last.metadata.resourceVersion)), [
        "Modified a",
        "Added b"
      ])
    })
  )
}

const reversed = (value: unknown): unknown => Object.fromEntries(Object.entries(value ?? {}).toReversed())

const scopes = (test: Test): void => {
  test(
    "[S2] create and update leave status alone, updateStatus all but status",
    Effect.gen(function*() {
      const created = yield* kit.create("a", { status: { ready: 9 } })
      assert.isFalse("status" in created)
      const { object: ready } = yield* kit.updateStatus({ ...created, spec: { host: "ignored", replicas: 0 } }, {
        ready: 1
      })
      assert.deepStrictEqual(ready.spec, created.spec)
      assert.deepStrictEqual(ready.status, { ready: 1 })
      const { object: grown } = yield* kit.update(ready, { spec: { host: "x", replicas: 2 }, status: { ready: 9 } })
      assert.deepStrictEqual(grown.status, { ready: 1 })
      const { object: without } = yield* kit.update(grown, { spec: { host: "x", replicas: 3 }, status: undefined })
      assert.deepStrictEqual(without.status, { ready: 1 })
    })
  )
  test(
    "[S2] where a kind declares no status, status is a field as any other, and updateStatus is Invalid",
    Effect.gen(function*() {
      const created = yield* kit.create("a", { status: { ready: 9 } }, { hasStatus: false })
      assert.deepStrictEqual(created.status, { ready: 9 })
      yield* kit.failsWith("Invalid", kit.updateStatus(created, { ready: 1 }, { hasStatus: false }))
    })
  )
  test(
    "[S2] the store's own metadata cannot be set, neither at creation nor later",
    Effect.gen(function*() {
      const forged = {
        uid: "00000000-0000-4000-8000-000000000000",
        resourceVersion: "77",
        generation: 77,
        creationTimestamp: "2001-01-01T00:00:00Z",
        deletionTimestamp: "2001-01-01T00:00:00Z"
      }
      const object = kit.website("a")
      const { object: created } = yield* kit.write({
        op: "create",
        object: { ...object, metadata: { ...object.metadata, ...forged } }
      })
      for (const [name, value] of Object.entries(forged)) {
        assert.notStrictEqual(Object.entries(created.metadata).find(([key]) => key === name)?.[1], value)
      }
      const { uid: _, ...rest } = forged
      const { changed } = yield* kit.update(created, kit.withMetadata(created, rest), {
        revision: created.metadata.resourceVersion
      })
      assert.isFalse(changed)
    })
  )
}

const patches = (test: Test): void => {
  test(
    "[S2] a merge patch merges members, and null removes one",
    Effect.gen(function*() {
      yield* kit.create("a", { labels: { tier: "web", zone: "1" } })
      const { object } = yield* kit.patch(kit.keyOf("a"), "merge", {
        metadata: { labels: { zone: null, team: "x" } },
        spec: { replicas: 5 }
      })
      assert.deepStrictEqual(object.metadata.labels, { tier: "web", team: "x" })
      assert.deepStrictEqual(object.spec, { host: "a.example.dev", replicas: 5 })
      assert.strictEqual(object.metadata.generation, 2)
    })
  )
  test(
    "[S2] a JSON patch applies all operations or none, and a failed test is Invalid with its place",
    Effect.gen(function*() {
      const read = yield* kit.create("a")
      const key = kit.keyOf("a")
      const replace = { op: "replace", path: "/spec/replicas", value: 5 }
      const fields = yield* kit.invalidFields(
        kit.patch(key, "json", [replace, { op: "test", path: "/spec/host", value: "other" }])
      )
      assert.deepStrictEqual(fields, ["spec.host"])
      assert.deepStrictEqual(yield* kit.get("a"), read)
      const { object } = yield* kit.patch(key, "json", [replace])
      assert.deepStrictEqual(object.spec, { host: "a.example.dev", replicas: 5 })
    })
  )
  test(
    "[S2] a patch of status changes status alone, any other patch leaves it alone",
    Effect.gen(function*() {
      yield* kit.create("a")
      const key = kit.keyOf("a")
      const change = { spec: { replicas: 5 }, status: { ready: 2 } }
      const { object: ready } = yield* kit.patch(key, "merge", change, { subresource: "status" })
      assert.deepStrictEqual([ready.spec, ready.status], [{ host: "a.example.dev", replicas: 1 }, { ready: 2 }])
      const { object: grown } = yield* kit.patch(key, "merge", { ...change, status: { ready: 3 } })
      assert.deepStrictEqual([grown.spec, grown.status], [{ host: "a.example.dev", replicas: 5 }, { ready: 2 }])
    })
  )
  test(
    "[S2] a revision or a uid inside a patch is a precondition, a name or a kind inside it is Invalid",
    Effect.gen(function*() {
      const read = yield* kit.create("a")
      const key = kit.keyOf("a")
      const patch = (metadata: { readonly [name: string]: string }) =>
        kit.patch(key, "merge", { metadata, spec: { replicas: 5 } })
      yield* kit.failsWith("Conflict", patch({ resourceVersion: "99" }))
      yield* kit.failsWith("Conflict", patch({ uid: "another" }))
      yield* kit.failsWith("Invalid", patch({ name: "b" }))
      yield* kit.failsWith("Invalid", patch({ namespace: "elsewhere" }))
      yield* kit.failsWith("Invalid", kit.patch(key, "merge", { kind: "Other" }))
      yield* kit.failsWith("Invalid", kit.patch(key, "merge", { apiVersion: "example.dev/v9" }))
      assert.deepStrictEqual(yield* kit.get("a"), read)
      yield* patch({ resourceVersion: read.metadata.resourceVersion, uid: read.metadata.uid })
    })
  )
}

const hold = "example.dev/hold"

const finalizers = (test: Test): void => {
  test(
    "[S6] delete without finalizers removes at once, with finalizers it marks first",
    Effect.gen(function*() {
      yield* kit.create("a")
      assert.isTrue((yield* kit.remove(kit.keyOf("a"))).removed)
      yield* kit.create("b", { finalizers: [hold, "example.dev/other"] })
      const { object: marked, removed } = yield* kit.remove(kit.keyOf("b"))
      assert.isFalse(removed)
      assert.isDefined(marked.metadata.deletionTimestamp)
      assert.deepStrictEqual(yield* kit.get("b"), marked)
    })
  )
  test(
    "[S6] the write that takes the last finalizer removes, whether update or patch",
    Effect.gen(function*() {
      for (const name of ["a", "b", "c"]) yield* kit.create(name, { finalizers: [hold, "example.dev/other"] })
      for (const name of ["a", "b", "c"]) yield* kit.remove(kit.keyOf(name))
      const a = yield* kit.get("a")
      const first = yield* kit.update(a, kit.withMetadata(a, { finalizers: [hold] }))
      assert.isFalse(first.removed)
      const last = yield* kit.update(first.object, kit.withMetadata(first.object, { finalizers: [] }))
      assert.isTrue(last.removed)
      assert.isTrue((yield* kit.patch(kit.keyOf("b"), "merge", { metadata: { finalizers: null } })).removed)
      assert.isTrue(
        (yield* kit.patch(kit.keyOf("c"), "json", [{ op: "remove", path: "/metadata/finalizers" }])).removed
      )
      assert.deepStrictEqual((yield* kit.list()).items, [])
    })
  )
  test(
    "[S6] no finalizer may be added after the mark",
    Effect.gen(function*() {
      yield* kit.create("a", { finalizers: [hold] })
      const { object } = yield* kit.remove(kit.keyOf("a"))
      const more = kit.withMetadata(object, { finalizers: [hold, "example.dev/late"] })
      assert.deepStrictEqual(yield* kit.invalidFields(kit.update(object, more)), ["metadata.finalizers"])
      const swapped = kit.withMetadata(object, { finalizers: ["example.dev/late"] })
      yield* kit.failsWith("Invalid", kit.update(object, swapped))
      yield* kit.failsWith(
        "Invalid",
        kit.patch(kit.keyOf("a"), "merge", { metadata: { finalizers: [hold, "x.dev/y"] } })
      )
    })
  )
  test(
    "[S6] foreground and orphan deletion add the collector's finalizer in the write that marks",
    Effect.gen(function*() {
      const driver = yield* StoreDriver.StoreDriver
      if (driver.capabilities.collector) return
      for (const [propagation, finalizer] of [["foreground", "foregroundDeletion"], ["orphan", "orphan"]] as const) {
        yield* kit.create(propagation)
        const { object, removed } = yield* kit.remove(kit.keyOf(propagation), { propagation })
        assert.isFalse(removed)
        assert.deepStrictEqual(object.metadata.finalizers, [finalizer])
        const gone = yield* kit.update(object, kit.withMetadata(object, { finalizers: [] }))
        assert.isTrue(gone.removed)
      }
    })
  )
  test(
    "[S6] a second delete of a marked object changes nothing, and neither time nor mark can be taken back",
    Effect.gen(function*() {
      yield* kit.create("a", { finalizers: [hold] })
      const { object: marked } = yield* kit.remove(kit.keyOf("a"))
      const again = yield* kit.remove(kit.keyOf("a"), { propagation: "foreground" })
      assert.isFalse(again.changed)
      const { object } = yield* kit.update(marked, kit.withMetadata(marked, { deletionTimestamp: undefined }))
      assert.strictEqual(object.metadata.deletionTimestamp, marked.metadata.deletionTimestamp)
    })
  )
  test(
    "[S7] the uid is new for each life of a name, and generation begins anew",
    Effect.gen(function*() {
      const first = yield* kit.create("a")
      yield* kit.update(first, { spec: { host: "x", replicas: 2 } })
      yield* kit.remove(kit.keyOf("a"))
      const second = yield* kit.create("a")
      assert.notStrictEqual(first.metadata.uid, second.metadata.uid)
      assert.strictEqual(second.metadata.generation, 1)
    })
  )
}

const ownership = (test: Test): void => {
  const apply = (object: Raw, manager: string, force = false) => kit.write({ op: "apply", object, manager, force })
  const site = (spec: { readonly [name: string]: unknown }, labels?: { readonly [key: string]: string }): Raw => ({
    ...kit.website("a", labels === undefined ? {} : { labels }),
    spec
  })
  test(
    "[S11] apply creates what is absent, and owns the fields that it sets",
    Effect.gen(function*() {
      const { changed, object } = yield* apply(site({ host: "x", replicas: 1 }, { tier: "web" }), "one")
      assert.isTrue(changed)
      assert.strictEqual(object.metadata.generation, 1)
      const [entry] = object.metadata.managedFields ?? []
      assert.strictEqual(entry?.manager, "one")
      assert.strictEqual(entry?.operation, "Apply")
      assert.deepStrictEqual(entry?.fieldsV1, {
        "f:metadata": { "f:labels": { "f:tier": {} } },
        "f:spec": { "f:host": {}, "f:replicas": {} }
      })
    })
  )
  test(
    "[S11] apply removes the fields that the manager owned and no longer sets, unless another owns them too",
    Effect.gen(function*() {
      yield* apply(site({ host: "x", replicas: 1, paths: [{ name: "a", to: "b" }] }, { tier: "web" }), "one")
      yield* apply(site({ host: "x" }), "two")
      const { object } = yield* apply(site({ replicas: 1 }), "one")
      assert.deepStrictEqual(object.spec, { host: "x", replicas: 1 })
      assert.isUndefined(object.metadata.labels)
    })
  )
  test(
    "[S11] apply fails with the managers and paths where another owns what it would change, and force takes them over",
    Effect.gen(function*() {
      yield* apply(site({ host: "x", replicas: 1 }), "one")
      const reason = yield* kit.reasonOf(apply(site({ host: "y", replicas: 1 }), "two"))
      if (reason._tag !== "Conflict") return assert.fail(reason._tag)
      assert.deepStrictEqual(reason.conflicts, [{ manager: "one", path: "spec.host" }])
      const { object } = yield* apply(site({ host: "y", replicas: 1 }), "two", true)
      assert.deepStrictEqual(object.spec, { host: "y", replicas: 1 })
      yield* kit.failsWith("Conflict", apply(site({ host: "x", replicas: 1 }), "one"))
    })
  )
  test(
    "[S11] what an update changes belongs to the applier no more: a later apply conflicts instead of undoing it",
    Effect.gen(function*() {
      const { object } = yield* apply(site({ host: "x", replicas: 1 }), "one")
      yield* kit.update(object, { spec: { host: "x", replicas: 5 } })
      const reason = yield* kit.reasonOf(apply(site({ host: "x", replicas: 1 }), "one"))
      if (reason._tag !== "Conflict") return assert.fail(reason._tag)
      assert.deepStrictEqual(reason.conflicts?.map(({ path }) => path), ["spec.replicas"])
      const { object: now } = yield* apply(site({ host: "z" }), "one")
      assert.deepStrictEqual(now.spec, { host: "z", replicas: 5 })
    })
  )
  test(
    "[S11] [S2] the same apply again makes no revision and no event",
    Effect.gen(function*() {
      const wanted = site({ host: "x", replicas: 1 }, { tier: "web" })
      const { object } = yield* apply(wanted, "one")
      const again = yield* apply(wanted, "one")
      assert.isFalse(again.changed)
      assert.deepStrictEqual(again.object, object)
    })
  )
  test(
    "[S11] apply leaves status alone; a status that is applied is owned apart",
    Effect.gen(function*() {
      yield* apply({ ...site({ host: "x", replicas: 1 }), status: { ready: 1 } }, "one")
      const { object } = yield* kit.write({
        op: "apply",
        object: { ...site({}), status: { ready: 2 } },
        manager: "two",
        force: false,
        subresource: "status"
      })
      assert.deepStrictEqual(object.status, { ready: 2 })
      assert.deepStrictEqual(object.spec, { host: "x", replicas: 1 })
      const entries = object.metadata.managedFields?.map(({ manager, subresource }) => [manager, subresource])
      assert.deepStrictEqual(entries, [["one", undefined], ["two", "status"]])
    })
  )
}

const aliasing = (test: Test): void => {
  test(
    "[S10] [F30] the store neither changes nor freezes what it is given, and keeps none of it",
    Effect.gen(function*() {
      const labels: { [key: string]: string } = { tier: "web" }
      const spec = { host: "x", replicas: 1, paths: [{ name: "a", to: "b" }] }
      const object = kit.website("a", { labels, spec })
      const before = kit.copy(object)
      const created = yield* kit.write({ op: "create", object })
      assert.deepStrictEqual(object, before)
      labels.tier = "changed"
      spec.replicas = 99
      spec.paths.push({ name: "c", to: "d" })
      assert.deepStrictEqual(yield* kit.get("a"), created.object)
      assert.deepStrictEqual(created.object.spec, before.spec)
    })
  )
  test(
    "[S10] [F31] neither what a write returns nor what a read or a watch gives can be used to change what is stored",
    Effect.gen(function*() {
      const events = yield* kit.follow()
      const created = yield* kit.create("a", { labels: { tier: "web" } })
      const expected = kit.copy(created)
      const seen = (yield* kit.through(events, created.metadata.resourceVersion)).at(-1)
      const read = yield* kit.get("a")
      const listed = (yield* kit.list()).items[0]
      for (const object of [created, read, listed, seen?._tag === "Added" ? seen.object : undefined]) {
        assert.isDefined(object)
        tamper(object)
      }
      assert.deepStrictEqual(yield* kit.get("a"), expected)
    })
  )
}

/** Tries to change every part of a value; frozen parts refuse. */
const tamper = (value: unknown): void => {
  if (typeof value !== "object" || value === null) return
  for (const part of Object.values(value)) tamper(part)
  try {
    Object.assign(value, { tampered: true })
  } catch {
    // frozen: the change was refused
  }
}

const fences = (test: Test): void => {
  test(
    "a write of an older epoch than the store was told is Fenced, by whatever way it was told",
    Effect.gen(function*() {
      const driver = yield* StoreDriver.StoreDriver
      if (driver.capabilities.fence !== "all") return
      const lease = "leader"
      yield* kit.create("a", {}, { fence: { lease, epoch: 1 } })
      yield* driver.fence(lease, 3)
      const reason = yield* kit.reasonOf(kit.create("b", {}, { fence: { lease, epoch: 2 } }))
      assert.deepStrictEqual(reason._tag === "Fenced" ? [reason.epoch, reason.highest] : reason._tag, [2, 3])
      yield* kit.create("b", {}, { fence: { lease, epoch: 4 } })
      yield* kit.failsWith("Fenced", driver.fence(lease, 3))
      yield* kit.create("c", {}, { fence: { lease: "another", epoch: 1 } })
      yield* kit.create("d")
    })
  )
}
