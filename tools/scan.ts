/** A small scanner for TypeScript text: what is code, what is comment, what a file imports. */

export interface Scanned {
  /** The text with comments blanked: line numbers and offsets are kept. */
  readonly withoutComments: string
  /** The same with the insides of strings and templates blanked too. */
  readonly code: string
  readonly docs: ReadonlyArray<Doc>
}

export interface Doc {
  /** The comment's lines without the leading stars. */
  readonly text: string
  readonly start: number
  readonly end: number
}

const blank = (text: string): string => text.replace(/[^\n]/g, " ")

const beforeRegex = /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|yield|await))$/

export const scan = (text: string): Scanned => {
  const docs: Array<Doc> = []
  const depths: Array<number> = [] // one entry an open `${`: how many braces are open inside it
  let withoutComments = ""
  let code = ""
  let at = 0
  const keep = (end: number): void => {
    withoutComments += text.slice(at, end)
    code += text.slice(at, end)
    at = end
  }
  const comment = (end: number): void => {
    withoutComments += blank(text.slice(at, end))
    code += blank(text.slice(at, end))
    at = end
  }
  const literal = (end: number): void => {
    withoutComments += text.slice(at, end)
    code += text[at] + blank(text.slice(at + 1, end - 1)) + (end - 1 > at ? text[end - 1] : "")
    at = end
  }
  const endOfQuoted = (quote: string): number => {
    let end = at + 1
    while (end < text.length && text[end] !== quote && text[end] !== "\n") end += text[end] === "\\" ? 2 : 1
    return Math.min(end + 1, text.length)
  }
  const endOfRegex = (): number => {
    let end = at + 1
    let inClass = false
    while (end < text.length && text[end] !== "\n" && (inClass || text[end] !== "/")) {
      if (text[end] === "[") inClass = true
      if (text[end] === "]") inClass = false
      end += text[end] === "\\" ? 2 : 1
    }
    return Math.min(end + 1, text.length)
  }
  /** From a backtick, or from the brace that closes a `${}`, to the template's end or to its next `${`. */
  const template = (): void => {
    let end = at + 1
    while (end < text.length && text[end] !== "`" && !text.startsWith("${", end)) end += text[end] === "\\" ? 2 : 1
    const opens = text.startsWith("${", end)
    literal(Math.min(end + (opens ? 2 : 1), text.length))
    if (opens) depths.push(0)
  }
  while (at < text.length) {
    const char = text[at]
    const inner = depths.length - 1
    if (text.startsWith("//", at)) {
      const end = text.indexOf("\n", at)
      comment(end === -1 ? text.length : end)
    } else if (text.startsWith("/*", at)) {
      const close = text.indexOf("*/", at + 2)
      const end = close === -1 ? text.length : close + 2
      if (text.startsWith("/**", at)) docs.push({ text: bodyOfDoc(text.slice(at, end)), start: at, end })
      comment(end)
    } else if (char === "\"" || char === "'") literal(endOfQuoted(char))
    else if (char === "`") template()
    else if (char === "}" && depths[inner] === 0) {
      depths.pop()
      template()
    } else if (char === "/" && beforeRegex.test(code.trimEnd().slice(-12))) literal(endOfRegex())
    else {
      if (inner >= 0 && char === "{") depths[inner] = (depths[inner] ?? 0) + 1
      if (inner >= 0 && char === "}") depths[inner] = (depths[inner] ?? 0) - 1
      keep(at + 1)
    }
  }
  return { withoutComments, code, docs }
}

const bodyOfDoc = (comment: string): string =>
  comment.replace(/^\/\*\*/, "").replace(/\*\/$/, "").split("\n").map((line) => line.replace(/^\s*\* ?/, "")).join("\n")

export const lineAt = (text: string, offset: number): number => text.slice(0, offset).split("\n").length

export interface Import {
  readonly from: string
  readonly line: number
}

const importForms = [
  /^[ \t]*(?:import|export)\b(?:[^"'`;=()]*?\bfrom\b)?\s*["']([^"']+)["']/gm,
  /\bimport\(\s*["']([^"']+)["']\s*\)/g
]

/** Every module that the text imports, types included, in any form. */
export const importsOf = (scanned: Scanned): ReadonlyArray<Import> =>
  importForms.flatMap((form) =>
    [...scanned.withoutComments.matchAll(form)].map((match) => ({
      from: match[1] ?? "",
      line: lineAt(scanned.withoutComments, match.index + match[0].length)
    }))
  )
