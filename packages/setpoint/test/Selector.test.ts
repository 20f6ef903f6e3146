import { assert, describe, it } from "@effect/vitest"
import { Arbitraries } from "@setpoint/testing"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Selector from "setpoint/Selector"

const many = { arbitrary: { runs: 1000 } }
// "toString" is a key like any other, and no label of these has it.
const anySelector = Arbitraries.selector({ keys: ["a", "b", "c", "toString"] })
const labels = Arbitrary.map(
  Arbitrary.all([Arbitrary.schema(Schema.Boolean), Arbitraries.labels()]),
  ([has, labels]) => has ? labels : undefined
)
const steps = Arbitrary.array(Arbitrary.all({
  add: Arbitrary.schema(Schema.Boolean),
  selector: anySelector,
  value: Arbitrary.schema(Schema.Literals([1, 2, 3])),
  now: labels,
  before: labels
}))

describe("parse and print", () => {
  const texts: ReadonlyArray<readonly [text: string, canonical: string]> = [
    ["", ""],
    ["  \t\n", ""],
    ["a=b", "a=b"],
    ["a==b", "a=b"],
    ["a in (b)", "a=b"],
    [" a  =  b ", "a=b"],
    ["a!=b", "a!=b"],
    ["a notin (b)", "a!=b"],
    ["b,!a", "!a,b"],
    ["! a", "!a"],
    ["z=1,a=2", "a=2,z=1"],
    ["a in (y,x,y)", "a in (x,y)"],
    ["a=b,a=b", "a=b"],
    ["a=b,c!=d,e in (x,y),f notin (z),g,!h", "a=b,c!=d,e in (x,y),f!=z,g,!h"],
    ["a=", "a="],
    ["a=,b", "a=,b"],
    ["a!=", "a!="],
    ["a in ()", "a="],
    ["a in (,)", "a="],
    ["a in (,x)", "a in (,x)"],
    ["a notin (x,,y)", "a notin (,x,y)"],
    ["in", "in"],
    ["in in (in,notin)", "in in (in,notin)"],
    ["notin notin (in)", "notin!=in"],
    ["example.dev/a=b", "example.dev/a=b"],
    ["a>3,a<10", "a<10,a>3"]
  ]
  for (const [text, canonical] of texts) {
    it(`reads ${JSON.stringify(text)} and prints ${JSON.stringify(canonical)}`, () => {
      assert.strictEqual(selector(text).text, canonical)
      assert.deepStrictEqual(selector(canonical).requirements, selector(text).requirements)
    })
  }
  const wrong: ReadonlyArray<readonly [text: string, at: number, found: string, why: string]> = [
    [",", 0, ",", "a label's key"],
    ["a,", 2, "the end", "a label's key"],
    ["a,,b", 2, ",", "a label's key"],
    ["!a=b", 2, "=", `"," or the end`],
    ["!", 1, "the end", "a label's key"],
    ["!!a", 1, "!", "a label's key"],
    ["a b", 2, "b", "one of ="],
    ["a in", 4, "the end", `"("`],
    ["a in b", 5, "b", `"("`],
    ["a in (b", 7, "the end", `")"`],
    ["a in (b c)", 8, "c", `")"`],
    ["a=b=c", 3, "=", `"," or the end`],
    ["a=b c", 4, "c", `"," or the end`],
    ["a=>b", 2, ">", `"," or the end`],
    ["a>=1", 2, "=", "whole number"],
    ["a||b", 0, "a||b", "must not contain"],
    ["a-=b", 0, "a-", "letter or digit at both ends"],
    ["é=b", 0, "é", "must not contain"],
    ["x,a=b/c", 4, "b/c", "must not contain"],
    ["a in (ok, no_)", 10, "no_", "letter or digit at both ends"],
    ["a>x", 2, "x", "whole number"],
    ["a<9223372036854775808", 2, "9223372036854775808", "whole number"],
    [`a=${"b".repeat(64)}`, 2, "b".repeat(64), "at most 63"],
    [`${"a".repeat(64)}=b`, 0, "a".repeat(64), "at most 63"],
    ["a\u00a0=b", 0, "a\u00a0", "must not contain"]
  ]
  for (const [text, at, found, why] of wrong) {
    it(`refuses ${JSON.stringify(text.slice(0, 30))}, saying where, what stands there and what would be right`, () => {
      const error = refusal(Selector.parse(text))
      assert.strictEqual(error.selector, text)
      assert.strictEqual(error.found, found)
      assert.include(error.why, why)
      assert.strictEqual(error.at, at)
    })
  }
  it("gives a verdict on a very long text", () => {
    const many = Array.from({ length: 100_000 }, (_, i) => `k${i}=v`).join()
    assert.strictEqual(selector(many).requirements.length, 100_000)
    assert.include(refusal(Selector.parse(`${many},`)).why, "a label's key")
    assert.include(refusal(Selector.parse("(".repeat(1_000_000))).why, "a label's key")
  })
  it.prop(
    "any text is read or refused, and what is read prints to a text that reads the same",
    [Schema.String],
    ([text]) =>
      Result.match(Selector.parse(text), {
        onFailure: () => true,
        onSuccess: ({ text }) => selector(text).text === text
      }),
    many
  )
})

describe("the object form", () => {
  it("says the same as the text", () => {
    const form: Selector.LabelSelector = {
      matchLabels: { a: "b" },
      matchExpressions: [
        { key: "e", operator: "In", values: ["y", "x"] },
        { key: "f", operator: "NotIn", values: ["z"] },
        { key: "g", operator: "Exists" },
        { key: "h", operator: "DoesNotExist", values: [] }
      ]
    }
    assert.strictEqual(Result.getOrThrow(Selector.fromLabelSelector(form)).text, "a=b,e in (x,y),f!=z,g,!h")
    assert.strictEqual(Result.getOrThrow(Selector.fromLabelSelector({})).text, Selector.everything.text)
  })
  it("is refused with the path of what is wrong", () => {
    const cases: ReadonlyArray<readonly [form: Selector.LabelSelector, at: string, why: string]> = [
      [{ matchLabels: { "a b": "c" } }, `matchLabels["a b"]`, "key must not contain"],
      [{ matchLabels: { a: "b c" } }, `matchLabels["a"]`, "value must not contain"],
      [{ matchExpressions: [{ key: "a", operator: "In" }] }, "matchExpressions[0].values", "at least one"],
      [
        { matchExpressions: [{ key: "a", operator: "Exists", values: ["b"] }] },
        "matchExpressions[0].values",
        "takes no"
      ],
      [{ matchExpressions: [{ key: "", operator: "Exists" }] }, "matchExpressions[0].key", "must not be empty"]
    ]
    for (const [form, at, why] of cases) {
      const error = refusal(Selector.fromLabelSelector(form))
      assert.strictEqual(error.at, at)
      assert.include(error.why, why)
    }
  })
  it("decodes and encodes by Schema, as text too", () => {
    const read = Schema.decodeSync(Selector.FromLabelSelector)({ matchLabels: { a: "b" } })
    assert.strictEqual(read.text, "a=b")
    assert.deepStrictEqual(Schema.encodeSync(Selector.FromLabelSelector)(read), {
      matchExpressions: [{ key: "a", operator: "In", values: ["b"] }]
    })
    assert.strictEqual(Schema.decodeSync(Selector.FromText)("a in (b)").text, "a=b")
    assert.strictEqual(Schema.encodeSync(Selector.FromText)(read), "a=b")
    assert.throws(() => Schema.decodeSync(Selector.FromText)("a in"), /character 4/)
    assert.throws(() => Schema.encodeSync(Selector.FromLabelSelector)(selector("a>1")), /compares numbers/)
  })
  it.prop("goes there and back unchanged", [anySelector], ([selector]) => {
    const form = Selector.toLabelSelector(selector)
    return form === undefined
      ? selector.requirements.some(({ operator }) => operator === "Gt" || operator === "Lt")
      : Result.getOrThrow(Selector.fromLabelSelector(form)).text === selector.text
  }, many)
})

describe("matches", () => {
  const cases: ReadonlyArray<readonly [text: string, labels: Selector.Labels | undefined, matches: boolean]> = [
    ["", undefined, true],
    ["", { a: "b" }, true],
    ["a=b", { a: "b", c: "d" }, true],
    ["a=b", { a: "c" }, false],
    ["a=b", undefined, false],
    ["a=", { a: "" }, true],
    ["a=", {}, false],
    ["a!=b", {}, true],
    ["a!=b", { a: "c" }, true],
    ["a!=b", { a: "b" }, false],
    ["a in (b,c)", { a: "c" }, true],
    ["a in (b,c)", {}, false],
    ["a notin (b,c)", {}, true],
    ["a notin (b,c)", { a: "c" }, false],
    ["a", { a: "" }, true],
    ["!a", { a: "" }, false],
    ["!a", undefined, true],
    ["a=b,!c", { a: "b", c: "" }, false],
    ["a>3", { a: "4" }, true],
    ["a>3", { a: "3" }, false],
    ["a>3", { a: "x" }, false],
    ["a>3", {}, false],
    ["a<3", { a: "0002" }, true],
    ["a<9223372036854775807", { a: "9223372036854775806" }, true],
    ["a>1", { a: "9223372036854775808" }, false],
    ["constructor", {}, false],
    ["toString!=x", {}, true]
  ]
  for (const [text, labels, expected] of cases) {
    it(`${JSON.stringify(text)} ${expected ? "selects" : "leaves out"} ${JSON.stringify(labels ?? "no labels")}`, () => {
      assert.strictEqual(Selector.matches(selector(text), labels), expected)
    })
  }
  it("nothing selects nothing, and is an ordinary text", () => {
    assert.isFalse(Selector.matches(Selector.nothing, {}))
    assert.isFalse(Selector.matches(Selector.nothing, { nothing: "" }))
    assert.strictEqual(selector(Selector.nothing.text).text, Selector.nothing.text)
  })
})

describe("index", () => {
  it("[D5] a value is found by the new and by the old labels, and once when both match", () => {
    const index = Selector.makeIndex<string>()
    index.add(selector("a=b"), "x")
    index.add(selector("a"), "x")
    const of = (labels?: Selector.Labels) => ({ metadata: labels === undefined ? {} : { labels } })
    assert.deepStrictEqual([...index.matchingEither(of({ a: "b" }), of({ a: "b" }))], ["x"])
    assert.deepStrictEqual([...index.matchingEither(of({}), of({ a: "b" }))], ["x"])
    assert.deepStrictEqual([...index.matchingEither(of({ a: "b" }), of())], ["x"])
    assert.deepStrictEqual([...index.matchingEither(of(), of())], [])
  })
  it("[D5] an object that had no labels leaves a selection of absence when it gains the label", () => {
    const index = Selector.makeIndex<string>()
    index.add(selector("!a"), "absent")
    index.add(Selector.everything, "all")
    const labelled = { metadata: { labels: { a: "b" } } }
    assert.deepStrictEqual([...index.matchingEither(labelled, { metadata: {} })].toSorted(), ["absent", "all"])
    assert.deepStrictEqual([...index.matchingEither(labelled, { metadata: { labels: {} } })].toSorted(), [
      "absent",
      "all"
    ])
    assert.deepStrictEqual([...index.matchingEither(labelled, undefined)], ["all"])
    assert.deepStrictEqual([...index.matchingEither(undefined, { metadata: {} })].toSorted(), ["absent", "all"])
    assert.deepStrictEqual([...index.matchingEither(undefined, undefined)], [])
  })
  it("[D4] a look-up tries few of many selectors, also where all share one requirement", () => {
    const index = Selector.makeIndex<number>()
    let tried = 0
    const counted = (text: string): Selector.Selector => {
      const made = selector(text)
      return { ...made, test: (labels) => (tried++, made.test(labels)) }
    }
    for (let i = 0; i < 10_000; i++) index.add(counted(`app=web,tenant=t${i}`), i)
    for (let i = 0; i < 10_000; i++) index.add(counted(`zone${i},app in (web,api)`), i)
    for (let i = 0; i < 10_000; i++) index.add(counted(`app=web,!only${i},team=x${i}`), i)
    assert.strictEqual(index.matching({ app: "web", tenant: "t77", zone5: "", team: "x9" }).size, 3)
    assert.isBelow(tried, 10)
  })
  it("keeps nothing of what was removed", () => {
    const index = Selector.makeIndex<number>()
    const texts = ["", "a", "!a", "a=b", "a in (b,c)", "a!=b", "a>1", "a,!b,c=d"]
    for (const text of texts) for (const value of [1, 2]) index.add(selector(text), value)
    assert.strictEqual(index.size(), texts.length)
    for (const text of texts) for (const value of [1, 2, 3]) index.remove(selector(text), value)
    index.remove(selector("never=added"), 1)
    assert.strictEqual(index.size(), 0)
    assert.strictEqual(index.matching({ a: "b" }).size, 0)
  })
  it.prop("agrees with trying each selector, through adds and removes", [steps], ([steps]) => {
    const index = Selector.makeIndex<number>()
    const model: Array<readonly [selector: Selector.Selector, value: number]> = []
    for (const step of steps) {
      const { selector: made } = step
      const at = model.findIndex(([selector, value]) => selector.text === made.text && value === step.value)
      if (step.add) {
        index.add(made, step.value)
        if (at < 0) model.push([made, step.value])
      } else {
        index.remove(made, step.value)
        if (at >= 0) model.splice(at, 1)
      }
      const tried = (labels: Selector.Labels | undefined) =>
        model.filter(([selector]) => Selector.matches(selector, labels)).map(([, value]) => value)
      assert.deepStrictEqual(sorted(index.matching(step.now)), sorted(new Set(tried(step.now))))
      assert.deepStrictEqual(
        sorted(index.matchingEither({ metadata: { labels: step.now } }, { metadata: { labels: step.before } })),
        sorted(new Set([...tried(step.now), ...tried(step.before)]))
      )
    }
  }, { arbitrary: { runs: 500, size: 30 } })
})

// ---------------------------------------------------------------------------------------------------------------------

const selector = (text: string): Selector.Selector => Result.getOrThrow(Selector.parse(text))

const refusal = <E>(result: Result.Result<unknown, E>): E => {
  if (Result.isFailure(result)) return result.failure
  throw new Error("was not refused")
}

const sorted = (values: Iterable<number>): ReadonlyArray<number> => [...values].toSorted((a, b) => a - b)
