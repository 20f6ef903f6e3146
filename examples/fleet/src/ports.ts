/**
 * Which process listens where, as a pure function of what is held.
 */
export interface Range {
  readonly from: number
  readonly to: number
}

export interface Held {
  readonly name: string
  readonly port: number
}

/**
 * A port of `range` for each of `names`, by these rules, so that the same world always gives the same answer:
 *
 * - who holds a port of the range keeps it, unless a process of an earlier name holds it too;
 * - others take, in the order of `names`, the lowest port that nobody holds.
 *
 * Names for which no port is left are not in the answer.
 */
export const allocate = (
  range: Range,
  names: ReadonlyArray<string>,
  held: ReadonlyArray<Held>
): ReadonlyMap<string, number> => {
  const mine = new Set(names)
  const holder = new Map<number, string>()
  for (const { name, port } of held) {
    const other = holder.get(port)
    if (other === undefined || name < other) holder.set(port, name)
  }
  const ports = new Map<string, number>()
  for (const [port, name] of holder) {
    if (mine.has(name) && port >= range.from && port <= range.to) ports.set(name, port)
  }
  const taken = new Set([...holder].flatMap(([port, name]) => mine.has(name) && !ports.has(name) ? [] : [port]))
  let next = range.from
  for (const name of names) {
    if (ports.has(name)) continue
    while (taken.has(next)) next += 1
    if (next > range.to) break
    ports.set(name, next)
    taken.add(next)
  }
  return ports
}
