/**
 * Kubernetes' rules for names, as pure functions: `undefined` where the text keeps the rule, else what is wrong and
 * what would be right, to follow the name of the field in a message. The rules are those of
 * `k8s.io/apimachinery/pkg/util/validation` and `pkg/api/validation`.
 */

/** What is wrong, and what would be right; `undefined` where nothing is. */
export type Verdict = string | undefined

type Rule = {
  /** Most characters; all that are allowed are ASCII, so characters are bytes. */
  readonly max: number
  readonly form: RegExp
  /** One character that may stand somewhere in the text. */
  readonly allowed: RegExp
  readonly right: string
}

const judge = (rule: Rule) => (value: string): Verdict => {
  if (value === "") return `must not be empty: ${rule.right}`
  if (value.length > rule.max) return `must have at most ${rule.max} characters, but has ${value.length}`
  if (rule.form.test(value)) return undefined
  for (const character of value) {
    if (!rule.allowed.test(character)) return `must not contain ${quote(character)}: ${rule.right}`
  }
  return `must not be ${quote(value)}: ${rule.right}`
}

/** A text as a message can show it, whatever is in it: all but printable ASCII is escaped. */
const quote = (text: string): string =>
  JSON.stringify(text.slice(0, 80)).replace(
    /[^ -~]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
  )

// ---------------------------------------------------------------------------------------------------------------------
// names of objects
// ---------------------------------------------------------------------------------------------------------------------

/** A DNS-1123 subdomain of at most 253 characters: the name of an object, an API group. */
export const checkSubdomain = judge({
  max: 253,
  form: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  allowed: /^[-.a-z0-9]$/,
  right: `use lower case letters, digits, "-" and ".", with a letter or digit at both ends and around each "."`
})

/** A DNS-1123 label of at most 63 characters: a namespace. */
export const checkLabel = judge({
  max: 63,
  form: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
  allowed: /^[-a-z0-9]$/,
  right: `use lower case letters, digits and "-", with a letter or digit at both ends`
})

/** A DNS-1035 label of at most 63 characters: the name of a Service, a version, a plural. */
export const checkLabel1035 = judge({
  max: 63,
  form: /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
  allowed: /^[-a-z0-9]$/,
  right: `use lower case letters, digits and "-", beginning with a letter and ending with a letter or digit`
})

/**
 * A name that is safe as one segment of a path: what the RBAC kinds allow, whose names look like `system:node`.
 * Narrower than Kubernetes in one point: only printable ASCII, at most 253 characters.
 */
export const checkPathSegment = (value: string): Verdict =>
  value === "." || value === ".." ? `must not be ${quote(value)}, which a path cannot hold` : pathSegmentForm(value)

const pathSegmentForm = judge({
  max: 253,
  form: /^[!-$&-.0-~]+$/,
  allowed: /^[!-$&-.0-~]$/,
  right: `use printable ASCII without spaces, "/" and "%"`
})

const suffixLetters = "bcdfghjklmnpqrstvwxz2456789"
const suffixLength = 5
const maxGenerated = 63

/** A prefix for generated names, judged by a name that it would make: so it may end in `-`. */
export const checkGenerateName = (prefix: string, name: (value: string) => Verdict = checkSubdomain): Verdict =>
  name(prefix === "" ? prefix : generatedName(prefix, () => 0))

/**
 * A name from a prefix and five letters, at most 63 characters long: a longer prefix is cut. `pick(n)` draws a whole
 * number from 0 to n - 1. The letters are Kubernetes' own, which spell no words.
 */
export const generatedName = (prefix: string, pick: (n: number) => number): string => {
  let name = prefix.slice(0, maxGenerated - suffixLength)
  for (let i = 0; i < suffixLength; i++) name += suffixLetters.charAt(pick(suffixLetters.length))
  return name
}

// ---------------------------------------------------------------------------------------------------------------------
// labels and annotations
// ---------------------------------------------------------------------------------------------------------------------

const qualifiedPart = judge({
  max: 63,
  form: /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/,
  allowed: /^[-A-Za-z0-9_.]$/,
  right: `use letters, digits, "-", "_" and ".", with a letter or digit at both ends`
})

/** A key of a label, or a finalizer: a name of at most 63 characters, after an optional DNS prefix and `/`. */
export const checkQualifiedName = (value: string): Verdict => {
  const slash = value.indexOf("/")
  const prefix = slash < 0 ? undefined : value.slice(0, slash)
  const name = value.slice(slash + 1)
  if (name.includes("/")) return `must have at most one "/", as in "example.dev/name"`
  const ofPrefix = prefix === undefined ? undefined : checkSubdomain(prefix)
  if (ofPrefix !== undefined) return `has a prefix before "/" that ${ofPrefix}`
  const ofName = qualifiedPart(name)
  return ofName === undefined || prefix === undefined ? ofName : `has a name after "/" that ${ofName}`
}

/** A value of a label: empty, or a name of at most 63 characters. */
export const checkLabelValue = (value: string): Verdict => value === "" ? undefined : qualifiedPart(value)

/** All labels of an object; the first that is wrong is named. */
export const checkLabels = (record: { readonly [key: string]: string }): Verdict => {
  for (const key of Object.keys(record)) {
    const ofKey = checkQualifiedName(key)
    if (ofKey !== undefined) return `has the key ${quote(key)}, which ${ofKey}`
    const ofValue = checkLabelValue(record[key])
    if (ofValue !== undefined) return `has a value at ${quote(key)} that ${ofValue}`
  }
  return undefined
}

/** Bytes (UTF-8) that all annotations of an object may have together, keys and values. */
export const maxAnnotationBytes = 256 * 1024

/** All annotations of an object: keys as of labels, in any case; values are free, but all together are bounded. */
export const checkAnnotations = (record: { readonly [key: string]: string }): Verdict => {
  let bytes = 0
  for (const key of Object.keys(record)) {
    const ofKey = checkQualifiedName(key.toLowerCase())
    if (ofKey !== undefined) return `has the key ${quote(key)}, which ${ofKey}`
    bytes += utf8Length(key) + utf8Length(record[key])
  }
  return bytes <= maxAnnotationBytes ? undefined : `must have at most ${maxAnnotationBytes} bytes, but has ${bytes}`
}

const utf8Length = (text: string): number => {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    const isPair = unit >= 0xd800 && unit < 0xdc00 && text.charCodeAt(i + 1) >> 10 === 0x37
    bytes += unit < 0x800 ? 1 : 2
    if (isPair) i++ // two units, four bytes
  }
  return bytes
}

// ---------------------------------------------------------------------------------------------------------------------
// kinds
// ---------------------------------------------------------------------------------------------------------------------

/** An API group: `""` is the core group, all others are DNS subdomains such as `example.dev`. */
export const checkGroup = (value: string): Verdict => value === "" ? undefined : checkSubdomain(value)

/** The name of a version, such as `v1` or `v1beta2`. */
export const checkVersion = checkLabel1035

/** The plural of a kind, as it stands in a path: `websites`. */
export const checkPlural = checkLabel1035

/** The name of a kind, such as `Website`. */
export const checkKind = judge({
  max: 63,
  form: /^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$/,
  allowed: /^[-A-Za-z0-9]$/,
  right: `use letters and digits, beginning with a letter, as in "Website"`
})

/**
 * The plural that Kubernetes guesses for a kind (`meta.UnsafeGuessKindToResource`). It knows no English: `Gateway`
 * gives `gatewaies`, so such a kind says its plural itself.
 */
export const pluralOf = (kind: string): string => {
  const singular = kind.toLowerCase()
  if (singular === "" || singular.endsWith("endpoints")) return singular
  if (singular.endsWith("s")) return `${singular}es`
  return singular.endsWith("y") ? `${singular.slice(0, -1)}ies` : `${singular}s`
}

/**
 * An order for versions, the one to prefer first: released, then beta, then alpha, each with the highest number first;
 * names of another form come last, by alphabet (`k8s.io/apimachinery/pkg/version`).
 */
export const byPriority = (a: string, b: string): number => {
  const [rankA, majorA, minorA] = versionParts(a)
  const [rankB, majorB, minorB] = versionParts(b)
  return rankB - rankA || majorB - majorA || minorB - minorA || (a < b ? -1 : a > b ? 1 : 0)
}

const versionParts = (version: string): readonly [rank: number, major: number, minor: number] => {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version)
  if (match === null) return [0, 0, 0]
  const [, major, stage, minor] = match
  return [stage === undefined ? 3 : stage === "beta" ? 2 : 1, Number(major), Number(minor ?? 0)]
}
