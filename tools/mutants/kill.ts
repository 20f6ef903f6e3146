/** Runs the tests of a copy up to the first that fails. */
import { spawn } from "node:child_process"
import * as Path from "node:path"
import { root } from "../workspace.ts"
import type { Copy } from "./copy.ts"
import type { Tests } from "./mutant.ts"
import { mark, type Told } from "./reporter.ts"

/** A mutant may make a test turn in circles for ever. */
const limitMillis = 90_000

export interface Failure {
  readonly title: string
  /** What the simulator says, where it was the simulator: the check, and the number of deviations. */
  readonly found: { readonly check: string; readonly deviations: number } | undefined
}

export type Ran =
  | { readonly _tag: "Passed"; readonly tests: number }
  | { readonly _tag: "Failed"; readonly failure: Failure }
  /** No test said anything: none was selected, or a file did not load. */
  | { readonly _tag: "Broken"; readonly why: string }
  | { readonly _tag: "Hung" }

/** The vitest project of a test file is named after the package that the file is of. */
const projectOf = (copy: Copy, { file }: Tests): string =>
  (JSON.parse(copy.read(`${file.split("/").slice(0, 2).join("/")}/package.json`)) as { readonly name: string }).name

export const runTests = (copy: Copy, tests: Tests): Promise<Ran> => {
  const filter = tests.titles === undefined ? [] : ["-t", tests.titles]
  const reporter = `--reporter=${Path.join(root, "tools/mutants/reporter.ts")}`
  const vitest = Path.join(copy.path, "node_modules/vitest/vitest.mjs")
  // No cache of modules, for each run has other sources; one test after the other, so that the same one is always first.
  const args = [
    vitest,
    "run",
    "--project",
    projectOf(copy, tests),
    reporter,
    "--no-fsModuleCache",
    "--sequence.concurrent=false",
    ...filter,
    tests.file
  ]
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd: copy.path,
      env: { ...process.env, NO_COLOR: "1", CI: "true", SETPOINT_TEST_MILLIS: "15000" },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true
    })
    let output = ""
    let ran: Ran | undefined
    const end = (as: Ran) => {
      ran ??= as
      if (child.pid !== undefined && child.exitCode === null) kill(child.pid)
    }
    const timer = setTimeout(() => end({ _tag: "Hung" }), limitMillis)
    const hear = (data: Buffer) => {
      output += String(data)
      const failure = toldIn(output).find((told) => told._tag === "Failed")
      if (failure !== undefined) end({ _tag: "Failed", failure: failureOf(failure) })
    }
    child.stdout.on("data", hear)
    child.stderr.on("data", hear)
    child.on("close", () => {
      clearTimeout(timer)
      resolve(ran ?? ended(output))
    })
  })
}

/** With its workers: they are of its group. */
const kill = (pid: number): void => {
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // it ended meanwhile
  }
}

/** Whole lines only: the last may still be on its way. */
const toldIn = (output: string): ReadonlyArray<Told> =>
  output.split("\n").slice(0, -1).flatMap((line) => {
    const at = line.indexOf(mark)
    return at === -1 ? [] : [JSON.parse(line.slice(at + mark.length)) as Told]
  })

const ended = (output: string): Ran => {
  const end = toldIn(output).find((told) => told._tag === "Ended")
  if (end === undefined) return { _tag: "Broken", why: output }
  if (end.passed === 0 || end.errors.length > 0) return { _tag: "Broken", why: end.errors.join("\n") || "no test ran" }
  return { _tag: "Passed", tests: end.passed }
}

/** How `Engine.test.ts` says it. */
const simulated = /\b(P\d+|leak|input) with (\d+) deviations/

const failureOf = ({ message, title }: Told & { readonly _tag: "Failed" }): Failure => {
  const found = simulated.exec(message)
  return {
    title,
    found: found === null ? undefined : { check: found[1] ?? "", deviations: Number(found[2]) }
  }
}
