import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as Child from "node:child_process"
import * as Fs from "node:fs"
import * as Http from "node:http"
import * as Os from "node:os"
import * as Path from "node:path"
import type { Identity, Launch } from "../src/Kinds.ts"
import * as NodeProcesses from "../src/NodeProcesses.ts"
import { type Mark, Processes } from "../src/Processes.ts"
import * as Table from "../src/processTable.ts"

const launch = (script: string): Launch => ({ command: "sh", args: ["-c", script], env: {}, port: 1 })

/** A world of its own for a test; what it starts dies with it. */
const scratch = Effect.acquireRelease(
  Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "fleet-"))),
  (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true }))
)

const withProcesses = <A, E, R>(
  body: (
    processes: Processes["Service"],
    folder: string,
    start: (mark: Mark, script: string) => Effect.Effect<Identity, unknown>
  ) => Effect.Effect<A, E, R>
) =>
  Effect.gen(function*() {
    const folder = yield* scratch
    return yield* Effect.gen(function*() {
      const processes = yield* Processes
      const started: Array<Identity> = []
      const start = (mark: Mark, script: string) =>
        processes.start("test", mark, launch(script)).pipe(Effect.tap((it) => Effect.sync(() => started.push(it))))
      return yield* body(processes, folder, start).pipe(
        Effect.ensuring(Effect.suspend(() => Effect.forEach(started, (it) => processes.signal(it, "SIGKILL"))))
      )
    }).pipe(Effect.provide(NodeProcesses.layer({ logs: folder })))
  })

/** The next end of a process, subscribed to before `body` causes it. */
const untilEnd = <A, E>(processes: Processes["Service"], body: Effect.Effect<A, E>) =>
  Stream.runHead(processes.ends).pipe(
    Effect.forkChild({ startImmediately: true }),
    Effect.flatMap((fiber) => Effect.andThen(body, Fiber.join(fiber)))
  )

const once = (reader: Fs.ReadStream, event: string) =>
  Effect.callback<void>((resume) => {
    reader.once(event, () => resume(Effect.void))
  })

describe("processes of this machine", () => {
  it.live("a process is found again by the mark it carries, with the number of its start", () =>
    withProcesses(Effect.fnUntraced(function*(processes, _, start) {
      const owner = "3f1c-found"
      const identity = yield* start({ owner, start: 7 }, "exec sleep 60")
      const found = yield* processes.find(owner)
      assert.deepStrictEqual(found, [{ identity, mark: { owner, start: 7 }, leader: true }])
      assert.deepStrictEqual(yield* processes.look(identity), { _tag: "Alive" })
      assert.deepStrictEqual(yield* processes.find("somebody else"), [])
    })))

  it.live("an end is told, and how it ended is known", () =>
    withProcesses(Effect.fnUntraced(function*(processes, _, start) {
      const ends = yield* Effect.forkChild(Stream.runCollect(Stream.take(processes.ends, 1)), {
        startImmediately: true
      })
      const identity = yield* start({ owner: "e", start: 1 }, "exit 3")
      yield* Fiber.join(ends)
      assert.deepStrictEqual(yield* processes.look(identity), { _tag: "Gone", how: "exit code 3" })
    })))

  it.live("a signal reaches the whole group, and only this very process", () =>
    withProcesses(Effect.fnUntraced(function*(processes, folder, start) {
      const pipe = Path.join(folder, "pipe")
      Child.execFileSync("mkfifo", [pipe])
      const identity = yield* start({ owner: "g", start: 1 }, `sleep 60 > ${pipe} & wait`)
      // The pipe opens when the grandchild has it, and ends when the grandchild has ended.
      const reader = Fs.createReadStream(pipe).resume()
      yield* once(reader, "open")
      const ended = yield* Effect.forkChild(once(reader, "end"), { startImmediately: true })
      yield* processes.signal({ ...identity, began: `${identity.began}0` }, "SIGKILL")
      assert.deepStrictEqual(yield* processes.look(identity), { _tag: "Alive" })
      yield* untilEnd(processes, processes.signal(identity, "SIGKILL"))
      assert.deepStrictEqual(yield* processes.look(identity), { _tag: "Gone", how: "signal SIGKILL" })
      yield* Fiber.join(ended)
    })))

  it.live("a process that only shares the number is another one", () =>
    withProcesses(Effect.fnUntraced(function*(processes) {
      const sight = yield* processes.look({ pid: process.pid, began: "another boot/1" })
      assert.deepStrictEqual(sight, { _tag: "Gone", how: undefined })
    })))

  it.live("output goes to a log of its name, and PORT and the environment are given", () =>
    withProcesses(Effect.fnUntraced(function*(processes, folder) {
      yield* untilEnd(
        processes,
        processes.start("web-0", { owner: "o", start: 1 }, {
          ...launch("echo $PORT $GREETING; echo bad >&2"),
          env: { GREETING: "hello" }
        })
      )
      assert.strictEqual(Fs.readFileSync(Path.join(folder, "web-0.log"), "utf8"), "1 hello\nbad\n")
    })))

  it.live("what cannot be started says why", () =>
    withProcesses(Effect.fnUntraced(function*(processes) {
      const mark = { owner: "o", start: 1 }
      const none = yield* Effect.flip(processes.start("x", mark, { ...launch(""), command: "no-such-command" }))
      assert.match(none.message, /^cannot start no-such-command: .*ENOENT/)
      const nowhere = yield* Effect.flip(processes.start("x", mark, { ...launch(""), directory: "/no/such/place" }))
      assert.match(nowhere.message, /there is no directory \/no\/such\/place/)
    })))

  it.live("a health check is an answer in time that says it is well", () =>
    withProcesses(Effect.fnUntraced(function*(processes) {
      const port = yield* server
      const check = { path: "/well", every: "1 second", timeout: "10 seconds", failures: 1 }
      yield* processes.probe(port, check)
      const ill = yield* Effect.flip(processes.probe(port, { ...check, path: "/ill" }))
      assert.strictEqual(ill.message, `/ill on port ${port} answered 503`)
      const late = yield* Effect.flip(processes.probe(port, { ...check, path: "/never", timeout: "20 millis" }))
      assert.strictEqual(late.message, `no answer on port ${port} within 20 millis`)
      const nobody = yield* Effect.flip(processes.probe(1, check))
      assert.match(nobody.message, /^no answer on port 1$/)
    })))
})

const server = Effect.acquireRelease(
  Effect.callback<Http.Server>((resume) => {
    const server = Http.createServer((request, response) => {
      if (request.url === "/never") return
      response.writeHead(request.url === "/well" ? 200 : 503).end()
    })
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) =>
    Effect.callback<void>((resume) => {
      server.close(() => resume(Effect.void))
      server.closeAllConnections()
    })
).pipe(Effect.map((server) => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}))

describe("what the system says about a process", () => {
  it("a command may hold parentheses and spaces", () => {
    const tail = Array.from({ length: 40 }, (_, index) => String(index + 5)).join(" ")
    assert.deepStrictEqual(Table.fromStat(`42 (a ) b (c) S 1 42 42 ${tail.replace("5 ", "")}`, "boot")?.group, 42)
    const row = Table.fromStat("42 (a ) R) S 1 41 41 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 148240 0", "boot")
    assert.deepStrictEqual(row, { pid: 42, group: 41, began: "boot/148240", ended: false })
  })

  it("a process that ended and waits for its parent is gone", () => {
    assert.strictEqual(Table.fromStat("42 (sh) Z 1 42 42 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 0", "b")?.ended, true)
  })

  it("a line of ps tells the same", () => {
    const line = "  501   501 Ss   Sun Nov 29 14:42:28 2026 node a.mjs FLEET_PROCESS=u-1 FLEET_START=3 PATH=/bin"
    const found = Table.fromPs(line)
    assert.deepStrictEqual(found?.row, { pid: 501, group: 501, began: "Sun Nov 29 14:42:28 2026", ended: false })
    assert.deepStrictEqual(found === undefined ? undefined : Table.marked(found.row, found.rest, "u-1"), {
      identity: { pid: 501, began: "Sun Nov 29 14:42:28 2026" },
      mark: { owner: "u-1", start: 3 },
      leader: true
    })
  })

  it("a mark of another owner, and a part of one, is none", () => {
    const row = { pid: 1, group: 1, began: "b", ended: false }
    assert.isUndefined(Table.marked(row, "FLEET_PROCESS=u-12\0FLEET_START=1\0", "u-1"))
    assert.isUndefined(Table.marked(row, "XFLEET_PROCESS=u-1\0FLEET_START=1\0", "u-1"))
    assert.isUndefined(Table.marked({ ...row, ended: true }, "FLEET_PROCESS=u-1\0FLEET_START=1\0", "u-1"))
  })
})
