import { assert, describe, it } from "@effect/vitest"
import { allocate } from "../src/ports.ts"

const range = { from: 10, to: 12 }
const ports = (names: ReadonlyArray<string>, held: Record<string, number> = {}) =>
  Object.fromEntries(allocate(range, names, Object.entries(held).map(([name, port]) => ({ name, port }))))

describe("ports of a range", () => {
  it("are given in order, the lowest free one first", () => {
    assert.deepStrictEqual(ports(["a-0", "a-1"]), { "a-0": 10, "a-1": 11 })
    assert.deepStrictEqual(ports(["a-0", "a-1"], { other: 10 }), { "a-0": 11, "a-1": 12 })
  })

  it("stay with who holds them, whoever comes and goes", () => {
    assert.deepStrictEqual(ports(["a-0", "a-1", "a-2"], { "a-1": 10, "a-0": 12 }), { "a-0": 12, "a-1": 10, "a-2": 11 })
  })

  it("are given anew where the range moved", () => {
    assert.deepStrictEqual(ports(["a-0"], { "a-0": 99 }), { "a-0": 10 })
  })

  it("that two hold stay with the earlier name", () => {
    assert.deepStrictEqual(ports(["b-0"], { "a-0": 10, "b-0": 10 }), { "b-0": 11 })
    assert.deepStrictEqual(ports(["a-0"], { "a-0": 10, "b-0": 10 }), { "a-0": 10 })
  })

  it("run out: who finds none left is not in the answer", () => {
    assert.deepStrictEqual(ports(["a-0", "a-1", "a-2", "a-3"]), { "a-0": 10, "a-1": 11, "a-2": 12 })
    assert.deepStrictEqual(ports(["a-0"], { x: 10, y: 11, z: 12 }), {})
  })
})
