import { assert, describe, it } from "@effect/vitest"
import type { Resource } from "setpoint"
import * as SimpleSchema from "../src/simpleSchema.ts"

const translate = (fields: Resource.Json, types?: Resource.Json) =>
  SimpleSchema.toJsonSchema({ fields, at: "spec.schema.spec", types, typesAt: "spec.schema.types" })

const schemaOf = (field: string, types?: Resource.Json) => {
  const { flaws, schema } = translate({ field }, types)
  assert.deepStrictEqual(flaws, [])
  return (schema["properties"] as { readonly field: SimpleSchema.JsonSchema }).field
}

const flawsOf = (fields: Resource.Json, types?: Resource.Json) =>
  translate(fields, types).flaws.map((flaw) => `${flaw.field}: ${flaw.why}`)

describe("types", () => {
  it("plain types are those of JSON Schema", () => {
    assert.deepStrictEqual(["string", "integer", "number", "float", "boolean"].map((name) => schemaOf(name)), [
      { type: "string" },
      { type: "integer" },
      { type: "number" },
      { type: "number" },
      { type: "boolean" }
    ])
  })

  it("an object is anything", () => {
    assert.deepStrictEqual(schemaOf("object"), { type: "object", "x-kubernetes-preserve-unknown-fields": true })
  })

  it("lists and maps nest", () => {
    assert.deepStrictEqual(schemaOf("map[string][]map[string]integer"), {
      type: "object",
      additionalProperties: {
        type: "array",
        items: { type: "object", additionalProperties: { type: "integer" } }
      }
    })
  })

  it("a mapping of fields is an object, and is filled in where all that it needs has defaults", () => {
    assert.deepStrictEqual(translate({ ingress: { enabled: "boolean | default=false" } }).schema, {
      type: "object",
      properties: {
        ingress: { type: "object", properties: { enabled: { type: "boolean", default: false } }, default: {} }
      },
      default: {}
    })
    const needy = translate({ ingress: { host: "string | required=true", path: `string | default="/"` } }).schema
    assert.notProperty((needy["properties"] as { readonly ingress: object }).ingress, "default")
  })

  it("custom types may name others, and stand in lists and maps", () => {
    const types = { Address: { city: "string" }, Person: { name: "string", homes: "[]Address" } }
    const address = { type: "object", properties: { city: { type: "string" } } }
    assert.deepStrictEqual(schemaOf("map[string]Person", types), {
      type: "object",
      additionalProperties: {
        type: "object",
        properties: { name: { type: "string" }, homes: { type: "array", items: address } }
      }
    })
  })

  it("a custom type that contains itself is refused where it is declared, with the way round", () => {
    assert.deepStrictEqual(flawsOf({ a: "A" }, { A: { b: "[]B" }, B: { a: "A" } }), [
      "spec.schema.types.A: contains itself: A -> B -> A"
    ])
  })

  it("an unknown type, an empty one and a map with other keys are refused with their path", () => {
    assert.deepStrictEqual(
      flawsOf({ one: { "a-b": "strng" }, two: "", three: "map[integer]string", four: 3 }),
      [
        `spec.schema.spec.one["a-b"]: has the unknown type "strng"; known are string, integer, number, float, boolean, object, []T, map[string]T`,
        `spec.schema.spec.two: has no type; write one such as "string" or "[]integer"`,
        "spec.schema.spec.three: has map keys of type integer; only string is possible",
        "spec.schema.spec.four: must be a mapping of fields to types"
      ]
    )
  })

  it("types nested without end are refused", () => {
    assert.match(flawsOf({ deep: `${"[]".repeat(5000)}string` }).join(), /nests types deeper than 16/)
  })
})

describe("markers", () => {
  it("a default has its field's type", () => {
    assert.deepStrictEqual(schemaOf("string | default=nginx:1.25"), { type: "string", default: "nginx:1.25" })
    assert.deepStrictEqual(schemaOf(`string | default="a b"`), { type: "string", default: "a b" })
    assert.deepStrictEqual(schemaOf("string | default=100"), { type: "string", default: "100" })
    assert.deepStrictEqual(schemaOf("integer | default=100"), { type: "integer", default: 100 })
    assert.deepStrictEqual(schemaOf(`[]string | default=["a","b c"]`)["default"], ["a", "b c"])
    assert.deepStrictEqual(
      schemaOf(String.raw`map[string]string | default={"a/b": "\"true\"", "c": "}"}`)["default"],
      { "a/b": `"true"`, c: "}" }
    )
  })

  it("required is the parent's, in the order of the fields", () => {
    const { schema } = translate({
      b: "string | required=true",
      a: "string | required=true",
      c: "string | required=false"
    })
    assert.deepStrictEqual(schema["required"], ["b", "a"])
  })

  it("bounds, lists of values, patterns and descriptions are kept", () => {
    assert.deepStrictEqual(schemaOf(`integer | minimum=1 maximum=9 description="how many"`), {
      type: "integer",
      minimum: 1,
      maximum: 9,
      description: "how many"
    })
    assert.deepStrictEqual(schemaOf(`string | enum="dev, prod" minLength=2 maxLength=5 pattern="^[a-z]+$"`), {
      type: "string",
      enum: ["dev", "prod"],
      minLength: 2,
      maxLength: 5,
      pattern: "^[a-z]+$"
    })
    assert.deepStrictEqual(schemaOf("integer | enum=1,2")["enum"], [1, 2])
    assert.deepStrictEqual(schemaOf("[]string | minItems=1 maxItems=3 uniqueItems=true"), {
      type: "array",
      items: { type: "string" },
      minItems: 1,
      maxItems: 3,
      uniqueItems: true,
      "x-kubernetes-list-type": "set"
    })
  })

  it("immutable and validation are rules", () => {
    assert.deepStrictEqual(schemaOf(`string | immutable=true validation="self != ''"`)["x-kubernetes-validations"], [
      { rule: "self == oldSelf", message: "field is immutable" },
      { rule: "self != ''", message: "validation failed" }
    ])
  })

  it("what is no marker, or not for this type, is refused with its path", () => {
    assert.deepStrictEqual(
      flawsOf({
        a: "string | require=true",
        b: "string | minimum=1",
        c: "integer | default=many",
        d: `string | default="open`,
        e: "integer | minimum=x",
        f: `string | pattern="["`,
        g: "string | required",
        h: "string |",
        i: "boolean | enum=true",
        j: "string | required=yes"
      }),
      [
        "spec.schema.spec.a: marker require is unknown",
        "spec.schema.spec.b: marker minimum is for integer and number fields, not for string",
        `spec.schema.spec.c: marker default must be JSON for a field of type integer, found "many"`,
        "spec.schema.spec.d: marker default has an open quote or bracket",
        `spec.schema.spec.e: marker minimum cannot be "x"`,
        `spec.schema.spec.f: marker pattern is no regular expression: "["`,
        `spec.schema.spec.g: has "required" where a marker=value should stand`,
        `spec.schema.spec.h: has nothing after "|"`,
        "spec.schema.spec.i: marker enum is for string and integer fields, not for boolean",
        `spec.schema.spec.j: marker required must be true or false, found "yes"`
      ]
    )
  })
})
