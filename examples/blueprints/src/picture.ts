/** A picture of an instance: its resources in their order, what each waits for, and where each is. */
import * as Rules from "./instanceRules.ts"

const marks: { readonly [tag in Rules.Place["_tag"]]: string } = {
  Ready: "●",
  NotReady: "◐",
  Waiting: "○",
  Skipped: "–",
  Failed: "✗"
}

/** One line for the instance, one for each resource. */
export const draw = (run: Rules.Run): ReadonlyArray<string> => {
  const { definition, instance, places } = run
  const rows = definition.nodes.map((node) => {
    const place = places.get(node.id)
    const after = [...definition.dependencies.get(node.id) ?? []]
    return [
      `${place === undefined ? " " : marks[place._tag]} ${node.id}`,
      `${node.kind}${countOf(run, node.id)}`,
      after.length === 0 ? "" : `after ${after.join(", ")}`,
      place === undefined ? "" : placeText(place)
    ]
  })
  const widths = [0, 1, 2].map((column) => Math.max(0, ...rows.map((row) => row[column].length)))
  const { name } = instance.metadata
  return [
    `${instance.kind} ${name}: ${Rules.statusOf(run).state}`,
    ...rows.map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd()}`)
  ]
}

const countOf = ({ definition, wanted }: Rules.Run, id: string): string => {
  const isCollection = definition.nodes.some((node) => node.id === id && node.iterators.length > 0)
  return isCollection ? ` x${wanted.get(id)?.length ?? 0}` : ""
}

const placeText = (place: Rules.Place): string => {
  switch (place._tag) {
    case "Ready":
      return "ready"
    case "Skipped":
      return `left out: ${place.why}`
    default:
      return place.why
  }
}
