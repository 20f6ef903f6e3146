/** What chainsaw's assertions mean: a subset of the object, with lists of equal length, and keys that filter a list. */
import type { Resource } from "setpoint"

type Json = Resource.Json

/** Where an object is not as asserted, by path; none: it is. */
export const differences = (expected: Json, actual: Json | undefined, path = ""): ReadonlyArray<string> => {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return [`${path} is no list`]
    if (actual.length !== expected.length) return [`${path} has ${actual.length} items, not ${expected.length}`]
    return expected.flatMap((item, index) => differences(item, actual[index], `${path}[${index}]`))
  }
  if (typeof expected !== "object" || expected === null) {
    return Object.is(expected, actual) ? [] : [`${path} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`]
  }
  return Object.entries(expected).flatMap(([key, value]) =>
    differences(value, key.startsWith("(") ? filtered(key, actual) : member(actual, key), `${path}.${key}`)
  )
}

const member = (value: Json | undefined, key: string): Json | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, key)
    ? (value as Resource.JsonObject)[key]
    : undefined

/** `(conditions[?type == 'Ready'])`: the form of filter that the published assertions use. */
const filtered = (key: string, actual: Json | undefined): Json => {
  const filter = /^\((\w+)\[\?(\w+) == '([^']*)'\]\)$/.exec(key)
  if (filter === null) throw new Error(`the assertion ${key} has a form that is not known here`)
  const list = member(actual, filter[1])
  return Array.isArray(list) ? list.filter((item) => member(item, filter[2]) === filter[3]) : []
}
