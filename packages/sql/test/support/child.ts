/** Real processes that run `program.ts`: told and heard a line at a time, killed with the test's Scope if not before. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as ChildProcess from "node:child_process"
import * as Readline from "node:readline"

export interface Child {
  readonly tell: (line: string) => Effect.Effect<void>
  /** The next line; fails where the process has ended. */
  readonly heard: Effect.Effect<string, Ended>
  /** SIGKILL; gives what was said before it and not yet heard. */
  readonly kill: Effect.Effect<ReadonlyArray<string>>
  /** Ends its input, on which it leaves by itself. */
  readonly leave: Effect.Effect<ReadonlyArray<string>>
}

export interface Ended {
  readonly _tag: "Ended"
  readonly stderr: string
}

const script = new URL("program.ts", import.meta.url).pathname

/** So that all but the first start sooner. */
const compiled = new URL("../../../../node_modules/.cache/setpoint/compiled", import.meta.url).pathname

export interface Options {
  /** A command that runs node, such as a tracer. */
  readonly under?: ReadonlyArray<string> | undefined
  readonly durability?: "power" | "process" | undefined
}

export const start = (filename: string, { durability = "power", under = [] }: Options = {}) =>
  Effect.acquireRelease(
    Effect.gen(function*() {
      const lines = yield* Queue.make<string, Ended>()
      const [command = process.execPath, ...args] = [...under, process.execPath, script, filename, durability]
      const child = ChildProcess.spawn(command, args, {
        stdio: ["pipe", "pipe", "pipe"],
        env: { ...process.env, NODE_COMPILE_CACHE: compiled }
      })
      let stderr = ""
      child.stderr.on("data", (chunk) => {
        stderr += String(chunk)
      })
      child.stdin.on("error", () => undefined) // it has ended: `heard` says so
      const said = Readline.createInterface(child.stdout).on("line", (line) => Queue.offerUnsafe(lines, line))
      said.on("close", () => Queue.failCauseUnsafe(lines, Cause.fail<Ended>({ _tag: "Ended", stderr })))
      const heard = Queue.take(lines)
      const self: Child = {
        tell: (line) => Effect.sync(() => child.stdin.write(`${line}\n`)),
        heard,
        kill: Effect.andThen(Effect.sync(() => child.kill("SIGKILL")), untilEnd(heard)),
        leave: Effect.andThen(Effect.sync(() => child.stdin.end()), untilEnd(heard))
      }
      return { self, child }
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
  ).pipe(Effect.map(({ self }) => self))

const untilEnd = (heard: Child["heard"]): Effect.Effect<ReadonlyArray<string>> =>
  Effect.suspend(() => {
    const said: Array<string> = []
    const all = Effect.forever(Effect.map(heard, (line) => said.push(line)), { disableYield: true })
    return Effect.as(Effect.ignore(all), said)
  })
