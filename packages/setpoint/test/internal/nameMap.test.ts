import { assert, describe, it } from "@effect/vitest"
import * as NameMap from "setpoint/internal/nameMap"

describe("a map by name", () => {
  it("is a map, before, at and after its split", () => {
    const map = NameMap.make<number>()
    const model = new Map<string, number>()
    const agree = () => {
      assert.strictEqual(map.size, model.size)
      for (const name of ["", "0", "x7", `x${NameMap.splitAt - 1}`, `x${NameMap.splitAt}`, "never"]) {
        assert.strictEqual(NameMap.get(map, name), model.get(name))
      }
    }
    const set = (name: string, value: number) => {
      NameMap.set(map, name, value)
      model.set(name, value)
    }
    set("", -1)
    for (let i = 0; i < NameMap.splitAt + 1000; i++) {
      set(`x${i}`, i)
      if (i % 7 === 0) set(`x${i}`, i + 1)
      if (i % 9999 === 0 || i === NameMap.splitAt) agree()
    }
    assert.isAbove(map.shards.length, 1)
    for (let i = 0; i < NameMap.splitAt; i += 3) {
      assert.strictEqual(NameMap.remove(map, `x${i}`), model.delete(`x${i}`))
      assert.isFalse(NameMap.remove(map, `x${i}`))
    }
    agree()
    const values = Array.from(NameMap.values(map)).toSorted((a, b) => a - b)
    assert.deepStrictEqual(values, Array.from(model.values()).toSorted((a, b) => a - b))
  })

  it("lets those who go through it finish, though it splits meanwhile", () => {
    const map = NameMap.make<number>()
    for (let i = 0; i < 10; i++) NameMap.set(map, `x${i}`, i)
    const values = NameMap.values(map)
    const seen = [values.next().value]
    for (let i = 10; i <= NameMap.splitAt; i++) NameMap.set(map, `x${i}`, i)
    for (const value of values) seen.push(value)
    assert.deepStrictEqual(seen.slice(0, 10), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })
})
