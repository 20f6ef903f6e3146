/** What the engine and the cores of adapters must not call, and what to call instead. */
import { importsOf, lineAt, scan } from "./scan.ts"
import type { SourceFile } from "./workspace.ts"

interface Ban {
  readonly pattern: RegExp
  readonly name: string
  readonly instead: string
}

const service = "time, chance and the outside world come through services, so that a run can be simulated"

const inCode: ReadonlyArray<Ban> = [
  {
    pattern: /\bDate\.now\b|\bperformance\.now\b/g,
    name: "Date.now",
    instead: "Clock.monotonicTimeNanos (durations) or Clock.currentTimeMillis (stamps in objects)"
  },
  { pattern: /\bnew Date\(/g, name: "new Date(", instead: "effect/DateTime, from a time that Clock gave" },
  {
    pattern: /\b(?:setTimeout|setInterval|setImmediate|queueMicrotask)\b/g,
    name: "a timer",
    instead: `Effect.sleep or Schedule: ${service}`
  },
  {
    pattern: /\bMath\.random\b|\bcrypto\.(?:randomUUID|getRandomValues)\b/g,
    name: "Math.random",
    instead: "effect/Random"
  },
  {
    pattern: /\bEffect\.(?:promise|tryPromise|runPromise|runPromiseExit)\b|\bnew Promise\b|\bPromise\./g,
    name: "a promise",
    instead: "an Effect of a service; only a binding file listed in tools/bans.ts may cross over"
  },
  {
    pattern: /(?<![.\w])async\b(?=\s*(?:\(|function|[A-Za-z_$]))|(?<![.\w])await\b/g,
    name: "async",
    instead: "Effect.fn or Effect.gen"
  },
  { pattern: /(?<![.\w])process\./g, name: "process", instead: `a service: ${service}` },
  { pattern: /(?<![.\w])console\./g, name: "console", instead: "Effect.log*, with annotations" },
  { pattern: /\bas any\b/g, name: "as any", instead: "the right type, or a Schema where the value comes from outside" }
]

const inText: ReadonlyArray<Ban> = [
  { pattern: /@ts-(?:ignore|expect-error|nocheck)/g, name: "@ts-", instead: "a type that holds" }
]

/** Folders under the ban: packages whose core runs under simulation. */
const banned = ["packages/setpoint/src/", "packages/sql/src/"]

/** Binding files, which touch the world so that nothing else has to: which bans they are free of, and why. */
export const exceptions: Readonly<Record<string, { readonly free: ReadonlyArray<string>; readonly why: string }>> = {}

const found = (file: SourceFile, text: string, ban: Ban): ReadonlyArray<string> =>
  [...text.matchAll(ban.pattern)].map((match) =>
    `${file.path}:${lineAt(text, match.index)}: ${ban.name} is not used here. Use ${ban.instead}.`
  )

export const bans = (file: SourceFile): ReadonlyArray<string> => {
  if (!banned.some((folder) => file.path.startsWith(folder))) return []
  const scanned = scan(file.text)
  const free = exceptions[file.path]?.free ?? []
  const barrels = importsOf(scanned).filter((_) => _.from === "effect").map((_) =>
    `${file.path}:${_.line}: imports the barrel "effect". Import the module: import * as Effect from "effect/Effect".`
  )
  return [
    ...inCode.filter((ban) => !free.includes(ban.name)).flatMap((ban) => found(file, scanned.code, ban)),
    ...inText.flatMap((ban) => found(file, file.text, ban)),
    ...barrels
  ]
}

const longest = 700

/** A warning, not a failure: a long file is split by law, not by size. */
export const longFiles = (files: ReadonlyArray<SourceFile>): ReadonlyArray<string> =>
  files.map((file) => ({ path: file.path, lines: file.text.split("\n").length })).filter((_) => _.lines > longest)
    .map((_) => `warning: ${_.path} has ${_.lines} lines (over ${longest}). Which law could live in a file of its own?`)
