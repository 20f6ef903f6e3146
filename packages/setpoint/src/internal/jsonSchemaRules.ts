/**
 * The keywords of a schema from data, one rule each: what its argument must be, and which values it lets pass.
 *
 * A rule gives a {@link Check}, or `undefined` where the keyword asks for nothing; what is wrong with its argument it
 * reports to the compiler. Checks of one schema run in the order of {@link rules}: first those that fill in defaults,
 * then those that judge the result.
 */
import * as Num from "effect/Number"
import * as Option from "effect/Option"
import { brief, equal, isArray, isObject, type Json, parsePointer, text } from "./json.ts"
import {
  accept,
  argumentOf,
  aside,
  type Check,
  codePoints,
  count,
  decode,
  flag,
  flawed,
  inPlace,
  isBoolean,
  isList,
  isNumber,
  isPositive,
  isString,
  type Issue,
  issueText,
  judging,
  number,
  regExp,
  report,
  type Rule,
  satisfies,
  schemas,
  typesOf
} from "./jsonSchemaCheck.ts"
import { formats } from "./jsonSchemaFormats.ts"
import {
  containsRule,
  dependentRequiredRule,
  dependentSchemasRule,
  embeddedResource,
  firstOf,
  intOrString,
  itemsRule,
  listTypeRule,
  membersRule,
  propertyNamesRule,
  requiredRule,
  unique,
  unsupported
} from "./jsonSchemaMembers.ts"

const exclusive = (bound: "minimum" | "maximum", holds: (value: number, bound: number) => boolean): Rule => (use) => {
  // OpenAPI 3.0 says by true or false whether the bound beside it is itself excluded; JSON Schema gives the bound here.
  const given = isBoolean(use.argument) ? (use.argument ? use.schema[bound] : undefined) : use.argument
  if (given === undefined) return undefined
  const right = (limit: number): string => `be ${bound === "minimum" ? "above" : "below"} ${limit}`
  return judging(number, isNumber, right, holds)({ ...use, argument: given })
}

const flagged = (check: Check): Rule => (use) => flag(use) === true ? check : undefined

const typeTests: { readonly [type: string]: (value: Json) => boolean } = {
  null: (value) => value === null,
  boolean: isBoolean,
  number: isNumber,
  integer: Number.isInteger,
  string: isString,
  array: isArray,
  object: isObject
}

const typeRule: Rule = ({ argument, compiler, here, schema }) => {
  const types = typesOf(schema) ?? []
  const isKnown = isString(argument) || (isList(argument) && argument.every(isString))
  const unknown = types.find((type) => !Object.hasOwn(typeTests, type))
  if (!isKnown || unknown !== undefined) {
    const found = isKnown ? brief(unknown) : brief(argument)
    return flawed(compiler, here, `is ${found}: it must be one of ${Object.keys(typeTests).join(", ")}`)
  }
  const tests = types.map((type) => typeTests[type])
  const reason = `must be ${
    types.map((type) => /^[aio]/.test(type) ? `an ${type}` : type === "null" ? type : `a ${type}`).join(" or ")
  }`
  return (value, scope) =>
    tests.some((test) => test(value)) ? value : report(scope, value, `${reason}, but is ${brief(value)}`)
}

const enumRule: Rule = (use) => {
  const options = argumentOf(isList, "an array of values, not empty")(use)
  if (options === undefined) return undefined
  const shown = options.slice(0, 20).map(brief).join(", ") + (options.length > 20 ? ", …" : "")
  return (value, scope) =>
    options.some((option) => equal(option, value))
      ? value
      : report(scope, value, `must be one of ${shown}, but is ${brief(value)}`)
}

const refRule: Rule = (use) => {
  const target = argumentOf(isString, "a reference such as \"#/$defs/Name\"")(use)
  if (target === undefined) return undefined
  const at = target.startsWith("#") ? decode(target.slice(1)) : undefined
  if (at === undefined || parsePointer(at) === undefined) {
    const reason = `is ${brief(target)}: only references inside the document are known, such as "#/$defs/Name"`
    return flawed(use.compiler, use.here, reason)
  }
  return inPlace(use, at)
}

const allOfRule: Rule = (use) => {
  const parts = schemas(use)?.map((_, i) => inPlace(use, `${use.here}/${i}`))
  return parts && ((value, scope) => parts.reduce((value, part) => part(value, scope), value))
}

const anyOfRule: Rule = (use) => {
  const parts = schemas(use)?.map((_, i) => inPlace(use, `${use.here}/${i}`))
  return parts && ((value, scope) => {
    if (parts.some((part) => satisfies(part, value, scope))) return value
    const closest = parts
      .map((part) => aside(part, value, scope))
      .reduce((best, issues) => deepest(issues) > deepest(best) ? issues : best)
    const [issue] = closest
    return report(scope, value, `must satisfy one of ${parts.length} schemas; of the closest: ${issueText(issue)}`)
  })
}

const deepest = (issues: ReadonlyArray<Issue>): number => Math.max(...issues.map(({ path }) => path.length))

const oneOfRule: Rule = (use) => {
  const parts = schemas(use)?.map((_, i) => inPlace(use, `${use.here}/${i}`))
  return parts && ((value, scope) => {
    const satisfied = parts.filter((part) => satisfies(part, value, scope)).length
    if (satisfied === 1) return value
    return report(
      scope,
      value,
      `must satisfy exactly one of ${parts.length} schemas, but satisfies ${satisfied || "none"}`
    )
  })
}

const notRule: Rule = (use) => {
  const part = inPlace(use, use.here)
  return (value, scope) =>
    satisfies(part, value, scope) ? report(scope, value, "must not satisfy the schema that is excluded here") : value
}

const ifRule: Rule = (use) => {
  const condition = inPlace(use, use.here)
  const branch = (keyword: string): Check =>
    Object.hasOwn(use.schema, keyword) ? inPlace(use, `${use.at}/${keyword}`) : accept
  const whenTrue = branch("then")
  const whenFalse = branch("else")
  return (value, scope) => {
    ;(satisfies(condition, value, scope) ? whenTrue : whenFalse)(value, scope)
    return value
  }
}

const formatRule: Rule = (use) => {
  const format = argumentOf(isString, "the name of a format")(use)
  if (format === undefined || !Object.hasOwn(formats, format)) return undefined
  const holds = formats[format]
  return (value, scope) =>
    holds(value) ? value : report(scope, value, `must have the format ${format}, but is ${brief(value)}`)
}

// ---------------------------------------------------------------------------------------------------------------------
// all keywords, in the order in which they are applied: first what fills in defaults, then what judges the result
// ---------------------------------------------------------------------------------------------------------------------

export const rules: { readonly [keyword: string]: Rule } = {
  type: typeRule,
  $ref: refRule,
  allOf: allOfRule,
  ...firstOf(["properties", "patternProperties", "additionalProperties"], membersRule),
  ...firstOf(["prefixItems", "items"], itemsRule),
  required: requiredRule,
  "x-kubernetes-int-or-string": flagged(intOrString),
  "x-kubernetes-embedded-resource": flagged(embeddedResource),
  "x-kubernetes-list-type": listTypeRule,
  enum: enumRule,
  const: ({ argument }) => (value, scope) =>
    equal(value, argument) ? value : report(scope, value, `must be ${brief(argument)}, but is ${brief(value)}`),
  minimum: judging(number, isNumber, (bound) => `be at least ${bound}`, (value, bound) => value >= bound),
  maximum: judging(number, isNumber, (bound) => `be at most ${bound}`, (value, bound) => value <= bound),
  exclusiveMinimum: exclusive("minimum", (value, bound) => value > bound),
  exclusiveMaximum: exclusive("maximum", (value, bound) => value < bound),
  multipleOf: judging(
    argumentOf(isPositive, "a number above 0"),
    isNumber,
    (unit) => `be a multiple of ${unit}`,
    (value, unit) => Option.getOrElse(Option.liftThrowable(Num.remainder)(value, unit), () => value % unit) === 0
  ),
  minLength: judging(count, isString, (n) => `have at least ${n} characters`, (value, n) => codePoints(value) >= n),
  maxLength: judging(count, isString, (n) => `have at most ${n} characters`, (value, n) => codePoints(value) <= n),
  pattern: (use) => {
    const given = argumentOf(isString, "a regular expression")(use)
    const pattern = given === undefined ? undefined : regExp(use.compiler, use.here, given)
    return pattern &&
      judging(() => pattern, isString, ({ source }) => `match ${source}`, (value) => pattern.test(value))(use)
  },
  format: formatRule,
  minItems: judging(count, isArray, (n) => `have at least ${n} items`, (value, n) => value.length >= n),
  maxItems: judging(count, isArray, (n) => `have at most ${n} items`, (value, n) => value.length <= n),
  uniqueItems: flagged(unique("item", text)),
  contains: containsRule,
  minProperties: judging(
    count,
    isObject,
    (n) => `have at least ${n} members`,
    (value, n) => Object.keys(value).length >= n
  ),
  maxProperties: judging(
    count,
    isObject,
    (n) => `have at most ${n} members`,
    (value, n) => Object.keys(value).length <= n
  ),
  propertyNames: propertyNamesRule,
  dependentRequired: dependentRequiredRule,
  dependentSchemas: dependentSchemasRule,
  anyOf: anyOfRule,
  oneOf: oneOfRule,
  not: notRule,
  if: ifRule,
  nullable: flagged(accept),
  "x-kubernetes-preserve-unknown-fields": flagged(accept),
  dependencies: unsupported,
  unevaluatedProperties: unsupported,
  unevaluatedItems: unsupported,
  $dynamicRef: unsupported,
  $recursiveRef: unsupported
}
