import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Finalizer from "setpoint/Finalizer"
import * as Kind from "setpoint/Kind"
import * as MemoryStore from "setpoint/MemoryStore"
import { type Service, Store } from "setpoint/Store"
import * as StoreError from "setpoint/StoreError"

describe("Finalizer", () => {
  it.effect("the name is stored before the work begins, in one write", () =>
    Effect.gen(function*() {
      const store = yield* Store
      const site = yield* store.create(Website, { metadata: { name: "blog", finalizers: ["other.dev/x"] } })
      const seen = yield* Finalizer.run([dns([]), bucket([])], site, () => Effect.map(stored, finalizers))
      assert.deepStrictEqual(seen, ["other.dev/x", "example.dev/dns", "example.dev/bucket"])
      assert.strictEqual((yield* stored).metadata.resourceVersion, "2")
    }).pipe(provided))

  it.effect("where the name is there, a pass writes nothing", () =>
    Effect.gen(function*() {
      const store = yield* Store
      const site = yield* store.create(Website, { metadata: { name: "blog" } })
      yield* Finalizer.run(dns([]), site, () => Effect.void)
      const revision = (yield* stored).metadata.resourceVersion
      const result = yield* Finalizer.run(dns([]), yield* stored, (site) => Effect.succeed(site.metadata.name))
      assert.strictEqual(result, "blog")
      assert.strictEqual((yield* stored).metadata.resourceVersion, revision)
    }).pipe(provided))

  it.effect("where the name cannot be stored, the work does not run", () =>
    Effect.gen(function*() {
      const store = yield* Store
      const site = yield* store.create(Website, { metadata: { name: "blog" } })
      yield* store.patch(Website, site, { merge: { metadata: { labels: { a: "b" } } } })
      const log: Array<string> = []
      const error = yield* Effect.flip(Finalizer.run(dns([]), site, () => Effect.sync(() => log.push("work"))))
      assert.strictEqual(error.reason._tag, "Conflict")
      assert.deepStrictEqual(log, [])
    }).pipe(provided))

  it.effect("once marked, the clean-up runs instead of the work, and the object goes", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const marked = yield* markedWith(["example.dev/dns"])
      assert.isUndefined(yield* Finalizer.run(dns(log), marked, () => Effect.sync(() => log.push("work"))))
      assert.deepStrictEqual(log, ["dns"])
      assert.isTrue(yield* isGone)
    }).pipe(provided))

  it.effect("a clean-up that fails keeps the name, and runs again", () =>
    Effect.gen(function*() {
      const marked = yield* markedWith(["example.dev/dns"])
      const failing = Finalizer.make(Website, { name: "example.dev/dns", cleanup: () => Effect.fail("no route") })
      assert.deepStrictEqual(
        yield* Effect.exit(Finalizer.run(failing, marked, () => Effect.void)),
        Exit.fail("no route")
      )
      assert.deepStrictEqual(finalizers(yield* stored), ["example.dev/dns"])
      const log: Array<string> = []
      yield* Finalizer.run(dns(log), yield* stored, () => Effect.void)
      assert.deepStrictEqual(log, ["dns"])
      assert.isTrue(yield* isGone)
    }).pipe(provided))

  it.effect("names of others stay, and none is added after the mark [S6]", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const marked = yield* markedWith(["other.dev/x", "example.dev/dns"])
      yield* Finalizer.run([dns(log), bucket(log)], marked, () => Effect.void)
      assert.deepStrictEqual(log, ["dns"])
      assert.deepStrictEqual(finalizers(yield* stored), ["other.dev/x"])
      assert.isUndefined(yield* Finalizer.run([dns(log), bucket(log)], yield* stored, () => Effect.void))
      assert.deepStrictEqual(log, ["dns"])
    }).pipe(provided))

  it.effect("a clean-up may write the object: the name still goes, and what others wrote stays", () =>
    Effect.gen(function*() {
      const store = yield* Store
      const marked = yield* markedWith(["example.dev/dns", "other.dev/x"])
      const writing = Finalizer.make(Website, {
        name: "example.dev/dns",
        cleanup: (site) => Effect.asVoid(store.patch(Website, site, { merge: { metadata: { labels: { a: "b" } } } }))
      })
      yield* Finalizer.run(writing, marked, () => Effect.void)
      const site = yield* stored
      assert.deepStrictEqual([finalizers(site), site.metadata.labels], [["other.dev/x"], { a: "b" }])
    }).pipe(provided))

  it.effect("an object that went during its clean-up is no error, and its next life is left alone", () =>
    Effect.gen(function*() {
      const store = yield* Store
      const removing = (after: Effect.Effect<unknown>) =>
        Finalizer.make(Website, {
          name: "example.dev/dns",
          cleanup: (site) =>
            store.patch(Website, site, { merge: { metadata: { finalizers: null } } }).pipe(
              Effect.andThen(after),
              Effect.orDie,
              Effect.asVoid
            )
        })
      yield* Finalizer.run(removing(Effect.void), yield* markedWith(["example.dev/dns"]), () => Effect.void)
      assert.isTrue(yield* isGone)
      const next = Effect.orDie(
        store.create(Website, { metadata: { name: "blog", finalizers: ["example.dev/dns"] } })
      )
      yield* Finalizer.run(removing(next), yield* markedWith(["example.dev/dns"]), () => Effect.void)
      assert.deepStrictEqual(finalizers(yield* stored), ["example.dev/dns"])
    }).pipe(provided))

  it.effect("several clean up in reverse order, each name going after its own clean-up", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const marked = yield* markedWith(["example.dev/dns", "example.dev/bucket"])
      const failing = Finalizer.make(Website, { name: "example.dev/dns", cleanup: () => Effect.fail("no route") })
      yield* Effect.exit(Finalizer.run([failing, bucket(log)], marked, () => Effect.void))
      assert.deepStrictEqual(log, ["bucket"])
      assert.deepStrictEqual(finalizers(yield* stored), ["example.dev/dns"])
    }).pipe(provided))

  it.effect("a clean-up that is not done yet keeps the name and gives its outcome", () =>
    Effect.gen(function*() {
      const marked = yield* markedWith(["example.dev/dns"])
      const slow = Finalizer.make(Website, {
        name: "example.dev/dns",
        cleanup: () => Effect.succeed(Finalizer.notYet("look again"))
      })
      assert.strictEqual(yield* Finalizer.run(slow, marked, () => Effect.succeed("work")), "look again")
      assert.deepStrictEqual(finalizers(yield* stored), ["example.dev/dns"])
    }).pipe(provided))

  it.effect("a last finalizer waits until no other is left", () =>
    Effect.gen(function*() {
      const store = yield* Store
      const log: Array<string> = []
      const last = Finalizer.make(Website, {
        name: "example.dev/dns",
        last: true,
        cleanup: () => Effect.sync(() => void log.push("dns"))
      })
      yield* Finalizer.run(last, yield* markedWith(["example.dev/dns", "other.dev/x"]), () => Effect.void)
      assert.deepStrictEqual(log, [])
      yield* store.patch(Website, yield* stored, { merge: { metadata: { finalizers: ["example.dev/dns"] } } })
      yield* Finalizer.run(last, yield* stored, () => Effect.void)
      assert.deepStrictEqual(log, ["dns"])
      assert.isTrue(yield* isGone)
    }).pipe(provided))

  it.effect("wherever a write is lost, no work runs unheld, and the object never goes without its clean-up", () =>
    Effect.forEach(faults, (fault) =>
      Effect.gen(function*() {
        const log: Array<string> = []
        const store = yield* Store
        yield* store.create(Website, { metadata: { name: "blog" } })
        const onePass = Effect.gen(function*() {
          const work = Effect.tap(stored, (site) => Effect.sync(() => log.push(`work ${finalizers(site).length}`)))
          yield* Finalizer.run([dns(log), bucket(log)], yield* stored, () => work)
        })
        const faulty = Effect.provideService(onePass, Store, withFault(store, fault))
        yield* Effect.exit(faulty)
        yield* Effect.exit(faulty)
        yield* Effect.exit(onePass)
        yield* store.deleteUnconditionally(Website, { name: "blog" })
        for (let i = 0; i < 4; i++) yield* Effect.exit(i === 0 ? faulty : onePass)
        assert.isTrue(yield* isGone, `${fault.when} write ${fault.nth}`)
        const order = log.filter((entry, i) => log.indexOf(entry) === i)
        assert.deepStrictEqual(order, ["work 2", "bucket", "dns"], `${fault.when} write ${fault.nth}`)
      }).pipe(Effect.provide(Layer.fresh(MemoryStore.layer))), { discard: true }))
})

const provided = Effect.provide(MemoryStore.layer)

const Website = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Website",
  status: Schema.Struct({ ready: Schema.Int })
})
type Website = Kind.Resource<typeof Website>

const logging = (name: string) => (log: Array<string>) =>
  Finalizer.make(Website, { name: `example.dev/${name}`, cleanup: () => Effect.sync(() => void log.push(name)) })
const dns = logging("dns")
const bucket = logging("bucket")

const stored = Effect.flatMap(Store, (store) => store.latest(Website, { name: "blog" }))
const finalizers = (site: Website) => site.metadata.finalizers ?? []
const isGone = Effect.map(Effect.exit(stored), Exit.isFailure)

const markedWith = Effect.fnUntraced(function*(finalizers: ReadonlyArray<string>) {
  const store = yield* Store
  const site = yield* store.create(Website, { metadata: { name: "blog", finalizers } })
  yield* store.delete(Website, site)
  return yield* stored
})

interface Fault {
  readonly nth: number
  readonly when: "before" | "after"
}
const faults = [1, 2, 3, 4].flatMap((nth) => (["before", "after"] as const).map((when): Fault => ({ nth, when })))

/** The store, whose nth patch is lost on its way there, or whose reply is lost on the way back. */
const withFault = (store: Service, { nth, when }: Fault): Service => {
  let patches = 0
  const reason = new StoreError.UnknownOutcome({ why: "the connection broke" })
  const key = { namespace: "default", name: "blog" }
  const lost = Effect.fail(StoreError.make({ operation: "patch", kind: "Website", key }, reason))
  return {
    ...store,
    patch: (...call) =>
      Effect.suspend(() => {
        if (++patches !== nth) return store.patch(...call)
        return when === "before" ? lost : Effect.andThen(store.patch(...call), lost)
      })
  }
}
