/** Runs benches: every run in a process of its own, the rounds of all subjects of a case interleaved. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { type Bench, type Case, caseName } from "./bench.ts"
import type { Figures } from "./measure.ts"
import * as Peers from "./peers.ts"

/** All rounds of one subject in one case. */
export interface Measurement {
  readonly bench: string
  readonly of: Case
  readonly subject: string
  readonly isPeer: boolean
  readonly rounds: Array<Figures>
}

export interface Options {
  readonly rounds: number
  readonly quick: boolean
  readonly withPeers: boolean
  /** One line for the person who waits. */
  readonly say: (line: string) => void
  /** All that was measured so far, after each case: a run that is broken off leaves what it has. */
  readonly soFar: (measurements: ReadonlyArray<Measurement>) => void
}

interface Contender {
  readonly measurement: Measurement
  readonly command: ReadonlyArray<string>
}

const defaultLimitMinutes = 10

const execute = async (
  [program = "", ...args]: ReadonlyArray<string>,
  limitMinutes: number
): Promise<Figures> => {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"], timeout: limitMinutes * 60_000 })
  const [output, [code, signal]] = await Promise.all([text(child.stdout), once(child, "exit")])
  const line = output.split("\n").findLast((line) => line.startsWith("{"))
  if (code !== 0 || line === undefined) throw new Error(`ended with ${signal ?? code} and without a result`)
  const result: { readonly [name: string]: unknown } = JSON.parse(line)
  return Object.fromEntries(
    Object.entries(result).filter((entry): entry is [string, number] => typeof entry[1] === "number")
  )
}

const contenders = (bench: Bench, of: Case, withPeers: boolean): ReadonlyArray<Contender> => [
  ...Object.keys(bench.subjects).map((subject) => ({
    measurement: { bench: bench.name, of, subject, isPeer: false, rounds: [] },
    command: [
      process.execPath,
      "--expose-gc",
      ...(bench.flags ?? []),
      fileURLToPath(new URL("run.ts", import.meta.url)),
      bench.name,
      subject,
      JSON.stringify(of)
    ]
  })),
  ...(withPeers ? bench.peers?.(of) ?? [] : []).map((peer) => ({
    measurement: { bench: bench.name, of, subject: peer.peer, isPeer: true, rounds: [] },
    command: Peers.command(peer)
  }))
]

/** The programs of the peers that these benches need and that are ready to run. */
const readyPrograms = (benches: ReadonlyArray<Bench>, { say, withPeers }: Options): ReadonlySet<string> => {
  if (!withPeers) {
    say("NO PEER IS RUN: ask for them with --peers")
    return new Set()
  }
  const wanted = new Set(
    benches.flatMap((bench) => bench.cases.flatMap((of) => bench.peers?.(of) ?? []).map(({ program }) => program))
  )
  return new Set([...wanted].filter((program) => Peers.prepare(program, say) === "ready"))
}

export const run = async (benches: ReadonlyArray<Bench>, options: Options): Promise<ReadonlyArray<Measurement>> => {
  const ready = readyPrograms(benches, options)
  const measurements: Array<Measurement> = []
  for (const bench of benches) {
    const reachable: Bench = {
      ...bench,
      peers: (of) => (bench.peers?.(of) ?? []).filter(({ program }) => ready.has(program))
    }
    for (const of of options.quick ? bench.quick ?? bench.cases.slice(0, 1) : bench.cases) {
      options.say(`${bench.name} ${caseName(of)}`)
      measurements.push(...await runCase(reachable, of, options))
      options.soFar(measurements)
    }
  }
  return measurements
}

const runCase = async (
  bench: Bench,
  of: Case,
  { rounds, say, withPeers }: Options
): Promise<ReadonlyArray<Measurement>> => {
  const all = contenders(bench, of, withPeers)
  for (let round = 0; round < rounds; round++) {
    for (const { command, measurement } of all) {
      try {
        measurement.rounds.push(await execute(command, bench.limitMinutes ?? defaultLimitMinutes))
      } catch (error) {
        say(`FAILED: ${measurement.bench} ${measurement.subject} ${caseName(measurement.of)}: ${String(error)}`)
      }
    }
  }
  return all.map(({ measurement }) => measurement)
}
