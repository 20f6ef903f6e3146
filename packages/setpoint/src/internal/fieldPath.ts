/** How a path into an object is written in messages: `spec.hosts[0]`, `metadata.labels["example.dev/a"]`. */
import * as Json from "./json.ts"

const identifier = /^[A-Za-z_$][\w$]*$/

/** The text of a path that goes through these members and indexes; `""` is the object itself. */
export const text = (tokens: ReadonlyArray<string | number>): string => {
  let path = ""
  for (const token of tokens) {
    if (typeof token === "number") path += `[${token}]`
    else if (identifier.test(token)) path += path === "" ? token : `.${token}`
    else path += `[${JSON.stringify(token)}]`
  }
  return path
}

/** The same for a JSON Pointer; what is no pointer stays as it is. */
export const fromPointer = (pointer: string): string => {
  const tokens = Json.parsePointer(pointer)
  return tokens === undefined ? pointer : text(tokens.map((token) => /^(0|[1-9]\d*)$/.test(token) ? +token : token))
}
