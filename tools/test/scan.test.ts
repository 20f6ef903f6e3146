import { assert, describe, it } from "@effect/vitest"
import { importsOf, scan } from "../scan.ts"

describe("scan", () => {
  it("offsets and lines stay where they were", () => {
    const text = "/** a\n * b */\nconst a = \"x\" // c\nconst b = `y ${a} z`\n"
    const { code, withoutComments } = scan(text)
    assert.strictEqual(code.length, text.length)
    assert.strictEqual(withoutComments.length, text.length)
    assert.strictEqual(code.split("\n").length, text.split("\n").length)
  })

  it("a template's text is blanked and its expressions are code, nested ones too", () => {
    const { code } = scan("const a = `one ${f({ b: `two ${three}` })} four` + five")
    for (const word of ["three", "five", "f({ b:"]) assert.include(code, word)
    for (const word of ["one", "two", "four"]) assert.notInclude(code, word)
  })

  it("a slash divides after a value and opens a pattern elsewhere", () => {
    const { code } = scan("const a = (b) / c / d\nconst e = /process\\.[/]x/.test(f) // g\nreturn /h/")
    for (const word of ["c / d", ".test(f)"]) assert.include(code, word)
    for (const word of ["process", "g", "h"]) assert.notInclude(code, ` ${word}`)
  })

  it("quotes in comments and comments in quotes open nothing", () => {
    const { code } = scan("// it's\nconst a = \"// no\" + 'it\\'s /*'\nconst b = 1")
    assert.include(code, "const b = 1")
  })

  it("doc comments come without their stars", () => {
    assert.deepStrictEqual(scan("/**\n * One.\n *\n *   two\n */\n").docs.map((doc) => doc.text.trim()), [
      "One.\n\n  two"
    ])
  })

  it("imports are found in every form, with the line of the module's name", () => {
    const text = `import * as A from "a"
import type { B } from "b"
import "c"
import {
  d
} from "d"
export * as E from "e"
export { f } from 'f'
export const g = "not-g"
const h = import("h")
`
    assert.deepStrictEqual(importsOf(scan(text)).map(({ from, line }) => `${from}:${line}`).toSorted(), [
      "a:1",
      "b:2",
      "c:3",
      "d:6",
      "e:7",
      "f:8",
      "h:10"
    ])
  })
})
