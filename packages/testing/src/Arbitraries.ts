/**
 * Random kinds, objects, selectors and histories, for property tests: Effect's own `Arbitrary`, which shrinks what fails.
 *
 * Names, labels and values are few, so that they meet: two objects have one name, a selector means some of them.
 *
 * @since 0.1.0
 */
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { Kind, type Resource, Selector, Store, type StoreError } from "setpoint"

const literals = (texts: ReadonlyArray<string>) => Arbitrary.schema(Schema.Literals(texts))

// ---------------------------------------------------------------------------------------------------------------------
// kinds
// ---------------------------------------------------------------------------------------------------------------------

const values = {
  boolean: Schema.Boolean,
  count: Schema.Int,
  text: Schema.String,
  texts: Schema.Array(Schema.String),
  nested: Schema.Struct({ on: Schema.Boolean, note: Schema.optionalKey(Schema.String) })
}

const ValueName = Schema.Literals(["boolean", "count", "text", "texts", "nested"])

const KindParts = Schema.Struct({
  group: Schema.Literals(["", "example.dev", "apps.example.dev"]),
  version: Schema.Literals(["v1", "v1beta1"]),
  kind: Schema.Literals(["Alpha", "Beta", "Gamma"]),
  scope: Schema.Literals(["Namespaced", "Cluster"]),
  fields: Schema.Struct({ a: ValueName, b: Schema.optionalKey(ValueName), c: Schema.optionalKey(ValueName) })
})

const kindOf = ({ fields, ...names }: typeof KindParts.Type) =>
  Kind.make({
    ...names,
    spec: Schema.Struct(Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, values[value]]))),
    status: Schema.Struct({ ready: Schema.Int })
  })

/**
 * A kind of {@link kind}: a spec of a few fields, and a status.
 *
 * @category models
 * @since 0.1.0
 */
export type AnyKind = ReturnType<typeof kindOf>

/**
 * Kinds of any group, version and scope, with one to three fields in the spec.
 *
 * @category kinds
 * @since 0.1.0
 */
export const kind: Arbitrary.Arbitrary<AnyKind> = Arbitrary.map(Arbitrary.schema(KindParts), kindOf)

// ---------------------------------------------------------------------------------------------------------------------
// labels and selectors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What labels and selectors are made of. Default: the keys `a`, `b` and `c`, the values `""`, `0`, `1`, `2` and `x`.
 *
 * @category models
 * @since 0.1.0
 */
export interface LabelOptions {
  readonly keys?: ReadonlyArray<string> | undefined
  readonly values?: ReadonlyArray<string> | undefined
}

const keysOf = ({ keys = ["a", "b", "c"] }: LabelOptions) => keys
const valuesOf = ({ values = ["", "0", "1", "2", "x"] }: LabelOptions) => values

/**
 * Labels, each there or not.
 *
 * @category labels
 * @since 0.1.0
 */
export const labels = (options: LabelOptions = {}): Arbitrary.Arbitrary<Selector.Labels> => {
  const value = Schema.optionalKey(Schema.Literals(valuesOf(options)))
  const fields = Object.fromEntries(keysOf(options).map((key) => [key, value]))
  // What is absent is no member of what is drawn.
  return Arbitrary.map(Arbitrary.schema(Schema.Struct(fields)), (drawn) => drawn as Selector.Labels)
}

/**
 * Selectors of up to as many requirements as the size allows: all operators, that compare numbers too.
 *
 * @category labels
 * @since 0.1.0
 */
export const selector = (options: LabelOptions = {}): Arbitrary.Arbitrary<Selector.Selector> => {
  const key = Schema.Literals(keysOf(options))
  const Requirement = Schema.Union([
    Schema.Struct({
      key,
      operator: Schema.Literals(["In", "NotIn"]),
      values: Schema.NonEmptyArray(Schema.Literals(valuesOf(options)))
    }),
    Schema.Struct({ key, operator: Schema.Literals(["Exists", "DoesNotExist"]), values: Schema.Tuple([]) }),
    Schema.Struct({
      key,
      operator: Schema.Literals(["Gt", "Lt"]),
      values: Schema.Tuple([Schema.Literals(["0", "1", "2"])])
    })
  ])
  return Arbitrary.map(
    Arbitrary.schema(Schema.Array(Requirement)),
    (requirements) => Result.getOrThrow(Selector.fromRequirements(requirements))
  )
}

// ---------------------------------------------------------------------------------------------------------------------
// objects and histories
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Where objects are, and what they are marked with. Default: the names `a`, `b` and `c`, the namespace `default`, labels as
 * of {@link labels}.
 *
 * @category models
 * @since 0.1.0
 */
export interface ObjectOptions extends LabelOptions {
  readonly names?: ReadonlyArray<string> | undefined
  /** Of kinds that stand in namespaces. */
  readonly namespaces?: ReadonlyArray<string> | undefined
}

const placeOf = <A extends Resource.Any>(kind: Kind.Kind<A>, options: ObjectOptions) => {
  const { names = ["a", "b", "c"], namespaces = ["default"] } = options
  const namespace = literals(kind.address.scope === "Cluster" ? [""] : namespaces)
  return Arbitrary.all({ name: literals(names), namespace })
}

/** The declared fields, as the kind's Schema draws them. */
const fieldsOf = <A extends Resource.Any>(kind: Kind.Kind<A>) =>
  Arbitrary.map(Arbitrary.schema(kind.codec), (fields) => {
    const { status, ...desired } = Object(fields) as { readonly [name: string]: unknown }
    // A kind's codec is that of its objects' fields; AnyKind, where it stands, does not know their type.
    return {
      desired: desired as Omit<Kind.Input<A>, "metadata" | "status">,
      status: status as Kind.Status<A> | undefined
    }
  })

const metadataOf = ({ name, namespace }: Resource.Key, labels: Selector.Labels): Resource.MetadataInput => ({
  name,
  ...(namespace === "" ? {} : { namespace }),
  labels
})

/**
 * What creates objects of a kind: fields as its Schema draws them, without a status. A Schema that allows what JSON cannot
 * hold, such as `NaN`, draws what the store refuses.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Arbitraries } from "@setpoint/testing"
 * import { Arbitrary, Effect, Schema } from "effect"
 * import { Kind, MemoryStore, Store } from "setpoint"
 *
 * const Website = Kind.make({ group: "example.dev", version: "v1", kind: "Website", spec: Schema.Struct({ size: Schema.Int }) })
 *
 * const program = Arbitrary.checkEffect(Arbitraries.object(Website), (input) =>
 *   Effect.gen(function*() {
 *     const made = yield* Store.create(Website, input)
 *     return made.spec.size === input.spec.size
 *   }).pipe(Effect.provide(MemoryStore.layer, { local: true })))
 *
 * assert.equal(Effect.runSync(program)._tag, "Passed")
 * ```
 *
 * @category objects
 * @since 0.1.0
 */
export const object = <A extends Resource.Any>(
  kind: Kind.Kind<A>,
  options: ObjectOptions = {}
): Arbitrary.Arbitrary<Kind.Input<A>> =>
  Arbitrary.map(
    Arbitrary.all({ place: placeOf(kind, options), labels: labels(options), fields: fieldsOf(kind) }),
    ({ fields, labels, place }) => ({ ...fields.desired, metadata: metadataOf(place, labels) }) as Kind.Input<A>
  )

/**
 * One operation of a history.
 *
 * @category models
 * @since 0.1.0
 */
export type Operation<A extends Resource.Any> =
  | { readonly _tag: "Create"; readonly input: Kind.Input<A> }
  | { readonly _tag: "Edit"; readonly key: Resource.Key; readonly input: Kind.Input<A> }
  | { readonly _tag: "SetStatus"; readonly key: Resource.Key; readonly status: Kind.Status<A> }
  | { readonly _tag: "Label"; readonly key: Resource.Key; readonly labels: Selector.Labels }
  | { readonly _tag: "Delete"; readonly key: Resource.Key }

const Verb = Schema.Literals(["Create", "Create", "Edit", "Edit", "SetStatus", "Label", "Delete"])

/**
 * Operations on a few objects of a kind: creations, edits, statuses, labels, deletions. Many of them are refused, since
 * there is no such object, or there is one already: {@link perform} takes that as it is. A failure shrinks to the
 * operations that are needed.
 *
 * @category histories
 * @since 0.1.0
 */
export const history = <A extends Resource.Any>(
  kind: Kind.Kind<A>,
  options: ObjectOptions & {
    /** Default 0. */
    readonly minLength?: number | undefined
    /** Default 40. */
    readonly maxLength?: number | undefined
  } = {}
): Arbitrary.Arbitrary<ReadonlyArray<Operation<A>>> => {
  const parts = Arbitrary.all({
    verb: Arbitrary.schema(Verb),
    place: placeOf(kind, options),
    labels: labels(options),
    fields: fieldsOf(kind)
  })
  const operation = Arbitrary.map(parts, ({ fields, labels, place: key, verb }): Operation<A> => {
    const input = { ...fields.desired, metadata: metadataOf(key, labels) } as Kind.Input<A>
    switch (verb) {
      case "Create":
        return { _tag: "Create", input }
      case "Edit":
        return { _tag: "Edit", key, input }
      case "SetStatus":
        return fields.status === undefined
          ? { _tag: "Edit", key, input }
          : { _tag: "SetStatus", key, status: fields.status }
      case "Label":
        return { _tag: "Label", key, labels }
      case "Delete":
        return { _tag: "Delete", key }
    }
  })
  return Arbitrary.array(operation, { minLength: options.minLength ?? 0, maxLength: options.maxLength ?? 40 })
}

/**
 * Does an operation. That there is no such object, or one already, is no failure: `false`, nothing was done.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Arbitraries } from "@setpoint/testing"
 * import { Arbitrary, Effect, Schema } from "effect"
 * import { Kind, MemoryStore, Store } from "setpoint"
 *
 * const Website = Kind.make({ group: "example.dev", version: "v1", kind: "Website", spec: Schema.Struct({ size: Schema.Int }) })
 *
 * const program = Arbitrary.checkEffect(Arbitraries.history(Website), (operations) =>
 *   Effect.gen(function*() {
 *     yield* Effect.forEach(operations, (operation) => Arbitraries.perform(Website, operation))
 *     const { items } = yield* Store.list(Website)
 *     return items.length <= 3 // they have three names
 *   }).pipe(Effect.provide(MemoryStore.layer, { local: true })))
 *
 * assert.equal(Effect.runSync(program)._tag, "Passed")
 * ```
 *
 * @category histories
 * @since 0.1.0
 */
export const perform = <A extends Resource.Any>(
  kind: Kind.Kind<A>,
  operation: Operation<A>
): Effect.Effect<boolean, StoreError.StoreError, Store.Store> => {
  const done: Effect.Effect<unknown, StoreError.StoreError, Store.Store> = doing(kind, operation)
  return Effect.as(done, true).pipe(
    Effect.catchReason("StoreError", "NotFound", () => Effect.succeed(false)),
    Effect.catchReason("StoreError", "AlreadyExists", () => Effect.succeed(false))
  )
}

const doing = <A extends Resource.Any>(kind: Kind.Kind<A>, operation: Operation<A>) => {
  switch (operation._tag) {
    case "Create":
      return Store.create(kind, operation.input)
    case "Edit":
      return Effect.flatMap(Store.latest(kind, operation.key), (object) => {
        const { metadata: _, ...fields } = operation.input
        return Store.update(kind, { ...object, ...fields })
      })
    case "SetStatus":
      return Effect.flatMap(
        Store.latest(kind, operation.key),
        (object) => Store.updateStatus(kind, object, operation.status)
      )
    case "Label":
      return Effect.flatMap(
        Store.latest(kind, operation.key),
        (object) => Store.update(kind, { ...object, metadata: { ...object.metadata, labels: operation.labels } })
      )
    case "Delete":
      return Store.deleteUnconditionally(kind, operation.key)
  }
}
