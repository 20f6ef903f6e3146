/**
 * The functions that definitions may call beyond CEL's own: what kro offers and the library does not have.
 *
 * Equal seeds give the texts and numbers that kro gives, so that an instance moved here keeps its names.
 */
import type { Environment } from "@marcbachmann/cel-js"
import { createHash } from "node:crypto"
import * as Macros from "./celMacros.ts"

type Value = unknown
type List = ReadonlyArray<Value>

/** What `omit()` gives: the field it stands in is left out. */
export class Omitted {
  readonly _tag = "Omitted"
}
const omitted = new Omitted()

/** The library knows a value's type by its class: what stands before the dot of `lists.range` needs one of its own. */
class Namespace {
  readonly _tag = "Namespace"
}

/** An optional value, as the library hands it to functions. */
interface Optional {
  readonly hasValue: () => boolean
  readonly value: () => Value
}

export const register = (environment: Environment): Environment => {
  for (const name of ["lists", "base64", "random", "json", "hash", "strings"]) {
    const type = class extends Namespace {}
    environment.registerType(name, type).registerConstant(name, name, new type())
  }
  environment.registerType("omitted", Omitted)
  for (const [signature, implementation] of Object.entries({ ...functions, ...Macros.functions })) {
    environment.registerFunction(signature, implementation)
  }
  for (const [signature, implementation] of Object.entries(operators)) {
    environment.registerOperator(signature, (left, right) => implementation(left as never, right as never))
  }
  return environment
}

const functions: { readonly [signature: string]: (...values: Array<never>) => Value } = {
  "omit(): omitted": () => omitted,

  "lists.range(int): list<int>": (_: Value, end: bigint) => {
    if (end > 100_000n) throw new Error(`lists.range(${end}) is too long; at most 100000`)
    return Array.from({ length: Math.max(Number(end), 0) }, (_, index) => BigInt(index))
  },
  "lists.setAtIndex(list<A>, int, A): list<A>": (_: Value, list: List, index: bigint, value: Value) =>
    list.with(indexIn(list, index, list.length), value),
  "lists.insertAtIndex(list<A>, int, A): list<A>": (_: Value, list: List, index: bigint, value: Value) =>
    list.toSpliced(indexIn(list, index, list.length + 1), 0, value),
  "lists.removeAtIndex(list<A>, int): list<A>": (_: Value, list: List, index: bigint) =>
    list.toSpliced(indexIn(list, index, list.length), 1),
  "list<A>.sort(): list<A>": (list: List) => list.toSorted(Macros.compare),
  "list<A>.reverse(): list<A>": (list: List) => list.toReversed(),
  "list<A>.distinct(): list<A>": (list: List) => distinct(list),
  "list<A>.slice(int, int): list<A>": (list: List, start: bigint, end: bigint) => {
    const from = indexIn(list, start, list.length + 1)
    return list.slice(from, Math.max(from, indexIn(list, end, list.length + 1)))
  },
  "list.flatten(): list<dyn>": (list: List) => list.flat(1),
  "list.flatten(int): list<dyn>": (list: List, depth: bigint) => list.flat(Number(depth)),
  "map.merge(map): map": (left: object, right: object) => ({ ...left, ...right }),

  "string.charAt(int): string": (text: string, index: bigint) => {
    const characters = Array.from(text)
    return characters[indexIn(characters, index, characters.length + 1)] ?? ""
  },
  "string.replace(string, string): string": (text: string, from: string, to: string) => text.replaceAll(from, () => to),
  "string.replace(string, string, int): string": (text: string, from: string, to: string, times: bigint) =>
    times < 0n ? text.replaceAll(from, () => to) : replaceFirst(text, from, to, Number(times)),
  "string.reverse(): string": (text: string) => Array.from(text).toReversed().join(""),
  "string.format(list): string": (text: string, values: List) => format(text, values),
  "strings.quote(string): string": (_: Value, text: string) => JSON.stringify(text),

  "base64.encode(bytes): string": (_: Value, bytes: Uint8Array) => Buffer.from(bytes).toString("base64"),
  "base64.decode(string): bytes": (_: Value, text: string) => {
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw new Error(`${JSON.stringify(text)} is not base64`)
    return new Uint8Array(Buffer.from(text, "base64"))
  },
  "hash.sha256(string): bytes": (_: Value, text: string) => sha256(text),
  "hash.md5(string): bytes": (_: Value, text: string) => new Uint8Array(createHash("md5").update(text).digest()),
  "hash.fnv64a(string): bytes": (_: Value, text: string) => fnv64a(text),

  "json.unmarshal(string): dyn": (_: Value, text: string) => fromJson(JSON.parse(text)),
  "json.marshal(dyn): string": (_: Value, value: Value) => JSON.stringify(value, jsonValue),

  "random.seededString(int, string): string": (_: Value, length: bigint, seed: string) => seededText(length, seed),
  "random.seededInt(int, int, string): int": (_: Value, min: bigint, max: bigint, seed: string) => {
    if (min >= max) throw new Error(`random.seededInt needs a least number below the greatest, found ${min} and ${max}`)
    return min + BigInt.asUintN(64, Buffer.from(sha256(seed)).readBigUInt64BE(0)) % (max - min)
  },

  // kro reads an absent optional as null: it has no size, equals nothing else, and no comparison with it holds.
  "optional.size(): int": (optional: Optional) => {
    const value = valueOf(optional)
    if (typeof value === "string") return BigInt(Array.from(value).length)
    return BigInt(
      Array.isArray(value) ? value.length : typeof value === "object" && value ? Object.keys(value).length : 0
    )
  }
}

const operators: { readonly [signature: string]: (left: never, right: never) => boolean } = {
  "optional == dyn": (left: Optional, right: Value) => equals(valueOf(left), right),
  ...Object.fromEntries(["int", "double", "string"].flatMap((type) => [
    [`optional > ${type}`, (left: Optional, right: Value) => comparison(left, right) > 0],
    [`optional >= ${type}`, (left: Optional, right: Value) => comparison(left, right) >= 0],
    [`optional < ${type}`, (left: Optional, right: Value) => comparison(left, right) < 0],
    [`optional <= ${type}`, (left: Optional, right: Value) => comparison(left, right) <= 0]
  ]))
}

const valueOf = (optional: Optional): Value => optional.hasValue() ? optional.value() : null

/** `NaN`, which is neither more nor less, where the optional has nothing. */
const comparison = (left: Optional, right: Value): number => {
  const value = valueOf(left)
  return value === null ? Number.NaN : Macros.compare(value, right)
}

const equals = (left: Value, right: Value): boolean =>
  left === right || (typeof left === "object" && typeof right === "object" && left !== null && right !== null &&
    JSON.stringify(left, jsonValue) === JSON.stringify(right, jsonValue))

const distinct = (list: List): List =>
  list.filter((value, index) => list.findIndex((other) => equals(value, other)) === index)

const indexIn = (list: List, index: bigint, end: number): number => {
  if (index < 0n || index >= BigInt(end)) throw new Error(`index ${index} is outside of a list of ${list.length}`)
  return Number(index)
}

const replaceFirst = (text: string, from: string, to: string, times: number): string =>
  times === 0 || !text.includes(from)
    ? text
    : text.slice(0, text.indexOf(from)) + to +
      replaceFirst(text.slice(text.indexOf(from) + from.length), from, to, times - 1)

const format = (text: string, values: List): string => {
  let next = 0
  const formatted = text.replace(/%(?:\.(\d+))?([a-zA-Z%])/g, (_, precision: string | undefined, verb: string) => {
    if (verb === "%") return "%"
    if (next >= values.length) throw new Error(`${JSON.stringify(text)} asks for more values than ${values.length}`)
    return formatOne(verb, precision === undefined ? undefined : Number(precision), values[next++])
  })
  if (next !== values.length) throw new Error(`${JSON.stringify(text)} asks for ${next} values, not ${values.length}`)
  return formatted
}

const formatOne = (verb: string, precision: number | undefined, value: Value): string => {
  switch (verb) {
    case "s":
      return typeof value === "string"
        ? value
        : typeof value === "object"
        ? JSON.stringify(value, jsonValue)
        : `${value}`
    case "d":
      if (typeof value === "bigint" || typeof value === "number") return String(value)
      break
    case "f":
    case "e":
      if (typeof value === "bigint" || typeof value === "number") {
        return verb === "f" ? Number(value).toFixed(precision ?? 6) : Number(value).toExponential(precision ?? 6)
      }
      break
    case "b":
      if (typeof value === "bigint") return value.toString(2)
      if (typeof value === "boolean") return value ? "1" : "0"
      break
    case "o":
      if (typeof value === "bigint") return value.toString(8)
      break
    case "x":
    case "X": {
      const hex = typeof value === "bigint"
        ? value.toString(16)
        : typeof value === "string" || value instanceof Uint8Array
        ? Buffer.from(value as string).toString("hex")
        : undefined
      if (hex !== undefined) return verb === "x" ? hex : hex.toUpperCase()
      break
    }
  }
  throw new Error(`%${verb} cannot show a value of type ${typeof value}`)
}

const sha256 = (text: string | Uint8Array): Uint8Array => new Uint8Array(createHash("sha256").update(text).digest())

const fnv64a = (text: string): Uint8Array => {
  let hash = 0xcbf29ce484222325n
  for (const byte of Buffer.from(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n)
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(hash)
  return new Uint8Array(bytes)
}

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"

/** Each letter is chosen by four bytes of the seed's hash, which are used round and round. */
const seededText = (length: bigint, seed: string): string => {
  if (length <= 0n || length > 4096n) {
    throw new Error(`random.seededString needs a length from 1 to 4096, found ${length}`)
  }
  const hash = Buffer.from(sha256(seed))
  return Array.from(
    { length: Number(length) },
    (_, index) => alphabet[hash.readUInt32BE((index * 4) % hash.length) % alphabet.length]
  ).join("")
}

const fromJson = (value: Value): Value => {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value
  if (Array.isArray(value)) return value.map(fromJson)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fromJson(item)]))
}

const jsonValue = (_: string, value: Value): Value => typeof value === "bigint" ? Number(value) : value
