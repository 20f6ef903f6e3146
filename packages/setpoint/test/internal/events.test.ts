import { assert, describe, it } from "@effect/vitest"
import * as Rules from "setpoint/internal/events"

describe("events", () => {
  it("repetitions are one series, counted while it waits to be written", () => {
    const state = Rules.make(Rules.defaults)
    for (const time of [0, 1000, 2000]) Rules.record(state, occurrence(), time)
    const series = Rules.take(state)
    assert.deepInclude(series ?? {}, { count: 3, firstMillis: 0, lastMillis: 2000, stored: undefined })
    assert.isUndefined(Rules.take(state))
    Rules.record(state, occurrence(), 3000)
    assert.strictEqual(Rules.take(state), series)
    assert.strictEqual(series?.count, 4)
  })

  it("type, reason, action, message, reporter and object each make a series of its own", () => {
    const state = Rules.make(Rules.defaults)
    const changes: ReadonlyArray<Partial<Rules.Occurrence>> = [
      {},
      { type: "Warning" },
      { reason: "Other" },
      { action: "Pull" },
      { message: "other" },
      { component: "other" },
      { subject: { ...subject, uid: "second life" } }
    ]
    for (const change of changes) Rules.record(state, occurrence(change), 0)
    const names = taken(state).map((series) => series.name)
    assert.strictEqual(new Set(names).size, changes.length)
  })

  it("a series has the same name in every process, and the name follows Kubernetes' rules", () => {
    const name = (subject: Rules.Subject) => {
      const state = Rules.make(Rules.defaults)
      Rules.record(state, occurrence({ subject }), 0)
      return Rules.take(state)?.name ?? ""
    }
    assert.strictEqual(name(subject), name(subject))
    for (const long of ["a", "a.b", "a".repeat(253), `${"a".repeat(229)}.${"b".repeat(20)}`]) {
      assert.match(name({ ...subject, name: long }), /^[a-z0-9]+(\.[a-z0-9]+)*$/)
      assert.isAtMost(name({ ...subject, name: long }).length, 253)
    }
  })

  it("past ten distinct messages in ten minutes, what is otherwise alike is one series", () => {
    const state = Rules.make(Rules.defaults)
    for (let i = 0; i < 15; i++) Rules.record(state, occurrence({ message: `attempt ${i}` }), i)
    const series = taken(state)
    assert.strictEqual(series.length, 11)
    assert.deepInclude(series[10] ?? {}, { count: 5 })
    assert.strictEqual(series[10]?.occurrence.message, "(combined from similar events): attempt 14")
    Rules.record(state, occurrence({ message: "attempt 16" }), 600_000)
    assert.strictEqual(taken(state)[0]?.occurrence.message, "attempt 16")
  })

  it("an object gets 25 writes at once, then one each five minutes; beyond, repetitions are counted", () => {
    const state = Rules.make(Rules.defaults)
    for (let i = 0; i < 40; i++) {
      Rules.record(state, occurrence(), i)
      Rules.take(state)
    }
    assert.strictEqual(state.dropped.rate, 0)
    Rules.record(state, occurrence({ reason: "New" }), 50)
    assert.strictEqual(state.dropped.rate, 1)
    assert.isUndefined(Rules.take(state))
    Rules.record(state, occurrence({ subject: { ...subject, uid: "another" } }), 60)
    assert.isDefined(Rules.take(state))
    Rules.record(state, occurrence(), 300_000)
    assert.strictEqual(Rules.take(state)?.count, 41)
    Rules.record(state, occurrence(), 300_001)
    assert.isUndefined(Rules.take(state))
  })

  it("what has not happened for an hour begins anew", () => {
    const state = Rules.make(Rules.defaults)
    Rules.record(state, occurrence(), 0)
    const first = Rules.take(state)
    Rules.record(state, occurrence(), 3_600_000)
    const second = Rules.take(state)
    assert.notStrictEqual(second, first)
    assert.deepInclude(second ?? {}, { count: 1, firstMillis: 3_600_000, name: first?.name })
  })

  it("every collection is bounded", () => {
    const settings = { ...Rules.defaults, burst: 1_000, maxSubjects: 10, maxPending: 50, maxSeries: 5, maxAlike: 1_000 }
    const state = Rules.make(settings)
    for (let i = 0; i < 200; i++) Rules.record(state, occurrence({ subject: { ...subject, uid: `u${i}` } }), i)
    assert.strictEqual(state.subjects.size, 10)
    assert.strictEqual(state.pending.size, 50)
    assert.strictEqual(state.dropped.full, 150)
    taken(state)
    for (let i = 0; i < 20; i++) Rules.record(state, occurrence({ message: `${i}` }), 200 + i)
    assert.deepStrictEqual([...state.subjects.values()].map((_) => _.series.size).filter((size) => size > 1), [5])
  })
})

const subject: Rules.Subject = {
  apiVersion: "example.dev/v1",
  kind: "Website",
  namespace: "default",
  name: "blog",
  uid: "first-life"
}

const occurrence = (change: Partial<Rules.Occurrence> = {}): Rules.Occurrence => ({
  subject,
  type: "Normal",
  reason: "Started",
  message: "it runs",
  action: "",
  component: "websites",
  ...change
})

const taken = (state: Rules.State): ReadonlyArray<Rules.Series> => {
  const series = Rules.take(state)
  return series === undefined ? [] : [series, ...taken(state)]
}
