import { assert, describe, it } from "@effect/vitest"
import { Predicate } from "setpoint"
import type { Raw } from "setpoint/Resource"

describe("Predicate", () => {
  it("[C150] a change of desired state is told by generation, and by content where an object has none", () => {
    const passes = Predicate.generationChanged
    assert.isFalse(passes(modified(object({ generation: 1, labels: { a: "1" } }), object({ generation: 1 }))))
    assert.isTrue(passes(modified(object({ generation: 1 }), object({ generation: 2 }))))
    assert.isFalse(passes(modified(object({ spec: { a: [1] } }), object({ spec: { a: [1] }, status: { ready: 1 } }))))
    assert.isTrue(passes(modified(object({ spec: { a: [1] } }), object({ spec: { a: [2] } }))))
    assert.isTrue(passes(modified(object({ data: { k: "v" } }), object({}))))
    assert.isTrue(passes(modified(object({}), object({ data: { k: "v" } }))))
  })

  it("[C150] another life of a name passes, whatever its generation is", () => {
    assert.isTrue(
      Predicate.generationChanged(modified(object({ generation: 1 }), object({ generation: 1, uid: "u2" })))
    )
    assert.isTrue(Predicate.intentChanged(modified(object({ generation: 1 }), object({ generation: 1, uid: "u2" }))))
  })

  it("what comes and what goes passes every predicate of a change", () => {
    const { annotationsChanged, generationChanged, intentChanged, labelsChanged, revisionChanged } = Predicate
    for (const passes of [annotationsChanged, generationChanged, intentChanged, labelsChanged, revisionChanged]) {
      assert.isTrue(passes(changed("Added", object({}))))
      assert.isTrue(passes(changed("Deleted", object({}), object({}))))
    }
  })

  it("labels and annotations are compared by content", () => {
    const before = object({ labels: { a: "1" }, annotations: { b: "1" } })
    assert.isFalse(Predicate.labelsChanged(modified(before, object({ labels: { a: "1" } }))))
    assert.isTrue(Predicate.labelsChanged(modified(before, object({ labels: { a: "2" } }))))
    assert.isTrue(Predicate.labelsChanged(modified(before, object({}))))
    assert.isFalse(Predicate.annotationsChanged(modified(before, object({ annotations: { b: "1" } }))))
    assert.isTrue(Predicate.annotationsChanged(modified(before, object({ annotations: { b: "1", c: "1" } }))))
  })

  it("deletion passes once: when it is marked, and when the object is gone", () => {
    const marked = object({ deletionTimestamp: "2026-01-01T00:00:00Z" })
    assert.isTrue(Predicate.deletionMarked(modified(object({}), marked)))
    assert.isFalse(Predicate.deletionMarked(modified(marked, marked)))
    assert.isFalse(Predicate.deletionMarked(changed("Added", object({}))))
    assert.isTrue(Predicate.deletionMarked(changed("Added", marked)))
    assert.isTrue(Predicate.deletionMarked(changed("Deleted", object({}), object({}))))
  })

  it("a revision passes once", () => {
    assert.isFalse(Predicate.revisionChanged(modified(object({}), object({}))))
    assert.isTrue(Predicate.revisionChanged(modified(object({}), object({ resourceVersion: "2" }))))
  })

  it("[E7] intent is desired state, labels, annotations, finalizers, owner references, deletion mark and uid; status is not", () => {
    const passes = (after: Fields) => Predicate.intentChanged(modified(object({ generation: 1 }), object(after)))
    assert.isFalse(passes({ generation: 1, resourceVersion: "2", status: { ready: 1 } }))
    assert.isFalse(passes({ generation: 1, managedFields: [] }))
    assert.isTrue(passes({ generation: 2 }))
    assert.isTrue(passes({ generation: 1, labels: { a: "1" } }))
    assert.isTrue(passes({ generation: 1, annotations: { a: "1" } }))
    assert.isTrue(passes({ generation: 1, finalizers: ["x.dev/f"] }))
    assert.isTrue(passes({ generation: 1, ownerReferences: [{ uid: "u" }] }))
    assert.isTrue(passes({ generation: 1, deletionTimestamp: "2026-01-01T00:00:00Z" }))
    assert.isTrue(passes({ generation: 1, uid: "u2" }))
  })

  it("and, or and not combine predicates; of none, and passes and or does not", () => {
    const yes: Predicate.Predicate = () => true
    const no: Predicate.Predicate = () => false
    const change = changed("Added", object({}))
    const { and, not, or } = Predicate
    assert.deepStrictEqual(
      [and(yes, yes), and(yes, no), and(), or(no, yes), or(no, no), or(), not(no), not(yes)].map((one) => one(change)),
      [true, false, true, true, false, false, true, false]
    )
    assert.isTrue(and(or(no, yes), not(and(yes, no)))(change))
  })

  it("predicates are asked from left to right, and no further than needed", () => {
    const asked: Array<string> = []
    const ask = (name: string, answer: boolean): Predicate.Predicate => () => {
      asked.push(name)
      return answer
    }
    Predicate.and(ask("a", true), ask("b", false), ask("c", true))(changed("Added", object({})))
    Predicate.or(ask("d", false), ask("e", true), ask("f", true))(changed("Added", object({})))
    assert.deepStrictEqual(asked, ["a", "b", "d", "e"])
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// helpers
// ---------------------------------------------------------------------------------------------------------------------

interface Fields {
  readonly [field: string]: unknown
}

const top = new Set(["spec", "status", "data"])

/** An object; what is no top-level field is metadata. */
const object = (fields: Fields): Raw => {
  const metadata = { name: "blog", namespace: "default", uid: "u1", resourceVersion: "1", creationTimestamp: "" }
  const entries = Object.entries(fields)
  return {
    apiVersion: "example.dev/v1",
    kind: "Website",
    metadata: { ...metadata, ...Object.fromEntries(entries.filter(([field]) => !top.has(field))) },
    ...Object.fromEntries(entries.filter(([field]) => top.has(field)))
  }
}

const changed = (type: "Added" | "Modified" | "Deleted", raw: Raw, oldRaw?: Raw): Predicate.Change<Raw> => ({
  type,
  object: raw,
  old: oldRaw,
  raw,
  oldRaw
})

const modified = (before: Raw, after: Raw) => changed("Modified", after, before)
