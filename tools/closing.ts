/** A reporter for vitest: ends every run with one plain line, which people and programs read alike. */
import type { Reporter, TestModule } from "vitest/node"

const counts = { passed: 0, failed: 0, skipped: 0, pending: 0 }

const reporter: Reporter = {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandledErrors) {
    for (const module of modules) {
      const tests = [...module.children.allTests()]
      for (const test of tests) counts[test.result().state] += 1
      if (tests.length === 0 && module.state() === "failed") counts.failed += 1 // the file did not load
    }
    const failed = counts.failed + unhandledErrors.length
    process.on("exit", () => {
      console.log(`${counts.passed} passed, ${failed} failed, ${counts.skipped + counts.pending} skipped`)
    })
  }
}

export default reporter
