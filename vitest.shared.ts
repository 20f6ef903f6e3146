import type { ViteUserConfig } from "vitest/config"

const config: ViteUserConfig = {
  resolve: { tsconfigPaths: true },
  test: {
    include: ["test/**/*.test.ts"],
    passWithNoTests: true,
    sequence: { concurrent: true },
    testTimeout: process.env["SETPOINT_NIGHTLY"] === "1" ? 1_500_000 : 60_000 // only so that a hang ends: tests of one file share its time, and the machine with others
  }
}
export default config
