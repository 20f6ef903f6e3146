/** `pnpm examples [name …]`: runs each example by its script `check`, else `start`. The demo is `pnpm demo`. */
import { conclude, examples, isMain, manifestOf, runPnpm } from "./workspace.ts"

const deadlineMillis = 180_000

/** An example without a script would never be run again by anyone: that is a problem too. */
const runExample = (dir: string): ReadonlyArray<string> => {
  const scripts = manifestOf(dir).scripts ?? {}
  if ("demo" in scripts) {
    console.log(`\n${dir}: runs as pnpm demo`)
    return []
  }
  const script = ["check", "start"].find((name) => name in scripts)
  if (script === undefined) return [`${dir}: has no script "check" or "start". Add the command that runs it.`]
  console.log(`\n${dir}: pnpm ${script}`)
  const { code, seconds } = runPnpm(["--dir", dir, "run", script], { show: true, timeoutMillis: deadlineMillis })
  console.log(`${dir}: ${code === 0 ? "ok" : "FAIL"} (${seconds.toFixed(1)} s)`)
  return code === 0 ? [] : [`${dir}: pnpm ${script} failed. Run: pnpm --dir ${dir} run ${script}`]
}

const main = (only: ReadonlyArray<string>): void => {
  const chosen = examples().filter((dir) => only.length === 0 || only.some((name) => dir === `examples/${name}`))
  const none = chosen.length === 0
    ? ["No example was found in examples/. A green run of nothing would say nothing."]
    : []
  conclude(`${chosen.length} examples ran.`, [...none, ...chosen.flatMap(runExample)])
}

if (isMain(import.meta)) main(process.argv.slice(2))
