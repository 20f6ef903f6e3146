import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { Controller, Health, Outcome, Reconciler, Store } from "setpoint"
import { Forbidden, KindUnknown } from "setpoint/StoreError"
import { change, create, engine, Faults, Palette, register, script, Server, settle, Website } from "./support/engine.ts"

const forbidden = new Forbidden({ why: "a test" })

describe("E4: no pass before the caches are synced", () => {
  it.effect("[E4] [C070] [C141] [C142] nothing runs before every input is synced; then each key runs once", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      faults.refuse = (operation, kind) => operation === "list" && kind === "Palette" ? forbidden : undefined
      yield* create("a")
      const log = script()
      const registration = yield* register(log, { watches: [watchPalettes] })
      yield* create("b")
      yield* registration.enqueue({ name: "a" })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(log.passes, [])
      assert.isFalse((yield* registration.status).synced)
      assert.strictEqual((yield* registration.status).ready, 2)
      faults.refuse = () => undefined
      yield* TestClock.adjust("1 minute")
      yield* registration.synced
      assert.deepStrictEqual(names(log.passes).toSorted(), ["a", "b"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E4] [C073] [C076] [C081] own kind, owned and watched kinds are all waited for", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      yield* create("a")
      for (const missing of ["Website", "Server", "Palette"]) {
        faults.refuse = (operation, kind) => operation === "list" && kind === missing ? forbidden : undefined
        const scope = yield* Scope.make()
        const log = script()
        yield* Scope.provide(register(log, { owns: [Server], watches: [watchPalettes] }), scope)
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(log.passes, [], missing)
        faults.refuse = () => undefined
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(names(log.passes), ["a"], missing)
        yield* Scope.close(scope, Exit.void)
      }
    }).pipe(Effect.provide(engine())))

  it.effect("[E4] an optional input is not waited for", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      faults.refuse = (operation, kind) => operation !== "write" && kind !== "Website" ? forbidden : undefined
      yield* create("a")
      const log = script()
      yield* register(log, {
        owns: [Reconciler.own(Server, { optional: true })],
        watches: [Reconciler.watch(Palette, () => [], { optional: true })]
      })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(names(log.passes), ["a"])
      const owner = { ...ownerOf("b"), controller: true }
      yield* Store.create(Server, { metadata: { name: "s", ownerReferences: [owner] }, spec: { port: 1 } })
      faults.refuse = () => undefined
      yield* TestClock.adjust("1 minute") // heard of when it can be
      assert.deepStrictEqual(names(log.passes), ["a", "b"])
    }).pipe(Effect.provide(engine())))

  it.effect(
    "[E4] [C065] [C066] [C079] [C080] [C083] [C143] a kind that cannot sync fails alone: health says why, no worker is held, and it goes on trying",
    () =>
      Effect.gen(function*() {
        const faults = yield* Faults
        faults.refuse = (_, kind) => kind === "Palette" ? new KindUnknown({ why: "not installed" }) : undefined
        const stuck = script()
        const fine = script()
        const registration = yield* register(stuck, { name: "stuck", watches: [watchPalettes] })
        yield* register(fine, { name: "fine" })
        yield* create("a")
        yield* TestClock.adjust("10 minutes")
        assert.deepStrictEqual(stuck.passes, [])
        assert.deepStrictEqual(names(fine.passes), ["a"])
        const report = yield* Health.report
        assert.isFalse(report.ready)
        assert.isTrue(report.live)
        assert.include(Health.text(report), "Palette.example.dev")
        assert.include(Health.text(report), "not installed")
        assert.include((yield* registration.status).troubles.join(), "not installed")
        assert.isAbove(faults.count("list Palette"), 10)
        assert.isBelow(faults.count("list Palette"), 60)
        faults.refuse = () => undefined
        yield* TestClock.adjust("1 minute")
        assert.isTrue(yield* Health.isReady)
        assert.deepStrictEqual(names(stuck.passes), ["a"])
      }).pipe(Effect.provide(Layer.provideMerge(engine(), Health.layer)))
  )

  it.effect("[E4] [C067] [C068] [C082] a registration that waits for its caches can be closed at once", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      faults.refuse = () => forbidden
      const scope = yield* Scope.make()
      const log = script()
      const registration = yield* Scope.provide(register(log, { watches: [watchPalettes] }), scope)
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(yield* registration.enqueue({ name: "a" }))
      faults.refuse = () => undefined
      yield* create("a")
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(log.passes, [])
      assert.strictEqual(faults.open, 0)
    }).pipe(Effect.provide(engine())))
})

describe("E5: registrations come and go", () => {
  it.effect("[E5] [C077] [C078] a registration made while the engine runs hears of what exists and of what comes", () =>
    Effect.gen(function*() {
      yield* create("a")
      const log = script()
      yield* register(log)
      yield* create("b")
      assert.deepStrictEqual(log.passes, ["a@0", "b@0"])
      assert.deepStrictEqual(log.causes, [["Initial"], ["Event"]])
    }).pipe(Effect.provide(engine())))

  it.effect("[E5] closing its Scope deregisters: nothing runs any more, and its name is free", () =>
    Effect.gen(function*() {
      const controller = yield* Controller.Controller
      const faults = yield* Faults
      const scope = yield* Scope.make()
      const log = script()
      yield* Scope.provide(register(log), scope)
      yield* Scope.close(scope, Exit.void)
      yield* create("a")
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(log.passes, [])
      assert.deepStrictEqual(yield* controller.status, [])
      assert.strictEqual(faults.open, 0)
      const error = yield* Effect.flip(controller.enqueue("websites", { name: "a" }))
      assert.include(error.message, "nothing is registered")
      const next = script()
      yield* register(next, {}, { onDuplicate: "fail" })
      assert.deepStrictEqual(names(next.passes), ["a"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E5] the same name swaps: the running pass ends under the old reconciler, all objects run under the new one", () =>
    Effect.gen(function*() {
      const old = script(Effect.sleep("10 seconds"))
      const young = script()
      yield* create("a")
      yield* register(old, { concurrency: 1 })
      yield* create("b")
      assert.deepStrictEqual(names(old.passes), ["a"])
      yield* register(young)
      yield* settle
      assert.deepStrictEqual(names(young.passes), ["b"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(old.passes, ["a@0"])
      assert.deepStrictEqual(young.passes, ["b@0", "a@10000"])
      assert.deepStrictEqual(young.causes[1], ["Initial", "Registered"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E5] after a swap the older Scope closes without effect", () =>
    Effect.gen(function*() {
      const older = yield* Scope.make()
      const log = script()
      yield* Scope.provide(register(script()), older)
      yield* register(log)
      yield* Scope.close(older, Exit.void)
      yield* create("a")
      assert.deepStrictEqual(log.passes, ["a@0"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E5] [E4] a swap waits for the caches of the new inputs, and no more for those of the old", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      faults.refuse = (_, kind) => kind === "Palette" ? forbidden : undefined
      yield* create("a")
      yield* register(script(), { watches: [watchPalettes] })
      const second = script()
      const registration = yield* register(second, { owns: [Server] })
      assert.deepStrictEqual(names(second.passes), ["a"])
      assert.isTrue((yield* registration.status).synced)
      const third = script()
      const waiting = yield* register(third, { watches: [watchPalettes] })
      const synced = yield* Effect.forkChild(waiting.synced)
      yield* registration.enqueue({ name: "a" })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(third.passes, [])
      assert.strictEqual(synced.pollUnsafe(), undefined)
      faults.refuse = () => undefined
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(names(third.passes), ["a"])
      yield* Fiber.join(synced)
    }).pipe(Effect.provide(engine())))

  it.effect("[E5] a swap that cannot be changes nothing: the old reconciler goes on", () =>
    Effect.gen(function*() {
      const log = script()
      yield* create("a")
      yield* register(log, { concurrency: 1 })
      const bad = [Reconciler.own(Server, { selector: "a in (" })]
      const error = yield* Effect.flip(register(script(), { owns: bad }))
      assert.strictEqual(error._tag, "RegistrationError")
      assert.include(error.message, "owns Server.example.dev")
      yield* create("b")
      yield* change("a", "b.example")
      assert.deepStrictEqual(names(log.passes), ["a", "b", "a"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E5] a swap changes the options too: concurrency, debounce, predicates, and the inputs", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const log = script(Effect.sleep("1 second"))
      yield* register(script(), { concurrency: 1, owns: [Server], debounce: { window: "1 minute" } })
      yield* register(log, { concurrency: 2, predicate: ({ type }) => type === "Added" })
      assert.strictEqual(faults.open, 1)
      for (const name of ["a", "b", "c"]) yield* create(name)
      assert.deepStrictEqual(names(log.passes), ["a", "b"])
      yield* TestClock.adjust("1 minute")
      yield* change("a", "b.example")
      assert.strictEqual(log.passes.length, 3)
    }).pipe(Effect.provide(engine())))

  it.effect("[E5] onDuplicate \"fail\" refuses a name that is taken, and so does another kind under it", () =>
    Effect.gen(function*() {
      const controller = yield* Controller.Controller
      yield* register(script())
      const taken = yield* Effect.flip(register(script(), {}, { onDuplicate: "fail" }))
      assert.include(taken.message, "is taken")
      const other = Reconciler.make(Palette, { name: "websites", reconcile: () => Effect.void })
      assert.include((yield* Effect.flip(controller.register(other))).message, "Website.example.dev")
    }).pipe(Effect.provide(engine())))

  it.effect("[E5] two names on one kind are independent and share its informer", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      const first = script(Effect.never)
      const second = script()
      yield* register(first, { name: "first" })
      yield* register(second, { name: "second" })
      yield* create("a")
      assert.deepStrictEqual(first.passes, ["a@0"])
      assert.deepStrictEqual(second.passes, ["a@0"])
      assert.strictEqual(faults.count("list Website"), 1)
      assert.strictEqual(faults.open, 1)
    }).pipe(Effect.provide(engine())))

  it.effect(
    "[E5] [C084] [C085] [C086] fibers that register at once do not race: inputs start once, the last reconciler stays",
    () =>
      Effect.gen(function*() {
        const controller = yield* Controller.Controller
        const faults = yield* Faults
        yield* create("a")
        const logs = Array.from({ length: 20 }, () => script())
        yield* Effect.forEach(logs, (log) => register(log, { owns: [Server] }), { concurrency: "unbounded" })
        yield* settle
        assert.strictEqual((yield* controller.status).length, 1)
        assert.strictEqual(faults.open, 2)
        yield* create("b")
        assert.deepStrictEqual(logs.filter((log) => names(log.passes).includes("b")).length, 1)
      }).pipe(Effect.provide(engine()))
  )

  it.effect("[E5] fibers that register and close under few names, in any order, leave nothing open", () =>
    Effect.gen(function*() {
      const controller = yield* Controller.Controller
      const faults = yield* Faults
      yield* create("a")
      const stay = script()
      yield* register(stay, { name: "stay" })
      const comeAndGo = (i: number) =>
        Effect.gen(function*() {
          const log = script(Effect.yieldNow)
          yield* register(log, { name: `n${i % 3}`, owns: i % 2 === 0 ? [Server] : [] })
          yield* Effect.repeat(Effect.yieldNow, { times: (i * 7) % 23 })
        }).pipe(Effect.scoped)
      for (let round = 0; round < 5; round++) {
        yield* Effect.forEach(Array.from({ length: 30 }, (_, i) => round * 31 + i), comeAndGo, {
          concurrency: "unbounded",
          discard: true
        })
        assert.deepStrictEqual((yield* controller.status).map(({ name }) => name), ["stay"])
        assert.strictEqual(faults.open, 1)
      }
      yield* create("b")
      assert.deepStrictEqual(names(stay.passes), ["a", "b"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E5] a registration may be made from inside a pass", () =>
    Effect.gen(function*() {
      const controller = yield* Controller.Controller
      const scope = yield* Effect.scope
      const log = script()
      const inner = Reconciler.make(Server, { reconcile: log.reconcile })
      yield* register(script(Effect.asVoid(Scope.provide(controller.register(inner), scope))))
      yield* create("a")
      yield* Store.create(Server, { metadata: { name: "s" }, spec: { port: 1 } })
      yield* settle
      assert.deepStrictEqual(log.passes, ["s@0"])
    }).pipe(Effect.provide(engine())))

  it.effect("[E5] an option that cannot work is refused by name, and nothing is registered", () =>
    Effect.gen(function*() {
      const controller = yield* Controller.Controller
      const faults = yield* Faults
      const refused = Effect.fnUntraced(function*(options: Omit<Reconciler.Options<Website, never>, "reconcile">) {
        return (yield* Effect.flip(register(script(), options))).message
      })
      assert.include(yield* refused({ concurrency: 0 }), "concurrency: must be a whole number of at least 1, but is 0")
      assert.include(yield* refused({ weight: 1.5 }), "weight: must be a whole number")
      assert.include(yield* refused({ deadline: Number.NaN }), "deadline: must be a duration")
      assert.include(yield* refused({ debounce: { window: -1 } }), "debounce.window: must be a duration")
      assert.include(yield* refused({ breaker: { passes: 0, per: "1 second" } }), "breaker.passes: must be")
      assert.include(yield* refused({ maxRetries: -1 }), "maxRetries: must be")
      assert.include(yield* refused({ redelivery: 0 }), "redelivery: must be a duration")
      assert.include(yield* refused({ selector: "a in (" }), "selector")
      assert.deepStrictEqual(yield* controller.status, [])
      assert.strictEqual(faults.open, 0)
    }).pipe(Effect.provide(engine())))

  it.effect("[C072] [C111] [C122] [C125] a Controller's own options are checked when its Layer is built", () =>
    Effect.gen(function*() {
      const refused = (options: Controller.Options) =>
        Effect.map(Effect.flip(Effect.scoped(Controller.make(options))), (error) => error.message)
      assert.include(yield* refused({ workers: 0 }), "workers must be a whole number of at least 1")
      assert.include(yield* refused({ drain: Number.NaN }), "drain must be a duration")
      assert.include(yield* refused({ ageAfter: 0 }), "ageAfter must be a duration")
      // A source has a Stream and a reconciler a kind, by type.
      // @ts-expect-error a source needs its stream
      assert.isFunction(() => Reconciler.fromStream("none"))
    }))
})

describe("E8: closing", () => {
  it.effect("[E8] closing waits for what runs and is ready, and takes nothing new in", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const log = script(Effect.sleep("5 seconds"))
      const registration = yield* Scope.provide(register(log, { concurrency: 1 }), scope)
      yield* create("a")
      yield* create("b")
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* settle
      assert.isFalse(yield* registration.enqueue({ name: "c" }))
      yield* create("d")
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual(closing.pollUnsafe(), undefined)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(closing)
      assert.deepStrictEqual(log.passes, ["a@0", "b@5000"])
    }).pipe(Effect.provide(draining)))

  it.effect("[E8] what is not done by the deadline is interrupted, 25 seconds by default", () =>
    Effect.gen(function*() {
      const ends: Array<string> = []
      const scope = yield* Scope.make()
      const log = script(noting(ends, Effect.never))
      yield* Scope.provide(register(log), scope)
      yield* create("a")
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("24999 millis")
      assert.deepStrictEqual(ends, [])
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(closing)
      assert.deepStrictEqual(ends, ["interrupted@25000"])
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(log.passes, ["a@0"])
    }).pipe(Effect.provide(draining)))

  it.effect("[E8] the deadline is an option of the Controller, and of a registration", () =>
    Effect.gen(function*() {
      const ends: Array<string> = []
      const scope = yield* Scope.make()
      yield* Scope.provide(register(script(noting(ends, Effect.never)), { name: "a" }), scope)
      yield* Scope.provide(register(script(noting(ends, Effect.never)), { name: "b" }, { drain: "2 seconds" }), scope)
      yield* create("a")
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(closing)
      assert.deepStrictEqual(ends, ["interrupted@2000", "interrupted@9000"])
    }).pipe(Effect.provide(engine({ controller: { drain: "7 seconds", events: false } }))))

  it.effect("[E8] [F06] [C103] closing the Controller drains every registration, then ends watches and workers", () =>
    Effect.gen(function*() {
      const order: Array<string> = []
      const store = yield* Scope.make()
      const controllers = yield* Scope.make()
      const context = yield* Layer.buildWithScope(engine(), store)
      const built = yield* Layer.buildWithScope(
        Layer.fresh(Controller.layer({ events: false, collector: false })),
        controllers
      )
      yield* Effect.gen(function*() {
        const faults = yield* Faults
        const work = Effect.gen(function*() {
          yield* Effect.sleep("3 seconds")
          order.push(`watches open: ${faults.open}`)
          yield* Store.get(Website, { name: "a" })
        })
        const log = script(noting(order, work))
        yield* register(log, { name: "a", concurrency: 1 })
        yield* register(script(noting(order, Effect.sleep("1 second"))), { name: "b" })
        yield* create("a")
        const controller = yield* Controller.Controller
        yield* controller.background(
          "tick",
          Effect.onInterrupt(Effect.never, () => Effect.sync(() => order.push("tick")))
        )
        yield* settle
        const closing = yield* Effect.forkChild(Scope.close(controllers, Exit.void))
        yield* TestClock.adjust("3 seconds")
        yield* Fiber.join(closing)
        assert.deepStrictEqual(order, ["tick", "done@1000", "watches open: 1", "done@3000"])
        assert.strictEqual(faults.open, 0)
        assert.deepStrictEqual(log.passes, ["a@0"])
      }).pipe(Effect.provide(built), Effect.provide(context))
    }))

  it.effect("[E8] closing twice, at once or later, is one close: the second waits for the first", () =>
    Effect.gen(function*() {
      const controllers = yield* Scope.make()
      const scope = yield* Scope.make()
      const ends: Array<string> = []
      yield* Effect.gen(function*() {
        yield* Scope.provide(register(script(noting(ends, Effect.sleep("5 seconds")))), scope)
        yield* create("a")
      }).pipe(Effect.provide(yield* Layer.buildWithScope(draining, controllers)))
      const first = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* settle
      const second = yield* Effect.forkChild(Scope.close(controllers, Exit.void))
      yield* TestClock.adjust("4 seconds")
      assert.strictEqual(second.pollUnsafe(), undefined)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(first)
      yield* Fiber.join(second)
      assert.deepStrictEqual(ends, ["done@5000"])
      yield* Scope.close(scope, Exit.void)
      yield* Scope.close(controllers, Exit.void)
    }))

  it.effect("[E8] retries, delays and held keys are dropped by a close", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const log = script(Effect.succeed(Outcome.requeueAfter("10 seconds")))
      yield* Scope.provide(register(log), scope)
      yield* create("a")
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(log.passes, ["a@0"])
    }).pipe(Effect.provide(draining)))

  it.effect("[E8] a paused registration closes without running what it has collected", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const log = script(Effect.sleep("2 seconds"))
      const registration = yield* Scope.provide(register(log), scope)
      yield* create("a")
      yield* registration.pause
      yield* create("b")
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(closing)
      assert.deepStrictEqual(log.passes, ["a@0"])
    }).pipe(Effect.provide(draining)))

  it.effect("[E8] a name that is being closed is free once it is closed: who registers it waits", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      yield* Scope.provide(register(script(Effect.sleep("5 seconds"))), scope)
      yield* create("a")
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* settle
      const log = script()
      const registering = yield* Effect.forkChild(register(log))
      yield* TestClock.adjust("4 seconds")
      assert.strictEqual(registering.pollUnsafe(), undefined)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(closing)
      yield* Effect.asVoid(Fiber.await(registering))
      yield* settle
      assert.deepStrictEqual(log.passes, ["a@5000"])
    }).pipe(Effect.provide(draining)))

  it.effect("[E8] a closed Controller registers nothing", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const built = yield* Layer.buildWithScope(engine(), scope)
      yield* Scope.close(scope, Exit.void)
      const error = yield* Effect.flip(Effect.provide(register(script()), built))
      assert.include(error.message, "is closed")
    }))

  it.effect("[E8] who waits for the sync of a registration that closes waits no longer", () =>
    Effect.gen(function*() {
      const faults = yield* Faults
      faults.refuse = () => forbidden
      const scope = yield* Scope.make()
      const registration = yield* Scope.provide(register(script()), scope)
      const waiting = yield* Effect.forkChild(registration.synced)
      yield* settle
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(waiting)))
    }).pipe(Effect.provide(draining)))

  it.effect("[F43] an engine that is killed in the midst of its passes comes back, and the revision is flat again", () =>
    Effect.gen(function*() {
      const begin = (work: Effect.Effect<unknown>) =>
        Effect.gen(function*() {
          const scope = yield* Scope.make()
          const controller = yield* Layer.buildWithScope(
            Layer.fresh(Controller.layer({ drain: 0, events: false, collector: false })),
            scope
          )
          const reconcile = Effect.fnUntraced(
            function*(request: { readonly namespace: string; readonly name: string }) {
              const read = yield* Store.get(Website, request)
              yield* Store.updateStatus(Website, read, { ready: read.spec.host.length })
              yield* work
              return Outcome.requeueAfter("1 second")
            }
          )
          yield* Scope.provide(register({ reconcile }), scope).pipe(Effect.provide(controller))
          return scope
        })
      for (const name of ["a", "b", "c"]) yield* create(name)
      const first = yield* begin(Effect.never)
      yield* change("a", "longer.example")
      yield* Scope.close(first, Exit.void)
      yield* begin(Effect.void)
      yield* settle
      const revisions = Effect.map(
        Store.list(Website),
        ({ items }) => items.map(({ metadata }) => metadata.resourceVersion)
      )
      const before = yield* revisions
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* revisions, before)
      assert.strictEqual((yield* Store.get(Website, { name: "a" })).status?.ready, 14)
    }).pipe(Effect.provide(engine())))

  it.effect("Controller.layerFor registers for as long as its Layer lives", () =>
    Effect.gen(function*() {
      const log = script()
      const reconciler = Reconciler.make(Website, { reconcile: log.reconcile })
      const controller = yield* Controller.Controller
      yield* Effect.gen(function*() {
        assert.strictEqual((yield* controller.status).length, 1)
        yield* create("a")
        yield* settle
      }).pipe(Effect.provide(Controller.layerFor(reconciler), { local: true }))
      assert.deepStrictEqual(log.passes, ["a@0"])
      assert.deepStrictEqual(yield* controller.status, [])
    }).pipe(Effect.provide(engine())))

  it.effect("[E8] the Observer hears of each pass that a close dropped", () =>
    Effect.gen(function*() {
      const ends: Array<string> = []
      const done = yield* Deferred.make<void>()
      const observer: Controller.Observer = {
        passStarted: () => Deferred.doneUnsafe(done, Effect.void),
        passEnded: (pass, end) => ends.push(`${pass.request.name} ${end}`)
      }
      yield* Effect.gen(function*() {
        yield* register(script(Effect.never), {}, { drain: 0 })
        yield* create("a")
        yield* Deferred.await(done)
      }).pipe(
        Effect.scoped,
        Effect.provide(draining),
        Effect.provideService(Controller.Observer, observer)
      )
      assert.deepStrictEqual(ends, ["a Dropped"])
    }))
})

// ---------------------------------------------------------------------------------------------------------------------
// helpers
// ---------------------------------------------------------------------------------------------------------------------

const ownerOf = (name: string) => ({ apiVersion: "example.dev/v1", kind: "Website", name, uid: "u" })

/** The engine with the drain that it has by default. */
const draining = engine({ controller: { drain: undefined } })

const watchPalettes = Reconciler.watch(Palette, () => [])

const names = (passes: ReadonlyArray<string>): ReadonlyArray<string> =>
  passes.map((pass) => pass.slice(0, pass.indexOf("@")))

/** Notes how a step of work ended, and when. */
const noting = <E, R>(ends: Array<string>, work: Effect.Effect<unknown, E, R>): Effect.Effect<void, E, R> =>
  Effect.asVoid(Effect.onExit(work, (exit) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      ends.push(`${Exit.hasInterrupts(exit) ? "interrupted" : "done"}@${now}`)
    })))
