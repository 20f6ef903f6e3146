import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import type { Json } from "setpoint/internal/json"
import { fromJsonSchema } from "setpoint/internal/jsonSchema"

describe("keywords", () => {
  const cases: ReadonlyArray<readonly [schema: Json, good: ReadonlyArray<Json>, bad: ReadonlyArray<Json>]> = [
    [true, [null, 1, {}], []],
    [false, [], [null, 1, {}]],
    [{}, [null, 1, {}], []],
    [{ type: "string" }, ["", "a"], [1, null, [], {}, true]],
    [{ type: "integer" }, [0, -1, 1e3], [0.5, "1", null]],
    [{ type: "number" }, [0, 0.5], ["1", null]],
    [{ type: "null" }, [null], [0, "", false]],
    [{ type: "array" }, [[]], [{}]],
    [{ type: "object" }, [{}], [[], null]],
    [{ type: ["string", "null"] }, ["a", null], [1]],
    [{ type: "string", nullable: true }, ["a", null], [1]],
    [{ type: "string", nullable: false }, ["a"], [null]],
    [{ nullable: true, "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] }, [
      null,
      1,
      "a"
    ], [0.5]],
    [{ type: "string", nullable: true, enum: ["a"] }, ["a"], [null, "b"]],
    [{ type: "object", nullable: true, "x-kubernetes-embedded-resource": true }, [null], [{}]],
    [{ enum: ["a", 1, null, { b: [1] }] }, ["a", 1, null, { b: [1] }], ["b", { b: [2] }]],
    [{ const: { a: 1, b: 2 } }, [{ b: 2, a: 1 }], [{ a: 1 }]],
    [{ const: null }, [null], [0]],
    [{ minimum: 1, maximum: 3 }, [1, 3, "0"], [0, 4]],
    [{ exclusiveMinimum: 1, exclusiveMaximum: 3 }, [2], [1, 3]],
    [{ minimum: 1, exclusiveMinimum: true }, [1.5], [1]],
    [{ minimum: 1, exclusiveMinimum: false }, [1], [0]],
    [{ exclusiveMaximum: true }, [1], []],
    [{ multipleOf: 0.1 }, [0.3, 1, 0], [0.35]],
    [{ multipleOf: 2 }, [4, -2, 1e300], [3]],
    [{ minLength: 2, maxLength: 3 }, ["ab", "abc", "😀😀", 1], ["a", "abcd", "😀"]],
    [{ pattern: "^a+$" }, ["aa", 1], ["b", "ab"]],
    [{ pattern: "a" }, ["xax"], ["x"]],
    [{ pattern: "^\\-$" }, ["-"], ["a"]],
    [{ format: "int32" }, [2147483647], [2147483648]],
    [{ format: "date-time" }, ["2024-02-29T23:59:60Z", "2024-01-01t00:00:00.123+01:00"], [
      "2023-02-29T00:00:00Z",
      "2024-01-01",
      "2024-01-01T24:00:00Z",
      "x"
    ]],
    [{ format: "date" }, ["2024-02-29"], ["2024-02-30", "2024-13-01", "24-01-01"]],
    [{ format: "uuid" }, ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567"]],
    [{ format: "ipv4" }, ["10.0.0.255"], ["10.0.0.256", "10.0.0", "010.0.0.1"]],
    [{ format: "byte" }, ["", "aGk=", "aGkh"], ["aGk", "a b="]],
    [{ format: "of-ours" }, ["anything"], []],
    [{ items: { type: "string" } }, [[], ["a"], "no array"], [["a", 1]]],
    [{ prefixItems: [{ type: "string" }], items: { type: "number" } }, [[], ["a", 1]], [[1], ["a", "b"]]],
    [{ items: [{ type: "string" }], additionalItems: false }, [["a"]], [["a", "b"]]],
    [{ minItems: 1, maxItems: 2 }, [[1], [1, 2]], [[], [1, 2, 3]]],
    [{ uniqueItems: true }, [[1, "1", [1], { a: 1 }]], [[1, 1], [{ a: 1, b: 2 }, { b: 2, a: 1 }]]],
    [{ contains: { const: 1 } }, [[1, 2]], [[], [2]]],
    [{ contains: { const: 1 }, minContains: 0, maxContains: 1 }, [[], [1]], [[1, 1]]],
    [{ properties: { a: { type: "string" } } }, [{}, { a: "b" }, { other: 1 }], [{ a: 1 }]],
    [{ required: ["a"] }, [{ a: null }, "no object"], [{}]],
    [{ required: ["toString"] }, [{ toString: 1 }], [{}]],
    [{ properties: { a: true }, additionalProperties: false }, [{}, { a: 1 }], [{ b: 1 }]],
    [{ additionalProperties: { type: "string" } }, [{ a: "b" }], [{ a: 1 }]],
    [{ patternProperties: { "^x-": { type: "number" } }, additionalProperties: false }, [{ "x-a": 1 }], [
      { "x-a": "1" },
      { a: 1 }
    ]],
    [{ propertyNames: { maxLength: 2 } }, [{ ab: 1 }], [{ abc: 1 }]],
    [{ minProperties: 1, maxProperties: 2 }, [{ a: 1 }], [{}, { a: 1, b: 2, c: 3 }]],
    [{ dependentRequired: { a: ["b"] } }, [{}, { b: 1 }, { a: 1, b: 1 }], [{ a: 1 }]],
    [{ dependentSchemas: { a: { required: ["b"] } } }, [{ b: 1 }], [{ a: 1 }]],
    [{ allOf: [{ type: "string" }, { minLength: 2 }] }, ["ab"], ["a", 1]],
    [{ anyOf: [{ type: "string" }, { minimum: 2 }] }, ["a", 2], [1]],
    [{ oneOf: [{ minimum: 0 }, { maximum: 10 }] }, [-1, 11], [5]],
    [{ not: { type: "string" } }, [1], ["a"]],
    // oxlint-disable-next-line unicorn/no-thenable
    [{ if: { required: ["a"] }, then: { required: ["b"] }, else: { required: ["c"] } }, [{ a: 1, b: 1 }, { c: 1 }], [{
      a: 1
    }, {}]],
    [{ "x-kubernetes-int-or-string": true }, [80, "http"], [0.5, null, {}]],
    [{ anyOf: [{ type: "integer" }, { type: "string" }], "x-kubernetes-int-or-string": true }, [80, "http"], [0.5]],
    [{ type: "object", additionalProperties: false, "x-kubernetes-preserve-unknown-fields": true }, [{ a: 1 }], [1]],
    [{ "x-kubernetes-embedded-resource": true }, [{ apiVersion: "v1", kind: "Pod", more: 1 }], [{}, {
      apiVersion: "",
      kind: "Pod"
    }, 1]],
    [{ "x-kubernetes-list-type": "set" }, [["a", "b"]], [["a", "a"]]],
    [{ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] }, [[{ name: "a" }, { name: "b" }]], [[{
      name: "a",
      v: 1
    }, { name: "a", v: 2 }]]],
    [{ $ref: "#/$defs/a~1b", $defs: { "a/b": { type: "string" } } }, ["a"], [1]],
    [{ $ref: "#/definitions/a%20b", definitions: { "a b": { type: "string" } } }, ["a"], [1]],
    [{ $ref: "#/$defs/s", minLength: 2, $defs: { s: { type: "string" } } }, ["ab"], ["a", 1]],
    [{ type: "object", properties: { next: { $ref: "#" }, value: { type: "integer" } } }, [{
      next: { next: { value: 1 } }
    }], [{ next: { next: { value: "x" } } }]],
    [{ title: "t", description: "d", "x-anything": 1, deprecated: true }, [1], []]
  ]
  for (const [schema, good, bad] of cases) {
    it(`${JSON.stringify(schema)}`, () => {
      const codec = compiled(schema)
      for (const value of good) {
        assert.strictEqual(Schema.decodeSync(codec)(value), value)
        assert.strictEqual(Schema.encodeUnknownSync(codec)(value), value)
      }
      for (const value of bad) {
        assert.isTrue(Result.isFailure(Schema.decodeResult(codec)(value)), JSON.stringify(value))
        assert.isTrue(Result.isFailure(Schema.encodeUnknownResult(codec)(value)), JSON.stringify(value))
      }
    })
  }
})

describe("what is reported", () => {
  it("names every wrong field by its path, and what would be right", () => {
    const codec = compiled({
      type: "object",
      required: ["host"],
      properties: {
        replicas: { type: "integer", minimum: 0 },
        ports: { type: "array", items: { type: "object", properties: { port: { type: "integer" } } } }
      }
    })
    const result = Schema.decodeResult(codec, { errors: "all" })({
      replicas: -1,
      ports: [{ port: 1 }, { port: "x" }]
    })
    assert.deepStrictEqual(issues(result), [
      { path: ["replicas"], message: "must be at least 0, but is -1" },
      { path: ["ports", 1, "port"], message: `must be an integer, but is "x"` },
      { path: ["host"], message: "is required" }
    ])
  })
  it("of several alternatives explains the one that came closest", () => {
    const codec = compiled({
      anyOf: [{ type: "string" }, {
        type: "object",
        properties: { port: { type: "object", properties: { name: { type: "string" } } } }
      }]
    })
    const [issue] = issues(Schema.decodeResult(codec)({ port: { name: 1 } }))
    assert.include(issue?.message, "/port/name must be a string, but is 1")
  })
  it("a value that is not JSON is refused with its path", () => {
    const [issue] = issues(Schema.decodeResult(compiled({}))({ a: [Number.NaN] }))
    assert.deepStrictEqual(issue?.path, ["a", "0"])
  })
})

describe("defaults", () => {
  const codec = compiled({
    type: "object",
    required: ["replicas"],
    properties: {
      replicas: { type: "integer", default: 1 },
      strategy: { type: "object", default: {}, properties: { type: { type: "string", default: "Rolling" } } },
      ports: { type: "array", items: { $ref: "#/$defs/port" } },
      primary: { $ref: "#/$defs/withDefault" },
      nullable: { type: "string", nullable: true, default: "x" }
    },
    additionalProperties: { type: "object", properties: { on: { type: "boolean", default: true } } },
    $defs: {
      port: { type: "object", properties: { protocol: { type: "string", default: "TCP" } } },
      withDefault: { type: "string", default: "here" }
    }
  })
  const filled = {
    replicas: 1,
    strategy: { type: "Rolling" },
    ports: [{ protocol: "UDP" }, { protocol: "TCP" }],
    primary: "here",
    nullable: null,
    extra: { on: true }
  }
  it("are filled in when decoded and when encoded, nested ones too, and given values stay", () => {
    const given = { ports: [{ protocol: "UDP" }, {}], nullable: null, extra: {} }
    assert.deepStrictEqual(Schema.decodeSync(codec)(given), filled)
    assert.deepStrictEqual(Schema.encodeUnknownSync(codec)(given), filled)
    assert.deepStrictEqual(given, { ports: [{ protocol: "UDP" }, {}], nullable: null, extra: {} })
  })
  it("fill a null where the schema takes none", () => {
    assert.deepStrictEqual(Schema.decodeSync(codec)({ ...filled, replicas: null }), filled)
  })
  it("leave a whole value as it is, and share unchanged parts", () => {
    assert.strictEqual(Schema.decodeSync(codec)(filled), filled)
    const partly = Schema.decodeUnknownSync(codec)({ ...filled, primary: undefined }) as typeof filled
    assert.strictEqual(partly.ports, filled.ports)
    assert.strictEqual(partly.primary, "here")
  })
  it("share nothing with the document", () => {
    const fallback = { a: [1] }
    const decoded = Schema.decodeSync(compiled({ properties: { x: { default: fallback } } }))({})
    fallback.a.push(2)
    assert.deepStrictEqual(decoded, { x: { a: [1] } })
  })
  it("make the codec a transformation only where there are some", () => {
    const plain = compiled({ type: "object" })
    assert.strictEqual(Schema.toEncoded(plain).ast, plain.ast)
    assert.notStrictEqual(Schema.toEncoded(codec).ast, codec.ast)
  })
})

describe("fields", () => {
  it("[S13] that the document does not know survive decoding and encoding", () => {
    const codec = compiled({ type: "object", properties: { a: { type: "object", properties: { b: { default: 1 } } } } })
    const value = { a: { other: [1] }, more: { x: null } }
    assert.deepStrictEqual(Schema.decodeSync(codec)(value), { a: { b: 1, other: [1] }, more: { x: null } })
    assert.deepStrictEqual(Schema.encodeUnknownSync(codec)(value), { a: { b: 1, other: [1] }, more: { x: null } })
  })
})

describe("a wrong document", () => {
  const cases: ReadonlyArray<readonly [schema: unknown, path: string, reason: string]> = [
    [1, "", "a schema is an object"],
    [undefined, "", "JSON cannot hold"],
    [{ properties: { a: { type: "strnig" } } }, "/properties/a/type", `is "strnig": it must be one of null, boolean`],
    [{ type: 5 }, "/type", "must be one of"],
    [{ type: [] }, "/type", "must be one of"],
    [{ properties: { a: 1 } }, "/properties/a", "a schema is an object"],
    [{ properties: [] }, "/properties", "an object of schemas"],
    [{ required: "a" }, "/required", "array of strings"],
    [{ items: { minLength: -1 } }, "/items/minLength", "0 or more"],
    [{ minimum: "1" }, "/minimum", "a number"],
    [{ multipleOf: 0 }, "/multipleOf", "above 0"],
    [{ pattern: "(" }, "/pattern", "regular expression"],
    [{ patternProperties: { "(": {} } }, "/patternProperties/(", "regular expression"],
    [{ enum: [] }, "/enum", "not empty"],
    [{ anyOf: {} }, "/anyOf", "array of schemas"],
    [{ $ref: "#/$defs/none" }, "/$ref", `"#/$defs/none", which is not in the document`],
    [{ $ref: "other.json" }, "/$ref", "only references inside"],
    [{ $ref: "#/%" }, "/$ref", "only references inside"],
    [
      { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { allOf: [{ $ref: "#/$defs/a" }] } } },
      "/$defs/a",
      "never end"
    ],
    [{ $ref: "#" }, "", "never end"],
    [{ not: { anyOf: [{ $ref: "#" }] } }, "", "never end"],
    [{ properties: { a: { type: "string", default: 1 } } }, "/properties/a/default", "must be a string"],
    [{ properties: { a: { $ref: "#", default: {} } } }, "/properties/a/default", "deeper than"],
    [{ nullable: "yes" }, "/nullable", "true or false"],
    [{ contains: {}, minContains: -1 }, "/minContains", "0 or more"],
    [{ dependentRequired: { a: "b" } }, "/dependentRequired/a", "array of strings"],
    [{ "x-kubernetes-list-type": "bag" }, "/x-kubernetes-list-type", "atomic"],
    [{ "x-kubernetes-list-type": "map" }, "/x-kubernetes-list-type", "list-map-keys"],
    [{ unevaluatedProperties: false }, "/unevaluatedProperties", "not supported"]
  ]
  for (const [schema, path, reason] of cases) {
    it(`is refused, naming the place: ${JSON.stringify(schema)}`, () => {
      const result = fromJsonSchema(schema)
      if (Result.isSuccess(result)) throw new Error("was not refused")
      assert.strictEqual(result.failure.path, path)
      assert.include(result.failure.reason, reason)
    })
  }
  it("is refused where references lead on and on, instead of overflowing the stack", () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 100_000 }, (_, i) => [`d${i}`, { $ref: `#/$defs/d${i + 1}` }])
    )
    assert.isTrue(Result.isFailure(fromJsonSchema({ $ref: "#/$defs/d0", $defs })))
  })
})

describe("depth and parts", () => {
  const tree = compiled({
    $ref: "#/$defs/node",
    $defs: { node: { type: "object", properties: { child: { allOf: [{ $ref: "#/$defs/node" }] } } } }
  })
  const nested = (depth: number): Json => {
    let value: Json = {}
    for (let i = 0; i < depth; i++) value = { child: value }
    return value
  }
  it("a recursive document takes deep values and refuses deeper ones", () => {
    assert.isTrue(Result.isSuccess(Schema.decodeResult(tree)(nested(300))))
    assert.isTrue(Result.isFailure(Schema.decodeResult(tree)(nested(499))))
    assert.isTrue(Result.isFailure(Schema.decodeResult(tree)(nested(100_000))))
  })
  it("a part of a document is compiled by its pointer, with references into the whole", () => {
    const document = {
      properties: { spec: { properties: { a: { $ref: "#/$defs/s" } } } },
      $defs: { s: { type: "string" } }
    }
    const codec = Result.getOrThrow(fromJsonSchema(document, { at: "/properties/spec" }))
    assert.isTrue(Result.isFailure(Schema.decodeResult(codec)({ a: 1 })))
    assert.isTrue(Result.isFailure(fromJsonSchema(document, { at: "/properties/status" })))
  })
})

// ---------------------------------------------------------------------------------------------------------------------

function compiled(schema: Json): Schema.Codec<Json, Json> {
  return Result.getOrThrowWith(fromJsonSchema(schema), ({ path, reason }) => new Error(`${path} ${reason}`))
}

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const issues = (result: Result.Result<unknown, Schema.SchemaError>) => {
  if (Result.isSuccess(result)) throw new Error("was not refused")
  return format(result.failure.issue).issues.map(({ message, path }) => ({ path, message }))
}
