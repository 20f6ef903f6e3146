/** A Vitest of its own, and all that it prints. */
import { assert } from "@effect/vitest"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Module from "node:module"
import * as Os from "node:os"
import * as Path from "node:path"

const { resolve } = Module.createRequire(import.meta.url)
const vitest = Path.join(Path.dirname(resolve("vitest/package.json")), "vitest.mjs")

/**
 * `SOME=thing npx vitest run name`, in a folder: what it prints, without the times, the places and the rules that differ
 * from run to run.
 */
export const printed = (folder: string, command: string): Promise<string> => {
  const words = command.split(" ")
  const isVariable = (word: string) => /^[A-Z_]+=/.test(word)
  const [npx, tool, ...args] = words.filter((word) => !isVariable(word))
  assert.deepStrictEqual([npx, tool], ["npx", "vitest"], command)
  const own = Object.entries(process.env).filter(([name]) => !/^(?:VITEST|SETPOINT_|FORCE_|NODE_)/.test(name))
  const given = words.filter(isVariable).map((word) => word.split("=", 2))
  const env = { ...Object.fromEntries(own), NO_COLOR: "1", ...Object.fromEntries(given) }
  return new Promise((done) => {
    const log = Path.join(Fs.mkdtempSync(Path.join(Os.tmpdir(), "setpoint-vitest-")), "log")
    const out = Fs.openSync(log, "w")
    const child = ChildProcess.spawn(process.execPath, [vitest, ...args], {
      cwd: folder,
      env,
      stdio: ["ignore", out, out] // one file, so that the lines are in their order
    })
    child.on("close", () => {
      Fs.closeSync(out)
      const lines = Fs.readFileSync(log, "utf8").split("\n").map((line) => line.replace(/ \d+ms\b/, "").trimEnd())
      Fs.rmSync(Path.dirname(log), { recursive: true })
      const kept = lines.filter((line) => !/^ RUN |^ +Start at|^ +Duration|^⎯+/.test(line))
      done(`${kept.join("\n").replace(/\n{3,}/g, "\n\n").trim()}\n`)
    })
  })
}
