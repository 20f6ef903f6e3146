/** A reporter for vitest that tells its parent, a line of JSON each: the tests that fail, as they do, and how it ended. */
import type { Reporter, TestCase, TestModule } from "vitest/node"

export type Told =
  | { readonly _tag: "Failed"; readonly title: string; readonly message: string }
  | { readonly _tag: "Ended"; readonly passed: number; readonly errors: ReadonlyArray<string> }

export const mark = "mutants: "

const tell = (told: Told): void => void process.stdout.write(`${mark}${JSON.stringify(told)}\n`)

export default class Telling implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const { errors = [], state } = test.result()
    if (state !== "failed") return
    tell({ _tag: "Failed", title: test.fullName, message: errors.map(({ message }) => message).join("\n") })
  }
  onTestRunEnd(modules: ReadonlyArray<TestModule>, errors: ReadonlyArray<{ readonly message: string }>): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const passed = tests.filter((test) => test.result().state === "passed").length
    const broken = [...modules.flatMap((module) => module.errors()), ...errors]
    tell({ _tag: "Ended", passed, errors: broken.map(({ message }) => message) })
  }
}
