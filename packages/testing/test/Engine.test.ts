/**
 * The simulator turned on the engine itself: small controllers on the public API, each over all runs with at most one
 * deviation. Where nothing is wrong all are clean; faults planted in the engine (`pnpm mutants`) must show here.
 */
import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Kind, Outcome, Owner, Reconciler, Store } from "setpoint"
import {
  App,
  create,
  createPart,
  hasPart,
  keepPart,
  layerOf,
  onStore,
  Part,
  Probe,
  probe,
  remove,
  resize
} from "./engine/kit.ts"
import * as Stores from "./engine/stores.ts"
import { scripted } from "./engine/timing.ts"

/** Every fault alone. What is found is said in a form that `pnpm mutants` reads. */
const holds = <A, S>(title: string, options: Sim.Options<A, S>) =>
  it.effect(title, ({ annotate }) =>
    Sim.check({ ...options, depth: 1, random: 0 }).pipe(
      Effect.flatMap(({ text }) => Effect.promise(() => annotate(text))),
      Effect.catch(({ deviations, law, report }) =>
        Effect.sync(() => assert.fail(`${law} with ${deviations} deviations\n${report}`))
      )
    ), 120_000)

/** A label selects the parts of an App, whoever owns them. */
const partsOf = (name: string) => Store.list(Part, { selector: `app=${name}` })
const isPartOf = (name: string) => (part: Kind.Resource<typeof Part>) => part.metadata.labels?.["app"] === name

const deletePart = Sim.act("somebody deletes Part a", Store.deleteUnconditionally(Part, { name: "a" }))

const lives = Sim.script([
  create("a"),
  create("b"),
  resize("a", 2),
  remove("a"),
  Sim.soon(create("a", 3)),
  resize("a", 4),
  remove("b"),
  deletePart
])

describe("a controller of owned objects", () => {
  const keeps = layerOf(Reconciler.make(App, {
    owns: [Part],
    reconcile: (request) => Effect.asVoid(keepPart(request))
  }))
  holds("no change is lost, whatever fails, lags or is killed", {
    controllers: keeps,
    workload: lives,
    matches: hasPart
  })

  holds("what it owns comes back when somebody deletes it", {
    controllers: keeps,
    workload: Sim.script([create("a"), deletePart]),
    matches: hasPart
  })

  holds("nor where it writes a status too", {
    controllers: layerOf(Reconciler.make(App, {
      owns: [Part],
      reconcile: Effect.fnUntraced(function*(request) {
        const app = yield* keepPart(request)
        yield* Store.updateStatus(App, app, { size: app.spec.size })
      })
    })),
    workload: lives,
    matches: (app, world) => hasPart(app, world) && app.status?.size === app.spec.size
  })

  holds("a change between its read and its own write wakes it", {
    controllers: layerOf(Reconciler.make(App, {
      reconcile: Effect.fnUntraced(function*(request) {
        const { spec } = yield* Store.get(App, request)
        yield* Store.patchUnconditionally(App, request, { merge: { status: spec }, subresource: "status" })
      })
    })),
    workload: Sim.script([create("a"), resize("a", 2), resize("a", 3)]),
    matches: ({ spec, status }) => status?.size === spec.size
  })

  holds("it outlasts a store that is out of reach, without hurry", {
    controllers: onStore(keeps, Stores.outOfReach),
    workload: Sim.script([create("a"), resize("a", 2)]),
    matches: hasPart,
    faults: ["restart"]
  })

  holds("it follows a burst beyond what its watches hold", {
    controllers: onStore(keeps, Stores.smallBuffers),
    workload: Sim.script([
      create("a"),
      Sim.act(
        "create Apps 0 to 5",
        Effect.forEach(
          ["0", "1", "2", "3", "4", "5"],
          (name) => Store.create(App, { metadata: { name: `x${name}` }, spec: { size: 1 } })
        )
      )
    ]),
    matches: hasPart,
    atRest: { "each App has its part": (world) => world.list(App).every((app) => hasPart(app, world)) },
    faults: ["late", "cut"]
  })

  holds("it does not follow a watch that goes back in time", {
    controllers: onStore(keeps, Stores.goesBack),
    workload: Sim.script([create("a"), resize("a", 2), create("b")]),
    matches: hasPart,
    faults: ["cut"]
  })

  holds("it sees what it wrote, and makes nothing twice", {
    controllers: layerOf(Reconciler.make(App, {
      owns: [Part],
      reconcile: Effect.fnUntraced(function*({ name }) {
        const app = yield* Store.get(App, { name })
        const { items } = yield* partsOf(name)
        const part = { metadata: { generateName: `${name}-`, labels: { app: name } }, spec: app.spec }
        if (items.length === 0) yield* Store.create(Part, yield* Owner.setController(part, app))
      })
    })),
    workload: Sim.script([create("a"), Sim.soon(resize("a", 2)), resize("a", 3)]),
    matches: ({ metadata: { name } }, world) => world.list(Part).filter(isPartOf(name)).length === 1,
    never: { "two parts of one App": (world) => world.list(Part).filter(isPartOf("a")).length > 1 }
  })
})

describe("a controller that others wake", () => {
  const Config = Kind.make({
    group: "example.dev",
    version: "v1",
    kind: "Config",
    spec: Schema.Struct({ app: Schema.String })
  })

  /** Counts in the status of an App how many objects name it. */
  const counts = (name: string, count: Effect.Effect<number, unknown, Store.Store>) =>
    Effect.gen(function*() {
      const app = yield* Store.get(App, { name })
      yield* Store.updateStatus(App, app, { size: yield* count })
    })

  const createConfig = Store.create(Config, { metadata: { name: "c" }, spec: { app: "a" } })
  const moveConfig = Effect.flatMap(
    Store.get(Config, { name: "c" }),
    (config) => Store.update(Config, { ...config, spec: { app: "b" } })
  )

  holds("by a mapped watch: old and new targets run", {
    controllers: layerOf(Reconciler.make(App, {
      watches: [Reconciler.watch(Config, ({ spec }) => [{ name: spec.app }])],
      reconcile: ({ name }) =>
        counts(
          name,
          Effect.map(Store.list(Config), ({ items }) => items.filter(({ spec }) => spec.app === name).length)
        )
    })),
    workload: Sim.script([
      create("a"),
      create("b"),
      Sim.act("create Config c", createConfig),
      Sim.act("point Config c to b", moveConfig),
      Sim.act("delete Config c", Store.deleteUnconditionally(Config, { name: "c" }))
    ]),
    matches: ({ metadata: { name }, status }, world) =>
      status?.size === world.list(Config).filter(({ spec }) => spec.app === name).length
  })

  const readsParts = layerOf(Reconciler.make(App, {
    track: true,
    reconcile: ({ name }) => counts(name, Effect.map(partsOf(name), ({ items }) => sizeOf(items)))
  }))
  const sizeOf = (parts: ReadonlyArray<Kind.Resource<typeof Part>>) =>
    parts.reduce((sum, { spec }) => sum + spec.size, 0)
  const isCounted = ({ metadata: { name }, status }: App, world: Sim.World) =>
    status?.size === sizeOf(world.list(Part).filter(isPartOf(name)))
  const patchPart = (title: string, merge: { readonly [field: string]: Schema.Json }) =>
    Sim.act(title, Store.patchUnconditionally(Part, { name: "p" }, { merge }))

  holds("by what it read: objects that come to match and that cease to", {
    controllers: readsParts,
    workload: Sim.script([
      createPart("p", "a"),
      create("a"),
      createPart("q", "a"),
      Sim.act("delete Part q", Store.deleteUnconditionally(Part, { name: "q" })),
      patchPart("p leaves a", { metadata: { labels: null } })
    ]),
    matches: isCounted
  })

  holds("by what changed after its read, before its cache has synced", {
    controllers: readsParts,
    workload: Sim.script([
      createPart("p", "a"),
      create("a"),
      { ...patchPart("p grows", { spec: { size: 2 } }), afterMillis: 500 }
    ]),
    matches: isCounted
  })
})

describe("when passes run", () => {
  const failures = Array.from({ length: 8 }, () => "fail" as const)

  holds(
    "a timed requeue forgets the failures before it: the next retry comes soon",
    scripted(
      [...failures, 60_000, "fail", "done"],
      [],
      "the retry after it comes within half a second",
      (pauses) => (pauses[9] ?? Infinity) < 500
    )
  )

  holds(
    "so does a pass that is done",
    scripted(
      [...failures, "done", "fail", "done"],
      [resize("a", 2)],
      "the retry after it comes within half a second",
      (pauses) => (pauses[9] ?? Infinity) < 500
    )
  )

  holds(
    "an error that asks for a delay gets it",
    scripted(["busy", "done"], [], "the retry waits half a minute", ([pause = 0]) => pause >= 30_000)
  )

  holds(
    "an event absorbs the time that was pending: the key does not run twice",
    scripted([50_000, "done"], [resize("a", 2)], "two passes", (pauses) => pauses.length === 1)
  )

  /** Two Apps of size 9 keep the only worker at work; the third runs all the same. */
  const busy = Layer.merge(
    layerOf(
      Reconciler.make(App, {
        reconcile: Effect.fnUntraced(function*({ name }) {
          const app = yield* Store.get(App, { name })
          if (name === "c") yield* (yield* Probe).note("c ran")
          if (app.spec.size < 9) return Outcome.done
          yield* Effect.sleep("1 second")
          return Outcome.requeueAfter("100 millis")
        })
      }),
      { workers: 1 }
    ),
    Layer.effectDiscard(Effect.flatMap(Probe, ({ note }) => note("start")))
  )

  const pause = Sim.act("nobody does anything", Effect.void)

  holds("keys of a first list run, though timed requeues keep coming", {
    controllers: busy,
    workload: Sim.script([create("a", 9), create("b", 9), create("c"), pause, pause, resize("a", 1), resize("b", 1)]),
    external: [probe],
    faults: ["restart"],
    atRest: {
      "where c is there at a start, it runs within 15 seconds": (world) => {
        const { notes } = world.external(probe)
        const first = notes.find(({ what }) => what === "c ran")
        return notes.filter(({ what }) => what === "start").every(({ atMillis }) =>
          first === undefined || atMillis < first.atMillis ||
          notes.some((note) => note.what === "c ran" && note.atMillis > atMillis && note.atMillis < atMillis + 15_000)
        )
      }
    }
  })
})
