import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { Apply, type Resource } from "setpoint"

const object = (fields: { readonly [name: string]: unknown }): Resource.Raw => ({
  apiVersion: "example.dev/v1",
  kind: "Website",
  metadata: { name: "a", namespace: "default", uid: "u", resourceVersion: "1", creationTimestamp: "t" },
  ...fields
})

const applyAs = (
  stored: Resource.Raw | undefined,
  manager: string,
  fields: { readonly [name: string]: unknown },
  force = false
) => Apply.apply(stored, object(fields), { manager, force, hasStatus: true, nowText: "now" })

const specAfter = (...steps: ReadonlyArray<readonly [manager: string, spec: unknown]>) => {
  let stored: Resource.Raw | undefined
  for (const [manager, spec] of steps) stored = Result.getOrThrow(applyAs(stored, manager, { spec }, true))
  return stored?.spec
}

describe("Apply", () => {
  it("[S11] maps are merged member by member, lists and scalars as a whole", () => {
    assert.deepStrictEqual(
      specAfter(["one", { a: { x: 1 }, l: [1, 2], s: "s" }], ["two", { a: { y: 2 }, l: [3] }]),
      { a: { x: 1, y: 2 }, l: [3], s: "s" }
    )
  })

  it("[S11] a removed field takes along the maps that it leaves empty, but not those that somebody owns as empty", () => {
    assert.deepStrictEqual(specAfter(["one", { a: { b: { c: 1 } }, d: 1 }], ["one", { d: 1 }]), { d: 1 })
    assert.deepStrictEqual(specAfter(["one", { a: { b: 1 } }], ["two", { a: {} }], ["one", {}]), { a: {} })
  })

  it("[S11] a map in place of a scalar, and a scalar in place of a map, are conflicts of both", () => {
    const scalar = Result.getOrThrow(applyAs(undefined, "one", { spec: { a: 1 } }))
    const map = applyAs(scalar, "two", { spec: { a: { b: 1 } } })
    assert.deepStrictEqual(Result.isFailure(map) && map.failure, [{ manager: "one", path: "spec.a.b" }])
    const stored = Result.getOrThrow(applyAs(undefined, "one", { spec: { a: { b: 1 } } }))
    const back = applyAs(stored, "two", { spec: { a: 1 } })
    assert.deepStrictEqual(Result.isFailure(back) && back.failure, [{ manager: "one", path: "spec.a" }])
    assert.deepStrictEqual(specAfter(["one", { a: { b: 1 } }], ["two", { a: 1 }]), { a: 1 })
  })

  it("[S11] every conflict is listed, with its manager", () => {
    const one = Result.getOrThrow(applyAs(undefined, "one", { spec: { a: 1 } }))
    const two = Result.getOrThrow(applyAs(one, "two", { spec: { b: 1 } }))
    const three = applyAs(two, "three", { spec: { a: 2, b: 2, c: 2 } })
    assert.deepStrictEqual(Result.isFailure(three) && three.failure, [
      { manager: "one", path: "spec.a" },
      { manager: "two", path: "spec.b" }
    ])
  })

  it("[S11] names that look like members of a prototype are fields as any other", () => {
    assert.deepStrictEqual(specAfter(["one", { constructor: 1 }], ["two", { toString: 2 }]), {
      constructor: 1,
      toString: 2
    })
  })

  it.effect("[S11] forced applies of several managers agree with a model: last writer wins, who lets go removes", () =>
    Effect.gen(function*() {
      const Name = Schema.Literals(["a", "b", "c"])
      const Inner = Schema.Record(Name, Schema.Literals([1, 2]))
      const Step = Schema.Struct({
        manager: Schema.Literals(["one", "two", "three"]),
        spec: Schema.Record(Name, Inner)
      })
      const result = yield* Arbitrary.checkEffect(
        Arbitrary.array(Arbitrary.schema(Step), { maxLength: 12 }),
        (steps) => {
          let stored: Resource.Raw | undefined
          const values = new Map<string, number>()
          const owned = new Map<string, Set<string>>()
          for (const { manager, spec } of steps) {
            const wanted = new Map<string, number>(
              Object.entries(spec).flatMap(([x, inner]) =>
                Object.entries(inner).map(([y, value]) => [`${x}.${y}`, value] as const)
              )
            )
            for (const path of owned.get(manager) ?? []) {
              const others = [...owned].some(([other, paths]) => other !== manager && paths.has(path))
              if (!wanted.has(path) && !others) values.delete(path)
            }
            for (const [path, value] of wanted) {
              if (values.get(path) === value) continue
              for (const paths of owned.values()) paths.delete(path)
              values.set(path, value)
            }
            owned.set(manager, new Set(wanted.keys()))
            const fields = Object.fromEntries(Object.entries(spec).filter(([, inner]) => Object.keys(inner).length > 0))
            stored = Result.getOrThrow(applyAs(stored, manager, { spec: fields }, true))
            const actual = Object.entries(Object(stored.spec)).flatMap(([x, inner]) =>
              Object.entries(Object(inner)).map(([y, value]) => `${x}.${y}=${value}`)
            )
            const expected = [...values].map(([path, value]) => `${path}=${value}`)
            if (actual.toSorted().join() !== expected.toSorted().join()) return false
          }
          return true
        },
        { runs: 500 }
      )
      assert.strictEqual(Arbitrary.formatCheckFailure(result), undefined)
    }))
})
