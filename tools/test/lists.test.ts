import { assert, describe, it } from "@effect/vitest"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { gaps, type Law, readLaws, states } from "../laws.ts"
import { judge, type Line } from "../parity.ts"
import { idsOf, type Title, titlesIn, titlesOfReport, unknownIds } from "../titles.ts"
import { readJson, root } from "../workspace.ts"

const numbered = (letter: string, count: number, width: number) =>
  Array.from({ length: count }, (_, at) => letter + String(at + 1).padStart(width, "0"))

describe("titles", () => {
  it("ids are those in brackets at the beginning", () => {
    assert.deepStrictEqual(idsOf("[F07] [Q2] adds collapse [Q3]"), ["F07", "Q2"])
    assert.deepStrictEqual(idsOf("adds collapse [Q3]"), [])
  })

  it("titles are found in any quotes, with their lines; comments count for nothing", () => {
    const text = `// it("[Q9] no")\nit.effect("[Q1] one", f)\nit(\`[Q2] \${name}\`, f)\n`
    assert.deepStrictEqual(
      titlesIn({ path: "a.test.ts", text }).map(({ at, ids, state }) => [at, ids[0], state]),
      [["a.test.ts:2", "Q1", "written"], ["a.test.ts:3", "Q2", "written"]]
    )
  })

  it("a skipped test holds nothing", () => {
    const text = `it.effect.skip("[Q1] one", f)\nit.todo("[Q2] two")\n`
    assert.deepStrictEqual(titlesIn({ path: "a.test.ts", text }).map((_) => _.state), ["skipped", "skipped"])
  })

  it("a test of a report carries the ids of its describes", () => {
    const [title] = titlesOfReport({
      startTime: 0,
      testResults: [{
        name: Path.join(root, "packages/x/test/a.test.ts"),
        assertionResults: [{ ancestorTitles: ["memory", "[S1] order"], title: "[C001] holds", status: "passed" }]
      }]
    })
    assert.deepStrictEqual(title, {
      ids: ["S1", "C001"],
      title: "[C001] holds",
      at: "packages/x/test/a.test.ts",
      state: "passed"
    })
  })

  it("an id that no list knows is told", () => {
    const titles = titlesIn({ path: "a.test.ts", text: `it("[Q99] [C014] x", f)` })
    assert.deepStrictEqual(unknownIds(titles, "Q", new Set(["Q1"])), [
      "a.test.ts:1: carries [Q99], which no list knows. Correct the id."
    ])
  })
})

describe("laws", () => {
  const law: Law = { id: "S1", text: "One order.", due: "kernel", file: "Store.ts" }
  const file = (text: string) => ({ path: "Store.ts", text })
  const test: Title = { ids: ["S1"], title: "[S1] x", at: "a:1", state: "written" }

  it("a law is stated where a doc comment names it, alone or within a range", () => {
    assert.isTrue(states(file("/** One order (S1). */"), "S1"))
    assert.isTrue(states(file("/** All of S1-S5 */"), "S3"))
    assert.isFalse(states(file("/** S10 */"), "S1"))
    assert.isFalse(states(file("// S1\nconst S1 = 1"), "S1"))
  })

  it("a law without statement or without a test is a gap, and the message says what to write", () => {
    assert.deepStrictEqual(gaps(law, file("/** S1 */"), [test]), [])
    assert.match(gaps(law, file("/** */"), [test]).join(), /no doc comment of Store\.ts names it/)
    assert.match(gaps(law, undefined, [test]).join(), /does not exist/)
    assert.match(gaps(law, file("/** S1 */"), []).join(), /no test has \[S1\]/)
    assert.strictEqual(gaps(law, file("/** S1 */"), [{ ...test, state: "skipped" }]).length, 1)
  })

  it("every law of the design has its line", () => {
    assert.deepStrictEqual(readLaws().laws.map((_) => _.id), [
      ...numbered("S", 13, 1),
      ...numbered("Q", 9, 1),
      ...numbered("E", 11, 1),
      ...numbered("D", 6, 1),
      ...numbered("R", 5, 1)
    ])
  })
})

describe("parity", () => {
  const line: Line = { id: "F01", text: "x", due: "kernel" }
  const title = (state: Title["state"]): Title => ({ ids: ["F01"], title: "[F01] x", at: "a:1", state })

  it("a failed test weighs more than a passed one, a passed one more than an answer", () => {
    assert.strictEqual(judge(line, [title("written")], [title("passed"), title("failed")]), "fails")
    assert.strictEqual(judge({ ...line, answered: "so" }, [title("written")], [title("passed")]), "holds")
    assert.strictEqual(judge({ ...line, answered: "so" }, [], []), "answered")
    assert.strictEqual(judge(line, [title("skipped")], [title("skipped")]), "missing")
  })

  it("every line of the four lists is here once, in order, with a part", () => {
    const lines = readJson<ReadonlyArray<Line>>("tools/parity.json")
    assert.deepStrictEqual(lines.map((_) => _.id), [
      ...numbered("F", 45, 2),
      ...numbered("K", 119, 2),
      ...numbered("O", 76, 2),
      ...numbered("C", 159, 3)
    ])
    const parts = new Set(["kernel", "dynamic", "testing", "stores", "release", "scale"])
    assert.isTrue(lines.every((_) => parts.has(_.due)))
  })
})

describe("root scripts", () => {
  it("each script that names a tool names one that exists", () => {
    const { scripts } = readJson<{ readonly scripts: Record<string, string> }>("package.json")
    const named = Object.values(scripts).flatMap((script) => script.match(/\btools\/[a-z]+\.ts/g) ?? [])
    assert.deepStrictEqual(named.filter((path) => !Fs.existsSync(Path.join(root, path))), [])
  })
})
