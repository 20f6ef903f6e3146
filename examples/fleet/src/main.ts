/**
 * The supervisor: `fleet --dir manifests --state fleet.db`.
 */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { SqliteStore } from "@setpoint/sql"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Claim from "./Claim.ts"
import * as Fleet from "./Fleet.ts"
import * as ManifestFolder from "./ManifestFolder.ts"
import * as NodeProcesses from "./NodeProcesses.ts"
import * as Screen from "./Screen.ts"
import * as View from "./View.ts"

const screen = Screen.make(process.stdout)

/** On a terminal, the table; elsewhere the log says all there is to say. It stands until every process has ended. */
const table = Layer.effectDiscard(
  screen.isTerminal
    ? Effect.flatMap(View.make, (view) => Screen.show(screen, view))
    : Effect.void
)

const greeting = Layer.effectDiscard(Effect.logInfo(`the fleet is supervised, pid ${process.pid}`))

const inputClosed = Effect.callback<void>((resume) => {
  process.stdin.resume().once("close", () => resume(Effect.void))
})

const fleet = Command.make("fleet", {
  dir: Flag.String("dir").pipe(
    Flag.withAlias("d"),
    Flag.withDescription("Folder of YAML manifests; it is followed while the fleet runs")
  ),
  state: Flag.String("state").pipe(
    Flag.withAlias("s"),
    Flag.withDescription("SQLite file with what the fleet must remember; made where there is none (default: fleet.db)"),
    Flag.withDefault("fleet.db")
  ),
  logs: Flag.String("logs").pipe(
    Flag.withAlias("l"),
    Flag.withDescription("Folder for what the processes print, a file each (default: logs)"),
    Flag.withDefault("logs")
  ),
  leave: Flag.Boolean("leave").pipe(
    Flag.withDescription("Leave the processes running when the supervisor ends; the next one adopts them"),
    Flag.withDefault(false)
  ),
  attached: Flag.Boolean("attached").pipe(
    Flag.withDescription("End, as by ctrl-C, when standard input closes: for a parent that may die"),
    Flag.withDefault(false)
  )
}, ({ attached, dir, leave, logs, state }) =>
  greeting.pipe(
    Layer.provideMerge(ManifestFolder.layer({ folder: dir })),
    Layer.provideMerge(Fleet.layer({ leave })),
    Layer.provideMerge(table),
    Layer.provideMerge(Claim.layer),
    Layer.provideMerge(Layer.mergeAll(NodeProcesses.layer({ logs }), SqliteStore.layer({ filename: state }))),
    Layer.provide(Logger.layer([Screen.logger(screen)])),
    Layer.launch,
    Effect.raceFirst(attached ? inputClosed : Effect.never),
    Effect.tapCause((cause) => Screen.reportEnd(screen, cause))
  )).pipe(
    Command.withDescription(
      "Keeps the processes that a folder of manifests declares running. Ctrl-C ends the processes in order, then the " +
        "supervisor. A supervisor that is killed leaves them, and the next one adopts them."
    ),
    Command.withExamples([
      { command: "fleet --dir manifests", description: "Supervise what manifests/*.yaml declares" },
      {
        command: "fleet --dir manifests --state /var/lib/fleet.db --leave",
        description: "Processes outlive the supervisor"
      }
    ])
  )

Command.run(fleet, { version: "0.1.0" }).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
