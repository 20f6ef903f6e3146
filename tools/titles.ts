/** Which tests carry which ids (`[Q2]`, `[F04]`, `[C014]`): from the tests' text, and from the last run's report. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { lineAt, scan } from "./scan.ts"
import { filesUnder, root, type SourceFile } from "./workspace.ts"

export interface Title {
  readonly ids: ReadonlyArray<string>
  readonly title: string
  /** Where it stands: `path:line` in the text, the file alone in a report. */
  readonly at: string
  /** `written`: found in the text, so nothing says whether it holds. */
  readonly state: "passed" | "failed" | "skipped" | "written"
}

/** Where `pnpm test` leaves vitest's JSON report. */
export const reportPath = "node_modules/.cache/setpoint/tests.json"

const leadingIds = /^\s*((?:\[[A-Z]\d+\]\s*)+)/

/** The ids in brackets that a title begins with. */
export const idsOf = (title: string): ReadonlyArray<string> =>
  [...(leadingIds.exec(title)?.[1] ?? "").matchAll(/\[([A-Z]\d+)\]/g)].map((match) => match[1] ?? "")

const quoted = /(["'`])((?:\[[A-Z]\d+\]\s*)+(?:\\.|(?!\1)[^\\\n])*)\1/g

/** Titles in the text of a test file. One under `.skip` or `.todo` is `skipped`: it holds nothing. */
export const titlesIn = (file: SourceFile): ReadonlyArray<Title> => {
  const text = scan(file.text).withoutComments
  return [...text.matchAll(quoted)].map((match) => ({
    ids: idsOf(match[2] ?? ""),
    title: match[2] ?? "",
    at: `${file.path}:${lineAt(text, match.index)}`,
    state: /\.(?:skip|todo)(?:\.[a-z]+)*\(\s*$/.test(text.slice(0, match.index)) ? "skipped" : "written"
  }))
}

/** Tests live in `test` folders; suites that stores run live in the testing package's sources. */
export const writtenTitles = (): ReadonlyArray<Title> =>
  [...filesUnder("packages", ".ts"), ...filesUnder("examples", ".ts")]
    .filter(({ path }) => /\/test\//.test(path) || path.startsWith("packages/testing/src/")).flatMap(titlesIn)

interface Report {
  readonly startTime: number
  readonly testResults: ReadonlyArray<{
    readonly name: string
    readonly assertionResults: ReadonlyArray<{
      readonly ancestorTitles: ReadonlyArray<string>
      readonly title: string
      readonly status: string
    }>
  }>
}

const stateOf = (status: string): Title["state"] => status === "passed" || status === "failed" ? status : "skipped"

/** Titles in vitest's JSON report; a test also carries the ids of the describes around it. */
export const titlesOfReport = (report: Report): ReadonlyArray<Title> =>
  report.testResults.flatMap(({ assertionResults, name }) =>
    assertionResults.map((test) => ({
      ids: [...new Set([...test.ancestorTitles, test.title].flatMap(idsOf))],
      title: test.title,
      at: Path.relative(root, name),
      state: stateOf(test.status)
    })).filter((test) => test.ids.length > 0)
  )

export interface LastRun {
  readonly when: Date
  readonly titles: ReadonlyArray<Title>
}

const newestSource = (): number =>
  Math.max(
    ...["packages", "examples"].flatMap((dir) => filesUnder(dir, ".ts")).map(({ path }) =>
      Fs.statSync(Path.join(root, path)).mtimeMs
    )
  )

/** The report at `path`; without one, that of the last `pnpm test` unless a source has changed since. */
export const lastRun = (given: string | undefined): LastRun | undefined => {
  const path = given ?? Path.join(root, reportPath)
  if (given === undefined && (!Fs.existsSync(path) || Fs.statSync(path).mtimeMs < newestSource())) return undefined
  const report: Report = JSON.parse(Fs.readFileSync(path, "utf8"))
  return { when: new Date(report.startTime), titles: titlesOfReport(report) }
}

/** Ids that tests carry and no list knows: a typing error would else count for nothing, silently. */
export const unknownIds = (
  titles: ReadonlyArray<Title>,
  letters: string,
  known: ReadonlySet<string>
): ReadonlyArray<string> =>
  titles.flatMap((title) =>
    title.ids.filter((id) => letters.includes(id.charAt(0)) && !known.has(id)).map((id) =>
      `${title.at}: carries [${id}], which no list knows. Correct the id.`
    )
  )
