/**
 * The simulator on the shapes of its corpus: time of a search and of a run, equal pairs, and memory over many runs; and
 * what a store that fails at random would find in its place.
 */
import { Sim, TestStore } from "@setpoint/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { readdirSync } from "node:fs"
import type { Store, StoreDriver } from "setpoint"
import type { Subject } from "../bench.ts"
import { collect, memory, nowMillis } from "../measure.ts"

/** Those of the corpus: which services their fakes stand for is their own business. */
type Options = Sim.Options<unknown, never>

const corpus = new URL("../../../testing/corpus/", import.meta.url)

/** `IS-01`: those that have both twins. */
export const shapes: ReadonlyArray<string> = readdirSync(corpus).flatMap((file) =>
  file.endsWith(".right.ts") ? [file.slice(0, -".right.ts".length)] : []
)

const optionsOf = async (shape: string, twin: "right" | "wrong"): Promise<Options> => {
  const { options } = await import(new URL(`${shape}.${twin}.ts`, corpus).href) as { readonly options: Options }
  return options
}

/** Taken before a run stands in for it. */
const now = performance.now.bind(performance)

/** When each run came to its first step: the time between two is that of a run, and of what the search does besides. */
const timed = (options: Options, at: Array<number>): Options => {
  const [first, ...rest] = options.workload.steps
  if (first === undefined) throw new Error("a workload without steps")
  const noted: Sim.Step = {
    ...first,
    run: (view) => {
      at.push(now())
      return first.run(view)
    }
  }
  return { ...options, workload: { ...options.workload, steps: [noted, ...rest] } }
}

const seconds = async (options: Options): Promise<readonly [seconds: number, summary: Sim.Summary]> => {
  const start = nowMillis()
  const summary = await Effect.runPromise(Sim.check(options))
  return [(nowMillis() - start) / 1000, summary]
}

const quantile = (sorted: ReadonlyArray<number>, q: number): number =>
  sorted[Math.floor((sorted.length - 1) * q)] ?? Number.NaN

/** One shape's right twin: all single deviations; then all pairs and 500 random runs. Cold, as a test file meets it. */
export const shape: Subject = async ({ variant = "" }) => {
  const options = await optionsOf(variant, "right")
  const [single_s, single] = await seconds({ ...options, depth: 1, random: 0 })
  const at: Array<number> = []
  const timing = timed({ ...options, depth: 2, maxRuns: 1e6, random: 0 }, at)
  const [pairs_s, pairs] = await seconds(timing)
  const [random_s] = await seconds({ ...options, depth: 0, random: 500 })
  const sorted = at.slice(1).map((millis, index) => millis - (at[index] ?? millis)).toSorted((a, b) => a - b)
  return {
    single_s,
    single_runs: single.runs,
    pairs_random_s: pairs_s + random_s,
    pairs_runs: pairs.runs,
    pruned: pairs.pruned,
    run_p50_ms: quantile(sorted, 0.5),
    run_p99_ms: quantile(sorted, 0.99)
  }
}

/** Both twins of every shape, as the tests of the corpus try them in CI: in all, and until all wrong ones were found. */
export const all: Subject = async () => {
  const start = nowMillis()
  for (const name of shapes) {
    const wrong = await optionsOf(name, "wrong")
    await Effect.runPromise(Effect.flip(Sim.check({ ...wrong, depth: 2, random: 0 })))
  }
  const found_s = (nowMillis() - start) / 1000
  for (const name of shapes) await seconds({ ...await optionsOf(name, "right"), depth: 1, random: 20 })
  return { corpus_s: (nowMillis() - start) / 1000, found_s, shapes: shapes.length }
}

/** n random runs, each made again from its list. One that differs fails the check, and so the bench. */
export const pairs: Subject = async ({ n, variant = "" }) => {
  const options = await optionsOf(variant, "right")
  const [wall_s, { repeated }] = await seconds({ ...options, depth: 0, random: n, repeatEvery: 1 })
  return { wall_s, pairs: repeated, mismatches: 0 }
}

/** Live heap after 10,000, 100,000, … n random runs of a small shape. */
export const heap: Subject = async ({ n, variant = "" }) => {
  const options = await optionsOf(variant, "right")
  const figures: Record<string, number> = {}
  let next = Math.min(10_000, n)
  let random = 0
  const onProgress = ({ done, phase }: Sim.Progress) =>
    Effect.sync(() => {
      if (phase === "random") random = done
      if (random < next) return
      collect()
      figures[`heap_${next}_mb`] = memory().heapBytes / 1024 ** 2
      next *= 10
    })
  const [wall_s] = await seconds({ ...options, depth: 0, random: n, onProgress })
  collect()
  const last = memory().heapBytes / 1024 ** 2
  const first = figures[`heap_${Math.min(10_000, n)}_mb`] ?? last
  return { ...figures, heap_last_mb: last, grown_mb: last - first, wall_s }
}

/** Between the last step of a workload and the calm, so that the step meets errors too. */
const afterwardsMillis = 10_000

/** One run of the same program and checks with a store that refuses a quarter of all calls until the workload is over. */
const withErrors = (options: Options, seed: number): Options => {
  const stormMillis = options.workload.steps.reduce((sum, step) => sum + step.afterMillis, afterwardsMillis)
  let begun: number | undefined
  const calm = Layer.effectDiscard(Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    begun ??= now // every run begins at one time; a process that starts anew begins no other storm
    const faults = yield* TestStore.TestStore
    yield* Effect.forkScoped(Effect.delay(faults.calm, Math.max(0, begun + stormMillis - now)), {
      startImmediately: true
    })
  }))
  const given = Layer.effectContext(Effect.context<Store.Store | StoreDriver.StoreDriver>())
  return {
    ...options,
    controllers: Layer.merge(options.controllers, calm).pipe(
      Layer.provide(TestStore.layer(given, { refuse: 0.25, seed }))
    ),
    faults: [],
    depth: 0,
    random: 0
  }
}

const fails = async (options: Options): Promise<boolean> =>
  (await Effect.runPromise(Effect.result(Sim.check(options))))._tag === "Failure"

const failsWithErrors = async (options: Options, runs: number): Promise<boolean> => {
  for (let seed = 1; seed <= runs; seed++) if (await fails(withErrors(options, seed))) return true
  return false
}

/**
 * The baseline to beat: wrong twins that fail without any fault, and those that fail in one of n runs with random errors;
 * and right twins that then fail too, of which a person would have to find out that nothing is wrong with them.
 */
export const blind: Subject = async ({ n }) => {
  let found = 0
  let plain = 0
  let alarms = 0
  for (const name of shapes) {
    const wrong = await optionsOf(name, "wrong")
    const isPlain = await fails({ ...wrong, depth: 0, random: 0 })
    if (isPlain) plain++
    if (isPlain || await failsWithErrors(wrong, n)) found++
    if (await failsWithErrors(await optionsOf(name, "right"), n)) alarms++
  }
  return { shapes: shapes.length, plain, found, alarms }
}
