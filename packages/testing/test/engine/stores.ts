/** Stores that do what stores do: they are out of reach, their watches overflow, a replica that lags takes over. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type StoreDriver, StoreError } from "setpoint"

/** Lists and watches fail at once for the first half minute of a process. */
export const outOfReach = (driver: StoreDriver.Service): Effect.Effect<StoreDriver.Service> =>
  Effect.map(Clock.currentTimeMillis, (begunMillis) => {
    const isOut = Effect.map(Clock.currentTimeMillis, (now) => now < begunMillis + 30_000)
    const fail = (operation: string, at: StoreDriver.KindAddress) =>
      Effect.fail(
        StoreError.make(StoreError.subject(operation, at), new StoreError.Unavailable({ why: "nobody answers" }))
      )
    return {
      ...driver,
      list: (at, options) => Effect.flatMap(isOut, (out) => out ? fail("list", at) : driver.list(at, options)),
      watch: (at, options) =>
        Stream.unwrap(
          Effect.flatMap(isOut, (out) => out ? fail("watch", at) : Effect.succeed(driver.watch(at, options)))
        )
    }
  })

/** Watches that hold two events at most. */
export const smallBuffers = (driver: StoreDriver.Service): Effect.Effect<StoreDriver.Service> =>
  Effect.succeed({
    ...driver,
    watch: (at, options) => driver.watch(at, { ...options, bufferSize: 2 })
  })

/** A watch that is begun anew tells, once, what the first like it told first: it comes from a replica that is behind. */
export const goesBack = (driver: StoreDriver.Service): Effect.Effect<StoreDriver.Service> =>
  Effect.sync(() => {
    const firstFrames = new Map<string, ReadonlyArray<StoreDriver.WatchEvent>>()
    const told = new Set<string>()
    return {
      ...driver,
      watch: (at, options) => {
        const name = `${at.kind} ${options.metadataOnly}`
        const old = told.has(name) ? undefined : firstFrames.get(name)
        const live = Stream.tap(driver.watch(at, options), (frame) =>
          Effect.sync(() => {
            if (!firstFrames.has(name) && frame.some((event) => "object" in event)) firstFrames.set(name, frame)
          }))
        if (old === undefined) return live
        told.add(name)
        return Stream.concat(Stream.succeed(old), live)
      }
    }
  })
