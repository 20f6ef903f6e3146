/**
 * How fields that a Schema does not know survive a typed read-modify-write (S13): a merge of three.
 *
 * `raw` is the stored object, `known` is what of it the Schema gives back, and `mine` is what the caller made of that.
 * What is in `raw` and not in `known` is unknown to the Schema, so the caller cannot have touched it: it is put into
 * `mine` at its place. What is in `known` and not in `mine` the caller has removed, with all in it.
 */
import { equal, isArray, isObject, type Json, type JsonArray, type JsonObject } from "./json.ts"

/** `mine` with what `raw` has beyond `known`. */
export const retain = (mine: Json, known: Json, raw: Json): Json => equal(known, raw) ? mine : merge(mine, known, raw)

const merge = (mine: Json, known: Json, raw: Json): Json => {
  if (isObject(mine) && isObject(known) && isObject(raw)) return mergeObject(mine, known, raw)
  return isArray(mine) && isArray(known) && isArray(raw) ? mergeArray(mine, known, raw) : mine
}

const mergeObject = (mine: JsonObject, known: JsonObject, raw: JsonObject): JsonObject => {
  const merged: { [name: string]: Json } = { ...mine }
  for (const name of Object.keys(raw)) {
    const isKnown = Object.hasOwn(known, name)
    if (!Object.hasOwn(mine, name)) {
      if (!isKnown) merged[name] = raw[name]
    } else if (isKnown) {
      merged[name] = merge(mine[name], known[name], raw[name])
    }
  }
  return merged
}

/** Elements are found again by their content, else by what names them, else by their place in a list of equal length. */
const mergeArray = (mine: JsonArray, known: JsonArray, raw: JsonArray): JsonArray => {
  const origin = origins(mine, known)
  const merged = mine.map((element, i) => {
    const j = origin[i]
    return j === undefined || j >= raw.length ? element : merge(element, known[j], raw[j])
  })
  // Where a view shows only the first elements, the others are unknown to it.
  return raw.length > known.length ? [...merged, ...raw.slice(known.length)] : merged
}

/** For each of my elements, which of the known ones it was. */
const origins = (mine: JsonArray, known: JsonArray): ReadonlyArray<number | undefined> => {
  const origin: Array<number | undefined> = mine.map(() => undefined)
  const free = new Set(known.keys())
  const assign = (i: number, j: number | undefined) => {
    if (j === undefined || !free.delete(j)) return
    origin[i] = j
  }
  for (const [i, element] of mine.entries()) if (i < known.length && equal(element, known[i])) assign(i, i)
  for (const name of [(element: Json) => JSON.stringify(element), identityOf]) {
    const places = new Map<string, Array<number>>()
    for (const j of free) {
      const id = name(known[j])
      if (id !== undefined) places.set(id, [...(places.get(id) ?? []), j])
    }
    for (const [i, element] of mine.entries()) {
      const id = origin[i] === undefined ? name(element) : undefined
      if (id !== undefined) assign(i, places.get(id)?.shift())
    }
  }
  if (mine.length === known.length) {
    for (const i of mine.keys()) {
      const isNamed = identityOf(mine[i]) !== undefined && identityOf(known[i]) !== undefined
      if (origin[i] === undefined && !isNamed) assign(i, i)
    }
  }
  return origin
}

/** What names an element of a list: the same members that name it in Kubernetes' own lists. */
const identityOf = (element: Json): string | undefined => {
  if (!isObject(element)) return undefined
  for (const name of ["name", "key", "id", "uid", "type"]) {
    const value = Object.hasOwn(element, name) ? element[name] : undefined
    if (typeof value === "string" || typeof value === "number") return `${name}=${value}`
  }
  return undefined
}
