/**
 * Where the demo plays: a folder of its own, a supervisor in a process of its own, and eyes on both. Whatever happens,
 * nothing of it is left when the Scope closes.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as HttpClient from "effect/http/HttpClient"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as PubSub from "effect/PubSub"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Child from "node:child_process"
import * as Net from "node:net"
import { Store } from "setpoint"
import { type Identity, Process } from "./Kinds.ts"
import { Processes } from "./Processes.ts"
import type { View } from "./View.ts"
import * as Views from "./View.ts"

/** What should hold and does not. */
export class DoesNotHold extends Schema.TaggedError<DoesNotHold>()("DoesNotHold", { what: Schema.String }) {
  override get message(): string {
    return this.what
  }
}

export const hold = (holds: boolean, what: string): Effect.Effect<void, DoesNotHold> =>
  holds ? Effect.void : Effect.fail(new DoesNotHold({ what }))

/** A supervisor that runs, or has run. */
export interface Supervisor {
  readonly pid: number
  /** The first of its lines, from its start on, that matches. */
  readonly line: (pattern: RegExp) => Effect.Effect<string, DoesNotHold>
  readonly lines: Effect.Effect<ReadonlyArray<string>>
  readonly signal: (signal: "SIGINT" | "SIGKILL") => Effect.Effect<void>
  /** `exit code 130`, `signal SIGKILL`. */
  readonly end: Effect.Effect<string>
}

const main = new URL("main.ts", import.meta.url).pathname

/** Starts a supervisor over a folder. It is told to end, and killed when it does not, when the Scope closes. */
export const supervise = Effect.fnUntraced(function*(folder: string) {
  const path = yield* Path.Path
  const printed = yield* PubSub.unbounded<string>({ replay: Infinity })
  const lines: Array<string> = []
  const end = yield* Deferred.make<string>()
  const args = [main, "--dir", path.join(folder, "manifests"), "--state", path.join(folder, "fleet.db"), "--attached"]
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      Child.spawn(process.execPath, [...args, "--logs", path.join(folder, "logs")], {
        // Not in the group of this terminal: ctrl-C is this program's to pass on. When this program dies, its end of
        // the pipes closes, and the supervisor ends by itself.
        detached: true,
        stdio: "pipe"
      })
    ),
    (child) =>
      Effect.gen(function*() {
        yield* Effect.sync(() => child.kill("SIGINT"))
        const ended = yield* Effect.timeoutOption(Deferred.await(end), "20 seconds")
        if (Option.isNone(ended)) yield* Effect.sync(() => child.kill("SIGKILL"))
      })
  )
  const tell = (line: string) => {
    lines.push(line)
    PubSub.publishUnsafe(printed, line)
  }
  for (const stream of [child.stdout, child.stderr]) {
    let rest = ""
    stream.setEncoding("utf8").on("data", (text: string) => {
      const parts = (rest + text).split("\n")
      rest = parts.pop() ?? ""
      parts.forEach(tell)
    })
  }
  // Not "exit": after "close" every line was read.
  child.once("close", (code, signal) => {
    Deferred.doneUnsafe(end, Effect.succeed(signal === null ? `exit code ${code}` : `signal ${signal}`))
  })
  const ends = Effect.flatMap(
    Deferred.await(end),
    (how) => Effect.fail(new DoesNotHold({ what: [`the supervisor ended (${how}):`, ...lines].join("\n  ") }))
  )
  const supervisor: Supervisor = {
    pid: child.pid ?? 0,
    line: (pattern) =>
      Stream.fromPubSub(printed).pipe(
        Stream.filter((line) => pattern.test(line)),
        Stream.runHead,
        Effect.map(Option.getOrElse(() => "")),
        Effect.raceFirst(ends)
      ),
    lines: Effect.sync(() => [...lines]),
    signal: (signal) => Effect.sync(() => child.kill(signal)),
    end: Deferred.await(end)
  }
  yield* supervisor.line(/the fleet is supervised/)
  return supervisor
})

/** The fleet as its store tells it, over the same file as the supervisor. */
export const watch = Effect.gen(function*() {
  const view = yield* Views.make
  return {
    ...view,
    /** Waits until nothing is missing; `missing` says what is, and that is said when the time is over. */
    until: Effect.fnUntraced(function*(missing: (view: View) => string | undefined) {
      const last = yield* Ref.make("nothing was seen")
      const found = yield* Stream.merge(Stream.fromEffect(view.now), view.changes).pipe(
        Stream.tap((view) => Ref.set(last, missing(view) ?? "")),
        Stream.filter((view) => missing(view) === undefined),
        Stream.runHead,
        Effect.timeoutOrElse({
          duration: "40 seconds",
          orElse: () => Effect.flatMap(Ref.get(last), (what) => Effect.fail(new DoesNotHold({ what })))
        })
      )
      return Option.getOrElse(found, (): View => ({ services: [], processes: [] }))
    })
  }
})

/** Ends every process that the store knows of, by its mark: what a supervisor that was killed left behind. */
export const endLeftovers = Effect.gen(function*() {
  const processes = yield* Processes
  const { items } = yield* Store.list(Process, { consistency: "mostRecent" })
  for (const { metadata } of items) {
    for (const { identity } of yield* processes.find(metadata.uid)) yield* processes.signal(identity, "SIGKILL")
  }
}).pipe(Effect.catch((error) => Effect.logError(`processes may be left: ${error.message}`)))

export const isAlive = (identity: Identity): Effect.Effect<boolean, never, Processes> =>
  Effect.flatMap(Processes, (processes) => Effect.map(processes.look(identity), ({ _tag }) => _tag === "Alive"))

const Answer = Schema.fromJsonString(Schema.Struct({ pid: Schema.Int }))

/** Asks a process by HTTP who it is. */
export const ask = (port: number): Effect.Effect<number, DoesNotHold, HttpClient.HttpClient> =>
  HttpClient.get(`http://127.0.0.1:${port}/`).pipe(
    Effect.flatMap((response) => response.text),
    Effect.flatMap(Schema.decodeEffect(Answer)),
    Effect.map(({ pid }) => pid),
    Effect.mapError((error) => new DoesNotHold({ what: `port ${port} does not answer as it should: ${error.message}` }))
  )

/** A folder that goes with the Scope. */
export const folder = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = yield* fs.makeTempDirectoryScoped({ prefix: "fleet-demo-" })
  yield* fs.makeDirectory(path.join(folder, "manifests"))
  return folder
})

/** The first of `count` ports in a row that nobody listens on. */
export const freePorts = Effect.fnUntraced(function*(count: number) {
  for (let first = 18_000; first < 60_000; first += 100) {
    const free = yield* Effect.forEach(Array.from({ length: count }, (_, index) => first + index), isFree)
    if (free.every(Boolean)) return first
  }
  return yield* new DoesNotHold({ what: `${count} ports in a row are free` })
})

const isFree = (port: number): Effect.Effect<boolean> =>
  Effect.callback((resume) => {
    const server = Net.createServer()
    server.once("error", () => resume(Effect.succeed(false)))
    server.listen(port, "127.0.0.1", () => server.close(() => resume(Effect.succeed(true))))
  })
