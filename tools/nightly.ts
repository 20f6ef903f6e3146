/**
 * `pnpm nightly [part …]`: the tests in their large sizes, with a new seed each time. A part of the work (`kernel`,
 * `dynamic`, `testing`; `pairs`: 100,000 pairs of equal runs; `corpus-ac`, `corpus-dj`, `corpus-k`: all pairs of deviations
 * of the corpus) or a vitest project; all parts of the work where none is named.
 *
 * Tests read `SETPOINT_NIGHTLY` (1) and `SETPOINT_SEED`. To run a seed again: SETPOINT_SEED=… pnpm nightly PART
 */
import { randomInt } from "node:crypto"
import { conclude, isMain, runBin } from "./workspace.ts"

const limitMinutes = 30

const projects = (...names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.flatMap((name) => ["--project", name])

/** Programs in the simulator, examples too, belong to `testing`. */
const withoutSimulations = ["--exclude", "**/*.sim.test.ts"]

/** A part of the work, by the projects and files that it is tested by. Any vitest project is a part too. */
const parts: { readonly [part: string]: ReadonlyArray<string> } = {
  kernel: [...projects("setpoint", "@setpoint/sql", "fleet"), ...withoutSimulations],
  dynamic: [
    ...projects("setpoint", "blueprints"),
    ...withoutSimulations,
    "Watch",
    "Dynamic",
    "Instance",
    "examples/blueprints"
  ],
  testing: [
    ...projects("@setpoint/testing", "hello", "owned", "testing-example", "own-store", "fleet", "blueprints"),
    "--exclude",
    "**/{Corpus*,Pairs}.test.ts",
    "packages/testing",
    "examples/hello",
    "examples/owned",
    "examples/own-store",
    ".sim.test"
  ],
  pairs: [...projects("@setpoint/testing"), "Pairs"],
  "corpus-ac": [...projects("@setpoint/testing"), "CorpusAC"],
  "corpus-dj": [...projects("@setpoint/testing"), "CorpusDH", "CorpusIJ"],
  "corpus-k": [...projects("@setpoint/testing"), "CorpusK"]
}

const runPart = (part: string, seed: string): ReadonlyArray<string> => {
  console.log(`${part}: SETPOINT_SEED=${seed}`)
  const { code, seconds } = runBin("vitest", ["run", "--maxWorkers=100%", ...(parts[part] ?? ["--project", part])], {
    env: { SETPOINT_NIGHTLY: "1", SETPOINT_SEED: seed },
    show: true,
    timeoutMillis: limitMinutes * 60_000
  })
  console.log(`${part}: ${(seconds / 60).toFixed(1)} minutes`)
  return code === 0 ? [] : [
    `${part} failed, or took over ${limitMinutes} minutes. Again: SETPOINT_SEED=${seed} pnpm nightly ${part}`
  ]
}

const main = (wanted: ReadonlyArray<string>): void => {
  const seed = process.env["SETPOINT_SEED"] ?? String(randomInt(2 ** 31))
  const chosen = wanted.length === 0 ? Object.keys(parts) : wanted
  conclude("The night was quiet.", chosen.flatMap((part) => runPart(part, seed)))
}

if (isMain(import.meta)) main(process.argv.slice(2))
