/**
 * The guide is what happens: its code is that of the files beside it, and its commands print what it says.
 *
 * `SETPOINT_UPDATE=1` writes what the commands print into the guide: read the change before you commit it.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { printed } from "./support/vitest.ts"

const packageFolder = Path.join(import.meta.dirname, "..")
const folder = Path.join(packageFolder, "guide")
const guide = Path.join(packageFolder, "GUIDE.md")

interface Block {
  readonly language: string
  /** The command, or the name of the file. */
  readonly first: string
  readonly rest: string
}

const blocksIn = (text: string): ReadonlyArray<Block> =>
  [...text.matchAll(/^```(typescript|console)\n(?:\/\/ |\$ )(.*)\n([\s\S]*?)^```$/gm)].map(
    ([, language = "", first = "", rest = ""]) => ({ language, first, rest })
  )

const blocks = blocksIn(Fs.readFileSync(guide, "utf8"))

/** Indentation and the breaks of long lines are the page's. */
const collapsed = (text: string): string => text.replace(/\s+/g, " ").trim()

/** Long lines are broken where the page ends, under their own beginning. */
const wrapped = (text: string): string =>
  text.split("\n").flatMap((line) => {
    const indent = /^ */.exec(line)?.[0] ?? ""
    const lines: Array<string> = []
    for (let left = line; left !== "";) {
      const at = left.length <= 130 ? left.length : left.lastIndexOf(" ", 120)
      lines.push(left.slice(0, at))
      left = left.slice(at) === "" ? "" : `${indent}  ${left.slice(at + 1)}`
    }
    return lines.length === 0 ? [""] : lines
  }).join("\n")

const deadlineMillis = 110_000

describe("the guide", () => {
  it("has code and commands", () => {
    assert.isAtLeast(blocks.filter(({ language }) => language === "typescript").length, 3)
    assert.isAtLeast(blocks.filter(({ language }) => language === "console").length, 2)
  })

  it.each(blocks.filter(({ language }) => language === "typescript"))("shows $first as it is", ({ first, rest }) => {
    assert.include(collapsed(Fs.readFileSync(Path.join(folder, first), "utf8")), collapsed(rest))
  })

  it("shows what its commands print", async () => {
    const pages = Path.join(folder, "pages")
    for (const { first, rest } of blocks.filter(({ language }) => language === "console")) {
      const output = await printed(folder, first)
      if (process.env["SETPOINT_UPDATE"] === "1") {
        const text = Fs.readFileSync(guide, "utf8")
        const [fence, end] = [`\`\`\`console\n$ ${first}\n`, "```"]
        Fs.writeFileSync(guide, text.replace(fence + rest + end, () => fence + wrapped(output) + end))
      } else assert.strictEqual(collapsed(rest), collapsed(output), first)
    }
    const [page = ""] = Fs.readdirSync(pages)
    assert.include(
      Fs.readFileSync(Path.join(pages, page), "utf8"),
      "<h1>Database orders came to rest, and does not match"
    )
    Fs.rmSync(pages, { recursive: true })
  }, deadlineMillis)
})
