/** A copy of the workspace to plant faults in: sources copied, what was installed linked. */
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { root } from "../workspace.ts"

const left = new Set(["node_modules", "dist", ".git", "results", "scratchpad"])

const copySources = (to: string): void =>
  Fs.cpSync(root, to, {
    recursive: true,
    filter: (path) => !left.has(Path.basename(path)) && !Fs.lstatSync(path).isSymbolicLink()
  })

/** Packages of the workspace are linked to their copies, all others to where they are installed. */
const linkInstalled = (from: string, to: string): void => {
  if (!Fs.existsSync(from)) return
  Fs.mkdirSync(to, { recursive: true })
  for (const name of Fs.readdirSync(from)) {
    if (name.startsWith(".") && name !== ".bin") continue
    const path = Path.join(from, name)
    if (name.startsWith("@") && !Fs.lstatSync(path).isSymbolicLink()) {
      linkInstalled(path, Path.join(to, name))
      continue
    }
    const real = Fs.realpathSync(path)
    const inside = Path.relative(root, real)
    const isOurs = !inside.startsWith("..") && !inside.startsWith("node_modules")
    Fs.symlinkSync(isOurs ? Path.join(copyOf(to), inside) : real, Path.join(to, name))
  }
}

/** The copy in which a `node_modules` lies. */
const copyOf = (path: string): string => path.slice(0, path.indexOf(prefix) + prefix.length + 6)

const prefix = "setpoint-mutants-"

const folders = (): ReadonlyArray<string> => [
  "",
  ...["packages", "examples"].flatMap((parent) =>
    Fs.readdirSync(Path.join(root, parent)).map((name) => `${parent}/${name}`)
  )
]

export interface Copy {
  readonly path: string
  readonly read: (file: string) => string
  readonly write: (file: string, text: string) => void
  readonly remove: () => void
}

export const make = (): Copy => {
  const path = Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), prefix)))
  copySources(path)
  for (const folder of folders()) {
    linkInstalled(Path.join(root, folder, "node_modules"), Path.join(path, folder, "node_modules"))
  }
  return {
    path,
    read: (file) => Fs.readFileSync(Path.join(path, file), "utf8"),
    write: (file, text) => Fs.writeFileSync(Path.join(path, file), text),
    remove: () => Fs.rmSync(path, { recursive: true, force: true })
  }
}
