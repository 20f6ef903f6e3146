/** The page in a real browser. */
import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { type BrowserContext, chromium } from "playwright-core"
import { afterAll, beforeAll } from "vitest"
import * as IS01 from "../corpus/IS-01.wrong.ts"
import { App, createApp } from "../corpus/kit.ts"
import * as ST01 from "../corpus/ST-01.wrong.ts"

const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(Fs.existsSync)

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync"
]

const token = "ctl/apps/a/2/delete:Set/a=kill-after"

let folder = ""
let browser: BrowserContext | undefined

beforeAll(async () => {
  folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "setpoint-page-"))
  if (executablePath === undefined) return
  const options = { executablePath, args: flags, viewport: { width: 1400, height: 800 } }
  browser = await chromium.launchPersistentContext(Path.join(folder, "profile"), options)
}, 60_000)

afterAll(async () => {
  await browser?.close()
  Fs.rmSync(folder, { recursive: true, force: true })
})

let pages = 0

/** Opens a page from a file; gives what it asks for, beside itself, and its errors. */
const opened = (html: string) =>
  Effect.gen(function*() {
    const file = Path.join(folder, `${++pages}.html`)
    Fs.writeFileSync(file, html)
    const page = yield* Effect.promise(async () => {
      if (browser === undefined) throw new Error("no browser was found")
      return await browser.newPage()
    })
    const asked: Array<string> = []
    const errors: Array<string> = []
    page.on("request", (request) => asked.push(request.url()))
    page.on("pageerror", (error) => errors.push(error.message))
    page.on("console", (message) => errors.push(message.text()))
    yield* Effect.promise(() => page.goto(`file://${file}`))
    const texts = (selector: string) =>
      Effect.promise(() => page.locator(selector).allInnerTexts()).pipe(
        Effect.map((texts) => texts.map((text) => text.replace(/\s+/g, " ").trim()))
      )
    const press = (key: string) => Effect.promise(() => page.keyboard.press(key))
    const click = (selector: string) => Effect.promise(() => page.locator(selector).click())
    return { asked, click, errors, file, page, press, texts }
  })

describe.skipIf(executablePath === undefined)(
  `the page${executablePath === undefined ? " (skipped: needs chromium)" : ""}`,
  { concurrent: false }, // one window: a page behind another gets no frames
  () => {
    it.effect(
      "loads nothing but itself, and says what broke, what went differently, and how to see it again",
      () =>
        Effect.gen(function*() {
          const html = yield* Sim.page(IS01.options, token)
          const { asked, errors, file, texts } = yield* opened(html)
          assert.deepStrictEqual(yield* texts("h1"), ["App a came to rest, and does not match (P1)"])
          assert.deepStrictEqual(yield* texts("header li"), [
            "ctl/apps/a/2/delete:Set/a process killed after the call took effect, before its reply"
          ])
          assert.deepStrictEqual(yield* texts("#replay"), [`Sim.replay(options, "${token}")`])
          assert.deepStrictEqual(asked, [`file://${file}`])
          assert.deepStrictEqual(errors, [])
        }),
      60_000
    )

    it.effect(
      "is stepped through by keys: each step shows what was done, from where, and every object then",
      () =>
        Effect.gen(function*() {
          const { press, texts } = yield* opened(yield* Sim.page(IS01.options, token))
          assert.deepStrictEqual(yield* texts("#position"), ["step 1 of 9"])
          assert.deepStrictEqual(yield* texts("aside h2"), ["create App a rev 1"])
          assert.deepStrictEqual(yield* texts("aside h4"), ["App a created"])
          yield* press("ArrowDown")
          yield* press("j")
          assert.deepStrictEqual(yield* texts("aside h2"), ["create Set a rev 3"])
          assert.deepStrictEqual(yield* texts("aside h4"), ["Set a created", "App a", "Claim a"])
          assert.match((yield* texts("aside > dl"))[0] ?? "", /by ctl pass apps\/a\/1 called at \S+IS-01\.wrong\.ts:21/)
          yield* press("ArrowDown") // the edit: what was there is struck out beside what is new
          const [edited] = yield* texts(".object.changed")
          assert.match(edited ?? "", /App a updated .*generation 1 2 spec\.size 1 2/)
          yield* press("f")
          assert.match((yield* texts("aside h2"))[0] ?? "", /process killed after the call took effect/)
          assert.deepStrictEqual(yield* texts("aside h4"), ["App a", "Claim a"])
          yield* press("End")
          assert.deepStrictEqual(yield* texts("#position"), ["step 9 of 9"])
          yield* press("k")
          yield* press("Home")
          assert.deepStrictEqual(yield* texts("#position"), ["step 1 of 9"])
        }),
      60_000
    )

    it.effect(
      "and by buttons and by the mouse; calls and passes are shown when asked for",
      () =>
        Effect.gen(function*() {
          const { click, press, texts } = yield* opened(yield* Sim.page(IS01.options, token))
          yield* click("[data-go=next]")
          assert.deepStrictEqual(yield* texts("aside h2"), ["create Claim a rev 2"])
          yield* click("[data-go=fault]")
          yield* click("[data-go=previous]")
          assert.deepStrictEqual(yield* texts("aside h2"), ["remove Set a rev 5"])
          assert.deepStrictEqual(yield* texts("aside h4"), ["Set a removed", "App a", "Claim a"])
          yield* click("[data-go=last]")
          yield* click("[data-go=first]")
          assert.deepStrictEqual(yield* texts("#position"), ["step 1 of 9"])
          yield* click("#asides")
          assert.match((yield* texts("#position"))[0] ?? "", /^step 1 of [2-9]\d$/)
          yield* click("tr:has-text('get Claim a') >> nth=0")
          assert.deepStrictEqual(yield* texts("aside h2"), ["get Claim a NotFound"])
          yield* press("a")
          assert.deepStrictEqual(yield* texts("#position"), ["step 1 of 9"])
        }),
      60_000
    )

    it.effect(
      "marks faults and the change that broke the law, in the lanes of who did it and of what it hit",
      () =>
        Effect.gen(function*() {
          const { page, texts } = yield* opened(yield* Sim.page(ST01.options, "world/step/4=old:0"))
          assert.deepStrictEqual(yield* texts("th.lane"), ["user", "ctl", "ctl@2", "check", "App a", "Volume a"])
          assert.deepStrictEqual(yield* texts("tr.fault .what span:first-child"), [
            "process killed, and its next lists served at an older revision (0)"
          ])
          assert.deepStrictEqual(yield* texts("tr.violation .what span:first-child"), [
            "remove Volume a rev 8",
            "never: the volume of a live App was deleted"
          ])
          const lanes = yield* Effect.promise(() => page.locator("tr.violation:has(.chip.removed) td").allInnerTexts())
          assert.deepStrictEqual(lanes.slice(1, 7).map((text) => text.trim()), ["", "", "✗", "", "", "8"])
        }),
      60_000
    )

    it.effect("shows text as text, whatever is in it", () =>
      Effect.gen(function*() {
        const nasty = "</script><script>throw new Error('run')</script><b>&amp;\u2028"
        const labels = { metadata: { name: "a", annotations: { nasty } }, spec: { size: 1 } }
        const options = {
          ...IS01.options,
          workload: Sim.script([Sim.create(App, labels)]),
          atRest: { [nasty]: () => false }
        }
        const { errors, press, texts } = yield* opened(yield* Sim.page(options, ""))
        assert.include((yield* texts("h1"))[0] ?? "", "</script><script>throw")
        yield* press("ArrowUp")
        assert.include((yield* texts(".object"))[0] ?? "", "</script><script>throw")
        assert.deepStrictEqual(errors, [])
      }), 60_000)
  }
)

describe("a page", () => {
  it.effect("of a run in which no law broke says so; of a token that is none it fails", () =>
    Effect.gen(function*() {
      const html = yield* Sim.page(
        { ...IS01.options, workload: Sim.script([createApp(1)]) },
        ""
      )
      assert.include(html, "<h1>No law broke in this run</h1>")
      const failure = yield* Effect.flip(Sim.page(IS01.options, "nonsense"))
      assert.strictEqual(failure.law, "input")
    }))
})
