import { defineConfig, mergeConfig } from "vitest/config"
import shared from "./vitest.shared.ts"

const project = (name: string, root: string) => mergeConfig(shared, { root, test: { name } })

export default defineConfig({
  test: {
    projects: [
      project("setpoint", "packages/setpoint"),
      project("@setpoint/testing", "packages/testing"),
      project("@setpoint/sql", "packages/sql"),
      project("hello", "examples/hello"),
      project("owned", "examples/owned"),
      project("testing-example", "examples/testing"),
      project("own-store", "examples/own-store"),
      project("fleet", "examples/fleet"),
      project("blueprints", "examples/blueprints"),
      project("tools", "tools")
    ]
  }
})
