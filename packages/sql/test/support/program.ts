/**
 * Another process, as the tests start it: `program.ts FILE DURABILITY`. It says `ready`, and then does what it reads, a
 * line at a time: `open`, `create NAME`, `watch` (says each event), and `count` (eight writers, each of which makes its
 * own object one larger, over and over, and says `NAME SIZE` once that is acknowledged).
 */
import { SqliteStore } from "@setpoint/sql"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as Fs from "node:fs"
import * as Readline from "node:readline"
import type * as StoreDriver from "setpoint/StoreDriver"
import * as Things from "./things.ts"

const [filename = "", durability] = process.argv.slice(2)

/** Heard before anything else happens, however slow the listener is: a line is never left in a buffer of this process. */
const say = (line: string) => Effect.sync(() => Fs.writeSync(1, `${line}\n`))

const commands = Stream.callback<string>((queue) =>
  Effect.sync(() => {
    Readline.createInterface(process.stdin)
      .on("line", (line) => Queue.offerUnsafe(queue, line))
      .on("close", () => process.exit(0))
  })
)

const program = Effect.gen(function*() {
  yield* say("ready")
  const next = yield* Stream.toPull(Stream.rechunk(commands, 1))
  yield* next // open
  const driver = yield* SqliteStore.make({
    filename,
    durability: durability === "process" ? "process" : "power",
    pollInterval: "10 millis"
  })
  yield* say("opened")
  while (true) {
    const [command, name = ""] = (yield* next)[0].split(" ")
    if (command === "create") yield* Effect.andThen(Things.create(driver, name), say(`created ${name}`))
    if (command === "watch") {
      const events = yield* Things.follow(driver)
      yield* Effect.forkScoped(Effect.forever(Effect.flatMap(events, say)))
    }
    if (command === "count") {
      yield* Effect.forEach(counters, (name) => count(driver, name), { concurrency: "unbounded" })
    }
  }
})

const counters = Array.from({ length: 8 }, (_, i) => `counter-${i}`)

const count = (driver: StoreDriver.Service, name: string) =>
  Effect.gen(function*() {
    const known = yield* Effect.option(Things.get(driver, name))
    let size = known._tag === "Some" ? Things.sizeOf(known.value) : 0
    if (known._tag === "None") yield* Things.create(driver, name, 0)
    while (true) {
      yield* Things.resize(driver, name, ++size)
      yield* say(`${name} ${size}`)
    }
  })

Effect.runFork(Effect.scoped(program))
