/** The published definitions: read where they are, never copied; a test without them says so loudly. */
import * as Manifest from "@setpoint/example-manifests"
import * as Fs from "node:fs"
import * as Path from "node:path"

const root = Path.resolve(import.meta.dirname, "../../../..")
const folder = Path.join(process.env["SETPOINT_INPUTS"] ?? Path.join(root, "../shared/inputs"), "kro")

/** Why the tests on published definitions cannot run here; `undefined` where they can. */
export const absent: string | undefined = Fs.existsSync(folder)
  ? undefined
  : "the published definitions are not here: set SETPOINT_INPUTS to the folder that holds kro/"

if (absent !== undefined) process.stderr.write(`SKIPPED: ${absent}\n`)

export const cases = (): ReadonlyArray<string> =>
  Fs.readdirSync(folder).filter((name) => Fs.statSync(Path.join(folder, name)).isDirectory())

export const files = (name: string): ReadonlyArray<string> =>
  Fs.readdirSync(Path.join(folder, name), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".yaml")).toSorted()

export const text = (name: string, file: string): string => Fs.readFileSync(Path.join(folder, name, file), "utf8")

/** A published file's documents. One of them has a key twice: as for Kubernetes, the last one counts. */
export const read = (name: string, file: string): ReadonlyArray<Manifest.Manifest> => readText(file, text(name, file))

export const readText = (file: string, text: string): ReadonlyArray<Manifest.Manifest> => {
  const { manifests, problems } = Manifest.read(file, new TextEncoder().encode(text), { duplicateKeys: "last" })
  if (problems.length > 0) throw new Error(problems.map(Manifest.problemText).join("\n"))
  return manifests
}
