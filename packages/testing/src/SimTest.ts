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
import * as Fs from "node:fs"
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
 * The tokens of a file beside the test, a line each: what failed once is tried first from then on. Lines that begin with `#`
 * say what the next one is about; a file that is not there is an error, since a test without its tokens tests less.
 *
 * @example
 * ```ts no-run
 * import { it, tokensIn } from "@setpoint/testing/SimTest"
 * import { Sim } from "@setpoint/testing"
 * import { Layer, Schema } from "effect"
 * import { Kind } from "setpoint"
 *
 * const Widget = Kind.make({ group: "example.dev", version: "v1", kind: "Widget", spec: Schema.Struct({ size: Schema.Int }) })
 *
 * it.sim("widgets survive", {
 *   controllers: Layer.empty,
 *   workload: Sim.changes(Widget),
 *   tokens: tokensIn(new URL("./widgets.tokens", import.meta.url))
 * })
 * ```
 *
 * @category tests
 * @since 0.1.0
 */
export const tokensIn = (file: string | URL): ReadonlyArray<string> =>
  Fs.readFileSync(file, "utf8").split("\n").map((line) => line.trim()).filter((line) =>
    line !== "" && !line.startsWith("#")
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
