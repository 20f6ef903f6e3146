import { assert, describe, it } from "@effect/vitest"
import { SqliteStore } from "@setpoint/sql"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import { DatabaseSync } from "node:sqlite"
import type { Raw } from "setpoint/Resource"
import * as Selector from "setpoint/Selector"
import type * as StoreDriver from "setpoint/StoreDriver"
import { temporaryFile } from "./support/files.ts"
import * as Things from "./support/things.ts"

describe("what is kept", () => {
  it.effect("the file holds the objects, and of the last changes what a resumed watch needs, within a portion", () =>
    Effect.gen(function*() {
      const filename = yield* temporaryFile
      const history = 64
      const driver = yield* SqliteStore.make({ filename, history, durability: "process" })
      const db = yield* reader(filename)
      const most = 3 + 2 * history + history / 16 // objects, changes with what they replaced, and what is due to go
      for (let i = 0; i < 40; i++) {
        yield* Effect.forEach(["a", "b", "c"], (name) => Things.create(driver, name))
        yield* Effect.forEach(["a", "b", "c"], (name) => Things.resize(driver, name, i + 2))
        yield* Effect.forEach(["a", "b", "c"], (name) => Things.remove(driver, name))
        assert.isAtMost(Number(db.prepare("SELECT count(*) AS n FROM versions").get()?.n), most)
      }
      for (const table of ["objects", "labels", "owners"]) {
        assert.strictEqual(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n, 0)
      }
    }))

  it.effect("[S5] [F27] a cursor resumes as long as the history says, to the change", () =>
    Effect.gen(function*() {
      const driver = yield* SqliteStore.make({ filename: ":memory:", history: 32 })
      yield* Things.create(driver, "a", 0)
      const cursors: Array<string> = []
      for (let i = 1; i <= 200; i++) {
        yield* Things.resize(driver, "a", i)
        cursors.push((yield* Things.list(driver, { limit: 1 })).cursor)
      }
      const resumed = (back: number) =>
        Effect.scoped(Effect.flatMap(Things.follow(driver, cursors[cursors.length - 1 - back]), (events) => events))
      assert.strictEqual(yield* resumed(32), "Modified a")
      assert.include(String(yield* Effect.flip(resumed(33))), "no longer retained")
    }))

  it.effect("[S3] an opening that is read slowly expires with the history, and is otherwise of one revision", () =>
    Effect.gen(function*() {
      const driver = yield* SqliteStore.make({ filename: ":memory:", history: 100 })
      yield* Effect.forEach(numbers(1_200), (i) => Things.create(driver, `a-${i}`), { concurrency: "unbounded" })
      const open = Effect.tap(Things.follow(driver), (events) => events)
      const kept = yield* open
      const expired = yield* open
      for (let i = 0; i < 50; i++) yield* Things.resize(driver, "a-999", i)
      yield* Things.remove(driver, "a-998")
      const seen: Array<string> = []
      while (seen.at(-1) !== "InitialDone") seen.push(yield* kept)
      assert.strictEqual(seen.length, 1_200)
      assert.strictEqual(yield* kept, "Modified a-999")
      for (let i = 0; i < 100; i++) yield* Things.resize(driver, "a-999", -i - 1)
      const rest = Effect.forever(expired, { disableYield: true })
      assert.include(String(yield* Effect.flip(rest)), "no longer retained")
    }))

  for (let seed = 0; seed < 5; seed++) {
    it.effect(`[F24] after random writes each index agrees with the objects (seed ${seed})`, () =>
      Effect.gen(function*() {
        const filename = yield* temporaryFile
        const driver = yield* SqliteStore.make({ filename, history: 20, durability: "process" })
        const db = yield* reader(filename)
        for (let round = 0; round < 20; round++) {
          yield* Effect.forEach(numbers(15), () => randomWrite(driver), { concurrency: "unbounded" })
          const { items } = yield* Things.list(driver)
          assert.deepStrictEqual(rows(db, "label || '=' || value", "labels"), pairs(items, labelsOf))
          assert.deepStrictEqual(rows(db, "uid", "owners"), pairs(items, ownersOf))
          for (const selector of ["tier=t1", "tier in (t1,t2),app", "app=a1,tier!=t0", "!tier"]) {
            const all = yield* Things.names(driver, { selector })
            assert.deepStrictEqual(all, items.filter(selected(selector)).map(({ metadata }) => metadata.name))
            assert.deepStrictEqual(yield* paged(driver, selector), all)
          }
          for (const uid of uids) {
            const owned = items.filter((item) => ownersOf(item).includes(uid)).map(({ metadata }) => metadata.name)
            assert.deepStrictEqual(yield* Things.names(driver, { ownerUid: uid }), owned)
          }
        }
      }).pipe(Random.withSeed(seed)))
  }
})

const numbers = (n: number): ReadonlyArray<number> => Array.from({ length: n }, (_, i) => i)

const uids = ["u0", "u1", "u2"]

const randomWrite = (driver: StoreDriver.Service) =>
  Effect.gen(function*() {
    const pick = (n: number) => Random.nextIntBetween(0, n)
    const name = `thing-${yield* pick(12)}`
    const labels = {
      ...((yield* pick(3)) === 0 ? {} : { tier: `t${yield* pick(3)}` }),
      ...((yield* pick(2)) === 0 ? {} : { app: `a${yield* pick(2)}` })
    }
    const ownerReferences = uids.slice(yield* pick(4)).map((uid) => ({ apiVersion: "v1", kind: "O", name: uid, uid }))
    const object = Things.thing(name, yield* pick(9), { labels, ownerReferences })
    const write = (yield* pick(3)) === 0
      ? Things.remove(driver, name)
      : (yield* pick(2)) === 0
      ? driver.write(Things.at, { op: "create", object }, Things.options())
      : driver.write(Things.at, { op: "update", object }, Things.options())
    yield* Effect.ignore(write) // a refusal is as good
  })

const reader = (filename: string) =>
  Effect.acquireRelease(
    Effect.sync(() => new DatabaseSync(filename, { readOnly: true })),
    (db) => Effect.sync(() => db.close())
  )

const rows = (db: DatabaseSync, what: string, table: string): ReadonlyArray<unknown> =>
  db.prepare(`SELECT ${what} || ' ' || key AS text FROM ${table}`).all().map(({ text }) => text).toSorted()

const pairs = (items: ReadonlyArray<Raw>, of: (item: Raw) => ReadonlyArray<string>): ReadonlyArray<string> =>
  items.flatMap((item) => of(item).map((text) => `${text} default/${item.metadata.name}`)).toSorted()

const labelsOf = ({ metadata }: Raw): ReadonlyArray<string> =>
  Object.entries(metadata.labels ?? {}).map(([label, value]) => `${label}=${value}`)

const ownersOf = ({ metadata }: Raw): ReadonlyArray<string> => (metadata.ownerReferences ?? []).map(({ uid }) => uid)

const selected = (text: string) => ({ metadata }: Raw): boolean =>
  Result.getOrThrow(Result.map(Selector.parse(text), (selector) => Selector.matches(selector, metadata.labels)))

const paged = (driver: StoreDriver.Service, selector: string) =>
  Effect.gen(function*() {
    const names: Array<string> = []
    let page: string | undefined
    do {
      const { items, next } = yield* Things.list(driver, { selector, limit: 2, page })
      names.push(...items.map(({ metadata }) => metadata.name))
      page = next
    } while (page !== undefined)
    return names
  })
