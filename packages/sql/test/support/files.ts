/** Files of tests: each in a folder of its own, which goes with the test's Scope. */
import * as Effect from "effect/Effect"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"

export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "setpoint-sqlite-"))),
  (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true, force: true }))
)

/** A name in a new folder; the file is not there yet. */
export const temporaryFile = Effect.map(temporaryFolder, (folder) => Path.join(folder, "store.db"))
