/**
 * Schemas from data: a JSON Schema (draft 2020-12) or an OpenAPI v3 schema, as in a CRD's `openAPIV3Schema`, becomes an
 * Effect Schema over plain JSON.
 *
 * A document is compiled once into a {@link Check}, a function that fills in defaults and reports what is wrong, and all
 * that is wrong in the document itself is found then. Nothing is pruned: members that the document does not know stay
 * (S13), unless `additionalProperties: false` refuses them. `format` counts where it is known (`jsonSchemaFormats.ts`), rules in CEL
 * (`x-kubernetes-validations`) are not evaluated, and defaults inside `anyOf`, `oneOf`, `not` and `if` are not applied.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { brief, copy, deepFreeze, fromUnknown, isObject, type Json, maxDepth, parsePointer, pointer } from "./json.ts"
import {
  accept,
  type Check,
  type Compiler,
  flawed,
  type InvalidSchema,
  type Issue,
  issueText,
  report,
  resolve,
  type Scope
} from "./jsonSchemaCheck.ts"
import { rules } from "./jsonSchemaRules.ts"

export type { InvalidSchema }

/** Schemas that may be applied one inside the other, references included, so that no document overflows the stack. */
const maxNested = 1200

/**
 * The Schema of a document, or of the part of it at a JSON Pointer, whose references may reach the whole document.
 * Where the document has defaults, decoding and encoding fill them in; else the codec transforms nothing.
 */
export const fromJsonSchema = (
  document: unknown,
  options?: { readonly at?: string | undefined }
): Result.Result<Schema.Codec<Json, Json>, InvalidSchema> =>
  Result.flatMap(fromUnknown(document), (given) => {
    const root = deepFreeze(copy(given)) // defaults become parts of objects, which share nothing with their makers
    const compiler: Compiler = {
      root,
      depth: 0,
      checks: new Map(),
      inPlace: new Map(),
      defaults: [],
      flaws: [],
      compileAt: (at, user) => compileAt(compiler, at, user)
    }
    const check = compiler.compileAt(options?.at ?? "", "")
    refuseLoops(compiler)
    const [flaw] = compiler.flaws
    if (flaw !== undefined) return Result.fail(flaw)
    for (const { at, check, value } of compiler.defaults) {
      const [issue] = issuesOf(check, value).issues
      if (issue !== undefined) {
        return Result.fail({ path: at, reason: `does not satisfy its own schema: ${issueText(issue)}` })
      }
    }
    const checked = schemaOf(check)
    if (compiler.defaults.length === 0) return Result.succeed(checked)
    const fill = (value: Json): Json => issuesOf(check, Result.getOrElse(fromUnknown(value), () => value)).value
    return Result.succeed(checked.pipe(
      Schema.decodeTo(checked, SchemaTransformation.transform({ decode: fill, encode: fill }))
    ))
  })

const schemaOf = (check: Check): Schema.Codec<Json, Json> => {
  const issues = (input: unknown): ReadonlyArray<Issue> => {
    const entered = fromUnknown(input)
    if (Result.isSuccess(entered)) return issuesOf(check, entered.success).issues
    return [{ path: parsePointer(entered.failure.path) ?? [], reason: entered.failure.reason }]
  }
  const filter = Schema.makeFilter((input: unknown) =>
    issues(input).map(({ path, reason }) => ({ path, issue: reason }))
  )
  return Schema.Unknown.check(filter) as Schema.Codec<Json, Json> // the filter lets nothing but JSON pass
}

const issuesOf = (check: Check, value: Json): { readonly value: Json; readonly issues: ReadonlyArray<Issue> } => {
  const scope: Scope = { path: [], issues: [], depth: 0 }
  return { value: check(value, scope), issues: scope.issues }
}

// ---------------------------------------------------------------------------------------------------------------------
// compiling
// ---------------------------------------------------------------------------------------------------------------------

const compileAt = (compiler: Compiler, at: string, user: string): Check => {
  const known = compiler.checks.get(at)
  if (known !== undefined) return known
  let compiled: Check = accept
  const check: Check = (value, scope) => {
    if (scope.depth >= maxNested) return report(scope, value, `leads through more than ${maxNested} schemas`)
    scope.depth++
    const checked = compiled(value, scope)
    scope.depth--
    return checked
  }
  compiler.checks.set(at, check)
  const found = resolve(compiler.root, at)
  if (found === undefined) flawed(compiler, user, `refers to ${JSON.stringify(`#${at}`)}, which is not in the document`)
  else if (compiler.depth >= maxDepth) flawed(compiler, at, `is reached through more than ${maxDepth} schemas`)
  else {
    compiler.depth++
    compiled = compileSchema(compiler, found, at)
    compiler.depth--
  }
  return check
}

const compileSchema = (compiler: Compiler, schema: Json, at: string): Check => {
  if (schema === true) return accept
  if (schema === false) return (value, scope) => report(scope, value, "is not allowed here")
  if (!isObject(schema)) {
    flawed(compiler, at, `is ${brief(schema)}: a schema is an object, true or false`)
    return accept
  }
  const checks: Array<Check> = []
  const ofNull: Array<Check> = []
  for (const keyword of Object.keys(rules)) {
    const argument = schema[keyword]
    if (!Object.hasOwn(schema, keyword) || argument === undefined) continue
    const check = rules[keyword]({ compiler, schema, at, argument, here: `${at}${pointer([keyword])}` })
    if (check === undefined) continue
    checks.push(check)
    if (keyword === "enum" || keyword === "const") ofNull.push(check)
  }
  const typed = Object.hasOwn(schema, "type")
  const nullable = schema.nullable === true
  return (value, scope) => {
    const before = scope.issues.length
    const due = nullable && value === null ? ofNull : checks // an allowed null is judged by its value alone
    for (let i = 0; i < due.length; i++) {
      value = due[i](value, scope)
      if (typed && i === 0 && scope.issues.length > before) break // of another type: the rest would only repeat it
    }
    return value
  }
}

/** A schema that is applied to itself without going deeper into the value would never end. */
const refuseLoops = (compiler: Compiler): void => {
  const done = new Set<string>()
  const visit = (at: string, onWay: ReadonlySet<string>): void => {
    if (onWay.has(at)) flawed(compiler, at, "is applied to itself on the same value, which would never end")
    if (onWay.has(at) || done.has(at)) return
    const way = new Set(onWay).add(at)
    for (const next of compiler.inPlace.get(at) ?? []) visit(next, way)
    done.add(at)
  }
  for (const at of compiler.inPlace.keys()) visit(at, new Set())
}
