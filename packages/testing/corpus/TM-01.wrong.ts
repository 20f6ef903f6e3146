/** Each missed start is walked, and above 100 of them it gives up, for ever. kubernetes/kubernetes#42649 */
import { Sim } from "@setpoint/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Outcome, Reconciler, Store } from "setpoint"
import { App, createApp, found, kind, layerOf } from "./kit.ts"

const Job = kind("Job")
const every = 5 * 60_000

/** The status says when the last start was due. */
const apps = Reconciler.make(App, {
  reconcile: Effect.fnUntraced(function*({ name }) {
    const app = yield* Store.get(App, { name })
    const now = yield* Clock.currentTimeMillis
    const last = Number(app.status?.phase ?? now)
    const missed: Array<number> = []
    for (let at = last + every; at <= now; at += every) missed.push(at)
    if (missed.length > 100) return yield* Effect.fail("too many missed starts: is the clock right?")
    const due = missed.at(-1)
    const job = { name: `${name}-${due}` }
    if (due !== undefined && (yield* found(Store.get(Job, job))) === undefined) {
      yield* Store.create(Job, { metadata: job, spec: { size: 1 } })
    }
    yield* Store.updateStatus(App, app, { phase: String(due ?? last) })
    return Outcome.requeueAfter((due ?? last) + every - now)
  })
})

export const options: Sim.Options<App> = {
  controllers: layerOf(apps),
  workload: Sim.script([createApp(1)]),
  matches: ({ status }, world) => Number(status?.phase ?? 0) > world.now - 2 * every
}
