/**
 * The guard: what is not under control is caught where it is called.
 *
 * A run is synchronous, so that for its time the global clocks, timers and randomness can be stood in for: they answer
 * (timers never fire), and the first call is named with its line. A promise cannot be caught so: a pass that waits for one
 * never ends, which the checks tell.
 */

import * as CallSite from "./callSite.ts"

interface Leak {
  readonly what: string
  readonly where: string
}

/**
 * Runs, and gives the first call that leaked out of the world. Where no story is told errors have no stacks: a run makes
 * many, and a stack costs more than all else about them.
 */
export const watch = (isRecorded: boolean, run: () => void): string | undefined => {
  let first: Leak | undefined
  const usual: unknown = Reflect.get(Error, "stackTraceLimit")
  const note = (what: string): void => {
    if (first !== undefined) return
    limitStacks(50)
    first = { what, where: CallSite.here() ?? "an unknown place" }
  }
  const restore = replaceAll(note)
  limitStacks(isRecorded ? 50 : 0)
  try {
    run()
  } finally {
    limitStacks(usual)
    restore()
  }
  return first === undefined ? undefined : `${first.what} was called, which no run can repeat: at ${first.where}`
}

const limitStacks = (lines: unknown): void => void Reflect.set(Error, "stackTraceLimit", lines)

const timers = ["setTimeout", "setInterval", "setImmediate"]

/** What answers as usual, or later: it cannot be stood in for, and is named all the same. */
const outside: ReadonlyArray<readonly [of: string, key: string]> = [
  ["crypto", "randomUUID"],
  ["crypto", "getRandomValues"],
  ["process", "hrtime"],
  ["process", "uptime"],
  ["process", "nextTick"],
  ["", "queueMicrotask"],
  ["", "fetch"]
]

const replaceAll = (note: (what: string) => void): () => void => {
  const restores: Array<() => void> = []
  const replace = (target: object, key: string, make: (real: unknown) => unknown): void => {
    const real: unknown = Reflect.get(target, key)
    if (real === undefined) return
    Reflect.set(target, key, make(real))
    restores.push(() => void Reflect.set(target, key, real))
  }
  const noting = <A>(what: string, answer: A) => () => {
    note(what)
    return answer
  }
  replace(Math, "random", () => noting("Math.random", 0.5))
  const performance: unknown = Reflect.get(globalThis, "performance")
  if (typeof performance === "object" && performance !== null) {
    replace(performance, "now", () => noting("performance.now", 0))
  }
  replace(globalThis, "Date", () =>
    new Proxy(Date, {
      get: (target, property, receiver) =>
        property === "now" ? noting("Date.now", 0) : Reflect.get(target, property, receiver) as unknown,
      apply: () => {
        note("Date()")
        return new Date(0).toString()
      },
      construct: (target, args: ReadonlyArray<unknown>, newTarget) => {
        if (args.length === 0) note("new Date()")
        return Reflect.construct(target, args.length === 0 ? [0] : args, newTarget) as Date
      }
    }))
  for (const key of timers) {
    replace(globalThis, key, () => noting(key, { ref: () => {}, unref: () => {}, hasRef: () => false }))
  }
  for (const [of, key] of outside) {
    const target: unknown = of === "" ? globalThis : Reflect.get(globalThis, of)
    if (typeof target !== "object" || target === null) continue
    replace(target, key, (real) => noted(real, () => note(of === "" ? key : `${of}.${key}`)))
  }
  return () => {
    for (const restore of restores) restore()
  }
}

/** The same function, told of each call. */
const noted = (real: unknown, tell: () => void): unknown =>
  typeof real !== "function" ? real : new Proxy(real, {
    apply: (target, self: unknown, args: ReadonlyArray<unknown>): unknown => {
      tell()
      return Reflect.apply(target as () => unknown, self, args)
    }
  })
