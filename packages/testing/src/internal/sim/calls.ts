/**
 * What the user's program calls, and from which of its lines. Only a run that is told is watched so: there every call to
 * `Store` is taken down when it is made, and told with its answer.
 */
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import { Store } from "setpoint"
import * as CallSite from "./callSite.ts"

/** A call to `Store` that has not been answered. */
export interface Call {
  readonly operation: string
  readonly args: ReadonlyArray<unknown>
  /** `src/app.ts:41`; `undefined`: no line of the user's program is known. */
  readonly site: string | undefined
  /** Whether it went to the store: else a cache answered. */
  hasReachedStore: boolean
}

/** Hears of each answer. */
export type Listener = (call: Call, fiber: Fiber.Fiber<unknown, unknown>, exit: Exit.Exit<unknown, unknown>) => void

/** A fiber makes one call at a time. */
export interface Calls {
  readonly byFiber: WeakMap<object, Call>
  /** By pass: the line of the last call that failed. */
  readonly failedAt: WeakMap<object, string>
  readonly answered: Listener
}

export const make = (answered: Listener): Calls => ({ byFiber: new WeakMap(), failedAt: new WeakMap(), answered })

/** The call that a fiber waits for. */
export const of = (self: Calls, fiber: Fiber.Fiber<unknown, unknown>): Call | undefined => self.byFiber.get(fiber)

/** A store whose calls are taken down. `site`: where the call was made, if that is known already. */
export const watched = (self: Calls, store: Store.Service, site?: string): Store.Service =>
  new Proxy(store, {
    get: (target, property, receiver) => {
      const member: unknown = Reflect.get(target, property, receiver)
      if (typeof member !== "function" || property === "watch") return member
      return (...args: ReadonlyArray<unknown>) => {
        const result: unknown = Reflect.apply(member, target, args)
        if (!Effect.isEffect(result)) return result
        const call = { operation: String(property), args, site: site ?? CallSite.here() }
        return told(self, call, result as Effect.Effect<unknown, unknown>)
      }
    }
  })

const told = (
  self: Calls,
  call: Omit<Call, "hasReachedStore">,
  effect: Effect.Effect<unknown, unknown>
): Effect.Effect<unknown, unknown> =>
  Effect.withFiber((fiber) => {
    if (self.byFiber.has(fiber)) return effect // the line is known where `Store.use` was called
    const open: Call = { ...call, hasReachedStore: false }
    self.byFiber.set(fiber, open)
    return Effect.onExit(effect, (exit) =>
      Effect.sync(() => {
        self.byFiber.delete(fiber)
        self.answered(open, fiber, exit)
      }))
  })

/**
 * `Store.get(…)` and the like ask for the service when they run, far from the line that called them: while this runs,
 * `Store.use`, through which they all go, takes the line down when they are called.
 */
export const during = (self: Calls, run: () => void): void => {
  const asked: typeof Store.Store.use = (f) => {
    const site = CallSite.here()
    return Effect.flatMap(Store.Store, (store) => f(watched(self, store, site)))
  }
  Reflect.set(Store.Store, "use", asked)
  try {
    run()
  } finally {
    Reflect.deleteProperty(Store.Store, "use")
  }
}
