/** The peers' programs: how they are built, where they are kept, and how one of their runs is started. */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { PeerRun } from "./bench.ts"

const folder = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const sources = folder("../peers")
const built = folder("../node_modules/.cache/peers")

interface Program {
  readonly sources: string
  /** Whose presence says that the build was done. */
  readonly result: string
  readonly build: ReadonlyArray<string>
  readonly command: ReadonlyArray<string>
}

const programs: { readonly [name in PeerRun["program"]]: Program } = {
  go: {
    sources: join(sources, "go"),
    result: join(built, "go"),
    build: ["go", "build", "-o", join(built, "go"), "."],
    command: [join(built, "go")]
  },
  kro: {
    sources: join(sources, "go", "kro"),
    result: join(built, "kro"),
    build: ["go", "build", "-o", join(built, "kro"), "."],
    command: [join(built, "kro")]
  },
  rust: {
    sources: join(sources, "rust"),
    result: join(built, "rust", "release", "peers"),
    build: ["cargo", "build", "--release", "--target-dir", join(built, "rust")],
    command: [join(built, "rust", "release", "peers")]
  },
  node: {
    sources: join(sources, "node"),
    result: join(sources, "node", "node_modules", "@kubernetes", "client-node", "package.json"),
    build: ["npm", "ci", "--no-audit", "--no-fund"],
    command: [process.execPath, "--expose-gc", join(sources, "node", "peers.mjs")]
  }
}

const newest = (path: string): number =>
  Math.max(
    ...readdirSync(path, { withFileTypes: true }).filter((entry) => entry.name !== "node_modules").map((entry) =>
      entry.isDirectory() && entry.name !== "kro"
        ? newest(join(path, entry.name))
        : /\.(go|mod|sum|rs|toml|json)$/.test(entry.name)
        ? statSync(join(path, entry.name)).mtimeMs
        : 0
    )
  )

const isBuilt = ({ result, sources }: Program): boolean =>
  existsSync(result) && statSync(result).mtimeMs >= newest(sources)

const hasTool = (tool: string): boolean =>
  spawnSync(tool, [tool === "go" ? "version" : "--version"], { stdio: "ignore" }).status === 0

/**
 * Builds the program where it is missing or older than its sources, at low priority. Says why it is absent where it
 * stays so.
 */
export const prepare = (name: PeerRun["program"], say: (line: string) => void): "ready" | "absent" => {
  const program = programs[name]
  if (isBuilt(program)) return "ready"
  const [tool = "", ...args] = program.build
  if (!hasTool(tool)) {
    say(`PEER ABSENT: ${name}: there is no ${tool} on this machine, so nothing is compared with it`)
    return "absent"
  }
  say(`building ${name} (${program.build.join(" ")}) on ${availableParallelism()} cores; minutes the first time`)
  mkdirSync(built, { recursive: true })
  const { status } = spawnSync("nice", ["-n", "19", tool, ...args], { cwd: program.sources, stdio: "inherit" })
  if (status === 0) return "ready"
  say(`PEER ABSENT: ${name}: its build failed (see above), so nothing is compared with it`)
  return "absent"
}

/** The command line of one run. */
export const command = ({ args, program }: PeerRun): ReadonlyArray<string> => [
  ...programs[program].command,
  ...args,
  ...(program === "go" ? ["-fixtures", join(sources, "fixtures")] : [])
]
