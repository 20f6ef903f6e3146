/**
 * What usually is behind a law that broke in such a way: the first entry of the table that fits. A new law or fault is one
 * more entry.
 */
import type { Deviation } from "./choices.ts"
import type { Line, Violation } from "./story.ts"

/** What a hint may rest on. */
export interface Facts {
  readonly violation: Pick<Violation, "law" | "title">
  readonly plan: ReadonlyArray<Deviation>
  readonly lines: ReadonlyArray<Line>
}

/** `undefined`: it does not fit. */
type Hint = string | ((facts: Facts) => string | undefined)

interface Entry {
  readonly laws: ReadonlyArray<string>
  /** One of the deviations is of this kind; left out: whatever they are. */
  readonly faults?: ReadonlyArray<string>
  readonly hint: Hint
}

/** The change that broke the law as it was made, where one did. */
export const culpritOf = (
  { lines, violation }: { readonly lines: Facts["lines"]; readonly violation: Pick<Violation, "law"> }
): Line | undefined => {
  const check = lines.findLastIndex(({ who }) => who === "check")
  const before = lines[check - 1]
  if (before?.change === undefined || violation.law === "P3") return undefined
  return before.millis === lines[check]?.millis ? before : undefined
}

/** The last read of the culprit's pass that was out of date when it was answered. */
const oldReadOf = (culprit: Line, lines: ReadonlyArray<Line>): Line | undefined =>
  lines.findLast(({ pass, text, who }) => pass === culprit.pass && who === culprit.who && text.includes("out of date"))

const at = ({ site }: Line): string => site === undefined ? "" : ` (${site})`

/** P20: what is destroyed should be what was looked at, as it was then. */
const restedOnOldRead = (facts: Facts): string | undefined => {
  const culprit = culpritOf(facts)
  const oldRead = culprit && oldReadOf(culprit, facts.lines)
  if (culprit?.change === undefined || oldRead === undefined) return undefined
  if (isUnbound(culprit)) {
    return `this delete carried no uid or version precondition, and its pass rested on an old read${at(oldRead)}: ` +
      "Store.delete takes the object that was read (P20)"
  }
  const verb = isDelete(culprit) ? "delete" : "write"
  return `this ${verb} rested on a read that was out of date${at(oldRead)}: compare uids, and read with Store.latest ` +
    "before what cannot be undone (P20)"
}

const wasUnbound = (facts: Facts): string | undefined => {
  const culprit = culpritOf(facts)
  if (culprit === undefined || !isUnbound(culprit)) return undefined
  return "this delete carried no uid or version precondition: Store.delete takes the object that was read (P20)"
}

const isDelete = ({ change }: Line): boolean => change?.type === "removed" || change?.type === "marked"

const isUnbound = (line: Line): boolean => isDelete(line) && line.bound?.length === 0

/** P4: what fails for ever, though all it has to do is gone. */
const cleanUpFails = ({ lines, violation }: Facts): string | undefined => {
  const last = lines.findLast(({ text }) => /^pass \S+ ended/.test(text))
  if (!violation.title.includes("is never deleted") || last?.text.includes("Failed") !== true) return undefined
  return "a clean-up must succeed whatever is gone already: what is not found is done, and what it needs may have been " +
    `deleted before it${at(last)}`
}

/** Between which lines of the user's the process died. */
const halfDone = ({ lines }: Facts): string => {
  const fault = lines.find(({ isFault, site }) => isFault && site !== undefined)
  const where = fault === undefined ? "" : `; here the pass ended at ${fault.site}`
  return `decide each step from what is stored, not from what an earlier step of the same pass did${where}`
}

/** A call to an external service, by the name of its point. */
const isOutside = ({ point }: Deviation): boolean => /\/\w+\.\w+(?:#\d+)?$/.test(point)

/** What was done outside is not stored: nobody knows that it was. */
const outside = ({ plan }: Facts): string | undefined =>
  plan.some(isOutside)
    ? "what was done outside may not be known to be done: look for it there, by a name or tag that follows from the " +
      "object, before doing it again"
    : undefined

const ends = ["P1", "P2", "P4", "P6"]

const table: ReadonlyArray<Entry> = [
  {
    laws: ["leak"],
    hint: "take time, chance and the outside world from services: Clock, Random, or one given by Sim.external"
  },
  { laws: ["input"], hint: "the check itself is at fault, not the reconciler" },
  { laws: ["P6"], hint: restedOnOldRead },
  {
    laws: ["P3"],
    hint: "a pass that finds nothing to do must write nothing; a status without the time of day, an order that is fixed"
  },
  { laws: ["P7"], hint: "Owner.setController on what a pass makes; another's object is not yours to take" },
  { laws: ["P8"], hint: "store observedGeneration with every status, of the generation that was read" },
  { laws: ["P9"], hint: "report Ready last, from what was read in this pass, at the generation that was read" },
  {
    laws: ["P10"],
    faults: ["overlap"],
    hint: "an old leader must write under its fence alone, so that the store can refuse it"
  },
  {
    laws: ["P10"],
    hint: "one registration of a name in a process; where there is one, the engine broke its law: report it"
  },
  {
    laws: ["P11"],
    hint: "what changed must wake the key: own or watch its kind, map it to the key; else report it with this token"
  },
  { laws: ["P12"], hint: "a key whose object is gone must end: let NotFound of it pass, or return done" },
  {
    laws: ["P18"],
    hint: "a cache differs from its store: the adapter or the engine broke its law: report it with this token"
  },
  { laws: ["P5"], hint: "what a pass does follows from what is stored: no counter, no time of day, no random name" },
  { laws: ["P15"], hint: "act on the state, not on having seen a change: steps in between may never be seen" },
  {
    laws: ["P16"],
    hint: "apply the corrected spec whatever state the bad one has left; wait for nothing that it broke"
  },
  {
    laws: ["P13"],
    hint: "a defect is never retried knowingly; objects from a store or a cache are frozen: copy, do not edit"
  },
  {
    laws: ["P14"],
    hint: "one key's failure must end its own pass alone: no shared lock, no loop over others' objects"
  },
  { laws: ["P17"], hint: "objects from a store or a cache are shared and frozen: copy, do not edit" },
  { laws: ["P19"], hint: "what a pass needs to know must be stored: a restart has lost all memory" },
  { laws: ["P20"], hint: "Store.delete(object) carries the uid; ifUnchanged the revision too" },
  { laws: ["P4"], hint: cleanUpFails },
  { laws: ends, faults: ["kill-after", "lose"], hint: outside },
  { laws: ends, faults: ["kill", "kill-after", "restart", "stop", "again"], hint: halfDone },
  {
    laws: ends,
    faults: ["overlap"],
    hint: "two processes may work at once: names that follow from the object, preconditions, a lease with a fence"
  },
  {
    laws: ends,
    faults: ["old", "old-kind", "unsynced"],
    hint:
      "a cached read may be of an earlier life: compare uids, and read with Store.latest before what cannot be undone"
  },
  {
    laws: ends,
    faults: ["lose"],
    hint: "after a lost reply look whether it happened; use names that can be found again"
  },
  {
    laws: ends,
    faults: ["refuse"],
    hint: "a step that failed is tried again by the next pass: it must be able to tell what is done and what is not"
  },
  {
    laws: ends,
    faults: ["late", "cut", "expire", "outage"],
    hint: "act on the state, not on having seen a change: steps in between may never be seen"
  },
  {
    laws: ends,
    faults: ["delete"],
    hint: "what a pass relies on must wake it: own or watch the kind, and make anew what is missing"
  },
  {
    laws: ends,
    faults: ["pause", "ahead", "back"],
    hint: "clocks jump, and processes stand still: reckon from what is stored, and bound what is made up for"
  },
  {
    laws: ends,
    faults: ["unordered"],
    hint: "a list has no order that tells anything: sort it by what is stored, and by a name where that is equal"
  },
  {
    laws: ends,
    faults: ["early", "slow", "rival", "behind"],
    hint: "what was read may be out of date when the next call is made: carry its revision, and read again"
  },
  {
    laws: ends,
    faults: ["fibers"],
    hint: "fibers that run side by side come in any order: let one wait for the other where that matters"
  },
  {
    laws: ends,
    faults: ["flood"],
    hint:
      "a burst of changes is a few passes of one key: do what costs something once for each state, not once for each pass"
  },
  { laws: ["P6"], hint: wasUnbound },
  {
    laws: ["P6"],
    hint: "hold what a pass is about to do against what is stored now: a most-recent read, or a precondition"
  },
  {
    laws: ["P1", "P2"],
    hint:
      "nothing odd is needed: follow the last pass, what it read and where it stopped; its page shows every call (Sim.page)"
  },
  {
    laws: ["P4"],
    hint: "own what you create (Owner.setController), and clean up what has no owner under a Finalizer"
  }
]

export const hintFor = (facts: Facts): string | undefined => {
  const kinds = new Set(facts.plan.map(({ alternative }) => alternative.split(":", 1)[0] ?? ""))
  for (const { faults, hint, laws } of table) {
    if (!laws.includes(facts.violation.law)) continue
    if (faults !== undefined && !faults.some((fault) => kinds.has(fault))) continue
    const text = typeof hint === "string" ? hint : hint(facts)
    if (text !== undefined) return text
  }
  return undefined
}
