/**
 * Workloads drawn anew: each random run may have other steps than those that were given. A drawn workload is a list of
 * words, each a JSON array, so that a token holds it as it is, whatever becomes of the generator, and so that it can be made
 * shorter and simpler word by word. It is a deviation like others, at a point of its own, `workload`.
 */
import type * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type Kind, type Resource, Store } from "setpoint"
import type { Deviation } from "./choices.ts"
import type { Spec } from "./spec.ts"
import * as Workloads from "./workload.ts"

export const point = "workload"

// ---------------------------------------------------------------------------------------------------------------------
// as a deviation
// ---------------------------------------------------------------------------------------------------------------------

export const deviation = (words: ReadonlyArray<Workloads.Word>): Deviation => ({
  point,
  alternative: JSON.stringify(words)
})

/** The words of a list's workload; `undefined` where it is the one that was given. */
export const wordsOf = (plan: ReadonlyArray<Deviation>): ReadonlyArray<Workloads.Word> | undefined => {
  const own = plan.find((deviation) => deviation.point === point)
  if (own === undefined) return undefined
  try {
    const words: unknown = JSON.parse(own.alternative)
    return Array.isArray(words) ? words.filter((word): word is Workloads.Word => Array.isArray(word)) : []
  } catch {
    return []
  }
}

/** Deviations of the run itself. */
export const rest = (plan: ReadonlyArray<Deviation>): ReadonlyArray<Deviation> =>
  plan.filter((deviation) => deviation.point !== point)

/** What is simulated by a list; `undefined`: its workload says nothing any more. */
export const specFor = (spec: Spec, plan: ReadonlyArray<Deviation>): Spec | undefined => {
  const words = wordsOf(plan)
  if (words === undefined) return spec
  const steps = spec.redraw?.steps(words)
  return steps === undefined || steps.length === 0 ? undefined : { ...spec, steps, workload: JSON.stringify(words) }
}

// ---------------------------------------------------------------------------------------------------------------------
// other times
// ---------------------------------------------------------------------------------------------------------------------

const pick = <A>(draw: () => number, all: ReadonlyArray<A>): A | undefined => all[Math.floor(draw() * all.length)]

/** Mostly at rest, now and then in the middle of things, or at once. */
const times: ReadonlyArray<number> = [
  Workloads.restMillis,
  Workloads.restMillis,
  Workloads.restMillis,
  5_000,
  100,
  15,
  1
]

/** Steps written by hand stay as they are, in their order: `[2, 100]` is the second one, 100 ms after the first. */
export const otherTimes = (given: ReadonlyArray<Workloads.Step>): Workloads.Redraw => ({
  draw: (draw) => given.map((_, index) => draw() < 0.6 ? [index + 1] : [index + 1, pick(draw, times)]),
  steps: (words) => {
    const steps = words.flatMap(([number, afterMillis]) => {
      const step = typeof number === "number" ? given[number - 1] : undefined
      if (step === undefined) return []
      return [typeof afterMillis === "number" ? { ...step, afterMillis } : step]
    })
    return steps.length === given.length ? steps : undefined
  },
  simpler: ([number, afterMillis]) => afterMillis === undefined ? [] : [[number]],
  canDrop: false
})

// ---------------------------------------------------------------------------------------------------------------------
// other objects
// ---------------------------------------------------------------------------------------------------------------------

const label = "sim.setpoint.dev/other"

/**
 * Other specs from the kind's Schema, in another order: `["create", "a", {"spec": {"size": 1}}]`, `["edit", "a", {…}]`,
 * `["delete", "a"]`, `["label", "a", "3"]` by somebody who desires nothing; each with the milliseconds after the one
 * before, where these are not those of rest.
 */
export const otherChanges = <A extends Resource.Any>(
  kind: Kind.Kind<A>,
  names: ReadonlyArray<string>,
  seed: number
): Workloads.Redraw => {
  const encode = Schema.encodeUnknownResult(kind.codec)
  const decode = Schema.decodeUnknownResult(kind.codec)
  let pool: ReadonlyArray<unknown> | undefined
  const drawFields = (draw: () => number): unknown => {
    pool ??= Workloads.fields(kind, 32, seed).flatMap((fields) => Result.getOrUndefined(encode(fields)) ?? [])
    return pick(draw, pool) ?? {}
  }
  return {
    draw: (draw) => {
      const living = new Set<string>()
      const count = names.length * 2 + Math.floor(draw() * names.length * 4)
      return Array.from({ length: count }, (): Workloads.Word => {
        const name = pick(draw, names) ?? "a"
        const after = pick(draw, times)
        const when = after === Workloads.restMillis ? [] : [after]
        const what = draw()
        if (!living.has(name)) {
          living.add(name)
          return ["create", name, drawFields(draw), ...when]
        }
        if (what < 0.55) return ["edit", name, drawFields(draw), ...when]
        if (what < 0.7) return ["label", name, String(Math.floor(draw() * 10)), ...when]
        living.delete(name)
        return ["delete", name, ...when]
      })
    },
    steps: (words) => {
      const steps = words.flatMap((word) => stepOf(kind, decode, word) ?? [])
      return steps.length === words.length ? steps : undefined
    },
    simpler: (word) => simplerWords(word).filter((word) => stepOf(kind, decode, word) !== undefined),
    canDrop: true
  }
}

const stepOf = <A extends Resource.Any>(
  kind: Kind.Kind<A>,
  decode: (fields: unknown) => Result.Result<unknown, unknown>,
  [verb, name, third, fourth]: Workloads.Word
): Workloads.Step | undefined => {
  if (typeof name !== "string") return undefined
  const title = `${String(verb)} ${kind.address.kind} ${name}`
  const at = (run: Effect.Effect<unknown, unknown, Store.Store>, after: unknown) => {
    const step = Workloads.step(title, kind, run)
    return typeof after === "number" ? { ...step, afterMillis: after } : step
  }
  if (verb === "delete") return at(Store.deleteUnconditionally(kind, { name }), third)
  if (verb === "label") {
    const labelled = (object: A): A => ({
      ...object,
      metadata: { ...object.metadata, labels: { ...object.metadata.labels, [label]: String(third) } }
    })
    return at(Workloads.edit(kind, { name }, labelled), fourth)
  }
  const fields = decode(third)
  if (Result.isFailure(fields) || typeof fields.success !== "object") return undefined
  const declared = fields.success
  if (verb === "edit") return at(Workloads.edit(kind, { name }, (object) => ({ ...object, ...declared })), fourth)
  // The declared fields as they decode, and a name: all that creates an object.
  if (verb === "create") return at(Store.create(kind, { ...declared, metadata: { name } } as Kind.Input<A>), fourth)
  return undefined
}

// ---------------------------------------------------------------------------------------------------------------------
// simpler ones
// ---------------------------------------------------------------------------------------------------------------------

const simplerWords = (word: Workloads.Word): ReadonlyArray<Workloads.Word> => {
  const last = word.at(-1)
  const atRest = typeof last === "number" ? [word.slice(0, -1)] : []
  const [verb, name, fields, ...when] = word
  if (verb !== "create" && verb !== "edit") return atRest
  return [...atRest, ...simpler(fields).map((fields) => [verb, name, fields, ...when])]
}

/** Values that are a step simpler: the Schema says which of them are its own. */
const simpler = (value: unknown): ReadonlyArray<unknown> => {
  if (typeof value === "number") {
    const lower = [0, 1, Math.trunc(value / 2), value - Math.sign(value)]
    return lower.filter((other) => Math.abs(other) < Math.abs(value))
  }
  if (typeof value === "string") return value === "" ? [] : ["", value.slice(0, Math.floor(value.length / 2))]
  if (value === true) return [false]
  if (Array.isArray(value)) {
    return value.flatMap((inner, index) => [
      value.toSpliced(index, 1),
      ...simpler(inner).map((simple) => value.with(index, simple) as ReadonlyArray<unknown>)
    ])
  }
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [
    Object.fromEntries(Object.entries(value).filter(([other]) => other !== key)),
    ...simpler(inner).map((simple) => ({ ...value, [key]: simple }))
  ])
}
