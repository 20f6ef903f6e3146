import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as JsonPatch from "effect/JsonPatch"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Json from "setpoint/internal/json"

// Small values over few keys, so that two of them often share parts.
const leaf = Schema.Union([Schema.Null, Schema.Literals([true, 0, 1, "", "a", "null"])])
const json: Schema.Codec<Json.Json> = Schema.Union([
  leaf,
  Schema.Array(Schema.suspend(() => json)),
  Schema.Struct({
    a: Schema.optionalKey(Schema.suspend(() => json)),
    b: Schema.optionalKey(Schema.suspend(() => json)),
    "c/d": Schema.optionalKey(Schema.suspend(() => json)),
    toString: Schema.optionalKey(Schema.suspend(() => json))
  })
])
const twins = Arbitrary.all([Arbitrary.schema(json), Arbitrary.schema(json)])
const edits = Arbitrary.all([
  Arbitrary.schema(json),
  Arbitrary.schema(Schema.Array(Schema.Struct({
    op: Schema.Literals(["add", "remove", "replace"]),
    path: Schema.NonEmptyArray(Schema.Literals(["a", "b", "c/d", "0", "1", "-", "01", "toString"])),
    value: json
  })))
])
const many = { arbitrary: { runs: 1000 } }

describe("fromUnknown", () => {
  it("takes JSON as it is, without a copy", () => {
    for (const value of [null, true, 0, "", [], {}, { a: [1, { b: null }] }]) assert.strictEqual(taken(value), value)
  })
  it("leaves out members that are undefined, and keeps the identity of all other parts", () => {
    const kept = { c: [1] }
    const value = taken({ a: undefined, kept, list: [{ b: undefined, d: 1 }] })
    assert.deepStrictEqual(value, { kept, list: [{ d: 1 }] })
    assert.strictEqual((value as { kept: unknown }).kept, kept)
  })
  it("refuses what JSON cannot hold, and says where", () => {
    const cases: ReadonlyArray<readonly [value: unknown, path: string, part: string]> = [
      [undefined, "", "undefined"],
      [{ a: [1, Number.NaN] }, "/a/1", "finite"],
      [{ "a/b": { "~": 1n } }, "/a~1b/~0", "bigint"],
      [[undefined], "/0", "undefined"],
      [{ a: new Date(0) }, "/a", "Date"],
      [{ a: new Map() }, "/a", "Map"],
      [{ a: () => 1 }, "/a", "function"]
    ]
    for (const [value, path, part] of cases) {
      const flaw = refusal(Json.fromUnknown(value))
      assert.strictEqual(flaw.path, path)
      assert.include(flaw.reason, part)
    }
  })
  it("refuses a member named __proto__, and touches no prototype", () => {
    const flaw = refusal(Json.fromUnknown(JSON.parse(`{"a":{"__proto__":{"polluted":true}}}`)))
    assert.strictEqual(flaw.path, "/a")
    assert.isUndefined(({} as { polluted?: unknown }).polluted)
    assert.deepStrictEqual(taken({ constructor: 1, prototype: 2, toString: 3 }), {
      constructor: 1,
      prototype: 2,
      toString: 3
    })
  })
  it("refuses too deep a nesting and a cycle instead of overflowing the stack", () => {
    taken(nested(Json.maxDepth))
    assert.include(refusal(Json.fromUnknown(nested(Json.maxDepth + 1))).reason, "deeper than")
    assert.include(refusal(Json.fromUnknown(nested(1_000_000))).reason, "deeper than")
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    assert.include(refusal(Json.fromUnknown(cycle)).reason, "deeper than")
  })
  it("refuses a small value that stands for millions by sharing", () => {
    let laughs: unknown = "ha"
    for (let i = 0; i < 40; i++) laughs = [laughs, laughs]
    assert.include(refusal(Json.fromUnknown(laughs)).reason, "more than")
  })
})

describe("equal and share", () => {
  it("the order of members does not count, that of items does", () => {
    assert.isTrue(Json.equal({ a: 1, b: [1, 2] }, { b: [1, 2], a: 1 }))
    assert.isFalse(Json.equal([1, 2], [2, 1]))
    assert.isFalse(Json.equal({ a: 1 }, { b: 1 }))
    assert.isFalse(Json.equal({}, []))
    assert.isFalse(Json.equal({ a: null }, {}))
    assert.isFalse(Json.equal({ constructor: {} }, { other: {} }))
    assert.isFalse(Json.equal({ toString: {} }, { valueOf: {} }))
  })
  it.prop(
    "equal agrees with a comparison of sorted text",
    [twins],
    ([[a, b]]) =>
      Json.equal(a, b) === (sorted(a) === sorted(b)) && Json.equal(a, a) && Json.equal(b, a) === Json.equal(a, b),
    many
  )
  it.prop("share gives an equal value, the old one itself where nothing changed", [twins], ([[a, b]]) => {
    const shared = Json.share(a, b)
    return Json.equal(shared, b) && (!Json.equal(a, b) || shared === a || typeof b !== "object")
      && Json.share(a, structuredClone(a)) === a
  }, many)
  it("share takes every unchanged part from the old value", () => {
    const before = { spec: { a: [1, 2] }, list: [{ x: 1 }, { x: 2 }] }
    const after = Json.share(before, { spec: { a: [1, 2] }, list: [{ x: 1 }, { x: 3 }] }) as typeof before
    assert.strictEqual(after.spec, before.spec)
    assert.strictEqual(after.list[0], before.list[0])
    assert.deepStrictEqual(after.list[1], { x: 3 })
  })
})

describe("deepFreeze", () => {
  it("freezes every part of a deep and of a wide value", () => {
    const deep = Json.deepFreeze(nested(1_000_000))
    let depth = 0
    for (let at: unknown = deep; Array.isArray(at); at = at[0], depth++) assert.isTrue(Object.isFrozen(at))
    assert.strictEqual(depth, 1_000_000)
    const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, { i }]))
    assert.isTrue(Object.values(Json.deepFreeze(wide)).every(Object.isFrozen))
  })
  it("skips what is frozen already, unless a caller made it", () => {
    const half = () => ({ outer: Object.freeze({ inner: { a: 1 } }) })
    assert.isFalse(Object.isFrozen(Json.deepFreeze(half()).outer.inner))
    assert.isTrue(Object.isFrozen(Json.deepFreeze(half(), { foreign: true }).outer.inner))
  })
  it("goes on after a null", () => {
    const value = Json.deepFreeze({ a: null, b: { c: null, d: [null, {}] }, e: {} })
    assert.isTrue([value, value.b, value.b.d, value.b.d[1], value.e].every(Object.isFrozen))
  })
})

describe("mergePatch", () => {
  const cases: ReadonlyArray<readonly [rule: string, target: Json.Json, patch: Json.Json, result: Json.Json]> = [
    ["a member replaces", { host: "a" }, { host: "b" }, { host: "b" }],
    ["a new member is added", { host: "a" }, { port: 1 }, { host: "a", port: 1 }],
    ["null removes", { host: "a", port: 1 }, { port: null }, { host: "a" }],
    ["null removes nothing where nothing is", { host: "a" }, { port: null }, { host: "a" }],
    ["an array is replaced whole", { list: [1, 2] }, { list: [3] }, { list: [3] }],
    ["a scalar becomes an array", { list: 1 }, { list: [1] }, { list: [1] }],
    ["objects merge at every level", { a: { b: 1, c: 2 } }, { a: { b: null, d: 3 } }, { a: { c: 2, d: 3 } }],
    ["nulls inside an array stay", {}, { list: [null, { a: null }] }, { list: [null, { a: null }] }],
    ["nulls in a new object are dropped at every level", { a: 1 }, { a: { b: { c: null } } }, { a: { b: {} } }],
    ["an object replaces a scalar target", "x", { a: 1 }, { a: 1 }],
    ["a scalar replaces the whole", { a: 1 }, "x", "x"],
    ["null replaces the whole", { a: 1 }, null, null],
    ["a null of the target stays", { a: null }, { b: 1 }, { a: null, b: 1 }],
    ["an array target becomes an object", [1], { a: 1 }, { a: 1 }]
  ]
  for (const [rule, target, patch, result] of cases) {
    it(`${rule}`, () => assert.deepStrictEqual(success(Json.mergePatch(target, patch)), result))
  }
  it("what stays equal keeps its identity", () => {
    const target = { a: { x: 1 }, b: { y: [1] }, c: "c" }
    assert.strictEqual(success(Json.mergePatch(target, { a: { x: 1 }, b: { y: [1], z: null } })), target)
    const changed = success(Json.mergePatch(target, { a: { x: 2 } })) as typeof target
    assert.strictEqual(changed.b, target.b)
  })
  it("refuses a patch that is too deep or names __proto__", () => {
    assert.include(refusal(Json.mergePatch({}, nested(100_000))).reason, "deeper")
    assert.include(refusal(Json.mergePatch({}, JSON.parse(`{"__proto__":{"polluted":1}}`))).reason, "__proto__")
    assert.isUndefined(({} as { polluted?: unknown }).polluted)
  })
  it("a member named like one of the prototype is an ordinary member", () => {
    assert.deepStrictEqual(success(Json.mergePatch({}, { constructor: { a: 1 } })), { constructor: { a: 1 } })
  })
  it.prop(
    "a patch made from two values makes the second of the first, unless null must be written",
    [twins],
    ([[a, b]]) => {
      const patch = Json.diffMerge(a, b)
      if (patch === undefined) return sorted(b).includes(":null")
      return Json.equal(success(Json.mergePatch(a, patch)), b)
    },
    many
  )
  it.prop("applying a patch never changes its target, and twice is once", [twins], ([[a, b]]) => {
    const before = sorted(a)
    const once = success(Json.mergePatch(Json.deepFreeze(a), Json.deepFreeze(b)))
    return sorted(a) === before && (Json.isObject(b) ? success(Json.mergePatch(once, b)) === once : true)
  }, many)
  it("the patch between equal values is empty", () => {
    assert.deepStrictEqual(Json.diffMerge({ a: [1], b: null }, { b: null, a: [1] }), {})
    assert.isUndefined(Json.diffMerge({ a: 1 }, { a: null }))
    assert.isUndefined(Json.diffMerge({ a: 1 }, { a: { b: null } }))
  })
})

describe("jsonPatch", () => {
  const target = { a: { b: [1, 2, 3] }, "x/y": 1, "m~n": 2, "": 3 }
  const cases: ReadonlyArray<readonly [rule: string, operations: ReadonlyArray<Json.Json>, result: Json.Json]> = [
    ["add sets a new member", [{ op: "add", path: "/c", value: null }], { ...target, c: null }],
    ["add replaces a member", [{ op: "add", path: "/a", value: 1 }], { ...target, a: 1 }],
    ["add inserts before an index", [{ op: "add", path: "/a/b/1", value: 9 }], { ...target, a: { b: [1, 9, 2, 3] } }],
    ["add at the length appends", [{ op: "add", path: "/a/b/3", value: 9 }], { ...target, a: { b: [1, 2, 3, 9] } }],
    ["add at - appends", [{ op: "add", path: "/a/b/-", value: [4] }], { ...target, a: { b: [1, 2, 3, [4]] } }],
    ["add at the root replaces all", [{ op: "add", path: "", value: 7 }], 7],
    ["remove takes an item out", [{ op: "remove", path: "/a/b/1" }], { ...target, a: { b: [1, 3] } }],
    ["replace sets what is there", [{ op: "replace", path: "/a/b/0", value: 0 }], { ...target, a: { b: [0, 2, 3] } }],
    ["replace at the root replaces all", [{ op: "replace", path: "", value: [] }], []],
    ["move takes out, then adds", [{ op: "move", from: "/a/b/0", path: "/a/b/2" }], { ...target, a: { b: [2, 3, 1] } }],
    ["move onto itself changes nothing", [{ op: "move", from: "/a", path: "/a" }], target],
    ["copy adds what is there", [{ op: "copy", from: "/a/b", path: "/c" }], { ...target, c: [1, 2, 3] }],
    ["test holds for equal values", [{ op: "test", path: "/a", value: { b: [1, 2, 3] } }], target],
    ["~1 is a slash and ~0 a tilde", [{ op: "replace", path: "/x~1y", value: 8 }, { op: "remove", path: "/m~0n" }], {
      a: target.a,
      "x/y": 8,
      "": 3
    }],
    ["an empty token is the empty name", [{ op: "replace", path: "/", value: 0 }], { ...target, "": 0 }],
    ["~01 is the name ~1", [{ op: "add", path: "/~01", value: 1 }], { ...target, "~1": 1 }],
    ["unknown members of an operation are ignored", [{ op: "remove", path: "/a", why: 1 }], {
      "x/y": 1,
      "m~n": 2,
      "": 3
    }],
    [
      "later operations see earlier ones",
      [{ op: "add", path: "/n", value: {} }, { op: "add", path: "/n/o", value: 1 }],
      { ...target, n: { o: 1 } }
    ]
  ]
  for (const [rule, operations, result] of cases) {
    it(`${rule}`, () => {
      Json.deepFreeze(target)
      assert.deepStrictEqual(success(Json.jsonPatch(target, operations)), result)
    })
  }
  const wrong: ReadonlyArray<readonly [rule: string, operation: Json.Json, part: string]> = [
    ["add needs the parent", { op: "add", path: "/q/r", value: 1 }, `no member "q"`],
    ["add past the end", { op: "add", path: "/a/b/4", value: 1 }, "array of 3"],
    ["an index has no leading zero", { op: "add", path: "/a/b/01", value: 1 }, "array of 3"],
    ["an index is not negative", { op: "remove", path: "/a/b/-1" }, "array of 3"],
    ["- names no item", { op: "remove", path: "/a/b/-" }, "array of 3"],
    ["remove needs what it removes", { op: "remove", path: "/q" }, `no member "q"`],
    ["replace needs what it replaces", { op: "replace", path: "/q", value: 1 }, `no member "q"`],
    ["a scalar has no members", { op: "add", path: "/x~1y/z", value: 1 }, `1 has no member "z"`],
    ["a member of the prototype is none", { op: "test", path: "/constructor", value: 1 }, `no member "constructor"`],
    ["the whole cannot be removed", { op: "remove", path: "" }, "whole document"],
    ["move into itself", { op: "move", from: "/a", path: "/a/b/0" }, "into itself"],
    ["copy needs its source", { op: "copy", from: "/q", path: "/r" }, `no member "q"`],
    ["test of another value", { op: "test", path: "/a/b/0", value: "1" }, `is 1, not the tested "1"`],
    ["an unknown operation", { op: "merge", path: "/a" }, "must be one of add"],
    ["no operation", { path: "/a" }, "must be one of add"],
    ["a path without a slash", { op: "remove", path: "a" }, "JSON Pointer"],
    ["a path with a bad escape", { op: "remove", path: "/a~2" }, "JSON Pointer"],
    ["no value", { op: "add", path: "/a" }, `"value"`],
    ["no from", { op: "move", path: "/a" }, `"from"`],
    ["not an object", 1, "must be an object"],
    ["__proto__ as a name", { op: "add", path: "/__proto__", value: { polluted: 1 } }, "__proto__"],
    ["__proto__ on the way", { op: "add", path: "/__proto__/polluted", value: 1 }, "__proto__"]
  ]
  for (const [rule, operation, part] of wrong) {
    it(`refuses the whole patch, naming the operation: ${rule}`, () => {
      const flaw = refusal(Json.jsonPatch(target, [{ op: "test", path: "", value: target }, operation]))
      assert.strictEqual(flaw.index, 1)
      assert.include(flaw.reason, part)
      assert.isUndefined(({} as { polluted?: unknown }).polluted)
    })
  }
  it("refuses a patch that is no array, or has too many operations", () => {
    assert.include(refusal(Json.jsonPatch({}, {})).reason, "array of operations")
    const operations = Array.from({ length: 10_001 }, () => ({ op: "test", path: "", value: {} }))
    assert.include(refusal(Json.jsonPatch({}, operations)).reason, "10001")
  })
  it("refuses copies of copies that grow without bound", () => {
    const operations = Array.from({ length: 60 }, () => ({ op: "copy", from: "", path: "/-" }))
    const flaw = refusal(Json.jsonPatch([1], operations))
    assert.match(flaw.reason, /deeper than|writes more than/)
    const wide = Array.from({ length: 60 }, (_, i) => ({ op: "copy", from: "/a", path: `/a/k${i}` }))
    assert.match(refusal(Json.jsonPatch({ a: {} }, wide)).reason, /deeper than|writes more than/)
  })
  it("what is not on a path keeps its identity, and what stays equal too", () => {
    const before = { a: { b: [{ c: 1 }, { d: 1 }] }, e: { f: 1 } }
    const after = success(Json.jsonPatch(before, [{ op: "replace", path: "/a/b/0/c", value: 2 }])) as typeof before
    assert.strictEqual(after.e, before.e)
    assert.strictEqual(after.a.b[1], before.a.b[1])
    assert.strictEqual(success(Json.jsonPatch(before, [{ op: "add", path: "/e", value: { f: 1 } }])), before)
    assert.strictEqual(
      success(Json.jsonPatch(before, [{ op: "replace", path: "", value: structuredClone(before) }])),
      before
    )
  })
  it.prop(
    "a patch that Effect's JsonPatch finds between two values makes the second of the first",
    [twins],
    ([[a, b]]) => Json.equal(success(Json.jsonPatch(a, JsonPatch.get(a, b))), b),
    many
  )
  it.prop(
    "any add, remove and replace does what Effect's JsonPatch does, or both refuse",
    [edits],
    ([[target, edits]]) => {
      let value = target
      for (const { op, path, value: operand } of edits) {
        const patch: JsonPatch.JsonPatch = [
          op === "remove" ? { op, path: Json.pointer(path) } : { op, path: Json.pointer(path), value: operand }
        ]
        const ours = Json.jsonPatch(Json.deepFreeze(value), patch)
        const theirs = Result.try(() => JsonPatch.apply(patch, value))
        assert.strictEqual(Result.isSuccess(ours), Result.isSuccess(theirs))
        if (Result.isFailure(ours) || Result.isFailure(theirs)) continue
        assert.deepStrictEqual(ours.success, theirs.success)
        value = ours.success
      }
    },
    many
  )
  it.prop("replacing every member by its new value makes the second of the first", [twins], ([[a, b]]) => {
    if (!Json.isObject(a) || !Json.isObject(b)) return true
    const removed = Object.keys(a).filter((key) => !Object.hasOwn(b, key)).map((key) => ({
      op: "remove",
      path: Json.pointer([key])
    }))
    const added = Object.keys(b).map((key) => ({ op: "add", path: Json.pointer([key]), value: b[key] }))
    return Json.equal(success(Json.jsonPatch(a, [...removed, ...added])), b)
  }, many)
})

// ---------------------------------------------------------------------------------------------------------------------

const taken = (value: unknown): Json.Json => success(Json.fromUnknown(value))

const success = <A>(result: Result.Result<A, Json.Flaw>): A =>
  Result.getOrThrowWith(result, (flaw) => new Error(`${flaw.path}: ${flaw.reason}`))

const refusal = <E>(result: Result.Result<unknown, E>): E => {
  if (Result.isFailure(result)) return result.failure
  throw new Error("was not refused")
}

const sorted = (value: Json.Json): string =>
  Json.isObject(value)
    ? `{${Object.keys(value).toSorted().map((key) => `${JSON.stringify(key)}:${sorted(value[key])}`).join()}}`
    : Json.isArray(value)
    ? `[${value.map(sorted).join()}]`
    : JSON.stringify(value === 0 ? 0 : value)

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < depth; i++) value = [value]
  return value
}
