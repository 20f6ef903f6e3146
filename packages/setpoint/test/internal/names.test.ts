import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Names from "setpoint/internal/names"

const holds = (verdict: Names.Verdict) => assert.strictEqual(verdict, undefined)
const says = (verdict: Names.Verdict, part: string) => assert.include(verdict ?? "nothing wrong", part)

const unicode = [
  "é",
  "ﬀ",
  "ß",
  "\u0000",
  "\u200b",
  "a\n",
  "a ",
  "名前",
  "😀",
  "\ud800",
  "Ａ",
  "a\u0301",
  "İ",
  "ı",
  "\u202e"
]
const judges = {
  subdomain: Names.checkSubdomain,
  label: Names.checkLabel,
  label1035: Names.checkLabel1035,
  pathSegment: Names.checkPathSegment,
  qualifiedName: Names.checkQualifiedName,
  group: Names.checkGroup,
  version: Names.checkVersion,
  plural: Names.checkPlural,
  kind: Names.checkKind
}

describe("every rule", () => {
  for (const [name, judge] of Object.entries(judges)) {
    it(`${name} refuses all but plain ASCII, wherever it stands`, () => {
      for (const text of unicode) {
        for (const value of [text, `a${text}`, `${text}a`, `a${text}a`]) assert.isString(judge(value))
      }
    })
    it(`${name} names a bad character in printable ASCII`, () => {
      const verdict = judge("a\u202eb") ?? ""
      assert.match(verdict, /\\u\{202e\}/)
      assert.match(verdict, /^[ -~]*$/)
    })
    it(`${name} refuses a very long text by its length alone`, () => {
      says(judge("a".repeat(1_000_000)), "1000000")
    })
    it.prop(`${name} gives a verdict on any text`, [Schema.String], ([text]) => {
      const verdict = judge(text)
      return verdict === undefined || verdict.length < 1000
    })
  }
  it("all but the group refuse an empty text", () => {
    for (const [name, judge] of Object.entries(judges)) if (name !== "group") says(judge(""), "must not be empty")
    holds(Names.checkGroup(""))
  })
})

describe("names of objects", () => {
  it("a subdomain has labels between dots, 253 characters at most", () => {
    for (const value of ["a", "0", "a-b", "a.b", "web-0.example.dev", "a".repeat(253)]) {
      holds(Names.checkSubdomain(value))
    }
    for (const value of ["-a", "a-", ".a", "a.", "a..b", "a.-b", "a-.b", "A", "a_b", "a/b"]) {
      assert.isString(Names.checkSubdomain(value))
    }
    says(Names.checkSubdomain("a".repeat(254)), "at most 253 characters, but has 254")
  })
  it("a label has no dot, 63 characters at most", () => {
    for (const value of ["a", "1", "kube-system", "a".repeat(63)]) holds(Names.checkLabel(value))
    for (const value of ["a.b", "a-", "A", "a".repeat(64)]) assert.isString(Names.checkLabel(value))
  })
  it("a DNS-1035 label begins with a letter", () => {
    holds(Names.checkLabel1035("a1"))
    says(Names.checkLabel1035("1a"), "beginning with a letter")
  })
  it("a path segment may be an RBAC name and never leaves its place", () => {
    for (const value of ["system:node", "Admin", "a.b", "..."]) holds(Names.checkPathSegment(value))
    for (const value of [".", "..", "a/b", "a%2fb", "a b"]) assert.isString(Names.checkPathSegment(value))
  })
  it("a prefix of a generated name may end in a dash", () => {
    holds(Names.checkGenerateName("web-"))
    holds(Names.checkGenerateName("web"))
    for (const value of ["-", "Web-", "web.-", ""]) assert.isString(Names.checkGenerateName(value))
  })
  it("a generated name keeps 63 characters and is valid", () => {
    let n = 0
    const pick = (bound: number) => n++ % bound
    assert.strictEqual(Names.generatedName("web-", pick), "web-bcdfg")
    const long = Names.generatedName("a".repeat(200), pick)
    assert.strictEqual(long.length, 63)
    holds(Names.checkLabel(long))
  })
})

describe("labels and annotations", () => {
  it("a key is a name with an optional prefix", () => {
    for (const value of ["a", "A_b.c-d", "example.dev/a", `${"a".repeat(253)}/${"b".repeat(63)}`]) {
      holds(Names.checkQualifiedName(value))
    }
    for (const value of ["/a", "a/", "a/b/c", "Example.dev/a", "_a", "a.", "a".repeat(64)]) {
      assert.isString(Names.checkQualifiedName(value))
    }
    says(Names.checkQualifiedName("Example.dev/a"), `prefix before "/" that must not contain "E"`)
    says(Names.checkQualifiedName("example.dev/"), `name after "/" that must not be empty`)
  })
  it("a label's value may be empty", () => {
    for (const value of ["", "a", "1.2_3-x", "a".repeat(63)]) holds(Names.checkLabelValue(value))
    for (const value of ["-a", "a b", "a/b", "a".repeat(64)]) assert.isString(Names.checkLabelValue(value))
  })
  it("a wrong label is named, also among 100,000", () => {
    const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, "v"]))
    holds(Names.checkLabels(many))
    says(Names.checkLabels({ ...many, last: "no spaces" }), `has a value at "last" that must not contain " "`)
    says(Names.checkLabels({ "a b": "" }), `has the key "a b"`)
  })
  it("annotations take keys in any case and any value, 256 KiB together in UTF-8", () => {
    holds(Names.checkAnnotations({ "Example.dev/A": "any text: é, 😀\n" }))
    holds(Names.checkAnnotations({ a: "x".repeat(Names.maxAnnotationBytes - 1) }))
    says(Names.checkAnnotations({ a: "x".repeat(Names.maxAnnotationBytes) }), `but has ${Names.maxAnnotationBytes + 1}`)
    says(
      Names.checkAnnotations({ a: "é".repeat(Names.maxAnnotationBytes) }),
      `but has ${2 * Names.maxAnnotationBytes + 1}`
    )
    assert.isString(Names.checkAnnotations({ "a b": "" }))
  })
  it.prop("annotations count bytes as a UTF-8 encoder does", [Schema.String], ([text]) => {
    const fill = Names.maxAnnotationBytes - 1 - new TextEncoder().encode(text).length
    const fits = Names.checkAnnotations({ a: text + "x".repeat(fill) })
    const exceeds = Names.checkAnnotations({ a: text + "x".repeat(fill + 1) })
    return fits === undefined && exceeds !== undefined
  })
})

describe("kinds", () => {
  it("a plural is guessed as Kubernetes does", () => {
    const plurals = {
      Website: "websites",
      Ingress: "ingresses",
      NetworkPolicy: "networkpolicies",
      Endpoints: "endpoints"
    }
    for (const [kind, plural] of Object.entries(plurals)) assert.strictEqual(Names.pluralOf(kind), plural)
  })
  it("groups, versions and kinds have their own forms", () => {
    for (const value of ["apps", "example.dev"]) holds(Names.checkGroup(value))
    for (const value of ["v1", "v1beta1", "stable"]) holds(Names.checkVersion(value))
    for (const value of ["Website", "ETCDBackup", "website"]) holds(Names.checkKind(value))
    for (const value of ["1v", "V1", "v1."]) assert.isString(Names.checkVersion(value))
    for (const value of ["9Lives", "My Kind", "My.Kind", "Kind-"]) assert.isString(Names.checkKind(value))
  })
  it("versions are ordered by how much they promise", () => {
    const ordered = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
    assert.deepStrictEqual(ordered.toReversed().toSorted(Names.byPriority), ordered)
  })
})
