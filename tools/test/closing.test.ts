import { assert, describe, it } from "@effect/vitest"
import { count } from "../closing.ts"

const module = (states: ReadonlyArray<string>, errors: ReadonlyArray<unknown> = []) => ({
  children: { allTests: () => states.map((state) => ({ result: () => ({ state }) })) },
  errors: () => errors
})

describe("the closing line", () => {
  it("counts each test once; what was planned and did not run counts as skipped", () => {
    const modules = [module(["passed", "passed", "failed"]), module(["skipped", "pending", "passed"])]
    assert.deepStrictEqual(count(modules, []), { passed: 3, failed: 1, skipped: 2 })
  })

  it("a file that does not load and an error outside of every test are failures", () => {
    assert.deepStrictEqual(count([module([], [new Error("no such file")])], [new Error("unhandled")]), {
      passed: 0,
      failed: 2,
      skipped: 0
    })
  })
})
