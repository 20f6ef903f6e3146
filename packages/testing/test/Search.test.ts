/** The search itself: what it leaves out, what it draws, and how it makes what it finds shorter. */
import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Choices from "@setpoint/testing/internal/sim/choices"
import * as randomness from "@setpoint/testing/internal/sim/randomness"
import * as Redraw from "@setpoint/testing/internal/sim/redraw"
import { tokensIn } from "@setpoint/testing/SimTest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { Kind, Reconciler, Store } from "setpoint"
import * as EX02 from "../corpus/EX-02.right.ts"
import * as EX02Wrong from "../corpus/EX-02.wrong.ts"
import * as IS01Wrong from "../corpus/IS-01.wrong.ts"
import * as IS03 from "../corpus/IS-03.right.ts"
import * as IS03Wrong from "../corpus/IS-03.wrong.ts"
import { App, type Cloud, createApp, layerOf } from "../corpus/kit.ts"
import * as ST09 from "../corpus/ST-09.right.ts"
import * as UN01Wrong from "../corpus/UN-01.wrong.ts"

type Options = Sim.Options<App, Cloud>

describe("a pruned search", () => {
  const verdict = (options: Options, prune: boolean, depth: number) =>
    Sim.check({ ...options, depth, maxRuns: 1e6, random: 0, prune }).pipe(
      Effect.match({
        onSuccess: () => "clean",
        onFailure: ({ deviations, law, token }) => `${law} with ${deviations}: ${token}`
      })
    )

  const few: Options = { ...IS03.options, faults: ["kill", "kill-after", "slow", "restart"] }

  const shapes: ReadonlyArray<readonly [string, { readonly options: Options }, number]> = [
    ["EX-02 wrong", EX02Wrong, 1],
    ["IS-01 wrong", IS01Wrong, 1],
    ["IS-03 wrong", IS03Wrong, 1],
    ["UN-01 wrong", UN01Wrong, 1],
    ["EX-02 right", EX02, 1],
    ["IS-03 right", { options: few }, 2],
    ["ST-09 right", ST09, 1]
  ]

  it.effect.each(shapes)(
    "says of %s what one says that prunes nothing",
    ([, { options }, depth]) =>
      Effect.gen(function*() {
        const whole = yield* verdict(options, false, depth)
        const pruned = yield* verdict(options, true, depth)
        assert.deepStrictEqual(pruned, whole)
      })
  )

  it.effect("makes fewer runs, says for how many more they stand, and ends many of them early", () =>
    Effect.gen(function*() {
      const steps = (prune: boolean) =>
        Effect.gen(function*() {
          let last: Sim.Progress | undefined
          const onProgress = (progress: Sim.Progress) => Effect.sync(() => void (last = progress))
          const summary = yield* Sim.check({ ...few, depth: 2, random: 0, prune, onProgress })
          return { ...summary, steps: last?.steps ?? 0 }
        })
      const whole = yield* steps(false)
      const pruned = yield* steps(true)
      assert.strictEqual(whole.pruned, 0)
      assert.isAbove(pruned.pruned, 0)
      assert.isBelow(pruned.steps, whole.steps * 0.75)
      assert.include(pruned.text, `which stand for about ${pruned.pruned} lists of deviations more`)
    }))
})

describe("random runs", () => {
  const reconciles = (isWrong: (app: App) => boolean) =>
    layerOf(Reconciler.make(App, {
      reconcile: Effect.fnUntraced(function*(request) {
        const app = yield* Store.get(App, request)
        if (isWrong(app)) return yield* Effect.die("wrong")
      })
    }))
  const failure = <A>(options: Sim.Options<A>) => Effect.flip(Sim.check({ ...options, depth: 0, random: 500 }))

  it.effect("have steps that nobody wrote, which are as few and simple as can be in what is told, and replay", () =>
    Effect.gen(function*() {
      const isLabelled = ({ metadata, spec }: App) =>
        metadata.labels?.["sim.setpoint.dev/other"] !== undefined && spec.size > 2
      const options = { controllers: reconciles(isLabelled), workload: Sim.changes(App, { names: 2 }) }
      const { law, report, title, token } = yield* failure(options)
      assert.strictEqual(law, "P13")
      const words = Redraw.wordsOf(Choices.parse(token) ?? [])
      assert.deepStrictEqual(words?.map(([verb]) => verb), ["create", "label"], token)
      assert.deepStrictEqual(words?.[0]?.[2], { spec: { size: 3 } }, token)
      assert.include(report, "the steps are others: see the token")
      const again = yield* Effect.flip(Sim.replay(options, token))
      assert.strictEqual(again.title, title)
    }))

  it.effect("keep the steps of a script and vary the times between them", () =>
    Effect.gen(function*() {
      const born = ({ metadata }: App) => Date.parse(metadata.creationTimestamp)
      const jealous = layerOf(Reconciler.make(App, {
        reconcile: Effect.fnUntraced(function*(request) {
          const [first, second] = (yield* Store.list(App)).items
          if (request.name !== "b" || first === undefined || second === undefined) return
          if (Math.abs(born(first) - born(second)) < 10_000) return yield* Effect.die("twins")
        })
      }))
      const other = Sim.create(App, { metadata: { name: "b" }, spec: { size: 1 } })
      const options = { controllers: jealous, workload: Sim.script([createApp(1), other]), faults: [] }
      const { token } = yield* failure(options)
      assert.match(token, /^workload=\[\[1\],\[2,\d+\]\]$/)
      yield* Effect.flip(Sim.replay(options, token))
    }))

  it.effect("have the given workload in what is told where that fails too", () =>
    Effect.gen(function*() {
      const { token } = yield* failure({ ...IS01Wrong.options })
      assert.notInclude(token, "workload")
    }))

  it("are of two kinds: each what it likes, or some owners that always come last", () => {
    const names = Array.from({ length: 400 }, (_, index) => `ctl/apps/${"abcd"[index % 4]}/1/get:App/a`)
    const shares = Array.from({ length: 20 }, (_, seed) => {
      const source = Choices.prioritized(randomness.make(seed))
      const last = names.map((name) => source.pick(name, ["kill", "behind"]) === "behind")
      return last.filter((isLast) => isLast).length / last.length
    })
    assert.isTrue(shares.some((share) => share > 0.2) && shares.every((share) => share < 0.95), String(shares))
  })
})

describe("a drawn workload", () => {
  const Box = Kind.make({
    group: "example.dev",
    version: "v1",
    kind: "Box",
    spec: Schema.Struct({ size: Schema.Int.check(Schema.isGreaterThan(1)), name: Schema.String })
  })
  const redraw = Redraw.otherChanges(Box, ["a", "b"], 1)
  const draw = (seed: number) => redraw.draw(randomness.make(seed))

  it("is made of words that a token holds, and is another for another seed", () => {
    const tokens = Array.from({ length: 20 }, (_, seed) => Choices.print([Redraw.deviation(draw(seed))]))
    assert.strictEqual(new Set(tokens).size, tokens.length)
    for (const [seed, token] of tokens.entries()) {
      const words = Redraw.wordsOf(Choices.parse(`${token},ctl/a=kill`) ?? [])
      assert.deepStrictEqual(words, JSON.parse(JSON.stringify(draw(seed))))
      assert.lengthOf(redraw.steps(words ?? []) ?? [], words?.length ?? -1)
    }
  })

  it("creates what is not there, and edits, labels or deletes what is", () => {
    for (let seed = 0; seed < 50; seed++) {
      const living = new Set<unknown>()
      for (const [verb, name] of draw(seed)) {
        assert.strictEqual(living.has(name), verb !== "create")
        if (verb === "create") living.add(name)
        if (verb === "delete") living.delete(name)
      }
    }
  })

  it("has simpler words, all of which the Schema knows", () => {
    const word = ["create", "a", { spec: { size: 9, name: "ab" } }, 100]
    const simpler = redraw.simpler(word)
    assert.deepInclude(simpler, ["create", "a", { spec: { size: 9, name: "ab" } }])
    assert.deepInclude(simpler, ["create", "a", { spec: { size: 4, name: "ab" } }, 100])
    assert.deepInclude(simpler, ["create", "a", { spec: { size: 9, name: "a" } }, 100])
    assert.isFalse(JSON.stringify(simpler).includes("\"size\":1,"))
    assert.isUndefined(redraw.steps([["create", "a", { spec: { size: 1, name: "" } }]]))
    assert.isUndefined(redraw.steps([["burn", "a"]]))
  })

  it.effect("in a token that the kind no longer understands is told", () =>
    Effect.gen(function*() {
      const workload = Sim.changes(Box)
      const none = layerOf(Reconciler.make(Box, { reconcile: () => Effect.void }))
      const token = "workload=[[\"create\",\"a\",{\"spec\":{\"size\":\"big\"}}]]"
      const failure = yield* Effect.flip(Sim.replay({ controllers: none, workload }, token))
      assert.match(failure.title, /its workload is none of the kind's, or not any more/)
    }))
})

describe("a file of tokens", () => {
  it("has one a line, and lines that say what they are about", () => {
    const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "tokens-"))
    const file = Path.join(folder, "widgets.tokens")
    Fs.writeFileSync(file, "# the resize that was lost\nctl/apps/a/1/get:App/a=kill\n\nworld/step/2=stop,ctl/a=kill\n")
    assert.deepStrictEqual(tokensIn(file), ["ctl/apps/a/1/get:App/a=kill", "world/step/2=stop,ctl/a=kill"])
    assert.throws(() => tokensIn(Path.join(folder, "gone.tokens")))
    Fs.rmSync(folder, { recursive: true })
  })
})
