/**
 * Simulation as a test: `it.sim` beside the methods of `@effect/vitest`.
 *
 * A failure's message is the story, with the token that replays it; a clean run leaves its summary as a note of the test.
 *
 * @example
 * ```ts no-run
 * import { Sim } from "@setpoint/testing"
 * import { it } from "@setpoint/testing/SimTest"
 * import { Effect, Layer, Schema } from "effect"
 * import { Controller, Kind, Reconciler, Store } from "setpoint"
 *
 * const Widget = Kind.make({ group: "example.dev", version: "v1", kind: "Widget", spec: Schema.Struct({ size: Schema.Int }) })
 * const widgets = Reconciler.make(Widget, { reconcile: (request) => Effect.asVoid(Store.get(Widget, request)) })
 *
 * it.sim("widgets survive", {
 *   controllers: Controller.layerFor(widgets).pipe(Layer.provide(Controller.layer())),
 *   workload: Sim.changes(Widget)
 * })
 * ```
 *
 * @since 0.1.0
 */
import * as Vitest from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Sim from "./Sim.ts"

/**
 * Declares a test that searches for a run that breaks a law: see {@link Sim.check}. `timeout` in milliseconds, default two
 * minutes.
 *
 * @category tests
 * @since 0.1.0
 */
export const sim = <A, S = never>(title: string, options: Sim.Options<A, S>, timeout = 120_000): void =>
  Vitest.it.effect(
    title,
    ({ annotate }) => Effect.flatMap(Sim.check(options), ({ text }) => Effect.promise(() => annotate(text))),
    timeout
  )

/**
 * `it` of `@effect/vitest`, with `it.sim`.
 *
 * @category tests
 * @since 0.1.0
 */
export const it: Vitest.Vitest.Methods & { readonly sim: typeof sim } = new Proxy(
  Vitest.it as Vitest.Vitest.Methods & { readonly sim: typeof sim },
  { get: (target, property, receiver) => property === "sim" ? sim : Reflect.get(target, property, receiver) as unknown }
)
