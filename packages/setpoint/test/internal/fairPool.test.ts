import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as FairPool from "setpoint/internal/fairPool"
import * as Line from "setpoint/internal/line"

const Op = Schema.Union([
  Schema.TaggedStruct("add", { member: Schema.Literals([0, 1, 2, 3]), keys: Schema.Literals([1, 2, 10]) }),
  Schema.TaggedStruct("drop", { member: Schema.Literals([0, 1, 2, 3]) }),
  Schema.TaggedStruct("take", { times: Schema.Literals([1, 3, 9]) })
])
const weights = [1, 1, 2, 5]

describe("the turns of queues that share workers", () => {
  it.effect("[Q5] a member that has keys waits for no more than the sum of the other weights", () =>
    Effect.gen(function*() {
      const ops = Arbitrary.array(Arbitrary.schema(Op), { maxLength: 80 })
      const result = yield* Arbitrary.checkEffect(ops, run, { runs: 1000, size: 80 })
      assert.strictEqual(result._tag, "Passed", Arbitrary.formatCheckFailure(result))
    }))
})

interface Member extends FairPool.Member<Member> {
  ready: number
  /** How many keys others gave since this one could give. */
  waited: number
}

/** Whether the bound held all the time, and each take of a pool that had keys gave one. */
const run = (ops: ReadonlyArray<typeof Op.Type>): boolean => {
  const members = weights.map((weight): Member => ({
    weight,
    turn: 0,
    ready: 0,
    waited: 0,
    line: undefined,
    previous: undefined,
    next: undefined
  }))
  const ring: FairPool.Ring<Member> = Line.make()
  const take = (): boolean => {
    const giver = ring.head
    if (giver === undefined) return members.every(({ ready }) => ready === 0)
    giver.ready--
    FairPool.gave(ring, giver, giver.ready > 0)
    for (const member of members) member.waited = member === giver || member.ready === 0 ? 0 : member.waited + 1
    return members.every(({ waited, weight }) => waited <= weights.reduce((sum, other) => sum + other, 0) - weight)
  }
  const step = (op: typeof Op.Type): boolean => {
    if (op._tag === "take") return Array.from({ length: op.times }, take).every(Boolean)
    const member = members[op.member]
    if (member === undefined) return false
    member.ready = op._tag === "add" ? member.ready + op.keys : 0
    if (op._tag === "drop") member.waited = 0
    FairPool.seat(ring, member, member.ready > 0)
    return Line.toArray(ring).every(({ ready }) => ready > 0)
  }
  return ops.every(step)
}
