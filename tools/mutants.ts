/**
 * `pnpm mutants [--check] [--write] [--workers N] [ID …]`: faults planted in Setpoint's own engine, stores and informer,
 * each alone in a copy of the sources, must be noticed by a test: likely ones first, ended at the first that fails. The
 * same tests must pass where nothing is planted. All mutants, or those named (a beginning of the name is enough: `EN-`).
 *
 *   --check      only whether each fault can still be planted, and whether the table has all of them; fast
 *   --write      writes the table of what killed what, when all were run
 *   --workers N  so many at once. Default 2
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { parseArgs } from "node:util"
import * as Copies from "./mutants/copy.ts"
import * as Kill from "./mutants/kill.ts"
import { mutants } from "./mutants/list.ts"
import { type Mutant, plant, type Tests } from "./mutants/mutant.ts"
import { foundText, type Killed, print, tablePath } from "./mutants/table.ts"
import { conclude, isMain, root, runBin } from "./workspace.ts"

const readSource = (file: string): string => Fs.readFileSync(Path.join(root, file), "utf8")

// ---------------------------------------------------------------------------------------------------------------------
// --check
// ---------------------------------------------------------------------------------------------------------------------

/** What is wrong with the list itself. */
export const flaws = (all: ReadonlyArray<Mutant>, table: string): ReadonlyArray<string> => {
  const ids = new Set<string>()
  return all.flatMap((mutant) => {
    const found: Array<string> = []
    if (ids.has(mutant.id)) found.push(`${mutant.id}: the name is taken`)
    ids.add(mutant.id)
    const exists = Fs.existsSync(Path.join(root, mutant.file))
    const planted = exists ? plant(mutant, readSource(mutant.file)) : { flaw: `${mutant.id}: ${mutant.file} is gone` }
    if ("flaw" in planted) found.push(planted.flaw)
    for (const { file } of mutant.tests) {
      if (!Fs.existsSync(Path.join(root, file))) found.push(`${mutant.id}: its tests ${file} are gone`)
    }
    if (!table.includes(`| ${mutant.id} `)) found.push(`${mutant.id} is not in ${tablePath}: pnpm mutants --write`)
    return found
  })
}

// ---------------------------------------------------------------------------------------------------------------------
// running
// ---------------------------------------------------------------------------------------------------------------------

type Verdict = { readonly _tag: "Killed"; readonly killed: Killed } | { readonly _tag: "Problem"; readonly why: string }

const problem = (why: string): Verdict => ({ _tag: "Problem", why })

/** Plants a mutant, runs its tests up to the first that fails, and takes the fault out again. */
const kill = async (copy: Copies.Copy, mutant: Mutant): Promise<Verdict> => {
  const whole = copy.read(mutant.file)
  const planted = plant(mutant, whole)
  if ("flaw" in planted) return problem(planted.flaw)
  const start = performance.now()
  copy.write(mutant.file, planted.text)
  try {
    for (const tests of mutant.tests) {
      const ran = await Kill.runTests(copy, tests)
      if (ran._tag === "Passed") continue
      return judge(mutant, tests, ran, (performance.now() - start) / 1000)
    }
  } finally {
    copy.write(mutant.file, whole)
  }
  const files = mutant.tests.map(({ file }) => file).join(", ")
  return problem(`${mutant.id} survived: ${mutant.why}. A test of ${mutant.law} is missing (tried: ${files}).`)
}

const judge = (
  mutant: Mutant,
  { file }: Tests,
  ran: Exclude<Kill.Ran, { readonly _tag: "Passed" }>,
  seconds: number
): Verdict => {
  if (ran._tag === "Broken") return problem(`${mutant.id}: ${file} could not be run: ${ran.why}`)
  if (ran._tag === "Hung") {
    return problem(`${mutant.id}: the tests of ${file} hung. A fault must be told, not waited for.`)
  }
  const found = ran.failure.found?.deviations
  if (mutant.shape !== undefined && found !== mutant.shape.least) {
    const text = (least: number | undefined) =>
      least === undefined ? "not by the simulator" : `with ${least} deviations`
    return problem(`${mutant.id}: its entry says "${text(mutant.shape.least)}", but it was found ${text(found)}.`)
  }
  return { _tag: "Killed", killed: { mutant, file, failure: ran.failure, seconds } }
}

/** Each copy takes from the list until it is empty. */
const shared = async <A, B>(
  copies: ReadonlyArray<Copies.Copy>,
  items: ReadonlyArray<A>,
  work: (copy: Copies.Copy, item: A) => Promise<B>
): Promise<ReadonlyArray<B>> => {
  const results: Array<B> = []
  const left = [...items.entries()]
  await Promise.all(copies.map(async (copy) => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      results[next[0]] = await work(copy, next[1])
    }
  }))
  return results
}

const killAll = (copies: ReadonlyArray<Copies.Copy>, all: ReadonlyArray<Mutant>): Promise<ReadonlyArray<Verdict>> => {
  let count = 0
  return shared(copies, all, async (copy, mutant) => {
    const verdict = await kill(copy, mutant)
    console.log(line(++count, all.length, mutant, verdict))
    return verdict
  })
}

const line = (at: number, of: number, { id, law }: Mutant, verdict: Verdict): string => {
  const place = `${at}/${of}`.padStart(`${of}/${of}`.length)
  if (verdict._tag === "Problem") return `${place}  PROBLEM   ${id}`
  const { failure, seconds } = verdict.killed
  const by = failure.found === undefined ? failure.title : `${foundText(failure.found)}: ${failure.title}`
  return `${place}  killed  ${id.padEnd(26)} ${law.padEnd(10)} ${seconds.toFixed(1).padStart(5)} s  ${by}`
}

/** The same tests, with nothing planted: what does not pass then kills nothing. */
const unmutated = async (
  copies: ReadonlyArray<Copies.Copy>,
  all: ReadonlyArray<Mutant>
): Promise<ReadonlyArray<string>> => {
  const tests = all.flatMap((mutant) => mutant.tests)
  const problems = await shared(copies, [...new Set(tests.map(({ file }) => file))], async (copy, file) => {
    const patterns = tests.filter((one) => one.file === file).map(({ titles }) => titles)
    const titles = patterns.includes(undefined) ? undefined : [...new Set(patterns)].join("|")
    const start = performance.now()
    const ran = await Kill.runTests(copy, { file, titles })
    const seconds = ((performance.now() - start) / 1000).toFixed(1)
    if (ran._tag !== "Passed") return [`${file} does not pass unmutated: ${JSON.stringify(ran)}`]
    console.log(`clean ${file}: ${ran.tests} tests pass unmutated, ${seconds} s`)
    return []
  })
  return problems.flat()
}

const run = async (chosen: ReadonlyArray<Mutant>, workers: number, write: boolean): Promise<void> => {
  const start = performance.now()
  const copies = Array.from({ length: Math.min(workers, chosen.length) }, Copies.make)
  const removeAll = () => {
    for (const copy of copies) copy.remove()
  }
  process.once("SIGINT", () => {
    removeAll()
    process.exit(130)
  })
  try {
    const dirty = await unmutated(copies, chosen)
    if (dirty.length > 0) return conclude("", dirty)
    const verdicts = await killAll(copies, chosen)
    const killed = verdicts.flatMap((verdict) => verdict._tag === "Killed" ? [verdict.killed] : [])
    const problems = verdicts.flatMap((verdict) => verdict._tag === "Problem" ? [verdict.why] : [])
    const simulated = killed.filter(({ failure }) => failure.found !== undefined).length
    if (write && problems.length === 0) writeTable(killed)
    const seconds = ((performance.now() - start) / 1000).toFixed(0)
    conclude(`${killed.length} mutants killed, ${simulated} by the simulator, none survived. ${seconds} s.`, problems)
  } finally {
    removeAll()
  }
}

const writeTable = (killed: ReadonlyArray<Killed>): void => {
  const path = Path.join(root, tablePath)
  Fs.mkdirSync(Path.dirname(path), { recursive: true })
  Fs.writeFileSync(path, print(killed))
  runBin("dprint", ["fmt", tablePath])
}

const help = (): string => {
  const [doc = ""] = readSource("tools/mutants.ts").split("*/")
  return doc.split("\n").slice(1).map((text) => text.replace(/^ \* ?/, "")).join("\n").trimEnd()
}

const main = async (args: ReadonlyArray<string>): Promise<void> => {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      check: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      workers: { type: "string", default: "2" }
    }
  })
  if (values.help) return console.log(help())
  const table = Fs.existsSync(Path.join(root, tablePath)) ? readSource(tablePath) : ""
  if (values.check) return conclude(`${mutants.length} mutants can be planted.`, flaws(mutants, table))
  const chosen = positionals.length === 0
    ? mutants
    : mutants.filter(({ id }) => positionals.some((name) => id.startsWith(name)))
  if (chosen.length === 0) return conclude("", [`No mutant is named so: ${positionals.join(", ")}`])
  if (values.write && positionals.length > 0) return conclude("", ["The table is written when all are run: name none."])
  await run(chosen, Number(values.workers), values.write)
}

if (isMain(import.meta)) await main(process.argv.slice(2))
