/**
 * Shrinking: a list that failed by chance becomes one that is short. First deviations go, in chunks, then one by one; then
 * the workload is the given one if that fails too, else loses steps, then waits for rest, then has simpler values; then
 * deviations again. Only a list that fails the same check takes the place of another.
 */
import type * as Choices from "./choices.ts"
import * as Redraw from "./redraw.ts"
import type * as Workloads from "./workload.ts"

type Plan = ReadonlyArray<Choices.Deviation>

/** Candidates in their order, with what became of the list so far: it is asked again after each that was accepted. */
export function* candidates(redraw: Workloads.Redraw | undefined, plan: Plan): Generator<Plan, Plan, boolean> {
  let current = yield* fewer(plan)
  if (Redraw.wordsOf(current) === undefined) return current
  if (yield Redraw.rest(current)) return yield* fewer(Redraw.rest(current))
  if (redraw === undefined) return current
  current = yield* shorter(redraw, current)
  current = yield* simpler(redraw, current)
  return yield* fewer(current)
}

/** Drops chunks of deviations, then single ones. */
function* fewer(plan: Plan): Generator<Plan, Plan, boolean> {
  const workload = plan.filter(({ point }) => point === Redraw.point)
  let current = Redraw.rest(plan)
  for (let size = Math.ceil(current.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < current.length;) {
      const without = [...current.slice(0, at), ...current.slice(at + size)]
      if (yield [...workload, ...without]) current = without
      else at += size
    }
  }
  return [...workload, ...current]
}

const withWords = (plan: Plan, words: ReadonlyArray<Workloads.Word>): Plan => [
  Redraw.deviation(words),
  ...Redraw.rest(plan)
]

/** Drops steps from the last one on: what is made before is needed more often. */
function* shorter({ canDrop }: Workloads.Redraw, plan: Plan): Generator<Plan, Plan, boolean> {
  let current = plan
  if (!canDrop) return current
  for (let at = (Redraw.wordsOf(current) ?? []).length - 1; at >= 0; at--) {
    const without = withWords(current, (Redraw.wordsOf(current) ?? []).toSpliced(at, 1))
    if (yield without) current = without
  }
  return current
}

/** Each word by a simpler one, as long as there is one that fails. */
function* simpler(redraw: Workloads.Redraw, plan: Plan): Generator<Plan, Plan, boolean> {
  let current = plan
  for (let at = 0; at < (Redraw.wordsOf(current) ?? []).length;) {
    const words = Redraw.wordsOf(current) ?? []
    let isSimpler = false
    for (const word of redraw.simpler(words[at] ?? [])) {
      const candidate = withWords(current, words.with(at, word))
      if (!(yield candidate)) continue
      current = candidate
      isSimpler = true
      break
    }
    if (!isSimpler) at++
  }
  return current
}
