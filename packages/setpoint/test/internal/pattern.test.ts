import { assert, describe, it } from "@effect/vitest"
import * as Pattern from "setpoint/internal/pattern"

describe("compile", () => {
  const cases: ReadonlyArray<readonly [pattern: string, yes: ReadonlyArray<string>, no: ReadonlyArray<string>]> = [
    ["^a+$", ["a", "aa"], ["", "b"]],
    ["^(?i)(abort|warn)?$", ["", "ABORT", "Warn"], ["x"]],
    ["(?i)^abc$", ["ABC"], ["ab"]],
    ["(?s)^a.b$", ["a\nb"], ["ab"]],
    ["(?U)^a+$", ["aa"], ["b"]],
    ["\\Aab\\z", ["ab"], ["xab", "ab\n", "abx"]],
    ["^[[:alpha:]_-]+$", ["a_-Z"], ["a1", "["]],
    ["^[^[:space:]]+$", ["ab"], ["a b"]],
    ["^[[:alnum:][:punct:]]+$", ["a!9]["], ["a b"]],
    ["^[]a]+$", ["]a"], ["b"]],
    ["^(?P<year>\\d{4})$", ["2026"], ["26"]],
    ["^\\pL+$", ["é"], ["1"]],
    ["^\\p{Lu}$", ["É"], ["é"]],
    ["^\\-\\/\\\\$", ["-/\\"], ["-"]],
    ["^[a\\]]+$", ["a]"], ["b"]],
    ["^\\[:alpha:\\]$", ["[:alpha:]"], ["a"]]
  ]
  for (const [pattern, yes, no] of cases) {
    it(pattern, () => {
      const compiled = Pattern.compile(pattern)
      for (const text of yes) assert.isTrue(compiled?.test(text), text)
      for (const text of no) assert.isFalse(compiled?.test(text), text)
    })
  }
  it("gives nothing for what JavaScript cannot say, or what is no expression", () => {
    for (const pattern of ["(", "[a", "a(?i)b", "[[:nope:]]", "*", "a\\"]) assert.isUndefined(Pattern.compile(pattern))
  })
})
