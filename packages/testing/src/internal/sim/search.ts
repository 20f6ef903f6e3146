/**
 * The search: the plain run, then all runs with one deviation, then all with two, then random ones. So the first run that
 * fails has the fewest deviations there are for this workload, and a clean search says exactly what was tried.
 */
import { chance } from "./chance.ts"
import * as Checks from "./checks.ts"
import * as Choices from "./choices.ts"
import * as Redraw from "./redraw.ts"
import { type Run, run } from "./run.ts"
import { attempt, found, type Options, type Search, type Searched, type Searching, triedBy } from "./searching.ts"
import type { Spec } from "./spec.ts"
import { flaw, type Violation } from "./story.ts"

export type { Found, Options, Progress, Search, Searched, Tried, Warning } from "./searching.ts"

interface Node {
  readonly plan: ReadonlyArray<Choices.Deviation>
  readonly points: ReadonlyArray<Choices.Point>
  /** Deviations are added after the last one. */
  readonly from: number
}

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
    repeatEvery: options.repeatEvery,
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
  if (wrong !== undefined) return found(self, self, wrong, [], undefined)
  self.plain = plain
  return (yield* exhaust(self, plain, options)) ?? (yield* chance(self, options)) ??
    { _tag: "Clean", tried: triedBy(self) }
}

/** Runs a list alone; `undefined`: its workload says nothing any more. */
export const replay = (given: Spec, plan: ReadonlyArray<Choices.Deviation>): Run | undefined => {
  const spec = Redraw.specFor(given, plan)
  if (spec === undefined) return undefined
  const rest = Redraw.rest(plan)
  const plain = rest.length === 0 ? undefined : run(spec, Choices.planned([]), { isRecorded: false, plain: undefined })
  const told = run(spec, Choices.planned(rest), { isRecorded: true, plain })
  return { ...told, violation: told.violation && Checks.named(told.violation, plan) }
}

/** A search that would find nothing, whatever is wrong. */
const meaningless = ({ matches, steps }: Spec, plain: Run): Violation | undefined => {
  if (steps.length === 0) return flaw("input", "the workload has no steps")
  if (plain.passes === 0) return flaw("input", "the workload never touched the controllers: no pass ran")
  if (matches !== undefined && !plain.wasUnmatched) {
    return flaw("input", "`matches` was never false, not even before the first pass: it checks nothing")
  }
  return undefined
}

function* exhaust(self: Searching, plain: Run, options: Options): Search<Searched | undefined> {
  let nodes: ReadonlyArray<Node> = [{ plan: [], points: plain.points, from: 0 }]
  let covered = 0 // lists of the depth to come that need no run
  for (let depth = 1; depth <= options.depth; depth++) {
    const count = nodes.reduce((sum, node) => sum + alternativesIn(node), 0)
    if (depth > 1 && count > options.maxRuns) {
      self.leftOut = count
      return undefined
    }
    self.progress = { phase: "exhaustive", depth, done: 0, of: count }
    const next: Array<Node> = []
    let coveredNext = 0
    for (const node of nodes) {
      for (const deviation of deviations(node)) {
        const plan = [...node.plan, deviation.deviation]
        const tried = yield* attempt(self, plan, depth === options.depth)
        if (tried.violation !== undefined) return found(self, self, tried.violation, plan, undefined)
        if (depth === options.depth) continue
        next.push({ plan, points: tried.points, from: deviation.index + 1 })
        coveredNext += tried.after
      }
    }
    self.depth = depth
    self.pruned += covered
    covered = coveredNext
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
