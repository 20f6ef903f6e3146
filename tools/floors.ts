/** `pnpm floors`: who may import whom. The floors are ARCHITECTURE.md's; this file is where they are written down. */
import * as Path from "node:path"
import { bans, longFiles } from "./bans.ts"
import { stale } from "./barrel.ts"
import { importsOf, scan } from "./scan.ts"
import { conclude, filesUnder, isMain, type Package, packages, type SourceFile } from "./workspace.ts"

/** The modules of `setpoint`, from the ground up. A module imports from lower floors or its own. */
export const floors: ReadonlyArray<{ readonly name: string; readonly modules: ReadonlyArray<string> }> = [
  {
    name: "model",
    modules: [
      "Condition",
      "Kind",
      "Metrics",
      "Owner",
      "Pass",
      "Request",
      "Resource",
      "Revision",
      "Selector",
      "StoreError"
    ]
  },
  { name: "store", modules: ["Apply", "MemoryStore", "Store", "StoreDriver", "StoreRules", "WatchBuffer"] },
  { name: "flow", modules: ["Informer", "RateLimiter", "WatchCoordinator", "WatchManager", "WorkQueue"] },
  { name: "pass", modules: ["EventRecorder", "Finalizer", "InstanceWatcher", "Outcome", "Predicate", "Reconciler"] },
  { name: "engine", modules: ["Controller", "DynamicController", "GarbageCollector", "Health"] }
]

type Graph = ReadonlyMap<string, ReadonlyArray<string>>

/** Relative imports, file to files. `Path.posix` because the paths are the repository's, not the machine's. */
const graphOf = (files: ReadonlyArray<SourceFile>): Graph =>
  new Map(files.map((file) => [
    file.path,
    importsOf(scan(file.text)).filter((_) => _.from.startsWith("."))
      .map((_) => Path.posix.join(Path.posix.dirname(file.path), _.from))
  ]))

/** Each cycle once, as the files along it. */
export const cycles = (graph: Graph): ReadonlyArray<ReadonlyArray<string>> => {
  const found: Array<ReadonlyArray<string>> = []
  const done = new Set<string>()
  const trail: Array<string> = []
  const visit = (file: string): void => {
    const seenAt = trail.indexOf(file)
    if (seenAt !== -1) {
      found.push([...trail.slice(seenAt), file])
      return
    }
    if (done.has(file)) return
    trail.push(file)
    for (const next of graph.get(file) ?? []) visit(next)
    trail.pop()
    done.add(file)
  }
  for (const file of graph.keys()) visit(file)
  return found
}

const isInternal = (path: string): boolean => path.includes("/src/internal/")

/** The public modules that a file leans on: its own imports, and through internal files theirs. */
const publicImports = (graph: Graph, file: string): ReadonlySet<string> => {
  const found = new Set<string>()
  const seen = new Set<string>()
  const visit = (path: string): void => {
    for (const next of graph.get(path) ?? []) {
      if (!isInternal(next)) found.add(next)
      else if (!seen.has(next)) {
        seen.add(next)
        visit(next)
      }
    }
  }
  visit(file)
  return found
}

const moduleName = (path: string): string => Path.posix.basename(path, ".ts")

const floorOf = (path: string): number => floors.findIndex((floor) => floor.modules.includes(moduleName(path)))

/** Upward imports and modules without a floor, among `packages/setpoint/src`. An internal file stands where it leans. */
export const upwardImports = (files: ReadonlyArray<SourceFile>): ReadonlyArray<string> => {
  const graph = graphOf(files)
  return files.filter((file) => !isInternal(file.path) && moduleName(file.path) !== "index").flatMap(({ path }) => {
    const floor = floorOf(path)
    if (floor === -1) return [`${path}: has no floor. Give it one in tools/floors.ts, and in ARCHITECTURE.md.`]
    return [...publicImports(graph, path)].filter((target) => floorOf(target) > floor).map((target) =>
      `${path}: is on floor ${floor + 1} (${floors[floor]?.name}) and leans on ${moduleName(target)} of floor ` +
      `${floorOf(target) + 1}. Move what both need down, or the module up.`
    )
  })
}

const reportCycles = (files: ReadonlyArray<SourceFile>): ReadonlyArray<string> =>
  cycles(graphOf(files)).map((cycle) =>
    `${cycle[0]}: imports itself by way of ${
      cycle.slice(1).map(moduleName).join(" -> ")
    }. Move what they share to a lower file.`
  )

const packageOf = (specifier: string): string =>
  specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/")

/** Imports that leave the package: only declared ones, never another's internal. */
export const foreignImports = (of: Package, files: ReadonlyArray<SourceFile>): ReadonlyArray<string> => {
  const declared = new Set([...of.dependencies, ...of.peerDependencies])
  return files.flatMap((file) =>
    importsOf(scan(file.text)).flatMap(({ from, line }) => {
      const at = `${file.path}:${line}: imports "${from}"`
      if (from.startsWith(".")) {
        return Path.posix.join(Path.posix.dirname(file.path), from).startsWith(`${of.dir}/src/`)
          ? []
          : [`${at}, which is outside ${of.dir}/src. Import the package by its name.`]
      }
      if (/\/internal(\/|$)/.test(from) && packageOf(from) !== "effect") {
        return [`${at}, which is internal to its package. Use or add a public export.`]
      }
      if (of.name === "setpoint" && packageOf(from) !== "effect") {
        return [`${at}. setpoint depends on effect only: take it as a service, or put it in an adapter package.`]
      }
      return from.startsWith("node:") || packageOf(from) === of.name || declared.has(packageOf(from))
        ? []
        : [`${at}, which ${of.dir}/package.json does not declare. Declare it, or do without.`]
    })
  )
}

const dependsOnEffectOnly = (of: Package): ReadonlyArray<string> =>
  of.name !== "setpoint" ? [] : [...of.dependencies, ...of.peerDependencies].filter((name) => name !== "effect")
    .map((name) => `${of.dir}/package.json: declares ${name}. setpoint depends on effect only.`)

const problems = (): ReadonlyArray<string> =>
  packages().flatMap((of) => {
    const files = filesUnder(`${of.dir}/src`, ".ts")
    return [
      ...(of.name === "setpoint" ? upwardImports(files) : []),
      ...reportCycles(files),
      ...foreignImports(of, files),
      ...dependsOnEffectOnly(of),
      ...files.flatMap(bans)
    ]
  })

if (isMain(import.meta)) {
  for (const warning of longFiles(packages().flatMap((of) => filesUnder(`${of.dir}/src`, ".ts")))) console.log(warning)
  conclude("Floors hold: no upward import, no cycle, no banned call, barrels fresh.", [...problems(), ...stale()])
}
