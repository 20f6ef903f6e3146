import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/testing/TestClock"
import { RateLimiter } from "setpoint"

describe("RateLimiter", () => {
  describe("policies", () => {
    it.effect("[C019] [F08] exponential doubles from its base and stays at its cap", () =>
      Effect.gen(function*() {
        const policy = yield* RateLimiter.exponential({ base: 1, cap: "10 millis", jitter: false })
        assert.deepStrictEqual(delays(policy, 6), [1, 2, 4, 8, 10, 10])
      }))

    it.effect("[C020] a thousand failures and a thousand more give the cap, never less and never no number", () =>
      Effect.gen(function*() {
        for (const cap of ["1000 seconds", "1000 hours"] as const) {
          const policy = yield* RateLimiter.exponential({ base: 1, cap, jitter: false })
          const all = delays(policy, 3000)
          assert.deepStrictEqual(new Set(all.slice(1000)), new Set([Duration.toMillis(cap)]))
          assert.isTrue(all.every((millis) => millis !== undefined && millis > 0))
        }
      }))

    it.effect("the standard policy is 5 millis doubling to 5 minutes, jitter 0.8 to 1.2", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(delays(RateLimiter.standard, 17, () => 0.5)[16], 300_000)
        assert.deepStrictEqual(delays(RateLimiter.standard, 3, () => 0.5), [5, 10, 20])
        const [least] = delays(RateLimiter.standard, 1, () => 0)
        assert.strictEqual(least, 4)
        const most = delays(RateLimiter.standard, 100, () => 1 - Number.EPSILON)
        assert.isTrue(most.every((millis) => millis !== undefined && millis <= 360_000))
        const policy = yield* RateLimiter.exponential()
        assert.deepStrictEqual(delays(policy, 20, () => 0.3), delays(RateLimiter.standard, 20, () => 0.3))
      }))

    it.effect("[C021] fastSlow gives so many fast delays, then slow ones", () =>
      Effect.gen(function*() {
        const policy = yield* RateLimiter.fastSlow({ fast: "5 millis", slow: "10 seconds", fastTries: 3 })
        assert.deepStrictEqual(delays(policy, 5), [5, 5, 5, 10_000, 10_000])
      }))

    it.effect("a token bucket gives its burst at once, then its rate, over all keys together", () =>
      Effect.gen(function*() {
        const policy = yield* RateLimiter.tokenBucket({ perSecond: 10, burst: 3 })
        const blue = policy.start(() => 0)
        const green = policy.start(() => 0)
        assert.deepStrictEqual([0, 0, 0, 0].map(() => blue.next(0, undefined)), [0, 0, 0, 100])
        assert.strictEqual(green.next(0, undefined), 200)
        assert.strictEqual(green.next(10_000, undefined), 0)
      }))

    it.effect("[C022] maxOf gives the longest delay of its policies, and steps them all", () =>
      Effect.gen(function*() {
        const one = yield* RateLimiter.exponential({ base: 1, cap: 1000, jitter: false })
        const two = yield* RateLimiter.fastSlow({ fast: 3, slow: 20, fastTries: 3 })
        assert.deepStrictEqual(delays(RateLimiter.maxOf([one, two]), 7), [3, 3, 4, 20, 20, 32, 64])
        assert.deepStrictEqual(delays(RateLimiter.maxOf([]), 2), [0, 0])
        assert.deepStrictEqual(delays(RateLimiter.maxOf([one, RateLimiter.upTo(two, 1)]), 2), [3, undefined])
      }))

    it.effect("[C023] capped cuts the delays of a policy", () =>
      Effect.gen(function*() {
        const policy = yield* RateLimiter.exponential({ base: 1, cap: 1000, jitter: false })
        assert.deepStrictEqual(delays(yield* RateLimiter.capped(policy, "5 millis"), 5), [1, 2, 4, 5, 5])
      }))

    it.effect("jittered multiplies the delays of a policy by what it draws", () =>
      Effect.gen(function*() {
        const policy = yield* RateLimiter.fastSlow({ fast: 100, slow: 100, fastTries: 0 })
        assert.deepStrictEqual(delays(yield* RateLimiter.jittered(policy, [0.5, 1.5]), 2, () => 0.25), [75, 75])
        assert.deepStrictEqual(delays(yield* RateLimiter.jittered(policy), 1, () => 0), [80])
      }))

    it.effect("[E3] upTo ends a policy after so many tries", () =>
      Effect.sync(() => {
        assert.deepStrictEqual(
          delays(RateLimiter.upTo(RateLimiter.standard, 2), 4, () => 0.5),
          [5, 10, undefined, undefined]
        )
      }))

    it.effect("[E3] a schedule is a policy: one run a key, ended where the schedule is", () =>
      Effect.gen(function*() {
        const policy = yield* RateLimiter.fromSchedule(
          Schedule.exponential("1 second").pipe(Schedule.upTo({ times: 3 }))
        )
        assert.deepStrictEqual(delays(policy, 4), [1000, 2000, 4000, undefined])
        assert.deepStrictEqual(delays(policy, 2), [1000, 2000])
        assert.deepStrictEqual(delays(yield* RateLimiter.fromSchedule(Schedule.recurs(0)), 1), [undefined])
      }))

    it.effect("[E2] a schedule is given the error of the failed pass", () =>
      Effect.gen(function*() {
        const policy = yield* RateLimiter.fromSchedule(
          Schedule.spaced("1 second").pipe(
            Schedule.setInputType<"busy" | "broken">(),
            Schedule.while(({ input }) => input === "busy")
          )
        )
        const backoff = policy.start(() => 0)
        assert.deepStrictEqual([backoff.next(0, "busy"), backoff.next(0, "broken")], [1000, undefined])
      }))

    it.effect("a schedule's jitter is drawn from the Random of the Effect that made the policy", () =>
      Effect.gen(function*() {
        const make = RateLimiter.fromSchedule(Schedule.jittered(Schedule.exponential("1 second")))
        const one = delays(yield* Random.withSeed(make, "seed"), 5)
        const two = delays(yield* Random.withSeed(make, "seed"), 5)
        const three = delays(yield* Random.withSeed(make, "another"), 5)
        assert.deepStrictEqual(one, two)
        assert.notDeepEqual(one, three)
      }))
  })

  describe("keys", () => {
    it.effect("[C018] [C019] each key has its own count; forget starts it anew, and takes keys never heard of", () =>
      Effect.gen(function*() {
        const policy = yield* RateLimiter.exponential({ base: 1, cap: 1000, jitter: false })
        const limiter = yield* RateLimiter.make<string>(policy)
        const next = (key: string) => Effect.map(limiter.when(key, undefined), Option.map(Duration.toMillis))
        assert.deepStrictEqual(yield* next("a"), Option.some(1))
        assert.deepStrictEqual(yield* next("a"), Option.some(2))
        assert.deepStrictEqual(yield* next("b"), Option.some(1))
        assert.strictEqual(yield* limiter.failures("a"), 2)
        yield* limiter.forget("a")
        yield* limiter.forget("never heard of")
        assert.strictEqual(yield* limiter.failures("a"), 0)
        assert.strictEqual(yield* limiter.failures("b"), 1)
        assert.deepStrictEqual(yield* next("a"), Option.some(1))
      }))

    it.effect("[C022] forgetting a key reaches every policy that it is limited by", () =>
      Effect.gen(function*() {
        const one = yield* RateLimiter.exponential({ base: 1, cap: 1000, jitter: false })
        const two = yield* RateLimiter.fastSlow({ fast: 3, slow: 20, fastTries: 1 })
        const limiter = yield* RateLimiter.make<string>(RateLimiter.maxOf([one, two]))
        const next = Effect.map(limiter.when("a", undefined), Option.map(Duration.toMillis))
        for (const millis of [3, 20, 20]) assert.deepStrictEqual(yield* next, Option.some(millis))
        assert.strictEqual(yield* limiter.failures("a"), 3)
        yield* limiter.forget("a")
        assert.deepStrictEqual(yield* next, Option.some(3))
      }))

    it.effect("a token bucket fills again by the clock", () =>
      Effect.gen(function*() {
        const limiter = yield* RateLimiter.make<string>(yield* RateLimiter.tokenBucket({ perSecond: 1, burst: 1 }))
        const next = Effect.map(limiter.when("a", undefined), Option.map(Duration.toMillis))
        assert.deepStrictEqual([yield* next, yield* next], [Option.some(0), Option.some(1000)])
        yield* TestClock.adjust("2 seconds")
        assert.deepStrictEqual(yield* next, Option.some(0))
      }))
  })

  describe("options", () => {
    const fast = { fast: 1, slow: 2, fastTries: 1 }
    const wrong: ReadonlyArray<readonly [field: string, Effect.Effect<unknown, RateLimiter.InvalidOptions>]> = [
      ["exponential.base", RateLimiter.exponential({ base: 0 })],
      ["exponential.base", RateLimiter.exponential({ base: Infinity, cap: Infinity })],
      ["exponential.base", RateLimiter.exponential({ base: Number.NaN })],
      ["exponential.cap", RateLimiter.exponential({ cap: "1 millis" })],
      ["exponential.factor", RateLimiter.exponential({ factor: 0.5 })],
      ["exponential.jitter", RateLimiter.exponential({ jitter: [1.2, 0.8] })],
      ["exponential.jitter", RateLimiter.exponential({ jitter: [0, 1] })],
      ["fastSlow.fast", RateLimiter.fastSlow({ ...fast, fast: -1 })],
      ["fastSlow.slow", RateLimiter.fastSlow({ ...fast, slow: 0 })],
      ["fastSlow.fastTries", RateLimiter.fastSlow({ ...fast, fastTries: -1 })],
      ["tokenBucket.perSecond", RateLimiter.tokenBucket({ perSecond: 0, burst: 1 })],
      ["tokenBucket.burst", RateLimiter.tokenBucket({ perSecond: 1, burst: 0 })],
      ["capped.cap", RateLimiter.capped(RateLimiter.standard, -1)],
      ["jittered.range", RateLimiter.jittered(RateLimiter.standard, [-1, 1])]
    ]
    for (const [i, [field, make]] of wrong.entries()) {
      it.effect(`${field} is refused where it cannot work, by name (${i})`, () =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(make)
          assert.strictEqual(error._tag, "InvalidOptions")
          assert.strictEqual(error.field, `RateLimiter.${field}`)
          assert.include(error.message, `RateLimiter.${field} must be `)
        }))
    }

    it.effect("[F45] a retry cap below the base of 5 millis is refused, naming the option and what would be right", () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(RateLimiter.exponential({ cap: "4 millis" }))
        assert.strictEqual(
          error.message,
          "RateLimiter.exponential.cap must be at least the base, 5 millis, but is 4 millis"
        )
      }))
  })
})

/** The first delays of a key, all asked for at once. */
const delays = (policy: RateLimiter.Policy, count: number, random: () => number = () => 0.5) => {
  const backoff = policy.start(random)
  return Array.from({ length: count }, () => backoff.next(0, undefined))
}
