/** `pnpm check`: every check that needs no test run. All of them run, also when one fails; a failing one says why. */
import * as Path from "node:path"
import { conclude, isMain, type Ran, root, run, runBin } from "./workspace.ts"

interface Step {
  readonly name: string
  readonly run: () => Ran
  readonly repair: string
}

const tool = (name: string, ...args: ReadonlyArray<string>) => (): Ran =>
  run(process.execPath, [Path.join(root, "tools", `${name}.ts`), ...args])

/** Forced: build info that an unpatched compiler left would hide Effect's diagnostics once. */
const types = (): Ran => {
  const patched = runBin("effect-tsgo", ["patch"])
  return patched.code === 0 ? runBin("tsc", ["-b", "--force", "tsconfig.json"]) : patched
}

const steps: ReadonlyArray<Step> = [
  { name: "types", run: types, repair: "pnpm types" },
  {
    name: "lint",
    run: () => runBin("oxlint", ["--deny-warnings"]),
    repair: "pnpm format, or pnpm lint for what is left"
  },
  { name: "format", run: () => runBin("dprint", ["check"]), repair: "pnpm format" },
  { name: "floors", run: tool("floors"), repair: "pnpm floors (stale barrels: pnpm barrel)" },
  { name: "laws", run: tool("laws", "--gaps"), repair: "pnpm laws" },
  { name: "parity", run: tool("parity"), repair: "pnpm parity --list F, K, O or C" },
  { name: "mutants", run: tool("mutants", "--check"), repair: "pnpm mutants ID, or pnpm mutants --write" },
  { name: "docs", run: tool("docs"), repair: "pnpm docs:check" },
  { name: "pack", run: tool("pack"), repair: "pnpm pack:check" }
]

const lastLine = (output: string): string => output.trim().split("\n").at(-1) ?? ""

const main = (only: ReadonlyArray<string>): void => {
  const failed: Array<string> = []
  for (const step of steps.filter(({ name }) => only.length === 0 || only.includes(name))) {
    const { code, output, seconds } = step.run()
    const time = `${seconds.toFixed(1)} s`.padStart(8)
    console.log(`${code === 0 ? "ok  " : "FAIL"} ${step.name.padEnd(7)} ${time}  ${lastLine(output)}`)
    if (code === 0) continue
    console.log(output.trim().split("\n").map((line) => `     ${line}`).join("\n"))
    failed.push(`${step.name} failed. To see it alone: ${step.repair}`)
  }
  conclude("Everything checked.", failed)
}

if (isMain(import.meta)) main(process.argv.slice(2))
