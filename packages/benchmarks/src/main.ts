/**
 * `pnpm bench [name…] [--peers] [--quick] [--rounds N] [--keep FILE]`
 *
 * Runs the benches whose name or id begins so (all when none is named), prints the table and keeps it in
 * `results/latest.json`.
 */
import { spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from "node:os"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { benches } from "./benches.ts"
import * as Report from "./report.ts"
import * as Rounds from "./rounds.ts"

const say = (line: string): void => void process.stderr.write(`${line}\n`)

const firstLine = (command: string, ...args: ReadonlyArray<string>): string =>
  spawnSync(command, args, { encoding: "utf8" }).stdout?.trim().split("\n")[0] ?? ""

const machine = () => ({
  cpu: cpus()[0]?.model ?? "unknown",
  cores: availableParallelism(),
  memory_gib: Math.round(totalmem() / 1024 ** 3),
  system: `${platform()} ${release()} ${arch()}`,
  /** What else ran when the benches began: above the cores, times are not to be trusted. */
  load: loadavg()[0],
  node: process.version,
  go: firstLine("go", "version"),
  rust: firstLine("rustc", "--version")
})

const commit = (): string => {
  const hash = firstLine("git", "rev-parse", "--short=12", "HEAD")
  return firstLine("git", "status", "--porcelain", "--untracked-files=no") === "" ? hash : `${hash} with changes`
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    peers: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    rounds: { type: "string" },
    keep: { type: "string", default: fileURLToPath(new URL("../results/latest.json", import.meta.url)) }
  }
})

const chosen = positionals.length === 0
  ? benches
  : benches.filter(({ id, name }) =>
    positionals.some((wanted) => name.startsWith(wanted) || (id ?? "").toLowerCase().startsWith(wanted.toLowerCase()))
  )
if (chosen.length === 0) {
  say(`no bench begins with ${positionals.join(" or ")}; there are ${benches.map(({ name }) => name).join(", ")}`)
  process.exit(1)
}
const rounds = Number(values.rounds ?? (values.quick ? 1 : 5))
if (!Number.isInteger(rounds) || rounds < 1) {
  say(`--rounds takes a whole number from 1, not ${values.rounds}`)
  process.exit(1)
}

const load = loadavg()[0] ?? 0
if (load > availableParallelism() / 2) {
  say(`THE MACHINE IS BUSY (load ${load.toFixed(1)}): the times will not be trustworthy`)
}
const started = new Date()
const about = { date: started.toISOString(), commit: commit(), machine: machine(), rounds }

const keep = (measurements: ReadonlyArray<Rounds.Measurement>): void => {
  const rows = Report.rows(benches, measurements).map(Report.json)
  const result = { ...about, rows, measurements: Report.figures(measurements) }
  mkdirSync(dirname(values.keep), { recursive: true })
  writeFileSync(values.keep, `${JSON.stringify(result, undefined, 2)}\n`)
}

const measurements = await Rounds.run(chosen, {
  rounds,
  quick: values.quick,
  withPeers: values.peers,
  say,
  soFar: keep
})
process.stdout.write(`${Report.table(Report.rows(benches, measurements))}\n`)
say(`kept in ${values.keep}`)
