import { assert, describe, it } from "@effect/vitest"
import * as Rules from "../src/folderRules.ts"
import type { Service } from "../src/Kinds.ts"
import * as Manifest from "../src/Manifest.ts"

const manifest = (name: string, more = "") =>
  `apiVersion: fleet.example.dev/v1
kind: Service
metadata: { name: ${name} }
spec: { command: node, ports: { from: 10, to: 19 }${more} }
`

const service = (name: string, source?: string): Service => ({
  apiVersion: "fleet.example.dev/v1",
  kind: "Service",
  metadata: {
    name,
    uid: name,
    resourceVersion: "7",
    creationTimestamp: "2026-01-01T00:00:00Z",
    ...(source === undefined ? {} : { annotations: { [Rules.sourceAnnotation]: source } })
  },
  spec: { command: "node", args: [], env: {}, stopTimeout: "5 seconds", replicas: 1, ports: { from: 10, to: 19 } }
})

const plan = (files: Record<string, string>, services: ReadonlyArray<Service> = []) => {
  const read = new Map(
    Object.entries(files).map(([file, text]) => [file, Manifest.read(file, new TextEncoder().encode(text))])
  )
  const plan = Rules.plan(read, services, (directory) => `/manifests/${directory ?? ""}`)
  return {
    write: plan.write.map(({ input, name }) => `${name} of ${input.metadata.annotations?.[Rules.sourceAnnotation]}`),
    remove: plan.remove.map(({ metadata }) => metadata.name),
    problems: plan.problems.map(Manifest.problemText),
    inputs: plan.write.map(({ input }) => input)
  }
}

describe("a folder of manifests", () => {
  it("asks for what its files declare, each service marked with its file", () => {
    const { problems, remove, write } = plan({
      "b.yaml": manifest("web"),
      "a.yaml": `${manifest("api")}---\n${manifest("db")}`
    })
    assert.deepStrictEqual(write, ["api of a.yaml", "db of a.yaml", "web of b.yaml"])
    assert.deepStrictEqual([remove, problems], [[], []])
  })

  it("a relative directory is one of the folder", () => {
    const { inputs } = plan({ "a.yaml": manifest("api", ", directory: app") })
    assert.strictEqual(inputs[0]?.spec.directory, "/manifests/app")
  })

  it("a service whose document or file is gone is deleted, and no other", () => {
    const services = [
      service("gone", "a.yaml"),
      service("lost", "lost.yaml"),
      service("kept", "a.yaml"),
      service("foreign")
    ]
    assert.deepStrictEqual(plan({ "a.yaml": manifest("kept") }, services).remove, ["gone", "lost"])
  })

  it("nothing of a file goes while anything is wrong in it; all else goes on", () => {
    const services = [service("web", "bad.yaml"), service("old", "good.yaml")]
    const { problems, remove, write } = plan({
      "bad.yaml": `${manifest("api")}---\n${manifest("web", ", replicas: many")}`,
      "good.yaml": manifest("new")
    }, services)
    assert.deepStrictEqual(write, ["api of bad.yaml", "new of good.yaml"])
    assert.deepStrictEqual(remove, ["old"])
    assert.match(problems.join(), /^bad\.yaml:9:53: spec\.replicas: /)
  })

  it("a name that is declared twice is the first one's", () => {
    const { problems, write } = plan({ "a.yaml": manifest("web"), "b.yaml": manifest("web") })
    assert.deepStrictEqual(write, ["web of a.yaml"])
    assert.deepStrictEqual(problems, ["b.yaml:3:13: metadata.name: web is declared in a.yaml already"])
  })

  it("a service that no manifest declared is left alone", () => {
    const { problems, remove, write } = plan({ "a.yaml": manifest("web") }, [service("web")])
    assert.deepStrictEqual([write, remove], [[], []])
    assert.match(problems.join(), /^a\.yaml:3:13: metadata\.name: .* it is left alone/)
  })

  it("a service moves with its document to another file", () => {
    const { remove, write } = plan({ "b.yaml": manifest("web") }, [service("web", "a.yaml")])
    assert.deepStrictEqual([write, remove], [["web of b.yaml"], []])
  })

  it("only YAML and JSON files that are not hidden are manifests", () => {
    const files = ["a.yaml", "b.yml", "c.json", ".d.yaml", "e.yaml~", "f.txt", "#g.yaml#"]
    assert.deepStrictEqual(files.filter(Rules.isManifest), ["a.yaml", "b.yml", "c.json"])
  })
})
