/** The table of mutants: what was planted, and what noticed it. */
import type { Failure } from "./kill.ts"
import type { Mutant } from "./mutant.ts"

export interface Killed {
  readonly mutant: Mutant
  /** The file of the test that failed. */
  readonly file: string
  readonly failure: Failure
  readonly seconds: number
}

export const tablePath = "packages/testing/docs/mutants.md"

/** How the simulator found it: `P11, 1 deviation`. */
export const foundText = ({ check, deviations }: { readonly check: string; readonly deviations: number }): string =>
  `${check}, k=${deviations}`

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ")

const row = (...cells: ReadonlyArray<string>): string => `| ${cells.map(cell).join(" | ")} |`

const shapeRow = ({ failure, file, mutant }: Killed): string =>
  row(
    mutant.id,
    mutant.shape?.reference ?? "",
    mutant.why,
    mutant.shape?.predicted ?? "",
    failure.found === undefined ? "not by it" : foundText(failure.found),
    killer(file, failure)
  )

const killer = (file: string, { title }: Failure): string => `${file.split("/").at(-1)}: ${title}`

export const print = (killed: ReadonlyArray<Killed>): string => {
  const shapes = killed.filter(({ mutant }) => mutant.shape !== undefined)
  const others = killed.filter(({ mutant }) => mutant.shape === undefined)
  const simulated = killed.filter(({ failure }) => failure.found !== undefined)
  return [
    "# Mutants of the engine",
    "",
    `${killed.length} faults, each planted alone in a copy of Setpoint's own sources, and the first test that failed. ` +
    `${simulated.length} were found by the simulator. Made by \`pnpm mutants --write\`; the faults are in ` +
    "[`tools/mutants/list`](../../../tools/mutants/list).",
    "",
    "## Shapes of published bugs",
    "",
    "Of engines (EN) and of watches and caches (WA). _Predicted_ is what the catalogue of bugs says: the check, and the least " +
    "number of deviations k. _Found_ is what the simulator said.",
    "",
    row("id", "published as", "fault", "predicted", "found", "killed by"),
    row("--", "--", "--", "--", "--", "--"),
    ...shapes.map(shapeRow),
    "",
    "## Laws",
    "",
    row("id", "law", "fault", "found", "killed by"),
    row("--", "--", "--", "--", "--"),
    ...others.map(({ failure, file, mutant }) =>
      row(
        mutant.id,
        mutant.law,
        mutant.why,
        failure.found === undefined ? "" : foundText(failure.found),
        killer(file, failure)
      )
    ),
    ""
  ].join("\n")
}
