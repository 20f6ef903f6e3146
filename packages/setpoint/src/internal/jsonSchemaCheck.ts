/**
 * What the rules of a schema from data are made of: checks of values, the compiler that they report to, and how a rule
 * reads its argument.
 */
import {
  brief,
  type Flaw,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  maxDepth,
  parsePointer,
  pointer
} from "./json.ts"
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

export type Use = {
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

export const reportMember = (scope: Scope, key: string, reason: string): void => {
  scope.issues.push({ path: [...scope.path, key], reason })
}

export const within = (scope: Scope, key: string | number, check: Check, value: Json): Json => {
  if (scope.path.length >= maxDepth) return report(scope, value, `is nested deeper than ${maxDepth} levels`)
  scope.path.push(key)
  const checked = check(value, scope)
  scope.path.pop()
  return checked
}

/** What a schema finds wrong with a value, without reporting it. */
export const aside = (check: Check, value: Json, { depth, path }: Scope): ReadonlyArray<Issue> => {
  const scope: Scope = { path, depth, issues: [] }
  check(value, scope)
  return scope.issues
}

export const satisfies = (check: Check, value: Json, scope: Scope): boolean => aside(check, value, scope).length === 0

export const argumentOf = <A extends Json>(is: (json: Json) => json is A, what: string) => (use: Use): A | undefined =>
  is(use.argument) ? use.argument : flawed(use.compiler, use.here, `is ${brief(use.argument)}: it must be ${what}`)

export const isNumber = (json: Json): json is number => typeof json === "number"
export const isString = (json: Json): json is string => typeof json === "string"
export const isBoolean = (json: Json): json is boolean => typeof json === "boolean"
export const isCount = (json: Json): json is number => Number.isInteger(json) && Number(json) >= 0
export const isPositive = (json: Json): json is number => isNumber(json) && json > 0
export const isStrings = (json: Json): json is ReadonlyArray<string> => isArray(json) && json.every(isString)
export const isList = (json: Json): json is ReadonlyArray<Json> => isArray(json) && json.length > 0

export const number = argumentOf(isNumber, "a number")
export const count = argumentOf(isCount, "a whole number, 0 or more")
export const flag = argumentOf(isBoolean, "true or false")
export const strings = argumentOf(isStrings, "an array of strings")
export const schemas = argumentOf(isList, "an array of schemas, not empty")
export const members = argumentOf(isObject, "an object of schemas")

/** A rule that judges values of one type and lets all others pass. */
export const judging = <A, V extends Json>(
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

export const codePoints = (text: string): number => {
  let points = 0
  for (const _ of text) points++
  return points
}

export const inPlace = (use: Use, at: string): Check => {
  const next = use.compiler.inPlace.get(use.at) ?? new Set()
  use.compiler.inPlace.set(use.at, next.add(at))
  return use.compiler.compileAt(at, use.here)
}

export const regExp = (compiler: Compiler, at: string, pattern: string): RegExp | undefined =>
  Pattern.compile(pattern) ??
    flawed(compiler, at, `is ${brief(pattern)}: it must be a regular expression that JavaScript can run`)

/** The types that a schema allows; `undefined` where it says nothing. */
export const typesOf = (schema: JsonObject): ReadonlyArray<string> | undefined => {
  const { type } = schema
  if (type === undefined) return undefined
  return (isArray(type) ? type : [type]).map(String).concat(schema.nullable === true ? ["null"] : [])
}

/** A reference without its percent-encoding. */
export const decode = (fragment: string): string | undefined => {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return undefined // a "%" that begins no escape
  }
}
