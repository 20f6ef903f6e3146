/**
 * Label selectors, equality based and set based, with Kubernetes' grammar and meaning, and an index of many selectors.
 *
 * | text | matches objects that |
 * | --- | --- |
 * | `tier=web`, `tier==web`, `tier in (web,api)` | have the label, with one of the values |
 * | `tier!=web`, `tier notin (web,api)` | have another value, or have no such label |
 * | `tier` and `!tier` | have the label, or have it not |
 * | `weight>3` and `weight<9` | have the label, with a whole number above, or below |
 * | `a=b,!c` | satisfy both |
 * | the empty text | are of any kind: all |
 *
 * Two selectors of the same requirements have the same canonical text, whatever their order and notation were.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaTransformation from "effect/SchemaTransformation"
import * as Rules from "./internal/selector.ts"
import * as IndexRules from "./internal/selectorIndex.ts"

const TypeId = "~setpoint/Selector"

/**
 * Labels of an object.
 *
 * @category models
 * @since 0.1.0
 */
export interface Labels {
  readonly [key: string]: string
}

/**
 * One condition on one label. `values`: of `In` and `NotIn` at least one, of `Gt` and `Lt` one whole number, else none.
 *
 * @category models
 * @since 0.1.0
 */
export interface Requirement {
  readonly key: string
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt"
  readonly values: ReadonlyArray<string>
}

/**
 * A selector whose requirements were checked. All of them must hold.
 *
 * @category models
 * @since 0.1.0
 */
export interface Selector {
  readonly [TypeId]: typeof TypeId
  /** The canonical text: equal for equal selectors. */
  readonly text: string
  /** In canonical order. */
  readonly requirements: ReadonlyArray<Requirement>
  /** Whether the labels satisfy every requirement. */
  readonly test: (labels: Labels) => boolean
}

/**
 * Whether a value is a {@link Selector}.
 *
 * @category guards
 * @since 0.1.0
 */
export const isSelector = (u: unknown): u is Selector => typeof u === "object" && u !== null && TypeId in u

/**
 * A selector breaks the grammar or a rule of names. `at` is the character of the text, counted from 0, or the path into
 * the object form; `found` is what stands there, and `why` says what would be right.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidSelector extends Schema.TaggedError<InvalidSelector>()("InvalidSelector", {
  selector: Schema.String,
  at: Schema.Union([Schema.Int, Schema.String]),
  found: Schema.String,
  why: Schema.String
}) {
  override get message(): string {
    const place = typeof this.at === "number" ? `character ${this.at}` : this.at
    return `selector ${JSON.stringify(this.selector)}, ${place}: found ${JSON.stringify(this.found)}: ${this.why}`
  }
}

/** A class, so that a selector carries no closures: there may be one for each object that is watched. */
class Checked implements Selector {
  readonly text: string
  readonly requirements: ReadonlyArray<Requirement>
  constructor(requirements: ReadonlyArray<Requirement>) {
    this.requirements = Rules.canonical(requirements)
    this.text = Rules.print(this.requirements)
    Object.freeze(this)
  }
  get [TypeId](): typeof TypeId {
    return TypeId
  }
  test(labels: Labels): boolean {
    for (const requirement of this.requirements) {
      const { key } = requirement
      if (!Rules.holds(requirement, Object.hasOwn(labels, key) ? labels[key] : undefined)) return false
    }
    return true
  }
}

const make = (requirements: ReadonlyArray<Requirement>): Selector => new Checked(requirements)

// ---------------------------------------------------------------------------------------------------------------------
// making selectors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Matches every object: the empty text.
 *
 * @category constructors
 * @since 0.1.0
 */
export const everything: Selector = make([])

/**
 * Matches no object. It has a text as any other (a label that must be there and must not), so every store understands
 * it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const nothing: Selector = make([
  { key: "nothing", operator: "Exists", values: [] },
  { key: "nothing", operator: "DoesNotExist", values: [] }
])

/**
 * The selector that a text says.
 *
 * @example
 * ```ts
 * import * as Result from "effect/Result"
 * import { Selector } from "setpoint"
 *
 * const selector = Result.getOrThrow(Selector.parse("tier in (web, api), !canary"))
 *
 * console.log(selector.text) // !canary,tier in (api,web)
 * console.log(Selector.matches(selector, { tier: "web" })) // true
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const parse = (text: string): Result.Result<Selector, InvalidSelector> =>
  Result.mapBoth(Rules.parse(text), {
    onSuccess: make,
    onFailure: (flaw) => new InvalidSelector({ selector: text, ...flaw })
  })

/**
 * The selector of requirements as data.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromRequirements = (
  requirements: ReadonlyArray<Requirement>
): Result.Result<Selector, InvalidSelector> => {
  for (let i = 0; i < requirements.length; i++) {
    const flaw = Rules.checkRequirement(requirements[i])
    if (flaw !== undefined) return Result.fail(invalid(requirements, `[${i}].${flaw.part}`, flaw))
  }
  return Result.succeed(make(requirements))
}

/**
 * The selector of objects that have all of these labels; of `{}`, of all objects.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromLabels = (labels: Labels): Result.Result<Selector, InvalidSelector> =>
  fromLabelSelector({ matchLabels: labels })

/**
 * The object form of Kubernetes, as it stands in many specs: `matchLabels` and `matchExpressions` must all hold.
 *
 * @category schemas
 * @since 0.1.0
 */
export const LabelSelector = Schema.Struct({
  matchLabels: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  matchExpressions: Schema.optionalKey(Schema.Array(Schema.Struct({
    key: Schema.String,
    operator: Schema.Literals(["In", "NotIn", "Exists", "DoesNotExist"]),
    values: Schema.optionalKey(Schema.Array(Schema.String))
  })))
})

/**
 * @category models
 * @since 0.1.0
 */
export type LabelSelector = typeof LabelSelector.Type

/**
 * The selector of an object form.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromLabelSelector = (input: LabelSelector): Result.Result<Selector, InvalidSelector> => {
  const requirements: Array<Requirement> = []
  for (const [key, value] of Object.entries(input.matchLabels ?? {})) {
    const requirement: Requirement = { key, operator: "In", values: [value] }
    const flaw = Rules.checkRequirement(requirement)
    if (flaw !== undefined) return Result.fail(invalid(input, `matchLabels[${JSON.stringify(key)}]`, flaw))
    requirements.push(requirement)
  }
  for (const [i, { key, operator, values = [] }] of (input.matchExpressions ?? []).entries()) {
    const requirement: Requirement = { key, operator, values }
    const flaw = Rules.checkRequirement(requirement)
    if (flaw !== undefined) return Result.fail(invalid(input, `matchExpressions[${i}].${flaw.part}`, flaw))
    requirements.push(requirement)
  }
  return Result.succeed(make(requirements))
}

const invalid = (input: unknown, at: string, { found, why }: Rules.RequirementFlaw): InvalidSelector =>
  new InvalidSelector({ selector: JSON.stringify(input).slice(0, 1000), at, found, why })

// ---------------------------------------------------------------------------------------------------------------------
// using selectors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Whether an object with these labels is selected. `undefined` is an object without labels.
 *
 * @category predicates
 * @since 0.1.0
 */
export const matches = (selector: Selector, labels: Labels | undefined): boolean => selector.test(labels ?? noLabels)

const noLabels: Labels = {}

/**
 * The canonical text, which {@link parse} reads back as the same selector.
 *
 * @category getters
 * @since 0.1.0
 */
export const print = (selector: Selector): string => selector.text

/**
 * The object form. `undefined` where the selector compares numbers (`>`, `<`), which that form cannot say.
 *
 * @category getters
 * @since 0.1.0
 */
export const toLabelSelector = (selector: Selector): LabelSelector | undefined => {
  const matchExpressions: Array<NonNullable<LabelSelector["matchExpressions"]>[number]> = []
  for (const { key, operator, values } of selector.requirements) {
    if (operator === "Gt" || operator === "Lt") return undefined
    matchExpressions.push(values.length === 0 ? { key, operator } : { key, operator, values })
  }
  return matchExpressions.length === 0 ? {} : { matchExpressions }
}

const Declared = Schema.declare(isSelector, { title: "Selector", description: "a label selector" })

const refused = (error: InvalidSelector): SchemaIssue.Issue => new SchemaIssue.InvalidValue({ message: error.message })

/**
 * A selector that is written as a text.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FromText: Schema.Codec<Selector, string> = Schema.String.pipe(Schema.decodeTo(
  Declared,
  SchemaTransformation.transformEffect({
    decode: (text) => Effect.mapError(Effect.fromResult(parse(text)), refused),
    encode: (selector) => Effect.succeed(selector.text)
  })
))

/**
 * A selector that is written in the object form.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FromLabelSelector: Schema.Codec<Selector, LabelSelector> = LabelSelector.pipe(Schema.decodeTo(
  Declared,
  SchemaTransformation.transformEffect({
    decode: (input) => Effect.mapError(Effect.fromResult(fromLabelSelector(input)), refused),
    encode: (selector) => {
      const form = toLabelSelector(selector)
      const message = `selector ${JSON.stringify(selector.text)} compares numbers, which the object form cannot say`
      return form === undefined ? Effect.fail(new SchemaIssue.InvalidValue({ message })) : Effect.succeed(form)
    }
  })
))

// ---------------------------------------------------------------------------------------------------------------------
// index
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What the index reads of an object.
 *
 * @category models
 * @since 0.1.0
 */
export interface Labelled {
  readonly metadata: { readonly labels?: Labels | undefined }
}

/**
 * Many selectors, each with values, looked up by labels.
 *
 * The cost of a look-up grows with the labels of the object and with what is found, not with the number of selectors
 * (D4): a selector is found by one of the labels that it asks for, and is then tried. Selectors that ask for no label
 * match nearly every object and cost accordingly: those with `!key` cost a look-up a distinct key, those of `!=` and
 * `notin` alone, and the empty one, are tried each time. Equal selectors are tried once for all their values.
 *
 * **Memory** One entry a distinct selector that has values; a removed value leaves nothing behind.
 *
 * @category models
 * @since 0.1.0
 */
export interface Index<in out A> {
  /** Adding a value twice under equal selectors is adding it once. */
  readonly add: (selector: Selector, value: A) => void
  /** Takes the value away from this selector; nothing happens where it is not there. */
  readonly remove: (selector: Selector, value: A) => void
  /** The values whose selectors match an object with these labels (`undefined`: with none), each once. */
  readonly matching: (labels: Labels | undefined) => Set<A>
  /**
   * The values whose selectors match an object as it is or as it was, each once, so that one that leaves a selection is
   * noticed too. `undefined` is an object that does not exist, which no selector matches; one without labels is matched
   * as any other (D5).
   */
  readonly matchingEither: (now: Labelled | undefined, before: Labelled | undefined) => Set<A>
  /** Distinct selectors that have values. */
  readonly size: () => number
}

/**
 * An empty {@link Index}. It is changed in place: keep it where one fiber at a time reaches it.
 *
 * @example
 * ```ts
 * import * as Result from "effect/Result"
 * import { Selector } from "setpoint"
 *
 * const index = Selector.makeIndex<string>()
 * index.add(Result.getOrThrow(Selector.parse("tier=web")), "first")
 * index.add(Result.getOrThrow(Selector.parse("!canary")), "second")
 *
 * console.log([...index.matching({ tier: "web", canary: "yes" })]) // ["first"]
 * console.log([...index.matchingEither(undefined, { metadata: {} })]) // ["second"]
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeIndex = <A>(): Index<A> => {
  let index: IndexRules.Index<Set<A>> = IndexRules.empty
  const collect = (labels: Labels, into: Set<A>): void =>
    IndexRules.visit(index, labels, (values) => {
      for (const value of values) into.add(value)
    })
  const collectOf = (object: Labelled | undefined, into: Set<A>): void => {
    if (object !== undefined) collect(object.metadata.labels ?? noLabels, into)
  }
  return {
    add: (selector, value) => {
      const values = IndexRules.get(index, selector.text)
      if (values === undefined) index = IndexRules.set(index, selector, new Set([value]))
      else values.add(value)
    },
    remove: (selector, value) => {
      const values = IndexRules.get(index, selector.text)
      if (values?.delete(value) === true && values.size === 0) index = IndexRules.remove(index, selector.text)
    },
    matching: (labels) => {
      const found = new Set<A>()
      collect(labels ?? noLabels, found)
      return found
    },
    matchingEither: (now, before) => {
      const found = new Set<A>()
      collectOf(now, found)
      if (now === undefined || now.metadata.labels !== before?.metadata.labels) collectOf(before, found)
      return found
    },
    size: () => IndexRules.size(index)
  }
}
