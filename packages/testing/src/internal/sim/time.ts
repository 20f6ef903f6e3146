/**
 * Time that goes otherwise than planned (X15): a process stands still, and the clock on the wall jumps. Timers go by the
 * monotonic clock, which does neither.
 */
import * as Loop from "./loop.ts"
import * as World from "./world.ts"

/** Longer than a lease is good for, and than two steps of the workload. */
const pauseMillis = 45_000
const aheadMillis = 12 * 60 * 60_000
const backMillis = 30_000

/** A process stands still, as in a long collection of garbage, a swap, or a move of its machine. `call` was about to be made. */
export const pause = (world: World.World, process: Loop.Process, call?: () => void): void => {
  Loop.pause(process, call)
  Loop.after(world.loop, undefined, pauseMillis, () => {
    if (!process.isAlive) return
    World.tell(world, process.label, "goes on")
    Loop.resume(world.loop, process)
  })
}

/** Somebody sets the clock: ahead after a long suspension, back to correct a drift. */
export const jump = (world: World.World, to: "ahead" | "back"): void => {
  world.loop.wallShift += to === "ahead" ? aheadMillis : -backMillis
}
