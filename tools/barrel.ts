/** `pnpm barrel`: writes each package's `src/index.ts`, one namespace a module, with the first paragraph of its doc. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { scan } from "./scan.ts"
import { conclude, filesUnder, isMain, packages, root, type SourceFile } from "./workspace.ts"

const firstParagraph = (file: SourceFile): string => {
  const first = scan(file.text).docs[0]
  if (first === undefined || file.text.slice(0, first.start).trim() !== "") return ""
  return first.text.trim().split(/\n\s*\n|\n\*\*|\n@/)[0]?.trim() ?? ""
}

const entry = (file: SourceFile): string => {
  const name = Path.posix.basename(file.path, ".ts")
  const doc = [...firstParagraph(file).split("\n").filter((line) => line !== ""), "", "@since 0.1.0"]
  const lines = doc[0] === "" ? doc.slice(1) : doc
  return `/**\n${
    lines.map((line) => ` * ${line}`.trimEnd()).join("\n")
  }\n */\nexport * as ${name} from "./${name}.ts"\n`
}

const isModule = (dir: string) => (file: SourceFile): boolean =>
  Path.posix.dirname(file.path) === `${dir}/src` && /^[A-Z]/.test(Path.posix.basename(file.path))

/** The text of a package's barrel, from its modules. */
export const barrel = (dir: string, files: ReadonlyArray<SourceFile>): string =>
  files.filter(isModule(dir)).map(entry).join("\n") || "export {}\n"

const barrels = (): ReadonlyArray<{ readonly path: string; readonly text: string }> =>
  packages().filter((of) => !of.isPrivate).map((of) => ({
    path: `${of.dir}/src/index.ts`,
    text: barrel(of.dir, filesUnder(`${of.dir}/src`, ".ts"))
  }))

/** Barrels that are not what their modules make them. */
export const stale = (): ReadonlyArray<string> =>
  barrels().filter(({ path, text }) =>
    !Fs.existsSync(Path.join(root, path)) || Fs.readFileSync(Path.join(root, path), "utf8") !== text
  ).map(({ path }) => `${path}: is not what its modules make it. Run: pnpm barrel`)

if (isMain(import.meta)) {
  for (const { path, text } of barrels()) Fs.writeFileSync(Path.join(root, path), text)
  conclude("Barrels written.", [])
}
