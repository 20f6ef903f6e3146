/**
 * A simulated world for tests that drive single steps by hand: the same world as {@link Sim.check} runs in, where a test
 * says what happens next.
 *
 * **Ordering** Nothing moves but when the test lets it: `advance` runs all that is due until then, in an order that is the
 * same every time. What `run` does happens at once, as if by a user.
 *
 * **Delivery** Events of a kind that is held wait, in order, and are handed over once it is let go. A fault that was put on
 * a call happens once, at the next call of that name where it can.
 *
 * **Consistency** The laws that hold at any time are judged as in a check, and those of a world at rest by `settle`: the
 * step under which one breaks fails with {@link BrokenLaw}, and so do the ones after it.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { type Controller, type Kind, type Resource, Store, type StoreDriver } from "setpoint"
import type { Admission } from "./internal/sim/admission.ts"
import * as Asides from "./internal/sim/asides.ts"
import * as Calls from "./internal/sim/calls.ts"
import * as Checks from "./internal/sim/checks.ts"
import type { Source } from "./internal/sim/choices.ts"
import type { External } from "./internal/sim/external.ts"
import * as Known from "./internal/sim/known.ts"
import { timeText } from "./internal/sim/pageRows.ts"
import * as Runs from "./internal/sim/run.ts"
import { bare, type Fault, faults, type Spec } from "./internal/sim/spec.ts"
import type { Line, View } from "./internal/sim/story.ts"
import type { Actor } from "./internal/sim/workload.ts"
import * as World from "./internal/sim/world.ts"

/**
 * What {@link make} takes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<S = never> {
  /** The production Layer, without its store. */
  readonly controllers: Layer.Layer<never, unknown, Store.Store | StoreDriver.StoreDriver | NoInfer<S>>
  /** Fakes of what is outside of the store, made by `Sim.external`. */
  readonly external?: ReadonlyArray<External<S, unknown>> | undefined
  /** Somebody else's controllers, made by `Sim.actor`. */
  readonly actors?: ReadonlyArray<Actor> | undefined
  /** What the server fills in and refuses, made by `Sim.admission`. */
  readonly admit?: ReadonlyArray<Admission> | undefined
  /** Laws that the program breaks by design, each with the reason. */
  readonly except?: { readonly [law: string]: string | undefined } | undefined
  /** Default 1. */
  readonly seed?: number | undefined
  /** Steps of the loop, past which it is an endless loop. Default 1,000,000. */
  readonly maxSteps?: number | undefined
}

/**
 * A pass that ended.
 *
 * @category models
 * @since 0.1.0
 */
export interface Pass {
  /** `ctl`, and `ctl@2` after its first restart. */
  readonly process: string
  readonly registration: string
  readonly key: Resource.Key
  readonly number: number
  readonly end: Controller.End
}

/**
 * A law that does not hold, with all that happened.
 *
 * @category errors
 * @since 0.1.0
 */
export class BrokenLaw extends Schema.TaggedError<BrokenLaw>()("SimWorld/BrokenLaw", {
  law: Schema.String,
  title: Schema.String,
  story: Schema.String
}) {
  override get message(): string {
    return `${this.title} (${this.law})\n\n${this.story}`
  }
}

/**
 * A world with one process, which starts as soon as time moves.
 *
 * @category models
 * @since 0.1.0
 */
export interface SimWorld extends View {
  /** Does something at once, as a user: it must not wait. Its changes are seen as time moves. */
  readonly run: <A, E>(effect: Effect.Effect<A, E, Store.Store>) => Effect.Effect<A, E | BrokenLaw>
  /** Lets time pass, and all that is due in it happen. */
  readonly advance: (duration: Duration.Input) => Effect.Effect<void, BrokenLaw>
  /** Lets time pass until all is at rest, and judges the world there. */
  readonly settle: Effect.Effect<void, BrokenLaw>
  /** The process is gone, without a word; it starts anew a second later. */
  readonly kill: Effect.Effect<void, BrokenLaw>
  /** The process is stopped gracefully, which takes as long as it takes, and starts anew. */
  readonly stop: Effect.Effect<void, BrokenLaw>
  /** A second process starts, and the first goes on for 30 seconds. */
  readonly overlap: Effect.Effect<void, BrokenLaw>
  /** Events of a kind wait from here on, on their way to the processes' caches. */
  readonly hold: (kind: Kind.AnyKind) => Effect.Effect<void>
  /** Events of a kind wait no longer. */
  readonly letGo: (kind: Kind.AnyKind) => Effect.Effect<void>
  /**
   * A fault for the next call of a name, such as `updateStatus:Website/blog`, `get:Website/team/blog`, `list:Website`,
   * `Cloud.create`, or the next event, `event:Website/blog`.
   */
  readonly next: (name: string, fault: Fault) => Effect.Effect<void>
  /** Faults that have not happened yet. */
  readonly pending: Effect.Effect<ReadonlyArray<string>>
  /** Passes that ended, in order. */
  readonly passes: Effect.Effect<ReadonlyArray<Pass>>
  /** All that happened, a line each. */
  readonly story: Effect.Effect<string>
}

/**
 * A world.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Sim } from "@setpoint/testing"
 * import { Effect, Layer, Schema } from "effect"
 * import { Controller, Kind, Reconciler, Store } from "setpoint"
 *
 * const Website = Kind.make({
 *   group: "example.dev",
 *   version: "v1",
 *   kind: "Website",
 *   spec: Schema.Struct({ host: Schema.String }),
 *   status: Schema.Struct({ url: Schema.String })
 * })
 * const websites = Reconciler.make(Website, {
 *   reconcile: Effect.fnUntraced(function*(request) {
 *     const site = yield* Store.get(Website, request)
 *     yield* Store.updateStatus(Website, site, { url: `https://${site.spec.host}` })
 *   })
 * })
 *
 * const program = Effect.gen(function*() {
 *   const world = yield* Sim.world({
 *     controllers: Controller.layerFor(websites).pipe(Layer.provide(Controller.layer()))
 *   })
 *   yield* world.next("updateStatus:Website/blog", "kill-after")
 *   yield* world.run(Store.create(Website, { metadata: { name: "blog" }, spec: { host: "blog.example.dev" } }))
 *   yield* world.settle
 *   assert.equal(world.get(Website, "blog")?.status?.url, "https://blog.example.dev")
 *   assert.deepEqual((yield* world.passes).map(({ process }) => process), ["ctl@2"]) // the first one died in its pass
 * })
 *
 * Effect.runSync(program)
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <S = never>(options: Options<S>): Effect.Effect<SimWorld> =>
  Effect.sync(() => {
    const wanted: Array<Wanted> = []
    const calls = Calls.make((...answer) => Asides.answered(world, ...answer))
    const starts = Known.make(undefined, undefined, false)
    const world: World.World = World.make(specOf(options), sourceOf(wanted), calls, starts, {
      judge: Runs.judge,
      look: Checks.look,
      takeStep: () => {},
      kill: Runs.kill
    })
    const act = <A>(run: () => A): A => acting(world, run)
    act(() => {
      Runs.bookmark(world)
      Runs.boot(world, 1)
    })
    const withProcess = (run: (current: World.Running) => void) =>
      Effect.suspend(() =>
        checked(world, () => {
          if (world.current !== undefined) run(world.current)
        })
      )
    return {
      ...world.view,
      run: (effect) =>
        Effect.suspend(() => {
          const exit = act(() => World.at(world, Effect.provideService(effect, Store.Store, world.store)))
          return Effect.andThen(verdict(world), exit)
        }),
      advance: (duration) =>
        Effect.suspend(() =>
          checked(
            world,
            () => Runs.until(world, world.loop.now + Duration.toMillis(Duration.fromInputUnsafe(duration)))
          )
        ),
      settle: Effect.suspend(() =>
        checked(world, () => {
          Runs.settle(world)
          if (world.violation === undefined) Checks.atRest(world, undefined)
        })
      ),
      kill: withProcess(({ process }) => Runs.kill(world, process)),
      stop: withProcess((running) => Runs.stop(world, running)),
      overlap: withProcess(({ process }) => Runs.overlap(world, process)),
      hold: (kind) =>
        Effect.sync(() => {
          if (!world.held.has(kind.groupKind)) world.held.set(kind.groupKind, [])
        }),
      letGo: (kind) =>
        Effect.sync(() => {
          const held = world.held.get(kind.groupKind) ?? []
          world.held.delete(kind.groupKind)
          for (const go of held) go()
        }),
      next: (name, fault) => Effect.sync(() => void wanted.push({ name, fault })),
      pending: Effect.sync(() => wanted.map(({ fault, name }) => `${name}=${fault}`)),
      passes: Effect.sync(() =>
        (world.passLog ?? []).map(({ end, pass: { number, registration, request }, process }) => ({
          process,
          registration,
          key: { namespace: request.namespace, name: request.name },
          number,
          end
        }))
      ),
      story: Effect.sync(() => storyOf(world))
    }
  })

interface Wanted {
  readonly name: string
  readonly fault: Fault
}

/** Each fault once, at the first point of its name that has it. */
const sourceOf = (wanted: Array<Wanted>): Source => ({
  pick: (point, alternatives) => {
    const name = point.replace(/(#\d+)?~?$/, "")
    const index = wanted.findIndex((one) =>
      (name === one.name || name.endsWith(`/${one.name}`)) && alternatives.includes(one.fault)
    )
    return index === -1 ? undefined : wanted.splice(index, 1)[0]?.fault
  }
})

const specOf = <S>(options: Options<S>): Spec => ({
  ...bare,
  // The externals give what the Layer needs beside the store; a Spec no longer tells which services these are.
  layer: options.controllers as Spec["layer"],
  external: options.external ?? bare.external,
  actors: options.actors ?? bare.actors,
  admit: options.admit ?? bare.admit,
  faults: new Set(faults),
  except: options.except ?? bare.except,
  seed: options.seed ?? bare.seed,
  maxSteps: options.maxSteps ?? 1_000_000
})

/** Time, timers and chance from outside are caught while the world moves, and nowhere else. */
const acting = <A>(world: World.World, run: () => A): A => {
  const done: Array<A> = []
  const leak = Runs.guarded(world, () => void done.push(run()))
  if (leak !== undefined) World.violate(world, "leak", leak)
  return done[0]
}

const checked = (world: World.World, run: () => unknown): Effect.Effect<void, BrokenLaw> => {
  if (world.violation === undefined) acting(world, run)
  return verdict(world)
}

const verdict = (world: World.World): Effect.Effect<void, BrokenLaw> => {
  if (world.violation === undefined) return Effect.void
  const { law, title } = world.violation
  return Effect.fail(new BrokenLaw({ law, title, story: storyOf(world) }))
}

const storyOf = (world: World.World): string =>
  (world.lines ?? []).filter(({ isAside }) => isAside !== true).map(lineText).join("\n")

const lineText = ({ isFault, millis, site, text, who }: Line): string =>
  `t=${timeText(millis).padEnd(9)}${isFault ? "✗" : " "} ${who.padEnd(8)} ${text}${
    site === undefined ? "" : `    ${site}`
  }`
