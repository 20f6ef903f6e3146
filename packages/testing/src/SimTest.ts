/**
 * Simulation as a test: `it.sim` beside the methods of `@effect/vitest`.
 *
 * A failure's message is the story, with the token that replays it and the seed of the random runs; a clean run leaves its
 * summary as a note of the test. While it searches, a terminal shows how far it is.
 *
 * What the environment says: `SETPOINT_SEED` is the seed where a test names none, so that each night can try other random
 * runs; `SETPOINT_SIM_HTML` is a folder into which each failure writes its page ({@link Sim.page}).
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
import * as Path from "node:path"
import * as Terminal from "./internal/sim/terminal.ts"
import * as Sim from "./Sim.ts"

/**
 * What a simulation test takes: what {@link Sim.check} takes, and where to leave the page of a failure.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<A, S = never> extends Sim.Options<A, S> {
  /** The file to which a failure writes its page. Default: none, or one in the folder `SETPOINT_SIM_HTML`. */
  readonly html?: string | undefined
}

/**
 * Declares a test that searches for a run that breaks a law: see {@link Sim.check}. `timeout` in milliseconds, default two
 * minutes; a search that takes longer fails, and says how far it was.
 *
 * @category models
 * @since 0.1.0
 */
export interface Declare {
  <A, S = never>(title: string, options: Options<A, S>, timeout?: number): void
}

/**
 * {@link Declare}, and its variants: the only test of its file that runs, and one that does not run.
 *
 * @category models
 * @since 0.1.0
 */
export interface SimTest extends Declare {
  readonly only: Declare
  readonly skip: Declare
}

const defaultTimeoutMillis = 120_000

const declare =
  (test: typeof Vitest.it | typeof Vitest.it.only): Declare => (title, options, timeout = defaultTimeoutMillis) => {
    test(title, { timeout }, async ({ annotate, signal }) => {
      const seed = options.seed ?? seedOf(process.env)
      const { text } = await Effect.runPromise(searched(title, { ...options, seed }, timeout), { signal })
      await annotate(text)
      if (Terminal.isThere(process.env)) process.stdout.write(`${title}: ${text}\n`)
    })
  }

/**
 * Searches for a run that breaks a law, as a test.
 *
 * @category tests
 * @since 0.1.0
 */
export const sim: SimTest = Object.assign(declare(Vitest.it), {
  only: declare(Vitest.it.only),
  skip: declare(Vitest.it.skip)
})

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
 * `it` of `@effect/vitest`, with `it.sim`, `it.sim.only` and `it.sim.skip`.
 *
 * @category tests
 * @since 0.1.0
 */
export const it: Vitest.Vitest.Methods & { readonly sim: SimTest } = new Proxy(
  Vitest.it as Vitest.Vitest.Methods & { readonly sim: SimTest },
  { get: (target, property, receiver) => property === "sim" ? sim : Reflect.get(target, property, receiver) as unknown }
)

// ---------------------------------------------------------------------------------------------------------------------
// one test
// ---------------------------------------------------------------------------------------------------------------------

/** `Declare` knows nothing of its file: the message is all there is to see, without a stack that would lead nowhere. */
class Failure extends Error {
  override readonly name = "Sim"
  constructor(message: string) {
    super(message)
    this.stack = `Sim: ${message}`
  }
}

const seedOf = (env: NodeJS.ProcessEnv): number => {
  const seed = env["SETPOINT_SEED"] ?? ""
  return /^\d+$/.test(seed) ? Number(seed) : 1
}

const searched = <A, S>(title: string, options: Options<A, S>, timeout: number): Effect.Effect<Sim.Summary, Failure> =>
  Effect.acquireUseRelease(
    Effect.sync(() => Terminal.open(process.env)),
    (terminal) =>
      Effect.mapError(
        Sim.check(told(title, options, timeout, terminal)),
        (failure) => new Failure(describe(title, options, failure))
      ),
    (terminal) =>
      Effect.sync(() => {
        if (terminal === undefined) return
        Terminal.clear(terminal)
        terminal.close()
      })
  )

/** How often the terminal is drawn. */
const drawMillis = 100

/** A search that would be cut by the test's timeout ends just before it, and says how far it was. */
const told = <A, S>(
  title: string,
  options: Options<A, S>,
  timeout: number,
  terminal: Terminal.Terminal | undefined
): Sim.Options<A, S> => {
  const began = performance.now()
  let drawn = began
  const onProgress = (progress: Sim.Progress): Effect.Effect<void> => {
    const now = performance.now()
    if (now - began > timeout * 0.95) {
      const line = Terminal.lineOf(title, progress, now - began)
      return Effect.die(
        new Failure(
          `not done within ${timeout / 1000} s:\n  ${line}\n` +
            "  Give it.sim a longer timeout as its third argument, or the search a lower `depth`, `maxRuns` or `random`."
        )
      )
    }
    if (terminal !== undefined && now - drawn >= drawMillis) {
      drawn = now
      Terminal.draw(terminal, Terminal.lineOf(title, progress, now - began))
    }
    return options.onProgress?.(progress) ?? Effect.void
  }
  return { ...options, onProgress }
}

/** The story, and what to keep of it. */
const describe = <A, S>(title: string, options: Options<A, S>, failure: Sim.Counterexample): string => {
  if (failure.law === "input") return `\n${failure.report}`
  const page = pageOf(title, options, failure.token)
  return [
    "",
    failure.report,
    ...(failure.token === "" ? [] : [`  keep:   tokens: [${JSON.stringify(failure.token)}]`]),
    `  seed:   ${options.seed}`,
    ...(page === undefined ? [] : [`  page:   ${page}`])
  ].join("\n")
}

const pageOf = <A, S>(title: string, options: Options<A, S>, token: string): string | undefined => {
  const folder = process.env["SETPOINT_SIM_HTML"]
  const name = `${title.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "")}.html`
  const path = options.html ?? (folder === undefined ? undefined : Path.join(folder, name))
  if (path === undefined) return undefined
  Fs.mkdirSync(Path.dirname(path), { recursive: true })
  Fs.writeFileSync(path, Effect.runSync(Effect.orDie(Sim.page(options, token))))
  return path
}
