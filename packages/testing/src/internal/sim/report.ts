/** What a search says: the shortest story that breaks, or exactly what was tried. */
import * as Choices from "./choices.ts"
import { culpritOf, hintFor } from "./hints.ts"
import * as Page from "./page.ts"
import { fieldsOf, rowsOf, timeText } from "./pageRows.ts"
import type { Run } from "./run.ts"
import type { Found, Tried } from "./search.ts"
import { sentence, type Spec } from "./spec.ts"
import type { Change, Line } from "./story.ts"

/** Of a whole report. */
const mostLines = 25

const plural = (count: number, noun: string): string =>
  `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`

/** Longer texts than this do not push all places to the right. */
const widest = 64

/** `spec.size: 1 → 2`: the first field that an update changed, and how many more. */
const changedText = (change: Change | undefined): string => {
  if (change?.type !== "updated" || change.before === undefined) return ""
  const [before, after] = [fieldsOf(change.before), fieldsOf(change.object)]
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const changed = names.filter((name) => !storeFields.has(name) && before[name] !== after[name])
  const [first, ...others] = changed
  if (first === undefined) return ""
  const more = others.length === 0 ? "" : `, ${others.length} more`
  return `    ${first}: ${cut(before[first])} → ${cut(after[first])}${more}`
}

/** What the store keeps for itself. */
const storeFields: ReadonlySet<string> = new Set(["resourceVersion", "generation", "uid"])

const cut = (value = "none"): string => value.length > 16 ? `${value.slice(0, 15)}…` : value

const textOf = (line: Line): string => `${line.text}${changedText(line.change)}`

const isTold = ({ isAside, who }: Line): boolean => who !== "check" && isAside !== true

/** All of it where there is room; else the beginning, the faults, and what led to the end. What repeats itself is counted. */
const story = (lines: ReadonlyArray<Line>, culprit: Line | undefined, room: number): ReadonlyArray<string> => {
  const told = lines.filter(isTold)
  const dull = repeated(told, culprit)
  for (let tail = told.length; tail > 0; tail--) {
    const kept = told.filter((line, index) =>
      line.isFault || (!dull.has(line) && (index < 2 || index >= told.length - tail))
    )
    const texts = textsOf(told, kept, dull, culprit)
    if (texts.length <= room) return texts
  }
  return textsOf(told, told.slice(1 - room), dull, culprit)
}

/** Where the same few lines come four times or more, one after the other: all but the first two times and the last. */
const repeated = (told: ReadonlyArray<Line>, culprit: Line | undefined): ReadonlySet<Line> => {
  const said = told.map(sameness)
  const dull = new Set<Line>()
  for (let from = 0; from < told.length;) {
    const [period, times] = rhythmAt(said, from)
    const middle = times < 4 ? [] : told.slice(from + 2 * period, from + (times - 1) * period)
    for (const line of middle) if (!line.isFault && line !== culprit) dull.add(line)
    from += period * times
  }
  return dull
}

/** How many lines repeat themselves from here on, three at most, and how often they come. */
const rhythmAt = (said: ReadonlyArray<string>, from: number): readonly [period: number, times: number] => {
  for (const period of [1, 2, 3]) {
    let to = from + period
    while (to < said.length && said[to] === said[to - period]) to++
    const times = Math.floor((to - from) / period)
    if (times >= 4) return [period, times]
  }
  return [1, 1]
}

/** What a line says, whatever its numbers are. */
const sameness = ({ site, text, who }: Line): string => `${who} ${site ?? ""} ${text.replaceAll(/\d+/g, "#")}`

const textsOf = (
  told: ReadonlyArray<Line>,
  kept: ReadonlyArray<Line>,
  dull: ReadonlySet<Line>,
  culprit: Line | undefined
): ReadonlyArray<string> => {
  const shown = new Set(kept)
  const lengths = kept.filter(({ site }) => site !== undefined).map((line) => textOf(line).length)
  const width = Math.max(0, ...lengths.filter((length) => length <= widest))
  const texts: Array<string> = []
  let left: Array<Line> = []
  for (const line of told) {
    if (!shown.has(line)) {
      left.push(line)
      continue
    }
    if (left.length > 0) {
      texts.push(
        `              … ${plural(left.length, "line")}${left.every((line) => dull.has(line)) ? " like it" : ""} …`
      )
    }
    left = []
    texts.push(lineText(line, width, line === culprit))
  }
  return texts
}

const lineText = (line: Line, width: number, isCulprit: boolean): string => {
  const { isFault, millis, site, who } = line
  const mark = isFault || isCulprit ? "✗" : " "
  const from = site === undefined ? "" : `    ${site}`
  const words = `${textOf(line).padEnd(site === undefined ? 0 : width)}${from}${isCulprit ? "    ← violation" : ""}`
  return `  t=${timeText(millis).padEnd(9)}${mark} ${who.padEnd(8)} ${words}`
}

/** How it was found. */
const foundHow = ({ byChance, plan, tried }: Found, isReplay: boolean): string => {
  const count = plural(plan.length, "deviation")
  if (isReplay) return `  replayed.  ${count}:`
  if (byChance !== undefined) {
    const others = tried.depth === 0
      ? "the plain run does not fail"
      : `none of the ${plural(tried.runs, "run")} with at most ${plural(tried.depth, "deviation")} fails`
    const shrunk = byChance.deviations === plan.length ? "" : `, shrunk from ${byChance.deviations}`
    return `  ${others}; random run ${byChance.run} does.  ${count}${shrunk}:`
  }
  if (plan.length === 0) return "  the plain run fails: no deviation is needed."
  return `  no run with fewer deviations fails; found in run ${tried.runs}.  ${count}:`
}

/** At most 25 lines. */
export const failure = (found: Found, { isReplay = false } = {}): string => {
  const { plan, run, violation } = found
  const { lines } = run
  const hint = hintFor({ violation, plan, lines })
  const deviations = plan.slice(0, 4).map(({ alternative, point }, index) =>
    `    ${index + 1}. ${point}    ${sentence(alternative)}`
  )
  const head = [
    `FAIL  ${violation.title}    (${violation.law})`,
    ...violation.also.slice(0, 2).map((text) => `  also: ${text}`),
    foundHow(found, isReplay),
    ...deviations,
    ...(plan.length > 4 ? [`    … ${plan.length - 4} more, in the token`] : []),
    ""
  ]
  const foot = [
    ...(hint === undefined ? [] : [`  hint: ${hint}`]),
    "",
    `  replay: ${replayLine(plan)}`
  ]
  const room = mostLines - head.length - foot.length
  return [...head, ...story(lines, culpritOf({ violation, lines }), room), ...foot].join("\n")
}

/** The line that replays a list. */
const replayLine = (plan: ReadonlyArray<Choices.Deviation>): string =>
  `Sim.replay(options, ${JSON.stringify(Choices.print(plan))})`

/** One run as a page, whether a law broke in it or not. */
export const page = (run: Run, plan: ReadonlyArray<Choices.Deviation>): string => {
  const { lines, violation } = run
  const head: Page.Head = {
    also: violation?.also ?? [],
    title: violation === undefined ? "No law broke in this run" : `${violation.title} (${violation.law})`,
    isFailure: violation !== undefined,
    deviations: plan.map(({ alternative, point }) => ({ point, text: sentence(alternative) })),
    hint: violation && hintFor({ violation, plan, lines }),
    replay: replayLine(plan)
  }
  return Page.render(head, rowsOf(lines, violation, violation && culpritOf({ violation, lines })))
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
  [...tried.warnings].toSorted(([, a], [, b]) => b.runs - a.runs).map(([text, { detail, first, runs }]) => {
    const where = first.length === 0 ? "the plain one" : `"${Choices.print(first)}"`
    return `${text}, in ${plural(runs, "run")}, first ${where}${detail === "" ? "" : `: ${detail}`}`
  })

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
