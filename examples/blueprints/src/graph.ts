/** Which resource comes after which: a graph of dependencies in the order that they are created in. */

export type Order =
  | { readonly _tag: "Sorted"; readonly ids: ReadonlyArray<string> }
  | { readonly _tag: "Cyclic"; readonly cycle: ReadonlyArray<string> }

/** What each id waits for; ids come in the order that they are declared in. */
export type Dependencies = ReadonlyMap<string, ReadonlySet<string>>

/** Each id after all it waits for; among those that may come, the one declared first. */
export const orderOf = (dependencies: Dependencies): Order => {
  const ids: Array<string> = []
  const rest = new Set(dependencies.keys())
  while (rest.size > 0) {
    const next = [...rest].find((id) => waitsFor(dependencies, id).every((other) => !rest.has(other)))
    if (next === undefined) return { _tag: "Cyclic", cycle: cycleIn(dependencies, rest) }
    rest.delete(next)
    ids.push(next)
  }
  return { _tag: "Sorted", ids }
}

const waitsFor = (dependencies: Dependencies, id: string): ReadonlyArray<string> => [...dependencies.get(id) ?? []]

/** Where every id waits for another one that is left, following them must come back. */
const cycleIn = (dependencies: Dependencies, rest: ReadonlySet<string>): ReadonlyArray<string> => {
  const path: Array<string> = []
  let [id] = rest
  while (!path.includes(id)) {
    path.push(id)
    const next = waitsFor(dependencies, id).find((other) => rest.has(other))
    if (next === undefined) throw new Error(`graph: ${id} was left over and waits for nothing that is left`)
    id = next
  }
  return [...path.slice(path.indexOf(id)), id]
}

/** Who waits for an id, directly or through others. */
export const dependents = (dependencies: Dependencies, id: string): ReadonlySet<string> => {
  const found = new Set<string>()
  const visit = (id: string): void => {
    for (const [other, uses] of dependencies) {
      if (!uses.has(id) || found.has(other)) continue
      found.add(other)
      visit(other)
    }
  }
  visit(id)
  return found
}
