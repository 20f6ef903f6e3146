/** P2: how a world ended, in a form in which two runs can be compared. */
import { Resource } from "setpoint"
import * as World from "../world.ts"
import { nameOf, objects } from "./objects.ts"

const timestamp = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g

/** Everything that is there, one line an object, without what differs from run to run: uids, revisions, times. */
export const endState = (world: World.World): string => {
  const all = objects(world)
  const names = new Map(all.map((object) => [object.metadata.uid, `<uid of ${nameOf(object)}>`]))
  const lines = all.map((object) => {
    const { annotations, finalizers, generateName, labels, name, namespace, ownerReferences } = object.metadata
    const metadata = {
      name: generateName === undefined ? name : `${generateName}*`,
      namespace,
      labels,
      annotations: Object.fromEntries(
        Object.entries(annotations ?? {}).filter(([key]) => key !== World.rivalAnnotation)
      ),
      finalizers,
      deleted: Resource.isMarkedForDeletion(object),
      owners: ownerReferences?.map(({ kind, name }) => `${kind} ${name}`)
    }
    const fields = Object.entries(object).filter(([key]) =>
      key !== "metadata" && key !== "apiVersion" && key !== "kind"
    )
    const text = `${object.kind} ${canonical({ metadata, ...Object.fromEntries(fields) })}`
    return text.replaceAll(timestamp, "<time>").replaceAll(
      /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g,
      (uid) => names.get(uid) ?? "<uid>"
    )
  })
  return lines.toSorted().join("\n")
}

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner)

/** P2: the same end as the plain run's. */
export const same = (world: World.World, plain: string): void => {
  const end = endState(world)
  if (end !== plain) World.violate(world, "P2", `another end than without deviations: ${difference(plain, end)}`)
}

/** The first line that only one of the two has. */
export const difference = (plain: string, end: string): string => {
  const before = new Set(plain.split("\n"))
  const after = new Set(end.split("\n"))
  const missing = [...before].find((line) => line !== "" && !after.has(line))
  const extra = [...after].find((line) => line !== "" && !before.has(line))
  const parts = [
    missing === undefined ? [] : [`not there: ${shortened(missing)}`],
    extra === undefined ? [] : [`instead: ${shortened(extra)}`]
  ]
  return parts.flat().join("; ")
}

const shortened = (text: string): string => text.length > 160 ? `${text.slice(0, 160)}…` : text
