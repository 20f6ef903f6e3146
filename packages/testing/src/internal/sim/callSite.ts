/** Where in the user's program something was called. */

/** Frames of the engine, of this package and of libraries: what is left is the user's. */
const foreign = /[/\\]node_modules[/\\]|^node:|[/\\]packages[/\\](?:setpoint|testing)[/\\](?:src|dist)[/\\]/

/** What called the program: beyond it are the lines of whoever runs the simulation. */
const bottom = /[/\\]internal[/\\]sim[/\\](?:loop|run)\.[jt]s:/

const place = /([^\s()]+):(\d+):\d+\)?$/

/** `src/app.ts:41`: the innermost line of a stack that is the user's own, from the working directory. */
export const inStack = (stack: string): string | undefined => {
  for (const line of stack.split("\n")) {
    if (bottom.test(line)) return undefined
    const [, file, number] = place.exec(line) ?? []
    if (file === undefined || file.startsWith("<") || foreign.test(file)) continue
    return `${relative(file)}:${number}`
  }
  return undefined
}

/** Of the call that is being made. A stack costs more than all else about a call: only for runs that are told. */
export const here = (): string | undefined => inStack(new Error("here").stack ?? "")

const relative = (file: string): string => {
  const path = file.replace(/^file:\/\//, "")
  const folder = `${workingDirectory()}/`
  return path.startsWith(folder) ? path.slice(folder.length) : path
}

/** Where there is one: a browser has none. */
const workingDirectory = (): string => {
  const process: unknown = Reflect.get(globalThis, "process")
  if (typeof process !== "object" || process === null || !("cwd" in process)) return ""
  return typeof process.cwd === "function" ? String(Reflect.apply(process.cwd, process, [])) : ""
}
