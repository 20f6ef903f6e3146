/**
 * Templates: JSON whose texts hold CEL in `${…}`.
 *
 * A text that is one expression and nothing else becomes the expression's value, whatever its type; any other is text,
 * and its expressions must give text. `${"${HOME}"}` is how a template writes `${HOME}`.
 */
import * as Result from "effect/Result"
import type { Resource } from "setpoint"
import type * as Cel from "./cel.ts"
import { below, type Flaw } from "./flaws.ts"

type Json = Resource.Json

/** The parts of a text: what is written, and what is to be evaluated. */
export type Part =
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "Source"; readonly source: string }

/** Cuts a text; fails where an expression is not closed, is empty, or holds another one outside of a string. */
export const parts = (text: string): Result.Result<ReadonlyArray<Part>, string> => {
  const found: Array<Part> = []
  let rest = 0
  for (let open = text.indexOf("${"); open >= 0; open = text.indexOf("${", rest)) {
    const end = endOfExpression(text, open + 2)
    if (typeof end === "string") return Result.fail(end)
    const source = text.slice(open + 2, end).trim()
    if (source === "") return Result.fail("has an empty ${}")
    if (open > rest) found.push({ _tag: "Text", text: text.slice(rest, open) })
    found.push({ _tag: "Source", source })
    rest = end + 1
  }
  if (rest < text.length) found.push({ _tag: "Text", text: text.slice(rest) })
  return Result.succeed(found)
}

const endOfExpression = (text: string, start: number): number | string => {
  let depth = 1
  let quote = ""
  for (let index = start; index < text.length; index++) {
    const character = text[index]
    if (quote !== "") {
      if (character === "\\") index++
      else if (character === quote) quote = ""
    } else if (character === `"` || character === "'") {
      quote = character
    } else if (character === "$" && text[index + 1] === "{") {
      return "has ${…} inside of ${…}; only a string in quotes may hold it"
    } else if (character === "{") {
      depth++
    } else if (character === "}" && --depth === 0) {
      return index
    }
  }
  return `has a \${ that is not closed: ${JSON.stringify(text.slice(start - 2, start + 40))}`
}

/** Compiled JSON. `Whole` is one expression, `Text` is text around expressions. */
export type Template =
  | { readonly _tag: "Literal"; readonly value: Json }
  | { readonly _tag: "Whole"; readonly expression: Cel.Expression }
  | { readonly _tag: "Text"; readonly parts: ReadonlyArray<string | Cel.Expression> }
  | { readonly _tag: "List"; readonly items: ReadonlyArray<Template> }
  | { readonly _tag: "Map"; readonly entries: ReadonlyArray<readonly [string, Template]> }

/** A compiled template, the names that it uses, and what is wrong with it, by path from `at`. */
export interface Compiled {
  readonly template: Template
  readonly uses: ReadonlySet<string>
  readonly flaws: ReadonlyArray<Flaw>
}

export const compile = (checker: Cel.Checker, value: Json, at: string): Compiled => {
  const uses = new Set<string>()
  const flaws: Array<Flaw> = []
  const expression = (source: string, at: string): Cel.Expression | undefined => {
    const compiled = checker.compile(source)
    if (Result.isFailure(compiled)) {
      flaws.push({ field: at, why: `\${${source}}: ${compiled.failure}` })
      return undefined
    }
    for (const name of compiled.success.uses) uses.add(name)
    return compiled.success
  }
  const text = (value: string, at: string): Template => {
    const cut = parts(value)
    if (Result.isFailure(cut)) {
      flaws.push({ field: at, why: cut.failure })
      return { _tag: "Literal", value }
    }
    if (cut.success.every((part) => part._tag === "Text")) return { _tag: "Literal", value }
    const compiled = cut.success.map((part) => part._tag === "Text" ? part.text : expression(part.source, at))
    const known = compiled.filter((part) => part !== undefined)
    if (known.length < compiled.length) return { _tag: "Literal", value }
    const [only] = known
    if (known.length === 1 && typeof only === "object") return { _tag: "Whole", expression: only }
    for (const part of known) {
      if (typeof part === "object" && !textTypes.has(part.type)) {
        const why = `\${${part.source}} stands in a text and gives ${part.type}; write string(…)`
        flaws.push({ field: at, why })
      }
    }
    return { _tag: "Text", parts: known }
  }
  const visit = (value: Json, at: string): Template => {
    if (typeof value === "string") return text(value, at)
    if (typeof value !== "object" || value === null) return { _tag: "Literal", value }
    if (Array.isArray(value)) return { _tag: "List", items: value.map((item, index) => visit(item, below(at, index))) }
    return { _tag: "Map", entries: Object.entries(value).map(([key, item]) => [key, visit(item, below(at, key))]) }
  }
  return { template: visit(value, at), uses, flaws }
}

const textTypes = new Set(["string", "dyn", "optional<string>", "optional<dyn>"])

/** The JSON that a template gives; `undefined` where the field it stands in is to be left out. */
export const render = (template: Template, values: Cel.Values): Result.Result<Json | undefined, Cel.Trouble> => {
  switch (template._tag) {
    case "Literal":
      return Result.succeed(template.value)
    case "Whole":
      return template.expression.evaluate(values)
    case "Text":
      return renderText(template.parts, values)
    case "List": {
      const items: Array<Json> = []
      for (const item of template.items) {
        const rendered = render(item, values)
        if (Result.isFailure(rendered)) return rendered
        if (rendered.success !== undefined) items.push(rendered.success)
      }
      return Result.succeed(items)
    }
    case "Map": {
      const entries: Array<[string, Json]> = []
      for (const [key, item] of template.entries) {
        const rendered = render(item, values)
        if (Result.isFailure(rendered)) return rendered
        if (rendered.success !== undefined && rendered.success !== null) entries.push([key, rendered.success])
      }
      return Result.succeed(Object.fromEntries(entries))
    }
  }
}

/** As `render`, but fields whose values are not there yet are left out: what can be said of a status so far. */
export const renderWhatIsThere = (template: Template, values: Cel.Values): Json | undefined => {
  if (template._tag !== "Map") return Result.getOrElse(render(template, values), () => undefined)
  const entries = template.entries.flatMap(([key, item]): Array<[string, Json]> => {
    const rendered = renderWhatIsThere(item, values)
    return rendered === undefined || rendered === null ? [] : [[key, rendered]]
  })
  return entries.length === 0 && template.entries.length > 0 ? undefined : Object.fromEntries(entries)
}

const renderText = (
  parts: ReadonlyArray<string | Cel.Expression>,
  values: Cel.Values
): Result.Result<string, Cel.Trouble> => {
  let text = ""
  for (const part of parts) {
    if (typeof part === "string") {
      text += part
      continue
    }
    const value = part.evaluate(values)
    if (Result.isFailure(value)) return Result.fail(value.failure)
    if (value.success !== undefined && typeof value.success !== "string") {
      const why = `\${${part.source}} stands in a text and gave ${JSON.stringify(value.success)}; write string(…)`
      return Result.fail({ _tag: "Wrong", why })
    }
    text += value.success ?? ""
  }
  return Result.succeed(text)
}
