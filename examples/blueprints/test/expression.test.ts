import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import type { Resource } from "setpoint"
import * as Cel from "../src/cel.ts"
import * as Expression from "../src/expression.ts"

const instance: Resource.Json = {
  metadata: { name: "shop", uid: "6c2e" },
  spec: {
    name: "shop",
    replicas: 2,
    share: 1,
    workers: ["ann", "bob"],
    labels: { b: "1", a: "2" },
    lists: [{ object: "x", countOfObject: 2 }, { object: "y", countOfObject: 1 }]
  }
}
const share = { properties: { spec: { properties: { share: { type: "number" } } } } }
const scope: Cel.Scope = { schema: Cel.any, deployment: Cel.any, pods: Cel.listOf(Cel.any) }
const values: Cel.Values = {
  schema: Cel.toCel(instance, share),
  deployment: Cel.toCel({
    metadata: { name: "shop" },
    spec: { replicas: 2 },
    status: { availableReplicas: 2, conditions: [{ type: "Ready", status: "True" }] }
  }),
  pods: Cel.toCel([{ metadata: { name: "p-0" } }, { metadata: { name: "p-1" } }])
}

const evaluate = (template: Resource.Json): unknown => {
  const compiled = Expression.compile(Cel.makeChecker(scope), template, "at")
  assert.deepStrictEqual(compiled.flaws, [])
  const rendered = Expression.render(compiled.template, values)
  return Result.isSuccess(rendered) ? rendered.success : rendered.failure
}

const flawOf = (template: Resource.Json, names: Cel.Scope = scope): string =>
  Expression.compile(Cel.makeChecker(names), template, "at").flaws.map((flaw) => `${flaw.field}: ${flaw.why}`).join()

describe("templates", () => {
  it("a text that is one expression has the expression's value, whatever its type", () => {
    assert.deepStrictEqual(evaluate({ a: "${schema.spec.replicas}", b: ["${schema.spec.labels}"], c: "${null}" }), {
      a: 2,
      b: [{ b: "1", a: "2" }]
    })
  })

  it("any other text is text, with its expressions filled in", () => {
    assert.strictEqual(evaluate("http://${schema.spec.name}.${deployment.metadata.name}:80/"), "http://shop.shop:80/")
  })

  it("a number in a text must be made a text", () => {
    assert.match(flawOf("n-${1 + 1}"), /at: \$\{1 \+ 1\} stands in a text and gives int; write string/)
    assert.deepInclude(evaluate("n-${schema.spec.replicas}"), { _tag: "Wrong" })
    assert.strictEqual(evaluate("n-${string(schema.spec.replicas)}"), "n-2")
  })

  it("braces in expressions and in their strings close nothing", () => {
    assert.deepStrictEqual(evaluate(`\${{"a": {"b": "}"}}}`), { a: { b: "}" } })
    assert.strictEqual(evaluate(`echo \${"\${USER}"} \${'{'}`), "echo ${USER} {")
    assert.strictEqual(evaluate("$HOME $(x) {y}"), "$HOME $(x) {y}")
  })

  it("an open, an empty and a nested expression are refused", () => {
    assert.match(flawOf("${schema.spec"), /is not closed/)
    assert.match(flawOf("a ${ } b"), /empty/)
    assert.match(flawOf("${a + ${b}}"), /inside of/)
  })

  it("an absent optional and omit() leave their field out", () => {
    assert.deepStrictEqual(
      evaluate({ a: "${deployment.status.?endpoint}", b: "${omit()}", c: "${deployment.status.?availableReplicas}" }),
      { c: 2 }
    )
  })

  it("what is not there yet is missing, what cannot be is wrong", () => {
    assert.deepStrictEqual(evaluate("${deployment.status.endpoint}"), { _tag: "Missing", why: "No such key: endpoint" })
    assert.deepInclude(evaluate("${pods[7].metadata}"), { _tag: "Missing" })
    assert.deepInclude(evaluate("${schema.spec.replicas + schema.spec.name}"), { _tag: "Wrong" })
    assert.deepInclude(evaluate("${schema.spec.replicas / 0}"), { _tag: "Wrong" })
  })

  it("names are found where they are free, not where a macro binds them", () => {
    const { uses } = Expression.compile(
      Cel.makeChecker({ ...scope, w: Cel.any }),
      "${pods.map(w, w.metadata.name) + [cel.bind(pods, schema.spec.name, pods)]}",
      "at"
    )
    assert.deepStrictEqual([...uses].toSorted(), ["pods", "schema"])
  })

  it("an unknown name is refused, and the known ones are told", () => {
    assert.strictEqual(
      flawOf({ a: [{ b: "x ${depoyment.spec}" }] }),
      "at.a[0].b: ${depoyment.spec}: Unknown variable: depoyment; known here are deployment, pods, schema"
    )
  })
})

describe("types", () => {
  const typed: Cel.Scope = {
    schema: Cel.ofSchema({
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: {
            name: { type: "string" },
            ratio: { type: "number" },
            any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            databases: { type: "array", items: { type: "object", properties: { size: { type: "integer" } } } },
            byName: {
              type: "object",
              additionalProperties: { type: "object", properties: { on: { type: "boolean" } } }
            }
          }
        }
      }
    })
  }
  const typeOf = (source: string) =>
    Result.match(Cel.makeChecker(typed).compile(source), { onSuccess: ({ type }) => type, onFailure: (why) => why })

  it("follow the schema through objects, lists and maps", () => {
    assert.strictEqual(typeOf("schema.spec.name"), "string")
    assert.strictEqual(typeOf("schema.spec.databases[0].size"), "int")
    assert.strictEqual(typeOf("schema.spec.databases.map(d, d.size)"), "list<int>")
    assert.strictEqual(typeOf("schema.spec.byName['x'].on"), "bool")
    assert.strictEqual(typeOf("schema.spec.any.at.all"), "dyn")
  })

  it("a field that the schema does not have, and an operation that its types do not, are refused", () => {
    assert.strictEqual(typeOf("schema.spec.nme"), "No such key: nme")
    assert.strictEqual(typeOf("schema.spec.databases.map(d, d.sze)"), "No such key: sze")
    assert.strictEqual(typeOf("schema.spec.name + 1"), "no such overload: string + int")
    assert.strictEqual(typeOf("schema.spec.ratio > 1"), "bool")
  })

  it("a whole number is a double where its schema says number", () => {
    assert.strictEqual(evaluate("${schema.spec.share * 1.5}"), 1.5)
  })
})

describe("functions", () => {
  const table: ReadonlyArray<readonly [string, unknown]> = [
    ["lists.range(size(schema.spec.workers))", [0, 1]],
    ["schema.spec.labels.map(k, k).sort()", ["a", "b"]],
    ["schema.spec.lists.map(o, lists.range(o.countOfObject).map(i, {'object': o.object, 'index': i})).flatten()", [
      { object: "x", index: 0 },
      { object: "x", index: 1 },
      { object: "y", index: 0 }
    ]],
    ["pods.map(p, p.metadata.name).join(', ')", "p-0, p-1"],
    ["lists.setAtIndex([1, 2], 0, 3)", [3, 2]],
    ["lists.insertAtIndex(['a'], 1, 'b')", ["a", "b"]],
    ["lists.removeAtIndex([1, 2], 0)", [2]],
    ["[1, 2, 1].distinct()", [1, 2]],
    ["[1, 2, 3].slice(1, 3).reverse()", [3, 2]],
    ["string(base64.decode('YXBp')) + base64.encode(b'api')", "apiYXBp"],
    ["'%s-%d-%x'.format(['a', 7, 255])", "a-7-ff"],
    ["'%x'.format([hash.sha256('')])", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    ["'%x'.format([hash.fnv64a('a')])", "af63dc4c8601ec8c"],
    ["'a.b'.replace('.', '-') + 'abc'.charAt(1) + 'ab'.reverse()", "a-bbba"],
    ["{'a': 1}.merge({'b': 2})", { a: 1, b: 2 }],
    ["json.unmarshal('{\"a\": [1, 2.5]}').a[1]", 2.5],
    ["json.marshal({'a': 1})", "{\"a\":1}"],
    ["deployment.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')", true],
    ["deployment.status.?endpoint.orValue('none')", "none"],
    ["deployment.status.?endpoint != ''", true],
    ["deployment.status.?availableReplicas > 1", true],
    ["deployment.status.?missing > 1", false],
    ["deployment.status.?loadBalancer.?ingress.size() > 0", false],
    ["has(deployment.status.endpoint)", false],
    ["schema.spec.workers.filter(w, w != 'ann')", ["bob"]],
    ["pods.sortBy(p, p.metadata.name).map(p, p.metadata.name)", ["p-0", "p-1"]],
    ["([3, 1] + [2]).sortBy(n, -n)", [3, 2, 1]],
    ["schema.spec.labels.transformList(k, v, k + '=' + v).join('&')", "a=2&b=1"],
    ["{'a': 1, 'b': 5, 'c': 3}.transformMap(k, v, v > 1, v * 10)", { b: 50, c: 30 }],
    ["schema.spec.workers.transformMap(i, w, w + string(i))", { 0: "ann0", 1: "bob1" }],
    ["{'x': 'one', 'y': 'two'}.transformMapEntry(k, v, {v: k})", { one: "x", two: "y" }],
    ["((schema.spec.labels)).all(k, v, k != v) && !schema.spec.workers.exists(i, w, w == string(i))", true],
    ["[[2, 1], [4, 3]].map(l, l.sortBy(x, x)).sortBy(l, -l[0])[0]", [3, 4]],
    ["schema.spec.workers.existsOne(w, w == 'ann')", true],
    ["random.seededString(10, 'seed') == random.seededString(10, 'seed')", true],
    ["random.seededString(10, 'seed').matches('^[0-9a-z]{10}$')", true],
    ["random.seededInt(30000, 32768, 'seed') >= 30000", true]
  ]
  for (const [source, expected] of table) {
    it(`${source} is ${JSON.stringify(expected)}`, () => assert.deepStrictEqual(evaluate(`\${${source}}`), expected))
  }

  it("sizes that would fill the memory are refused", () => {
    assert.deepInclude(evaluate("${lists.range(1000000000)}"), { _tag: "Wrong" })
    assert.deepInclude(evaluate("${random.seededString(1000000000, 'x')}"), { _tag: "Wrong" })
  })
})
