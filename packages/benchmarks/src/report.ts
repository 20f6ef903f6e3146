/** From measurements to rows: minimum and median of each figure, ratios to the limit and the peers, and the goals. */
import { type Bench, type Case, type Goal, moreIsBetter, unitOf } from "./bench.ts"
import type { Measurement } from "./rounds.ts"

export interface Summary {
  readonly min: number
  readonly median: number
  readonly max: number
}

export interface GoalResult {
  readonly text: string
  /** `undefined`: what it is compared with was not run. */
  readonly ratio: number | undefined
  readonly met: boolean | undefined
}

export interface Row {
  readonly bench: string
  readonly n: number
  readonly workers: number
  readonly variant?: string | undefined
  readonly subject: string
  readonly figure: string
  readonly unit: string
  /** The best of all rounds: the least of a cost, the most of a rate. */
  readonly value: number
  readonly median: number
  readonly rounds: number
  /** Best by best, by the name of what it is compared with (`limit` or a peer). */
  readonly ratios: { readonly [other: string]: number }
  readonly goals: ReadonlyArray<GoalResult>
}

export const summary = (values: ReadonlyArray<number>): Summary => {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (i: number): number => sorted[i] ?? Number.NaN
  return { min: at(0), median: at(Math.floor(sorted.length / 2)), max: at(sorted.length - 1) }
}

const valuesOf = (measurement: Measurement, figure: string): ReadonlyArray<number> =>
  measurement.rounds.map((figures) => figures[figure]).filter((value) => value !== undefined)

const best = (values: ReadonlyArray<number>, figure: string): number =>
  moreIsBetter(figure) ? summary(values).max : summary(values).min

const sameCase = (a: Case, b: Case): boolean => a.n === b.n && a.workers === b.workers && a.variant === b.variant

const goalText = ({ factor, figure, of }: Goal): string => {
  const bound = of === "absolute" ? `${factor} ${unitOf(figure)}`.trim() : `${show(factor)}x ${of}`
  return `${moreIsBetter(figure) ? ">=" : "<="} ${bound}`
}

const judge = (goal: Goal, value: number, ratios: { readonly [other: string]: number }): GoalResult => {
  const ratio = goal.of === "absolute" ? value : ratios[goal.of]
  const met = ratio === undefined
    ? undefined
    : moreIsBetter(goal.figure)
    ? ratio >= goal.factor
    : ratio <= goal.factor
  return { text: goalText(goal), ratio, met }
}

/** A row for each headline figure of each of our subjects, and of the limit where we have none. */
export const rows = (benches: ReadonlyArray<Bench>, all: ReadonlyArray<Measurement>): ReadonlyArray<Row> =>
  all.filter(({ isPeer }) => !isPeer).flatMap((ours) => {
    const bench = benches.find(({ name }) => name === ours.bench)
    const isAlone = Object.keys(bench?.subjects ?? {}).length === 1
    if (ours.subject === "limit" && !isAlone) return []
    const others = all.filter((other) =>
      other !== ours && other.bench === ours.bench && sameCase(other.of, ours.of) &&
      (other.isPeer || other.subject === "limit")
    )
    return (bench?.figures ?? []).flatMap((figure) => {
      const values = valuesOf(ours, figure)
      if (values.length === 0) return []
      const value = best(values, figure)
      const ratios = Object.fromEntries(
        others.map((other) => [other.subject, value / best(valuesOf(other, figure), figure)] as const)
          .filter(([, ratio]) => Number.isFinite(ratio))
      )
      const goals = (bench?.goals ?? [])
        .filter((goal) => goal.figure === figure && (goal.subject ?? "setpoint") === ours.subject)
        .filter((goal) => goal.when?.(ours.of) ?? true)
        .map((goal) => judge(goal, value, ratios))
      return [{
        bench: ours.bench,
        ...ours.of,
        subject: ours.subject,
        figure,
        unit: unitOf(figure),
        value,
        median: summary(values).median,
        rounds: values.length,
        ratios,
        goals
      }]
    })
  })

/** A row as it is kept: the figure under its own name, a column for each ratio. */
export const json = (
  { figure, goals, median, ratios, value, ...row }: Row
): { readonly [column: string]: unknown } => ({
  ...row,
  [figure]: round(value),
  [`${figure}_median`]: round(median),
  ...Object.fromEntries(Object.entries(ratios).map(([other, ratio]) => [`ratio_to_${other}`, round(ratio)])),
  ...(goals.length === 0 ? {} : {
    goals: goals.map(({ met, ratio, text }) => ({
      goal: text,
      ratio: ratio && round(ratio),
      met: met ?? "not compared"
    }))
  })
})

/** Every figure of every subject, peers too. */
export const figures = (all: ReadonlyArray<Measurement>): ReadonlyArray<{ readonly [column: string]: unknown }> =>
  all.map((measurement) => {
    const names = new Set(measurement.rounds.flatMap((figures) => Object.keys(figures)))
    for (const known of ["n", "workers", "runs", "ops_per_s"]) names.delete(known)
    return {
      bench: measurement.bench,
      subject: measurement.subject,
      ...measurement.of,
      rounds: measurement.rounds.length,
      figures: Object.fromEntries(
        Array.from(names, (name) => {
          const { max, median, min } = summary(valuesOf(measurement, name))
          return [name, { min: round(min), median: round(median), max: round(max) }]
        })
      )
    }
  })

export const round = (x: number): number => Math.abs(x) >= 1000 ? Math.round(x) : Number(x.toPrecision(4))

const show = (x: number): string => x >= 1000 ? Math.round(x).toLocaleString("en") : String(Number(x.toPrecision(3)))

const mark = ({ met, ratio, text }: GoalResult): string =>
  met === undefined ? `${text}: not compared` : `${met ? "met" : "MISSED"} (${text}; ${show(ratio ?? Number.NaN)})`

/** A Markdown table. */
export const table = (rows: ReadonlyArray<Row>): string => {
  const header = ["bench", "n", "workers", "ours", "figure", "best / median", "ratios", "goal"]
  const cells = rows.map((row) => [
    row.bench + (row.variant === undefined ? "" : ` ${row.variant}`),
    show(row.n),
    String(row.workers),
    row.subject,
    row.figure,
    `${show(row.value)} / ${show(row.median)} ${row.unit}`,
    Object.entries(row.ratios).map(([other, ratio]) => `${show(ratio)}x ${other}`).join(", "),
    row.goals.map(mark).join("; ")
  ])
  const widths = header.map((title, i) => Math.max(title.length, ...cells.map((row) => (row[i] ?? "").length)))
  const line = (row: ReadonlyArray<string>) => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`
  return [line(header), line(widths.map((width) => "-".repeat(width))), ...cells.map(line)].join("\n")
}
