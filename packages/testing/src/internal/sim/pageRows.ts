/** A told run as rows: who did what, to which object, and how the object was after it. */
import type { Resource } from "setpoint"
import type { Line, Violation } from "./story.ts"
import { keyText } from "./world.ts"

/** One object's fields by path: `spec.size` to `2`. */
export type Fields = Readonly<Record<string, string>>

export interface Row {
  readonly time: string
  readonly who: string
  readonly text: string
  readonly site: string | undefined
  readonly pass: string | undefined
  /** `violation`: the change that broke the law, or the check that found it; `aside`: shown when asked for. */
  readonly mark: "plain" | "fault" | "violation" | "aside"
  /** `Set a`: whose change this is. */
  readonly object: string | undefined
  readonly change: "created" | "updated" | "marked" | "removed" | undefined
  readonly revision: number | undefined
  /** The object after the change; before it, where it was removed. */
  readonly fields: Fields | undefined
}

export const timeText = (millis: number): string => {
  const seconds = millis / 1000
  return seconds >= 3600 ? `${(seconds / 3600).toFixed(2)}h` : `${Number(seconds.toFixed(3))}s`
}

export const rowsOf = (
  lines: ReadonlyArray<Line>,
  violation: Violation | undefined,
  culprit: Line | undefined
): ReadonlyArray<Row> =>
  lines.map((line) => {
    const { change, isAside, isFault, millis, pass, site, text, who } = line
    const isViolation = line === culprit || (who === "check" && text === violation?.title)
    return {
      time: timeText(millis),
      who,
      text,
      site,
      pass,
      mark: isViolation ? "violation" : isFault ? "fault" : isAside === true ? "aside" : "plain",
      object: change && nameOf(change.object),
      change: change?.type,
      revision: change?.revision,
      fields: change && fieldsOf(change.object)
    }
  })

const nameOf = (object: Resource.Raw): string => `${object.kind} ${keyText(object)}`

/** In the order in which they come. */
export const actorsOf = (rows: ReadonlyArray<Row>): ReadonlyArray<string> => [...new Set(rows.map(({ who }) => who))]

/** Those that change. */
export const objectsOf = (rows: ReadonlyArray<Row>): ReadonlyArray<string> => [
  ...new Set(rows.flatMap(({ object }) => object ?? []))
]

/** Everything of the object that tells something: what the store keeps for itself is left out. */
export const fieldsOf = (object: Resource.Raw): Fields => {
  const fields: Record<string, string> = {}
  const { deletionTimestamp, finalizers, generation, labels, annotations, ownerReferences, resourceVersion, uid } =
    object.metadata
  flatten(fields, "", {
    resourceVersion,
    uid: uid.slice(-8),
    generation,
    deletionTimestamp,
    finalizers,
    labels,
    annotations
  })
  if (ownerReferences !== undefined) {
    fields["owners"] = ownerReferences.map(({ kind, name, uid }) => `${kind} ${name} (uid ${uid.slice(-8)})`).join(", ")
  }
  for (const [name, value] of Object.entries(object)) {
    if (name !== "metadata" && name !== "apiVersion" && name !== "kind") flatten(fields, name, value)
  }
  return fields
}

const flatten = (into: Record<string, string>, path: string, value: unknown): void => {
  if (value === undefined) return
  const isDeep = typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
  if (!isDeep) {
    into[path] = typeof value === "string" ? value : JSON.stringify(value)
    return
  }
  for (const [name, inner] of Object.entries(value)) flatten(into, path === "" ? name : `${path}.${name}`, inner)
}
