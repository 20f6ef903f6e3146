/**
 * `pnpm nightly [part …]`: the tests in their large sizes, with a new seed each time. A part is a vitest project.
 *
 * Tests read `SETPOINT_NIGHTLY` (1) and `SETPOINT_SEED`. To run a seed again: SETPOINT_SEED=… pnpm nightly PART
 */
import { randomInt } from "node:crypto"
import { conclude, isMain, runBin } from "./workspace.ts"

const limitMinutes = 30

const runPart = (part: string | undefined, seed: string): ReadonlyArray<string> => {
  const name = part ?? "all parts"
  console.log(`${name}: SETPOINT_SEED=${seed}`)
  const { code, seconds } = runBin("vitest", ["run", ...(part === undefined ? [] : ["--project", part])], {
    env: { SETPOINT_NIGHTLY: "1", SETPOINT_SEED: seed },
    show: true,
    timeoutMillis: limitMinutes * 60_000
  })
  console.log(`${name}: ${(seconds / 60).toFixed(1)} minutes`)
  return code === 0 ? [] : [
    `${name} failed, or took over ${limitMinutes} minutes. Again: SETPOINT_SEED=${seed} pnpm nightly ${part ?? ""}`
  ]
}

const main = (parts: ReadonlyArray<string>): void => {
  const seed = process.env["SETPOINT_SEED"] ?? String(randomInt(2 ** 31))
  const chosen = parts.length === 0 ? [undefined] : parts
  conclude("The night was quiet.", chosen.flatMap((part) => runPart(part, seed)))
}

if (isMain(import.meta)) main(process.argv.slice(2))
