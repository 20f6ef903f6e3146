/**
 * Regular expressions in schemas. JSON Schema means those of JavaScript; Kubernetes' documents are written for Go's RE2,
 * which differs in a few forms. A pattern that JavaScript reads as it stands is taken so; else the forms of RE2 are
 * translated where JavaScript can say the same.
 */

/** The expression of a pattern; `undefined` where JavaScript cannot say it. */
export const compile = (pattern: string): RegExp | undefined => {
  const strict = make(pattern, "u")
  if (strict !== undefined) return strict
  const translated = translate(pattern)
  if (translated === undefined) return undefined
  const { flags, source } = translated
  // Without Unicode mode needless escapes are allowed, but `\p` is no class.
  return make(source, `${flags}u`) ?? (/\\p/i.test(source) ? undefined : make(source, flags))
}

const make = (source: string, flags: string): RegExp | undefined => {
  try {
    return new RegExp(source, flags)
  } catch {
    return undefined // this is how the language says that the text is no expression
  }
}

/** Flags that stand before all that they could change; "U" only turns greediness around, which no match depends on. */
const leadingFlags = /^(\^|\\A)?\(\?([isU]+)\)/

const posix: { readonly [name: string]: string } = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: "\\x00-\\x7f",
  blank: "\\t ",
  cntrl: "\\x00-\\x1f\\x7f",
  digit: "0-9",
  graph: "!-~",
  lower: "a-z",
  print: " -~",
  punct: "!-\\/:-@\\[-`{-~",
  space: "\\t\\n\\v\\f\\r ",
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f"
}

const translate = (pattern: string): { readonly source: string; readonly flags: string } | undefined => {
  const [whole = "", anchor = "", given = ""] = leadingFlags.exec(pattern) ?? []
  const text = anchor + pattern.slice(whole.length)
  let source = ""
  let inClass = false
  for (let i = 0; i < text.length;) {
    const token = tokenAt(text, i, inClass)
    if (token.to === undefined) return undefined
    source += token.to
    i += token.from.length
    inClass = token.from.startsWith("[") && !inClass ? true : token.from === "]" ? false : inClass
  }
  return { source, flags: ["i", "s"].filter((flag) => given.includes(flag)).join("") }
}

type Token = { readonly from: string; readonly to: string | undefined }

const tokenAt = (text: string, at: number, inClass: boolean): Token => {
  const rest = text.slice(at, at + 16)
  const [escape] = /^\\[pP][A-Z]|^\\[^]/.exec(rest) ?? []
  if (escape !== undefined) return { from: escape, to: inClass ? property(escape) : edges[escape] ?? property(escape) }
  if (!inClass) {
    const [open] = /^\[\^?\]?/.exec(rest) ?? []
    if (open !== undefined) return { from: open, to: open.replace("]", "\\]") } // a "]" that comes first is a character
    return rest.startsWith("(?P<") ? { from: "(?P<", to: "(?<" } : same(rest)
  }
  const [named, name = ""] = /^\[:([a-z]+):\]/.exec(rest) ?? []
  return named === undefined ? same(rest) : { from: named, to: posix[name] }
}

const same = (rest: string): Token => ({ from: rest.charAt(0), to: rest.charAt(0) })

const edges: { readonly [escape: string]: string } = { "\\A": "(?<![^])", "\\z": "(?![^])" }

const property = (escape: string): string => escape.length === 3 ? `${escape.slice(0, 2)}{${escape.slice(2)}}` : escape
