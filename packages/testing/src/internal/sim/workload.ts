/** Workloads: what users do, step by step, and how other actors answer. */
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Types from "effect/Types"
import { type Kind, type Resource, Store } from "setpoint"
import type { Change, View } from "./story.ts"

/** One thing that somebody does, at once. Its failure is told in the story and is no violation. */
export interface Step<out A = unknown> {
  readonly "~object": Types.Covariant<A>
  readonly title: string
  /** Milliseconds after the step before. */
  readonly afterMillis: number
  /** Whose objects `matches` is asked about. */
  readonly kind: Kind.AnyKind | undefined
  readonly run: (view: View) => Effect.Effect<unknown, unknown, Store.Store>
}

/** Long enough for a small controller to come to rest. */
export const restMillis = 20_000

export const step = <A = never>(
  title: string,
  kind: Kind.AnyKind | undefined,
  run: Effect.Effect<unknown, unknown, Store.Store> | Step["run"]
): Step<A> => ({
  "~object": (_) => _,
  title,
  afterMillis: restMillis,
  kind,
  run: Effect.isEffect(run) ? () => run : run
})

/** Somebody else's controller. */
export interface Actor {
  /** Who it is in the story, and the first part of its points' names. */
  readonly name: string
  readonly kind: Kind.AnyKind
  /** What it does about a change of an object; `undefined` where that does not decode. */
  readonly answer: (change: Change, view: View) => Effect.Effect<unknown, unknown, Store.Store> | undefined
}

export const actor = <A extends Resource.Any>(
  name: string,
  kind: Kind.Kind<A>,
  answer: (object: A, change: Change, view: View) => Effect.Effect<unknown, unknown, Store.Store>
): Actor => ({
  name,
  kind,
  answer: (change, view) => {
    const object = kind.decode(change.object)
    return Result.isSuccess(object) ? answer(object.success, change, view) : undefined
  }
})

/** `["create", "a", {"spec": {"size": 1}}]`: who decodes it says what its parts are. */
export type Word = ReadonlyArray<unknown>

export interface Redraw {
  readonly draw: (draw: () => number) => ReadonlyArray<Word>
  /** `undefined`: one of the words says nothing, or not any more. */
  readonly steps: (words: ReadonlyArray<Word>) => ReadonlyArray<Step> | undefined
  /** Simpler words that could take the place of one. */
  readonly simpler: (word: Word) => ReadonlyArray<Word>
  /** Whether a workload without some of its words is one. */
  readonly canDrop: boolean
}

/** Replaces what is declared and leaves the rest. */
export const edit = <A extends Resource.Any>(
  kind: Kind.Kind<A>,
  key: Resource.KeyInput,
  f: (object: A) => A
): Effect.Effect<unknown, unknown, Store.Store> =>
  Effect.flatMap(Store.latest(kind, key), (object) => Store.update(kind, f(object)))

/** Declared fields but the status, as the kind's Schema draws them. */
export const fields = <A extends Resource.Any>(
  kind: Kind.Kind<A>,
  count: number,
  seed: number
): ReadonlyArray<Omit<Kind.Input<A>, "metadata">> => {
  const drawn = Effect.runSync(
    Effect.orDie(Arbitrary.sampleEffect(Arbitrary.schema(kind.codec), { count: count * 4, seed, size: 5 }))
  )
  // A kind's codec is that of its objects' fields; AnyKind, where it stands, does not know their type.
  return distinct(drawn.map(withoutStatus)).slice(0, count) as ReadonlyArray<Omit<Kind.Input<A>, "metadata">>
}

const withoutStatus = (fields: unknown): object =>
  Object.fromEntries(Object.entries(Object(fields)).filter(([name]) => name !== "status"))

/** An edit that changes nothing would be none. Equal ones come last, so that a Schema of few values has enough. */
const distinct = (all: ReadonlyArray<object>): ReadonlyArray<object> => {
  const byText = new Map(all.map((fields) => [JSON.stringify(fields), fields]))
  const first = [...byText.values()]
  return [...first, ...all.filter((fields) => !first.includes(fields))]
}
