import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Rules from "setpoint/internal/workQueue"
import type * as RateLimiter from "setpoint/RateLimiter"
import { Model } from "./workQueueModel.ts"

const Key = Schema.Literals(["a", "b", "c"])
const Lane = Schema.Literals([0, 1, 2])
const Millis = Schema.Literals([-5, 0, 1, 7, 30, 90, 100, 250])
// @effect-diagnostics-next-line schemaNumber:off
const Delay = Schema.Union([Schema.Literals([-1, 0, 0.5, 3, 7, 30, 90, 300, 2 ** 31, 1e300]), Schema.Number])
const Reason = Schema.Literals(["created", "changed", "owned", "mapped", ""])
const Next = Schema.UndefinedOr(Schema.Struct({ delayMillis: Delay, lane: Lane, reason: Reason }))

/** One thing that can be done to the queue. `which` picks among what runs. Passes are taken and ended often. */
const Op = Schema.Union([
  Schema.TaggedStruct("add", { key: Key, lane: Lane, reason: Reason }),
  Schema.TaggedStruct("addAfter", { key: Key, lane: Lane, reason: Reason, delay: Delay }),
  Schema.TaggedStruct("take", {}),
  Schema.TaggedStruct("take", {}),
  Schema.TaggedStruct("fail", { which: Lane, reason: Reason, notBefore: Schema.Literals([0, 15]), orElse: Next }),
  Schema.TaggedStruct("finish", {
    which: Lane,
    failures: Schema.Literals(["forget", "keep"]),
    next: Next
  }),
  Schema.TaggedStruct("requeue", { which: Lane, reason: Reason, orElse: Next }),
  Schema.TaggedStruct("fail", { which: Lane, reason: Reason, notBefore: Delay, orElse: Next }),
  Schema.TaggedStruct("closeGate", { key: Key, millis: Millis }),
  Schema.TaggedStruct("openGate", { key: Key }),
  Schema.TaggedStruct("forget", { key: Key }),
  Schema.TaggedStruct("wait", { millis: Millis })
])
const End = Schema.Struct({ _tag: Schema.Literals(["open", "close", "shut"]), at: Schema.Int })
type Op = typeof Op.Type

const ops = Arbitrary.array(Arbitrary.schema(Op), { maxLength: 60 })
const ends = Arbitrary.schema(End)

const retryDelays = [10, 20]
const requeueDelays = [7]

const policyOf = (delays: ReadonlyArray<number>): RateLimiter.Policy => ({
  start: () => {
    let count = 0
    return { next: () => delays[count++] }
  }
})

describe("the rules of the work queue", () => {
  const cases = [
    { name: "without debounce", debounce: undefined },
    { name: "with debounce", debounce: { windowMillis: 20, maxWaitMillis: 70 } }
  ]
  for (const { name, debounce } of cases) {
    it.effect(
      `[Q1] [Q2] [Q3] [Q4] [Q6] [Q7] [Q8] [C043] agree with a plain model in every step, ${name}`,
      () =>
        Effect.gen(function*() {
          const result = yield* Arbitrary.checkEffect(
            Arbitrary.all([ops, ends]),
            ([ops, end]) =>
              Effect.try({
                try: () => {
                  const both = new Both(debounce)
                  ops.forEach((op, i) => {
                    if (i === Math.abs(end.at) % 60) both.end(end._tag)
                    both.step(op)
                  })
                  return true
                },
                catch: (error) =>
                  new Disagreement({ stack: error instanceof Error ? String(error.stack) : String(error) })
              }),
            { runs: 1500, size: 60, maxShrinks: 3000 }
          )
          assert.strictEqual(result._tag, "Passed", Arbitrary.formatCheckFailure(result))
        }),
      60_000
    )
  }
})

class Disagreement extends Schema.TaggedError<Disagreement>()("Disagreement", { stack: Schema.String }) {}

/** The rules and the model, taken through the same steps and compared after each. */
class Both {
  now = 0
  readonly entries = new Map<string, Rules.Entry<string, string, unknown>>()
  readonly state: Rules.State<string, string, unknown>
  readonly model: Model
  running: Array<Rules.Ticket<string, string, unknown>> = []

  constructor(debounce: { readonly windowMillis: number; readonly maxWaitMillis: number } | undefined) {
    const settings = { ageAfterMillis: 100, maxReasons: 2, debounce }
    this.state = Rules.make({
      ...settings,
      slot: {
        get: (key) => this.entries.get(key),
        set: (key, entry) => entry === undefined ? this.entries.delete(key) : this.entries.set(key, entry)
      },
      retry: policyOf(retryDelays),
      requeue: policyOf(requeueDelays),
      random: () => 0,
      sameReason: Object.is,
      metrics: true
    })
    this.model = new Model({ ...settings, retryDelays, requeueDelays })
  }

  step(op: Op): void {
    const { model, now, state } = this
    switch (op._tag) {
      case "add": {
        const entry = Rules.hear(state, op.key, op.lane, op.reason, undefined)
        if (entry !== undefined) Rules.addNow(state, entry, op.lane, now)
        model.add(op.key, op.lane, op.reason, 0)
        break
      }
      case "addAfter": {
        const entry = Rules.hear(state, op.key, op.lane, op.reason, undefined)
        if (entry !== undefined) Rules.addAfter(state, entry, op.lane, op.delay, now)
        model.add(op.key, op.lane, op.reason, op.delay)
        break
      }
      case "take":
        this.take()
        break
      case "wait":
        this.wait(Math.max(0, op.millis))
        break
      case "closeGate":
        Rules.closeGate(state, op.key, now + op.millis, now)
        model.closeGate(op.key, now + op.millis)
        break
      case "openGate":
        Rules.openGate(state, op.key, now)
        model.openGate(op.key)
        break
      case "forget":
        Rules.forget(state, op.key, now)
        model.forget(op.key)
        break
      default:
        this.endPass(op)
    }
    this.compare()
  }

  take(): void {
    const ticket = Rules.take(this.state, this.now)
    const expected = this.model.take()
    assert.deepStrictEqual(
      ticket && {
        key: ticket.key,
        reasons: ticket.reasons,
        others: ticket.others,
        failures: ticket.failures,
        requeues: ticket.requeues,
        retryDue: ticket.retryDueMillis ?? -Infinity,
        gateExpired: ticket.gateExpired
      },
      expected
    )
    if (ticket === undefined) return
    assert.isFalse(this.running.some(({ key }) => key === ticket.key), "Q2: a key is in two workers")
    this.running.push(ticket)
  }

  endPass(op: Extract<Op, { readonly which: number }>): void {
    const ticket = this.running[op.which]
    if (ticket === undefined) return
    this.running = this.running.filter((other) => other !== ticket)
    switch (op._tag) {
      case "finish":
        Rules.finish(this.state, ticket, op.failures, op.next, this.now)
        return this.model.finish(ticket.key, op.failures, op.next)
      case "requeue":
        return assert.strictEqual(
          Rules.requeue(this.state, ticket, op.reason, op.orElse, this.now),
          this.model.requeue(ticket.key, op.reason, op.orElse)
        )
      case "fail": {
        const options = { notBeforeMillis: op.notBefore, reason: op.reason, orElse: op.orElse }
        return assert.strictEqual(
          Rules.fail(this.state, ticket, "broken", options, this.now),
          this.model.fail(ticket.key, op.notBefore, op.reason, op.orElse)
        )
      }
    }
  }

  /** As the timer does it: every due time is met as it comes. */
  wait(millis: number): void {
    const until = this.now + millis
    for (let due = Rules.earliestDue(this.state); due <= until; due = Rules.earliestDue(this.state)) {
      Rules.releaseDue(this.state, due)
    }
    this.now = until
    this.model.wait(until)
  }

  end(how: typeof End.Type["_tag"]): void {
    if (how === "open") return
    if (how === "close") Rules.close(this.state)
    else Rules.shutDown(this.state)
    this.model.close(how === "shut")
    this.compare()
  }

  compare(): void {
    const { model, now, state } = this
    const places: Record<string, unknown> = {}
    for (const key of this.entries.keys()) {
      const probe = Rules.probe(state, key, now)
      places[key] = probe && {
        place: probe.place,
        lane: probe.lane,
        next: probe.next?.inMillis,
        failures: probe.failures,
        requeues: probe.requeues,
        reasons: probe.reasons,
        gateClosed: probe.gateClosed
      }
    }
    assert.deepStrictEqual(places, model.places())
    assert.strictEqual(state.adds, model.adds, "an add counts when its key becomes due")
    this.check()
  }

  /** Q1 and Q7: each entry stands in the one line or heap of its place, and no other entry does. */
  check(): void {
    const { delayed, idle, lanes, running } = this.state
    for (const entry of this.entries.values()) {
      const line = entry.place === "Ready"
        ? lanes[entry.lane]
        : entry.place === "Running"
        ? running
        : entry.place === "Idle"
        ? idle
        : undefined
      assert.strictEqual(entry.line, line, "Q1")
      const heapIndex = entry.timing === undefined ? -1 : entry.timing.heapIndex
      if (heapIndex >= 0) assert.strictEqual(delayed.items[heapIndex], entry.timing)
      if (entry.place === "Waiting" || entry.place === "Held") assert.isAtLeast(heapIndex, 0)
      if (entry.place === "Ready" || entry.place === "Running") assert.strictEqual(heapIndex, -1)
    }
    const idleInHeap = delayed.items.filter(({ entry }) => entry.place === "Idle").length
    const standing = lanes[0].length + lanes[1].length + lanes[2].length + running.length + idle.length
    assert.strictEqual(standing + delayed.items.length - idleInHeap, this.entries.size, "Q7")
    for (const item of delayed.items) {
      const parent = delayed.items[(item.heapIndex - 1) >> 2]
      if (parent !== undefined) assert.isAtMost(parent.due, item.due)
    }
    assert.strictEqual(Rules.isQuiet(this.state), lanes.every((lane) => lane.length === 0) && running.length === 0)
  }
}
