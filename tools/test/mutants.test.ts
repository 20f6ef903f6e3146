import { assert, describe, it } from "@effect/vitest"
import { flaws } from "../mutants.ts"
import { mutants } from "../mutants/list.ts"
import { type Mutant, plant } from "../mutants/mutant.ts"

const mutant: Mutant = {
  id: "Q2-example",
  law: "Q2",
  why: "an example",
  file: "packages/setpoint/src/internal/workQueue.ts",
  find: "a < b",
  replace: "a > b",
  tests: []
}

describe("mutants", () => {
  it("a fault is planted where its text stands, to the letter", () => {
    assert.deepStrictEqual(plant({ ...mutant, replace: "$&" }, "if (a < b) c"), { text: "if ($&) c" })
  })

  it("one whose text is gone, or is there twice, cannot be planted", () => {
    assert.match(JSON.stringify(plant(mutant, "if (a <= b) c")), /is not there any more/)
    assert.match(JSON.stringify(plant(mutant, "a < b, a < b")), /is there more than once/)
  })

  it("the check tells names that are taken, faults that no longer apply, and what the table lacks", () => {
    const [taken = "", gone = ""] = flaws([mutant, mutant], "| Q2-example ").toSorted()
    assert.include(taken, "is taken")
    assert.include(gone, "is not there any more")
    assert.include(flaws([mutant], "").join(), "is not in packages/testing/docs/mutants.md")
  })

  it("there are at least 40, some of each family of laws, and each published shape of an engine and of a watch", () => {
    assert.isAtLeast(mutants.length, 40)
    for (const family of ["S", "Q", "E", "D"]) {
      assert.isAbove(mutants.filter(({ law }) => law.startsWith(family)).length, 5)
    }
    const shapes = ["01", "02", "03", "04", "05", "06", "08"]
    for (const shape of [...shapes.map((n) => `EN-${n}`), "EN-09", ...shapes.map((n) => `WA-${n}`)]) {
      assert.isTrue(mutants.some(({ id }) => id === shape), shape)
    }
  })
})
