import { assert, describe, it } from "@effect/vitest"
import * as Graph from "../src/graph.ts"

const of = (edges: { readonly [id: string]: ReadonlyArray<string> }): Graph.Dependencies =>
  new Map(Object.entries(edges).map(([id, uses]) => [id, new Set(uses)]))

/** A small generator, so that a failing seed can be run again. */
const random = (seed: number) => () => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
  return seed / 2_147_483_648
}

describe("order", () => {
  it("what waits comes after what it waits for, and otherwise the order of declaration stays", () => {
    assert.deepStrictEqual(Graph.orderOf(of({ c: ["a"], b: [], a: [] })), { _tag: "Sorted", ids: ["b", "a", "c"] })
  })

  it("a cycle is told the way round, without what only leads to it", () => {
    assert.deepStrictEqual(Graph.orderOf(of({ x: ["a"], a: ["b"], b: ["c"], c: ["a"] })), {
      _tag: "Cyclic",
      cycle: ["a", "b", "c", "a"]
    })
  })

  it("dependents are all who wait, through others too", () => {
    assert.deepStrictEqual([...Graph.dependents(of({ a: [], b: ["a"], c: ["b"], d: [] }), "a")], ["b", "c"])
  })

  it("in any graph each id stands once, after all it waits for, or there is a cycle of its edges", () => {
    for (let seed = 1; seed <= 2000; seed++) {
      const next = random(seed)
      const ids = Array.from({ length: 1 + Math.floor(next() * 7) }, (_, index) => `n${index}`)
      const edges = new Map(ids.map((id) => [id, new Set(ids.filter((other) => other !== id && next() < 0.25))]))
      const order = Graph.orderOf(edges)
      if (order._tag === "Sorted") {
        assert.sameMembers([...order.ids], ids, `seed ${seed}`)
        for (const [id, uses] of edges) {
          for (const other of uses) assert.isBelow(order.ids.indexOf(other), order.ids.indexOf(id), `seed ${seed}`)
        }
      } else {
        const { cycle } = order
        assert.strictEqual(cycle[0], cycle.at(-1), `seed ${seed}`)
        for (const [index, id] of cycle.slice(0, -1).entries()) {
          assert.isTrue(edges.get(id)?.has(cycle[index + 1]), `seed ${seed}`)
        }
      }
    }
  })
})
