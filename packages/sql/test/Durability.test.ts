import { assert, describe, it } from "@effect/vitest"
import * as OpenFile from "@setpoint/sql/internal/openFile"
import * as Schema from "@setpoint/sql/internal/schema"
import * as Effect from "effect/Effect"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Child from "./support/child.ts"
import { temporaryFile } from "./support/files.ts"

const deadlineMillis = 60_000
const hasStrace = ChildProcess.spawnSync("strace", ["-V"]).status === 0

describe("durability", () => {
  for (const [synchronous, value] of [["FULL", 2], ["NORMAL", 1]] as const) {
    it.effect(`a file is in write-ahead mode, with synchronous=${synchronous} where that is asked for`, () =>
      Effect.gen(function*() {
        const options = { filename: yield* temporaryFile, synchronous, steps: Schema.migrations, birthId: "birth" }
        const pragmas = yield* Effect.fromResult(OpenFile.open(options, (db) => {
          const read = [db.prepare("PRAGMA journal_mode").get(), db.prepare("PRAGMA synchronous").get()]
          db.close()
          return read.map((row) => Object.values(row ?? {})[0])
        }))
        assert.deepStrictEqual(pragmas, ["wal", value])
      }))
  }

  // Only the system sees a flush, so a tracer of system calls is needed, which not every machine has.
  const traced = hasStrace ? it.live : it.live.skip
  const note = hasStrace ? "" : " (skipped: needs strace)"

  traced(
    `"power", the default, flushes once a commit, before it acknowledges; "process" does not flush${note}`,
    () =>
      Effect.gen(function*() {
        const power = yield* flushesOf("power")
        assert.strictEqual(power, writes)
        assert.strictEqual(yield* flushesOf("process"), 0)
      }),
    deadlineMillis
  )
})

const writes = 50

/** Flushes between the first acknowledgement and the last: opening and closing have their own. */
const flushesOf = (durability: "power" | "process") =>
  Effect.gen(function*() {
    const filename = yield* temporaryFile
    const trace = `${filename}.trace`
    const under = ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync,write", "-e", "signal=none", "-o", trace]
    const child = yield* Child.start(filename, { durability, under })
    yield* child.tell("open")
    for (const line of ["ready", "opened"]) assert.strictEqual(yield* child.heard, line)
    for (let i = 0; i <= writes; i++) {
      yield* child.tell(`create a-${i}`)
      assert.strictEqual(yield* child.heard, `created a-${i}`)
    }
    yield* child.leave
    const calls = Fs.readFileSync(trace, "utf8").split("\n")
    const acknowledged = (i: number) => calls.findIndex((call) => call.includes(`"created a-${i}\\n"`))
    return calls.slice(acknowledged(0), acknowledged(writes)).filter((call) => /\b(fsync|fdatasync)\(/.test(call))
      .length
  })
