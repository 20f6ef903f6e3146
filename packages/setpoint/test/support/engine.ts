/**
 * What the Controller's tests share: kinds, an engine over a store whose driver fails on demand, and reconcile functions
 * that follow a script and note their passes.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { Controller, Kind, MemoryStore, Outcome, Pass, Reconciler, Store, StoreDriver } from "setpoint"
import type { Request } from "setpoint/Request"
import { make as storeError, type Reason, type StoreError } from "setpoint/StoreError"
import { FaultyStore } from "./faultyStore.ts"

export const Website = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Website",
  spec: Schema.Struct({ host: Schema.String, palette: Schema.optionalKey(Schema.String) }),
  status: Schema.Struct({
    ready: Schema.optionalKey(Schema.Int),
    paused: Schema.optionalKey(Schema.Boolean),
    lastHandledReconcileAt: Schema.optionalKey(Schema.String)
  })
})
export type Website = Kind.Resource<typeof Website>

/** Owned by websites. */
export const Server = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Server",
  spec: Schema.Struct({ port: Schema.Int })
})

/** What websites look up by name: nobody owns it. */
export const Palette = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Palette",
  spec: Schema.Struct({ color: Schema.String })
})
export type Palette = Kind.Resource<typeof Palette>

export const Zone = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Zone",
  scope: "Cluster",
  spec: Schema.Struct({ host: Schema.String })
})

/** The store of {@link engine}, for tests that let it fail. */
export class Faults extends Context.Service<Faults, FaultyStore>()("test/Faults") {}

/** A Controller over a memory store that fails on demand. It closes without a drain, unless asked otherwise. */
export const engine = (
  options: { readonly controller?: Controller.Options; readonly store?: MemoryStore.Options } = {}
): Layer.Layer<Controller.Controller | Store.Store | StoreDriver.StoreDriver | Faults, Controller.InvalidOptions> =>
  Layer.provideMerge(
    Controller.layer({ events: false, collector: false, drain: 0, ...options.controller }),
    Layer.effectContext(Effect.map(MemoryStore.make(options.store), (driver) => {
      const faults = new FaultyStore(driver)
      return Context.make(StoreDriver.StoreDriver, faults.driver).pipe(
        Context.add(Store.Store, Store.make(faults.driver, { name: options.store?.name })),
        Context.add(Faults, faults)
      )
    }))
  )

/** Everything that can happen without time passing has happened. */
export const settle = Effect.andThen(Effect.repeat(Effect.yieldNow, { times: 100 }), TestClock.adjust(0))

export const site = (name: string, host = "a.example") => ({ metadata: { name }, spec: { host } })

/** Creates a website, and lets it be heard of. */
export const create = (name: string, host?: string) => Effect.tap(Store.create(Website, site(name, host)), () => settle)

/** Changes the desired state of a website, and lets it be heard of. */
export const change = Effect.fnUntraced(function*(name: string, host: string) {
  const found = yield* Store.latest(Website, { name })
  const changed = yield* Store.update(Website, { ...found, spec: { ...found.spec, host } })
  yield* settle
  return changed
})

type Step<E, R> = Effect.Effect<Outcome.Outcome | void, E, R>

/** A reconcile function and what it has done so far. */
export interface Script<E, R> {
  /** One line a pass: `name@millis`. */
  readonly passes: Array<string>
  /** The causes of each pass, tags only. */
  readonly causes: Array<ReadonlyArray<string>>
  readonly requests: Array<Request>
  readonly reconcile: (request: Request) => Step<E, R>
}

/** The nth pass does the nth step; the last step is repeated. Without steps each pass is done at once. */
export const script = <E = never, R = never>(...steps: ReadonlyArray<Step<E, R>>): Script<E, R> => {
  const self: Script<E, R> = {
    passes: [],
    causes: [],
    requests: [],
    reconcile: (request) =>
      Effect.gen(function*() {
        const pass = yield* Pass.Current
        const step = steps[Math.min(self.passes.length, steps.length - 1)]
        self.passes.push(`${request.name}@${yield* Clock.currentTimeMillis}`)
        self.causes.push(pass?.causes.map((cause) => cause._tag) ?? [])
        self.requests.push(request)
        return step === undefined ? Outcome.done : yield* step
      })
  }
  return self
}

export const failure = Effect.fail("a test")

type Reconcile<E, R> = { readonly reconcile: (request: Request) => Step<E, R> }

/** Registers a script, or any reconcile function, for websites, and lets its caches sync. */
export const register = <E, R, R2 = never>(
  { reconcile }: Reconcile<E, R>,
  options: Omit<Reconciler.Options<Website, R, R2>, "reconcile"> = {},
  registerOptions: Controller.RegisterOptions = {}
) =>
  Controller.Controller.pipe(
    Effect.flatMap((controller) =>
      controller.register(Reconciler.make(Website, { ...options, reconcile }), registerOptions)
    ),
    Effect.tap(() => settle)
  )

/** An error of the test's store, of a website or palette. */
export const storeFailure = (kind: string, reason: Reason, name = "shop"): StoreError =>
  storeError({ operation: "update", kind: `${kind}.example.dev`, key: { namespace: "default", name } }, reason)
