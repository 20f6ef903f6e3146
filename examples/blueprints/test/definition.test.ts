import { assert, describe, it } from "@effect/vitest"
import * as Manifest from "@setpoint/example-manifests"
import * as Result from "effect/Result"
import type { Resource } from "setpoint"
import * as Definition from "../src/definition.ts"
import * as Inputs from "./utils/inputs.ts"

type Json = Resource.Json

const web = (resources: string, schema = "") => `
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: { name: web }
spec:
  schema:
    apiVersion: v1alpha1
    kind: Web
${schema}
    spec:
      name: string
      replicas: integer | default=1
      enabled: boolean
      workers: "[]string"
  resources:
${resources}`

const compile = (text: string, known?: Definition.KnownKinds) => {
  const [manifest] = Inputs.readText("web.yaml", text)
  return Result.mapError(
    Definition.compile(manifest.value, known),
    (flaws) => flaws.map(({ field, why }) => Manifest.problemText(manifest.problem(field, why)))
  )
}

const flawsOf = (text: string, known?: Definition.KnownKinds) =>
  Result.match(compile(text, known), { onSuccess: () => [], onFailure: (flaws) => flaws })

const configMap = (id: string, data: string, more = "") => `
  - id: ${id}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: "\${schema.spec.name}-${id}" }
      data: { value: ${JSON.stringify(data)} }
${more}`

describe("what is refused, with file, line and path", () => {
  const table: ReadonlyArray<readonly [string, string, RegExp]> = [
    [
      "a cycle",
      configMap("a", "${c.data.value}") + configMap("b", "${a.data.value}") + configMap("c", "${b.data.value}"),
      /^web\.yaml:17:5: spec\.resources\[0\]: waits for itself: a -> c -> b -> a$/
    ],
    [
      "a reference to nothing",
      configMap("a", "${deployment.status.x}"),
      /^web\.yaml:22:15: spec\.resources\[0\]\.template\.data\.value: \$\{deployment\.status\.x\}: Unknown variable: deployment; known here are schema$/
    ],
    ["a reference to itself", configMap("a", "${a.data.value}"), /Unknown variable: a/],
    ["a field that the schema does not have", configMap("a", "${schema.spec.nme}"), /data\.value: .*No such key: nme/],
    ["types that do not agree", configMap("a", "${schema.spec.name + 1}"), /no such overload: string \+ int/],
    ["a number in a text", configMap("a", "n ${schema.spec.replicas}"), /gives int; write string/],
    ["an expression that is not CEL", configMap("a", "${schema.spec.}"), /data\.value/],
    [
      "a condition that is no truth",
      configMap("a", "x", "    includeWhen: [\"${schema.spec.name}\"]"),
      /includeWhen\[0\]: .*must give true or false, but gives string/
    ],
    [
      "a condition that is no expression",
      configMap("a", "x", "    includeWhen: [\"yes\"]"),
      /includeWhen\[0\]: must be one expression/
    ],
    [
      "readiness of somebody else",
      configMap("a", "x", "    readyWhen: [\"${schema.spec.enabled}\"]"),
      /readyWhen\[0\]: .*Unknown variable: schema; known here are a$/
    ],
    [
      "a loop over what is no list",
      configMap("a", "${w}", "    forEach: [{ w: \"${schema.spec.name}\" }]"),
      /forEach\[0\]\.w: must give a list, but gives string/
    ],
    [
      "a loop whose name is a resource's",
      configMap("a", "x", "    forEach: [{ a: \"${schema.spec.workers}\" }]"),
      /forEach\[0\]\.a: a is the id of a resource/
    ],
    [
      "an id twice",
      configMap("a", "x") + configMap("a", "y"),
      /resources\[1\]\.id: a is the id of spec\.resources\[0\]/
    ],
    ["a reserved id", configMap("schema", "x"), /id: "schema" is reserved/],
    ["an id that CEL has", configMap("lists", "x"), /id: "lists" is a name of CEL/],
    ["an id that is a type of CEL", configMap("string", "x"), /id: "string" is a name of CEL/],
    ["an id that is no name", configMap("my-map", "x"), /id: "my-map" is no name/],
    ["a resource without content", "  - id: a", /must have a template or an externalRef/],
    [
      "a kind that depends on an instance",
      "  - { id: a, template: { apiVersion: v1, kind: \"${schema.spec.name}\", metadata: { name: a } } }",
      /template\.kind: must be a text without expressions/
    ],
    [
      "a template without a name",
      "  - { id: a, template: { apiVersion: v1, kind: X, metadata: {} } }",
      /must have a name/
    ],
    [
      "labels of the engine",
      "  - { id: a, template: { apiVersion: v1, kind: X, metadata: { name: a, labels: { kro.run/owned: x } } } }",
      /labels\["kro\.run\/owned"\]: is set by the engine alone/
    ],
    [
      "an external reference by name and by labels",
      "  - { id: a, externalRef: { apiVersion: v1, kind: X, metadata: { name: a, selector: {} } } }",
      /externalRef\.metadata: must have a name or a selector, and not both/
    ],
    [
      "a loop of external references",
      "  - { id: a, externalRef: { apiVersion: v1, kind: X, metadata: { name: a } }, forEach: [{ w: \"${[1]}\" }] }",
      /forEach: is for templates/
    ]
  ]
  for (const [what, resources, pattern] of table) {
    it(`${what} is refused`, () => {
      const flaws = flawsOf(web(resources))
      assert.isTrue(flaws.some((flaw) => pattern.test(flaw)), flaws.join("\n"))
    })
  }

  it("all that is wrong is told at once", () => {
    assert.lengthOf(flawsOf(web(configMap("a", "${x}") + configMap("b", "${y}") + configMap("c", "${z}"))), 3)
  })

  it("a cluster kind's resources must say their namespace", () => {
    const flaws = flawsOf(web(configMap("a", "x"), "    scope: Cluster"))
    assert.match(flaws.join(), /template\.metadata: needs a namespace/)
  })

  it("a field that a known kind does not have is refused", () => {
    const known = (groupKind: string) =>
      groupKind === "VPC.aws"
        ? { properties: { status: { type: "object", properties: { vpcID: { type: "string" } } } } }
        : undefined
    const vpc = "  - { id: vpc, template: { apiVersion: aws/v1, kind: VPC, metadata: { name: vpc } } }"
    assert.deepStrictEqual(flawsOf(web(vpc + configMap("a", "${vpc.status.vpcID}")), known), [])
    assert.match(flawsOf(web(vpc + configMap("a", "${vpc.status.vpcId}")), known).join(), /No such key: vpcId/)
  })

  it("a document that is hardly a definition is refused, not thrown at", () => {
    for (
      const spec of [
        "[]",
        "3",
        "{}",
        "{ schema: [] }",
        "{ schema: { kind: 3 }, resources: {} }",
        "{ schema: { kind: We b, apiVersion: v1 } }"
      ]
    ) {
      const text = `apiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\nmetadata: { name: web }\nspec: ${spec}`
      assert.isNotEmpty(flawsOf(text), spec)
    }
  })
})

describe("names of fields", () => {
  it("may differ in what no type name can hold", () => {
    const text = web(configMap("a", "${schema.spec['a-b'].x + schema.spec.a_b.y}")).replace(
      "      name: string",
      "      name: string\n      a-b: { x: string }\n      a_b: { 'y': string }"
    )
    assert.deepStrictEqual(flawsOf(text), [])
  })
})

describe("documents that nobody would write", () => {
  const odd: ReadonlyArray<Json> = [
    null,
    0,
    -1.5,
    true,
    "",
    "${",
    "${}",
    "${{",
    "}",
    "${schema}",
    "${1/0}",
    "${a.b.c}",
    "${'\\u0000'}",
    "${schema.spec.name.x.y}",
    "${each}",
    "${a.map(a, a.map(a, a))}",
    "${cel.bind(schema, 1, schema)}",
    "${\"",
    "x".repeat(10_000),
    "${" + "(".repeat(2_000),
    "${" + "1+".repeat(2_000) + "1}",
    "[]".repeat(1_000),
    "string | default=",
    "string | default={",
    "map[string]",
    [],
    {},
    [[[]]],
    { "": "" },
    { a: { b: { c: [{}] } } },
    { constructor: "string", toString: "integer" },
    ["${a}", "${schema.spec}"]
  ]
  const whole = Inputs.readText(
    "web.yaml",
    web(
      configMap(
        "a",
        "${schema.spec.name}",
        "    includeWhen: [\"${schema.spec.enabled}\"]\n    readyWhen: [\"${a.data.value != ''}\"]"
      ) +
        configMap("b", "${a.data.value}${w}", "    forEach: [{ w: \"${schema.spec.workers}\" }]") +
        "\n  - { id: c, externalRef: { apiVersion: v1, kind: X, metadata: { selector: { matchLabels: { a: \"${schema.spec.name}\" } } } } }",
      "    status: { a: \"${a.data}\", c: \"${size(c)}\" }\n    types: { T: { x: string } }"
    )
  )[0].value

  const places = (
    value: Json,
    at: ReadonlyArray<string | number> = []
  ): ReadonlyArray<ReadonlyArray<string | number>> =>
    typeof value !== "object" || value === null ? [at] : [
      at,
      ...Object.entries(value).flatMap(([key, item]) => places(item, [...at, Array.isArray(value) ? Number(key) : key]))
    ]
  const put = (value: Json, [first, ...rest]: ReadonlyArray<string | number>, other: Json): Json => {
    if (first === undefined) return other
    if (Array.isArray(value)) return value.map((item, index) => index === first ? put(item, rest, other) : item)
    const members = value as Resource.JsonObject
    return { ...members, [first]: put(members[first], rest, other) }
  }

  it("each part of a definition, replaced by each odd value, is refused or right, and never thrown at", () => {
    assert.isTrue(Result.isSuccess(Definition.compile(whole)))
    let refused = 0
    for (const place of places(whole["spec"])) {
      for (const value of odd) {
        const spec = put(whole["spec"], place, value)
        const compiled = Result.try(() => Definition.compile({ ...whole, spec }))
        const where = `spec ${place.join(".")} = ${JSON.stringify(value).slice(0, 60)}`
        assert.isTrue(
          Result.isSuccess(compiled),
          `${where}: ${String(Result.isFailure(compiled) ? compiled.failure : "")}`
        )
        if (Result.isSuccess(compiled) && Result.isFailure(compiled.success)) {
          refused++
          assert.isNotEmpty(compiled.success.failure, where)
        }
      }
    }
    assert.isAbove(refused, 1000)
  })
})

describe("what is made", () => {
  it("resources come in the order of what they wait for", () => {
    const compiled = compile(web(configMap("c", "${a.data.value}") + configMap("a", "x")))
    assert.deepStrictEqual(Result.getOrThrow(compiled).nodes.map(({ id }) => id), ["a", "c"])
  })

  it("the status has the types of its expressions", () => {
    const compiled = compile(
      web(configMap("a", "x"), "    status: { count: \"${size(schema.spec.workers)}\", text: \"a ${a.data.value}\" }")
    )
    const { schema } = Result.getOrThrow(compiled)
    const status = Manifest.valueAt(schema, ["properties", "status", "properties"])
    assert.deepInclude(status as object, { count: { type: "integer" }, text: { type: "string" } })
  })
})

describe.skipIf(Inputs.absent !== undefined)("published definitions", () => {
  for (const name of Inputs.absent === undefined ? Inputs.cases() : []) {
    const manifests = Inputs.files(name).filter((file) => !file.includes("fragment")).flatMap((file) =>
      Inputs.read(name, file)
    )
    const definitions = manifests.filter(({ value }) => value["kind"] === "ResourceGraphDefinition" && "spec" in value)
    if (definitions.length === 0) continue
    it(`${name} compiles unchanged`, () => {
      for (const manifest of definitions) {
        const compiled = Definition.compile(manifest.value)
        const flaws = Result.isFailure(compiled) ? compiled.failure : []
        assert.deepStrictEqual(flaws.map(({ field, why }) => Manifest.problemText(manifest.problem(field, why))), [])
      }
    })
  }

  /** Fragments show resources only: what they say about the instance is here, and the apiVersion that they leave out. */
  const fragments: ReadonlyArray<readonly [string, string, string]> = [
    ["docs-collections", "block-05-fragment.yaml", "workers: '[]string'"],
    ["docs-collections", "block-08-fragment.yaml", "{ regions: '[]string', tiers: '[]string', image: string }"],
    ["docs-collections", "block-15-fragment.yaml", "workers: '[]string'"],
    ["docs-collections", "block-16-fragment.yaml", "databases: '[]object'"],
    ["docs-collections", "block-17-fragment.yaml", "databases: '[]object'"],
    ["docs-conditional-creation", "block-01-fragment.yaml", "{ name: string, ingress: { enabled: boolean } }"],
    ["docs-conditional-creation", "block-06-fragment.yaml", "name: string"],
    ["docs-external-references", "block-01-fragment.yaml", "{ name: string, image: string }"],
    ["docs-external-references", "block-06-fragment.yaml", "name: string"],
    ["docs-external-references", "block-09-fragment.yaml", "teamName: string"],
    ["docs-external-references", "block-13-fragment.yaml", "name: string"],
    ["docs-readiness", "block-01-fragment.yaml", "{ name: string, image: string }"],
    ["docs-readiness", "block-03-fragment.yaml", "workers: '[]string'"]
  ]
  for (const [name, file, spec] of fragments) {
    it(`${name} ${file} compiles within a definition`, () => {
      const published = Inputs.text(name, file).replaceAll(/^( *)kind: /gm, "$1apiVersion: v1\n$1kind: ")
        .replaceAll(/^( *)apiVersion: .*\n\s*apiVersion: v1$/gm, "$1apiVersion: v1")
      const list = published.startsWith("resources:") ? published.slice("resources:\n".length) : published
      const text = "kind: ResourceGraphDefinition\nmetadata: { name: fragment }\nspec:\n" +
        `  schema:\n    apiVersion: v1\n    kind: Fragment\n    spec: ${
          spec.startsWith("{") ? spec : `{ ${spec} }`
        }\n` +
        `  resources:\n${list.split("\n").map((line) => `    ${line}`).join("\n")}\n`
      assert.deepStrictEqual(flawsOf(text), [])
    })
  }
})
