/**
 * The search: the plain run, then all runs with one deviation, then all with two, then random ones. So the first run that
 * fails has the fewest deviations there are for this workload, and a clean search says exactly what was tried.
 */
import * as Checks from "./checks.ts"
import * as Choices from "./choices.ts"
import * as randomness from "./randomness.ts"
import { type Run, run } from "./run.ts"
import type { Fault, Spec } from "./spec.ts"
import * as Starts from "./starts.ts"
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

interface Node {
  readonly plan: ReadonlyArray<Choices.Deviation>
  readonly points: ReadonlyArray<Choices.Point>
  /** Deviations are added after the last one. */
  readonly from: number
}

interface Searching {
  readonly spec: Spec
  plain: Run | undefined
  runs: number
  depth: number
  random: number
  repeated: number
  points: number
  leftOut: number | undefined
  pruned: number
  readonly known: Starts.Known | undefined
  /** Of the phase and depth that are tried now. */
  progress: Pick<Progress, "phase" | "depth" | "done" | "of">
  /** Runs and their steps in all, with those that were made twice. */
  made: number
  steps: number
  /** Hashes of runs, as far as there is room. */
  readonly seen: Set<number>
  readonly warnings: Map<string, Warning>
}

const repeatEvery = 50
const seenAtMost = 100_000

export function* search(spec: Spec, options: Options): Search<Searched> {
  const self: Searching = {
    spec,
    plain: undefined,
    runs: 0,
    depth: 0,
    random: 0,
    repeated: 0,
    points: 0,
    leftOut: undefined,
    pruned: 0,
    known: options.prune ? new Map() : undefined,
    progress: { phase: "exhaustive", depth: 0, done: 0, of: 1 },
    made: 0,
    steps: 0,
    seen: new Set(),
    warnings: new Map()
  }
  const plain = yield* attempt(self, [], options.depth === 0)
  self.points = plain.points.length
  const wrong = plain.violation ?? meaningless(spec, plain)
  if (wrong !== undefined) return found(self, wrong, [], undefined)
  self.plain = plain
  return (yield* exhaust(self, plain, options)) ?? (yield* chance(self, options)) ??
    { _tag: "Clean", tried: triedBy(self) }
}

/** Runs a list alone. */
export const replay = (spec: Spec, plan: ReadonlyArray<Choices.Deviation>): Run => {
  const plain = plan.length === 0 ? undefined : run(spec, Choices.planned([]), { isRecorded: false, plain: undefined })
  const told = run(spec, Choices.planned(plan), { isRecorded: true, plain })
  return { ...told, violation: told.violation && Checks.named(told.violation, plan) }
}

const triedBy = ({ depth, leftOut, points, pruned, random, repeated, runs, warnings }: Searching): Tried => ({
  depth,
  leftOut,
  points,
  pruned,
  random,
  repeated,
  runs,
  warnings
})

/** A search that would find nothing, whatever is wrong. */
const meaningless = ({ matches, steps }: Spec, plain: Run): Violation | undefined => {
  if (steps.length === 0) return flaw("input", "the workload has no steps")
  if (plain.passes === 0) return flaw("input", "the workload never touched the controllers: no pass ran")
  if (matches !== undefined && !plain.wasUnmatched) {
    return flaw("input", "`matches` was never false, not even before the first pass: it checks nothing")
  }
  return undefined
}

/** `deviations` of the list, `undefined` where there is none; `mayCut`: whether it may end where what follows is known. */
const made = (self: Searching, source: Choices.Source, deviations: number | undefined, mayCut: boolean): Run => {
  const starts = Starts.make(self.known, deviations, mayCut)
  const made = run(self.spec, source, { isRecorded: false, plain: self.plain, starts })
  if (made.violation === undefined) Starts.learn(starts, made.points)
  self.made++
  self.steps += made.steps
  if (self.seen.size < seenAtMost) self.seen.add(made.hash)
  return made
}

function* attempt(self: Searching, plan: ReadonlyArray<Choices.Deviation>, isLast: boolean): Search<Run> {
  self.runs++
  const isRepeated = self.runs % repeatEvery === 1
  // An old view shows what was before the start, of which its key says nothing: nobody may ask for one later.
  const mayCut = !isRepeated && (isLast || !looksBack.some((fault) => self.spec.faults.has(fault)))
  const first = made(self, Choices.planned(plan), plan.length, mayCut)
  noteWarnings(self, first)
  yield step(self)
  if (first.violation === undefined && !isRepeated) return first
  self.repeated++
  const second = made(self, Choices.planned(plan), plan.length, mayCut)
  return second.hash === first.hash ? first : { ...first, violation: unrepeatable(self, plan) }
}

const looksBack: ReadonlyArray<Fault> = ["old", "old-kind"]

/** One more run is done. */
const step = (self: Searching): Progress => {
  self.progress = { ...self.progress, done: self.progress.done + 1 }
  return { ...self.progress, runs: self.made, steps: self.steps, states: self.seen.size }
}

const noteWarnings = ({ warnings }: Searching, { taken, warnings: told }: Run): void => {
  for (const text of told) {
    const known = warnings.get(text)
    warnings.set(text, { runs: (known?.runs ?? 0) + 1, first: known?.first ?? taken })
  }
}

/** Two runs of one list that differ: something leaks into them. */
const unrepeatable = (self: Searching, plan: ReadonlyArray<Choices.Deviation>): Violation => {
  const [first, second] = [0, 1].map(() =>
    run(self.spec, Choices.planned(plan), { isRecorded: true, plain: self.plain }).lines.map(({ text, who }) =>
      `${who} ${text}`
    )
  )
  const at = first?.findIndex((line, index) => line !== second?.[index]) ?? -1
  const where = at === -1 ? "" : `; first apart: "${first?.[at]}" and "${second?.[at]}"`
  return flaw(
    "leak",
    `two runs with equal choices differ${where}: a module-level variable or another input leaks into the run`
  )
}

function* exhaust(self: Searching, plain: Run, options: Options): Search<Searched | undefined> {
  let nodes: ReadonlyArray<Node> = [{ plan: [], points: plain.points, from: 0 }]
  for (let depth = 1; depth <= options.depth; depth++) {
    const count = nodes.reduce((sum, node) => sum + alternativesIn(node), 0)
    if (depth > 1 && count > options.maxRuns) {
      self.leftOut = count
      return undefined
    }
    self.progress = { phase: "exhaustive", depth, done: 0, of: count }
    const next: Array<Node> = []
    for (const node of nodes) {
      for (const deviation of deviations(node)) {
        const plan = [...node.plan, deviation.deviation]
        const tried = yield* attempt(self, plan, depth === options.depth)
        if (tried.violation !== undefined) return found(self, tried.violation, plan, undefined)
        if (depth === options.depth) continue
        next.push({ plan, points: tried.points, from: deviation.index + 1 })
        self.pruned += tried.after
      }
    }
    self.depth = depth
    nodes = next
  }
  return undefined
}

const alternativesIn = ({ from, points }: Node): number => {
  let sum = 0
  for (let i = from; i < points.length; i++) sum += points[i]?.alternatives.length ?? 0
  return sum
}

function* deviations({ from, points }: Node) {
  for (let index = from; index < points.length; index++) {
    const point = points[index]
    for (const alternative of point?.alternatives ?? []) {
      yield { index, deviation: { point: point?.name ?? "", alternative } }
    }
  }
}

function* chance(self: Searching, options: Options): Search<Searched | undefined> {
  self.progress = { phase: "random", depth: self.depth, done: 0, of: options.random }
  for (let i = 1; i <= options.random; i++) {
    const draw = randomness.make(randomness.seedOf(`${options.seed}/${i}`))
    const tried = made(self, Choices.random(draw), undefined, true)
    self.random = i
    noteWarnings(self, tried)
    yield step(self)
    if (tried.violation === undefined) continue
    const plan = yield* shrink(self, tried.taken, tried.violation.law)
    return found(self, tried.violation, plan, { run: i, deviations: tried.taken.length })
  }
  return undefined
}

/** Drops chunks, then single deviations, while the same check fails. */
function* shrink(
  self: Searching,
  plan: ReadonlyArray<Choices.Deviation>,
  law: string
): Search<ReadonlyArray<Choices.Deviation>> {
  self.progress = { phase: "shrinking", depth: self.depth, done: 0, of: undefined }
  let current = plan
  for (let size = Math.ceil(current.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < current.length;) {
      const shorter = [...current.slice(0, at), ...current.slice(at + size)]
      if (made(self, Choices.planned(shorter), shorter.length, true).violation?.law === law) current = shorter
      else at += size
      yield step(self)
    }
  }
  return current
}

const found = (
  self: Searching,
  violation: Violation,
  plan: ReadonlyArray<Choices.Deviation>,
  byChance: Found["byChance"]
): Searched => {
  const told = run(self.spec, Choices.planned(plan), { isRecorded: true, plain: self.plain })
  return {
    _tag: "Found",
    violation: Checks.named(violation.law === "leak" ? violation : told.violation ?? violation, plan),
    plan,
    run: told,
    tried: triedBy(self),
    byChance
  }
}
