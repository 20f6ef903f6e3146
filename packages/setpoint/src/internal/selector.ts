/**
 * The grammar and the rules of label selectors, as pure functions: what a text means, how it is printed, and which
 * labels satisfy it. The grammar is that of `k8s.io/apimachinery/pkg/labels`.
 */
import * as Result from "effect/Result"
import * as names from "./names.ts"

export type Labels = { readonly [key: string]: string }

export type Operator = "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt"

/** One condition on one label. `values`: of `In` and `NotIn` at least one, of `Gt` and `Lt` one whole number, else none. */
export type Requirement = {
  readonly key: string
  readonly operator: Operator
  readonly values: ReadonlyArray<string>
}

/** `at` counts characters of the text from 0; `why` says what would be right there. */
export type Flaw = { readonly at: number; readonly found: string; readonly why: string }

/** What is wrong with a requirement, and in which part of it. */
export type RequirementFlaw = {
  readonly part: "key" | "operator" | "values"
  readonly found: string
  readonly why: string
}

// ---------------------------------------------------------------------------------------------------------------------
// rules of one requirement
// ---------------------------------------------------------------------------------------------------------------------

const largest = 2n ** 63n - 1n

/** A label's value as `Gt` and `Lt` read it; `undefined` where it is no whole number of 64 bits. */
const wholeNumber = (text: string): bigint | undefined => {
  if (!/^\d{1,63}$/.test(text)) return undefined
  const number = BigInt(text)
  return number <= largest ? number : undefined
}

export const checkRequirement = ({ key, operator, values }: Requirement): RequirementFlaw | undefined => {
  const ofKey = names.checkQualifiedName(key)
  if (ofKey !== undefined) return { part: "key", found: key, why: `a label's key ${ofKey}` }
  const why = countRule(operator, values.length)
  if (why !== undefined) return { part: "values", found: `${values.length} values`, why }
  for (const value of values) {
    const ofValue = names.checkLabelValue(value)
    if (ofValue !== undefined) return { part: "values", found: value, why: `a label's value ${ofValue}` }
    if ((operator === "Gt" || operator === "Lt") && wholeNumber(value) === undefined) {
      return { part: "values", found: value, why: "must be a whole number from 0 to 2^63 - 1" }
    }
  }
  return undefined
}

const countRule = (operator: Operator, count: number): string | undefined => {
  switch (operator) {
    case "In":
    case "NotIn":
      return count > 0 ? undefined : `${operator} needs at least one value`
    case "Exists":
    case "DoesNotExist":
      return count === 0 ? undefined : `${operator} takes no values`
    case "Gt":
    case "Lt":
      return count === 1 ? undefined : `${operator} needs exactly one value`
  }
}

/**
 * Whether a requirement holds for the label's value, `undefined` where the object has no such label. A negative
 * requirement holds for an object without the label.
 */
export const holds = ({ operator, values }: Requirement, value: string | undefined): boolean => {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value)
    case "NotIn":
      return value === undefined || !values.includes(value)
    case "Exists":
      return value !== undefined
    case "DoesNotExist":
      return value === undefined
    case "Gt":
    case "Lt": {
      const number = value === undefined ? undefined : wholeNumber(value)
      const bound = wholeNumber(values[0] ?? "")
      return number !== undefined && bound !== undefined && (operator === "Gt" ? number > bound : number < bound)
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// canonical form
// ---------------------------------------------------------------------------------------------------------------------

/** The same requirements in the one order that equal selectors share, each once, each with its values sorted. */
export const canonical = (requirements: ReadonlyArray<Requirement>): ReadonlyArray<Requirement> => {
  if (requirements.length < 2) return requirements.map(canonicalOne)
  const byText = new Map<string, Requirement>()
  for (const requirement of requirements.map(canonicalOne)) {
    byText.set(printRequirement(requirement), requirement)
  }
  return [...byText]
    .toSorted(([a, { key: keyA }], [b, { key: keyB }]) => compare(keyA, keyB) || compare(a, b))
    .map(([, requirement]) => requirement)
}

const canonicalOne = ({ key, operator, values }: Requirement): Requirement => ({
  key,
  operator,
  values: values.length < 2 ? values.slice() : [...new Set(values)].toSorted()
})

const compare = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

export const print = (requirements: ReadonlyArray<Requirement>): string => requirements.map(printRequirement).join()

const printRequirement = ({ key, operator, values }: Requirement): string => {
  switch (operator) {
    case "In":
      // joined, so that the text of the most frequent form is one piece and not a chain of them
      return values.length === 1 ? [key, values[0]].join("=") : `${key} in (${values.join()})`
    case "NotIn":
      return values.length === 1 ? `${key}!=${values[0]}` : `${key} notin (${values.join()})`
    case "Exists":
      return key
    case "DoesNotExist":
      return `!${key}`
    case "Gt":
      return `${key}>${values[0]}`
    case "Lt":
      return `${key}<${values[0]}`
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// text
// ---------------------------------------------------------------------------------------------------------------------

type Token = { readonly text: string; readonly at: number; readonly isWord: boolean }
type Parsed<A> = Result.Result<A, Flaw>

const tokensOf = (text: string): Array<Token> => {
  const tokens: Array<Token> = []
  for (const match of text.matchAll(/([!=(),<>]=?)|[^ \t\r\n!=(),<>]+/g)) {
    const symbol = match[1]
    if (symbol === undefined || symbol === "!=" || symbol === "==" || symbol.length === 1) {
      tokens.push({ text: match[0], at: match.index, isWord: symbol === undefined })
    } else { // such as ">=": two symbols, of which the second is out of place
      tokens.push({ text: symbol.charAt(0), at: match.index, isWord: false })
      tokens.push({ text: "=", at: match.index + 1, isWord: false })
    }
  }
  tokens.push({ text: "", at: text.length, isWord: false })
  return tokens
}

/** The requirements of a text, in its order. */
export const parse = (text: string): Parsed<ReadonlyArray<Requirement>> => {
  const tokens = tokensOf(text)
  const end = tokens[tokens.length - 1]
  let next = 0
  const peek = (): Token => tokens[next] ?? end
  const take = (): Token => tokens[next++] ?? end
  const takeIf = (text: string): boolean => peek().text === text && (next++, true)
  const expected = (what: string, { at, text }: Token): Parsed<never> =>
    Result.fail({ at, found: text === "" ? "the end" : text, why: `expected ${what}` })

  /** The values between parentheses: between two commas, and in an empty list, stands the empty value. */
  const list = (): Parsed<ReadonlyArray<string>> => {
    if (!takeIf("(")) return expected(`"(" and a list of values`, peek())
    const values: Array<string> = []
    do values.push(peek().isWord ? take().text : "")
    while (takeIf(","))
    return takeIf(")") ? Result.succeed(values) : expected(`"," or ")"`, peek())
  }
  /** One value, which may be left out: `a=` asks for the empty one. */
  const one = (): Parsed<ReadonlyArray<string>> => Result.succeed([peek().isWord ? take().text : ""])
  const condition = (operator: Operator, key: Token, values: Parsed<ReadonlyArray<string>>): Parsed<Requirement> => {
    if (Result.isFailure(values)) return Result.fail(values.failure)
    const requirement = { key: key.text, operator, values: values.success }
    const flaw = checkRequirement(requirement)
    if (flaw === undefined) return Result.succeed(requirement)
    return Result.fail({
      at: flaw.part === "key" ? key.at : placeOf(flaw.found, key),
      found: flaw.found,
      why: flaw.why
    })
  }
  /** Where a wrong value stands: the last word of that text since the key. */
  const placeOf = (word: string, key: Token): number =>
    tokens.slice(0, next).findLast((token) => token.text === word && token.at > key.at)?.at ?? key.at
  const requirement = (): Parsed<Requirement> => {
    const negated = takeIf("!")
    const key = take()
    if (!key.isWord) return expected(negated ? "a label's key" : `a label's key, or "!" and a key`, key)
    if (negated) return condition("DoesNotExist", key, Result.succeed([]))
    if (peek().text === "," || peek() === end) return condition("Exists", key, Result.succeed([]))
    const operator = take()
    switch (operator.text) {
      case "=":
      case "==":
        return condition("In", key, one())
      case "!=":
        return condition("NotIn", key, one())
      case ">":
      case "<":
        return peek().isWord
          ? condition(operator.text === ">" ? "Gt" : "Lt", key, one())
          : expected("a whole number", peek())
      case "in":
        return condition("In", key, list())
      case "notin":
        return condition("NotIn", key, list())
    }
    return expected(`one of =, ==, !=, in, notin, >, <, or ","`, operator)
  }

  const requirements: Array<Requirement> = []
  if (peek() === end) return Result.succeed(requirements)
  do {
    const parsed = requirement()
    if (Result.isFailure(parsed)) return Result.fail(parsed.failure)
    requirements.push(parsed.success)
  } while (takeIf(","))
  return peek() === end ? Result.succeed(requirements) : expected(`"," or the end`, peek())
}
