/**
 * The keywords of a schema from data, one rule each: what its argument must be, and which values it lets pass.
 *
 * A rule gives a {@link Check}, or `undefined` where the keyword asks for nothing; what is wrong with its argument it
 * reports to the compiler. Checks of one schema run in the order of {@link rules}: first those that fill in defaults,
 * then those that judge the result.
 */
import * as Num from "effect/Number"
import * as Option from "effect/Option"
import {
  brief,
  equal,
  type Flaw,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  maxDepth,
  parsePointer,
  pointer,
  text
} from "./json.ts"
import { formats } from "./jsonSchemaFormats.ts"
import * as Pattern from "./pattern.ts"

/** Where the document is wrong, as a JSON Pointer into it, and what would be right. */
export type InvalidSchema = Flaw

/** What is wrong with a value, and where. */
export type Issue = { readonly path: ReadonlyArray<string | number>; readonly reason: string }

/** Of one run of a check: the place in the value, the schemas that are being applied, and what was found. */
export type Scope = { readonly path: Array<string | number>; readonly issues: Array<Issue>; depth: number }

/** Gives the value with its defaults, the same where none was missing, and reports what is wrong to the scope. */
export type Check = (value: Json, scope: Scope) => Json

export type Compiler = {
  readonly root: Json
  depth: number
  /** By pointer. What is being compiled is entered before its parts, so that a document may refer to itself. */
  readonly checks: Map<string, Check>
  /** Which schemas are applied to the same value as the one at this pointer. */
  readonly inPlace: Map<string, Set<string>>
  readonly defaults: Array<{ readonly at: string; readonly value: Json; readonly check: Check }>
  readonly flaws: Array<InvalidSchema>
  /** The check of the schema at a pointer; `user` is the place that leads there, for the message where nothing is there. */
  readonly compileAt: (at: string, user: string) => Check
}

export const accept: Check = (value) => value

export const flawed = (compiler: Compiler, path: string, reason: string): undefined => {
  compiler.flaws.push({ path, reason })
  return undefined
}

/** The part of a document at a pointer. */
export const resolve = (root: Json, at: string): Json | undefined => {
  let value: Json | undefined = root
  for (const token of parsePointer(at) ?? []) {
    if (isArray(value)) value = value[Number(token)]
    else value = isObject(value) && Object.hasOwn(value, token) ? value[token] : undefined
  }
  return value
}

type Use = {
  readonly compiler: Compiler
  /** The schema that has the keyword, for the keywords that look at a neighbour. */
  readonly schema: JsonObject
  readonly at: string
  readonly argument: Json
  /** The place of the argument. */
  readonly here: string
}
export type Rule = (use: Use) => Check | undefined

/** An issue in a sentence. */
export const issueText = ({ path, reason }: Issue): string => path.length === 0 ? reason : `${pointer(path)} ${reason}`

export const report = (scope: Scope, value: Json, reason: string): Json => {
  scope.issues.push({ path: scope.path.slice(), reason })
  return value
}

const reportMember = (scope: Scope, key: string, reason: string): void => {
  scope.issues.push({ path: [...scope.path, key], reason })
}

const within = (scope: Scope, key: string | number, check: Check, value: Json): Json => {
  if (scope.path.length >= maxDepth) return report(scope, value, `is nested deeper than ${maxDepth} levels`)
  scope.path.push(key)
  const checked = check(value, scope)
  scope.path.pop()
  return checked
}

/** What a schema finds wrong with a value, without reporting it. */
const aside = (check: Check, value: Json, { depth, path }: Scope): ReadonlyArray<Issue> => {
  const scope: Scope = { path, depth, issues: [] }
  check(value, scope)
  return scope.issues
}

const satisfies = (check: Check, value: Json, scope: Scope): boolean => aside(check, value, scope).length === 0

const argumentOf = <A extends Json>(is: (json: Json) => json is A, what: string) => (use: Use): A | undefined =>
  is(use.argument) ? use.argument : flawed(use.compiler, use.here, `is ${brief(use.argument)}: it must be ${what}`)

const isNumber = (json: Json): json is number => typeof json === "number"
const isString = (json: Json): json is string => typeof json === "string"
const isBoolean = (json: Json): json is boolean => typeof json === "boolean"
const isCount = (json: Json): json is number => Number.isInteger(json) && Number(json) >= 0
const isPositive = (json: Json): json is number => isNumber(json) && json > 0
const isStrings = (json: Json): json is ReadonlyArray<string> => isArray(json) && json.every(isString)
const isList = (json: Json): json is ReadonlyArray<Json> => isArray(json) && json.length > 0

const number = argumentOf(isNumber, "a number")
const count = argumentOf(isCount, "a whole number, 0 or more")
const flag = argumentOf(isBoolean, "true or false")
const strings = argumentOf(isStrings, "an array of strings")
const schemas = argumentOf(isList, "an array of schemas, not empty")
const members = argumentOf(isObject, "an object of schemas")

/** A rule that judges values of one type and lets all others pass. */
const judging = <A, V extends Json>(
  argument: (use: Use) => A | undefined,
  is: (value: Json) => value is V,
  right: (argument: A) => string,
  holds: (value: V, argument: A) => boolean
): Rule =>
(use) => {
  const given = argument(use)
  if (given === undefined) return undefined
  const reason = `must ${right(given)}`
  return (value, scope) =>
    is(value) && !holds(value, given) ? report(scope, value, `${reason}, but is ${brief(value)}`) : value
}

const codePoints = (text: string): number => {
  let points = 0
  for (const _ of text) points++
  return points
}

const inPlace = (use: Use, at: string): Check => {
  const next = use.compiler.inPlace.get(use.at) ?? new Set()
  use.compiler.inPlace.set(use.at, next.add(at))
  return use.compiler.compileAt(at, use.here)
}

const regExp = (compiler: Compiler, at: string, pattern: string): RegExp | undefined =>
  Pattern.compile(pattern) ??
    flawed(compiler, at, `is ${brief(pattern)}: it must be a regular expression that JavaScript can run`)

const typeTests: { readonly [type: string]: (value: Json) => boolean } = {
  null: (value) => value === null,
  boolean: isBoolean,
  number: isNumber,
  integer: Number.isInteger,
  string: isString,
  array: isArray,
  object: isObject
}

const typesOf = (schema: JsonObject): ReadonlyArray<string> | undefined => {
  const { type } = schema
  if (type === undefined) return undefined
  return (isArray(type) ? type : [type]).map(String).concat(schema.nullable === true ? ["null"] : [])
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

const decode = (fragment: string): string | undefined => {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return undefined // a "%" that begins no escape
  }
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

// ---------------------------------------------------------------------------------------------------------------------
// objects and arrays
// ---------------------------------------------------------------------------------------------------------------------

type Property = { readonly check: Check; readonly fallback: Json | undefined; readonly takesNull: boolean }

/** One pass over the members, for the three keywords that say what a member may be; also fills in what is missing. */
const membersRule: Rule = (use) => {
  const { at, compiler, schema } = use
  const properties = new Map<string, Property>()
  for (const key of keysOf(use, "properties")) {
    const place = `${at}${pointer(["properties", key])}`
    const property = propertyOf(compiler, place)
    properties.set(key, property)
    if (property.fallback !== undefined) {
      compiler.defaults.push({ at: `${place}/default`, value: property.fallback, check: property.check })
    }
  }
  const patterns = keysOf(use, "patternProperties").flatMap((key) => {
    const place = `${at}${pointer(["patternProperties", key])}`
    const pattern = regExp(compiler, place, key)
    return pattern === undefined ? [] : [{ pattern, check: compiler.compileAt(place, place) }]
  })
  const keepsUnknown = schema["x-kubernetes-preserve-unknown-fields"] === true
  const additional =
    schema.additionalProperties === undefined || (keepsUnknown && schema.additionalProperties === false)
      ? undefined
      : compiler.compileAt(`${at}/additionalProperties`, use.here)
  const checksOf = (key: string): ReadonlyArray<Check> => {
    const property = properties.get(key)
    const checks = patterns.filter(({ pattern }) => pattern.test(key)).map(({ check }) => check)
    if (property !== undefined) checks.unshift(property.check)
    return checks.length === 0 && additional !== undefined ? [additional] : checks
  }
  return (value, scope) => {
    if (!isObject(value)) return value
    let filled: { [key: string]: Json } | undefined
    for (const [key, { fallback, takesNull }] of properties) {
      if (fallback === undefined) continue
      if (Object.hasOwn(value, key) && (takesNull || value[key] !== null)) continue
      filled ??= { ...value }
      filled[key] = fallback
    }
    for (const key of Object.keys(filled ?? value)) {
      for (const check of checksOf(key)) {
        const before = (filled ?? value)[key]
        const after = within(scope, key, check, before)
        if (after === before) continue
        filled ??= { ...value }
        filled[key] = after
      }
    }
    return filled ?? value
  }
}

const keysOf = ({ at, compiler, schema }: Use, keyword: string): ReadonlyArray<string> => {
  const argument = schema[keyword]
  if (argument === undefined || !Object.hasOwn(schema, keyword)) return []
  const here = `${at}/${keyword}`
  return Object.keys(members({ compiler, schema, at, argument, here }) ?? {})
}

/** The default of a property stands beside its reference, or where the reference leads. */
const propertyOf = (compiler: Compiler, place: string): Property => {
  const check = compiler.compileAt(place, place)
  const seen = new Set<string>()
  let fallback: Json | undefined
  let types: ReadonlyArray<string> | undefined
  for (let at: string | undefined = place; at !== undefined && !seen.has(at);) {
    seen.add(at)
    const schema = resolve(compiler.root, at)
    if (!isObject(schema)) break
    fallback ??= Object.hasOwn(schema, "default") ? schema.default : undefined
    types ??= typesOf(schema)
    at = typeof schema.$ref === "string" ? decode(schema.$ref.slice(1)) : undefined
  }
  return { check, fallback, takesNull: types?.includes("null") ?? true }
}

/** Each of the three keywords compiles the same pass; only the first that is there runs it. */
const firstOf = (keywords: ReadonlyArray<string>, rule: Rule): { [keyword: string]: Rule } =>
  Object.fromEntries(keywords.map((keyword, i) => [
    keyword,
    (use: Use) => keywords.slice(0, i).some((earlier) => Object.hasOwn(use.schema, earlier)) ? undefined : rule(use)
  ]))

const itemsRule: Rule = (use) => {
  const { at, compiler, schema } = use
  const { items, prefixItems = isArray(items) ? items : undefined } = schema
  const rest = isArray(items) ? schema.additionalItems : items
  const firstAt = isArray(items) ? "items" : "prefixItems"
  if (prefixItems !== undefined && !isArray(prefixItems)) {
    return flawed(compiler, `${at}/prefixItems`, `is ${brief(prefixItems)}: it must be an array of schemas`)
  }
  const first = prefixItems?.map((_, i) => compiler.compileAt(`${at}/${firstAt}/${i}`, use.here)) ?? []
  const other = rest === undefined
    ? accept
    : compiler.compileAt(`${at}/${isArray(items) ? "additionalItems" : "items"}`, use.here)
  return (value, scope) => {
    if (!isArray(value)) return value
    let filled: Array<Json> | undefined
    for (let i = 0; i < value.length; i++) {
      const after = within(scope, i, first[i] ?? other, value[i])
      if (after === value[i]) continue
      filled ??= value.slice()
      filled[i] = after
    }
    return filled ?? value
  }
}

const requiredRule: Rule = (use) => {
  const keys = strings(use)
  return keys && ((value, scope) => {
    if (!isObject(value)) return value
    for (const key of keys) {
      if (!Object.hasOwn(value, key)) reportMember(scope, key, "is required")
    }
    return value
  })
}

const dependentRequiredRule: Rule = (use) => {
  const rules = argumentOf(isObject, "an object of arrays of names")(use)
  if (rules === undefined) return undefined
  for (const key of Object.keys(rules)) {
    const argument = rules[key]
    strings({ ...use, argument, here: `${use.here}${pointer([key])}` })
  }
  return (value, scope) => {
    if (!isObject(value)) return value
    for (const key of Object.keys(rules)) {
      const needed = rules[key]
      if (!Object.hasOwn(value, key) || !isStrings(needed)) continue
      const missing = needed.find((name) => !Object.hasOwn(value, name))
      if (missing !== undefined) report(scope, value, `must have ${brief(missing)}, since it has ${brief(key)}`)
    }
    return value
  }
}

const dependentSchemasRule: Rule = (use) => {
  const keys = Object.keys(members(use) ?? {})
  const parts = keys.map((key) => ({ key, check: inPlace(use, `${use.here}${pointer([key])}`) }))
  return (value, scope) => {
    if (!isObject(value)) return value
    for (const { check, key } of parts) if (Object.hasOwn(value, key)) check(value, scope)
    return value
  }
}

const propertyNamesRule: Rule = (use) => {
  const check = use.compiler.compileAt(use.here, use.here)
  return (value, scope) => {
    if (isObject(value)) {
      for (const key of Object.keys(value)) {
        within(scope, key, (_, scope) => check(key, scope), null)
      }
    }
    return value
  }
}

const containsRule: Rule = (use) => {
  const check = use.compiler.compileAt(use.here, use.here)
  const bound = (keyword: string, absent: number): number => {
    const argument = use.schema[keyword] ?? null
    return Object.hasOwn(use.schema, keyword)
      ? count({ ...use, argument, here: `${use.at}/${keyword}` }) ?? absent
      : absent
  }
  const least = bound("minContains", 1)
  const most = bound("maxContains", Infinity)
  return (value, scope) => {
    if (!isArray(value)) return value
    const found = value.filter((item) => satisfies(check, item, scope)).length
    if (found >= least && found <= most) return value
    const range = most === Infinity ? `at least ${least}` : `${least} to ${most}`
    return report(scope, value, `must have ${range} items of the kind that "contains" says, but has ${found}`)
  }
}

/** Items are compared by what `key` takes of them. */
const unique = (what: string, key: (item: Json) => string): Check => (value, scope) => {
  if (!isArray(value)) return value
  const seen = new Map<string, number>()
  for (let i = 0; i < value.length; i++) {
    const id = key(value[i])
    const before = seen.get(id)
    if (before !== undefined) {
      return report(scope, value, `must have each ${what} once, but items ${before} and ${i} are the same`)
    }
    seen.set(id, i)
  }
  return value
}

const listTypeRule: Rule = ({ argument, compiler, here, schema }) => {
  const keys = schema["x-kubernetes-list-map-keys"] ?? null
  switch (argument) {
    case "atomic":
      return undefined
    case "set":
      return unique("item", text)
    case "map":
      return isStrings(keys) && keys.length > 0
        ? unique(keys.join(" and "), (item) => text(keys.map((key) => isObject(item) ? item[key] ?? null : null)))
        : flawed(compiler, here, `is "map": it needs "x-kubernetes-list-map-keys", an array of names`)
  }
  return flawed(compiler, here, `is ${brief(argument)}: it must be one of "atomic", "set", "map"`)
}

const intOrString: Check = (value, scope) =>
  isString(value) || Number.isInteger(value)
    ? value
    : report(scope, value, `must be an integer or a string, but is ${brief(value)}`)

const embeddedResource: Check = (value, scope) => {
  if (!isObject(value)) return report(scope, value, `must be an object of a kind, but is ${brief(value)}`)
  for (const key of ["apiVersion", "kind"]) {
    const is = (value: Json): boolean => isString(value) && value !== ""
    if (Object.hasOwn(value, key) && is(value[key])) continue
    reportMember(scope, key, "is required in an embedded object, as a text")
  }
  return value
}

const unsupported: Rule = ({ compiler, here }) =>
  flawed(compiler, here, "is a keyword that is not supported; say the same with other keywords")

const exclusive = (bound: "minimum" | "maximum", holds: (value: number, bound: number) => boolean): Rule => (use) => {
  // OpenAPI 3.0 says by true or false whether the bound beside it is itself excluded; JSON Schema gives the bound here.
  const given = isBoolean(use.argument) ? (use.argument ? use.schema[bound] : undefined) : use.argument
  if (given === undefined) return undefined
  const right = (limit: number): string => `be ${bound === "minimum" ? "above" : "below"} ${limit}`
  return judging(number, isNumber, right, holds)({ ...use, argument: given })
}

const flagged = (check: Check): Rule => (use) => flag(use) === true ? check : undefined

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
