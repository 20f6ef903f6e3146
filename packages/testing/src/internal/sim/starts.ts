/**
 * Starts: a process that starts has no memory, so what follows is a function of what is there: the objects, what external
 * services were asked, the steps that were taken, and what the checks remember. Where one started before, with nothing
 * odd to come in either run, another has the same future, and its run ends there (simulation.md 4.3, b).
 *
 * Equal means equal but for the time of day, the draws of randomness and the number of the start: these are left out, as
 * kills between which nothing happened are one. Whoever keeps more about a world is asked about it: what is not named
 * here as left out is part of the key, and what has no key keeps its run whole.
 */
import type { Notes } from "./checks/notes.ts"
import { objects } from "./checks/objects.ts"
import { exactText } from "./exact.ts"
import * as randomness from "./randomness.ts"
import type * as World from "./world.ts"

/** A process is about to start anew: whether that is known. */
export const isKnown = (world: World.World): boolean => {
  const { known, mayCut, met } = world.starts
  if (known === undefined || !isSettled(world)) return false
  const key = keyOf(world)
  if (key === undefined) return false
  if (mayCut && known.has(key)) {
    world.starts.cutAt = key
    return true
  }
  met.push({ key, points: world.choices.points.length })
  return false
}

/** Nothing odd is to come, and nobody else acts or is about to: no process, no timer but the store's own. */
const isSettled = ({ choices, current, hasFaults, lateList, loop, oldView, starts, violation }: World.World): boolean =>
  violation === undefined && current?.process.isAlive !== true && oldView === undefined && lateList === undefined &&
  (!hasFaults || choices.taken.length === starts.deviations) &&
  loop.head === loop.ready.length && loop.calls.length === 0 && loop.arrivals.length === 0 &&
  loop.timers.length <= 1

/** A step that comes so soon may come before the process is up: how soon is a part of the key. */
const soonMillis = 10_000

/** What does not tell a future from another, or is a part of the key in another form. */
const leftOut: ReadonlySet<string> = new Set<keyof World.World>([
  "spec",
  "hooks",
  "loop",
  "choices",
  "core",
  "driver",
  "store",
  "view",
  "externals",
  "actor",
  "current",
  "lines",
  "hash",
  "violation",
  "starts",
  "nextStepAt",
  "notes",
  "outages",
  "acting",
  "turn",
  "calls",
  "wanted",
  "started",
  // of times and counts only differences are looked at
  "writes",
  "passes",
  "externalCalls",
  "othersActs",
  "lastWriteAt",
  "wasUnmatched",
  // of processes that are gone
  "killedAt",
  "commits",
  "lost"
])

const leftOutOfNotes: ReadonlySet<string> = new Set<keyof Notes>([
  "touchedAt",
  "movedAt",
  "warnings",
  // times: who starts anew does not know them, and watches are opened anew
  "opened",
  "waits",
  "writtenAt",
  // of processes that are gone
  "built",
  "calls",
  "fences",
  "followed",
  "lastPasses",
  "probes"
])

const keyOf = (world: World.World): number | undefined => {
  const { asked, loop, nextStepAt, notes, spec } = world
  const soon = Math.max(0, nextStepAt - loop.now)
  const text = asked === undefined ? undefined : exactText([
    objects(world),
    soon < soonMillis ? soon : "later",
    world.isEnding ? undefined : spec.workload,
    unmet(world),
    loop.wallShift,
    others(notes),
    [...notes.waits].map(([about, { millis }]) => [about, Math.floor((loop.now - millis) / 1000)]),
    [...world.outages].filter(([, until]) => until > loop.now),
    Object.entries(world).filter(([name]) => !leftOut.has(name)),
    Object.entries(notes).filter(([name]) => !leftOutOfNotes.has(name))
  ])
  // Two hashes, since one of 32 bits would be shared by chance among some ten thousand.
  return text === undefined ? undefined : randomness.hash(text) * 2 ** 21 + (randomness.hash(text, 1) >>> 11)
}

/** P9: whether anything was done since an object's generation moved. */
const others = ({ movedAt, touchedAt }: Notes): ReadonlyArray<unknown> =>
  [...movedAt].map(([uid, { loopSteps, workloadSteps }]) => {
    const isTouched = [...touchedAt].some(([other, at]) => other !== uid && at >= loopSteps)
    return [uid, workloadSteps, isTouched]
  })

/** P11: whether the last wish about a key was heard, by a pass that began after it. */
const unmet = ({ started, wanted }: World.World): ReadonlyArray<unknown> =>
  [...wanted].map(([about, at]) => {
    const passes = [...started].filter(([key]) => key.endsWith(` ${about}`)).map(([, begun]) => begun)
    return [about, passes.length > 0, passes.some((begun) => begun >= at)]
  })
