import type { ViteUserConfig } from "vitest/config"

const config: ViteUserConfig = {
  resolve: { tsconfigPaths: true },
  test: { include: ["test/**/*.test.ts"], passWithNoTests: true, sequence: { concurrent: true } }
}
export default config
