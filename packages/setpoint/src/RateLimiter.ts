/**
 * How long a key waits before it is tried again.
 *
 * A {@link Policy} says how: exponential, fast then slow, a token bucket, the longest of several, capped, jittered, ended
 * after some tries, or any `Schedule`. A policy keeps nothing of a key itself: `start` gives the {@link Backoff} of one
 * key, which a `WorkQueue` hangs on the key's entry. A {@link RateLimiter} keeps one a key, and so is usable alone.
 *
 * Every delay is a whole or broken number of milliseconds, finite and never negative, however often a key fails.
 *
 * **Memory** A `RateLimiter` keeps one backoff for each key between its first `when` and its `forget`.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Pull from "effect/Pull"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { millisOf } from "./internal/millis.ts"

/**
 * An option has a value that cannot work.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidOptions extends Schema.TaggedError<InvalidOptions>()("InvalidOptions", {
  /** The option, as it is written: `RateLimiter.exponential.cap`. */
  field: Schema.String,
  /** What would be right. */
  expected: Schema.String,
  /** What was given. */
  actual: Schema.String
}) {
  override get message(): string {
    return `${this.field} must be ${this.expected}, but is ${this.actual}`
  }
}

/**
 * The backoff of one key. `next` gives the milliseconds until the next try, or `undefined` when there shall be none.
 *
 * @since 0.1.0
 * @category models
 */
export interface Backoff<in Input = unknown> {
  readonly next: (nowMillis: number, input: Input) => number | undefined
}

/**
 * A rule of backoff. `start` is called once for a key, at its first failure; `random` gives numbers from 0 to below 1.
 *
 * @since 0.1.0
 * @category models
 */
export interface Policy<in Input = unknown> {
  readonly start: (random: () => number) => Backoff<Input>
}

const check = (
  field: string,
  holds: boolean,
  expected: string,
  actual: unknown
): Effect.Effect<void, InvalidOptions> =>
  holds ? Effect.void : Effect.fail(new InvalidOptions({ field, expected, actual: String(actual) }))

const isPositive = (millis: number): boolean => Number.isFinite(millis) && millis > 0

/** The longest delay that a policy gives: no clock that counts milliseconds loses one within it. */
const longestMillis = Number.MAX_SAFE_INTEGER

const clamp = (millis: number): number => millis > 0 ? Math.min(millis, longestMillis) : 0

const counted = (delayOf: (count: number, random: () => number) => number): Policy => ({
  start: (random) => {
    let count = 0
    return { next: () => clamp(delayOf(count++, random)) }
  }
})

/**
 * `base`, twice that, four times that …, up to `cap`, each multiplied by a number drawn from `jitter`. The cap is applied
 * before the jitter.
 *
 * Defaults: base 5 millis, cap 5 minutes, factor 2, jitter 0.8 to 1.2 (as `Schedule.jittered`). `jitter: false` for none.
 * Fails with {@link InvalidOptions} where base is not positive, the cap is below the base, the factor below 1, or the
 * jitter is not a range of positive numbers.
 *
 * @since 0.1.0
 * @category policies
 */
export const exponential = Effect.fnUntraced(function*(options?: {
  readonly base?: Duration.Input | undefined
  readonly cap?: Duration.Input | undefined
  readonly factor?: number | undefined
  readonly jitter?: readonly [min: number, max: number] | false | undefined
}) {
  const base = millisOf(options?.base ?? 5)
  const cap = millisOf(options?.cap ?? 300_000)
  const factor = options?.factor ?? 2
  const jitter = options?.jitter ?? [0.8, 1.2]
  yield* check("RateLimiter.exponential.base", isPositive(base), "a finite duration above zero", options?.base)
  yield* check("RateLimiter.exponential.cap", cap >= base, `at least the base, ${base} millis`, options?.cap)
  yield* check("RateLimiter.exponential.factor", factor >= 1 && factor < Infinity, "at least 1", factor)
  return exponentialOf({ base, cap, factor, jitter: yield* checkJitter("RateLimiter.exponential.jitter", jitter) })
})

const checkJitter = (field: string, jitter: readonly [number, number] | false) => {
  const range = jitter === false ? [1, 1] as const : jitter
  const holds = range[0] > 0 && range[0] <= range[1] && range[1] < Infinity
  return Effect.as(check(field, holds, "two positive numbers, the smaller first, or false", range), range)
}

const drawFrom = (range: readonly [number, number], random: () => number): number =>
  range[0] === range[1] ? range[0] : range[0] + (range[1] - range[0]) * random()

const exponentialOf = (rule: {
  readonly base: number
  readonly cap: number
  readonly factor: number
  readonly jitter: readonly [number, number]
}): Policy =>
  counted((count, random) => Math.min(rule.base * rule.factor ** count, rule.cap) * drawFrom(rule.jitter, random))

/**
 * What a `WorkQueue` uses where nothing is said: 5 millis doubling to 5 minutes, jitter 0.8 to 1.2.
 *
 * @since 0.1.0
 * @category policies
 */
export const standard: Policy = exponentialOf({ base: 5, cap: 300_000, factor: 2, jitter: [0.8, 1.2] })

/**
 * `fast` for the first `fastTries` failures of a key, then `slow`.
 *
 * @since 0.1.0
 * @category policies
 */
export const fastSlow = Effect.fnUntraced(function*(options: {
  readonly fast: Duration.Input
  readonly slow: Duration.Input
  readonly fastTries: number
}) {
  const fast = millisOf(options.fast)
  const slow = millisOf(options.slow)
  const fastTries = options.fastTries
  yield* check("RateLimiter.fastSlow.fast", fast >= 0 && fast < Infinity, "a finite duration", options.fast)
  yield* check("RateLimiter.fastSlow.slow", slow >= fast, `at least fast, ${fast} millis`, options.slow)
  yield* check("RateLimiter.fastSlow.fastTries", fastTries >= 0, "zero or more", fastTries)
  return counted((count) => count < fastTries ? fast : slow)
})

/**
 * One bucket for all keys of this policy value: `burst` tries at once, then `perSecond` a second. A try that finds the
 * bucket empty reserves the next token, so that tries never meet at one instant.
 *
 * @since 0.1.0
 * @category policies
 */
export const tokenBucket = Effect.fnUntraced(function*(options: {
  readonly perSecond: number
  readonly burst: number
}) {
  const { perSecond, burst } = options
  yield* check("RateLimiter.tokenBucket.perSecond", isPositive(perSecond), "a finite number above zero", perSecond)
  yield* check("RateLimiter.tokenBucket.burst", burst >= 1, "at least 1", burst)
  const millisAToken = 1000 / perSecond
  // The bucket as one time: when it would be full again.
  let fullAt = -Infinity
  const next = (nowMillis: number): number => {
    fullAt = Math.max(fullAt, nowMillis) + millisAToken
    return clamp(fullAt - nowMillis - burst * millisAToken)
  }
  const policy: Policy = { start: () => ({ next }) }
  return policy
})

/**
 * The longest delay of several policies. Each of them is stepped at each try. Ends as soon as one ends.
 *
 * @since 0.1.0
 * @category combinators
 */
export const maxOf = <Input>(policies: ReadonlyArray<Policy<Input>>): Policy<Input> => ({
  start: (random) => {
    const backoffs = policies.map((policy) => policy.start(random))
    return {
      next: (nowMillis, input) => {
        const delays = backoffs.map((backoff) => backoff.next(nowMillis, input))
        return delays.includes(undefined) ? undefined : Math.max(0, ...delays.filter((delay) => delay !== undefined))
      }
    }
  }
})

const mapDelay = <Input>(
  policy: Policy<Input>,
  f: (millis: number, random: () => number) => number
): Policy<Input> => ({
  start: (random) => {
    const backoff = policy.start(random)
    return {
      next: (nowMillis, input) => {
        const delay = backoff.next(nowMillis, input)
        return delay === undefined ? undefined : clamp(f(delay, random))
      }
    }
  }
})

/**
 * No delay of the policy is longer than `cap`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const capped = Effect.fnUntraced(function*<Input>(policy: Policy<Input>, cap: Duration.Input) {
  const millis = millisOf(cap)
  yield* check("RateLimiter.capped.cap", millis >= 0, "a duration", cap)
  return mapDelay(policy, (delay) => Math.min(delay, millis))
})

/**
 * Each delay of the policy multiplied by a number drawn from `range`, by default 0.8 to 1.2.
 *
 * @since 0.1.0
 * @category combinators
 */
export const jittered = Effect.fnUntraced(function*<Input>(
  policy: Policy<Input>,
  range: readonly [min: number, max: number] = [0.8, 1.2]
) {
  const checked = yield* checkJitter("RateLimiter.jittered.range", range)
  return mapDelay(policy, (delay, random) => delay * drawFrom(checked, random))
})

/**
 * The policy, ended after `times` tries.
 *
 * @since 0.1.0
 * @category combinators
 */
export const upTo = <Input>(policy: Policy<Input>, times: number): Policy<Input> => ({
  start: (random) => {
    const backoff = policy.start(random)
    let tries = 0
    return { next: (nowMillis, input) => tries++ < times ? backoff.next(nowMillis, input) : undefined }
  }
})

/**
 * Any `Schedule` as a policy: each key steps a run of its own, its input is the error of the failed pass. Where the
 * schedule is done, the policy ends.
 *
 * The services the schedule needs, `Random` and `Clock` among them, are those of the Effect that makes the policy. Steps
 * run in place: a schedule that waits inside a step (none of Effect's own does) is a defect.
 *
 * @since 0.1.0
 * @category policies
 */
export const fromSchedule = Effect.fnUntraced(function*<Output, Input, Error, R>(
  schedule: Schedule.Schedule<Output, Input, Error, R>
) {
  const context = yield* Effect.context<R>()
  const run = Effect.runSyncExitWith(context)
  const policy: Policy<Input> = {
    start: () => {
      const started = run(Schedule.toStep(schedule))
      if (Exit.isFailure(started)) return { next: () => undefined }
      return {
        next: (nowMillis, input) => {
          const step = run(started.value(nowMillis, input))
          if (Exit.isSuccess(step)) return clamp(Duration.toMillis(step.value[1]))
          if (Pull.isDoneCause(step.cause)) return undefined
          throw new Error("A retry schedule failed or waited in a step, which only computes a delay", {
            cause: step.cause
          })
        }
      }
    }
  }
  return policy
})

/**
 * A limiter usable alone: it keeps the backoff of each key.
 *
 * ```ts
 * import { Effect } from "effect"
 * import { RateLimiter } from "setpoint"
 *
 * const program = Effect.gen(function*() {
 *   const policy = yield* RateLimiter.exponential({ base: "1 second", cap: "1 minute", jitter: false })
 *   const limiter = yield* RateLimiter.make<string>(policy)
 *   yield* limiter.when("blue", "timed out") // Option.some(1 second)
 *   yield* limiter.when("blue", "timed out") // Option.some(2 seconds)
 *   yield* limiter.forget("blue")
 *   return yield* limiter.failures("blue") // 0
 * })
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export interface RateLimiter<in K, in Input = unknown> {
  /** Counts a failure of the key and gives how long it shall wait; none, when the policy has ended. */
  readonly when: (key: K, input: Input) => Effect.Effect<Option.Option<Duration.Duration>>
  /** The key starts anew. A key that is not known is left so. */
  readonly forget: (key: K) => Effect.Effect<void>
  /** How often the key failed since it was last forgotten. */
  readonly failures: (key: K) => Effect.Effect<number>
}

/**
 * Makes a {@link RateLimiter} from a policy.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = Effect.fnUntraced(function*<K, Input = unknown>(policy: Policy<Input>) {
  const clock = yield* Clock.Clock
  const random = yield* Random.Random
  const keys = new Map<K, { readonly backoff: Backoff<Input>; failures: number }>()
  const known = (key: K) => {
    const found = keys.get(key)
    if (found !== undefined) return found
    const made = { backoff: policy.start(() => random.nextDoubleUnsafe()), failures: 0 }
    keys.set(key, made)
    return made
  }
  const limiter: RateLimiter<K, Input> = {
    when: (key, input) =>
      Effect.sync(() => {
        const state = known(key)
        state.failures++
        const delay = state.backoff.next(Number(clock.monotonicTimeNanosUnsafe()) / 1e6, input)
        return delay === undefined ? Option.none() : Option.some(Duration.millis(delay))
      }),
    forget: (key) => Effect.sync(() => void keys.delete(key)),
    failures: (key) => Effect.sync(() => keys.get(key)?.failures ?? 0)
  }
  return limiter
})
