/**
 * `pnpm pack:check`: builds and packs every package that is published, installs the packed files in a small project
 * outside the repository, imports each module there, type-checks it, and runs `tools/outside/*.ts`.
 */
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { conclude, filesUnder, isMain, type Package, packages, readJson, root, run, runPnpm } from "./workspace.ts"

const versions = readJson<{ readonly devDependencies: Record<string, string> }>("package.json").devDependencies

const modulesOf = (of: Package): ReadonlyArray<string> => [
  of.name,
  ...filesUnder(`${of.dir}/src`, ".ts").map(({ path }) => path.slice(`${of.dir}/src/`.length, -".ts".length))
    .filter((name) => !name.includes("/") && name !== "index").map((name) => `${of.name}/${name}`)
]

const internalsOf = (of: Package): ReadonlyArray<string> =>
  filesUnder(`${of.dir}/src/internal`, ".ts").map(({ path }) => `${of.name}${path.slice(`${of.dir}/src`.length, -3)}`)

const identifier = (specifier: string): string => specifier.replace(/[^A-Za-z0-9]+/g, "_")

/** Imports each module for its types and for its values. */
const importAll = (modules: ReadonlyArray<string>): string => {
  const imports = modules.map((name) => `import * as ${identifier(name)} from "${name}"`)
  const values = modules.map((name) => `  ["${name}", ${identifier(name)}]`)
  return `${imports.join("\n")}
const modules: ReadonlyArray<readonly [string, object]> = [
${values.join(",\n")}
]
console.log(modules.length + " modules imported")
`
}

/** What is internal cannot be reached: each import must fail. */
const reachInternals = (of: ReadonlyArray<Package>): string => `
const internals = ${JSON.stringify(of.flatMap(internalsOf))}
for (const name of internals) {
  const reached = await import(name).then(() => true, () => false)
  if (reached) throw new Error(name + " can be imported from outside. Its package's exports must say null.")
}
`

const tsconfig = {
  compilerOptions: {
    target: "ES2022",
    lib: ["ES2023", "ESNext.Disposable", "DOM"],
    module: "NodeNext",
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: false,
    types: ["node"]
  },
  include: ["*.ts"]
}

/** What a user's project holds: our packed files, and from the registry what they ask for as peers. */
const writeProject = (folder: string, packed: ReadonlyArray<Package>, tarballs: Record<string, string>): void => {
  const peers = [...new Set(packed.flatMap((of) => of.peerDependencies))].filter((name) => !(name in tarballs))
  const own = ["effect", "typescript", "@types/node", ...peers]
  const dependencies = { ...tarballs, ...Object.fromEntries(own.map((name) => [name, versions[name] ?? "*"])) }
  const overrides = Object.entries(tarballs).map(([name, file]) => `  "${name}": "${file}"\n`).join("")
  Fs.writeFileSync(
    Path.join(folder, "package.json"),
    JSON.stringify({ name: "outside", private: true, type: "module", dependencies }, undefined, 2)
  )
  Fs.writeFileSync(
    Path.join(folder, "pnpm-workspace.yaml"),
    `overrides:\n${overrides}allowBuilds:\n  esbuild: false\n  msgpackr-extract: false\n`
  )
  Fs.writeFileSync(Path.join(folder, "tsconfig.json"), JSON.stringify(tsconfig))
  Fs.writeFileSync(Path.join(folder, "modules.ts"), importAll(packed.flatMap(modulesOf)) + reachInternals(packed))
}

/** A step that fails ends the check: what follows could only fail for the same reason. */
class Failed extends Error {}

const must = (what: string, ran: { readonly code: number; readonly output: string }): string => {
  if (ran.code !== 0) throw new Failed(`${what} failed:\n${ran.output}`)
  return ran.output
}

/** Output of a module that is no more would else be packed. */
const removeOutput = (of: Package): void => {
  Fs.rmSync(Path.join(root, of.dir, "dist"), { recursive: true, force: true })
  Fs.rmSync(Path.join(root, of.dir, "tsconfig.tsbuildinfo"), { force: true })
}

const packInto = (folder: string, of: Package): string => {
  const before = new Set(Fs.readdirSync(folder))
  must(`pnpm pack in ${of.dir}`, runPnpm(["pack", "--pack-destination", folder], { cwd: Path.join(root, of.dir) }))
  const made = Fs.readdirSync(folder).find((name) => !before.has(name))
  if (made === undefined) throw new Failed(`pnpm pack in ${of.dir} left no file behind.`)
  return `file:${Path.join(folder, made)}`
}

const main = (): void => {
  const published = packages().filter((of) => !of.isPrivate)
  const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "setpoint-outside-"))
  try {
    for (const of of published) removeOutput(of)
    must("pnpm build", runPnpm(["run", "build"]))
    const tarballs = Object.fromEntries(published.map((of) => [of.name, packInto(folder, of)]))
    writeProject(folder, published, tarballs)
    const programs = filesUnder("tools/outside", ".ts").map(({ path }) => Path.basename(path))
    for (const name of programs) Fs.copyFileSync(Path.join(root, "tools/outside", name), Path.join(folder, name))
    must("Installing the packed packages", runPnpm(["install", "--prefer-offline"], { cwd: folder }))
    const tsc = Path.join(folder, "node_modules", ".bin", "tsc")
    must("Type-checking against the packed packages", run(tsc, ["-p", "."], { cwd: folder }))
    for (const name of ["modules.ts", ...programs]) {
      must(
        `Running ${name} against the packed packages`,
        run(process.execPath, [name], { cwd: folder, timeoutMillis: 60_000 })
      )
    }
    conclude(`${published.length} packages pack, install, type-check and run (${programs.length} programs).`, [])
  } catch (error) {
    if (!(error instanceof Failed)) throw error
    conclude("", [error.message])
  } finally {
    Fs.rmSync(folder, { recursive: true, force: true })
  }
}

if (isMain(import.meta)) main()
