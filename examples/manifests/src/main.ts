/** `node src/main.ts [file …]`: says what is wrong with YAML manifests; without files, with those of the examples. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Manifest from "./Manifest.ts"

const examples = Path.resolve(import.meta.dirname, "../..")

const own = (): ReadonlyArray<string> =>
  ["fleet/manifests", "blueprints/definitions"].map((folder) => Path.join(examples, folder)).filter(Fs.existsSync)
    .flatMap((folder) => Fs.readdirSync(folder).map((file) => Path.join(folder, file)))
    .filter((file) => file.endsWith(".yaml"))

const files = process.argv.length > 2 ? process.argv.slice(2) : own()
let problems = 0
for (const file of files) {
  const read = Manifest.read(Path.relative(process.cwd(), file), Fs.readFileSync(file))
  for (const problem of read.problems) process.stdout.write(`${Manifest.problemText(problem)}\n`)
  problems += read.problems.length
}
process.stdout.write(`${files.length} files, ${problems} problems\n`)
process.exitCode = problems > 0 || files.length === 0 ? 1 : 0
