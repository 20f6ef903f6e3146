import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Choices from "@setpoint/testing/internal/sim/choices"
import * as Hints from "@setpoint/testing/internal/sim/hints"
import * as randomness from "@setpoint/testing/internal/sim/randomness"
import * as Report from "@setpoint/testing/internal/sim/report"
import { run } from "@setpoint/testing/internal/sim/run"
import type { Found } from "@setpoint/testing/internal/sim/search"
import { bare, type Spec } from "@setpoint/testing/internal/sim/spec"
import type { Line } from "@setpoint/testing/internal/sim/story"
import * as Terminal from "@setpoint/testing/internal/sim/terminal"
import * as Effect from "effect/Effect"
import * as Fs from "node:fs"
import { Finalizer, Outcome, Reconciler, Store } from "setpoint"
import { App, Cloud, createApp, fakeCloud, kind, layerOf, removeApp, resizeApp } from "../corpus/kit.ts"
import * as ST01 from "../corpus/ST-01.wrong.ts"

const Part = kind("Part")
const cloud = fakeCloud()

const specOf = (reconciler: Reconciler.Reconciler<Store.Store | Cloud>, more: Partial<Spec> = {}): Spec => ({
  ...bare,
  layer: layerOf(reconciler) as Spec["layer"],
  steps: Sim.script([createApp(1)]).steps,
  kinds: [App],
  of: [App],
  external: [cloud],
  faults: new Set(Sim.defaultFaults),
  ...more
})

const toldLines = (spec: Spec, plan: ReadonlyArray<Choices.Deviation> = []): ReadonlyArray<Line> =>
  run(spec, Choices.planned(plan), { isRecorded: true, plain: undefined }).lines

/** The place of a mark in this file: `packages/testing/test/Story.test.ts:41`. */
const placeOf = (mark: string): string => {
  const path = new URL(import.meta.url).pathname
  const line = Fs.readFileSync(path, "utf8").split("\n").findIndex((line) => line.endsWith(`// ${mark}`)) + 1
  return `${path.replace(`${process.cwd()}/`, "")}:${line}`
}

const siteOf = (lines: ReadonlyArray<Line>, text: string): string | undefined =>
  lines.find((line) => line.text.startsWith(text))?.site

describe("the lines of the user's calls", () => {
  it("are those of the calls to Store in a generator, in a pipeline, and of the service itself", () => {
    const apps = Reconciler.make(App, {
      reconcile: Effect.fnUntraced(function*(request) {
        const app = yield* Store.get(App, request) // the get
        yield* Store.ensure(Part, { name: "one" }, () => ({ metadata: {}, spec: app.spec })).pipe( // in a generator
          Effect.andThen(
            Store.ensure(Part, { name: "two" }, () => ({ metadata: {}, spec: app.spec })) // in a pipeline
          )
        )
        const store = yield* Store.Store
        yield* store.create(Part, { metadata: { name: "three" }, spec: app.spec }) // of the service
        const four = { metadata: { name: "four" }, spec: app.spec }
        yield* Effect.flatMap(Store.Store, (store) => store.create(Part, four)) // in a callback
        const { make } = yield* Cloud
        yield* make("x") // outside
      })
    })
    const lines = toldLines(specOf(apps))
    for (
      const [text, mark] of [
        ["get App a", "the get"],
        ["create Part one", "in a generator"],
        ["create Part two", "in a pipeline"],
        ["create Part three", "of the service"],
        ["create Part four", "in a callback"],
        ["Cloud.make", "outside"]
      ] as const
    ) {
      assert.strictEqual(siteOf(lines, text), placeOf(mark), text)
    }
  })

  it("are not given where the engine calls on behalf of the user, nor to what others do", () => {
    const held = Finalizer.make(App, { name: "example.dev/held", cleanup: () => Effect.void })
    const apps = Reconciler.make(App, {
      reconcile: Effect.fnUntraced(function*(request) {
        const app = yield* Store.get(App, request)
        yield* Finalizer.run(held, app, () => Effect.void)
      })
    })
    const lines = toldLines(specOf(apps))
    assert.isTrue(lines.some(({ text }) => text.startsWith("update App a")))
    assert.isUndefined(siteOf(lines, "update App a"))
    assert.isUndefined(siteOf(lines, "create App a"))
  })

  it("cost the run nothing: one that is told is the same run", () => {
    const apps = Reconciler.make(App, {
      reconcile: Effect.fnUntraced(function*(request) {
        const app = yield* Store.get(App, request)
        yield* Effect.forEach(
          ["a", "b", "c"],
          (name) => Store.ensure(Part, { name }, () => ({ metadata: {}, spec: app.spec })),
          { concurrency: 2, discard: true }
        )
        return Outcome.requeueAfter("15 seconds")
      })
    })
    const spec = specOf(apps, { steps: Sim.script([createApp(1), resizeApp(2), removeApp]).steps })
    for (let i = 0; i < 40; i++) {
      const source = () => Choices.random(randomness.make(randomness.seedOf(`told ${i}`)))
      const quiet = run(spec, source(), { isRecorded: false, plain: undefined })
      const told = run(spec, source(), { isRecorded: true, plain: undefined })
      assert.deepStrictEqual([told.hash, told.violation?.title], [quiet.hash, quiet.violation?.title])
    }
  })

  it("leave `Store` as it was", () => {
    toldLines(specOf(Reconciler.make(App, { reconcile: () => Effect.void })))
    assert.isFalse(Object.hasOwn(Store.Store, "use"))
  })
})

describe("what a told run says beside its changes", () => {
  it("passes, why they ran and how they ended, and what was read, from where", () => {
    const apps = Reconciler.make(App, { reconcile: (request) => Effect.asVoid(Store.get(App, request)) })
    const asides = toldLines(specOf(apps)).filter(({ isAside }) => isAside === true).map(({ text }) => text)
    assert.deepStrictEqual(asides.slice(0, 3), [
      "pass apps/a/1 began    Added rev 1",
      "get App a    rev 1, from a cache",
      "pass apps/a/1 ended    Done"
    ])
  })

  it.effect("reads that were out of date are part of the story, and the hint names their line", () =>
    Effect.gen(function*() {
      const { report } = yield* Effect.flip(Sim.check(ST01.options))
      assert.match(report, /get App a {4}rev \d, from a cache, out of date: it is another one by now {4}\S+ST-01/)
      assert.match(report, /✗ ctl@2 {4}remove Volume a {4}rev \d+ {4}\S+ST-01\.wrong\.ts:\d+ {4}← violation/)
      assert.match(
        report,
        /hint: this delete carried no uid or version precondition, .* old read \(\S+ST-01\.wrong\.ts/
      )
    }))
})

describe("passes that fail", () => {
  const told = (pass: Effect.Effect<unknown, unknown, Store.Store | Cloud>) =>
    toldLines(specOf(Reconciler.make(App, { reconcile: () => Effect.asVoid(pass) }))).filter(({ text }) =>
      text.startsWith("pass apps/a/1 ended")
    )

  it("are part of the story, with the call that failed", () => {
    const [line] = told(
      Effect.suspend(() => Store.get(Part, { name: "none" })) // not found
    )
    assert.match(line?.text ?? "", /ended {4}Failed: StoreError: get Part.* there is no such object$/)
    assert.deepStrictEqual([line?.site, line?.isAside], [placeOf("not found"), false])
  })

  it("of a service outside: the line of the call, not of the fake that made the error", () => {
    const [line] = told(Effect.gen(function*() {
      const { drop } = yield* Cloud
      yield* drop("nothing") // not there
    }))
    assert.include(line?.text, "ended    Failed: CloudError {\"why\":\"not found\"}")
    assert.strictEqual(line?.site, placeOf("not there"))
  })

  it("with a defect: the line that died", () => {
    const [line] = told(Effect.gen(function*() {
      yield* Store.list(Part)
      JSON.parse("{") // dies
    }))
    assert.include(line?.text, "ended    Defect: SyntaxError: ")
    assert.strictEqual(line?.site, placeOf("dies"))
  })
})

describe("a report", () => {
  const line = (index: number, more: Partial<Line> = {}): Line => ({
    millis: index,
    who: "ctl",
    text: `update App a    rev ${index}`,
    isFault: false,
    ...more
  })
  const foundWith = (lines: ReadonlyArray<Line>, deviations = 1): Found => ({
    violation: { law: "P1", title: "App a came to rest, and does not match", also: [], step: 0 },
    plan: Array.from({ length: deviations }, (_, i) => ({ point: `ctl/apps/a/${i}/get:App/a`, alternative: "kill" })),
    run: {
      points: [],
      taken: [],
      violation: undefined,
      hash: 0,
      end: undefined,
      after: 0,
      passes: 1,
      steps: 1,
      wasUnmatched: true,
      writesAtRest: 0,
      counts: new Map(),
      warnings: new Map(),
      lines
    },
    tried: {
      depth: 0,
      leftOut: undefined,
      points: 9,
      pruned: 0,
      random: 0,
      repeated: 0,
      runs: 10,
      warnings: new Map()
    },
    byChance: undefined
  })
  const reported = (found: Found) => Report.failure(found).split("\n")

  it("has at most 25 lines, however long the story and however many the faults", () => {
    for (const count of [1, 5, 14, 15, 16, 40, 400]) {
      for (const faults of [0, 1, 2, 7, 30]) {
        const every = Math.max(1, Math.floor(count / Math.max(1, faults)))
        const lines = Array.from({ length: count }, (_, i) => line(i, { isFault: faults > 0 && i % every === 0 }))
        const text = reported(foundWith(lines, Math.min(faults, 9)))
        assert.isAtMost(text.length, 25, text.join("\n"))
        assert.match(text.at(-1) ?? "", /^ {2}replay: Sim\.replay\(options, "/)
      }
    }
  })

  it("keeps the beginning, the faults and the end, and counts what it leaves out", () => {
    const letters = (i: number) => String.fromCodePoint(97 + Math.floor(i / 26), 97 + i % 26)
    const lines = Array.from({ length: 60 }, (_, i) => line(i, { text: `step ${letters(i)}`, isFault: i === 30 }))
    const text = reported(foundWith(lines))
    assert.include(text[4], "step aa")
    assert.isTrue(text.some((line) => line.includes(`✗ ctl      step ${letters(30)}`)))
    assert.isTrue(text.some((line) => line.includes(`step ${letters(59)}`)))
    assert.include(text.join("\n"), "… 28 lines …")
  })

  it("counts what repeats itself, be it three lines in turn", () => {
    const said = (lines: ReadonlyArray<string>) =>
      reported(foundWith(lines.map((text, index) => line(index, { text })))).filter((line) => / t=|…/.test(line))
    const same = said(Array.from({ length: 30 }, (_, i) => `update App a    rev ${i}`))
    assert.lengthOf(same, 4)
    assert.include(same[2], "… 27 lines like it …")
    const turns = said([
      "create App a",
      ...Array.from({ length: 60 }, (_, i) => ["get App a", "patch App a", "fail"][i % 3] ?? ""),
      "remove App a"
    ])
    assert.include(turns[0], "create App a")
    assert.include(turns[7], "… 51 lines like it …")
    assert.include(turns.at(-1), "remove App a")
    assert.lengthOf(turns, 12)
    assert.lengthOf(said(["a", "b", "a", "b", "a", "b"]), 6)
  })

  it("of a replay does not say that anything else was tried", () => {
    assert.include(Report.failure(foundWith([line(1)]), { isReplay: true }), "\n  replayed.  1 deviation:\n")
  })
})

describe("hints", () => {
  const laws = Array.from({ length: 20 }, (_, i) => `P${i + 1}`)

  it("there is one for every law, whatever the fault", () => {
    for (const law of [...laws, "leak", "input"]) {
      for (const alternative of ["", ...Sim.allFaults]) {
        const plan = alternative === "" ? [] : [{ point: "ctl/apps/a/1/create:Set/a", alternative }]
        const hint = Hints.hintFor({ violation: { law, title: "" }, plan, lines: [] })
        assert.isString(hint, `${law} ${alternative}`)
      }
    }
  })

  it("of a fault outside of the store is to look there first", () => {
    const plan = [{ point: "ctl/apps/a/1/Cloud.make#2", alternative: "lose" }]
    const hint = Hints.hintFor({ violation: { law: "P1", title: "" }, plan, lines: [] })
    assert.match(hint ?? "", /^what was done outside may not be known to be done/)
  })
})

describe("what a terminal is told", () => {
  const progress = {
    phase: "exhaustive",
    depth: 2,
    runs: 1_410,
    done: 1_204,
    of: 3_310,
    steps: 9,
    states: 612
  } as const

  it("is how far the search is, how fast, and how many states it saw", () => {
    assert.strictEqual(
      Terminal.lineOf("widgets survive", progress, 1_500),
      "widgets survive   depth 2: 1,204 of 3,310   1,410 runs, 940 a second   612 states"
    )
    assert.strictEqual(
      Terminal.lineOf("x", { ...progress, phase: "shrinking", of: undefined }, 0),
      "x   shrinking: 1,204   1,410 runs   612 states"
    )
  })

  it("stays on one line, which is cut where the terminal ends", () => {
    const written: Array<string> = []
    const terminal = { columns: 20, write: (text: string) => void written.push(text), close: () => {} }
    Terminal.draw(terminal, Terminal.lineOf("widgets survive", progress, 1_500))
    Terminal.clear(terminal)
    assert.deepStrictEqual(written, ["\r\u001b[2Kwidgets survive   …", "\r\u001b[2K"])
  })

  it("is told where there is one, and nowhere else", () => {
    for (const env of [{}, { FORCE_TTY: "" }, { FORCE_TTY: "true", CI: "true" }]) {
      assert.isUndefined(Terminal.open(env))
    }
  })
})
