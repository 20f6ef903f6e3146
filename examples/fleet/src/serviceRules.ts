/**
 * Which processes a service should have, as pure rules over those that are there.
 */
import * as Equal from "effect/Equal"
import { Condition, Owner, Resource } from "setpoint"
import type { Process, Service } from "./Kinds.ts"
import * as Ports from "./ports.ts"
import { isWanted, launchOf } from "./processRules.ts"

export interface Plan {
  /** Processes to create, with their specs. */
  readonly create: ReadonlyArray<{ readonly name: string; readonly spec: Process["spec"] }>
  readonly update: ReadonlyArray<Process>
  readonly remove: ReadonlyArray<Process>
  /** What stands in the way of the rest, in words for people. */
  readonly waits: ReadonlyArray<string>
}

/** Names are the service's with the number of the replica: the same service always has the same processes. */
export const nameOf = (service: Service, ordinal: number): string => `${service.metadata.name}-${ordinal}`

/** Ready, and with the spec of now: one that will be replaced by a changed one is not. */
export const isReady = (process: Process): boolean => {
  const phase = process.status?.phase
  return phase?._tag === "Running" && Equal.equals(phase.launch, launchOf(process.spec)) && isWanted(process) &&
    Condition.isTrue(process.status?.conditions ?? [], "Ready")
}

/**
 * `processes` are all of the fleet, since all share the ports.
 *
 * Of changed processes that are ready one is changed at a time, and the next one when that one is ready again; those
 * that are not ready have nothing to lose, and change at once.
 */
export const plan = (service: Service, processes: ReadonlyArray<Process>): Plan => {
  const byName = new Map(processes.map((process) => [process.metadata.name, process]))
  const names = Array.from({ length: service.spec.replicas }, (_, ordinal) => nameOf(service, ordinal))
  const ports = Ports.allocate(
    service.spec.ports,
    names,
    processes.map((process) => ({ name: process.metadata.name, port: process.spec.port }))
  )
  const create: Array<Plan["create"][number]> = []
  const update: Array<Process> = []
  const changed: Array<Process> = []
  const waits: Array<string> = []
  let settled = true
  for (const [ordinal, name] of names.entries()) {
    const port = ports.get(name)
    const process = byName.get(name)
    if (port === undefined) {
      const { from, to } = service.spec.ports
      waits.push(`${name} finds no free port from ${from} to ${to}`)
      continue
    }
    const spec = specOf(service, ordinal, port)
    if (process === undefined) {
      create.push({ name, spec })
    } else if (!Owner.isOwnedBy(process, service) || Resource.isMarkedForDeletion(process)) {
      waits.push(`${name} waits until an earlier process of that name has ended`)
    } else if (Equal.equals(process.spec, spec)) {
      settled = settled && isReady(process)
    } else {
      const next = { ...process, spec }
      ;(isReady(process) ? changed : update).push(next)
    }
  }
  if (update.length === 0 && settled) update.push(...changed.slice(0, 1))
  const remove = processes.filter((process) =>
    Owner.isOwnedBy(process, service) && process.spec.ordinal >= service.spec.replicas &&
    !Resource.isMarkedForDeletion(process)
  )
  return { create, update, remove, waits }
}

const specOf = (service: Service, ordinal: number, port: number): Process["spec"] => {
  const { ports: _, replicas: __, ...template } = service.spec
  return { ...template, service: service.metadata.name, ordinal, port, state: "Running" }
}

/** What the service says of itself, from its processes as they are. */
export const statusOf = (
  service: Service,
  processes: ReadonlyArray<Process>,
  waits: ReadonlyArray<string>
): NonNullable<Service["status"]> => {
  const own = processes.filter((process) => Owner.isOwnedBy(process, service))
  const ready = own.filter(isReady).length
  const { replicas } = service.spec
  // A process that is still to be changed may well be ready, but not for the service of now.
  const isCurrent = own.every(({ spec }) => Equal.equals(spec, specOf(service, spec.ordinal, spec.port)))
  const troubles = [
    ...waits,
    ...own.flatMap((process) => {
      const condition = Condition.find(process.status?.conditions ?? [], "Ready")
      return condition === undefined || condition.status === "True"
        ? []
        : [`${process.metadata.name} ${condition.message}`]
    })
  ]
  const condition = ready === replicas && own.length === replicas && isCurrent
    ? Condition.ready({ message: `${ready} of ${replicas} ready` })
    : Condition.notReady({
      reason: "NotAllReady",
      message: troubles.slice(0, 3).join("; ") ||
        (isCurrent ? "processes are on their way" : "processes are replaced one after the other")
    })
  return { replicas, ready, conditions: [condition] }
}
