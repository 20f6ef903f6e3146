import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { Service } from "../src/Kinds.ts"
import * as Manifest from "../src/Manifest.ts"

const read = (text: string) => Manifest.read("web.yaml", new TextEncoder().encode(text))

const values = (file: Manifest.File) => file.manifests.map((manifest) => manifest.value)

const problems = (file: Manifest.File) => file.problems.map(Manifest.problemText)

const web = `apiVersion: fleet.example.dev/v1
kind: Service
metadata:
  name: web
spec:
  command: node
  args: [server.mjs]
  replicas: 2
  ports: { from: 18080, to: 18089 }
  health: { path: /healthz }
`

const decode = (text: string) => {
  const [manifest] = read(text).manifests
  assert.isDefined(manifest)
  return Manifest.decode(Service, manifest)
}

const refusals = (text: string) =>
  Result.match(decode(text), { onFailure: (found) => found.map(Manifest.problemText), onSuccess: () => [] })

describe("reading", () => {
  it("a file holds several documents, and empty ones are none", () => {
    assert.deepStrictEqual(values(read("---\na: 1\n---\n---\n# nothing\n---\nb: 2\n---\n")), [{ a: 1 }, { b: 2 }])
  })

  it("a byte order mark, CRLF and UTF-16 are read", () => {
    assert.deepStrictEqual(values(read("\ufeffa: 1\r\nb: two\r\n")), [{ a: 1, b: "two" }])
    const text = "\ufeffa: ä\r\n---\r\nb: 2\r\n"
    assert.deepStrictEqual(values(Manifest.read("x", new Uint8Array(Buffer.from(text, "utf16le")))), [{ a: "ä" }, {
      b: 2
    }])
  })

  it("scalars are read as Kubernetes reads them: yes and no are booleans, dates and base 60 stay text", () => {
    assert.deepStrictEqual(
      values(read("a: no\nb: 2002-12-14\nc: 190:20:30\nd: 010\ne: 0o10\nf: 0x10\ng: ~\nh: '1'\n")),
      [
        { a: false, b: "2002-12-14", c: "190:20:30", d: 8, e: 8, f: 16, g: null, h: "1" }
      ]
    )
  })

  it("anchors, aliases and merge keys are expanded", () => {
    assert.deepStrictEqual(values(read("a: &a { x: 1, z: 2 }\nb: *a\nc: { <<: *a, z: 3 }\n")), [
      { a: { x: 1, z: 2 }, b: { x: 1, z: 2 }, c: { x: 1, z: 3 } }
    ])
  })

  it("a key named __proto__ is a key like any other", () => {
    const [value] = values(read("__proto__: { polluted: 1 }\n"))
    assert.deepStrictEqual(Object.keys(value ?? {}), ["__proto__"])
    assert.strictEqual(Reflect.get({}, "polluted"), undefined)
  })

  it("a bad document spoils no other document of its file", () => {
    const file = read("a: 1\n---\nb: [1\n---\nc: 3\n")
    assert.deepStrictEqual(values(file), [{ a: 1 }, { c: 3 }])
    assert.strictEqual(file.problems.length, 1)
  })

  it.each([
    ["a duplicate key", "a: 1\nb: 2\na: 3\n", "web.yaml:3:1: Map keys must be unique"],
    ["a tab as indentation", "a: 1\n\tb: 2\n", "web.yaml:2:1: "],
    ["an unrendered template", "metadata:\n  name: {{ .Name }}-x\n", "web.yaml:2:"],
    ["a null key", "a:\n  ~: b\n", "web.yaml:1:1: a: has null as a key; keys must be text"],
    ["a collection as a key", "a:\n  ? [1]\n  : b\n", "web.yaml:1:1: a: has a collection as a key"],
    ["a tag it does not know", "a: !secret x\n", "web.yaml:1:4: "],
    ["a sequence", "- a\n- b\n", "web.yaml:1:1: a manifest must be a mapping"],
    ["text after a separator", "a: 1\n--- more text\n", "web.yaml:2:5: a manifest must be a mapping"],
    [
      "an integer that a double cannot hold",
      "a:\n  b: 9007199254740993\n",
      "web.yaml:2:3: a.b: is 9007199254740993, which"
    ],
    ["infinity", "a: [1, .inf]\n", "web.yaml:1:8: a[1]: is Infinity, which JSON cannot hold"],
    ["an alias of itself", "a: &a [*a]\n", "web.yaml:1:8: "],
    ["an alias of nothing", "a: *b\n", "web.yaml:1:"]
  ])("%s is refused with its place", (_, text, expected) => {
    const file = read(text)
    assert.strictEqual(problems(file)[0]?.slice(0, expected.length), expected)
  })

  it("aliases that expand without measure are refused, and soon", () => {
    const bomb = "abcdefghi".split("").map((name, index, all) =>
      `${name}: &${name} [${Array.from({ length: 9 }, () => index === 0 ? "0" : `*${all[index - 1]}`).join(",")}]`
    ).join("\n")
    assert.match(problems(read(bomb))[0] ?? "", /^web\.yaml:1:1: .*alias/)
  })

  it("deep nesting, and a file without measure, are refused", () => {
    assert.match(problems(read(`a: ${"[".repeat(200)}${"]".repeat(200)}`))[0] ?? "", /nested deeper than 64 levels/)
    const deepest = read("[".repeat(20_000))
    assert.deepStrictEqual(values(deepest), [])
    assert.isNotEmpty(problems(deepest))
    assert.match(problems(read(`a: ${"x".repeat(2_000_000)}`))[0] ?? "", /bytes long; a manifest may have 1048576/)
  })

  it("bytes that are no text are refused with their line", () => {
    const file = Manifest.read("x.yaml", new Uint8Array([97, 58, 32, 49, 10, 98, 58, 32, 0xff, 10]))
    assert.deepStrictEqual(problems(file), ["x.yaml:2:1: is not UTF-8 text"])
  })
})

describe("decoding", () => {
  it("a manifest is an object of its kind, with the defaults of the kind", () => {
    const service = decode(web)
    assert.isTrue(Result.isSuccess(service))
    if (Result.isFailure(service)) return
    assert.deepStrictEqual(service.success.metadata, { name: "web" })
    assert.strictEqual(service.success.spec.replicas, 2)
    assert.deepStrictEqual(service.success.spec.env, {})
    assert.strictEqual(service.success.spec.stopTimeout, "10 seconds")
    assert.deepStrictEqual(service.success.spec.health, {
      path: "/healthz",
      every: "1 second",
      timeout: "1 second",
      failures: 3
    })
  })

  it.each([
    [
      "a field of the wrong type",
      web.replace("replicas: 2", "replicas: two"),
      /^web\.yaml:8:3: spec\.replicas: Expected number, found "two"$/
    ],
    ["a field out of its range", web.replace("18089", "70000"), /^web\.yaml:9:25: spec\.ports\.to: /],
    [
      "a range the wrong way round",
      web.replace("18089", "18000"),
      /^web\.yaml:9:25: spec\.ports\.to: must not be below from/
    ],
    ["an item of a list", web.replace("[server.mjs]", "[server.mjs, 7]"), /^web\.yaml:7:22: spec\.args\[1\]: /],
    ["a field nobody knows", web.replace("replicas", "replica"), /^web\.yaml:8:3: spec\.replica: /],
    ["a field that is missing", web.replace("  command: node\n", ""), /^web\.yaml:5:1: spec\.command: /],
    [
      "a boolean where text is due",
      web.replace("args: [server.mjs]", "env: { DEBUG: no }"),
      /^web\.yaml:7:10: spec\.env\.DEBUG: /
    ],
    [
      "a time that is none",
      web + "  stopTimeout: soon\n",
      /^web\.yaml:11:3: spec\.stopTimeout: must be a time such as/
    ],
    ["a kind of others", web.replace("kind: Service", "kind: Pod"), /^web\.yaml:2:1: kind: this fleet knows/],
    ["a status", web + "status: {}\n", /^web\.yaml:11:1: status: is the supervisor's to write/],
    ["a missing name", web.replace("name: web", "label: web"), /^web\.yaml:(3:1|4:3): metadata\.(name|label): /]
  ])("%s is refused with file, line and field", (_, text, expected) => {
    assert.match(refusals(text)[0] ?? "nothing was refused", expected)
  })

  it("every wrong field is named, not only the first", () => {
    const found = refusals(web.replace("replicas: 2", "replicas: -1").replace("command: node", "command: 1"))
    assert.deepStrictEqual(found.map((line) => line.split(":")[1]), ["6", "8"])
  })
})

const inputs = process.env["SETPOINT_INPUTS"] ?? Path.resolve(import.meta.dirname, "../../../../shared/inputs")
const cases = Path.join(inputs, "yaml")
const found = Fs.existsSync(cases)
if (!found) process.stderr.write(`SKIPPED: odd YAML files are not at ${cases}; set SETPOINT_INPUTS to have them read\n`)

/** Cases that are refused here although Kubernetes' reader takes them, and what the refusal says. */
const stricter: Record<string, RegExp> = {
  "duplicate-key": /Map keys must be unique/,
  "int-beyond-double": /cannot hold exactly/,
  "int-huge": /cannot hold exactly/,
  "int-uint64-max": /cannot hold exactly/,
  "json-two-objects": /./,
  "merge-keys": /must be a mapping/
}

interface Expected {
  readonly stated: { readonly documents?: unknown } | null
  readonly kubernetes: {
    readonly result: { readonly stream: ReadonlyArray<unknown>; readonly streamError?: string } | null
  }
}

describe.skipIf(!found)("odd YAML of public projects", () => {
  const names = found ? Fs.readdirSync(cases, { withFileTypes: true }).filter((entry) => entry.isDirectory()) : []
  for (const { name } of names) {
    const folder = Path.join(cases, name)
    const input = Fs.readdirSync(folder).find((file) => file.startsWith("input."))
    if (input === undefined) continue
    const expected: Expected = JSON.parse(Fs.readFileSync(Path.join(folder, "expected.json"), "utf8"))
    const result = expected.kubernetes.result
    if (result === null) continue
    const refused = stricter[name]
    it(`${name}: ${refused === undefined ? "comes out as stated" : "is refused, and why is said"}`, () => {
      const file = Manifest.read(input, Fs.readFileSync(Path.join(folder, input)))
      for (const problem of file.problems) assert.isAbove(problem.line, 0)
      if (refused !== undefined) {
        assert.match(problems(file)[0] ?? "nothing was refused", refused)
      } else if (name === "utf16le-bom-crlf") {
        // Kubernetes' reader splits bytes and misses the second document, which the file's own project states.
        assert.strictEqual(values(file).length, 2)
        assert.deepStrictEqual(problems(file), [])
      } else {
        const documents = result.stream.filter((document) => document !== null)
        const stops = result.streamError !== undefined
        // Kubernetes' reader stops at the first fault; this one goes on with the next document.
        assert.deepStrictEqual(stops ? values(file).slice(0, documents.length) : values(file), documents)
        assert.strictEqual(file.problems.length > 0, stops, problems(file).join("\n"))
      }
    })
  }
})
