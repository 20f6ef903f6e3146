import { assert, describe, it } from "@effect/vitest"
import { examplesOf, undocumented } from "../docs.ts"

const source = (text: string) => ({ path: "packages/setpoint/src/Kind.ts", text })
const doc = "/**\n * Makes a kind.\n *\n * @since 0.1.0\n * @category constructors\n */\n"

describe("examples", () => {
  it("a fence in a doc comment is an example, with the line it begins at", () => {
    const text = "\n/**\n * Doc.\n *\n * ```ts\n * const a = {\n *   b: 1\n * }\n * ```\n */\nexport const a = 1\n"
    assert.deepStrictEqual(examplesOf(source(text)), [
      { path: "packages/setpoint/src/Kind.ts", line: 6, text: "const a = {\n  b: 1\n}\n", runs: true }
    ])
  })

  it("a fence of Markdown is an example; no-run keeps it from running; other languages are none", () => {
    const text = "# A\n\n```ts no-run\nrun()\n```\n\n```sh\nls\n```\n\n```ts\n1\n```\n"
    assert.deepStrictEqual(
      examplesOf({ path: "README.md", text }).map(({ line, runs, text }) => [line, text, runs]),
      [[4, "run()\n", false], [12, "1\n", true]]
    )
  })
})

describe("documentation", () => {
  it("a documented export is fine", () => {
    assert.deepStrictEqual(undocumented(source(`${doc}export const make = 1\n`)), [])
  })

  it("an export without a doc, without @since or without @category is told", () => {
    assert.match(undocumented(source("export const make = 1\n")).join(), /Kind\.ts:1: make has no doc comment/)
    assert.match(undocumented(source("/** @since 0.1.0 */\nexport type A = 1\n")).join(), /A has no @category/)
    assert.match(undocumented(source("/** x */\nexport interface A {}\n")).join(), /no @since and no @category/)
  })

  it("the doc of another declaration does not count", () => {
    assert.strictEqual(undocumented(source(`${doc}const a = 1\nexport const make = 1\n`)).length, 1)
  })

  it("overloads are documented at the first, internals not at all", () => {
    const overloads = `${doc}export function make(a: 1): 1\nexport function make(a: 2): 2\n`
    assert.deepStrictEqual(undocumented(source(overloads)), [])
    assert.deepStrictEqual(undocumented(source("/** @internal */\nexport const a = 1\n")), [])
  })

  it("an exported list is documented name by name", () => {
    const list = `const delete_ = 1\nexport {\n  ${doc.replaceAll("\n", "\n  ")}delete_ as delete,\n  other\n}\n`
    assert.match(undocumented(source(list)).join(), /^[^,]*: other has no doc comment/)
  })
})
