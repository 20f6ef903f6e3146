/**
 * Manifests: YAML text to objects, each problem with its file, line, column and field.
 *
 * Scalars are read as Kubernetes reads them (YAML 1.1 without dates and base-60 numbers). Where this reader is stricter,
 * it says so in the problem: duplicate keys, numbers that JSON cannot hold exactly, tags it does not know, aliases that
 * expand without measure, text that is not UTF-8 or UTF-16, and documents that are not a mapping. One bad document spoils
 * no other document of its file.
 */
import * as Result from "effect/Result"
import type { Resource } from "setpoint"
import * as Yaml from "yaml"

/** Lines and columns count from 1. `field` is a path such as `spec.ports.from`, empty where it is the whole document. */
export interface Problem {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly field: string
  readonly why: string
}

/** `web.yaml:7:13: spec.replicas: …` */
export const problemText = (problem: Problem): string =>
  `${problem.file}:${problem.line}:${problem.column}: ${problem.field === "" ? "" : `${problem.field}: `}${problem.why}`

/** Keys and indexes from the root of a document to a value of it. */
export type Path = ReadonlyArray<string | number>

/** One document: its value, and where the fields of it stand. */
export interface Manifest {
  readonly file: string
  readonly value: Resource.JsonObject
  /** A problem with a field, at the place of the field or of the nearest one around it that is there. */
  readonly problem: (field: string, why: string) => Problem
}

export interface File {
  readonly manifests: ReadonlyArray<Manifest>
  readonly problems: ReadonlyArray<Problem>
}

const maxBytes = 1024 * 1024
const maxValues = 100_000
const maxDepth = 64
const maxAliases = 100

/** How a file is read. */
export interface Options {
  /** A key that stands twice in a mapping: a problem, or the last one counts as in Kubernetes. Default `"refuse"`. */
  readonly duplicateKeys?: "refuse" | "last" | undefined
}

/** Reads a file. Empty documents are none. */
export const read = (file: string, bytes: Uint8Array, options: Options = {}): File => {
  const whole = (why: string, line?: number) => unreadable(file, why, line)
  if (bytes.length > maxBytes) return whole(`is ${bytes.length} bytes long; a manifest may have ${maxBytes}`)
  const text = decodeText(bytes)
  if (typeof text !== "string") return whole(`is not ${text.encoding} text`, text.line)
  try {
    return readDocuments(file, text, options)
  } catch (cause) {
    // The parser recurses: a document that nests thousands deep ends its stack.
    return whole(`cannot be read as YAML: ${String(cause)}`)
  }
}

/** A file of which nothing could be read. */
export const unreadable = (file: string, why: string, line = 1): File => ({
  manifests: [],
  problems: [{ file, line, column: 1, field: "", why }]
})

const decodeText = (bytes: Uint8Array): string | { readonly encoding: string; readonly line: number } => {
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe
    ? "utf-16le"
    : bytes[0] === 0xfe && bytes[1] === 0xff
    ? "utf-16be"
    : "utf-8"
  const result = Result.try(() => new TextDecoder(encoding, { fatal: true }).decode(bytes))
  if (Result.isSuccess(result)) return result.success
  const lenient = new TextDecoder(encoding).decode(bytes)
  return { encoding: encoding.toUpperCase(), line: lenient.slice(0, lenient.indexOf("\ufffd")).split("\n").length }
}

const readDocuments = (file: string, text: string, options: Options): File => {
  const lines = new Yaml.LineCounter()
  const documents = Yaml.parseAllDocuments(text, {
    version: "1.1",
    customTags: kubernetesTags,
    intAsBigInt: true,
    uniqueKeys: options.duplicateKeys !== "last",
    prettyErrors: false,
    logLevel: "silent",
    lineCounter: lines
  })
  const manifests: Array<Manifest> = []
  const problems: Array<Problem> = []
  for (const document of Array.isArray(documents) ? documents : []) {
    const problem = (offset: number, field: string, why: string): Problem => {
      const { col, line } = lines.linePos(offset)
      return { file, line: Math.max(line, 1), column: Math.max(col, 1), field, why }
    }
    const faults = [...document.errors, ...document.warnings]
    if (faults.length > 0) {
      problems.push(...faults.map((fault) => problem(fault.pos[0], "", fault.message)))
      continue
    }
    const start = startOf(document.contents) ?? document.range[0]
    const value = Result.try(() => toJson(document.toJS({ mapAsMap: true, maxAliasCount: maxAliases })))
    if (Result.isFailure(value)) {
      const refused = value.failure
      const path = refused instanceof Refused ? refused.path : []
      const why = refused instanceof Error ? refused.message : String(refused)
      problems.push(problem(placeOf(document, path) ?? start, pathText(path), why))
    } else if (value.success === null) {
      continue
    } else if (typeof value.success !== "object" || Array.isArray(value.success)) {
      problems.push(problem(start, "", "a manifest must be a mapping with apiVersion, kind, metadata and spec"))
    } else {
      manifests.push({
        file,
        value: value.success as Resource.JsonObject,
        problem: (field, why) => problem(placeOf(document, pathOf(field)) ?? start, field, why)
      })
    }
  }
  return { manifests, problems }
}

const unread = new Set(["timestamp", "binary", "omap", "pairs", "set"].map((name) => `tag:yaml.org,2002:${name}`))

/** YAML 1.1 without what Kubernetes keeps as text, and with its `0o17`. */
const kubernetesTags = (tags: Yaml.Tags): Yaml.Tags => [
  {
    tag: "tag:yaml.org,2002:int",
    default: true,
    test: /^[-+]?0o[0-7]+$/,
    resolve: (text: string) => text.startsWith("-") ? -BigInt(text.slice(1)) : BigInt(text.replace("+", ""))
  },
  ...tags.filter((tag) =>
    typeof tag === "string" || !(unread.has(tag.tag) || ("format" in tag && tag.format === "TIME"))
  )
]

/** Why a value cannot stand in a manifest, and where it is. */
class Refused extends Error {
  readonly path: Path
  constructor(path: Path, why: string) {
    super(why)
    this.path = path
  }
}

/** The parser's values as JSON; throws what it refuses. */
const toJson = (root: unknown): Resource.Json => {
  let values = 0
  const walk = (value: unknown, path: Path): Resource.Json => {
    values += 1
    if (values > maxValues) throw new Refused([], `holds more than ${maxValues} values once its aliases are expanded`)
    if (path.length > maxDepth) throw new Refused(path.slice(0, 3), `is nested deeper than ${maxDepth} levels`)
    if (value === null || typeof value === "string" || typeof value === "boolean") return value
    if (typeof value === "number" || typeof value === "bigint") return number(value, path)
    if (Array.isArray(value)) return value.map((item, index) => walk(item, [...path, index]))
    if (!(value instanceof Map)) throw new Refused(path, "is not a value that JSON can hold")
    return Object.fromEntries(Array.from(value, ([key, item]) => {
      const name = keyText(key, path)
      return [name, walk(item, [...path, name])]
    }))
  }
  return walk(root, [])
}

const number = (value: number | bigint, path: Path): number => {
  const plain = Number(value)
  if (!Number.isFinite(plain)) throw new Refused(path, `is ${plain}, which JSON cannot hold`)
  if (typeof value === "bigint" && !Number.isSafeInteger(plain)) {
    throw new Refused(path, `is ${value}, which a number cannot hold exactly; put it in quotes`)
  }
  return plain
}

const keyText = (key: unknown, path: Path): string => {
  if (typeof key === "string") return key
  if (typeof key === "number" || typeof key === "bigint" || typeof key === "boolean") return String(key)
  throw new Refused(path, `has ${key === null ? "null" : "a collection"} as a key; keys must be text`)
}

/** Where a field begins: its key in a mapping, itself in a list. */
const placeOf = (document: Yaml.Document.Parsed, path: Path): number | undefined => {
  let node: unknown = document.contents
  let place: number | undefined
  for (const segment of path) {
    if (Yaml.isAlias(node)) node = node.resolve(document)
    if (Yaml.isMap(node)) {
      const pair = node.items.find((item) => Yaml.isScalar(item.key) && String(item.key.value) === String(segment))
      if (pair === undefined) return place
      place = startOf(pair.key) ?? place
      node = pair.value
    } else if (Yaml.isSeq(node) && typeof segment === "number") {
      node = node.items[segment]
      place = startOf(node) ?? place
    } else {
      return place
    }
  }
  return place
}

const startOf = (node: unknown): number | undefined => Yaml.isNode(node) ? node.range?.[0] : undefined

const plainName = /^[A-Za-z_$][\w$]*$/

/** `spec.args[0]`, `metadata.labels["a.b/c"]`. */
export const pathText = (path: Path): string =>
  path.reduce<string>((text, segment) => {
    if (typeof segment === "number") return `${text}[${segment}]`
    return plainName.test(segment)
      ? `${text}${text === "" ? "" : "."}${segment}`
      : `${text}[${JSON.stringify(segment)}]`
  }, "")

const segmentPattern = /\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|([^.[\]]+)/g

/** The segments of a path such as `spec.args[0]` or `metadata.labels["a.b/c"]`. */
export const pathOf = (text: string): Path =>
  Array.from(text.matchAll(segmentPattern), ([, index, quoted, name]) => {
    if (index !== undefined) return Number(index)
    return quoted === undefined ? name ?? "" : String(JSON.parse(`"${quoted}"`))
  })

/** The value at a path, if the document has it. */
export const valueAt = (root: Resource.Json, path: Path): Resource.Json | undefined =>
  path.reduce<Resource.Json | undefined>(
    (value, segment) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, segment)
        ? (value as Record<string | number, Resource.Json>)[segment]
        : undefined,
    root
  )
