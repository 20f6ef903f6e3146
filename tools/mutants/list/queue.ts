/** Faults in the work queue (Q1 to Q9). */
import { type Mutant, simulator, source, test } from "../mutant.ts"

export const queue: ReadonlyArray<Mutant> = [
  {
    id: "Q1-twice-ready",
    law: "Q1",
    why: "an add of a ready key makes a second entry",
    file: source("internal/workQueue"),
    find: "  if (known !== undefined) return known\n",
    replace: "  if (known !== undefined && known.place !== \"Ready\") return known\n",
    tests: [test("WorkQueue", "Q1")]
  },
  {
    id: "Q2-lost-readd",
    law: "Q2",
    why: "an add of a running key is lost",
    file: source("internal/workQueue"),
    find: "  if (state.settings.debounce === undefined) entry.again = true\n",
    replace: "  if (state.settings.debounce === undefined) entry.again = entry.place !== \"Running\"\n",
    tests: [simulator("a change between"), test("WorkQueue", "Q2")]
  },
  {
    id: "Q2-two-workers",
    law: "Q2",
    why: "an add of a running key hands it to a second worker",
    file: source("internal/workQueue"),
    find:
      "  else restartWindow(entry, state.settings.debounce, now)\n  if (entry.place !== \"Running\") moveOn(state, entry, now)",
    replace: "  else restartWindow(entry, state.settings.debounce, now)\n  moveOn(state, entry, now)",
    tests: [simulator("a change between"), test("WorkQueue", "Q2")]
  },
  {
    id: "Q3-sinks",
    law: "Q3",
    why: "an add in a lower lane sinks a ready key",
    file: source("internal/workQueue"),
    find: "  if (lane >= entry.lane - lanesRisen(state, entry, now)) return\n",
    replace: "  if (lane === entry.lane - lanesRisen(state, entry, now)) return\n",
    tests: [test("WorkQueue", "Q3")]
  },
  {
    id: "Q3-head-of-line",
    law: "Q3",
    why: "of two keys in one lane the one that came later goes first",
    file: source("internal/workQueue"),
    find: "|| (lane === firstLane && came > firstCame)) continue",
    replace: "|| (lane === firstLane && came < firstCame)) continue",
    tests: [test("WorkQueue", "Q3")]
  },
  {
    id: "Q4-last-wins",
    law: "Q4",
    why: "of two delayed adds the last one wins, not the earlier time",
    file: source("internal/workQueue"),
    find: "  if (now + delay >= timing.delayDue) return\n",
    replace: "  if (now + delay === timing.delayDue) return\n",
    tests: [test("WorkQueue", "Q4")]
  },
  {
    id: "Q4-timer-not-moved",
    law: "Q4",
    why: "an earlier time does not move the timer that is set for a later one",
    file: source("WorkQueue"),
    find: "  if (due < group.timer.until) arm(group, due)\n",
    replace: "  if (due < group.timer.until && group.timer.until === Infinity) arm(group, due)\n",
    tests: [test("WorkQueue", "Q4")]
  },
  {
    id: "Q5-flood",
    law: "Q5",
    why: "a queue keeps its turn as long as it has keys",
    file: source("internal/fairPool"),
    find: "  if (canGive && member.turn > 0) return\n",
    replace: "  if (canGive) return\n",
    tests: [test("WorkQueue", "Q5")]
  },
  {
    id: "Q6-reasons-lost",
    law: "Q6",
    why: "only the first reason is kept",
    file: source("internal/workQueue"),
    find: "  if (reasons.length < state.settings.maxReasons) reasons.push(reason)\n  else entry.others++",
    replace: "  entry.others++",
    tests: [test("WorkQueue", "Q6")]
  },
  {
    id: "Q6-reasons-stay",
    law: "Q6",
    why: "the reasons of a pass are told to the next one too",
    file: source("internal/workQueue"),
    find: "  entry.reasons = undefined\n  entry.others = 0\n",
    replace: "  entry.others = 0\n",
    tests: [test("WorkQueue", "Q6")]
  },
  {
    id: "Q7-idle-stays",
    law: "Q7",
    why: "the state of an idle key is kept for ever",
    file: source("internal/workQueue"),
    find: "  if (entry.memory === undefined && gate <= now) return drop(state, entry)\n",
    replace: "",
    tests: [test("WorkQueue", "Q7")]
  },
  {
    id: "Q8-adds-after-close",
    law: "Q8",
    why: "adds are accepted after a close",
    file: source("internal/workQueue"),
    find: "  if (state.phase !== \"Open\") return undefined\n  const entry = entryOf(state, key)\n",
    replace: "  const entry = entryOf(state, key)\n",
    tests: [test("WorkQueue", "Q8")]
  },
  {
    id: "Q8-blocked-take",
    law: "Q8",
    why: "a take that waits when the queue closes is not woken",
    file: source("WorkQueue"),
    find: "self.group.members.delete(self)\n  wakeAll(self.group)\n",
    replace: "self.group.members.delete(self)\n",
    tests: [test("WorkQueue", "Q8")]
  },
  {
    id: "Q9-failures-hidden",
    law: "Q9",
    why: "the probe tells no failures",
    file: source("internal/workQueue"),
    find: "  failures: entry.memory?.failures ?? 0,\n",
    replace: "  failures: 0,\n",
    tests: [test("WorkQueue", "Q9")]
  }
]
