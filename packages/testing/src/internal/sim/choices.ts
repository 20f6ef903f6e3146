/**
 * Choices: a run is the plain run and a short list of deviations from it.
 *
 * Wherever something can go another way there is a point with a name that stays the same when other parts of a run change.
 * At a point nothing odd happens, unless the list names it: so a run is replayed by its list, made shorter by dropping
 * entries, and all runs with few deviations can be tried.
 */

/** What can happen at a point instead of what is planned. `old:7` and `delete:Server.example.dev/a` carry what they act on. */
export type Alternative = string

export interface Deviation {
  readonly point: string
  readonly alternative: Alternative
}

export interface Point {
  readonly name: string
  readonly alternatives: ReadonlyArray<Alternative>
}

/** Decides what happens at points; `undefined`: nothing odd. */
export interface Source {
  readonly pick: (name: string, alternatives: ReadonlyArray<Alternative>) => Alternative | undefined
}

/** Changed by the functions of this module alone. */
export interface Choices {
  readonly source: Source
  readonly points: Array<Point>
  readonly taken: Array<Deviation>
  /** How often each name without its number was met. */
  readonly met: Map<string, number>
}

export const make = (source: Source): Choices => ({ source, points: [], taken: [], met: new Map() })

/** The same name is met several times: each has a number from 1. */
export const numbered = (self: Choices, name: string): string => {
  const number = (self.met.get(name) ?? 0) + 1
  self.met.set(name, number)
  return number === 1 ? name : `${name}#${number}`
}

/** A point: what happens there. */
export const pick = (
  self: Choices,
  name: string,
  alternatives: ReadonlyArray<Alternative>
): Alternative | undefined => {
  if (alternatives.length === 0) return undefined
  self.points.push({ name, alternatives })
  const alternative = self.source.pick(name, alternatives)
  if (alternative === undefined) return undefined
  self.taken.push({ point: name, alternative })
  return alternative
}

/** Only what a list says. */
export const planned = (plan: ReadonlyArray<Deviation>): Source => {
  const byPoint = new Map(plan.map(({ alternative, point }) => [point, alternative]))
  return {
    pick: (name, alternatives) => {
      const alternative = byPoint.get(name)
      return alternative !== undefined && alternatives.includes(alternative) ? alternative : undefined
    }
  }
}

/**
 * Now and then something odd, of a random few of the kinds: uniform faults heal too soon, so a run has its own taste and
 * its own rate.
 */
export const random = (draw: () => number): Source => {
  const rate = [0.01, 0.03, 0.1][Math.floor(draw() * 3)] ?? 0.03
  const tastes = new Map<string, boolean>()
  const likes = (alternative: Alternative): boolean => {
    const kind = alternative.split(":", 1)[0] ?? ""
    const known = tastes.get(kind)
    if (known !== undefined) return known
    const taste = draw() < 0.5
    tastes.set(kind, taste)
    return taste
  }
  return {
    pick: (_, alternatives) => {
      const liked = alternatives.filter(likes)
      return liked.length > 0 && draw() < rate ? liked[Math.floor(draw() * liked.length)] : undefined
    }
  }
}

/**
 * PCT: some owners of points (a key's passes, an informer) have a low priority, so that all that they do comes after what
 * others do; now and then one changes sides. Beside it what `random` does, more rarely.
 */
export const prioritized = (draw: () => number): Source => {
  const isLow = new Map<string, boolean>()
  const changes = 0.01 + 0.04 * draw()
  const odd = random(draw)
  return {
    pick: (name, alternatives) => {
      const owner = name.split("/", 3).join("/")
      const low = draw() < changes ? !isLow.get(owner) : isLow.get(owner) ?? draw() < 0.4
      isLow.set(owner, low)
      const last = low ? alternatives.find((alternative) => comesLast.has(alternative)) : undefined
      return last ?? (draw() < 0.5 ? odd.pick(name, alternatives) : undefined)
    }
  }
}

const comesLast: ReadonlySet<Alternative> = new Set(["behind", "late"])

// ---------------------------------------------------------------------------------------------------------------------
// tokens
// ---------------------------------------------------------------------------------------------------------------------

/** `ctl/sites/a/3/create:Server.example.dev/a-0=kill-after`, several with commas between. */
export const print = (plan: ReadonlyArray<Deviation>): string =>
  plan.map(({ alternative, point }) => `${point}=${alternative}`).join(",")

/** `undefined` where the text is no token. */
export const parse = (token: string): ReadonlyArray<Deviation> | undefined => {
  if (token === "") return []
  const plan: Array<Deviation> = []
  for (const entry of entries(token)) {
    const at = entry.indexOf("=")
    if (at <= 0 || at === entry.length - 1) return undefined
    plan.push({ point: entry.slice(0, at), alternative: entry.slice(at + 1) })
  }
  return plan
}

/** Parts between commas, but those within brackets and quotes: a workload is JSON. */
const entries = (token: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  let from = 0
  let depth = 0
  let isQuoted = false
  for (let at = 0; at < token.length; at++) {
    const sign = token[at]
    if (isQuoted && sign === "\\") at++
    else if (sign === "\"") isQuoted = !isQuoted
    else if (isQuoted) continue
    else if (sign === "[" || sign === "{") depth++
    else if (sign === "]" || sign === "}") depth--
    else if (sign === "," && depth === 0) {
      found.push(token.slice(from, at))
      from = at + 1
    }
  }
  return [...found, token.slice(from)]
}
