import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Informer from "setpoint/Informer"
import * as Pass from "setpoint/Pass"
import type { Raw } from "setpoint/Resource"
import * as Selector from "setpoint/Selector"
import {
  Expired,
  Forbidden,
  KindUnknown,
  Lagged,
  type Reason,
  TooManyRequests,
  Unavailable,
  UnknownOutcome
} from "setpoint/StoreError"
import { address, ScriptedStore } from "./utils/scriptedStore.ts"

describe("a cache", () => {
  it.effect("[C152] what is applied is added, applied again updated, deleted removed; nothing is there twice", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      const informer = yield* running(store)
      const heard = yield* listen(informer)
      store.put("b")
      store.put("a", { spec: 2 })
      store.delete("b")
      yield* settle
      assert.deepStrictEqual(heard, ["Added initial a@1", "Added watch b@2", "Modified watch a@3", "Deleted watch b@4"])
      assert.deepStrictEqual(names(informer), ["a"])
      assert.strictEqual(Informer.size(informer), 1)
    }))

  it.effect("[C152] readers before, during and after the first list end with the same objects", () =>
    Effect.gen(function*() {
      const store = storeOf("a", "b")
      store.listFailures.push(unavailable())
      const informer = yield* Informer.make(store.driver, address)
      const before = yield* listen(informer)
      assert.deepStrictEqual(before, [])
      yield* TestClock.adjust("1 second")
      const after = yield* listen(informer)
      assert.deepStrictEqual(before, ["Added initial a@1", "Added initial b@2"])
      assert.deepStrictEqual(after, before)
    }))

  it.effect("[S10] objects are the store's own: shared, never copied", () =>
    Effect.gen(function*() {
      const store = storeOf()
      const object = store.put("a")
      const informer = yield* running(store)
      assert.strictEqual(Informer.get(informer, key("a")), object)
      assert.strictEqual(Informer.entry(informer, key("a"))?.raw, object)
    }))

  it.effect("objects are found by namespace, owner, label and any function, and stay found as they change", () =>
    Effect.gen(function*() {
      const store = storeOf()
      store.put("a", { labels: { app: "x" }, owner: "u1", spec: "red" })
      store.put("b", { labels: { app: "x", tier: "db" }, owner: "u1", spec: "blue" })
      store.put("c", { namespace: "other", labels: { app: "y" }, owner: "u2", spec: "red" })
      const informer = yield* running(store, { indexes: { color: (object) => [String(object["spec"])] } })
      const app = (text: string) => Result.getOrThrow(Selector.parse(text))
      const found = (options: Informer.ListOptions) => names(informer, options)
      assert.deepStrictEqual(found({ namespace: "other" }), ["c"])
      assert.deepStrictEqual(found({ ownerUid: "u1" }), ["a", "b"])
      assert.deepStrictEqual(found({ selector: app("app=x") }), ["a", "b"])
      assert.deepStrictEqual(found({ selector: app("app=x,tier!=db") }), ["a"])
      assert.deepStrictEqual(found({ selector: app("!tier") }), ["a", "c"])
      assert.deepStrictEqual(found({ index: { name: "color", value: "red" } }), ["a", "c"])
      assert.deepStrictEqual(found({ index: { name: "color", value: "red" }, namespace: "default" }), ["a"])
      assert.deepStrictEqual(found({ namespace: "default", name: "b" }), ["b"])
      store.put("a", { labels: { app: "y" }, owner: "u2", spec: "blue" })
      store.delete("c", "other")
      yield* settle
      assert.deepStrictEqual(found({ ownerUid: "u1" }), ["b"])
      assert.deepStrictEqual(found({ ownerUid: "u2" }), ["a"])
      assert.deepStrictEqual(found({ selector: app("app=y") }), ["a"])
      assert.deepStrictEqual(found({ index: { name: "color", value: "blue" } }), ["a", "b"])
      assert.deepStrictEqual(found({ index: { name: "color", value: "red" } }), [])
      store.drop(expired)
      store.put("b", { owner: "u3", spec: "red" })
      yield* settle
      assert.deepStrictEqual(found({ ownerUid: "u1" }), [])
      assert.deepStrictEqual(found({ ownerUid: "u3" }), ["b"])
      assert.deepStrictEqual(found({ index: { name: "color", value: "red" } }), ["b"])
    }))

  it.effect("[S8] sorted lists go by the UTF-8 bytes of namespace/name", () =>
    Effect.gen(function*() {
      const store = storeOf()
      for (const namespace of ["a", "a-b", "ab"]) store.put("x", { namespace })
      for (const name of ["é", "z", "\u{1F600}", "\uFFFD"]) store.put(name, { namespace: "u" })
      const informer = yield* running(store)
      const keys = Informer.list(informer, { sorted: true }).map(({ metadata }) =>
        `${metadata.namespace}/${metadata.name}`
      )
      assert.deepStrictEqual(keys, keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))))
      assert.strictEqual(keys[0], "a-b/x")
    }))

  it.effect("[E10] a cache covers a read only with its namespace, its selector, and whole objects", () =>
    Effect.gen(function*() {
      const store = storeOf()
      const all = yield* running(store)
      assert.isTrue(Informer.covers(all))
      assert.isTrue(Informer.covers(all, { namespace: "a", selector: "app=x" }))
      const narrow = yield* running(store, { namespace: "a", selector: " app = x " })
      assert.isTrue(Informer.covers(narrow, { namespace: "a", selector: "app=x" }))
      assert.isFalse(Informer.covers(narrow, { namespace: "a" }))
      assert.isFalse(Informer.covers(narrow, { selector: "app=x" }))
      assert.isFalse(Informer.covers(narrow, { namespace: "b", selector: "app=x" }))
      const bare = yield* running(store, { metadataOnly: true })
      assert.isFalse(Informer.covers(bare))
      assert.isTrue(Informer.covers(bare, { full: false }))
      const changed = yield* running(store, { transform: { name: "same", f: (_) => _ } })
      assert.isFalse(Informer.covers(changed))
    }))

  it.effect("[E10] how far the cache is, and what it holds of a key, is there in the same step as the change is told", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      const informer = yield* running(store)
      const seen: Array<string> = []
      yield* Informer.subscribe(informer, {
        onChange: ({ object, type }) => {
          const cached = Informer.get(informer, key(object.metadata.name))?.metadata.resourceVersion ?? "absent"
          seen.push(`${type} ${object.metadata.name}: ${cached}, at ${Informer.revision(informer)}`)
        },
        onRevision: (revision) => seen.push(`up to ${revision}`)
      })
      store.put("a")
      store.delete("a")
      yield* settle
      store.revision = 9
      store.bookmark()
      yield* settle
      assert.deepStrictEqual(seen, [
        "Added a: 1, at 1",
        "Modified a: 2, at 2",
        "Deleted a: absent, at 3",
        "up to 3",
        "up to 9"
      ])
    }))

  it.effect("the driver is called under the informer's fixed name, and in no pass", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      const callers: Array<string> = []
      const list: typeof store.driver.list = (at, options) =>
        Effect.gen(function*() {
          callers.push(`${yield* Pass.Caller} ${(yield* Pass.Current) === undefined}`)
          return yield* store.driver.list(at, options)
        })
      const pass = { registration: "r" } as Pass.Pass // only its presence matters
      const informer = yield* Informer.make({ ...store.driver, list }, address).pipe(
        Effect.provideService(Pass.Current, pass)
      )
      yield* Informer.synced(informer)
      assert.deepStrictEqual(callers, ["informer/Thing.example.dev true"])
    }))

  it.effect("options that cannot be right are refused by name", () =>
    Effect.gen(function*() {
      const { driver } = storeOf()
      const refused = (options: Informer.Options) => Effect.flip(Effect.scoped(Informer.make(driver, address, options)))
      assert.strictEqual((yield* refused({ pageSize: 0 })).option, "pageSize")
      assert.strictEqual((yield* refused({ bufferSize: 1.5 })).option, "bufferSize")
      assert.strictEqual((yield* refused({ idleTimeout: Number.NaN })).option, "idleTimeout")
      assert.strictEqual((yield* refused({ redelivery: -1 })).option, "redelivery")
      assert.strictEqual((yield* refused({ backoff: { base: "1 minute", cap: "1 second" } })).option, "backoff.cap")
      assert.strictEqual((yield* refused({ backoff: { cap: "Infinity" } })).option, "backoff")
      assert.strictEqual((yield* refused({ selector: "a in" })).option, "selector")
      const cluster = Informer.make(driver, { ...address, scope: "Cluster" }, { namespace: "a" })
      assert.strictEqual((yield* Effect.flip(Effect.scoped(cluster))).option, "namespace")
    }))
})

describe("the first list", () => {
  it.effect("comes in pages, and is one step for readers", () =>
    Effect.gen(function*() {
      const store = storeOf(...many(7))
      const informer = yield* running(store, { pageSize: 3 })
      assert.strictEqual(Informer.size(informer), 7)
      assert.deepStrictEqual(store.calls, ["list", "list next", "list next", "watch 7@1"])
    }))

  it.effect("[C157] [S3] streamed, it ends on the mark, and nothing is told before", () =>
    Effect.gen(function*() {
      const store = storeOf("a", "b")
      store.delete("a")
      const informer = yield* Informer.make(store.driver, address, { initial: "streamed" })
      const heard = yield* listen(informer)
      yield* settle
      assert.deepStrictEqual(heard, ["Added initial b@2"])
      assert.strictEqual(Informer.revision(informer), "3")
      store.put("c")
      yield* settle
      assert.deepStrictEqual(names(informer), ["b", "c"])
      assert.deepStrictEqual(store.calls, ["watch current"])
      store.drop(unavailable())
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(store.calls, ["watch current", "watch 4@1"])
    }))

  it.effect("[C157] [C153] where the store does not stream, it comes in pages", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      store.streams = false
      const informer = yield* running(store, { initial: "streamed" })
      assert.deepStrictEqual(names(informer), ["a"])
      assert.deepStrictEqual(store.calls, ["watch current", "list", "watch 1@1"])
    }))

  it.effect("[C157] a live event that comes before the mark is kept until after it", () =>
    Effect.gen(function*() {
      const store = new ScriptedStore()
      const informer = yield* Informer.make(manual(store), address, { initial: "streamed" })
      const heard = yield* listen(informer)
      const [a1, a2, b] = [store.put("a"), store.put("a"), store.put("b")]
      store.send(
        { _tag: "Added", object: a1, initial: true, cursor: "1@1" },
        { _tag: "Modified", object: a2, initial: false, cursor: "2@1" },
        { _tag: "InitialDone", revision: "1", cursor: "1@1" },
        { _tag: "Added", object: b, initial: false, cursor: "3@1" }
      )
      yield* settle
      assert.deepStrictEqual(heard, ["Added initial a@1", "Modified watch a@2", "Added watch b@3"])
    }))

  it.effect("[E4] who waits for it fails in time and hears what holds it, and it goes on trying", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      for (let i = 0; i < 2; i++) store.listFailures.push(new Forbidden({ why: "no list on things" }))
      const informer = yield* Informer.make(store.driver, address)
      const waiting = yield* Effect.forkChild(Effect.flip(Informer.awaitSynced(informer)))
      yield* TestClock.adjust("30 seconds")
      const timeout = yield* Fiber.join(waiting)
      assert.strictEqual(timeout._tag, "Informer/SyncTimeout")
      assert.include(timeout.message, "no list on things")
      assert.isFalse(Informer.isSynced(informer))
      yield* TestClock.adjust("1 minute")
      assert.isTrue(Informer.isSynced(informer))
      yield* Informer.awaitSynced(informer)
    }))

  it.effect("an empty store syncs too", () =>
    Effect.gen(function*() {
      const informer = yield* running(storeOf())
      assert.isTrue(Informer.isSynced(informer))
      assert.strictEqual((yield* Informer.health(informer)).why, undefined)
    }))
})

describe("what ends a watch", () => {
  const outages: ReadonlyArray<Reason | undefined> = [
    unavailable(),
    new UnknownOutcome({ why: "reset" }),
    new TooManyRequests({}),
    undefined
  ]
  for (const reason of outages) {
    it.effect(`[C155] ${reason?._tag ?? "an end without error"} resumes the watch where it was, after a wait`, () =>
      Effect.gen(function*() {
        const store = storeOf("a")
        const informer = yield* running(store)
        store.put("b")
        yield* settle
        store.drop(reason)
        yield* settle
        store.put("c")
        assert.deepStrictEqual(store.calls, ["list", "watch 1@1"])
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(store.calls, ["list", "watch 1@1", "watch 2@1"])
        assert.deepStrictEqual(names(informer), ["a", "b", "c"])
      }))
  }

  it.effect("[C155] a defect of the driver is a failure as any other", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      let deaths = 1
      const watch: typeof store.driver.watch = (at, options) =>
        deaths-- > 0 ? Stream.die(new Error("a bug")) : store.driver.watch(at, options)
      const informer = yield* Informer.make({ ...store.driver, watch }, address)
      yield* settle
      assert.include((yield* Informer.health(informer)).why, "a bug")
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Informer.health(informer)).why, undefined)
    }))

  it.effect("[S9] Lagged resumes at once from the last cursor", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      const informer = yield* running(store)
      store.put("b")
      store.drop(new Lagged({ bufferSize: 1 }))
      store.put("c")
      yield* settle
      assert.deepStrictEqual(names(informer), ["a", "b", "c"])
      assert.deepStrictEqual(store.calls, ["list", "watch 1@1", "watch 2@1"])
      assert.strictEqual((yield* Informer.health(informer)).counters.lagged, 1)
    }))

  it.effect("[S9] Lagged without progress waits, so that it cannot spin", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      for (let i = 0; i < 3; i++) store.watchFailures.push(new Lagged({ bufferSize: 1 }))
      yield* running(store)
      assert.deepStrictEqual(store.calls, ["list", "watch 1@1"])
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(store.calls.length, 5)
    }))

  it.effect("[S5] [C154] Expired relists at once the first time", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      const informer = yield* running(store)
      store.compact()
      store.put("b")
      store.drop(expired)
      yield* settle
      assert.deepStrictEqual(store.calls, ["list", "watch 1@1", "list", "watch 2@1"])
      assert.deepStrictEqual(names(informer), ["a", "b"])
    }))

  it.effect("[S5] [C154] Expired again and again backs off", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      for (let i = 0; i < 1000; i++) store.watchFailures.push(expired)
      yield* running(store)
      assert.isAtMost(store.calls.length, 4)
      yield* TestClock.adjust("1 minute")
      assert.isAtMost(store.calls.length, 24)
    }))

  it.effect("[C154] a page token that expires restarts the list, and in one page when it expires again", () =>
    Effect.gen(function*() {
      const store = storeOf(...many(5))
      const limits: Array<number | undefined> = []
      const list: typeof store.driver.list = (at, options) => {
        limits.push(options.limit)
        if (options.page !== undefined) store.listFailures.push(expired)
        return store.driver.list(at, options)
      }
      const informer = yield* Informer.make({ ...store.driver, list }, address, { pageSize: 2 })
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(Informer.size(informer), 5)
      assert.deepStrictEqual(limits, [2, 2, 2, 2, undefined])
    }))

  it.effect("[C155] TooManyRequests waits as long as it asks for", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      const informer = yield* running(store)
      store.drop(new TooManyRequests({ retryAfterMillis: 20_000 }))
      yield* TestClock.adjust("19 seconds")
      assert.strictEqual(store.calls.length, 2)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(store.calls.slice(2), ["watch 1@1"])
      assert.isTrue(Informer.isSynced(informer))
    }))

  it.effect("[C155] a list that is refused is retried alone", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      store.listFailures.push(new TooManyRequests({ retryAfterMillis: 5000 }), unavailable())
      const informer = yield* Informer.make(store.driver, address)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(store.calls, ["list", "list"])
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(store.calls, ["list", "list", "list", "watch 1@1"])
      assert.deepStrictEqual(names(informer), ["a"])
    }))

  it.effect("[E4] a kind that the store does not serve is asked for slowly, and health says so", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      for (let i = 0; i < 1000; i++) store.listFailures.push(new KindUnknown({ why: "no such kind" }))
      const informer = yield* Informer.make(store.driver, address)
      yield* TestClock.adjust("10 minutes")
      assert.isAtMost(store.calls.length, 30)
      const health = yield* Informer.health(informer)
      assert.strictEqual(health.state, "BackingOff")
      assert.isFalse(health.synced)
      assert.include(health.why, "no such kind")
    }))

  it.effect("[C149] an outage is met with a doubling wait, up to the cap (WA-02)", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      yield* running(store)
      for (let i = 0; i < 1000; i++) store.watchFailures.push(unavailable())
      store.drop(unavailable())
      yield* TestClock.adjust("4 seconds")
      const soon = store.calls.length
      assert.isAtLeast(soon, 4)
      yield* TestClock.adjust("10 minutes")
      assert.isAtMost(store.calls.length - soon, 30)
    }))

  it.effect("[C148] the wait is short again only after the watch was healthy for the set time", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      const informer = yield* running(store, { backoff: { reset: "1 minute" } })
      const fail = Effect.gen(function*() {
        store.drop(unavailable())
        yield* settle
        const health = yield* Informer.health(informer)
        return Number(/waiting (\d+) ms/.exec(health.why ?? "")?.[1])
      })
      for (let i = 0; i < 5; i++) {
        yield* fail
        yield* TestClock.adjust("30 seconds")
        store.bookmark()
        yield* settle
      }
      assert.isAtLeast(yield* fail, 20_000)
      yield* TestClock.adjust("40 seconds")
      store.bookmark()
      yield* TestClock.adjust("59 seconds")
      assert.isAtLeast(yield* fail, 20_000)
      yield* TestClock.adjust("40 seconds")
      store.bookmark()
      yield* TestClock.adjust("61 seconds")
      assert.isAtMost(yield* fail, 1000)
    }))

  it.effect("[C153] [C156] a silent connection is begun anew after the idle timeout, and bookmarks are signs of life", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      yield* running(store, { idleTimeout: "1 minute" })
      yield* TestClock.adjust("59 seconds")
      store.bookmark()
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual(store.calls, ["list", "watch 1@1"])
      yield* TestClock.adjust("1 second")
      assert.strictEqual(store.open, 0)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(store.calls, ["list", "watch 1@1", "watch 1@1"])
      assert.strictEqual(store.open, 1)
    }))

  it.effect("[S4] [C156] a bookmark moves the cursor, and nothing else", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      const informer = yield* running(store)
      const heard = yield* listen(informer)
      store.revision = 7
      store.bookmark()
      store.drop(unavailable())
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(heard, ["Added initial a@1"])
      assert.deepStrictEqual(store.calls, ["list", "watch 1@1", "watch 7@1"])
      assert.strictEqual(Informer.revision(informer), "7")
    }))

  it.effect("[C156] each event moves the cursor that the watch resumes from", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      yield* running(store)
      for (const name of ["b", "c", "d"]) {
        store.put(name)
        yield* settle
      }
      store.drop(unavailable())
      yield* TestClock.adjust("1 second")
      assert.strictEqual(store.calls.at(-1), "watch 4@1")
    }))

  for (const initial of ["paged", "streamed"] as const) {
    it.effect(`a relist can be asked for periodically (${initial})`, () =>
      Effect.gen(function*() {
        const store = storeOf("a")
        const informer = yield* running(store, { initial, relist: "10 minutes", idleTimeout: "Infinity" })
        const heard = yield* listen(informer)
        yield* TestClock.adjust("12 minutes")
        const [list, resumed] = initial === "paged" ? ["list", ["watch 1@1"]] : ["watch current", []]
        assert.deepStrictEqual(store.calls, [list, ...resumed, list, ...resumed])
        assert.deepStrictEqual(heard, ["Added initial a@1"])
        const { counters } = yield* Informer.health(informer)
        assert.deepStrictEqual([counters.relists, counters.unchanged], [1, 1])
        assert.strictEqual(store.open, 1)
        yield* TestClock.adjust("10 minutes")
        assert.isAtMost(store.calls.filter((call) => call === list).length, 4)
      }))
  }

  it.effect("[C153] a list that does not come is asked for again after the idle timeout", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      let hangs = 2
      const list: typeof store.driver.list = (at, options) =>
        hangs-- > 0 ? Effect.never : store.driver.list(at, options)
      const informer = yield* Informer.make({ ...store.driver, list }, address, { idleTimeout: "1 minute" })
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual(hangs, 1)
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(names(informer), ["a"])
    }))
})

describe("a gap", () => {
  const gap = (count: number, how: "resume" | "relist") =>
    Effect.gen(function*() {
      const store = storeOf(...many(count))
      const informer = yield* running(store)
      const view = yield* viewOf(informer)
      store.drop(unavailable())
      for (let i = 0; i < count; i++) store.put(`new-${i}`)
      store.delete("n0")
      if (how === "relist") store.compact()
      for (let i = 0; i < count; i++) store.put(`late-${i}`)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(view.objects, contentOf(store))
      assert.deepStrictEqual(view.deleted, ["n0"])
      assert.strictEqual(store.calls.filter((call) => call === "list").length, how === "relist" ? 2 : 1)
    })

  it.effect("[F14] after a dropped watch, writes and a delete in the gap all arrive (resumed)", () =>
    gap(100, "resume"))

  it.effect("[F15] after a dropped watch, writes and a delete in the gap all arrive (relisted)", () =>
    gap(1100, "relist"))

  const deletes = (how: "resume" | "relist") =>
    Effect.gen(function*() {
      const store = storeOf("filler", ...many(200))
      const informer = yield* running(store)
      const view = yield* viewOf(informer)
      store.drop(unavailable())
      for (const name of many(200)) store.delete(name)
      if (how === "relist") store.compact()
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(view.deleted.toSorted(), many(200).toSorted())
      assert.deepStrictEqual(names(informer), ["filler"])
    })

  it.effect("[F16] 200 deletes across a dropped watch all arrive (resumed)", () => deletes("resume"))

  it.effect("[F17] 200 deletes in a gap longer than the history all arrive (relisted; WA-01, WA-08)", () =>
    deletes("relist"))

  const timeline = (busy: boolean) =>
    Effect.gen(function*() {
      const store = storeOf()
      const object = store.put("a")
      const informer = yield* running(store)
      const heard = yield* listen(informer)
      let timelines = 0
      yield* Informer.subscribe(informer, {
        onChange: () => {},
        onNewTimeline: () => {
          timelines++
        }
      })
      store.restore([object], 1)
      store.drop(busy ? unavailable() : new Expired({ why: "restored", otherTimeline: true }))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(heard, ["Added initial a@1", "Modified newTimeline a@1"])
      assert.strictEqual(timelines, 1)
      return store.calls
    })

  it.effect("[F18] [S5] a cursor of another timeline is expired: relist, and every object is told again", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* timeline(false), ["list", "watch 1@1", "list", "watch 1@2"])
    }))

  it.effect("[F19] the same when the watch only resumes into it", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* timeline(true), ["list", "watch 1@1", "watch 1@1", "list", "watch 1@2"])
    }))

  it.effect("[E6] a relist tells who vanished, who has another life, who changed, and not who is as before", () =>
    Effect.gen(function*() {
      const store = storeOf("gone", "again", "changed", "same")
      const informer = yield* running(store)
      const heard: Array<string> = []
      const slots = yield* Informer.subscribe<string>(informer, {
        onChange: ({ entry, object, old, type, via }) => {
          heard.push(`${type} ${via} ${entry.name} ${old?.metadata.uid}->${object.metadata.uid}: ${slots.get(entry)}`)
        }
      })
      for (const { metadata } of Informer.list(informer)) {
        const entry = Informer.entry(informer, { name: metadata.name, namespace: metadata.namespace ?? "" })
        if (entry !== undefined) slots.set(entry, `caused by ${metadata.name}`)
      }
      store.drop(unavailable())
      store.delete("gone")
      store.delete("again")
      store.put("again")
      store.put("changed")
      store.compact()
      heard.length = 0
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(heard, [
        "Deleted relist gone uid-1->uid-1: caused by gone",
        "Deleted relist again uid-2->uid-2: caused by again",
        "Added relist again undefined->uid-5: caused by again",
        "Modified relist changed uid-3->uid-3: caused by changed"
      ])
      assert.strictEqual((yield* Informer.health(informer)).counters.unchanged, 1)
    }))

  it.effect("[C158] a relist is one step: in its first change the whole list is in the cache", () =>
    Effect.gen(function*() {
      const store = storeOf(...many(5))
      const informer = yield* running(store)
      const sizes = new Set<number>()
      let live = false
      yield* Informer.subscribe(informer, {
        onChange: () => live && sizes.add(Informer.size(informer) + (Informer.get(informer, key("n0")) ? 100 : 0))
      })
      live = true
      store.drop(unavailable())
      store.delete("n0")
      for (const name of ["x", "y", "z"]) store.put(name)
      store.compact()
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual([...sizes], [7])
    }))

  it.effect("[C158] [F18] it is not synced while a gap is open, and synced again when the relist is in (WA-03)", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      const informer = yield* running(store)
      store.listFailures.push(unavailable())
      store.drop(expired)
      yield* settle
      assert.isFalse(Informer.isSynced(informer))
      assert.include((yield* Informer.health(informer)).why, "list again")
      store.delete("a")
      yield* TestClock.adjust("1 second")
      assert.isTrue(Informer.isSynced(informer))
      assert.strictEqual(Informer.size(informer), 0)
    }))

  it.effect("a list below what was seen is refused once; twice in a row it is a new timeline (WA-05)", () =>
    Effect.gen(function*() {
      const store = storeOf("a", "b")
      const informer = yield* running(store)
      const heard = yield* listen(informer)
      heard.length = 0
      store.listsBelow.push(1)
      store.drop(expired)
      yield* settle
      assert.deepStrictEqual(heard, [])
      assert.strictEqual(Informer.revision(informer), "2")
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(heard, [])
      assert.isTrue(Informer.isSynced(informer))

      store.listsBelow.push(1, 1)
      store.drop(expired)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(heard, ["Modified newTimeline a@1", "Modified newTimeline b@2"])
    }))

  it.effect("old events that come again change nothing (WA-04)", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      const informer = yield* running(store)
      const a2 = store.put("a", { spec: 2 })
      yield* settle
      const heard = yield* listen(informer)
      store.send({ _tag: "Modified", object: a2, initial: false, cursor: "2@1" })
      yield* settle
      assert.deepStrictEqual(heard, ["Added initial a@2"])
      assert.strictEqual((yield* Informer.health(informer)).counters.duplicates, 1)
    }))

  it.effect("an event from before what was seen is refused, and the store asked anew (WA-05)", () =>
    Effect.gen(function*() {
      const store = new ScriptedStore()
      const a1 = store.put("a")
      store.delete("a")
      const informer = yield* running(store)
      store.send({ _tag: "Added", object: a1, initial: false, cursor: "1@1" })
      yield* settle
      assert.strictEqual(Informer.size(informer), 0)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(store.calls, ["list", "watch 2@1", "list", "watch 2@1"])
      assert.strictEqual((yield* Informer.health(informer)).counters.stale, 1)
    }))

  it.effect("[S7] [C150] a new life under an old name is told as the end of the old one and the start of the new", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      const informer = yield* running(store)
      const heard: Array<string> = []
      yield* Informer.subscribe(informer, {
        onChange: ({ object, old, type }) => heard.push(`${type} ${object.metadata.uid} ${old?.metadata.uid}`)
      })
      store.objects.clear() // the delete itself is never told
      store.put("a")
      yield* settle
      assert.deepStrictEqual(heard, ["Added uid-1 undefined", "Deleted uid-1 uid-1", "Added uid-2 undefined"])
    }))

  it.effect("pages that are no snapshot: an event older than the listed state is known already", () =>
    Effect.gen(function*() {
      const store = new ScriptedStore({ snapshotPages: false })
      for (const name of ["a", "b", "c"]) store.put(name)
      const list: typeof store.driver.list = (at, options) =>
        Effect.tap(store.driver.list(at, options), () =>
          Effect.sync(() => {
            if (options.page !== undefined) return
            store.put("c", { spec: 1 })
            store.put("c", { spec: 2 })
            store.delete("b")
            store.put("b")
          }))
      const informer = yield* Informer.make({ ...store.driver, list }, address, { pageSize: 1 })
      const heard = yield* listen(informer)
      yield* settle
      assert.deepStrictEqual(heard, ["Added initial a@1", "Added initial b@7", "Added initial c@5"])
      assert.deepStrictEqual(store.calls, ["list", "list next", "list next", "watch 3@1"])
      assert.strictEqual(Informer.revision(informer), "7")
    }))
})

describe("handlers", () => {
  it.effect("[C150] one that dies is counted, and the others and the informer go on", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      const informer = yield* running(store)
      yield* Informer.subscribe(informer, {
        onChange: () => {
          throw new Error("a bug")
        },
        onRevision: () => {
          throw new Error("another")
        }
      })
      const heard = yield* listen(informer)
      store.put("b")
      yield* settle
      store.put("c")
      yield* settle
      assert.deepStrictEqual(heard, ["Added initial a@1", "Added watch b@2", "Added watch c@3"])
      assert.strictEqual((yield* Informer.health(informer)).counters.handlerDefects, 5)
    }))

  it.effect("[C151] one that joins late, among live changes, is told of every object in its order", () =>
    Effect.gen(function*() {
      const store = storeOf(...many(3500))
      const informer = yield* running(store)
      const joining = yield* Effect.forkChild(viewOf(informer), { startImmediately: true })
      // The replay pauses after its first slice: what it told, what it has not, and what is new, all change now.
      store.put("n1", { spec: "told" })
      store.put("n3400", { spec: "not told" })
      store.delete("n2")
      store.delete("n3401")
      store.put("new")
      store.delete("n3402")
      store.put("n3402")
      const view = yield* Fiber.join(joining)
      yield* settle
      assert.deepStrictEqual(view.objects, contentOf(store))
      assert.deepStrictEqual(view.faults, [])
    }))

  it.effect("[C151] a late one that joins while a relist is told hears everything once", () =>
    Effect.gen(function*() {
      const store = storeOf("old")
      const informer = yield* running(store)
      yield* Informer.subscribe(informer, { onChange: () => {} })
      store.drop(unavailable())
      for (const name of many(3500)) store.put(name)
      store.delete("old")
      store.compact()
      let joining: Fiber.Fiber<View> | undefined
      const scope = yield* Effect.scope
      const fork = yield* Effect.context<never>()
      yield* Informer.subscribe(informer, {
        onChange: ({ entry }) => {
          if (entry.name === "n1500") joining = Effect.runForkWith(fork)(Scope.provide(viewOf(informer), scope))
        }
      })
      yield* TestClock.adjust("5 seconds")
      assert.isDefined(joining)
      if (joining === undefined) return
      const view = yield* Fiber.join(joining)
      assert.deepStrictEqual(view.objects, contentOf(store))
      assert.deepStrictEqual(view.faults, [])
    }))

  it.effect("what a subscription hangs on an entry is its own, and gone with it", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      const informer = yield* running(store)
      const quiet: Informer.Handler = { onChange: () => {} }
      const scope = yield* Scope.make()
      const one = yield* Scope.provide(Informer.subscribe<string>(informer, quiet), scope)
      const two = yield* Informer.subscribe<number>(informer, quiet)
      const entry = Informer.entry(informer, key("a"))
      assert.isDefined(entry)
      if (entry === undefined) return
      one.set(entry, "one")
      two.set(entry, 2)
      assert.deepStrictEqual([one.get(entry), two.get(entry)], ["one", 2])
      yield* Scope.close(scope, Exit.void)
      const three = yield* Informer.subscribe<string>(informer, quiet)
      assert.deepStrictEqual([three.get(entry), two.get(entry)], [undefined, 2])
    }))

  it.effect("[C158] unchanged objects are handed again once a period, spread over it, to those who ask", () =>
    Effect.gen(function*() {
      const store = storeOf(...many(10))
      const informer = yield* running(store, { redelivery: "10 hours", idleTimeout: "Infinity" })
      const times = new Map<string, Array<number>>()
      let hour = 0
      yield* Informer.subscribe(informer, {
        redelivery: true,
        onChange: ({ entry, via }) => {
          if (via === "redelivery") times.set(entry.name, [...times.get(entry.name) ?? [], hour])
        }
      })
      const heard = yield* listen(informer)
      for (hour = 1; hour <= 40; hour++) yield* TestClock.adjust("1 hour")
      assert.strictEqual(heard.length, 10)
      assert.strictEqual(times.size, 10)
      const hours = Array.from(times.values())
      const perHour = (hour: number) => hours.flat().filter((at) => at === hour).length
      for (let hour = 1; hour <= 40; hour++) assert.isAtMost(perHour(hour), 2)
      for (const each of hours) {
        assert.isAtLeast(each.length, 3)
        assert.isAtMost(each.length, 5)
      }
    }))

  it.effect("[C158] while a list is told, nothing is handed again: it is told first", () =>
    Effect.gen(function*() {
      const store = storeOf(...many(3000))
      const informer = yield* running(store, { redelivery: "1 second", idleTimeout: "Infinity" })
      const faults: Array<string> = []
      const knows = new Map<string, string>()
      yield* Informer.subscribe(informer, {
        redelivery: true,
        onChange: ({ entry, object, old, type, via }) => {
          const { resourceVersion } = object.metadata
          const before = type === "Added" ? undefined : old?.metadata.resourceVersion
          if (knows.get(entry.name) !== before) faults.push(`${type} ${via} ${entry.name}@${resourceVersion}`)
          knows.set(entry.name, resourceVersion)
        }
      })
      for (let round = 0; round < 3; round++) {
        yield* TestClock.adjust("1 second")
        store.drop(expired)
        for (const name of many(3000)) store.put(name)
        store.compact()
        yield* TestClock.adjust("5 seconds")
      }
      const { counters } = yield* Informer.health(informer)
      assert.isAbove(counters.redeliveries, 3000)
      assert.isAbove(counters.relists, 1)
      assert.deepStrictEqual(faults, [])
    }))

  it.effect("redelivery of many objects goes in small groups", () =>
    Effect.gen(function*() {
      const store = storeOf(...many(5000))
      const informer = yield* running(store, { redelivery: "1000 minutes", idleTimeout: "Infinity" })
      let count = 0
      yield* Informer.subscribe(informer, { redelivery: true, onChange: ({ via }) => via === "redelivery" && count++ })
      let most = 0
      for (let i = 0; i < 110; i++) {
        const before = count
        yield* TestClock.adjust("10 minutes")
        most = Math.max(most, count - before)
      }
      assert.isAtLeast(count, 5000)
      assert.isAtMost(most, 75)
    }))

  it.effect("[S12] a broken frame concerns no other", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      const informer = yield* running(store)
      const good = store.put("b")
      store.history.length = 0
      const broken = { apiVersion: "v1", kind: "Thing" } as Raw // what a store should never send
      store.send(
        { _tag: "Added", object: broken, initial: false, cursor: "2@1" },
        { _tag: "Deleted", last: broken, revision: "2", cursor: "2@1" },
        { _tag: "Added", object: good, initial: false, cursor: "2@1" }
      )
      yield* settle
      assert.deepStrictEqual(names(informer), ["a", "b"])
      assert.strictEqual((yield* Informer.health(informer)).counters.broken, 2)
    }))

  it.effect("[C158] a broken item of a list concerns no other", () =>
    Effect.gen(function*() {
      const store = storeOf("a", "b")
      store.objects.set("default/a", { kind: "Thing" } as Raw) // what a store should never send
      const informer = yield* running(store)
      assert.deepStrictEqual(names(informer), ["b"])
    }))
})

describe("a transform", () => {
  it.effect("[C156] changes objects before they are cached, listed or watched", () =>
    Effect.gen(function*() {
      const store = storeOf()
      store.put("a", { spec: "secret" })
      const informer = yield* running(store, {
        transform: { name: "noSpec", f: ({ spec: _spec, ...rest }) => rest }
      })
      store.put("b", { spec: "secret" })
      store.put("a", { spec: "secret too" })
      yield* settle
      assert.deepStrictEqual(Informer.list(informer).map((object) => object["spec"]), [undefined, undefined])
    }))

  it.effect("that dies or breaks identity leaves bare metadata, so that nothing is shown that it would hide", () =>
    Effect.gen(function*() {
      const store = storeOf()
      store.put("dies", { spec: "secret", labels: { app: "x" } })
      store.put("renames", { spec: "secret" })
      store.put("fine", { spec: "public" })
      const informer = yield* running(store, {
        transform: {
          name: "bad",
          f: (object) => {
            if (object.metadata.name === "dies") throw new Error("a bug")
            if (object.metadata.name !== "renames") return object
            return { ...object, metadata: { ...object.metadata, name: "else" } }
          }
        }
      })
      assert.deepStrictEqual(names(informer), ["dies", "fine", "renames"])
      assert.deepStrictEqual(Informer.get(informer, key("dies"))?.metadata.labels, { app: "x" })
      assert.deepStrictEqual(Informer.list(informer, { sorted: true }).map((object) => object["spec"]), [
        undefined,
        "public",
        undefined
      ])
      assert.strictEqual((yield* Informer.health(informer)).counters.transformDefects, 2)
    }))
})

describe("withoutManagedFields", () => {
  it.effect("leaves out what is seldom read, and nothing else", () =>
    Effect.gen(function*() {
      const store = storeOf("bare")
      const { metadata, ...rest } = store.put("full")
      const managedFields = [{ manager: "m", operation: "Apply" as const }]
      store.objects.set("default/full", Object.freeze({ ...rest, metadata: { ...metadata, managedFields } }))
      const informer = yield* running(store, { transform: Informer.withoutManagedFields })
      const full = Informer.get(informer, key("full"))
      assert.deepStrictEqual(full, { ...rest, metadata })
      assert.isTrue(Object.isFrozen(full) && Object.isFrozen(full?.metadata))
      assert.strictEqual(Informer.get(informer, key("bare")), store.objects.get("default/bare"))
    }))
})

describe("changes, for slow readers", () => {
  it.effect("[C146] all that is there and all that follows comes, until the informer is closed", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      const scope = yield* Scope.make()
      const informer = yield* Scope.provide(running(store), scope)
      const got: Array<string> = []
      const reading = yield* Effect.forkChild(
        Stream.runForEach(Informer.changes(informer), (change) => Effect.sync(() => got.push(line(change)))),
        { startImmediately: true }
      )
      yield* settle
      store.put("b")
      yield* settle
      store.delete("a")
      yield* settle
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.join(reading)
      assert.deepStrictEqual(got, ["Added initial a@1", "Added watch b@2", "Deleted watch a@3"])
    }))

  it.effect("[S9] [C151] what was not taken is coalesced per key, never across a uid, and a slow reader slows nobody", () =>
    Effect.gen(function*() {
      const store = storeOf("a", "b")
      const informer = yield* running(store)
      const got: Array<string> = []
      let release: () => void = () => {}
      const gate = new Promise<void>((resolve) => (release = resolve))
      const reading = yield* Effect.forkChild(
        Stream.runForEachArray(Informer.changes(informer), (changes) => {
          for (const { object, old, revision, type } of changes) {
            const { name, uid } = object.metadata
            got.push(`${type} ${name} ${uid}@${revision} was ${old?.metadata.resourceVersion}`)
          }
          return got.length === 2 ? Effect.promise(() => gate) : Effect.void
        }),
        { startImmediately: true }
      )
      yield* settle
      for (let i = 0; i < 1000; i++) store.put("a")
      for (let i = 0; i < 10; i++) {
        store.delete("b")
        store.put("b")
      }
      for (let i = 0; i < 10; i++) {
        store.put("passing")
        store.delete("passing")
      }
      yield* settle
      assert.strictEqual(Informer.revision(informer), String(store.revision))
      release()
      yield* Effect.promise(() => gate)
      yield* settle
      assert.deepStrictEqual(got.slice(2), [
        "Modified a uid-1@1002 was 1",
        "Deleted b uid-2@1003 was 2",
        "Added b uid-12@1022 was undefined"
      ])
      yield* Fiber.interrupt(reading)
    }))
})

describe("closing", () => {
  it.effect("[C156] [C158] ends the watch and silences handlers, and a wait for a sync is the waiter's own", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      const scope = yield* Scope.make()
      const informer = yield* Scope.provide(running(store), scope)
      const heard = yield* listen(informer)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(store.open, 0)
      store.put("b")
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(heard, ["Added initial a@1"])
      const health = yield* Informer.health(informer)
      assert.strictEqual(health.state, "Closed")
      assert.strictEqual(health.handlers, 0)
      assert.isFalse(health.synced)
    }))

  it.effect("a rule that breaks closes it, so that nobody takes the cache for one that is kept in step", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      const informer = yield* running(store)
      const { machine } = informer.work.state
      machine.place = { _tag: "Idle" } // what no rule does while a watch runs
      store.drop(unavailable())
      yield* settle
      const health = yield* Informer.health(informer)
      assert.strictEqual(health.state, "Closed")
      assert.include(health.why, "nothing of it can fail")
      assert.isFalse(Informer.isSynced(informer))
    }))

  it.effect("started and stopped a thousand times, nothing stays", () =>
    Effect.gen(function*() {
      const store = storeOf("a")
      const shared = yield* running(store)
      for (let i = 0; i < 1000; i++) {
        yield* Effect.scoped(Effect.gen(function*() {
          const informer = yield* running(store)
          yield* Informer.subscribe(informer, { onChange: () => {} })
          const slots = yield* Informer.subscribe<number>(shared, { onChange: () => {} })
          const entry = Informer.entry(shared, key("a"))
          if (entry !== undefined) slots.set(entry, i)
        }))
      }
      assert.strictEqual(store.open, 1)
      assert.strictEqual((yield* Informer.health(shared)).handlers, 0)
    }))
})

// ---------------------------------------------------------------------------------------------------------------------
// helpers
// ---------------------------------------------------------------------------------------------------------------------

const settle = TestClock.adjust(0)

const expired = new Expired({ why: "compacted" })

function unavailable(): Reason {
  return new Unavailable({ why: "a test" })
}

const key = (name: string) => ({ namespace: "default", name })

const many = (count: number): ReadonlyArray<string> => Array.from({ length: count }, (_, i) => `n${i}`)

const storeOf = (...names: ReadonlyArray<string>): ScriptedStore => {
  const store = new ScriptedStore()
  for (const name of names) store.put(name)
  return store
}

/** A driver whose watch brings nothing of its own: the test sends. */
const manual = (store: ScriptedStore): typeof store.driver => ({
  ...store.driver,
  watch: (at, _options) => store.driver.watch(at, { from: store.cursor(1_000_000) })
})

const running = Effect.fnUntraced(function*(store: ScriptedStore, options?: Informer.Options) {
  const informer = yield* Informer.make(store.driver, address, options)
  yield* Informer.synced(informer)
  yield* settle
  return informer
})

const names = (informer: Informer.Informer, options?: Informer.ListOptions): ReadonlyArray<string> =>
  Informer.list(informer, { ...options, sorted: true }).map((object) => object.metadata.name)

const line = ({ object, revision, type, via }: Informer.Change): string =>
  `${type} ${via} ${object.metadata.name}@${revision}`

/** What a handler hears, one line a change. */
const listen = Effect.fnUntraced(function*(informer: Informer.Informer) {
  const heard: Array<string> = []
  yield* Informer.subscribe(informer, { onChange: (change) => heard.push(line(change)) })
  return heard
})

interface View {
  readonly objects: { [name: string]: string }
  readonly deleted: Array<string>
  /** Changes that contradict what was told before. */
  readonly faults: Array<string>
}

/** What a handler believes that the store holds. */
const viewOf = Effect.fnUntraced(function*(informer: Informer.Informer) {
  const view: View = { objects: {}, deleted: [], faults: [] }
  yield* Informer.subscribe(informer, {
    onChange: (change) => {
      const { name, resourceVersion } = change.object.metadata
      if ((change.type === "Added") === name in view.objects) view.faults.push(line(change))
      if (change.type !== "Deleted") view.objects[name] = resourceVersion
      else {
        delete view.objects[name]
        view.deleted.push(name)
      }
    }
  })
  return view
})

const contentOf = (store: ScriptedStore): { [name: string]: string } =>
  Object.fromEntries(Array.from(store.objects.values(), ({ metadata }) => [metadata.name, metadata.resourceVersion]))
