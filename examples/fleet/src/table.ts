/**
 * The fleet as a table for people, as pure functions.
 */
import { Condition } from "setpoint"
import type { Process, Service } from "./Kinds.ts"
import { restarts } from "./processRules.ts"
import { isReady } from "./serviceRules.ts"
import type { View } from "./View.ts"

const header = ["SERVICE", "READY", "PROCESS", "PID", "PORT", "RESTARTS", "AGE", "LAST REASON"] as const
export type Row = ReadonlyArray<string>

/** One row a process, the service named in the first of its rows; a service without processes has a row too. */
export const rows = (view: View, now: number): ReadonlyArray<Row> => {
  const services = new Map(view.services.map((service) => [service.metadata.name, service]))
  const names = new Set([...services.keys(), ...view.processes.map((process) => process.spec.service)])
  return [...names].toSorted().flatMap((name) => {
    const own = view.processes.filter((process) => process.spec.service === name)
      .toSorted((a, b) => a.spec.ordinal - b.spec.ordinal)
    const service = services.get(name)
    const ready = service === undefined ? "ends" : `${own.filter(isReady).length}/${service.spec.replicas}`
    if (own.length === 0) return [[name, ready, "", "", "", "", "", reasonOf(service)]]
    return own.map((process, index): Row => [
      index === 0 ? name : "",
      index === 0 ? ready : "",
      ...processCells(process, now)
    ])
  })
}

const processCells = (process: Process, now: number): Row => {
  const phase = process.status?.phase
  return [
    process.metadata.name,
    pidOf(process)?.toString() ?? "-",
    String(process.spec.port),
    String(restarts(process)),
    phase?._tag === "Running" ? ageText(now - Date.parse(phase.since)) : "-",
    reasonOf(process)
  ]
}

export const pidOf = (process: Process): number | undefined => {
  const phase = process.status?.phase
  return phase !== undefined && "identity" in phase ? phase.identity.pid : undefined
}

const reasonOf = (object: Service | Process | undefined): string => {
  const condition = Condition.find(object?.status?.conditions ?? [], "Ready")
  return condition === undefined ? "" : condition.message === "" ? condition.reason : condition.message
}

/** `12s`, `3m`, `5h`, `2d`. */
export const ageText = (millis: number): string => {
  const seconds = Math.max(0, Math.floor(millis / 1000))
  if (seconds < 120) return `${seconds}s`
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`
}

/** The lines of the table, each cut to `width`. */
export const lines = (rows: ReadonlyArray<Row>, width: number): ReadonlyArray<string> => {
  const all: ReadonlyArray<Row> = [header, ...rows]
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  return all.map((row) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd().slice(0, width)
  )
}

/** What is news in `after`, a line each, without what only time changes. */
export const news = (before: View, after: View): ReadonlyArray<string> => {
  const told = (view: View) =>
    new Map([
      ...view.processes.map((process) => [process.metadata.name, processText(process)] as const),
      ...view.services.map((service) => [`service ${service.metadata.name}`, serviceText(service)] as const)
    ])
  const was = told(before)
  const is = told(after)
  return [
    ...[...is].flatMap(([name, text]) => was.get(name) === text ? [] : [text]),
    ...[...was.keys()].flatMap((name) => is.has(name) ? [] : [`${name} is gone`])
  ]
}

const processText = (process: Process): string => {
  const [name, pid, port, again, , reason] = processCells(process, 0)
  return `${name}  pid ${pid}  port ${port}  restarts ${again}  ${reason}`
}

const serviceText = ({ metadata, spec, status }: Service): string =>
  `${metadata.name}  ${status?.ready ?? 0}/${spec.replicas} ready`
