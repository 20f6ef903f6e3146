import type { ViteUserConfig } from "vitest/config"

const config: ViteUserConfig = {
  resolve: { tsconfigPaths: true },
  test: {
    include: ["test/**/*.test.ts"],
    passWithNoTests: true,
    sequence: { concurrent: true },
    // only so that a hang ends: tests of one file share its time, and the machine with others; mutants make tests hang
    testTimeout: Number(
      process.env["SETPOINT_TEST_MILLIS"] ?? (process.env["SETPOINT_NIGHTLY"] === "1" ? 1_500_000 : 300_000)
    )
  }
}
export default config
