/** What every tool asks: where the repository is, what is in it, and how to run a command. */
import { spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"

export const root = Path.resolve(import.meta.dirname, "..")

export interface Package {
  /** Folder, relative to the root: `packages/setpoint`. */
  readonly dir: string
  readonly name: string
  readonly isPrivate: boolean
  readonly dependencies: ReadonlyArray<string>
  readonly peerDependencies: ReadonlyArray<string>
}

export interface SourceFile {
  /** Relative to the root, with forward slashes. */
  readonly path: string
  readonly text: string
}

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly dependencies?: Record<string, string>
  readonly peerDependencies?: Record<string, string>
  readonly devDependencies?: Record<string, string>
  readonly scripts?: Record<string, string>
}

export const readJson = <A>(path: string): A => JSON.parse(Fs.readFileSync(Path.join(root, path), "utf8"))

export const manifestOf = (dir: string): Manifest => readJson<Manifest>(`${dir}/package.json`)

const foldersWithManifest = (parent: string): ReadonlyArray<string> => {
  const folder = Path.join(root, parent)
  if (!Fs.existsSync(folder)) return []
  return Fs.readdirSync(folder).toSorted().map((name) => `${parent}/${name}`)
    .filter((dir) => Fs.existsSync(Path.join(root, dir, "package.json")))
}

export const packages = (): ReadonlyArray<Package> =>
  foldersWithManifest("packages").map((dir) => {
    const manifest = manifestOf(dir)
    return {
      dir,
      name: manifest.name,
      isPrivate: manifest.private === true,
      dependencies: Object.keys(manifest.dependencies ?? {}),
      peerDependencies: Object.keys(manifest.peerDependencies ?? {})
    }
  })

export const examples = (): ReadonlyArray<string> => foldersWithManifest("examples")

const skipped = new Set(["node_modules", "dist", ".git"])

/** Every file under `dir` (or `dir` itself) whose name ends in `ending`, sorted; build output is left out. */
export const filesUnder = (dir: string, ending: string): ReadonlyArray<SourceFile> => {
  const start = Path.join(root, dir)
  if (!Fs.existsSync(start)) return []
  const found: Array<string> = []
  const visit = (path: string): void => {
    if (Fs.statSync(path).isFile()) {
      if (path.endsWith(ending)) found.push(path)
      return
    }
    for (const name of Fs.readdirSync(path)) if (!skipped.has(name)) visit(Path.join(path, name))
  }
  visit(start)
  return found.toSorted().map((path) => ({
    path: Path.relative(root, path).split(Path.sep).join("/"),
    text: Fs.readFileSync(path, "utf8")
  }))
}

export interface Ran {
  readonly code: number
  readonly output: string
  readonly seconds: number
}

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Record<string, string>
  /** Show the output while it comes, instead of returning it. */
  readonly show?: boolean
  readonly timeoutMillis?: number
}

export const run = (command: string, args: ReadonlyArray<string>, options: RunOptions = {}): Ran => {
  const start = performance.now()
  const child = spawnSync(command, args, {
    cwd: options.cwd ?? root,
    env: { ...process.env, ...options.env },
    stdio: ["ignore", options.show ? "inherit" : "pipe", options.show ? "inherit" : "pipe"],
    encoding: "utf8",
    maxBuffer: 256 * 1024 * 1024,
    timeout: options.timeoutMillis
  })
  const failure = child.error === undefined ? "" : `${command}: ${child.error.message}\n`
  return {
    code: child.status ?? 1,
    output: `${child.stdout ?? ""}${child.stderr ?? ""}${failure}`,
    seconds: (performance.now() - start) / 1000
  }
}

/** Run a program of the workspace's own `node_modules/.bin`. */
export const runBin = (name: string, args: ReadonlyArray<string>, options: RunOptions = {}): Ran =>
  run(Path.join(root, "node_modules", ".bin", name), args, options)

/** The pnpm that started this script; where there is none, the one that `npx` brings. */
export const runPnpm = (args: ReadonlyArray<string>, options: RunOptions = {}): Ran => {
  const parent = process.env["npm_execpath"]
  return parent !== undefined && Path.basename(parent).startsWith("pnpm")
    ? run(parent, args, options)
    : run("npx", ["-y", "pnpm@12", ...args], options)
}

/** Print the problems and end the process with 1; with none, print `ok`. */
export const conclude = (ok: string, problems: ReadonlyArray<string>): void => {
  for (const problem of problems) console.log(problem)
  console.log(problems.length === 0 ? ok : `${problems.length} ${problems.length === 1 ? "problem" : "problems"}.`)
  process.exitCode = problems.length === 0 ? 0 : 1
}

/** True where the file was started by `node tools/x.ts`, false where a test or a tool imports it. */
export const isMain = (meta: ImportMeta): boolean =>
  process.argv[1] !== undefined && Fs.realpathSync(process.argv[1]) === meta.filename
