/**
 * Random runs, after all short lists: each with a taste of its own for what goes wrong, half of them with priorities that
 * make some always come last, and most with other steps. One that fails is made shorter before it is told.
 */
import * as Choices from "./choices.ts"
import * as randomness from "./randomness.ts"
import * as Redraw from "./redraw.ts"
import {
  found,
  made,
  noteWarnings,
  type Options,
  type Search,
  type Searched,
  type Searching,
  type Setting,
  step,
  unrepeatable
} from "./searching.ts"
import * as Shrink from "./shrink.ts"
import type { Violation } from "./story.ts"

type Plan = ReadonlyArray<Choices.Deviation>

/** Candidates that a shrinking tries at most. */
const mostCandidates = 2_000

export function* chance(self: Searching, { random: count, seed }: Options): Search<Searched | undefined> {
  self.progress = { phase: "random", depth: self.depth, done: 0, of: count }
  for (let i = 1; i <= count; i++) {
    const draw = randomness.make(randomness.seedOf(`${seed}/${i}`))
    const workload = drawn(self, draw)
    const setting = yield* settingOf(self, workload)
    self.random = i
    if (setting === undefined) continue
    if (setting.plain?.violation !== undefined) return yield* shrunk(self, i, workload, setting.plain.violation)
    const source = i % 2 === 0 ? Choices.prioritized(draw) : Choices.random(draw)
    const isRepeated = i % self.repeatEvery === 0
    const tried = made(self, setting, source, undefined, !isRepeated)
    noteWarnings(self, tried)
    yield step(self)
    if (isRepeated) {
      self.repeated++
      const again = made(self, setting, Choices.planned(tried.taken), tried.taken.length, false)
      if (again.hash !== tried.hash) {
        const plan = [...workload, ...tried.taken]
        return found(self, setting, unrepeatable(setting, tried.taken), plan, { run: i, deviations: plan.length })
      }
    }
    if (tried.violation !== undefined) return yield* shrunk(self, i, [...workload, ...tried.taken], tried.violation)
  }
  return undefined
}

/** A workload for a run: three of four times another than was given. */
const drawn = ({ spec: { redraw } }: Searching, draw: () => number): Plan =>
  redraw === undefined || draw() < 0.25 ? [] : [Redraw.deviation(redraw.draw(draw))]

/** Where a list runs; without `matches` the plain run of its workload comes first, to compare with. */
function* settingOf(self: Searching, plan: Plan): Search<Setting | undefined> {
  const spec = Redraw.specFor(self.spec, plan)
  if (spec === self.spec) return self
  if (spec === undefined || spec.matches !== undefined) return spec && { spec, plain: undefined }
  const plain = made(self, { spec, plain: undefined }, Choices.planned([]), 0, true)
  yield step(self)
  return { spec, plain }
}

function* shrunk(self: Searching, run: number, plan: Plan, violation: Violation): Search<Searched> {
  const { depth } = self
  self.progress = { phase: "shrinking", depth, done: 0, of: undefined }
  const candidates = Shrink.candidates(self.spec.redraw, plan)
  let next = candidates.next()
  for (let i = 0; next.done !== true && i < mostCandidates; i++) {
    next = candidates.next(yield* fails(self, next.value, violation.law))
  }
  const shortest = next.done === true ? next.value : plan
  const setting = (yield* settingOf(self, shortest)) ?? self
  return found(self, setting, violation, shortest, { run, deviations: plan.length })
}

/** Whether a list breaks the same law. */
function* fails(self: Searching, plan: Plan, law: string): Search<boolean> {
  const setting = yield* settingOf(self, plan)
  if (setting === undefined) return false
  const rest = Redraw.rest(plan)
  const tried = rest.length === 0 && setting.plain !== undefined
    ? setting.plain
    : made(self, setting, Choices.planned(rest), rest.length, true)
  yield step(self)
  return tried.violation?.law === law
}
