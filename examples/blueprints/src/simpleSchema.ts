/**
 * SimpleSchema, kro's short form of a schema, to JSON Schema.
 *
 * A field is a text `type | marker=value …`, or a mapping of fields. Types: `string`, `integer`, `number` (`float`),
 * `boolean`, `object` (anything), `[]T`, `map[string]T`, and names declared under `types`.
 */
import * as Result from "effect/Result"
import type { Resource } from "setpoint"
import { below, type Flaw } from "./flaws.ts"

type Json = Resource.Json
export type JsonSchema = { readonly [keyword: string]: Json }
type Draft = { [keyword: string]: Json }

/** A schema, and what is wrong with the text it came from; right only where there are no flaws. */
export interface Translated {
  readonly schema: JsonSchema
  readonly flaws: ReadonlyArray<Flaw>
}

/** Where the fields stand in the document, and the custom types that they may name. */
export interface Source {
  readonly fields: Json
  readonly at: string
  readonly types?: Json | undefined
  readonly typesAt?: string | undefined
}

/** Types nested in types: past this a text such as `[][][]…` is refused. */
const maxNesting = 16

export const toJsonSchema = (source: Source): Translated => {
  const translation: Translation = {
    flaws: [],
    types: isMapping(source.types) ? source.types : {},
    typesAt: source.typesAt ?? "types",
    open: [],
    done: new Map()
  }
  for (const name of Object.keys(translation.types)) customType(translation, name, translation.typesAt)
  const schema = withDefault(object(translation, source.fields, source.at))
  return { schema, flaws: translation.flaws }
}

interface Translation {
  readonly flaws: Array<Flaw>
  readonly types: { readonly [name: string]: Json }
  readonly typesAt: string
  /** Custom types being translated, outermost first: one that names itself is a cycle. */
  readonly open: Array<string>
  readonly done: Map<string, JsonSchema>
}

const isMapping = (value: unknown): value is { readonly [name: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const refuse = (translation: Translation, field: string, why: string): JsonSchema => {
  translation.flaws.push({ field, why })
  return {}
}

const object = (translation: Translation, fields: Json, at: string): JsonSchema => {
  if (!isMapping(fields)) return refuse(translation, at, "must be a mapping of fields to types")
  const properties: Draft = {}
  const required: Array<string> = []
  for (const [name, value] of Object.entries(fields)) {
    const field = below(at, name)
    if (name === "") refuse(translation, at, "has a field without a name")
    const { isRequired, schema } = typeof value === "string"
      ? textField(translation, value, field)
      : { isRequired: false, schema: withDefault(object(translation, value, field)) }
    properties[name] = schema
    if (isRequired) required.push(name)
  }
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }) }
}

/** An object whose fields have defaults, and none of which must be given, is there even where it is not written. */
const withDefault = (schema: JsonSchema): JsonSchema => {
  const fills = isMapping(schema["properties"]) &&
    Object.values(schema["properties"]).some((property) => isMapping(property) && "default" in property)
  return fills && !("required" in schema) ? { ...schema, default: {} } : schema
}

const textField = (
  translation: Translation,
  text: string,
  at: string
): { readonly schema: JsonSchema; readonly isRequired: boolean } => {
  const bar = text.indexOf("|")
  const schema: Draft = { ...typeOf(translation, (bar < 0 ? text : text.slice(0, bar)).trim(), at, 0) }
  const markers = bar < 0 ? Result.succeed([]) : parseMarkers(text.slice(bar + 1))
  if (Result.isFailure(markers)) return { schema: refuse(translation, at, markers.failure), isRequired: false }
  let isRequired = false
  for (const marker of markers.success) {
    if (marker.name === "required") isRequired = marker.value === "true"
    const why = applyMarker(schema, marker)
    if (why !== undefined) refuse(translation, at, `marker ${marker.name} ${why}`)
  }
  return { schema, isRequired }
}

// ---------------------------------------------------------------------------------------------------------------------
// types
// ---------------------------------------------------------------------------------------------------------------------

const atomic: { readonly [name: string]: JsonSchema } = {
  string: { type: "string" },
  integer: { type: "integer" },
  number: { type: "number" },
  float: { type: "number" },
  boolean: { type: "boolean" },
  object: { type: "object", "x-kubernetes-preserve-unknown-fields": true }
}

const typeOf = (translation: Translation, text: string, at: string, depth: number): JsonSchema => {
  if (depth > maxNesting) return refuse(translation, at, `nests types deeper than ${maxNesting}`)
  if (text === "") return refuse(translation, at, `has no type; write one such as "string" or "[]integer"`)
  if (Object.hasOwn(atomic, text)) return atomic[text]
  if (text.startsWith("[]")) return { type: "array", items: typeOf(translation, text.slice(2).trim(), at, depth + 1) }
  const key = /^map\[([^\]]*)\]/.exec(text)
  if (key !== null) {
    if (key[1] !== "string") return refuse(translation, at, `has map keys of type ${key[1]}; only string is possible`)
    const values = typeOf(translation, text.slice(key[0].length).trim(), at, depth + 1)
    return { type: "object", additionalProperties: values }
  }
  return customType(translation, text, at)
}

const customType = (translation: Translation, name: string, at: string): JsonSchema => {
  const done = translation.done.get(name)
  if (done !== undefined) return done
  if (!Object.hasOwn(translation.types, name)) {
    const known = [...Object.keys(atomic), "[]T", "map[string]T", ...Object.keys(translation.types)].join(", ")
    return refuse(translation, at, `has the unknown type ${JSON.stringify(name)}; known are ${known}`)
  }
  if (translation.open.includes(name)) {
    const cycle = [...translation.open.slice(translation.open.indexOf(name)), name].join(" -> ")
    return refuse(translation, below(translation.typesAt, name), `contains itself: ${cycle}`)
  }
  translation.open.push(name)
  const declared = translation.types[name]
  const declaredAt = below(translation.typesAt, name)
  const schema = typeof declared === "string"
    ? textField(translation, declared, declaredAt).schema
    : withDefault(object(translation, declared, declaredAt))
  translation.open.pop()
  translation.done.set(name, schema)
  return schema
}

// ---------------------------------------------------------------------------------------------------------------------
// markers
// ---------------------------------------------------------------------------------------------------------------------

interface Marker {
  readonly name: string
  readonly value: string
  /** Whether the value stood in quotes. */
  readonly quoted: boolean
}

/** `name=value` after spaces; a value is quoted, or has its brackets closed, or ends at a space. */
const parseMarkers = (text: string): Result.Result<ReadonlyArray<Marker>, string> => {
  const markers: Array<Marker> = []
  let rest = text.trimStart()
  while (rest !== "") {
    const name = /^([A-Za-z]+)\s*=\s*/.exec(rest)
    if (name === null) return Result.fail(`has ${JSON.stringify(rest)} where a marker=value should stand`)
    rest = rest.slice(name[0].length)
    const end = endOfValue(rest)
    if (end === undefined) return Result.fail(`marker ${name[1]} has an open quote or bracket`)
    const raw = rest.slice(0, end)
    const quoted = raw.length >= 2 && raw.startsWith(`"`) && raw.endsWith(`"`)
    markers.push({ name: name[1], value: quoted ? raw.slice(1, -1).replace(/\\(["\\])/g, "$1") : raw, quoted })
    rest = rest.slice(end).trimStart()
  }
  return markers.length === 0 ? Result.fail(`has nothing after "|"`) : Result.succeed(markers)
}

const endOfValue = (text: string): number | undefined => {
  let isQuoted = false
  let brackets = 0
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (isQuoted && character === "\\") index++
    else if (character === `"`) isQuoted = !isQuoted
    else if (isQuoted) continue
    else if (character === "{" || character === "[") brackets++
    else if (character === "}" || character === "]") brackets--
    else if (brackets === 0 && /\s/.test(character)) return index
  }
  return isQuoted || brackets !== 0 ? undefined : text.length
}

/** Adds what a marker says to a schema, or says what is wrong with it. */
const applyMarker = (schema: Draft, { name, quoted, value }: Marker): string | undefined => {
  switch (name) {
    case "required":
    case "immutable":
    case "uniqueItems":
      return applyFlag(schema, name, value)
    case "default":
      return put(schema, "default", defaultOf(schema["type"], value, quoted))
    case "description":
      schema["description"] = value
      return
    case "enum":
      return put(schema, "enum", enumOf(schema["type"], value))
    case "minimum":
    case "maximum":
      return only(schema, ["integer", "number"]) ?? put(schema, name, numberOf(value, Number.isFinite))
    case "minLength":
    case "maxLength":
      return only(schema, ["string"]) ?? put(schema, name, numberOf(value, isSize))
    case "minItems":
    case "maxItems":
      return only(schema, ["array"]) ?? put(schema, name, numberOf(value, isSize))
    case "pattern":
      return only(schema, ["string"]) ?? put(schema, name, patternOf(value))
    case "validation":
      if (value.trim() === "") return "must hold an expression"
      return addRule(schema, value, "validation failed")
    default:
      return "is unknown"
  }
}

const put = (schema: Draft, keyword: string, value: Result.Result<Json, string>): string | undefined => {
  if (Result.isFailure(value)) return value.failure
  schema[keyword] = value.success
}

const only = (schema: Draft, types: ReadonlyArray<string>): string | undefined =>
  types.includes(String(schema["type"]))
    ? undefined
    : `is for ${types.join(" and ")} fields, not for ${String(schema["type"])}`

const applyFlag = (schema: Draft, name: string, value: string): string | undefined => {
  if (value !== "true" && value !== "false") return `must be true or false, found ${JSON.stringify(value)}`
  if (name === "uniqueItems") {
    const wrong = only(schema, ["array"])
    if (wrong !== undefined || value === "false") return wrong
    schema["uniqueItems"] = true
    schema["x-kubernetes-list-type"] = "set"
  }
  if (name === "immutable" && value === "true") addRule(schema, "self == oldSelf", "field is immutable")
}

const addRule = (schema: Draft, rule: string, message: string): undefined => {
  const rules = schema["x-kubernetes-validations"]
  schema["x-kubernetes-validations"] = [...Array.isArray(rules) ? rules : [], { rule, message }]
}

/** A string's default is its text; any other is JSON. Custom types and collections take JSON too. */
const defaultOf = (type: Json | undefined, value: string, quoted: boolean): Result.Result<Json, string> => {
  if (type === "string") return Result.succeed(value)
  return Result.mapError(
    Result.try((): Json => JSON.parse(value)),
    () =>
      `must be JSON for a field of type ${String(type)}, found ${JSON.stringify(value)}${quoted ? " in quotes" : ""}`
  )
}

const enumOf = (type: Json | undefined, value: string): Result.Result<Json, string> => {
  const words = value.split(",").map((word) => word.trim())
  if (words.includes("")) return Result.fail("has an empty value")
  if (type === "string") return Result.succeed(words)
  if (type !== "integer") return Result.fail(`is for string and integer fields, not for ${String(type)}`)
  const numbers = words.map(Number)
  return numbers.every(Number.isSafeInteger)
    ? Result.succeed(numbers)
    : Result.fail(`must list integers, found ${JSON.stringify(value)}`)
}

const isSize = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

const numberOf = (value: string, isRight: (value: number) => boolean): Result.Result<number, string> => {
  const parsed = value.trim() === "" ? Number.NaN : Number(value)
  return isRight(parsed) ? Result.succeed(parsed) : Result.fail(`cannot be ${JSON.stringify(value)}`)
}

const patternOf = (value: string): Result.Result<string, string> =>
  value === "" ? Result.fail("must not be empty") : Result.mapBoth(Result.try(() => new RegExp(value, "u")), {
    onSuccess: () => value,
    onFailure: () => `is no regular expression: ${JSON.stringify(value)}`
  })
