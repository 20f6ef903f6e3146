/** B6 in the engine: what passes pay for watch requests and for tracked reads; and many instances with ten watches each. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Controller from "setpoint/Controller"
import * as InstanceWatcher from "setpoint/InstanceWatcher"
import * as Kind from "setpoint/Kind"
import * as Reconciler from "setpoint/Reconciler"
import type { Request } from "setpoint/Request"
import * as Resource from "setpoint/Resource"
import * as Store from "setpoint/Store"
import type { Subject } from "../bench.ts"
import { collect, cpuSeconds, type Figures, memory, nowMillis } from "../measure.ts"
import { busyMillis, watchPauses } from "../pauses.ts"
import { firstUpdate, indexOf, keyAt, list, objects, random } from "../work.ts"
import * as Driver from "./driver.ts"
import { Widget } from "./store.ts"

/** What instances look at. */
const Config = Kind.make({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  fields: { data: Schema.Record(Schema.String, Schema.String) }
})

const instanceLabel = "app.kubernetes.io/instance"
const configName = (i: number): string => `config-${i}`

const configAt = (i: number, version: number): Resource.Raw =>
  Driver.frozen({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      namespace: "default",
      name: configName(i),
      uid: configName(i),
      resourceVersion: String(version),
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { [instanceLabel]: configName(i) }
    },
    data: { version: String(version) }
  })

/** A store of widgets and of configs, and what feeds changes of configs. Only configs, as listed, are read by key. */
const makeStore = Effect.fnUntraced(function*(widgets: number, configs: number) {
  const makeWidget = objects("object")
  const share = Resource.sharing()
  const widgetFeed = yield* Driver.make(widgets, (i) => Driver.frozen(share(makeWidget(i))))
  const configFeed = yield* Driver.make(configs, (i) => configAt(i, 1))
  const driver = Driver.byKind({ [Widget.address.kind]: widgetFeed, [Config.address.kind]: configFeed })
  const get = (_: Kind.Address, { name }: Resource.Key) =>
    Effect.sync(() => configAt(Number(name.slice("config-".length)), 1))
  return { store: Store.make({ ...driver, get }), configs: configFeed }
})

const run = (effect: Effect.Effect<Figures, unknown, Scope.Scope>): Promise<Figures> =>
  Effect.runPromise(Effect.scoped(effect))

// ---------------------------------------------------------------------------------------------------------------------
// what a pass pays
// ---------------------------------------------------------------------------------------------------------------------

const perPass = 20
const rounds = 15

interface Pass {
  readonly track: boolean
  readonly reconcile: Effect.Effect<void, unknown, Store.Store>
}

/** Two reconcilers of the same n objects, whose passes run in turns: microseconds that this thread computed a pass, by round. */
const inTurns = Effect.fnUntraced(function*(n: number, passes: { readonly [name: string]: Pass }) {
  const { store } = yield* makeStore(n, perPass)
  let left = n * Object.keys(passes).length
  let done = Deferred.makeUnsafe<void>()
  const registered = Object.entries(passes).map(([name, { reconcile, track }]) =>
    Controller.layerFor(Reconciler.make(Widget, {
      name,
      track,
      watches: [Reconciler.watch(Config, () => [])], // so that all reads are answered by its cache
      reconcile: () =>
        Effect.map(reconcile, () => {
          if (--left === 0) Deferred.doneUnsafe(done, Effect.void)
        })
    }))
  )
  const main = Layer.mergeAll(Layer.empty, ...registered).pipe(
    Layer.provideMerge(Controller.layer({ workers: 1 })),
    Layer.provide(Layer.succeed(Store.Store, store))
  )
  const context = yield* Layer.build(main)
  yield* Deferred.await(done)
  const all = Effect.fnUntraced(function*(name: string) {
    const registration = yield* Controller.Controller.use((controller) => controller.registration(name))
    left = n
    done = Deferred.makeUnsafe()
    const start = busyMillis()
    for (let i = 0; i < n; i++) yield* registration.enqueue(keyAt(i))
    yield* Deferred.await(done)
    return ((busyMillis() - start) * 1000) / n
  })
  const micros = new Map(Object.keys(passes).map((name) => [name, new Array<number>()]))
  const turn = Effect.gen(function*() {
    for (const [name, took] of micros) took.push(yield* all(name))
  })
  yield* Effect.provideContext(Effect.repeat(turn, { times: rounds - 1 }), context)
  return (name: string): ReadonlyArray<number> => micros.get(name) ?? []
})

/** What is asked for, by variant: as a reconciler writes it, made anew in every pass. */
const asks: { readonly [variant: string]: (i: number) => InstanceWatcher.Request } = {
  names: (i) => ({ kind: Config, name: configNames[i] as string }),
  selectors: (i) => ({ kind: Config, selector: selectorTexts[i] as string, namespace: "default" })
}

const configNames = list(perPass, configName)
const selectorTexts = list(perPass, (i) => `${instanceLabel}=${configName(i)}`)

/** The variants of {@link watches}. */
export const watchVariants = Object.keys(asks)

/** What 20 watch requests cost a pass whose last one made them too. */
export const watches: Subject = ({ n, variant = "" }) => {
  const request = asks[variant]
  if (request === undefined) throw new Error(`no request ${variant}`)
  const asking = Effect.gen(function*() {
    for (let i = 0; i < perPass; i++) yield* InstanceWatcher.watch(request(i))
  })
  return run(Effect.map(
    inTurns(n, { without: { track: false, reconcile: Effect.void }, with: { track: false, reconcile: asking } }),
    (micros) => more(micros("without"), micros("with"))
  ))
}

const readers: { readonly [variant: string]: (i: number) => Effect.Effect<unknown, unknown, Store.Store> } = {
  get: (i) => Store.get(Config, { name: configNames[i] as string }),
  list: (i) => Store.list(Config, { selector: selectorTexts[i] as string, namespace: "default" })
}

/** The variants of {@link tracked}. */
export const readVariants = Object.keys(readers)

/** What a read costs more where it is tracked: 20 reads a pass, answered by the cache. */
export const tracked: Subject = ({ n, variant = "" }) => {
  const read = readers[variant]
  if (read === undefined) throw new Error(`no read ${variant}`)
  const reconcile = Effect.gen(function*() {
    for (let i = 0; i < perPass; i++) yield* read(i)
  })
  return run(Effect.map(
    inTurns(n, { without: { track: false, reconcile }, with: { track: true, reconcile } }),
    (micros) => {
      const { more_us: moreMicros, ...passes } = more(micros("without"), micros("with"))
      return { more_ns_per_op: (moreMicros * 1000) / perPass, ...passes }
    }
  ))
}

/** The median of the differences, round by round; and the median pass. */
const more = (without: ReadonlyArray<number>, with_: ReadonlyArray<number>) => ({
  more_us: median(with_.map((micros, round) => micros - (without[round] as number))),
  pass_us: median(with_),
  pass_without_us: median(without)
})

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

// ---------------------------------------------------------------------------------------------------------------------
// many instances
// ---------------------------------------------------------------------------------------------------------------------

/**
 * n instances ask for five names and five selections each; then ten times as many changes of configs go through the watch,
 * each of one instance, which reads its config from the cache and asks for its ten again.
 */
export const start: Subject = ({ n, workers }) =>
  run(Effect.gen(function*() {
    const events = 10 * n
    const { configs, store } = yield* makeStore(n, n)
    const { below } = random(7)
    const drawn = Int32Array.from({ length: events }, () => below(n))
    const last = new Int32Array(n)
    drawn.forEach((i, at) => last[i] = firstUpdate + at)
    let missing = last.reduce((count, version) => version === 0 ? count : count + 1, 0)
    let passes = 0
    const allStarted = Deferred.makeUnsafe<void>()
    const lastSeen = Deferred.makeUnsafe<void>()
    const widgets = Reconciler.make(Widget, {
      reconcile: Effect.fnUntraced(function*(request: Request) {
        const i = indexOf(request.name)
        for (let j = 0; j < 5; j++) {
          const name = j === 0 ? configName(i) : `${configName(i)}-${j}`
          yield* InstanceWatcher.watch({ kind: Config, name, metadataOnly: false })
          yield* InstanceWatcher.watch({ kind: Config, selector: `${instanceLabel}=${name}`, metadataOnly: false })
        }
        const { metadata } = yield* Store.get(Config, { name: configName(i) })
        passes++
        if (passes === n) Deferred.doneUnsafe(allStarted, Effect.void)
        if (Number(metadata.resourceVersion) !== last[i]) return
        last[i] = 0
        missing--
        if (missing === 0) Deferred.doneUnsafe(lastSeen, Effect.void)
      })
    })
    collect()
    const cpu = cpuSeconds()
    const pauses = watchPauses()
    const started = nowMillis()
    yield* Layer.build(
      Controller.layerFor(widgets).pipe(
        Layer.provide(Controller.layer({ workers })),
        Layer.provide(Layer.succeed(Store.Store, store))
      )
    )
    yield* Deferred.await(allStarted)
    const registered = nowMillis()
    const registering = passes
    for (let at = 0; at < events; at++) {
      yield* configs.feed(Driver.modified(configAt(drawn[at] as number, firstUpdate + at)))
    }
    yield* Deferred.await(lastSeen)
    const end = nowMillis()
    const stood = yield* Effect.promise(pauses.stop)
    const { peakMegabytes } = memory()
    return {
      register_s: (registered - started) / 1000,
      route_s: (end - registered) / 1000,
      events_per_s: (events * 1000) / (end - registered),
      reconciles: passes - registering,
      cpu_s: cpuSeconds() - cpu,
      peak_rss_mb: peakMegabytes,
      ...stood
    }
  }))
