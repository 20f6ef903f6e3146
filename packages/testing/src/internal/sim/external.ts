/** External services: a fake that outlives every process, and each of its methods a point where faults happen. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Types from "effect/Types"

/** A service outside of the store, with the fake that stands for it. */
export interface External<out S, out F> {
  readonly "~service": Types.Covariant<S>
  readonly name: string
  /** The fake of this run, made when it is first asked for. */
  readonly instanceIn: (instances: Map<string, unknown>) => F
  /** The service as one process sees it. */
  readonly provide: (instances: Map<string, unknown>, gate: Gate) => Context.Context<never>
}

/** Puts a call at a point: what happens before it, and after. */
export type Gate = <A, E>(call: {
  readonly operation: string
  readonly args: ReadonlyArray<unknown>
  readonly effect: Effect.Effect<A, E>
  readonly isRead: boolean
  readonly failure: (() => E) | undefined
}) => Effect.Effect<A, E>

export interface Options<K, E> {
  readonly fails?: (() => E) | undefined
  readonly reads?: ReadonlyArray<K> | undefined
}

export const make = <I, S extends object, F extends S, E>(
  tag: Context.Key<I, S>,
  fake: () => F,
  options: Options<keyof S, E>
): External<I, F> => {
  const instanceIn = (instances: Map<string, unknown>): F => {
    // The map is keyed by the service, and only this function writes under its key.
    const known = instances.get(tag.key) as F | undefined
    if (known !== undefined) return known
    const made = fake()
    instances.set(tag.key, made)
    return made
  }
  const name = nameOf(tag)
  return {
    "~service": (_) => _,
    name,
    instanceIn,
    provide: (instances, gate) => Context.make(tag, gated(name, instanceIn(instances), gate, options))
  }
}

/** What a service is called in the names of points. */
export const nameOf = (tag: { readonly key: string }): string => tag.key.split("/").at(-1) ?? tag.key

/** The same service, each method of which that gives an Effect goes through the gate. */
export const gated = <S extends object, E>(name: string, service: S, gate: Gate, options: Options<keyof S, E>): S => {
  const reads: ReadonlySet<PropertyKey> = new Set(options.reads)
  // Of an object that has it as its prototype: a frozen one's own members could not be stood in for.
  return new Proxy(Object.create(service) as S, {
    get: (_, property) => {
      const member: unknown = Reflect.get(service, property)
      const operation = `${name}.${String(property)}`
      const isRead = reads.has(property)
      const through = (args: ReadonlyArray<unknown>, effect: Effect.Effect<unknown, unknown, never>) =>
        gate({ operation, args, effect, isRead, failure: options.fails })
      if (Effect.isEffect(member)) return through([], member as Effect.Effect<unknown, unknown, never>)
      if (typeof member !== "function") return member
      return (...args: ReadonlyArray<unknown>) => {
        const result: unknown = Reflect.apply(member, service, args)
        return Effect.isEffect(result) ? through(args, result as Effect.Effect<unknown, unknown, never>) : result
      }
    }
  })
}
