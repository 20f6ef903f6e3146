/**
 * `pnpm demo`: a script against a real supervisor with real processes, which checks each of its steps itself. It exits
 * with a code other than 0 and says which step did not hold when one does not. `--stay` leaves the fleet running to play
 * with.
 */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { SqliteStore } from "@setpoint/sql"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Ref from "effect/Ref"
import type { Identity, Process } from "./Kinds.ts"
import * as NodeProcesses from "./NodeProcesses.ts"
import * as Rules from "./processRules.ts"
import * as Screen from "./Screen.ts"
import { isReady } from "./serviceRules.ts"
import * as Stage from "./Stage.ts"
import type { View } from "./View.ts"

const screen = Screen.make(process.stdout)
const stays = process.argv.includes("--stay")
/** On a terminal somebody reads. */
const pace = screen.isTerminal ? "2500 millis" : "0 millis"
const deadline = "2 minutes"

const say = (text: string) => Effect.sync(() => screen.line(text))
const server = new URL("../manifests/server.mjs", import.meta.url).pathname

const manifest = (name: string, replicas: number | string, from: number) =>
  `apiVersion: fleet.example.dev/v1
kind: Service
metadata:
  name: ${name}
spec:
  command: ${JSON.stringify(process.execPath)}
  args: [${JSON.stringify(server)}]
  replicas: ${replicas}
  ports: { from: ${from}, to: ${from + 9} }
  health: { path: /healthz, every: 500 millis }
  stopTimeout: 5 seconds
`

// ---------------------------------------------------------------------------------------------------------------------
// what should be
// ---------------------------------------------------------------------------------------------------------------------

type Replicas = Readonly<Record<string, number>>

/** What is missing until these services, and no others, have so many processes that are ready. */
const missing = (wanted: Replicas) => ({ processes, services }: View): string | undefined => {
  for (const [name, replicas] of Object.entries(wanted)) {
    const status = services.find((service) => service.metadata.name === name)?.status
    const own = processes.filter((process) => process.spec.service === name)
    const ready = own.filter(isReady).length
    if (status?.ready !== replicas || ready !== replicas || own.length !== replicas) {
      return `${name} has ${ready} of ${replicas} processes ready`
    }
  }
  const others = processes.filter((process) => wanted[process.spec.service] === undefined)
  return others.length === 0 ? undefined : `${others.map(({ metadata }) => metadata.name).join(", ")} should be gone`
}

const identityOf = (process: Process): Identity => {
  const phase = process.status?.phase
  return phase?._tag === "Running" ? phase.identity : { pid: 0, began: "" }
}

const find = (view: View, name: string): Process | undefined =>
  view.processes.find((process) => process.metadata.name === name)

/** Every process lives, and answers by HTTP with its own number. */
const answers = Effect.fnUntraced(function*({ processes }: View) {
  for (const process of processes) {
    const { pid } = identityOf(process)
    const answered = yield* Stage.ask(process.spec.port)
    yield* Stage.hold(answered === pid, `${process.metadata.name} has pid ${pid}, but pid ${answered} answers for it`)
    yield* Stage.hold(yield* Stage.isAlive(identityOf(process)), `pid ${pid} of ${process.metadata.name} lives`)
  }
  return processes.length
})

const sameProcesses = (before: View, after: View, names: ReadonlyArray<string>) =>
  Effect.forEach(names, (name) => {
    const [was, is] = [find(before, name), find(after, name)].map((it) => it === undefined ? 0 : identityOf(it).pid)
    return Stage.hold(was !== 0 && was === is, `${name} had pid ${was} before and has pid ${is} now`)
  }, { discard: true })

// ---------------------------------------------------------------------------------------------------------------------
// the script
// ---------------------------------------------------------------------------------------------------------------------

const script = Effect.fnUntraced(function*(root: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const manifests = path.join(root, "manifests")
  const first = yield* Stage.freePorts(30)
  const ports: Replicas = { web: first, api: first + 10, cache: first + 20 }
  const declare = (name: string, replicas: number | string, file = `${name}.yaml`) =>
    fs.writeFileString(path.join(manifests, file), manifest(name, replicas, ports[name] ?? first))
  const names = (view: View) => view.processes.map(({ metadata }) => metadata.name)
  const at = yield* Ref.make("the start")
  const current = yield* Ref.make<Stage.Supervisor | undefined>(undefined)
  const supervise = Effect.tap(Stage.supervise(root), (supervisor) => Ref.set(current, supervisor))

  const step = <A, E, R>(title: string, body: Effect.Effect<readonly [string, A], E, R>) =>
    Effect.gen(function*() {
      yield* Ref.set(at, title)
      yield* say(`\n${title}`)
      const started = yield* Clock.currentTimeMillis
      const [what, value] = yield* body
      yield* say(`✓ ${what} (${(((yield* Clock.currentTimeMillis) - started) / 1000).toFixed(1)} s)`)
      yield* Effect.sleep(pace)
      return value
    })

  const play = Effect.gen(function*() {
    yield* say(`A fleet in ${root}: manifests, state, and the logs of its processes.`)

    // Closed last: when every supervisor has ended.
    yield* Effect.acquireRelease(Effect.void, () => Stage.endLeftovers)
    const view = yield* Stage.watch
    yield* Screen.show(screen, view)
    for (const [name, replicas] of [["web", 2], ["api", 1], ["cache", 1]] as const) yield* declare(name, replicas)
    const started = yield* supervise

    yield* step(
      "1. Three services come up and answer HTTP",
      Effect.gen(function*() {
        const now = yield* view.until(missing({ web: 2, api: 1, cache: 1 }))
        return [`${yield* answers(now)} processes answer, each with its own pid`, now] as const
      })
    )

    const scaled = yield* step(
      "2. web.yaml now says replicas: 4",
      Effect.gen(function*() {
        const before = yield* view.now
        yield* declare("web", 4)
        const now = yield* view.until(missing({ web: 4, api: 1, cache: 1 }))
        yield* sameProcesses(before, now, names(before))
        return [`${yield* answers(now)} processes answer; those that ran before were not touched`, now] as const
      })
    )

    const healed = yield* step(
      "3. A process is killed with SIGKILL",
      Effect.gen(function*() {
        const victim = find(scaled, "api-0")
        const { pid } = victim === undefined ? { pid: 0 } : identityOf(victim)
        yield* Effect.sync(() => process.kill(pid, "SIGKILL"))
        const now = yield* view.until((now) => {
          const it = find(now, "api-0")
          if (it === undefined || identityOf(it).pid === pid) return `api-0 (pid ${pid}) was not replaced`
          if (Rules.restarts(it) !== 1) return `api-0 was started again ${Rules.restarts(it)} times`
          return missing({ web: 4, api: 1, cache: 1 })(now)
        })
        yield* answers(now)
        yield* sameProcesses(scaled, now, names(scaled).filter((name) => name !== "api-0"))
        return [`pid ${pid} is gone, api-0 is back as another process`, now] as const
      })
    )

    yield* step(
      "4. A manifest with replicas: many appears, and at the same time cache.yaml asks for 2",
      Effect.gen(function*() {
        yield* declare("web", "many", "broken.yaml")
        yield* declare("cache", 2)
        const line = yield* started.line(/broken\.yaml:8:3: spec\.replicas: /)
        const now = yield* view.until(missing({ web: 4, api: 1, cache: 2 }))
        yield* answers(now)
        yield* sameProcesses(healed, now, names(healed))
        yield* fs.remove(path.join(manifests, "broken.yaml"))
        return [`it is reported (${line.slice(line.indexOf("broken"))}), all else goes on`, now] as const
      })
    )

    const pruned = yield* step(
      "5. cache.yaml is deleted",
      Effect.gen(function*() {
        const before = yield* view.now
        yield* fs.remove(path.join(manifests, "cache.yaml"))
        const now = yield* view.until(missing({ web: 4, api: 1 }))
        for (const process of before.processes.filter(({ spec }) => spec.service === "cache")) {
          yield* Stage.hold(!(yield* Stage.isAlive(identityOf(process))), `${process.metadata.name} should have ended`)
        }
        yield* sameProcesses(before, now, names(now))
        yield* answers(now)
        return ["its processes have ended, and no others", now] as const
      })
    )

    const second = yield* step(
      "6. The supervisor is killed with SIGKILL, and another one is started",
      Effect.gen(function*() {
        yield* started.signal("SIGKILL")
        const how = yield* started.end
        yield* Stage.hold(how === "signal SIGKILL", `the supervisor should be killed, not end by ${how}`)
        yield* answers(pruned)
        yield* say(`  pid ${started.pid} is dead; its ${pruned.processes.length} processes run on and answer`)
        const supervisor = yield* supervise
        const now = yield* view.until((now) => {
          const others = now.processes.filter(({ status }) => status?.supervisor?.pid !== supervisor.pid)
          if (others.length > 0) return `${others.map(({ metadata }) => metadata.name).join(", ")} were not adopted`
          return missing({ web: 4, api: 1 })(now)
        })
        yield* sameProcesses(pruned, now, names(pruned))
        yield* answers(now)
        return [`pid ${supervisor.pid} has adopted them, each under its old pid`, supervisor] as const
      })
    )

    if (stays) {
      yield* say(`\nThe fleet runs on. Edit, add or delete files in ${manifests}; ctrl-C ends it.`)
      return yield* Effect.never
    }

    yield* step(
      "7. Ctrl-C",
      Effect.gen(function*() {
        const before = yield* view.now
        yield* second.signal("SIGINT")
        const how = yield* second.end
        yield* Stage.hold(how === "exit code 130", `the supervisor should end by ctrl-C (exit code 130), not by ${how}`)
        const lines = yield* second.lines
        const order = lines.flatMap((line) => / (\S+-\d+) has ended$/.exec(line)?.[1] ?? [])
        const expected = ["web-3", "web-2", "web-1", "web-0", "api-0"]
        yield* Stage.hold(
          order.join() === expected.join(),
          `the order should be ${expected.join()}, not ${order.join()}`
        )
        for (const process of before.processes) {
          yield* Stage.hold(!(yield* Stage.isAlive(identityOf(process))), `${process.metadata.name} should have ended`)
        }
        return [`${order.join(", ")} have ended in this order, and then the supervisor`, undefined] as const
      })
    )
  })

  const begin = yield* Clock.currentTimeMillis
  yield* play.pipe(
    stays ? (play) => play : Effect.timeoutOrElse({
      duration: deadline,
      orElse: () => Effect.fail(new Stage.DoesNotHold({ what: `it took longer than ${deadline}` }))
    }),
    Effect.catch(Effect.fnUntraced(function*(error) {
      const heard = (yield* Ref.get(current))?.lines ?? Effect.succeed([])
      const what = [`did not hold: ${yield* Ref.get(at)}`, error.message, "The supervisor's last lines:"]
      return yield* new Stage.DoesNotHold({ what: [...what, ...(yield* heard).slice(-12)].join("\n  ") })
    }))
  )
  yield* say(`\nAll held, in ${(((yield* Clock.currentTimeMillis) - begin) / 1000).toFixed(0)} s.`)
})

const demo = Effect.gen(function*() {
  const path = yield* Path.Path
  const root = yield* Stage.folder
  const world = Layer.mergeAll(
    NodeProcesses.layer({ logs: path.join(root, "logs") }),
    SqliteStore.layer({ filename: path.join(root, "fleet.db") }),
    FetchHttpClient.layer
  )
  yield* Effect.provide(Effect.scoped(script(root)), world)
})

demo.pipe(
  Effect.scoped,
  Effect.tapCause((cause) => Screen.reportEnd(screen, cause)),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
