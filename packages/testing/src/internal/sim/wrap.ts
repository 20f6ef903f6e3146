/** Faults by chance in front of one service: what becomes of a call follows from the seed, its name, and its number. */
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Externals from "./external.ts"
import * as randomness from "./randomness.ts"

export interface Options<K, E> extends Externals.Options<K, E> {
  readonly refuse?: number | undefined
  readonly lose?: number | undefined
  readonly latency?: Duration.Input | undefined
  readonly seed?: number | undefined
  readonly script?: ((operation: string, number: number) => "refuse" | "lose" | undefined) | undefined
}

export const layer = <I, S extends object, E, LE, R>(
  tag: Context.Key<I, S>,
  options: Options<keyof S, E>,
  service: Layer.Layer<I, LE, R>
): Layer.Layer<I, LE, R> =>
  Layer.effect(
    tag,
    Effect.map(tag, (service) => Externals.gated(Externals.nameOf(tag), service, gateOf(options), options))
  ).pipe(Layer.provide(service))

const gateOf = <K, E>(options: Options<K, E>): Externals.Gate => {
  const counts = new Map<string, number>()
  const latencyMillis = Duration.toMillis(options.latency ?? 0)
  return ({ effect, failure, isRead, operation }) =>
    Effect.suspend(() => {
      const number = (counts.get(operation) ?? 0) + 1
      counts.set(operation, number)
      const draw = randomness.make(randomness.seedOf(`${options.seed ?? 1}/${operation}#${number}`))
      const [before, after] = [draw() * latencyMillis, draw() * latencyMillis]
      const fault = options.script?.(operation, number) ?? drawn(options, draw)
      if (fault === undefined || failure === undefined) return between(before, effect, after)
      const failed = Effect.suspend(() => Effect.fail(failure()))
      // A read whose reply is lost is one that was refused.
      return between(before, fault === "lose" && !isRead ? Effect.andThen(effect, failed) : failed, after)
    })
}

const drawn = <K, E>({ lose = 0, refuse = 0 }: Options<K, E>, draw: () => number): "refuse" | "lose" | undefined => {
  const [first, second] = [draw(), draw()]
  return first < refuse ? "refuse" : second < lose ? "lose" : undefined
}

/** Whatever the call ends with: its reply takes its time too. One that is interrupted gets none. */
const between = <A, E>(before: number, effect: Effect.Effect<A, E>, after: number): Effect.Effect<A, E> =>
  Effect.andThen(
    pause(before),
    Effect.flatMap(Effect.exit(effect), (exit) => Effect.andThen(pause(after), exit))
  )

const pause = (millis: number): Effect.Effect<void> => millis === 0 ? Effect.void : Effect.sleep(millis)
