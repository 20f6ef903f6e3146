/** When passes run: a reconciler that answers by a script, and writes down when it was asked. */
import { Sim } from "@setpoint/testing"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Outcome, Reconciler, StoreError } from "setpoint"
import { App, create, layerOf } from "./kit.ts"

/** `fail`, `done`, `requeue`, or a number of millis: run again after it. `busy`: an error that asks for half a minute. */
export type Answer = "fail" | "busy" | "done" | "requeue" | number

class Script extends Context.Service<Script, {
  /** The next answer; `done` once they are used up. */
  readonly next: Effect.Effect<Answer>
}>()("engine/Script") {}

const busy = StoreError.make(
  StoreError.subject("get", App.address),
  new StoreError.TooManyRequests({ retryAfterMillis: 30_000 })
)

const reconciler = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*() {
    const answer = yield* (yield* Script).next
    if (answer === "fail") return yield* Effect.fail("as the script says")
    if (answer === "busy") return yield* busy
    if (answer === "requeue") return Outcome.requeue
    return answer === "done" ? Outcome.done : Outcome.requeueAfter(answer)
  })
})

/**
 * One App, whose passes end by the script; `holds` judges the pauses between them, in millis. `soon` after the first pass
 * somebody edits it, if the script waits for that.
 */
export const scripted = (
  answers: ReadonlyArray<Answer>,
  steps: ReadonlyArray<Sim.Step<App>>,
  what: string,
  holds: (pauses: ReadonlyArray<number>) => boolean
): Sim.Options<App, Script> => {
  const script = Sim.external(Script, () => {
    const times: Array<number> = []
    return {
      times,
      next: Effect.map(Clock.currentTimeMillis, (now): Answer => {
        times.push(now)
        return answers[times.length - 1] ?? "done"
      })
    }
  })
  return {
    controllers: layerOf(reconciler),
    workload: Sim.script([create("a"), ...steps]),
    external: [script],
    faults: ["late", "cut"],
    atRest: {
      [what]: (world) => {
        const { times } = world.external(script)
        return holds(times.slice(1).map((time, index) => time - (times[index] ?? 0)))
      }
    }
  }
}
