/** What a search says: the shortest story that breaks, or exactly what was tried. */
import * as Choices from "./choices.ts"
import type { Found, Tried } from "./search.ts"
import { sentence, type Spec } from "./spec.ts"
import type { Line } from "./story.ts"

/** Lines of a story that are shown; the middle is left out first. */
const storyLines = 14

const plural = (count: number, noun: string): string =>
  `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`

const timeText = (millis: number): string => {
  const seconds = millis / 1000
  return seconds >= 3600 ? `${(seconds / 3600).toFixed(2)}h` : `${Number(seconds.toFixed(3))}s`
}

const lineText = ({ isFault, millis, text, who }: Line): string =>
  `  t=${timeText(millis).padEnd(9)}${isFault ? "✗" : " "} ${who.padEnd(8)} ${text}`

/** The beginning, and what led to the end; faults are never left out. */
const story = (lines: ReadonlyArray<Line>): ReadonlyArray<string> => {
  const told = lines.filter(({ who }) => who !== "check")
  const faults = new Set(told.filter(({ isFault }) => isFault))
  const room = Math.max(4, storyLines - faults.size)
  const plain = told.filter((line) => !faults.has(line))
  const kept = new Set(plain.length <= room ? plain : [...plain.slice(0, 3), ...plain.slice(3 - room)])
  const texts: Array<string> = []
  let left = 0
  for (const line of told) {
    if (!kept.has(line) && !faults.has(line)) {
      left++
      continue
    }
    if (left > 0) texts.push(`              … ${plural(left, "line")} …`)
    left = 0
    texts.push(lineText(line))
  }
  return texts
}

const hints: ReadonlyArray<readonly [laws: ReadonlyArray<string>, faults: RegExp, hint: string]> = [
  [["leak"], /^/, "take time, chance and the outside world from services: Clock, Random, or one given by Sim.external"],
  [["input"], /^/, "the check itself is at fault, not the reconciler"],
  [
    ["P3"],
    /^/,
    "a pass that finds nothing to do must write nothing; a status without the time of day, an order that is fixed"
  ],
  [["P19"], /^/, "what a pass needs to know must be stored: a restart has lost all memory"],
  [["P5"], /^/, "what a pass does follows from what is stored: no counter, no time of day, no random name"],
  [["P7"], /^/, "Owner.setController on what a pass makes; another's object is not yours to take"],
  [["P9"], /^/, "report Ready last, from what was read in this pass, at the generation that was read"],
  [["P10"], /fence|overlap/, "an old leader must write under its fence alone, so that the store can refuse it"],
  [["P10"], /^/, "one registration of a name in a process; where there is one, the engine broke its law: report it"],
  [["P12"], /^/, "a key whose object is gone must end: let NotFound of it pass, or return done"],
  [["P14"], /^/, "one key's failure must end its own pass alone: no shared lock, no loop over others' objects"],
  [["P15"], /^/, "act on the state, not on having seen a change: steps in between may never be seen"],
  [["P16"], /^/, "apply the corrected spec whatever state the bad one has left; wait for nothing that it broke"],
  [["P18"], /^/, "a cache differs from its store: the adapter or the engine broke its law: report it with this token"],
  [["P20"], /^/, "Store.delete(object) carries the uid; ifUnchanged the revision too"],
  [["P13"], /^/, "a defect is never retried knowingly; objects from a store or a cache are frozen: copy, do not edit"],
  [["P8"], /^/, "store observedGeneration with every status, of the generation that was read"],
  [
    ["P1", "P2", "P4"],
    /kill|restart|stop/,
    "decide each step from what is stored, not from what an earlier step of the same pass did"
  ],
  [
    ["P1", "P2", "P4", "P6"],
    /overlap/,
    "two processes may work at once: names that follow from the object, preconditions, a lease with a fence"
  ],
  [
    ["P1", "P2", "P4", "P6"],
    /old/,
    "a cached read may be of an earlier life: compare uids, and read with Store.latest before what cannot be undone"
  ],
  [["P1", "P2", "P4"], /lose/, "after a lost reply look whether it happened; use names that can be found again"],
  [
    ["P1", "P2", "P4"],
    /late|cut|expire/,
    "act on the state, not on having seen a change: steps in between may never be seen"
  ],
  [["P1", "P2"], /delete/, "what a pass relies on must wake it: own or watch the kind, and make anew what is missing"],
  [
    ["P1", "P2", "P4"],
    /early|slow|rival/,
    "what was read may be out of date when the next call is made: carry its revision, and read again"
  ]
]

const hintFor = (law: string, plan: ReadonlyArray<Choices.Deviation>): string | undefined => {
  const faults = plan.map(({ alternative }) => alternative.split(":", 1)[0]).join(" ")
  return hints.find(([laws, pattern]) => laws.includes(law) && pattern.test(faults))?.[2]
}

/** At most 25 lines. */
export const failure = (found: Found): string => {
  const { byChance, plan, run, tried, violation } = found
  const count = plural(plan.length, "deviation")
  const least = byChance === undefined
    ? plan.length === 0
      ? `  the plain run fails: no deviation is needed.`
      : `  no run with fewer deviations fails (all ${tried.runs - 1} tried before).  ${count}:`
    : `  none of the ${plural(tried.runs, "run")} with at most ${plural(tried.depth, "deviation")} fails; random run ` +
      `${byChance.run} did, and shrank from ${byChance.deviations} to ${count}:`
  const hint = hintFor(violation.law, plan)
  const deviations = plan.slice(0, 4).map(({ alternative, point }, index) =>
    `    ${index + 1}. ${point}    ${sentence(alternative)}`
  )
  const also = violation.also.slice(0, 2).map((text) => `  also: ${text}`)
  return [
    `FAIL  ${violation.title}    (${violation.law})`,
    ...also,
    least,
    ...deviations,
    ...(plan.length > 4 ? [`    … ${plan.length - 4} more, in the token`] : []),
    "",
    ...story(run.lines),
    ...(hint === undefined ? [] : [`  hint: ${hint}`]),
    "",
    `  replay: Sim.replay(options, ${JSON.stringify(Choices.print(plan))})`
  ].join("\n")
}

/** What was tried, and with what; nothing more is claimed. */
export const summary = (spec: Spec, tried: Tried): string => {
  const none = tried.depth === 0
  const exhaustive = none
    ? "the plain run"
    : `all ${plural(tried.runs, "run")} with at most ${plural(tried.depth, "deviation")}`
  const pruned = tried.pruned === 0 ? "" : `, which stand for about ${plural(tried.pruned, "list")} of deviations more`
  const leftOut = tried.leftOut === undefined
    ? ""
    : `; depth ${tried.depth + 1} would have taken ${plural(tried.leftOut, "run")} more and was left out`
  return `clean: ${exhaustive}${pruned} and ${plural(tried.random, "random run")} of ${
    plural(spec.steps.length, "step")
  } ` +
    `(${plural(tried.points, "point")} in the plain run; ${[...spec.faults].join(", ")})${leftOut}. ` +
    `${plural(tried.repeated, "run")} repeated, none differed. Checked: ${checked(spec).join(", ")}. ` +
    `Kills between which nothing happened were tried once, and starts in equal states went on once.${
      exceptions(spec)
    }` +
    warnings(tried).slice(0, mostWarnings).map((text) => `\nwarning: ${text}`).join("")
}

const exceptions = ({ except }: Spec): string =>
  Object.entries(except).map(([law, why]) => ` Not checked: ${law}, since ${why}.`).join("")

/** Warnings that a summary's text shows; the others are in its list. */
const mostWarnings = 5

/** Those that most runs showed come first. */
export const warnings = (tried: Tried): ReadonlyArray<string> =>
  [...tried.warnings].toSorted(([, a], [, b]) => b.runs - a.runs).map(([text, { first, runs }]) =>
    `${text}, in ${plural(runs, "run")}, first ${first.length === 0 ? "the plain one" : `"${Choices.print(first)}"`}`
  )

/** What was checked, by law: those that the options except are left out. */
const checked = ({ always, checks, except, faults, matches, never }: Spec): ReadonlyArray<string> => {
  const all: ReadonlyArray<readonly [law: string, text: string, isAsked?: boolean]> = [
    matches === undefined ? ["P2", "same end as the plain run (P2, P15)"] : ["P1", "matches at rest (P1)"],
    checks.writesEveryMillis === undefined
      ? ["P3", "rest (P3)"]
      : ["P3", `rest but for a write an object every ${checks.writesEveryMillis / 1000} s (P3)`],
    ["P4", "no leak on delete (P4)"],
    ["P5", "a second pass writes nothing (P5)"],
    ["P6", "never (P6)", Object.keys(never).length > 0],
    ["P6", "always (P6)", Object.keys(always).length > 0],
    ["P7", checks.ownedOrTagged === undefined ? "nothing taken from its controller (P7)" : "owners (P7)"],
    ["P8", "observedGeneration (P8)"],
    ["P9", matches === undefined ? "transition times (P9)" : "honest Ready and transition times (P9)"],
    ["P10", "one pass a key, fences (P10)"],
    ["P11", "no lost wake-up (P11)"],
    ["P12", "bounded work and memory (P12)"],
    ["P13", "no defect, clean stop (P13)"],
    ["P14", "isolation (P14)", faults.has("poison")],
    ["P16", "recovery (P16)", checks.returnsTo !== undefined],
    ["P17", "frozen objects (P17)"],
    ["P18", "caches tell and hold what is stored (P18)"],
    ["P19", "restart is a no-op (P19)"],
    ["P20", "guarded deletes (P20)", checks.unguarded === "fail"],
    ["P2", "counts (P2)", checks.counts === "fail"]
  ]
  return all.flatMap(([law, text, isAsked = true]) => isAsked && except[law] === undefined ? [text] : [])
}
