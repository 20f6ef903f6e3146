/** Faults in the garbage collector. */
import { type Mutant, simulator, source, test } from "../mutant.ts"

const graph = test("internal/collector")

export const collector: ReadonlyArray<Mutant> = [
  {
    id: "GC-unconfirmed",
    law: "collector",
    why: "an owner that its watch has not brought yet is taken for absent",
    file: source("internal/collector"),
    find: "? \"absent\" : \"unknown\"",
    replace: "? \"absent\" : \"absent\"",
    tests: [{ ...test("GarbageCollector"), titles: "not brought yet" }, test("GarbageCollector")]
  },
  {
    id: "GC-one-owner-left",
    law: "collector",
    why: "a dependent goes with the first of its owners",
    file: source("internal/collector"),
    find: "  if (standings.includes(\"solid\")) {\n",
    replace: "  if (!standings.includes(\"absent\") && standings.includes(\"solid\")) {\n",
    tests: [graph, test("GarbageCollector")]
  },
  {
    id: "GC-does-not-wait",
    law: "collector",
    why: "a foreground deletion does not wait for dependents that block",
    file: source("internal/collector"),
    find: "&& reference.blockOwnerDeletion === true\n",
    replace: "&& reference.blockOwnerDeletion === undefined\n",
    tests: [graph, test("GarbageCollector")]
  },
  {
    id: "GC-relist-keeps",
    law: "collector",
    why: "what a new list lacks is still taken for there",
    file: source("internal/collector"),
    find: ".filter((uid) => !present.has(uid)).flatMap(",
    replace: ".filter((uid) => present.size < 0 && !present.has(uid)).flatMap(",
    tests: [graph]
  },
  {
    id: "GC-not-down-the-chain",
    law: "collector",
    why: "what depends on an object that went is not looked at",
    file: source("internal/collector"),
    find: "  const uids = dependentsOf(state, uid)\n  if (node === undefined) return uids\n",
    replace: "  const uids: Array<string> = []\n  if (node === undefined) return uids\n",
    tests: [simulator("no change is lost"), graph]
  }
]
