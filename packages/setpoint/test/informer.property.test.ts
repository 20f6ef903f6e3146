/**
 * An informer beside a small pure model: the model is what the store holds, and what each handler was told. Whatever
 * the script does to the connection, when it is quiet the cache and every handler agree with the store.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Informer from "setpoint/Informer"
import * as Buffer from "setpoint/internal/informerBuffer"
import type { Raw } from "setpoint/Resource"
import type { WatchEvent } from "setpoint/StoreDriver"
import { Expired, Lagged, type Reason, TooManyRequests, Unavailable } from "setpoint/StoreError"
import { address, ScriptedStore } from "./utils/scriptedStore.ts"

const Name = Schema.Literals(["a", "b", "c"])
const Failure = Schema.Literals(["Unavailable", "Expired", "Lagged", "TooManyRequests"])

const Put = Schema.TaggedStruct("put", { name: Name })
const Delete = Schema.TaggedStruct("delete", { name: Name })

const Op = Schema.Union([
  Put,
  Put,
  Put,
  Put,
  Delete,
  Delete,
  Schema.TaggedStruct("drop", { failure: Schema.Union([Failure, Schema.Literal("end")]) }),
  Schema.TaggedStruct("failList", { failure: Failure }),
  Schema.TaggedStruct("failWatch", { failure: Failure }),
  Schema.TaggedStruct("compact", {}),
  Schema.TaggedStruct("snapshot", {}),
  /** The last snapshot comes back, as a backup does. */
  Schema.TaggedStruct("restore", {}),
  Schema.TaggedStruct("bookmark", {}),
  /** The next list answers below what was seen. */
  Schema.TaggedStruct("listBelow", {}),
  /** An event that was sent already is sent again. */
  Schema.TaggedStruct("repeat", { back: Schema.Literals([0, 1, 2, 5]) }),
  Schema.TaggedStruct("broken", {}),
  Schema.TaggedStruct("join", {}),
  /** The slow reader takes what waits for it. */
  Schema.TaggedStruct("read", {}),
  Schema.TaggedStruct("wait", { millis: Schema.Literals([0, 500, 5000, 200_000]) })
])
type Op = typeof Op.Type

const script = Arbitrary.array(Arbitrary.schema(Op), { minLength: 1, maxLength: 80 })

describe("an informer and its model", () => {
  for (const how of ["paged", "streamed", "in pages that are no snapshot"] as const) {
    it.effect.prop(
      `[S3] [S5] [S9] [E6] [C158] when it is quiet, cache and handlers are as the store, whatever happened (${how})`,
      [script],
      ([ops]) => Effect.scoped(run(ops, how)),
      { arbitrary: { runs: 300, size: 80, maxShrinks: 2000 } }
    )
  }
})

const idleTimeout = "10 minutes"

const run = Effect.fnUntraced(function*(ops: ReadonlyArray<Op>, how: string) {
  const store = new ScriptedStore({ snapshotPages: how !== "in pages that are no snapshot" })
  const initial = how === "streamed" ? "streamed" : "paged"
  let writes = 0
  let snapshot = { objects: [] as ReadonlyArray<Raw>, revision: 0 }
  const informer = yield* Informer.make(store.driver, address, { initial, pageSize: 2, relist: "1 hour", idleTimeout })
  const views = [yield* viewOf(informer)]
  const slow = new View()
  const buffer = Buffer.make()
  yield* Informer.subscribe(informer, {
    onChange: (change) => Buffer.add(buffer, change)
  })
  const read = () => {
    for (const change of Buffer.takeAll(buffer)) slow.hear(change)
  }

  const step = (op: Op): Effect.Effect<void, never, Scope.Scope> => {
    switch (op._tag) {
      case "put":
        return Effect.sync(() => store.put(op.name, { spec: ++writes }))
      case "delete":
        return Effect.sync(() => store.delete(op.name))
      case "drop":
        return Effect.sync(() => store.drop(op.failure === "end" ? undefined : reasonOf(op.failure)))
      case "failList":
        return Effect.sync(() => store.listFailures.push(reasonOf(op.failure)))
      case "failWatch":
        return Effect.sync(() => store.watchFailures.push(reasonOf(op.failure)))
      case "compact":
        return Effect.sync(() => store.compact())
      case "snapshot":
        return Effect.sync(() => {
          snapshot = { objects: [...store.objects.values()], revision: store.revision }
        })
      case "restore":
        return Effect.sync(() => {
          store.restore(snapshot.objects, snapshot.revision)
          store.drop(new Unavailable({ why: "restored" }))
        })
      case "bookmark":
        return Effect.sync(() => store.bookmark())
      case "listBelow":
        return Effect.sync(() => store.listsBelow.push(1))
      case "repeat":
        return Effect.sync(() => {
          const event: WatchEvent | undefined = store.history.at(-1 - op.back)
          if (event !== undefined) store.send(event)
        })
      case "broken":
        return Effect.sync(() =>
          store.send({ _tag: "Added", object: {} as Raw, initial: false, cursor: store.cursor(store.revision) })
        )
      case "join":
        return Effect.map(viewOf(informer), (view) => {
          views.push(view)
        })
      case "read":
        return Effect.sync(read)
      case "wait":
        return TestClock.adjust(op.millis)
    }
  }

  for (const op of ops) yield* step(op)
  store.listFailures.length = 0
  store.watchFailures.length = 0
  store.listsBelow.length = 0
  store.bookmark() // so that the idle timeout is not due while it gets quiet
  yield* TestClock.adjust("4 minutes")
  read()

  const truth = contentOf(store.objects.values())
  assert.deepStrictEqual(contentOf(Informer.list(informer, { sorted: true })), truth, "the cache")
  for (const [index, view] of [...views, slow].entries()) {
    assert.deepStrictEqual(view.content(), truth, `handler ${index}`)
    assert.deepStrictEqual(view.faults, [], `handler ${index}`)
  }
  const health = yield* Informer.health(informer)
  assert.strictEqual(health.why, undefined)
  assert.strictEqual(health.revision, String(store.revision))
  assert.strictEqual(store.open, 1)
  return true
})

const reasonOf = (failure: typeof Failure.Type): Reason => {
  switch (failure) {
    case "Unavailable":
      return new Unavailable({ why: "a test" })
    case "Expired":
      return new Expired({ why: "a test" })
    case "Lagged":
      return new Lagged({ bufferSize: 1 })
    case "TooManyRequests":
      return new TooManyRequests({ retryAfterMillis: 3000 })
  }
}

const contentOf = (objects: Iterable<Raw>): { [name: string]: string } =>
  Object.fromEntries(
    Array.from(objects, ({ metadata, spec }): [string, string] => [
      metadata.name,
      `${metadata.uid}@${metadata.resourceVersion} ${String(spec)}`
    ]).toSorted(([a], [b]) => (a < b ? -1 : 1))
  )

/** What a handler believes, and what contradicted it. */
class View {
  readonly objects = new Map<string, Raw>()
  readonly faults: Array<string> = []

  hear({ object, type, via }: Pick<Informer.Change, "object" | "type" | "via">): void {
    const { name, uid } = object.metadata
    const known = this.objects.get(name)
    if (type === "Added" ? known !== undefined : known?.metadata.uid !== uid) {
      this.faults.push(`${type} ${via} ${name} ${uid}, but it knew ${known?.metadata.uid}`)
    }
    if (type === "Deleted") this.objects.delete(name)
    else this.objects.set(name, object)
  }

  content(): { [name: string]: string } {
    return contentOf(this.objects.values())
  }
}

const viewOf = Effect.fnUntraced(function*(informer: Informer.Informer) {
  const view = new View()
  yield* Informer.subscribe(informer, { onChange: (change) => view.hear(change) })
  return view
})
