/**
 * Processes of this machine, by Node.
 *
 * A process is started as the leader of a session of its own, with its output in a file, so that it lives on when the
 * supervisor does not. It is known again by its number together with the time it began, or by the mark in its
 * environment. Numbers are used again: before every signal the process is looked at anew, and since a group has the
 * number of its leader, a group is signalled only while its leader lives.
 */
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Child from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { type HealthCheck, type Identity, type Launch, millis } from "./Kinds.ts"
import { CannotStart, type Mark, type Marked, Processes, type Sight, Unhealthy } from "./Processes.ts"
import * as Table from "./processTable.ts"

/** How this system tells about its processes. */
interface System {
  readonly row: (pid: number) => Table.Row | undefined
  readonly find: (owner: string) => ReadonlyArray<Marked>
}

/** Processes come and go while they are read: what cannot be read is not there, or is not ours. */
const readText = (file: string): string | undefined =>
  Result.getOrUndefined(Result.try(() => Fs.readFileSync(file, "latin1")))

const proc = (): System => {
  const boot = (readText("/proc/sys/kernel/random/boot_id") ?? "").trim()
  const row = (pid: number) => {
    const stat = readText(`/proc/${pid}/stat`)
    return stat === undefined ? undefined : Table.fromStat(stat, boot)
  }
  return {
    row,
    find: (owner) =>
      Fs.readdirSync("/proc").flatMap((name) => {
        if (!/^\d+$/.test(name)) return []
        const environment = readText(`/proc/${name}/environ`)
        // Most are not ours, so the environment is asked first.
        if (environment === undefined || !environment.includes(owner)) return []
        const found = row(Number(name))
        return found === undefined ? [] : Table.marked(found, environment, owner) ?? []
      })
  }
}

const ps = (): System => {
  const lines = (args: ReadonlyArray<string>) =>
    Child.spawnSync("ps", ["eww", ...args, "-o", "pid=,pgid=,stat=,lstart=,command="], {
      env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024
    }).stdout.split("\n").flatMap((line) => Table.fromPs(line) ?? [])
  return {
    row: (pid) => lines(["-p", String(pid)])[0]?.row,
    find: (owner) => lines(["-A"]).flatMap(({ rest, row }) => Table.marked(row, rest, owner) ?? [])
  }
}

/** There is no folder for the output of processes, and none can be made. */
export class NoLogs extends Schema.TaggedError<NoLogs>()("NoLogs", { folder: Schema.String, why: Schema.String }) {
  override get message(): string {
    return `--logs ${this.folder}: ${this.why}; give a folder that can be written to`
  }
}

const make = Effect.fnUntraced(function*(options: { readonly logs: string }) {
  const system = process.platform === "linux" ? proc() : ps()
  const client = yield* HttpClient.HttpClient
  const ends = yield* PubSub.unbounded<string>()
  /** How the last process of each name ended: as many entries as there are names. */
  const lastEnds = new Map<string, { readonly identity: Identity; readonly how: string }>()
  yield* Effect.try({
    try: () => Fs.mkdirSync(options.logs, { recursive: true }),
    catch: (cause) => new NoLogs({ folder: options.logs, why: cause instanceof Error ? cause.message : String(cause) })
  })

  const isAlive = (identity: Identity): boolean => {
    const row = system.row(identity.pid)
    return row !== undefined && !row.ended && row.began === identity.began
  }

  const start = (name: string, mark: Mark, launch: Launch): Effect.Effect<Identity, CannotStart> =>
    Effect.callback<Identity, CannotStart>((resume) => {
      const fail = (why: unknown) =>
        resume(Effect.fail(
          new CannotStart({ command: launch.command, why: why instanceof Error ? why.message : String(why) })
        ))
      if (launch.directory !== undefined && !Fs.existsSync(launch.directory)) {
        return fail(`there is no directory ${launch.directory}`)
      }
      const spawned = Result.try(() => spawn(Path.join(options.logs, `${name}.log`), mark, launch))
      if (Result.isFailure(spawned)) return fail(spawned.failure)
      const child = spawned.success
      child.once("error", fail)
      // The system keeps what it knows of a child until Node has collected its end, which is after this turn.
      const row = child.pid === undefined ? undefined : system.row(child.pid)
      if (row === undefined) return // The error is on its way.
      const identity = { pid: row.pid, began: row.began }
      child.once("exit", (code, signal) => {
        lastEnds.set(name, { identity, how: signal === null ? `exit code ${code}` : `signal ${signal}` })
        PubSub.publishUnsafe(ends, name)
      })
      child.unref()
      resume(Effect.succeed(identity))
    })

  const look = (identity: Identity): Sight => {
    if (isAlive(identity)) return { _tag: "Alive" }
    for (const end of lastEnds.values()) {
      if (end.identity.pid === identity.pid && end.identity.began === identity.began) {
        return { _tag: "Gone", how: end.how }
      }
    }
    return { _tag: "Gone", how: undefined }
  }

  const signal = (identity: Identity, signal: "SIGTERM" | "SIGKILL"): void => {
    const row = system.row(identity.pid)
    if (row === undefined || row.ended || row.began !== identity.began) return
    // It may end between the look and the signal: then there is nobody to signal.
    Result.try(() => process.kill(row.group === row.pid ? -row.pid : row.pid, signal))
  }

  const probe = (port: number, check: HealthCheck): Effect.Effect<void, Unhealthy> =>
    client.get(`http://127.0.0.1:${port}${check.path}`).pipe(
      Effect.tap((response) => response.text),
      Effect.mapError(() => new Unhealthy({ why: `no answer on port ${port}` })),
      Effect.filterOrFail(
        (response) => response.status >= 200 && response.status < 400,
        (response) => new Unhealthy({ why: `${check.path} on port ${port} answered ${response.status}` })
      ),
      Effect.timeoutOrElse({
        duration: millis(check.timeout),
        orElse: () => Effect.fail(new Unhealthy({ why: `no answer on port ${port} within ${check.timeout}` }))
      }),
      Effect.asVoid
    )

  return Processes.of({
    self: { pid: process.pid, began: system.row(process.pid)?.began ?? "" },
    start,
    look: (identity) => Effect.sync(() => look(identity)),
    find: (owner) => Effect.sync(() => system.find(owner)),
    signal: (identity, name) => Effect.sync(() => signal(identity, name)),
    probe,
    ends: Stream.fromPubSub(ends)
  })
})

const spawn = (log: string, mark: Mark, launch: Launch): Child.ChildProcess => {
  const output = Fs.openSync(log, "a")
  try {
    return Child.spawn(launch.command, launch.args, {
      detached: true,
      stdio: ["ignore", output, output],
      cwd: launch.directory,
      env: {
        ...process.env,
        ...launch.env,
        PORT: String(launch.port),
        [Table.ownerVariable]: mark.owner,
        [Table.startVariable]: String(mark.start)
      }
    })
  } finally {
    Fs.closeSync(output)
  }
}

/** Processes of this machine; the output of each goes to `logs/NAME.log`. */
export const layer = (options: { readonly logs: string }): Layer.Layer<Processes, NoLogs> =>
  Layer.effect(Processes, make(options)).pipe(Layer.provide(FetchHttpClient.layer))
