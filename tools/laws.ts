/** `pnpm laws [--gaps]`: each law, the one file whose doc comment states it, and the tests that carry its id. */
import { scan } from "./scan.ts"
import { type Title, unknownIds, writtenTitles } from "./titles.ts"
import { conclude, filesUnder, isMain, readJson, type SourceFile } from "./workspace.ts"

export interface Law {
  readonly id: string
  readonly text: string
  readonly due: string
  /** The file whose doc comment states it; absent while its package does not exist. */
  readonly file?: string
}

export interface Laws {
  /** The parts of the work that are done or under way: their laws and parity lines are due. */
  readonly parts: ReadonlyArray<string>
  readonly laws: ReadonlyArray<Law>
}

export const readLaws = (): Laws => readJson<Laws>("tools/laws.json")

/** Does a doc comment of the file name the law? `S1` is not in `S10`, and is in `S1-S5`. */
export const states = (file: SourceFile, id: string): boolean =>
  scan(file.text).docs.some((doc) => namesLaw(doc.text, id))

const namesLaw = (text: string, id: string): boolean => {
  const letter = id.charAt(0)
  const number = Number(id.slice(1))
  return [...text.matchAll(new RegExp(`\\b${letter}(\\d+)(?:\\s*[-\u2013]\\s*${letter}?(\\d+))?\\b`, "g"))].some(
    ([, from, to]) => Number(from) <= number && number <= Number(to ?? from)
  )
}

/** What a law lacks: nothing, where it is stated in its file and a test's title carries it. */
export const gaps = (law: Law, file: SourceFile | undefined, tests: ReadonlyArray<Title>): ReadonlyArray<string> => [
  ...(law.file === undefined
    ? [`${law.id}: has no file. Name the one that states it in tools/laws.json.`]
    : file === undefined
    ? [`${law.id}: ${law.file} does not exist. Write it, or name the file that states the law in tools/laws.json.`]
    : states(file, law.id)
    ? []
    : [`${law.id}: no doc comment of ${law.file} names it. State the law there: ${law.text}`]),
  ...(tests.some((test) => test.state !== "skipped")
    ? []
    : [`${law.id}: no test has [${law.id}] in its title. Write one: ${law.text}`])
]

const row = (law: Law, mark: string, tests: ReadonlyArray<Title>): string =>
  [
    `${law.id.padEnd(4)} ${mark.padEnd(17)} ${law.file ?? "-"}`,
    law.text,
    ...tests.map((test) => `${test.at}  ${test.title}${test.state === "skipped" ? " (skipped)" : ""}`)
  ].join("\n     ")

/** `--gaps` leaves the table out. */
const main = (args: ReadonlyArray<string>): void => {
  const { laws, parts } = readLaws()
  const titles = writtenTitles()
  const problems = laws.flatMap((law) => {
    const tests = titles.filter((title) => title.ids.includes(law.id))
    const file = law.file === undefined ? undefined : filesUnder(law.file, ".ts")[0]
    const isDue = parts.includes(law.due)
    const lacks = gaps(law, file, tests)
    const mark = lacks.length === 0 ? "holds" : isDue ? "GAP" : `due with ${law.due}`
    if (!args.includes("--gaps")) console.log(row(law, mark, tests))
    return isDue ? lacks : []
  })
  const unknown = unknownIds(titles, "SQEDR", new Set(laws.map((law) => law.id)))
  conclude(`All laws due (${parts.join(", ")}) are stated and tested.`, [...problems, ...unknown])
}

if (isMain(import.meta)) main(process.argv.slice(2))
