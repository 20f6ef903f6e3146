import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Controller, MemoryStore, Store } from "setpoint"
import { CannotSend, Mail, Reminder, reminders } from "../src/Reminder.ts"

/** A post office that the test looks into, and can break. */
class Post {
  private readonly byId = new Map<string, string>()
  isBroken = false

  get sent(): ReadonlyArray<string> {
    return [...this.byId.values()]
  }

  readonly send = (id: string, text: string) =>
    Effect.suspend(() => {
      if (this.isBroken) return Effect.fail(new CannotSend())
      if (!this.byId.has(id)) this.byId.set(id, text)
      return Effect.void
    })

  readonly layer = Layer.succeed(Mail, { send: this.send })
}

/** The real engine over a store in memory; only mail and time are the test's. */
const engine = (post: Post) =>
  Controller.layerFor(reminders).pipe(
    Layer.provide(Controller.layer()),
    Layer.provideMerge(Layer.merge(MemoryStore.layer, post.layer))
  )

const test = <A, E>(body: (post: Post) => Effect.Effect<A, E, Store.Store>) => {
  const post = new Post()
  return Effect.provide(body(post), engine(post))
}

// The test clock begins at 1970-01-01T00:00:00Z and stands still until it is told to go on.
const remind = (at: string) => Store.create(Reminder, { metadata: { name: "tea" }, spec: { text: "tea is ready", at } })

describe("a reminder", () => {
  it.effect("is sent when it is due, and not before", () =>
    test(Effect.fnUntraced(function*(post) {
      yield* remind("1970-01-01T01:00:00Z")
      yield* TestClock.adjust("59 minutes")
      assert.deepStrictEqual(post.sent, [])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(post.sent, ["tea is ready"])
    })))

  it.effect("is sent once, whatever happens to its object later", () =>
    test(Effect.fnUntraced(function*(post) {
      yield* remind("1970-01-01T00:00:00Z")
      yield* TestClock.adjust("1 second")
      const reminder = yield* Store.get(Reminder, { name: "tea" })
      yield* Store.patch(Reminder, reminder, { merge: { metadata: { labels: { seen: "yes" } } } })
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual(post.sent, ["tea is ready"])
    })))

  it.effect("that cannot be sent is tried again, until it can", () =>
    test(Effect.fnUntraced(function*(post) {
      post.isBroken = true
      yield* remind("1970-01-01T00:00:00Z")
      yield* TestClock.adjust("1 minute")
      post.isBroken = false
      // After failures a key waits at most five minutes, give or take a fifth.
      yield* TestClock.adjust("6 minutes")
      assert.deepStrictEqual(post.sent, ["tea is ready"])
    })))

  it.effect("that is brought forward is sent at its new time", () =>
    test(Effect.fnUntraced(function*(post) {
      const reminder = yield* remind("1970-01-02T00:00:00Z")
      yield* TestClock.adjust("1 minute")
      yield* Store.patch(Reminder, reminder, { merge: { spec: { at: "1970-01-01T00:02:00Z" } } })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(post.sent, ["tea is ready"])
    })))
})
