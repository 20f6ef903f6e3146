import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import type * as Resource from "setpoint/Resource"
import * as Selector from "setpoint/Selector"
import * as WatchCoordinator from "setpoint/WatchCoordinator"

describe("WatchCoordinator", () => {
  describe("Delivery", () => {
    it("[D1] a request routes from the moment it is made, before its pass ends", () => {
      const { pods, route } = setup()
      WatchCoordinator.watch(pods, "blue/1", name("web"))
      assert.deepStrictEqual(route(pods, object("web")), ["blue/1"])
    })

    it("[D1] [K27] what the next pass no longer asks for is watched until that pass commits", () => {
      const { coordinator, pods, route } = setup()
      pass(coordinator, "blue/1", [pods, name("old")])
      WatchCoordinator.watch(pods, "blue/1", name("new"))
      assert.deepStrictEqual(route(pods, object("old")), ["blue/1"])
      assert.deepStrictEqual(route(pods, object("new")), ["blue/1"])
      WatchCoordinator.commit(coordinator, "blue/1")
      assert.deepStrictEqual(route(pods, object("old")), [])
      assert.deepStrictEqual(route(pods, object("new")), ["blue/1"])
    })

    it("[K26] a watch on one object routes that object's events only", () => {
      const { pods, route, secrets } = setup()
      WatchCoordinator.watch(pods, "blue/1", name("web", "a"))
      WatchCoordinator.watch(pods, "blue/2", name("web", ""))
      assert.deepStrictEqual(route(pods, object("web", {}, "a")), ["blue/1"])
      assert.deepStrictEqual(route(pods, object("web", {}, undefined)), ["blue/2"], "without a namespace")
      assert.deepStrictEqual(route(pods, object("web", {}, "b")), [])
      assert.deepStrictEqual(route(pods, object("web2", {}, "a")), [])
      assert.deepStrictEqual(route(secrets, object("web", {}, "a")), [], "another source")
    })

    it("[K28] a watch on a selection matches by labels and namespace", () => {
      const { pods, route } = setup()
      WatchCoordinator.watch(pods, "here", select("app=web", "a"))
      WatchCoordinator.watch(pods, "everywhere", select("app=web", undefined))
      assert.deepStrictEqual(route(pods, object("x", { app: "web" }, "a")), ["here", "everywhere"])
      assert.deepStrictEqual(route(pods, object("x", { app: "web" }, "b")), ["everywhere"])
      assert.deepStrictEqual(route(pods, object("x", { app: "db" }, "a")), [])
      assert.deepStrictEqual(route(pods, object("x", undefined, "a")), [])
    })

    it("[D4] set-based, absence, number and empty selectors match exactly, few of them and many", () => {
      for (const others of [0, 100]) {
        const { pods, route } = setup()
        for (let i = 0; i < others; i++) WatchCoordinator.watch(pods, `other-${i}`, select(`other=${i}`))
        const texts = ["", "app in (web,api)", "app notin (web,api)", "!app", "app", "app=web,!canary", "weight>3"]
        for (const text of texts) WatchCoordinator.watch(pods, text, select(text))
        const told = (labels: Selector.Labels | undefined) => new Set(route(pods, object("x", labels)))
        assert.deepStrictEqual(told({ app: "web" }), new Set(["", "app in (web,api)", "app", "app=web,!canary"]))
        assert.deepStrictEqual(told({ app: "web", canary: "" }), new Set(["", "app in (web,api)", "app"]))
        assert.deepStrictEqual(told({ app: "db" }), new Set(["", "app notin (web,api)", "app"]))
        assert.deepStrictEqual(told({ weight: "4" }), new Set(["", "app notin (web,api)", "!app", "weight>3"]))
        assert.deepStrictEqual(told(undefined), new Set(["", "app notin (web,api)", "!app"]))
      }
    })

    it("[D4] an event tries few of many selectors, also where all stand on one namespace and share a requirement", () => {
      const { coordinator, pods, route } = setup()
      let tried = 0
      for (let i = 0; i < 10_000; i++) {
        const made = Result.getOrThrow(Selector.parse(`app=web,instance=i${i},!canary`))
        const selector = { ...made, test: (labels: Selector.Labels) => (tried++, made.test(labels)) }
        pass(coordinator, `blue/${i}`, [pods, { _tag: "Selector", namespace: "default", selector }])
      }
      const web = (i: number) => object("x", { app: "web", instance: `i${i}` })
      assert.deepStrictEqual(route(pods, web(7), web(8)), ["blue/7", "blue/8"])
      assert.deepStrictEqual(route(pods, object("x", { app: "web" })), [])
      assert.isBelow(tried, 10)
    })

    it("a watch on an owner's dependents matches who owns them and who did", () => {
      const { pods, route } = setup()
      WatchCoordinator.watch(pods, "blue/1", { _tag: "Owner", uid: "u1" })
      assert.deepStrictEqual(route(pods, ownedBy("u1", "u2")), ["blue/1"])
      assert.deepStrictEqual(route(pods, ownedBy("u2")), [])
      assert.deepStrictEqual(route(pods, ownedBy("u2"), ownedBy("u1")), ["blue/1"], "it was given away")
    })

    it("a watch on a value of an index matches what has it and what had it", () => {
      const { pods, route } = setup()
      const target = { _tag: "Index", index: "image", value: "web:1" } as const
      WatchCoordinator.watch(pods, "blue/1", target)
      assert.deepStrictEqual(route(pods, withImages("db:1", "web:1")), ["blue/1"])
      assert.deepStrictEqual(route(pods, withImages("web:2")), [])
      assert.deepStrictEqual(route(pods, withImages("web:2"), withImages("web:1")), ["blue/1"])
    })

    it("an index that the board does not have is refused by name, and nothing is left of the request", () => {
      const { coordinator, pods } = setup()
      assert.isTrue(WatchCoordinator.hasIndex(pods, "image"))
      assert.isFalse(WatchCoordinator.hasIndex(pods, "port"))
      assert.throws(
        () => WatchCoordinator.watch(pods, "blue/1", { _tag: "Index", index: "port", value: "80" }),
        `this source has no index "port": it has image`
      )
      assert.strictEqual(WatchCoordinator.instances(coordinator).size, 0)
      assert.isFalse(WatchCoordinator.isUsed(pods))
    })

    it("[D5] [K43] an object that leaves a selection is matched by its old labels", () => {
      const { pods, route } = setup()
      WatchCoordinator.watch(pods, "blue/1", select("app=web"))
      assert.deepStrictEqual(route(pods, object("x", { app: "db" }), object("x", { app: "web" })), ["blue/1"])
      assert.deepStrictEqual(route(pods, object("x"), object("x", { app: "web" })), ["blue/1"])
      assert.deepStrictEqual(route(pods, undefined, object("x", { app: "web" })), ["blue/1"], "it was deleted")
      assert.deepStrictEqual(route(pods, object("x", { app: "db" }), object("x", { app: "api" })), [])
    })

    it("[D5] an object that had no labels leaves a selection of absence when it gains the label", () => {
      const { pods, route } = setup()
      WatchCoordinator.watch(pods, "blue/1", select("!canary"))
      const gained = object("x", { canary: "yes" })
      assert.deepStrictEqual(route(pods, gained, object("x", undefined)), ["blue/1"])
      assert.deepStrictEqual(route(pods, gained, object("x", {})), ["blue/1"])
      assert.deepStrictEqual(route(pods, gained, undefined), [], "what did not exist was not selected")
    })

    it("[D5] [K41] an object that several requests of an instance match enqueues it once", () => {
      const { pods, route } = setup()
      for (const target of [name("web"), select("app=web"), select("app"), select("app", undefined), select("")]) {
        WatchCoordinator.watch(pods, "blue/1", target)
      }
      assert.deepStrictEqual(route(pods, object("web", { app: "web" }), object("web", { app: "db" })), ["blue/1"])
    })

    it("[D5] so does one that two of its requests match", () => {
      const { pods, route } = setup()
      for (const target of [name("web"), select("app=web")]) WatchCoordinator.watch(pods, "blue/1", target)
      assert.deepStrictEqual(route(pods, object("web", { app: "web" })), ["blue/1"])
    })

    it("[D5] an event of one source does not hide the next event of another", () => {
      const { pods, route, secrets } = setup()
      WatchCoordinator.watch(pods, "blue/1", name("web"))
      WatchCoordinator.watch(secrets, "blue/1", name("web"))
      for (let i = 0; i < 3; i++) {
        assert.deepStrictEqual(route(pods, object("web")), ["blue/1"])
        assert.deepStrictEqual(route(secrets, object("web")), ["blue/1"])
      }
    })

    it("[K31] one event reaches all instances that watch it, and says how many", () => {
      const { pods } = setup()
      for (const instance of ["blue/1", "blue/2", "red/1"]) WatchCoordinator.watch(pods, instance, name("web"))
      const told: Array<string> = []
      const count = WatchCoordinator.route(pods, { object: object("web"), old: undefined }, (i) => told.push(i))
      assert.strictEqual(count, 3)
      assert.deepStrictEqual(told, ["blue/1", "blue/2", "red/1"])
    })

    it("who is told may ask, end passes and route: this event still reaches all that it found", () => {
      const { coordinator, pods } = setup()
      for (const instance of ["blue/1", "blue/2", "blue/3"]) pass(coordinator, instance, [pods, name("web")])
      const told: Array<string> = []
      const change = { object: object("web"), old: undefined }
      WatchCoordinator.route(pods, change, (instance) => {
        told.push(instance)
        WatchCoordinator.remove(coordinator, instance)
        WatchCoordinator.watch(pods, `${instance}'`, name("web"))
        if (told.length === 1) WatchCoordinator.route(pods, change, () => {})
      })
      assert.deepStrictEqual(told, ["blue/1", "blue/2", "blue/3"])
    })
  })

  describe("Consistency", () => {
    it("[K40] asking twice for the same thing is asking once", () => {
      const { coordinator, pods } = setup()
      const watch = (target: WatchCoordinator.Target) => WatchCoordinator.watch(pods, "blue/1", target)
      assert.strictEqual(watch(select("a=b,c=d")), "new")
      assert.strictEqual(watch(select("c=d,a=b")), "known", "in another notation")
      WatchCoordinator.commit(coordinator, "blue/1")
      assert.strictEqual(watch(select("a=b,c=d")), "known", "in the next pass")
      assert.strictEqual(watch(select("a=b,c=d", "other")), "new", "in another namespace")
      assert.strictEqual(WatchCoordinator.counts(pods).Selector, 2)
    })

    it("[K40] requests are known again in whatever order a pass makes them", () => {
      const { coordinator, pods, secrets } = setup()
      const targets = [name("a"), name("b"), select("a"), select("b"), name("c")]
      pass(coordinator, "blue/1", ...targets.map((target) => [pods, target] as const))
      pass(coordinator, "blue/1", ...targets.toReversed().map((target) => [pods, target] as const), [
        secrets,
        name("a")
      ])
      pass(coordinator, "blue/1", [secrets, name("a")], ...targets.map((target) => [pods, target] as const))
      assert.deepStrictEqual(WatchCoordinator.counts(pods), { Name: 3, Selector: 2, Owner: 0, Index: 0 })
      assert.strictEqual(WatchCoordinator.requestsOf(coordinator, "blue/1").length, 6)
    })

    it("[K37] [K42] a commit drops the selection that was not asked for again: a changed one takes its place", () => {
      const { coordinator, pods, route } = setup()
      pass(coordinator, "blue/1", [pods, select("app=web")])
      pass(coordinator, "blue/1", [pods, select("app=api")])
      assert.deepStrictEqual(route(pods, object("x", { app: "web" })), [])
      assert.deepStrictEqual(route(pods, object("x", { app: "api" })), ["blue/1"])
      assert.strictEqual(WatchCoordinator.counts(pods).Selector, 1)
    })

    it("[K48] [K51] a rollback brings the old target and the old selector back, and hands the new source back", () => {
      const { coordinator, pods, route, secrets } = setup()
      pass(coordinator, "blue/1", [pods, name("old")], [pods, select("app=old")])
      WatchCoordinator.watch(secrets, "blue/1", name("new"))
      WatchCoordinator.watch(pods, "blue/1", select("app=new"))
      assert.deepStrictEqual(WatchCoordinator.abort(coordinator, "blue/1"), ["secrets"])
      assert.deepStrictEqual(route(pods, object("old")), ["blue/1"])
      assert.deepStrictEqual(route(pods, object("x", { app: "old" })), ["blue/1"])
      assert.deepStrictEqual(route(secrets, object("new")), [])
      assert.deepStrictEqual(route(pods, object("x", { app: "new" })), [])
    })

    it("[K49] a rollback leaves a request that was asked for again, and one that was not, as they were", () => {
      const { coordinator, pods, route } = setup()
      pass(coordinator, "blue/1", [pods, name("again")], [pods, name("not again")])
      WatchCoordinator.watch(pods, "blue/1", name("again"))
      assert.deepStrictEqual(WatchCoordinator.abort(coordinator, "blue/1"), [])
      assert.deepStrictEqual(route(pods, object("again")), ["blue/1"])
      assert.deepStrictEqual(route(pods, object("not again")), ["blue/1"])
    })

    it("[K50] a request that was rolled back does not come to life later", () => {
      const { coordinator, pods, route } = setup()
      pass(coordinator, "blue/1", [pods, name("old")])
      WatchCoordinator.watch(pods, "blue/1", name("new"))
      WatchCoordinator.abort(coordinator, "blue/1")
      pass(coordinator, "blue/1", [pods, name("old")])
      assert.deepStrictEqual(route(pods, object("new")), [])
      assert.deepStrictEqual(WatchCoordinator.requestsOf(coordinator, "blue/1"), [
        { source: "pods", target: name("old"), isCommitted: true }
      ])
    })

    it("[K47] a commit and a rollback where nothing was asked for are fine", () => {
      const { coordinator } = setup()
      assert.deepStrictEqual(WatchCoordinator.commit(coordinator, "blue/1"), [])
      assert.deepStrictEqual(WatchCoordinator.abort(coordinator, "blue/1"), [])
    })

    it("a pass that asks for nothing and commits drops everything", () => {
      const { coordinator, pods, secrets } = setup()
      pass(coordinator, "blue/1", [pods, name("a")], [secrets, name("b")])
      assert.deepStrictEqual(WatchCoordinator.commit(coordinator, "blue/1"), ["pods", "secrets"])
      assert.strictEqual(WatchCoordinator.instances(coordinator).size, 0)
    })

    it("[K29] a removed instance is routed to no more, and others are", () => {
      const { coordinator, pods, route } = setup()
      pass(coordinator, "blue/1", [pods, name("web")])
      pass(coordinator, "blue/2", [pods, name("web")])
      assert.deepStrictEqual(WatchCoordinator.remove(coordinator, "blue/1"), [])
      assert.deepStrictEqual(route(pods, object("web")), ["blue/2"])
    })

    it("[K53] removing an instance before its commit cleans up what it asked for", () => {
      const { coordinator, pods, route } = setup()
      WatchCoordinator.watch(pods, "blue/1", name("web"))
      assert.deepStrictEqual(WatchCoordinator.remove(coordinator, "blue/1"), ["pods"])
      assert.deepStrictEqual(route(pods, object("web")), [])
    })

    it("[K46] [K56] removing an instance or a group that is not known is fine", () => {
      const { coordinator } = setup()
      assert.deepStrictEqual(WatchCoordinator.remove(coordinator, "blue/1"), [])
      assert.deepStrictEqual(removeGroup(coordinator, "blue"), [])
    })

    it("[K30] [K39] removing a group drops the names and selections of all its instances", () => {
      const { coordinator, pods, route } = setup()
      pass(coordinator, "blue/1", [pods, name("web")], [pods, select("app=web")])
      pass(coordinator, "blue/2", [pods, select("app=web")])
      pass(coordinator, "red/1", [pods, name("web")])
      assert.deepStrictEqual(removeGroup(coordinator, "blue"), [])
      assert.deepStrictEqual(route(pods, object("web", { app: "web" })), ["red/1"])
      assert.deepStrictEqual(WatchCoordinator.counts(pods), { Name: 1, Selector: 0, Owner: 0, Index: 0 })
    })
  })

  describe("sources", () => {
    it("[K32] [K36] a source that only one instance used is handed back when the instance is removed", () => {
      for (const target of [name("web"), select("app=web")]) {
        const { coordinator, pods } = setup()
        pass(coordinator, "blue/1", [pods, target])
        assert.isTrue(WatchCoordinator.isUsed(pods))
        assert.deepStrictEqual(WatchCoordinator.remove(coordinator, "blue/1"), ["pods"])
        assert.isFalse(WatchCoordinator.isUsed(pods))
      }
    })

    it("[K33] [K36] a source that the watch set no longer needs is handed back at the commit", () => {
      for (const target of [name("web"), select("app=web")]) {
        const { coordinator, pods, secrets } = setup()
        pass(coordinator, "blue/1", [pods, target], [secrets, name("password")])
        assert.deepStrictEqual(pass(coordinator, "blue/1", [secrets, name("password")]), ["pods"])
      }
    })

    it("[K34] a source that only one group used is handed back when that is removed, once", () => {
      const { coordinator, pods, secrets } = setup()
      for (const i of [1, 2, 3]) pass(coordinator, `blue/${i}`, [pods, name("web")], [secrets, select("")])
      assert.deepStrictEqual(removeGroup(coordinator, "blue"), ["pods", "secrets"])
    })

    it("[K35] [K36] a source that others share is not handed back", () => {
      for (const target of [name("web"), select("app=web")]) {
        const { coordinator, pods } = setup()
        pass(coordinator, "blue/1", [pods, target])
        pass(coordinator, "blue/2", [pods, target])
        pass(coordinator, "red/1", [pods, target])
        assert.deepStrictEqual(WatchCoordinator.commit(coordinator, "blue/1"), [])
        assert.deepStrictEqual(WatchCoordinator.remove(coordinator, "blue/2"), [])
        assert.deepStrictEqual(removeGroup(coordinator, "blue"), [])
        assert.deepStrictEqual(removeGroup(coordinator, "red"), ["pods"])
      }
    })

    it("[K38] a watch that is aimed at another source hands the old one back", () => {
      const { coordinator, pods, secrets } = setup()
      pass(coordinator, "blue/1", [pods, name("web")])
      assert.deepStrictEqual(pass(coordinator, "blue/1", [secrets, name("web")]), ["pods"])
      assert.isTrue(WatchCoordinator.isUsed(secrets))
    })

    it("a source that was handed back can be used again", () => {
      const { coordinator, pods, route } = setup()
      pass(coordinator, "blue/1", [pods, name("web")])
      assert.deepStrictEqual(WatchCoordinator.remove(coordinator, "blue/1"), ["pods"])
      assert.strictEqual(WatchCoordinator.watch(pods, "blue/1", name("web")), "new")
      assert.deepStrictEqual(route(pods, object("web")), ["blue/1"])
    })
  })

  describe("counts", () => {
    it("[K44] the numbers of requests can be read, by what they ask for and whether they are committed", () => {
      const { coordinator, pods } = setup()
      pass(coordinator, "blue/1", [pods, name("web")], [pods, select("app=web")], [pods, { _tag: "Owner", uid: "1" }])
      WatchCoordinator.watch(pods, "blue/1", { _tag: "Index", index: "image", value: "web:1" })
      assert.deepStrictEqual(WatchCoordinator.counts(pods), { Name: 1, Selector: 1, Owner: 1, Index: 1 })
      assert.deepStrictEqual(
        WatchCoordinator.requestsOf(coordinator, "blue/1").map(({ isCommitted }) => isCommitted),
        [true, true, true, false]
      )
    })

    it("[K57] [K58] [K67] instances are counted by group, and a group is gone with its last instance", () => {
      const { coordinator, pods } = setup()
      const instances = () => Object.fromEntries(WatchCoordinator.instances(coordinator))
      pass(coordinator, "blue/1", [pods, name("web")])
      assert.deepStrictEqual(instances(), { blue: 1 })
      pass(coordinator, "red/1", [pods, name("web")])
      pass(coordinator, "red/2", [pods, name("web")])
      assert.deepStrictEqual(instances(), { blue: 1, red: 2 })
      WatchCoordinator.remove(coordinator, "red/1")
      assert.deepStrictEqual(instances(), { blue: 1, red: 1 })
      WatchCoordinator.commit(coordinator, "red/2")
      assert.deepStrictEqual(instances(), { blue: 1 })
    })

    it("[K54] [K59] [K64] the counts of a removed group go at once, names and selections", () => {
      const { coordinator, pods } = setup()
      for (const i of [1, 2, 3]) pass(coordinator, `blue/${i}`, [pods, name("web")], [pods, select(`i=${i}`)])
      assert.deepStrictEqual(WatchCoordinator.counts(pods), { Name: 3, Selector: 3, Owner: 0, Index: 0 })
      removeGroup(coordinator, "blue")
      assert.deepStrictEqual(WatchCoordinator.counts(pods), none)
      assert.strictEqual(WatchCoordinator.instances(coordinator).size, 0)
    })

    it("[K55] removing some instances leaves the others", () => {
      const { coordinator, pods, route } = setup()
      for (const i of [1, 2, 3]) pass(coordinator, `blue/${i}`, [pods, name("web")])
      WatchCoordinator.remove(coordinator, "blue/2")
      assert.deepStrictEqual(route(pods, object("web")), ["blue/1", "blue/3"])
      assert.strictEqual(WatchCoordinator.counts(pods).Name, 2)
      assert.strictEqual(WatchCoordinator.instances(coordinator).get("blue"), 2)
    })

    it("[K60] [K61] [K66] names and selections are counted apart, as they come and go", () => {
      const { coordinator, pods } = setup()
      const counts = () => [WatchCoordinator.counts(pods).Name, WatchCoordinator.counts(pods).Selector]
      pass(coordinator, "blue/1", [pods, name("web")])
      assert.deepStrictEqual(counts(), [1, 0])
      pass(coordinator, "blue/1", [pods, name("web")], [pods, select("app=web")])
      assert.deepStrictEqual(counts(), [1, 1])
      pass(coordinator, "blue/1", [pods, name("web")])
      assert.deepStrictEqual(counts(), [1, 0])
      pass(coordinator, "blue/1")
      assert.deepStrictEqual(counts(), [0, 0])
    })

    it("[K62] the counts of another source are left alone", () => {
      const { coordinator, pods, secrets } = setup()
      pass(coordinator, "blue/1", [pods, name("web")], [secrets, name("password")])
      pass(coordinator, "blue/1", [secrets, name("password")])
      assert.deepStrictEqual(WatchCoordinator.counts(pods), none)
      assert.strictEqual(WatchCoordinator.counts(secrets).Name, 1)
    })

    it("[K63] [K65] two names on a source count 2, then 1, then none, commit by commit", () => {
      const { coordinator, pods } = setup()
      pass(coordinator, "blue/1", [pods, name("a")], [pods, name("b")])
      assert.strictEqual(WatchCoordinator.counts(pods).Name, 2)
      pass(coordinator, "blue/1", [pods, name("b")])
      assert.strictEqual(WatchCoordinator.counts(pods).Name, 1)
      pass(coordinator, "blue/1")
      assert.deepStrictEqual(WatchCoordinator.counts(pods), none)
    })
  })
})

// ---------------------------------------------------------------------------------------------------------------------

type Board = WatchCoordinator.Board<string, string>

const none = { Name: 0, Selector: 0, Owner: 0, Index: 0 }

/** Instances are texts, `group/name`. */
const setup = () => {
  const coordinator = WatchCoordinator.make<string, string>({ groupOf: (instance) => instance.split("/")[0] })
  const images = (raw: Resource.Raw) => (raw["images"] ?? []) as ReadonlyArray<string>
  return {
    coordinator,
    pods: WatchCoordinator.makeBoard(coordinator, "pods", { indexes: { image: images } }),
    secrets: WatchCoordinator.makeBoard(coordinator, "secrets"),
    route: (board: Board, object: Resource.Raw | undefined, old?: Resource.Raw | undefined): ReadonlyArray<string> => {
      const told: Array<string> = []
      WatchCoordinator.route(board, { object, old }, (instance) => told.push(instance))
      return told
    }
  }
}

/** A whole pass that succeeds. */
const pass = (
  coordinator: WatchCoordinator.WatchCoordinator<string, string>,
  instance: string,
  ...requests: ReadonlyArray<readonly [board: Board, target: WatchCoordinator.Target]>
): ReadonlyArray<string> => {
  for (const [board, target] of requests) WatchCoordinator.watch(board, instance, target)
  return WatchCoordinator.commit(coordinator, instance)
}

/** As a registration is removed. */
const removeGroup = (
  coordinator: WatchCoordinator.WatchCoordinator<string, string>,
  group: string
): ReadonlyArray<string> =>
  WatchCoordinator.members(coordinator, group).flatMap((instance) => WatchCoordinator.remove(coordinator, instance))

const name = (name: string, namespace = "default"): WatchCoordinator.Target => ({ _tag: "Name", namespace, name })

const select = (text: string, ...namespace: [string | undefined] | []): WatchCoordinator.Target => ({
  _tag: "Selector",
  namespace: namespace.length === 0 ? "default" : namespace[0],
  selector: Result.getOrThrow(Selector.parse(text))
})

const object = (
  name: string,
  labels?: Selector.Labels | undefined,
  ...namespace: [string | undefined] | []
): Resource.Raw => {
  const at = namespace.length === 0 ? "default" : namespace[0]
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      ...(at === undefined ? {} : { namespace: at }),
      ...(labels === undefined ? {} : { labels }),
      uid: `uid of ${name}`,
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: "2026-01-01T00:00:00Z"
    }
  }
}

const ownedBy = (...uids: ReadonlyArray<string>): Resource.Raw => {
  const { metadata, ...rest } = object("x")
  const ownerReferences = uids.map((uid) => ({ apiVersion: "v1", kind: "Blue", name: uid, uid }))
  return { ...rest, metadata: { ...metadata, ownerReferences } }
}

const withImages = (...images: ReadonlyArray<string>): Resource.Raw => ({ ...object("x"), images })
