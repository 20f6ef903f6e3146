/** What the phases of a search share: what was tried so far, one more run, and what was found. */
import * as Checks from "./checks.ts"
import * as Choices from "./choices.ts"
import * as Known from "./known.ts"
import * as Redraw from "./redraw.ts"
import { type Run, run } from "./run.ts"
import type { Fault, Spec } from "./spec.ts"
import { flaw, type Violation } from "./story.ts"

export interface Options {
  /** Deviations up to which all runs are tried. */
  readonly depth: number
  /** Runs that one depth beyond the first may take; a depth that needs more is left out. */
  readonly maxRuns: number
  readonly random: number
  readonly seed: number
  /** Whether a run ends where all that would follow is known. */
  readonly prune: boolean
  /** One run of so many is made twice. */
  readonly repeatEvery: number
}

/** How far a search is. It knows no clock: who is told measures runs a second by its own. */
export interface Progress {
  /** `exhaustive`: all runs with `depth` deviations; `random`; `shrinking`: a random run failed, and gets shorter. */
  readonly phase: "exhaustive" | "random" | "shrinking"
  /** Deviations of the runs that are tried now; of random runs, those of which all were tried. */
  readonly depth: number
  /** Runs so far, in all phases, with those that were made twice. */
  readonly runs: number
  /** Runs of this phase and depth so far, and how many there will be; `undefined` where nobody knows. */
  readonly done: number
  readonly of: number | undefined
  /** Steps of all runs: equal numbers of them take about equal time. */
  readonly steps: number
  /** Different courses of events so far; counted up to 100,000. */
  readonly states: number
}

/** Gives way after each run, with how far it is, so that who drives it can stop, wait and tell. */
export type Search<A> = Generator<Progress, A, void>

/** What was tried. */
export interface Tried {
  /** All runs with at most so many deviations. */
  readonly depth: number
  /** How many these were. */
  readonly runs: number
  /** What the next depth would have taken, where it was left out. */
  readonly leftOut: number | undefined
  readonly random: number
  /** More lists of so few deviations, whose runs could only repeat others: see `starts.ts`. */
  readonly pruned: number
  /** Runs that were made twice. */
  readonly repeated: number
  /** Points of the plain run. */
  readonly points: number
  /** What is worth a look and breaks no law: each with the runs that showed it, and the list of the first. */
  readonly warnings: ReadonlyMap<string, Warning>
}

export interface Warning {
  readonly runs: number
  readonly first: ReadonlyArray<Choices.Deviation>
  /** What it was in the first. */
  readonly detail: string
}

export interface Found {
  readonly violation: Violation
  readonly plan: ReadonlyArray<Choices.Deviation>
  /** The same run, with its story. */
  readonly run: Run
  readonly tried: Tried
  /** `undefined`: by trying all; else the number of the random run, and how many deviations it had. */
  readonly byChance: { readonly run: number; readonly deviations: number } | undefined
}

export type Searched = { readonly _tag: "Clean"; readonly tried: Tried } | ({ readonly _tag: "Found" } & Found)

export interface Searching {
  readonly spec: Spec
  plain: Run | undefined
  runs: number
  depth: number
  random: number
  repeated: number
  points: number
  leftOut: number | undefined
  pruned: number
  readonly repeatEvery: number
  readonly known: Known.Known | undefined
  /** Of the phase and depth that are tried now. */
  progress: Pick<Progress, "phase" | "depth" | "done" | "of">
  /** Runs and their steps in all, with those that were made twice. */
  made: number
  steps: number
  /** Hashes of runs, as far as there is room. */
  readonly seen: Set<number>
  readonly warnings: Map<string, Warning>
}

const seenAtMost = 100_000

export const triedBy = ({ depth, leftOut, points, pruned, random, repeated, runs, warnings }: Searching): Tried => ({
  depth,
  leftOut,
  points,
  pruned,
  random,
  repeated,
  runs,
  warnings
})

/** What lists of one workload are run in, and how the plain run of it ended where that is known. */
export interface Setting {
  readonly spec: Spec
  readonly plain: Run | undefined
}

/** `deviations` of the list, `undefined` where there is none; `mayCut`: whether it may end where what follows is known. */
export const made = (
  self: Searching,
  { plain, spec }: Setting,
  source: Choices.Source,
  deviations: number | undefined,
  mayCut: boolean
): Run => {
  const starts = Known.make(self.known, deviations, mayCut)
  const made = run(spec, source, { isRecorded: false, plain, starts })
  if (made.violation === undefined) Known.learn(starts, made.points)
  self.made++
  self.steps += made.steps
  if (self.seen.size < seenAtMost) self.seen.add(made.hash)
  return made
}

export function* attempt(self: Searching, plan: ReadonlyArray<Choices.Deviation>, isLast: boolean): Search<Run> {
  self.runs++
  const isRepeated = self.runs % self.repeatEvery === 1 % self.repeatEvery
  // An old view shows what was before the start, of which its key says nothing: nobody may ask for one later.
  const mayCut = !isRepeated && (isLast || !looksBack.some((fault) => self.spec.faults.has(fault)))
  const first = made(self, self, Choices.planned(plan), plan.length, mayCut)
  noteWarnings(self, first)
  yield step(self)
  if (first.violation === undefined && !isRepeated) return first
  self.repeated++
  const second = made(self, self, Choices.planned(plan), plan.length, mayCut)
  return second.hash === first.hash ? first : { ...first, violation: unrepeatable(self, plan) }
}

const looksBack: ReadonlyArray<Fault> = ["old", "old-kind"]

/** One more run is done. */
export const step = (self: Searching): Progress => {
  self.progress = { ...self.progress, done: self.progress.done + 1 }
  return { ...self.progress, runs: self.made, steps: self.steps, states: self.seen.size }
}

export const noteWarnings = ({ warnings }: Searching, { taken, warnings: told }: Run): void => {
  for (const [text, detail] of told) {
    const known = warnings.get(text) ?? { runs: 0, first: taken, detail }
    warnings.set(text, { ...known, runs: known.runs + 1 })
  }
}

/** Two runs of one list that differ: something leaks into them. */
export const unrepeatable = ({ plain, spec }: Setting, plan: ReadonlyArray<Choices.Deviation>): Violation => {
  const [first, second] = [0, 1].map(() =>
    run(spec, Choices.planned(plan), { isRecorded: true, plain }).lines.map(({ text, who }) => `${who} ${text}`)
  )
  const at = first?.findIndex((line, index) => line !== second?.[index]) ?? -1
  const where = at === -1 ? "" : `; first apart: "${first?.[at]}" and "${second?.[at]}"`
  return flaw(
    "leak",
    `two runs with equal choices differ${where}: a module-level variable or another input leaks into the run`
  )
}

export const found = (
  self: Searching,
  { plain, spec }: Setting,
  violation: Violation,
  plan: ReadonlyArray<Choices.Deviation>,
  byChance: Found["byChance"]
): Searched => {
  const told = run(spec, Choices.planned(Redraw.rest(plan)), { isRecorded: true, plain })
  return {
    _tag: "Found",
    violation: Checks.named(violation.law === "leak" ? violation : told.violation ?? violation, plan),
    plan,
    run: told,
    tried: triedBy(self),
    byChance
  }
}
