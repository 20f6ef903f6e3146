/** What a bench is: the cases it runs in, who runs them, and what we want to reach. */
import type { Figures } from "./measure.ts"

/** One size of a bench. `variant` tells apart what the bench says it does. */
export interface Case {
  readonly n: number
  readonly workers: number
  readonly variant?: string | undefined
}

/** Does the work once in this process and says what it measured. */
export type Subject = (of: Case) => Promise<Figures> | Figures

/** A peer's program with its arguments; the program prints one JSON line with the same figures. */
export interface PeerRun {
  /** As it appears in the table and in `ratio_to_<peer>`. */
  readonly peer: string
  readonly program: "go" | "kro" | "rust" | "node"
  readonly args: ReadonlyArray<string>
}

/** `figure` of subject `of`, times `factor`, is what ours shall not be worse than. */
export interface Goal {
  readonly figure: string
  readonly factor: number
  /** A peer, `limit`, or `absolute`: then `factor` is the bound itself. */
  readonly of: string
  /** Which of ours; default `setpoint`. */
  readonly subject?: string | undefined
  readonly when?: ((of: Case) => boolean) | undefined
}

export interface Bench {
  /** The name that all programs know it by. */
  readonly name: string
  /** Its place in the table of goals (`B1a`), where it has one. */
  readonly id?: string | undefined
  readonly what: string
  readonly cases: ReadonlyArray<Case>
  /** The cases of `--quick`; default: the first. */
  readonly quick?: ReadonlyArray<Case> | undefined
  /** Figures that get a row; others are only kept in the measurements. */
  readonly figures: ReadonlyArray<string>
  /** Ours: `setpoint`, `setpoint-no-metrics`, …; and `limit`, the same in plain JavaScript or plain SQL. */
  readonly subjects: { readonly [name: string]: Subject }
  readonly peers?: ((of: Case) => ReadonlyArray<PeerRun>) | undefined
  readonly goals?: ReadonlyArray<Goal> | undefined
  /** Node's own flags that its processes need. */
  readonly flags?: ReadonlyArray<string> | undefined
  /** A run that takes longer has hung. Default 10. */
  readonly limitMinutes?: number | undefined
}

/** Whether more of a figure is better. */
export const moreIsBetter = (figure: string): boolean => figure.endsWith("_per_s")

const units: ReadonlyArray<readonly [suffix: string, unit: string]> = [
  ["ns_per_op", "ns"],
  ["_per_s", "1/s"],
  ["_bytes", "B"],
  ["bytes_per_object", "B"],
  ["bytes_per_instance", "B"],
  ["_ns", "ns"],
  ["_us", "us"],
  ["_ms", "ms"],
  ["_s", "s"],
  ["_mb", "MB"]
]

export const unitOf = (figure: string): string => units.find(([suffix]) => figure.endsWith(suffix))?.[1] ?? ""

export const caseName = ({ n, variant, workers }: Case): string =>
  `n=${n} workers=${workers}${variant === undefined ? "" : ` ${variant}`}`
