/**
 * What the operating system says about its processes, as pure functions over its text.
 */
import type { Marked } from "./Processes.ts"

/** The variables by which a process is known again, also by a supervisor that lost its memory. */
export const ownerVariable = "FLEET_PROCESS"
export const startVariable = "FLEET_START"

export interface Row {
  readonly pid: number
  readonly group: number
  readonly began: string
  /** Ended, and only waits to be collected by its parent. */
  readonly ended: boolean
}

/** `/proc/PID/stat` of Linux. The command, in parentheses, may hold anything; field 22 is when the process began. */
export const fromStat = (text: string, boot: string): Row | undefined => {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
  const [state, , group] = fields
  const ticks = fields[19]
  if (state === undefined || group === undefined || ticks === undefined) return undefined
  return { pid: Number.parseInt(text, 10), group: Number(group), began: `${boot}/${ticks}`, ended: /[ZXx]/.test(state) }
}

const psLine = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(\w{3} \w{3}\s+\d+ [\d:]{8} \d{4})\s?(.*)$/

/** A line of `ps -o pid=,pgid=,stat=,lstart=,command=`, and what follows these columns. */
export const fromPs = (line: string): { readonly row: Row; readonly rest: string } | undefined => {
  const [, pid, group, state, began, rest] = psLine.exec(line) ?? []
  if (pid === undefined || group === undefined || state === undefined || began === undefined) return undefined
  return { row: { pid: Number(pid), group: Number(group), began, ended: /^[ZX]/.test(state) }, rest: rest ?? "" }
}

/** The process as one that carries a mark of `owner`, if its environment says so. */
export const marked = (row: Row, environment: string, owner: string): Marked | undefined => {
  if (row.ended || !variable(environment, ownerVariable, owner)) return undefined
  const start = new RegExp(`(?:^|[\\0 ])${startVariable}=(\\d+)(?:$|[\\0 ])`).exec(environment)?.[1]
  if (start === undefined) return undefined
  return {
    identity: { pid: row.pid, began: row.began },
    mark: { owner, start: Number(start) },
    leader: row.pid === row.group
  }
}

const variable = (environment: string, name: string, value: string): boolean =>
  environment.split(/[\0 ]/).includes(`${name}=${value}`)
