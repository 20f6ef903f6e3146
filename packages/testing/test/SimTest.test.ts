/** `it.sim` as a user of Vitest meets it. */
import { assert, describe, it } from "@effect/vitest"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { printed } from "./support/vitest.ts"

const folder = Path.join(import.meta.dirname, "fixtures", "sim")

/** What is printed of one failed test, from its title to the next. */
const failureOf = (output: string, title: string): string =>
  output.split("\n FAIL ").find((part) => part.trimStart().startsWith(`all.sim.ts > ${title}\n`)) ?? ""

describe("it.sim", () => {
  it("fails with the story, token and seed; says how far a slow search was; skips, and leaves pages", async () => {
    const pages = Fs.mkdtempSync(Path.join(Os.tmpdir(), "setpoint-pages-"))
    const output = await printed(folder, `SETPOINT_SEED=77 SETPOINT_SIM_HTML=${pages} npx vitest run`)
    assert.include(output, "5 tests | 4 failed | 1 skipped", output)

    const token = "ctl/apps/a/1/updateStatus:App/a=kill-after"
    const all = failureOf(output, "fails by trying all")
    assert.include(all, `  replay: Sim.replay(options, "${token}")\n  keep:   tokens: ["${token}"]\n  seed:   77\n`)
    assert.include(all, `  page:   ${Path.join(pages, "fails-by-trying-all.html")}\n`)
    assert.match(all, /ctl +update App a {4}rev 2 .*status\.phase: none → Done, .*all\.sim\.ts:\d+\n/)
    assert.notInclude(output, "Serialized Error")
    assert.notInclude(output, "ERROR (#")

    const chance = failureOf(output, "fails by chance")
    assert.match(chance, /the plain run does not fail; random run \d+ does\. {2}1 deviation(?:, shrunk from \d+)?:\n/)
    assert.include(chance, `keep:   tokens: ["${token}"]\n`)

    const slow = failureOf(output, "is too slow")
    assert.match(
      slow,
      /not done within 1\.5 s:\n {2}is too slow {3}\S.*: [\d,]+ of [\d,]+ {3}[\d,]+ runs, \d+ a second/
    )
    assert.include(slow, "a longer timeout as its third argument, or the search a lower `depth`, `maxRuns` or `random`")

    const nothing = failureOf(output, "checks nothing")
    assert.include(nothing, "`matches` was never false, not even before the first pass: it checks nothing")
    assert.notInclude(nothing, "keep:")

    assert.deepStrictEqual(Fs.readdirSync(pages).toSorted(), ["fails-by-chance.html", "fails-by-trying-all.html"])
    Fs.rmSync(pages, { recursive: true })
  }, 110_000)
})
