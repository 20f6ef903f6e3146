/**
 * The keywords that say what the members of an object and the items of an array may be. They go deeper into the value,
 * and those for members and items fill in what is missing.
 */
import { brief, isArray, isObject, type Json, own, pointer, text } from "./json.ts"
import {
  accept,
  argumentOf,
  type Check,
  type Compiler,
  count,
  decode,
  flawed,
  inPlace,
  isString,
  isStrings,
  members,
  regExp,
  report,
  reportMember,
  resolve,
  type Rule,
  satisfies,
  strings,
  typesOf,
  type Use,
  within
} from "./jsonSchemaCheck.ts"

type Property = { readonly check: Check; readonly fallback: Json | undefined; readonly takesNull: boolean }

/** One pass over the members, for the three keywords that say what a member may be; also fills in what is missing. */
export const membersRule: Rule = (use) => {
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
export const firstOf = (keywords: ReadonlyArray<string>, rule: Rule): { [keyword: string]: Rule } =>
  Object.fromEntries(keywords.map((keyword, i) => [
    keyword,
    (use: Use) => keywords.slice(0, i).some((earlier) => Object.hasOwn(use.schema, earlier)) ? undefined : rule(use)
  ]))

export const itemsRule: Rule = (use) => {
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

export const requiredRule: Rule = (use) => {
  const keys = strings(use)
  return keys && ((value, scope) => {
    if (!isObject(value)) return value
    for (const key of keys) {
      if (!Object.hasOwn(value, key)) reportMember(scope, key, "is required")
    }
    return value
  })
}

export const dependentRequiredRule: Rule = (use) => {
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

export const dependentSchemasRule: Rule = (use) => {
  const keys = Object.keys(members(use) ?? {})
  const parts = keys.map((key) => ({ key, check: inPlace(use, `${use.here}${pointer([key])}`) }))
  return (value, scope) => {
    if (!isObject(value)) return value
    for (const { check, key } of parts) if (Object.hasOwn(value, key)) check(value, scope)
    return value
  }
}

export const propertyNamesRule: Rule = (use) => {
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

export const containsRule: Rule = (use) => {
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
export const unique = (what: string, key: (item: Json) => string): Check => (value, scope) => {
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

export const listTypeRule: Rule = ({ argument, compiler, here, schema }) => {
  const keys = schema["x-kubernetes-list-map-keys"] ?? null
  switch (argument) {
    case "atomic":
      return undefined
    case "set":
      return unique("item", text)
    case "map":
      return isStrings(keys) && keys.length > 0
        ? unique(keys.join(" and "), (item) => text(keys.map((key) => isObject(item) ? own(item, key) ?? null : null)))
        : flawed(compiler, here, `is "map": it needs "x-kubernetes-list-map-keys", an array of names`)
  }
  return flawed(compiler, here, `is ${brief(argument)}: it must be one of "atomic", "set", "map"`)
}

export const intOrString: Check = (value, scope) =>
  isString(value) || Number.isInteger(value)
    ? value
    : report(scope, value, `must be an integer or a string, but is ${brief(value)}`)

export const embeddedResource: Check = (value, scope) => {
  if (!isObject(value)) return report(scope, value, `must be an object of a kind, but is ${brief(value)}`)
  for (const key of ["apiVersion", "kind"]) {
    const is = (value: Json): boolean => isString(value) && value !== ""
    if (Object.hasOwn(value, key) && is(value[key])) continue
    reportMember(scope, key, "is required in an embedded object, as a text")
  }
  return value
}

export const unsupported: Rule = ({ compiler, here }) =>
  flawed(compiler, here, "is a keyword that is not supported; say the same with other keywords")
