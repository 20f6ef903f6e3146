/**
 * CEL expressions: parsed and checked once, evaluated often.
 *
 * Evaluation is on `@marcbachmann/cel-js`, which has the optional syntax that definitions use (`a.?b`), a type checker,
 * and functions and macros that can be added. JSON enters as CEL values, whole numbers as `int` unless a schema says
 * `number`, and results leave as JSON.
 */
import { type ASTNode, Environment, EvaluationError, Optional } from "@marcbachmann/cel-js"
import * as Result from "effect/Result"
import type { Resource } from "setpoint"
import * as Functions from "./celFunctions.ts"
import * as Macros from "./celMacros.ts"
import type { JsonSchema } from "./simpleSchema.ts"

type Json = Resource.Json

/** The types of the names that an expression may use. A `Named` type comes after the names whose types it is found in. */
export interface Scope {
  readonly [name: string]: Type
}

/** What is known of a value: a schema, a list of such, or nothing. */
export type Type =
  | { readonly _tag: "Any" }
  | { readonly _tag: "Schema"; readonly schema: JsonSchema }
  | { readonly _tag: "ListOf"; readonly item: Type }
  | { readonly _tag: "Named"; readonly name: string }

export const any: Type = { _tag: "Any" }
export const ofSchema = (schema: JsonSchema): Type => ({ _tag: "Schema", schema })
export const listOf = (item: Type): Type => ({ _tag: "ListOf", item })

/** What the items of a list are, from the type of the expression that gives the list; `undefined`: it gives no list. */
export const itemOf = (type: string): Type | undefined => {
  if (type === "dyn" || type === "list") return any
  const item = /^list<(.*)>$/.exec(type)
  return item === null ? undefined : { _tag: "Named", name: item[1] }
}

/** A name's value in CEL's own values; made by {@link toCel}. */
export type Values = { readonly [name: string]: unknown }

/** A checked expression. */
export interface Expression {
  readonly source: string
  /** Names of the scope that it uses. */
  readonly uses: ReadonlySet<string>
  /** Its type as CEL writes it: `string`, `list<int>`, `dyn` where it is not known. */
  readonly type: string
  readonly evaluate: (values: Values) => Result.Result<Json | undefined, Trouble>
  /** As `evaluate`, but gives CEL's own value: for what other expressions read. */
  readonly evaluateRaw: (values: Values) => Result.Result<unknown, Trouble>
}

/** `Missing`: a field or item is not there, or not yet; `Wrong`: the expression cannot be evaluated on such values. */
export interface Trouble {
  readonly _tag: "Missing" | "Wrong"
  readonly why: string
}

/** Limits are far beyond what people write, and keep the walks over an expression from ending the stack. */
const options = {
  enableOptionalTypes: true,
  homogeneousAggregateLiterals: false,
  limits: { maxAstNodes: 2_000, maxDepth: 100 }
} as const

const evaluator = Functions.register(new Environment({ ...options, unlistedVariablesAreDyn: true }))
const checker = Functions.register(new Environment(options))

/** A name that every expression knows: a type, or what stands before the dot of a function. No scope may have it. */
export const isTaken = (name: string): boolean => checker.hasVariable(name)

/** Checks expressions that see the names of one scope. */
export interface Checker {
  readonly compile: (source: string) => Result.Result<Expression, string>
}

export const makeChecker = (scope: Scope): Checker => {
  const environment = checker.clone()
  const declaring: Declaring = { environment, types: new Set() }
  for (const [name, type] of Object.entries(scope)) {
    environment.registerVariable(name, declare(declaring, type, name))
  }
  return { compile: (source) => compile(environment, scope, source) }
}

const compile = (environment: Environment, scope: Scope, source: string): Result.Result<Expression, string> => {
  const expanded = Result.getOrElse(Result.try(() => Macros.expand(evaluator, source)), () => source)
  const checked = environment.check(expanded)
  if (!checked.valid) {
    return Result.fail(checked.error === undefined ? "cannot be checked" : faultText(checked.error, scope))
  }
  const program = evaluator.parse(expanded)
  const evaluateRaw = (values: Values): Result.Result<unknown, Trouble> =>
    Result.try({ try: () => program({ ...values }), catch: troubleOf })
  return Result.succeed({
    source,
    uses: new Set([...freeNames(program.ast)].filter((name) => Object.hasOwn(scope, name))),
    type: checked.type ?? "dyn",
    evaluateRaw,
    evaluate: (values) => Result.flatMap(evaluateRaw(values), leave)
  })
}

const faultText = (fault: { readonly code: string; readonly summary: string }, scope: Scope): string => {
  if (fault.code !== "unknown_variable") return fault.summary
  return `${fault.summary}; known here are ${Object.keys(scope).toSorted().join(", ")}`
}

const missing = new Set(["no_such_key", "unknown_variable", "index_out_of_bounds", "optional_value_missing"])

const troubleOf = (cause: unknown): Trouble =>
  cause instanceof EvaluationError
    ? { _tag: missing.has(cause.code) ? "Missing" : "Wrong", why: cause.summary }
    : { _tag: "Wrong", why: cause instanceof Error ? cause.message.split("\n")[0] : String(cause) }

// ---------------------------------------------------------------------------------------------------------------------
// types
// ---------------------------------------------------------------------------------------------------------------------

const atomic: { readonly [type: string]: string } = {
  string: "string",
  integer: "int",
  number: "double",
  boolean: "bool"
}

interface Declaring {
  readonly environment: Environment
  /** Names of types that are registered. */
  readonly types: Set<string>
}

/** CEL's name for a type; objects with known fields are registered under the path that leads to them. */
const declare = ({ environment, types }: Declaring, type: Type, name: string): string => {
  if (type._tag === "Any") return "dyn"
  if (type._tag === "Named") return type.name
  if (type._tag === "ListOf") return `list<${declare({ environment, types }, type.item, `${name}.item`)}>`
  return declareSchema({ environment, types }, type.schema, name)
}

const declareSchema = (declaring: Declaring, schema: unknown, name: string): string => {
  if (!isMapping(schema)) return "dyn"
  const type = String(schema["type"])
  if (Object.hasOwn(atomic, type)) return schema["x-kubernetes-int-or-string"] === true ? "dyn" : atomic[type]
  if (type === "array") return `list<${declareSchema(declaring, schema["items"], `${name}.item`)}>`
  if (type !== "object" || schema["x-kubernetes-preserve-unknown-fields"] === true) return "dyn"
  const values = schema["additionalProperties"]
  if (isMapping(values)) return `map<string, ${declareSchema(declaring, values, `${name}.value`)}>`
  const properties = schema["properties"]
  if (!isMapping(properties) || Object.keys(properties).length === 0) return "dyn"
  const fields = Object.fromEntries(
    Object.entries(properties).map(([field, value]) => [
      field,
      declareSchema(declaring, value, `${name}.${field.replaceAll(/\W/g, "_")}`)
    ])
  )
  const free = freeName(declaring.types, name)
  declaring.environment.registerType(free, { fields })
  return free
}

/** Fields that differ in what no type name can hold lead to equal names: the later ones are marked. */
const freeName = (types: Set<string>, name: string): string => {
  if (types.has(name)) return freeName(types, `${name}_`)
  types.add(name)
  return name
}

const isMapping = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

// ---------------------------------------------------------------------------------------------------------------------
// names
// ---------------------------------------------------------------------------------------------------------------------

/** Macros that bind their first argument as a name in their other arguments. */
const binders = new Set(["all", "exists", "exists_one", "map", "filter", "bind"])

/** Names that an expression uses and does not bind itself. */
const freeNames = (root: ASTNode): Set<string> => {
  const names = new Set<string>()
  const visit = (node: unknown, bound: ReadonlyArray<string>): void => {
    if (Array.isArray(node)) return node.forEach((item) => visit(item, bound))
    if (!isNode(node)) return
    if (node.op === "id") {
      if (!bound.includes(node.args)) names.add(node.args)
    } else if (node.op === "rcall" && binders.has(node.args[0])) {
      const [, receiver, [first, ...rest]] = node.args
      visit(receiver, bound)
      visit(rest, first?.op === "id" ? [...bound, first.args] : bound)
    } else {
      visit(node.args, bound)
    }
  }
  visit(root, [])
  return names
}

const isNode = (value: unknown): value is ASTNode => typeof value === "object" && value !== null && "op" in value

// ---------------------------------------------------------------------------------------------------------------------
// values
// ---------------------------------------------------------------------------------------------------------------------

/** The schema of what an expression gives, as far as its type tells. */
export const schemaOf = (type: string): JsonSchema => {
  const [plain] = Object.entries(atomic).find(([, name]) => name === type) ?? []
  if (plain !== undefined) return { type: plain }
  const list = /^list<(.*)>$/.exec(type)
  if (list !== null) return { type: "array", items: schemaOf(list[1]) }
  const map = /^map<string, (.*)>$/.exec(type)
  if (map !== null) return { type: "object", additionalProperties: schemaOf(map[1]) }
  return { "x-kubernetes-preserve-unknown-fields": true }
}

/** JSON as CEL values. Whole numbers are `int`, unless the schema of their field says `number`. */
export const toCel = (value: Json | undefined, schema?: unknown): unknown => {
  if (typeof value === "number") {
    return Number.isSafeInteger(value) && !(isMapping(schema) && schema["type"] === "number") ? BigInt(value) : value
  }
  if (typeof value !== "object" || value === null) return value
  const given = isMapping(schema) ? schema : {}
  if (Array.isArray(value)) return value.map((item) => toCel(item, given["items"]))
  const properties = isMapping(given["properties"]) ? given["properties"] : {}
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      toCel(item, Object.hasOwn(properties, key) ? properties[key] : given["additionalProperties"])
    ])
  )
}

/** A result as JSON; `undefined` where its field is to be left out: `omit()`, and an optional that has nothing. */
const leave = (value: unknown): Result.Result<Json | undefined, Trouble> =>
  Result.try({
    try: () => toJson(value),
    catch: (cause): Trouble => ({ _tag: "Wrong", why: cause instanceof Error ? cause.message : String(cause) })
  })

const toJson = (value: unknown): Json | undefined => {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value
  if (typeof value === "bigint") {
    if (!Number.isSafeInteger(Number(value))) throw new Error(`${value} is an integer that JSON cannot hold exactly`)
    return Number(value)
  }
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new Error(`${value} is a number that JSON cannot hold`)
    return value
  }
  if (value === undefined || value instanceof Functions.Omitted) return undefined
  if (value instanceof Optional) return value.hasValue() ? toJson(value.value()) : undefined
  if (value instanceof Date) return value.toISOString().replace(".000Z", "Z")
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64")
  if (Array.isArray(value)) return value.map(toJson).filter((item) => item !== undefined)
  if (typeof value !== "object") throw new Error(`a result of type ${typeof value} is not JSON`)
  if (Object.getPrototypeOf(value) !== Object.prototype) {
    const primitive: unknown = value.valueOf()
    return typeof primitive === "object" ? String(value) : toJson(primitive)
  }
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => {
      const json = toJson(item)
      return json === undefined ? [] : [[key, json]]
    })
  )
}
