import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Owner from "setpoint/Owner"
import type * as Resource from "setpoint/Resource"

describe("Owner", () => {
  it.effect("the controller's reference is by uid, and blocks a foreground deletion by default", () =>
    Effect.gen(function*() {
      const server = yield* Owner.setController(dependent("web"), site)
      assert.deepStrictEqual(server.metadata.ownerReferences, [{
        apiVersion: "example.dev/v1",
        kind: "Website",
        name: "blog",
        uid: "uid-blog",
        controller: true,
        blockOwnerDeletion: true
      }])
      assert.isTrue(Owner.isOwnedBy(server, site))
      assert.isFalse(Owner.isOwnedBy(server, object("Website", "blog", { uid: "a-later-life" })))
      assert.deepStrictEqual(Owner.reference(site, { block: false }), {
        apiVersion: "example.dev/v1",
        kind: "Website",
        name: "blog",
        uid: "uid-blog"
      })
    }))

  it.effect("setting the controller twice is the same as once, and keeps other owners and their order", () =>
    Effect.gen(function*() {
      const first = yield* Owner.add(dependent("web"), other)
      const once = yield* Owner.setController(first, site)
      const twice = yield* Owner.setController(once, site)
      assert.deepStrictEqual(twice, once)
      assert.deepStrictEqual(once.metadata.ownerReferences?.map((_) => _.name), ["shop", "blog"])
      const again = yield* Owner.add(once, site)
      assert.strictEqual(Owner.controllerOf(again)?.name, "blog")
    }))

  it.effect("where another owner controls, it fails and names that owner", () =>
    Effect.gen(function*() {
      const server = yield* Owner.setController(object("Server", "web"), site)
      const error = yield* Effect.flip(Owner.setController(server, other))
      assert.strictEqual(error._tag, "AlreadyOwned")
      if (error._tag === "AlreadyOwned") assert.strictEqual(error.owner.uid, "uid-blog")
      assert.include(error.message, "default/web is controlled by Website blog")
    }))

  it.effect("a former life of the same name is another owner", () =>
    Effect.gen(function*() {
      const server = yield* Owner.setController(object("Server", "web"), site)
      const reborn = object("Website", "blog", { uid: "second-life" })
      assert.strictEqual((yield* Effect.flip(Owner.setController(server, reborn)))._tag, "AlreadyOwned")
    }))

  it.effect("an owner of another namespace is refused, a cluster-scoped owner is not", () =>
    Effect.gen(function*() {
      const elsewhere = object("Website", "blog", { namespace: "prod" })
      const refused = (dependent: Owner.Dependent, owner: Resource.Any) =>
        Effect.map(Effect.flip(Owner.setController(dependent, owner)), (error) => error._tag)
      assert.strictEqual(yield* refused(object("Server", "web"), elsewhere), "WrongNamespace")
      assert.strictEqual(yield* refused(dependent("x"), elsewhere), "WrongNamespace")
      assert.strictEqual(yield* refused(zone, site), "WrongNamespace")
      assert.isTrue(Owner.isOwnedBy(yield* Owner.setController(object("Server", "web"), zone), zone))
      const world = clusterObject("Zone", "world")
      assert.isTrue(Owner.isOwnedBy(yield* Owner.setController(zone, world), world))
    }))

  it.effect("a new dependent without a namespace gets its owner's", () =>
    Effect.gen(function*() {
      const elsewhere = object("Website", "blog", { namespace: "prod" })
      const input: Owner.Dependent = { metadata: { generateName: "web-" } }
      assert.strictEqual((yield* Owner.setController(input, elsewhere)).metadata.namespace, "prod")
      assert.isUndefined((yield* Owner.setController(input, zone)).metadata.namespace)
    }))

  it.effect("nothing that is being deleted adopts or is adopted", () =>
    Effect.gen(function*() {
      const dying = { deletionTimestamp: "2026-01-02T00:00:00Z" }
      const server = object("Server", "web")
      assert.strictEqual(
        (yield* Effect.flip(Owner.adopt(server, object("Website", "blog", dying))))._tag,
        "BeingDeleted"
      )
      assert.strictEqual((yield* Effect.flip(Owner.adopt(object("Server", "web", dying), site)))._tag, "BeingDeleted")
      const adopted = yield* Owner.adopt(server, site)
      assert.strictEqual(Owner.controllerOf(adopted)?.uid, "uid-blog")
      assert.strictEqual((yield* Effect.flip(Owner.adopt(adopted, other)))._tag, "AlreadyOwned")
      assert.isUndefined(Owner.controllerOf(Owner.release(adopted, site)))
      assert.strictEqual(Owner.release(adopted, other), adopted)
    }))

  it.effect("nothing new is made for an owner that is deleted in the foreground; what it has stays its own", () =>
    Effect.gen(function*() {
      const marked = { deletionTimestamp: "2026-01-02T00:00:00Z" }
      const foreground = object("Website", "blog", { ...marked, finalizers: ["foregroundDeletion"] })
      for (const own of [Owner.setController, Owner.add]) {
        assert.strictEqual((yield* Effect.flip(own(dependent("web"), foreground)))._tag, "BeingDeleted")
      }
      assert.isTrue(Owner.isOwnedBy(yield* Owner.setController(object("Server", "web"), foreground), foreground))
      // In the background dependents stay until the owner goes: what a clean-up needs may be made.
      const background = object("Website", "blog", { ...marked, finalizers: ["example.dev/clean-up"] })
      assert.isTrue(Owner.isOwnedBy(yield* Owner.setController(dependent("job"), background), background))
    }))

  it.effect("[C057] owners are looked up by group and kind only, cluster-scoped ones without a namespace", () =>
    Effect.gen(function*() {
      const websites = { group: "example.dev", kind: "Website", scope: "Namespaced" } as const
      const zones = { group: "example.dev", kind: "Zone", scope: "Cluster" } as const
      const v2 = { ...other, apiVersion: "example.dev/v2" }
      const foreign = { ...site, apiVersion: "elsewhere.dev/v1", metadata: { ...site.metadata, uid: "foreign" } }
      const server = yield* Owner.setController(object("Server", "web"), site).pipe(
        Effect.flatMap((_) => Owner.add(_, v2)),
        Effect.flatMap((_) => Owner.add(_, foreign)),
        Effect.flatMap((_) => Owner.add(_, zone))
      )
      assert.deepStrictEqual(Owner.requestsOf(server, websites), [
        { namespace: "default", name: "blog" },
        { namespace: "default", name: "shop" }
      ])
      assert.deepStrictEqual(Owner.requestsOf(server, zones), [{ namespace: "", name: "eu" }])
      assert.deepStrictEqual(Owner.requestsOf(server, { ...websites, group: "" }), [])
    }))

  it.effect("[C057] only the controlling owner when asked, and none where there is none", () =>
    Effect.gen(function*() {
      const websites = { group: "example.dev", kind: "Website", scope: "Namespaced" } as const
      const shared = yield* Owner.add(object("Server", "web"), other)
      assert.deepStrictEqual(Owner.requestsOf(shared, websites, { controllerOnly: true }), [])
      const controlled = yield* Owner.setController(shared, site)
      assert.deepStrictEqual(Owner.requestsOf(controlled, websites, { controllerOnly: true }), [
        { namespace: "default", name: "blog" }
      ])
      assert.deepStrictEqual(Owner.requestsOf(object("Server", "free"), websites), [])
    }))
})

const metadata = (name: string): Resource.Metadata => ({
  name,
  uid: `uid-${name}`,
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z"
})

const clusterObject = (kind: string, name: string): Resource.Any => ({
  apiVersion: "example.dev/v1",
  kind,
  metadata: metadata(name)
})

const object = (kind: string, name: string, change: Partial<Resource.Metadata> = {}): Resource.Any => ({
  apiVersion: "example.dev/v1",
  kind,
  metadata: { ...metadata(name), namespace: "default", ...change }
})

const dependent = (name: string): Owner.Dependent => ({ metadata: { name, namespace: "default" } })

const site = object("Website", "blog")
const other = object("Website", "shop")
const zone = clusterObject("Zone", "eu")
