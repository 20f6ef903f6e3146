import { assert, describe, it } from "@effect/vitest"
import { SqliteStore } from "@setpoint/sql"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { DatabaseSync } from "node:sqlite"
import * as Child from "./support/child.ts"
import { temporaryFile } from "./support/files.ts"
import * as Things from "./support/things.ts"

const files = 5
const killsPerFile = 10
const deadlineMillis = 180_000

describe("kill -9", () => {
  for (let file = 0; file < files; file++) {
    it.live(
      `at random points (seed ${file}): nothing acknowledged is lost, and the file opens`,
      () =>
        Effect.gen(function*() {
          const filename = yield* temporaryFile
          const acknowledged = new Map<string, number>()
          let next = yield* Child.start(filename)
          for (let kill = 0; kill < killsPerFile; kill++) {
            const child = next
            assert.strictEqual(yield* child.heard, "ready")
            yield* child.tell("open")
            next = yield* Child.start(filename) // gets ready meanwhile
            yield* child.tell("count")
            const lines: Array<string> = []
            const until = yield* Random.nextIntBetween(0, 60)
            while (lines.length < until) lines.push(yield* child.heard)
            lines.push(...(yield* child.kill))
            for (const line of lines) {
              const [name = "", size] = line.split(" ")
              if (size !== undefined) acknowledged.set(name, Number(size))
            }
            yield* isWhole(filename, acknowledged)
          }
          assert.isAbove(acknowledged.size, 0)
        }).pipe(Random.withSeed(file)),
      deadlineMillis
    )
  }
})

/** It opens; SQLite finds no fault; each object has the size that was acknowledged, or that of the write in flight. */
const isWhole = (filename: string, acknowledged: Map<string, number>) =>
  Effect.scoped(Effect.gen(function*() {
    const driver = yield* SqliteStore.make({ filename })
    for (const [name, size] of acknowledged) {
      const actual = Things.sizeOf(yield* Things.get(driver, name))
      assert.isTrue(actual === size || actual === size + 1, `${name} was acknowledged at ${size}, and is ${actual}`)
      acknowledged.set(name, actual) // what was in flight counts from now on
    }
    const db = new DatabaseSync(filename, { readOnly: true })
    assert.strictEqual(db.prepare("PRAGMA integrity_check").get()?.integrity_check, "ok")
    const { changes, latest } = db.prepare("SELECT count(*) AS changes, max(revision) AS latest FROM versions").get() ??
      {}
    assert.strictEqual(changes, latest ?? 0) // revisions have no holes
    db.close()
  }))
