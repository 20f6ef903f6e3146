/**
 * A reconciler's options, checked and as the engine uses them.
 */
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import * as RateLimiter from "../RateLimiter.ts"
import type { Reconciler } from "../Reconciler.ts"
import type { Behaviour } from "./registration.ts"

/** An option that cannot work: which, and what would be right. */
export interface Flaw {
  readonly field: string
  readonly why: string
}

const thirtyMinutes = 1_800_000

const millis = (field: string, input: Duration.Input, least: number): Effect.Effect<number, Flaw> => {
  const parsed = typeof input === "number"
    ? input
    : Duration.fromInput(input).pipe((option) => option._tag === "Some" ? Duration.toMillis(option.value) : Number.NaN)
  return parsed >= least
    ? Effect.succeed(parsed)
    : Effect.fail({ field, why: `must be a duration of at least ${least} ms, but is ${String(input)}` })
}

const optional = (
  field: string,
  input: Duration.Input | undefined,
  least: number
): Effect.Effect<number | undefined, Flaw> => input === undefined ? Effect.undefined : millis(field, input, least)

const whole = (field: string, input: number, least: number): Effect.Effect<number, Flaw> =>
  input === Infinity || (Number.isSafeInteger(input) && input >= least)
    ? Effect.succeed(input)
    : Effect.fail({ field, why: `must be a whole number of at least ${least}, but is ${String(input)}` })

/** Checks the options of a reconciler and binds it to the services it was registered with. */
export const make = Effect.fnUntraced(function*<R>(
  reconciler: Reconciler<R>,
  context: Context.Context<R>
): Effect.fn.Return<Behaviour, Flaw> {
  // Its services are in the context, and its Scope is added for each pass: nothing is left to ask for.
  const options = reconciler.options as Behaviour["options"]
  const retry = options.retry === undefined
    ? RateLimiter.standard
    : yield* Effect.provideContext(RateLimiter.fromSchedule(options.retry), context)
  const requeue = options.requeue === undefined
    ? retry
    : yield* Effect.provideContext(RateLimiter.fromSchedule(options.requeue), context)
  yield* whole("concurrency", options.concurrency ?? 1, 1)
  yield* whole("weight", options.weight ?? 1, 1)
  yield* optional("debounce.window", options.debounce?.window, 1)
  yield* optional("debounce.maxWait", options.debounce?.maxWait, 1)
  const { breaker } = options
  return {
    context,
    reconcile: options.reconcile,
    options,
    retry,
    requeue,
    firstDelayMillis: () => retry.start(() => 0.5).next(0, undefined) ?? 0,
    maxRetries: yield* whole("maxRetries", options.maxRetries ?? Infinity, 0),
    deadlineMillis: yield* optional("deadline", options.deadline, 1),
    recheckMillis: yield* millis("recheck", options.recheck ?? thirtyMinutes, 1),
    redeliveryMillis: yield* optional("redelivery", options.redelivery, 1),
    breaker: breaker === undefined ? undefined : {
      passes: yield* whole("breaker.passes", breaker.passes, 1),
      perMillis: yield* millis("breaker.per", breaker.per, 1)
    },
    traced: (yield* Tracer.Tracer) !== Tracer.nativeTracer
  }
})
