/**
 * `pnpm parity [--json] [--list F] [--run | --report FILE]`: the behaviours of lists F, K, O and C, and which hold.
 *
 * A line *holds* when a test that carries its id passed, *fails* when one failed, is *answered* when a sentence says
 * why it is not tested, else *missing*. Without a report of a test run, a title that is written counts as holding.
 */
import { readLaws } from "./laws.ts"
import { type LastRun, lastRun, reportPath, type Title, unknownIds, writtenTitles } from "./titles.ts"
import { conclude, isMain, readJson, runBin } from "./workspace.ts"

export interface Line {
  readonly id: string
  readonly text: string
  readonly due: string
  /** One honest sentence: why no test carries this line. */
  readonly answered?: string
}

export type State = "holds" | "fails" | "answered" | "missing"

export interface Judged extends Line {
  readonly state: State
  readonly isDue: boolean
}

const hasState = (titles: ReadonlyArray<Title>, id: string, ...states: ReadonlyArray<Title["state"]>): boolean =>
  titles.some((title) => title.ids.includes(id) && states.includes(title.state))

/** A title that the run does not know (a part of the tests ran) counts as holding. */
export const judge = (line: Line, written: ReadonlyArray<Title>, ran: ReadonlyArray<Title>): State => {
  if (hasState(ran, line.id, "failed")) return "fails"
  if (hasState(ran, line.id, "passed") || hasState(written, line.id, "written")) return "holds"
  return line.answered === undefined ? "missing" : "answered"
}

const lists = ["F", "K", "O", "C"] as const
const states: ReadonlyArray<State> = ["holds", "fails", "missing", "answered"]

const count = (lines: ReadonlyArray<Judged>, state: State): number => lines.filter((_) => _.state === state).length

const sourceOf = (run: LastRun | undefined): string =>
  run === undefined
    ? "Judged by titles alone, for no test run is newer than the sources: pnpm test, or pnpm parity --run."
    : `Judged by the test run of ${run.when.toISOString()}.`

const table = (lines: ReadonlyArray<Judged>): string => {
  const row = (cells: ReadonlyArray<string | number>): string => cells.map((cell) => String(cell).padStart(10)).join("")
  const rows = lists.map((list) => {
    const own = lines.filter((line) => line.id.startsWith(list))
    const due = own.filter((line) => line.isDue)
    return row([list, due.length, ...states.map((state) => count(due, state)), own.length - due.length])
  })
  return [row(["list", "due", ...states, "due later"]), ...rows].join("\n")
}

const runTests = (): void => {
  const { code } = runBin("vitest", ["run", "--reporter=json", `--outputFile=${reportPath}`])
  if (code !== 0) console.error("The test run failed; its report says where. Run: pnpm test")
}

const option = (args: ReadonlyArray<string>, name: string): string | undefined => {
  const at = args.indexOf(name)
  return at === -1 ? undefined : args[at + 1]
}

const main = (args: ReadonlyArray<string>): void => {
  const { parts } = readLaws()
  const all = readJson<ReadonlyArray<Line>>("tools/parity.json")
  if (args.includes("--run")) runTests()
  const run = lastRun(option(args, "--report"))
  const written = writtenTitles()
  const only = option(args, "--list")
  const lines = all.filter((line) => only === undefined || line.id.startsWith(only)).map((line): Judged => ({
    ...line,
    state: judge(line, written, run?.titles ?? []),
    isDue: parts.includes(line.due)
  }))
  const due = lines.filter((line) => line.isDue)
  const problems = [
    ...due.filter((line) => line.state === "fails").map((line) => `${line.id}: its test fails. ${line.text}`),
    ...due.filter((line) => line.state === "missing").map((line) =>
      `${line.id}: no test and no answer. Test it, or answer it in tools/parity.json: ${line.text}`
    ),
    ...unknownIds(written, lists.join(""), new Set(all.map((line) => line.id)))
  ]
  if (args.includes("--json")) {
    console.log(JSON.stringify({ source: sourceOf(run), parts, lines }, undefined, 2))
    process.exitCode = problems.length === 0 ? 0 : 1
    return
  }
  if (only !== undefined) { for (const line of lines) console.log(`${line.id} ${line.state.padEnd(9)} ${line.text}`) }
  console.log(`${table(lines)}\n${sourceOf(run)}\n`)
  conclude(`All parity lines due (${parts.join(", ")}) hold or are answered.`, problems)
}

if (isMain(import.meta)) main(process.argv.slice(2))
