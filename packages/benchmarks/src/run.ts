/** One run in this process: `run.ts <bench> <subject> <case as JSON>` prints the figures as one JSON line. */
import { benches } from "./benches.ts"

const [, , name, subject = "", text = "{}"] = process.argv
const bench = benches.find((bench) => bench.name === name)
const run = bench?.subjects[subject]
if (run === undefined) throw new Error(`there is no subject ${subject} of a bench ${name}`)
const figures = await run(JSON.parse(text))
process.stdout.write(`${JSON.stringify(figures)}\n`, () => process.exit(0))
