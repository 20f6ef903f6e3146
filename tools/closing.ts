/** A reporter for vitest: ends a run with one plain line, which people and programs read alike. */
import type { Reporter } from "vitest/node"

export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** What is asked of vitest's TestModule. */
export interface Module {
  readonly children: { readonly allTests: () => Iterable<{ readonly result: () => { readonly state: string } }> }
  readonly errors: () => ReadonlyArray<unknown>
}

/** A file that did not load and an error outside of every test count as one failure each. */
export const count = (modules: ReadonlyArray<Module>, errors: ReadonlyArray<unknown>): Counts => {
  const states = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state))
  const broken = modules.filter((module) => module.errors().length > 0).length
  return {
    passed: states.filter((state) => state === "passed").length,
    failed: states.filter((state) => state === "failed").length + broken + errors.length,
    skipped: states.filter((state) => state === "skipped" || state === "pending").length
  }
}

/** Printed as the process ends, for the other reporters' summaries come first. A run of no test is no success. */
export default class Closing implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<Module>, errors: ReadonlyArray<unknown>): void {
    const { failed, passed, skipped } = count(modules, errors)
    process.on("exit", () => {
      if (passed === 0) process.exitCode = 1
      console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
    })
  }
}
