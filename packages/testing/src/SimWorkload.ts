/**
 * Workloads: what users, and others, do while a check runs, step by step.
 *
 * **Ordering** Steps come in their order, 20 seconds after each other unless they are {@link soon}: long enough for a small
 * controller to come to rest. Deviations move a step forward, into the midst of a pass.
 *
 * **Delivery** A step happens at once, as one call of somebody who is no process. That it fails is told in the story, and
 * is no violation.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Types from "effect/Types"
import { type Kind, Resource, Store } from "setpoint"
import * as Redraw from "./internal/sim/redraw.ts"
import type { View } from "./internal/sim/story.ts"
import * as Workloads from "./internal/sim/workload.ts"

/**
 * One thing that a user, or anybody else, does.
 *
 * @category models
 * @since 0.1.0
 */
export type Step<A = unknown> = Workloads.Step<A>

/**
 * What is done to the world while a check runs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Workload<out A> {
  readonly "~object": Types.Covariant<A>
  readonly steps: ReadonlyArray<Step>
  /** Kinds whose objects `matches` is asked about. `undefined`: those of the steps. */
  readonly of: ReadonlyArray<Kind.AnyKind> | undefined
  /** After so many steps the state is one that must come back at the end (P16). */
  readonly returnsTo: number | undefined
  /** How random runs have other steps. `undefined`: they have these. */
  readonly redraw: Workloads.Redraw | undefined
}

// ---------------------------------------------------------------------------------------------------------------------
// workloads
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Users of a kind, with specs drawn from its Schema: each name is created, edited, deleted, and created again at once
 * under its old name; the second one is edited meanwhile. Random runs draw other specs, other orders and times, and edits
 * by somebody who desires nothing.
 *
 * @category workloads
 * @since 0.1.0
 */
export const changes = <A extends Resource.Any>(
  kind: Kind.Kind<A>,
  options: {
    /** How many objects: at most 26. Default 2. */
    readonly names?: number | undefined
    /** Other seeds draw other specs. Default 1. */
    readonly seed?: number | undefined
  } = {}
): Workload<A> => {
  const names = Array.from({ length: options.names ?? 2 }, (_, index) => String.fromCodePoint(97 + index))
  const drawn = Workloads.fields(kind, names.length * 3, options.seed ?? 1)
  const fields = (name: number, life: number) => drawn[(name * 3 + life) % drawn.length] ?? drawn[0]
  const createAs = (name: string, life: number) => {
    // The declared fields as drawn, and a name: all that creates an object.
    const input = { ...fields(names.indexOf(name), life), metadata: { name } } as Kind.Input<A>
    return create(kind, input)
  }
  const editAs = (name: string, life: number): Step<A> => {
    const run = Workloads.edit(kind, { name }, (object) => ({ ...object, ...fields(names.indexOf(name), life) }))
    return Workloads.step(`edit ${kind.address.kind} ${name}`, kind, run)
  }
  const given = script([
    ...names.map((name) => createAs(name, 0)),
    ...names.flatMap((name) => [editAs(name, 1), remove(kind, { name }), soon(createAs(name, 2))]),
    ...names.slice(0, 1).map((name) => remove(kind, { name }))
  ])
  return { ...given, redraw: Redraw.otherChanges(kind, names, options.seed ?? 1) }
}

/**
 * A workload written by hand. Random runs keep its steps and their order, and vary the times between them.
 *
 * @example
 * ```ts
 * import { Sim } from "@setpoint/testing"
 * import { Schema } from "effect"
 * import { Kind } from "setpoint"
 *
 * const Widget = Kind.make({ group: "example.dev", version: "v1", kind: "Widget", spec: Schema.Struct({ size: Schema.Int }) })
 *
 * const workload = Sim.script([
 *   Sim.create(Widget, { metadata: { name: "a" }, spec: { size: 1 } }),
 *   Sim.edit(Widget, { name: "a" }, () => ({ spec: { size: 2 } })),
 *   Sim.remove(Widget, { name: "a" })
 * ])
 * ```
 *
 * @category workloads
 * @since 0.1.0
 */
export const script: {
  <A>(steps: ReadonlyArray<Step<A>>): Workload<A>
  <const K extends Kind.AnyKind>(
    steps: ReadonlyArray<Step>,
    options: {
      /** Kinds whose objects `matches` is asked about, where the steps touch others too. */
      readonly of: K | ReadonlyArray<K>
    }
  ): Workload<Kind.Resource<K>>
} = <A>(
  steps: ReadonlyArray<Step>,
  options?: { readonly of: Kind.AnyKind | ReadonlyArray<Kind.AnyKind> }
): Workload<A> => ({
  "~object": (_) => _,
  steps,
  of: options && [options.of].flat(),
  returnsTo: undefined,
  redraw: Redraw.otherTimes(steps)
})

/**
 * Good, bad, and good again: whatever the bad state left behind, the first state must come back (P16).
 *
 * @example
 * ```ts
 * import { Sim } from "@setpoint/testing"
 * import { Schema } from "effect"
 * import { Kind } from "setpoint"
 *
 * const Widget = Kind.make({ group: "example.dev", version: "v1", kind: "Widget", spec: Schema.Struct({ image: Schema.String }) })
 *
 * const good = { metadata: { name: "a" }, spec: { image: "web:1" } }
 * const workload = Sim.recovery(Widget, good, { spec: { image: "no such image" } })
 * ```
 *
 * @category workloads
 * @since 0.1.0
 */
export const recovery = <A extends Resource.Any>(
  kind: Kind.Kind<A>,
  good: Kind.Input<A>,
  bad: Partial<Omit<Kind.Input<A>, "status" | "metadata">>
): Workload<A> => {
  const { metadata: { name = "" }, ...fields } = good
  const editTo = (fields: object) =>
    edit(kind, { name, namespace: good.metadata.namespace }, () => fields as Partial<Kind.Input<A>>)
  return { ...script([create(kind, good), editTo(bad), editTo(fields)]), returnsTo: 1, redraw: undefined }
}

// ---------------------------------------------------------------------------------------------------------------------
// steps
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Somebody creates an object. Steps are 20 seconds apart, so that the controllers come to rest in between.
 *
 * @category steps
 * @since 0.1.0
 */
export const create = <A extends Resource.Any>(kind: Kind.Kind<A>, input: Kind.Input<A>): Step<A> =>
  Workloads.step(`create ${kind.address.kind} ${input.metadata.name ?? ""}`, kind, Store.create(kind, input))

/**
 * Somebody edits an object: the declared fields that are given replace those that are there.
 *
 * @category steps
 * @since 0.1.0
 */
export const edit = <A extends Resource.Any>(
  kind: Kind.Kind<A>,
  key: Resource.KeyInput,
  f: (object: A) => Partial<Omit<Kind.Input<A>, "status">>
): Step<A> =>
  Workloads.step(
    `edit ${kind.address.kind} ${Resource.keyText(key)}`,
    kind,
    Workloads.edit(
      kind,
      key,
      (object) => ({ ...object, ...f(object), metadata: { ...object.metadata, ...f(object).metadata } })
    )
  )

/**
 * Somebody deletes an object.
 *
 * @category steps
 * @since 0.1.0
 */
export const remove = <A extends Resource.Any>(kind: Kind.Kind<A>, key: Resource.KeyInput): Step<A> =>
  Workloads.step(`delete ${kind.address.kind} ${Resource.keyText(key)}`, kind, Store.deleteUnconditionally(kind, key))

/**
 * Anything that somebody does, at once: other actors' writes, for example, or what happens in an external world, which a
 * function of the `Sim.World` reaches. `matches` is not asked about its objects.
 *
 * @category steps
 * @since 0.1.0
 */
export const act = (
  title: string,
  effect:
    | Effect.Effect<unknown, unknown, Store.Store>
    | ((world: View) => Effect.Effect<unknown, unknown, Store.Store>)
): Step<never> => Workloads.step(title, undefined, effect)

/**
 * The same step, soon after the one before it: by default a millisecond, before anybody could have answered that.
 *
 * @category steps
 * @since 0.1.0
 */
export const soon = <A>(step: Step<A>, after: Duration.Input = 1): Step<A> => ({
  ...step,
  afterMillis: Duration.toMillis(after)
})
