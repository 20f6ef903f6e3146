import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Health from "setpoint/Health"

describe("Health", () => {
  it.effect("without parts it is live and ready", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* Health.report, { live: true, ready: true, parts: [] })
    }).pipe(provided))

  it.effect("readiness waits for every part that is not optional, and says why not, by kind", () =>
    Effect.gen(function*() {
      let synced = false
      yield* Health.register({
        name: "informer Website.example.dev",
        kind: "Website.example.dev",
        status: () => synced ? Health.ready : Health.notReady("no permission to list")
      })
      yield* Health.register({ name: "informer Zone", optional: true, status: () => Health.notReady("no such kind") })
      const before = yield* Health.report
      assert.isTrue(before.live)
      assert.isFalse(before.ready)
      assert.deepStrictEqual(before.parts[0], {
        name: "informer Website.example.dev",
        kind: "Website.example.dev",
        optional: false,
        status: Health.notReady("no permission to list")
      })
      synced = true
      assert.isTrue(yield* Health.isReady)
    }).pipe(provided))

  it.effect("a broken part, optional or not, ends liveness", () =>
    Effect.gen(function*() {
      yield* Health.register({ name: "collector", optional: true, status: () => Health.broken("its fiber died") })
      assert.isFalse(yield* Health.isLive)
      assert.isTrue(yield* Health.isReady)
    }).pipe(provided))

  it.effect("a part ends with its Scope, and one that was replaced takes nothing with it", () =>
    Effect.gen(function*() {
      const older = yield* Scope.make()
      yield* Scope.provide(Health.register({ name: "a", status: () => Health.notReady("older") }), older)
      const newer = yield* Scope.make()
      yield* Scope.provide(Health.register({ name: "a", status: () => Health.notReady("newer") }), newer)
      yield* Scope.close(older, Exit.void)
      assert.deepStrictEqual((yield* Health.report).parts.map((part) => part.status), [Health.notReady("newer")])
      yield* Scope.close(newer, Exit.void)
      assert.deepStrictEqual((yield* Health.report).parts, [])
    }).pipe(provided))

  it.effect("the text shows what is wrong first", () =>
    Effect.gen(function*() {
      yield* Health.register({ name: "a", status: () => Health.ready })
      yield* Health.register({ name: "b", status: () => Health.notReady("later") })
      yield* Health.register({ name: "c", optional: true, status: () => Health.notReady("gone") })
      assert.strictEqual(
        Health.text(yield* Health.report),
        "live: yes, ready: no\n[-] b: later\n[-] c (optional): gone\n[+] a"
      )
    }).pipe(provided))
})

const provided = Effect.provide(Layer.fresh(Health.layer))
