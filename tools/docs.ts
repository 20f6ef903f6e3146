/**
 * `pnpm docs:check`: every example in a doc comment or a text is type-checked and run, and every export is documented.
 *
 * An example is a fence of TypeScript. One that must not be run (it would never end) says so: `ts no-run`.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { lineAt, scan } from "./scan.ts"
import { conclude, filesUnder, isMain, packages, root, run, runBin, type SourceFile } from "./workspace.ts"

export interface Example {
  /** Where its first line stands. */
  readonly path: string
  readonly line: number
  readonly text: string
  readonly runs: boolean
}

/** Inside the repository, so that examples resolve the workspace's packages as a user's program would. */
const folder = "scratchpad/.examples"

const fence = /^([ \t]*(?:\/?\*\*?)?[ \t]*)```ts([^\n]*)\n([\s\S]*?)^[ \t]*(?:\*[ \t]*)?```[ \t]*$/gm

const examplesAt = (file: SourceFile, text: string, offset: number): ReadonlyArray<Example> =>
  [...text.matchAll(fence)].map((match) => ({
    path: file.path,
    line: lineAt(file.text, offset + match.index) + 1,
    text: (match[3] ?? "").split("\n").map((line) => line.replace(/^[ \t]*\*[ ]?/, "")).join("\n"),
    runs: !/\bno-run\b/.test(match[2] ?? "")
  }))

/** The examples of a Markdown file, or those in the doc comments of a source file. */
export const examplesOf = (file: SourceFile): ReadonlyArray<Example> =>
  file.path.endsWith(".md")
    ? examplesAt(file, file.text, 0)
    : scan(file.text).docs.flatMap((doc) => examplesAt(file, file.text.slice(doc.start, doc.end), doc.start))

const texts = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs", "examples", "packages"]

const publicSources = (): ReadonlyArray<SourceFile> =>
  packages().filter((of) => !of.isPrivate).flatMap((of) => filesUnder(`${of.dir}/src`, ".ts"))
    .filter(({ path }) => !path.includes("/src/internal/") && !path.endsWith("/src/index.ts"))

const documented = (): ReadonlyArray<SourceFile> => [
  ...publicSources(),
  ...texts.flatMap((path) => filesUnder(path, ".md")).filter(({ path }) => !path.endsWith("CHANGELOG.md"))
]

const nameOf = (example: Example): string => `${example.path.replace(/[^A-Za-z0-9]+/g, "-")}-${example.line}.ts`

/** Line 1 is ours, so that the line of an error tells the line of the source: see `whereItStands`. */
const write = (examples: ReadonlyArray<Example>): void => {
  const target = Path.join(root, folder)
  Fs.rmSync(target, { recursive: true, force: true })
  Fs.mkdirSync(target, { recursive: true })
  for (const example of examples) {
    Fs.writeFileSync(Path.join(target, nameOf(example)), `// ${example.path}:${example.line}\n${example.text}`)
  }
  const config = {
    extends: "../../tsconfig.tests.json",
    references: [],
    include: ["*.ts"],
    exclude: [],
    compilerOptions: {
      rootDir: "../..",
      composite: false,
      declarationMap: false,
      incremental: false,
      noUnusedLocals: false,
      noUnusedParameters: false,
      plugins: []
    }
  }
  Fs.writeFileSync(Path.join(target, "tsconfig.json"), JSON.stringify(config))
}

/** Names in messages the place in the source beside the place in the extracted file. */
const whereItStands = (output: string, examples: ReadonlyArray<Example>): string =>
  examples.reduce(
    (text, example) =>
      text.replaceAll(
        new RegExp(`[^\\s()]*${nameOf(example).replaceAll(".", "\\.")}[(:](\\d+)`, "g"),
        (_, line) => `${example.path}:${example.line + Number(line) - 2} (${folder}/${nameOf(example)}:${line}`
      ),
    output
  )

const checkTypes = (examples: ReadonlyArray<Example>): ReadonlyArray<string> => {
  const { code, output } = runBin("tsc", ["-p", folder, "--pretty", "false"])
  return code === 0 ? [] : [`Examples do not type-check:\n${whereItStands(output, examples)}`]
}

const deadlineMillis = 60_000

/** The examples of one file run in one process, one after the other: a process an example would take minutes. */
const runAll = (path: string, examples: ReadonlyArray<Example>): ReadonlyArray<string> => {
  const program = examples.map((example) => `await import("./${nameOf(example)}")`).join("\n")
  const main = `${path.replace(/[^A-Za-z0-9]+/g, "-")}.mjs`
  Fs.writeFileSync(Path.join(root, folder, main), `${program}\n`)
  const ran = run(process.execPath, ["--disable-warning=ExperimentalWarning", main], {
    cwd: Path.join(root, folder),
    timeoutMillis: deadlineMillis
  })
  if (ran.code === 0) return []
  const late = ran.seconds * 1000 >= deadlineMillis
  const advice = late
    ? `did not end in ${deadlineMillis / 1000} s. Fence one that runs for ever with: ts no-run`
    : "failed"
  return [`${path}: an example ${advice}\n${whereItStands(ran.output, examples)}`]
}

interface Export {
  readonly name: string
  readonly start: number
}

const declarations =
  /^export (?:declare )?(?:abstract )?(?:const|let|function\*?|interface|type(?! *\{)|class|namespace)\s+([A-Za-z_$][\w$]*)/gm
const lists = /^export (?:type )?\{([^}]*)\}(?!\s*from)/gm

const exportsOf = (code: string): ReadonlyArray<Export> => [
  ...[...code.matchAll(declarations)].map((match) => ({ name: match[1] ?? "", start: match.index })),
  ...[...code.matchAll(lists)].flatMap((list) =>
    [...(list[1] ?? "").matchAll(/(?:^|,)\s*(?:type\s+)?([\w$]+(?:\s+as\s+[\w$]+)?)/g)].map((match) => ({
      name: (match[1] ?? "").replace(/^.*\s/, ""),
      start: list.index + list[0].indexOf("{") + 1 + match.index + match[0].length - (match[1] ?? "").length
    }))
  )
]

/** Exports without a doc comment, `@since` or `@category`. Overloads are documented at the first. */
export const undocumented = (file: SourceFile): ReadonlyArray<string> => {
  const { code, docs } = scan(file.text)
  const seen = new Set<string>()
  return exportsOf(code).flatMap(({ name, start }) => {
    const at = `${file.path}:${lineAt(file.text, start)}: ${name}`
    const doc = docs.findLast((_) => _.end <= start && /^[\s]*(?:type\s+)?$/.test(code.slice(_.end, start)))
    if (doc === undefined) {
      if (seen.has(name)) return []
      seen.add(name)
      return [`${at} has no doc comment. Say what it does, its errors and units, with @since and @category.`]
    }
    seen.add(name)
    if (doc.text.includes("@internal")) return []
    const lacks = ["@since", "@category"].filter((tag) => !doc.text.includes(tag))
    return lacks.length === 0 ? [] : [`${at} has no ${lacks.join(" and no ")} in its doc comment.`]
  })
}

const main = (): void => {
  const examples = documented().flatMap(examplesOf)
  const problems: Array<string> = publicSources().flatMap(undocumented)
  if (examples.length > 0) {
    write(examples)
    problems.push(...checkTypes(examples))
    const running = examples.filter((example) => example.runs)
    for (const path of new Set(running.map((example) => example.path))) {
      problems.push(...runAll(path, running.filter((example) => example.path === path)))
    }
    if (problems.length === 0) Fs.rmSync(Path.join(root, folder), { recursive: true })
  }
  const kept = examples.filter((example) => !example.runs).length
  conclude(
    `${examples.length} examples type-check, ${examples.length - kept} of them ran, ${kept} are no-run.`,
    problems
  )
}

if (isMain(import.meta)) main()
