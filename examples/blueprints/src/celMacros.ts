/**
 * Macros that the library does not have, as text in those that it has: `sortBy`, and the comprehensions that name both the
 * key and the value of an entry. An expression is parsed, its innermost macro is written anew, and so on until none is left.
 */
import type { ASTNode, Environment } from "@marcbachmann/cel-js"

/** What is used in the new text: an entry, as a list of key and value. Nothing that people write may be called so. */
const entry = "entry__"

export const functions: { readonly [signature: string]: (...values: Array<never>) => unknown } = {
  /** Entries in the order of the map's keys, or of the list. */
  "dyn.entries__(): list<dyn>": (collection: object) =>
    Array.isArray(collection)
      ? collection.map((value: unknown, index) => [BigInt(index), value])
      : Object.entries(collection).toSorted(([a], [b]) => a < b ? -1 : a > b ? 1 : 0),
  /** By the first of each, and the order they have where those are equal. */
  "list.sortEntries__(): list<dyn>": (entries: ReadonlyArray<readonly [unknown, unknown]>) =>
    entries.toSorted(([a], [b]) => compare(a, b)),
  "list.fromEntries__(): map": (entries: ReadonlyArray<readonly [unknown, unknown]>) =>
    Object.fromEntries(entries.map(([key, value]) => [String(key), value])),
  "list.mergeMaps__(): map": (maps: ReadonlyArray<object>) => Object.assign({}, ...maps) as object
}

const comparable = new Set(["string", "number", "bigint", "boolean"])

/** Throws where CEL has no order. */
export const compare = (left: unknown, right: unknown): number => {
  const areNumbers = [left, right].every((value) => typeof value === "number" || typeof value === "bigint")
  if (!areNumbers && (typeof left !== typeof right || !comparable.has(typeof left))) {
    throw new Error(`cannot compare ${typeof left} with ${typeof right}`)
  }
  return (left as bigint) < (right as bigint) ? -1 : (left as bigint) > (right as bigint) ? 1 : 0
}

/** How a macro is written anew, from the texts of its receiver and arguments; `undefined`: it is none of these. */
const rewrites: {
  readonly [name: string]: (receiver: string, args: ReadonlyArray<string>) => string | undefined
} = {
  sortBy: (receiver, args) =>
    args.length === 2
      ? `${receiver}.map(${args[0]}, [${args[1]}, ${args[0]}]).sortEntries__().map(${entry}, ${entry}[1])`
      : undefined,
  transformList: (receiver, args) => overEntries(receiver, args, (value) => value),
  transformMap: (receiver, args) => {
    const entries = overEntries(receiver, args, (value) => `[${args[0]}, ${value}]`)
    return entries === undefined ? undefined : `${entries}.fromEntries__()`
  },
  transformMapEntry: (receiver, args) => {
    const maps = overEntries(receiver, args, (value) => value)
    return maps === undefined ? undefined : `${maps}.mergeMaps__()`
  },
  all: (receiver, args) => question("all", receiver, args),
  exists: (receiver, args) => question("exists", receiver, args),
  existsOne: (receiver, args) =>
    args.length === 2 ? `${receiver}.exists_one(${args.join(", ")})` : question("exists_one", receiver, args)
}

const bound = ([key, value]: ReadonlyArray<string>, body: string): string =>
  `cel.bind(${key}, ${entry}[0], cel.bind(${value}, ${entry}[1], ${body}))`

/** `(k, v, transform)` and `(k, v, filter, transform)`. */
const overEntries = (
  receiver: string,
  args: ReadonlyArray<string>,
  give: (value: string) => string
): string | undefined => {
  if (args.length === 3) return `dyn(${receiver}).entries__().map(${entry}, ${bound(args, give(args[2]))})`
  if (args.length !== 4) return undefined
  return `dyn(${receiver}).entries__().map(${entry}, ${bound(args, args[2])}, ${bound(args, give(args[3]))})`
}

const question = (name: string, receiver: string, args: ReadonlyArray<string>): string | undefined =>
  args.length === 3 ? `dyn(${receiver}).entries__().${name}(${entry}, ${bound(args, args[2])})` : undefined

/** The same expression without these macros. Throws what the parser throws. */
export const expand = (environment: Environment, source: string): string => {
  const change = innermost(environment.parse(source).ast, source)
  return change === undefined
    ? source
    : expand(environment, source.slice(0, change.start) + change.text + source.slice(change.end))
}

interface Change {
  readonly start: number
  readonly end: number
  readonly text: string
}

const innermost = (node: unknown, source: string): Change | undefined => {
  if (Array.isArray(node)) {
    for (const item of node) {
      const change = innermost(item, source)
      if (change !== undefined) return change
    }
    return undefined
  }
  if (!isNode(node)) return undefined
  const within = innermost(node.args, source)
  if (within !== undefined || node.op !== "rcall") return within
  const [name, receiver, args] = node.args
  // Ranges leave out parentheses: what is put elsewhere gets its own.
  const textOf = ({ op, range: { end, start } }: ASTNode) =>
    op === "id" ? source.slice(start, end) : `(${source.slice(start, end)})`
  const text = Object.hasOwn(rewrites, name) ? rewrites[name](textOf(receiver), args.map(textOf)) : undefined
  return text === undefined ? undefined : { start: startOf(receiver, source), end: node.range.end, text }
}

/** Where a receiver begins with the parentheses that are closed between it and its dot. */
const startOf = (receiver: ASTNode, source: string): number => {
  const dot = source.indexOf(".", receiver.range.end)
  const closed = source.slice(receiver.range.end, dot).split(")").length - 1
  let { start } = receiver.range
  for (let open = 0; open < closed; open++) start = source.lastIndexOf("(", start - 1)
  return start
}

const isNode = (value: unknown): value is ASTNode => typeof value === "object" && value !== null && "op" in value
