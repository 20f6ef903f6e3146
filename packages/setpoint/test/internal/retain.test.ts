import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import type { Json } from "setpoint/internal/json"
import { retain } from "setpoint/internal/retain"

/** What a Schema knows of an object here: all members but those whose name begins with "u". */
const known = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(known)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => !name.startsWith("u")).map(([k, v]) => [k, known(v)])
  )
}

const unknownPaths = (value: Json, path: string): ReadonlyArray<string> => {
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([name, at]) => {
    const here = `${path}/${name}`
    return name.startsWith("u") ? [`${here}=${JSON.stringify(at)}`] : unknownPaths(at, here)
  })
}

const Leaf = Schema.Literals([0, 1, 2])
const Node = Schema.Record(Schema.Literals(["a", "b", "u1", "u2"]), Leaf)
const Tree = Schema.Record(
  Schema.Literals(["a", "b", "c", "u1", "u2"]),
  Schema.Union([Leaf, Node, Schema.Array(Node)])
)
const Trees = Schema.Record(Schema.Literals(["a", "b", "u1"]), Schema.Union([Tree, Schema.Array(Tree)]))

describe("retain", () => {
  it.prop("[S13] what nobody touched comes out as it was", [Trees], ([raw]) => {
    assert.deepStrictEqual(retain(known(raw), known(raw), raw), raw)
  }, { arbitrary: { runs: 2_000 } })

  it.prop("[S13] what the caller sets is set, and each unknown field of a map that is still there stays", [
    Trees,
    Trees
  ], ([raw, other]) => {
    const mine = known(other)
    const merged = retain(mine, known(raw), raw)
    assert.deepStrictEqual(known(merged), mine)
    const before = new Set(unknownPaths(raw, ""))
    const arrays = (path: string) => /\/\d+\//.test(path)
    const after = unknownPaths(merged, "").filter((path) => !arrays(path))
    for (const path of after) assert.isTrue(before.has(path), path)
  }, { arbitrary: { runs: 2_000 } })

  it("[S13] elements are found again by content, by name, and by place", () => {
    const raw = { list: [{ name: "a", v: 1, u: 1 }, { name: "b", v: 2, u: 2 }, { name: "c", v: 3, u: 3 }] }
    const knew = known(raw)
    const mine = { list: [{ name: "c", v: 3 }, { name: "new", v: 9 }, { name: "a", v: 7 }] }
    assert.deepStrictEqual(retain(mine, knew, raw), {
      list: [{ name: "c", v: 3, u: 3 }, { name: "new", v: 9 }, { name: "a", v: 7, u: 1 }]
    })
    const unnamed = { list: [{ v: 1, u: 1 }, { v: 2, u: 2 }] }
    assert.deepStrictEqual(retain({ list: [{ v: 5 }, { v: 2 }] }, known(unnamed), unnamed), {
      list: [{ v: 5, u: 1 }, { v: 2, u: 2 }]
    })
    assert.deepStrictEqual(retain({ list: [{ v: 2 }] }, known(unnamed), unnamed), { list: [{ v: 2, u: 2 }] })
  })

  it("[S13] of equal elements each gives its unknown fields once", () => {
    const raw = { list: [{ v: 1, u: 1 }, { v: 1, u: 2 }] }
    assert.deepStrictEqual(retain({ list: [{ v: 1 }, { v: 1 }, { v: 1 }] }, known(raw), raw), {
      list: [{ v: 1, u: 1 }, { v: 1, u: 2 }, { v: 1 }]
    })
  })

  it("[S13] elements beyond those that a view shows stay behind them", () => {
    assert.deepStrictEqual(retain({ hosts: ["x"] }, { hosts: ["a"] }, { hosts: ["a", "b", "c"] }), {
      hosts: ["x", "b", "c"]
    })
  })

  it("[S13] a member that the caller removed takes along what was unknown in it", () => {
    assert.deepStrictEqual(retain({}, { a: { b: 1 } }, { a: { b: 1, u: 1 }, u: 2 }), { u: 2 })
  })
})
