import { assert, describe, it } from "@effect/vitest"
import { bans } from "../bans.ts"
import { barrel } from "../barrel.ts"
import { cycles, foreignImports, upwardImports } from "../floors.ts"

const src = (name: string, text: string) => ({ path: `packages/setpoint/src/${name}.ts`, text })
const imports = (...names: ReadonlyArray<string>) => names.map((name) => `import * as X from "${name}"\n`).join("")

describe("floors", () => {
  it("an import of a lower floor or of the same floor is fine", () => {
    const files = [
      src("Kind", imports("./Resource.ts")),
      src("Resource", ""),
      src("Store", imports("./Kind.ts", "effect/Effect"))
    ]
    assert.deepStrictEqual(upwardImports(files), [])
  })

  it("an upward import is caught, and the message names both floors", () => {
    const [problem] = upwardImports([src("Kind", imports("./Store.ts")), src("Store", "")])
    assert.match(problem ?? "", /Kind\.ts: is on floor 1 \(model\) and leans on Store of floor 2/)
  })

  it("an import for types alone is an import", () => {
    const files = [src("Kind", `import type * as Store from "./Store.ts"\n`), src("Store", "")]
    assert.strictEqual(upwardImports(files).length, 1)
  })

  it("an upward import by way of an internal file is caught", () => {
    const files = [
      src("Kind", imports("./internal/kind.ts")),
      src("internal/kind", imports("../Store.ts")),
      src("Store", "")
    ]
    assert.match(upwardImports(files).join(), /Kind\.ts: .* leans on Store/)
  })

  it("an internal file that leans on nothing higher may be imported by any floor", () => {
    const files = [
      src("Kind", imports("./internal/text.ts")),
      src("Controller", imports("./internal/text.ts")),
      src("internal/text", "")
    ]
    assert.deepStrictEqual(upwardImports(files), [])
  })

  it("a module without a floor is caught", () => {
    assert.match(upwardImports([src("Novelty", "")]).join(), /Novelty\.ts: has no floor/)
  })

  it("a cycle is reported once, as the files along it", () => {
    const graph = new Map([["a", ["b"]], ["b", ["c"]], ["c", ["b"]], ["d", ["a"]]])
    assert.deepStrictEqual(cycles(graph), [["b", "c", "b"]])
  })

  it("imports in comments and strings are none, imports over several lines are", () => {
    const text = `/** import * as X from "./Store.ts" */\nconst a = 'import "./Store.ts"'\n`
    assert.deepStrictEqual(upwardImports([src("Kind", text), src("Store", "")]), [])
    const long = `import {\n  a,\n  type B\n} from "./Store.ts"\n`
    assert.strictEqual(upwardImports([src("Kind", long), src("Store", "")]).length, 1)
  })
})

describe("imports that leave the package", () => {
  const of = (name: string, dependencies: ReadonlyArray<string>) => ({
    dir: `packages/${name}`,
    name,
    isPrivate: false,
    dependencies,
    peerDependencies: ["effect"]
  })
  const from = (name: string, specifier: string) => [{ path: `packages/${name}/src/A.ts`, text: imports(specifier) }]

  it("setpoint may import nothing but effect", () => {
    assert.deepStrictEqual(foreignImports(of("setpoint", []), from("setpoint", "effect/Effect")), [])
    assert.match(foreignImports(of("setpoint", []), from("setpoint", "node:fs")).join(), /depends on effect only/)
  })

  it("an undeclared package, another's internal and a path out of the package are caught", () => {
    const sql = of("sql", ["setpoint"])
    assert.deepStrictEqual(foreignImports(sql, from("sql", "setpoint/Store")), [])
    assert.match(foreignImports(sql, from("sql", "yaml")).join(), /does not declare/)
    assert.match(foreignImports(sql, from("sql", "setpoint/internal/x")).join(), /internal to its package/)
    assert.match(foreignImports(sql, from("sql", "../../setpoint/src/Store.ts")).join(), /outside packages\/sql/)
  })
})

describe("bans", () => {
  const caught = (text: string) => bans(src("Kind", text)).map((problem) => problem.replace(/ is not used here.*/, ""))

  it("a banned call is caught with its line, and the message names what to use", () => {
    const [problem] = bans(src("Kind", "const a = 1\nconst now = Date.now()\n"))
    assert.match(problem ?? "", /Kind\.ts:2: Date\.now is not used here\. Use Clock/)
  })

  it.each([
    "new Date(0)",
    "setTimeout(f, 1)",
    "Math.random()",
    "Effect.promise(f)",
    "new Promise(f)",
    "process.env",
    "console.log(1)",
    "const f = async () => 1",
    "async function f() {}",
    "x as any",
    "// @ts-ignore",
    "const a = `${process.pid}`",
    `import * as E from "effect"`
  ])("%s is caught", (text) => {
    assert.strictEqual(bans(src("Kind", text)).length, 1)
  })

  it("words in comments, strings and names are no calls", () => {
    const text = `/** never Date.now, console.log or async f */
// process.exit
const a = "setTimeout", b = \`Math.random \${"process.pid"}\`
const c = self.process.id + a.async + /console\\.log("/.source.length
`
    assert.deepStrictEqual(caught(text), [])
  })

  it("a file outside the banned folders is free", () => {
    assert.deepStrictEqual(bans({ path: "packages/testing/src/A.ts", text: "Date.now()" }), [])
  })
})

describe("barrel", () => {
  it("has one namespace a public module, with the first paragraph of its doc", () => {
    const files = [
      src("Kind", "/**\n * What a kind is.\n *\n * More.\n *\n * @since 0.1.0\n */\nexport const a = 1\n"),
      src("index", ""),
      src("internal/kind", "")
    ]
    assert.strictEqual(
      barrel("packages/setpoint", files),
      "/**\n * What a kind is.\n *\n * @since 0.1.0\n */\nexport * as Kind from \"./Kind.ts\"\n"
    )
  })
})
