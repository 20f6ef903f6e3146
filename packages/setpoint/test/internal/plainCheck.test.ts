import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as PlainCheck from "setpoint/internal/plainCheck"

const codec = Schema.Struct({
  text: Schema.String,
  count: Schema.Int,
  // @effect-diagnostics-next-line schemaNumber:off
  ratio: Schema.Number,
  flag: Schema.optionalKey(Schema.Boolean),
  maybe: Schema.optional(Schema.String),
  nested: Schema.Struct({ list: Schema.Array(Schema.String), choice: Schema.Literals(["a", "b"]) }),
  map: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  anything: Schema.optionalKey(Schema.Struct({}))
})

const right = { text: "", count: 1, ratio: 0.5, nested: { list: ["x"], choice: "a" } }

const values: ReadonlyArray<unknown> = [
  right,
  { ...right, flag: true, maybe: "", map: { a: "b" }, anything: 1, unknown: 1 },
  { ...right, maybe: undefined },
  { ...right, flag: undefined },
  { ...right, text: undefined },
  { ...right, count: 1.5 },
  { ...right, count: Number.NaN },
  { ...right, ratio: Number.NaN },
  { ...right, ratio: "1" },
  { ...right, nested: { list: [1], choice: "a" } },
  { ...right, nested: { list: [], choice: "c" } },
  { ...right, nested: [] },
  { ...right, nested: null },
  { ...right, map: { a: 1 } },
  { ...right, anything: null },
  Object.create(right),
  Object.assign(Object.create({ text: "inherited" }), { ...right, text: "own" }),
  { text: "" },
  {},
  [],
  [right],
  null,
  undefined,
  "text",
  () => right
]

describe("plainCheck", () => {
  it("accepts exactly what Schema accepts", () => {
    const check = PlainCheck.compile(codec.ast)
    const is = Schema.is(codec)
    for (const value of values) assert.strictEqual(check(value), is(value), JSON.stringify(value))
    assert.isTrue(check(right))
  })

  it("asks Schema where a struct has a check of its own", () => {
    const checked = Schema.Struct({ low: Schema.Finite, high: Schema.Finite }).check(
      Schema.makeFilter(({ high, low }) => low <= high)
    )
    const check = PlainCheck.compile(checked.ast)
    assert.isTrue(check({ low: 1, high: 2 }))
    assert.isFalse(check({ low: 2, high: 1 }))
  })
})
