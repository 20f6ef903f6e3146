/** Faults in the stores' rules (S1 to S13) and in how `Store` speaks of them. */
import { contract, type Mutant, simulator, source, test } from "../mutant.ts"

export const store: ReadonlyArray<Mutant> = [
  {
    id: "S1-lost-update",
    law: "S1",
    why: "a stale revision is no conflict: the later write wins",
    file: source("StoreRules"),
    find: "  if (revision === undefined || revision === actual) return undefined\n",
    replace: "  if (revision === undefined || actual !== undefined) return undefined\n",
    tests: [contract("S1")]
  },
  {
    id: "S1-unknown-is-refused",
    law: "S1",
    why: "a write whose reply was lost and of which the store knows nothing is told as not applied",
    file: source("internal/writer"),
    find: "if (outcome === \"notApplied\") {",
    replace: "if (outcome !== \"applied\") {",
    tests: [simulator("makes nothing twice"), test("Store", "S1")]
  },
  {
    id: "S2-equal-write",
    law: "S2",
    why: "a write that is equal to what is stored makes a revision and an event",
    file: source("StoreRules"),
    find: "  if (next === stored) return { _tag: \"Unchanged\", object: stored }\n",
    replace: "",
    tests: [contract("S2")]
  },
  {
    id: "S2-status-generation",
    law: "S2",
    why: "a status write moves the generation",
    file: source("StoreRules"),
    find: "name !== \"metadata\" && name !== \"status\" && name !== \"apiVersion\"",
    replace: "name !== \"metadata\" && name !== \"apiVersion\"",
    tests: [contract("S2")]
  },
  {
    id: "S2-mark-generation",
    law: "S2",
    why: "the mark of deletion does not move the generation",
    file: source("StoreRules"),
    find: "generation: (stored.metadata.generation ?? 0) + 1,",
    replace: "generation: stored.metadata.generation ?? 0,",
    tests: [contract("S2")]
  },
  {
    id: "S3-gap",
    law: "S3",
    why: "a watch that resumes misses the first change after its cursor",
    file: source("internal/timeline"),
    find: "for (let r = revision + 1; r <= self.latest.revision; r++)",
    replace: "for (let r = revision + 2; r <= self.latest.revision; r++)",
    tests: [simulator("a change between"), contract("S3")]
  },
  {
    id: "S3-filter",
    law: "S3",
    why: "an object that ceases to match a watch's filter is never Deleted",
    file: source("WatchBuffer"),
    find: "if (!did && !does) return undefined",
    replace: "if (!does && (!did || after !== undefined)) return undefined",
    tests: [contract("S3")]
  },
  {
    id: "S4-ahead",
    law: "S4",
    why: "a bookmark stands before events that it claims were seen",
    file: source("WatchBuffer"),
    find: "  self.events.push({\n    _tag: \"Bookmark\",",
    replace: "  self.events.unshift({\n    _tag: \"Bookmark\",",
    tests: [contract("S4")]
  },
  {
    id: "S5-any-cursor",
    law: "S5",
    why: "a cursor of another timeline resumes: the write id is not compared",
    file: source("internal/timeline"),
    find: "return known.writeId === writeId\n",
    replace: "return known.writeId !== \"\"\n",
    tests: [contract("S5")]
  },
  {
    id: "S5-old-revisions",
    law: "S5",
    why: "an import gives revisions that the old timeline had",
    file: source("internal/memoryStore"),
    find: "Timeline.begin(highest + given.gap,",
    replace: "Timeline.begin(0,",
    tests: [contract("S5")]
  },
  {
    id: "S6-removes-at-once",
    law: "S6",
    why: "a delete removes an object whose finalizers are not done",
    file: source("StoreRules"),
    find: "  if (all.length === 0) return { _tag: \"Remove\", last: stored }\n",
    replace: "  if (all.length >= 0) return { _tag: \"Remove\", last: stored }\n",
    tests: [contract("S6")]
  },
  {
    id: "S6-gains-finalizer",
    law: "S6",
    why: "a finalizer may be added after the mark",
    file: source("StoreRules"),
    find: "    if (added.length > 0) {\n",
    replace: "    if (added.length < 0) {\n",
    tests: [contract("S6")]
  },
  {
    id: "S6-never-removed",
    law: "S6",
    why: "the write that takes the last finalizer leaves the object there",
    file: source("StoreRules"),
    find: "  return marked && finalizers.length === 0\n",
    replace: "  return marked && finalizers.length < 0\n",
    tests: [contract("S6")]
  },
  {
    id: "S7-same-uid",
    law: "S7",
    why: "the next life of a name has the uid of the last one",
    file: source("internal/memoryStore"),
    find: "? given.uid() : \"\"",
    replace: "? `uid of ${text}` : \"\"",
    tests: [contract("S7")]
  },
  {
    id: "S7-old-revision",
    law: "S7",
    why: "a Deleted event carries the revision of the last write, not that of the delete",
    file: source("WatchBuffer"),
    find: "last: shown(self, gone), revision: String(revision), cursor: at",
    replace: "last: shown(self, gone), revision: gone.metadata.resourceVersion, cursor: at",
    tests: [contract("S7")]
  },
  {
    id: "S8-pages",
    law: "S8",
    why: "each page of a list shows what is there when it is read",
    file: source("internal/memoryStore"),
    find: "const was = revision === state.timeline.latest.revision ? undefined : valuesAt(state, kind, revision)",
    replace: "const was = undefined as ReadonlyMap<string, Raw | undefined> | undefined",
    tests: [contract("S8")]
  },
  {
    id: "S8-order",
    law: "S8",
    why: "a list is in the order of creation",
    file: source("internal/sortedKeys"),
    find: "else block.splice(lowerBound(block, key, itself), 0, key)",
    replace: "else block.push(key)",
    tests: [contract("S8")]
  },
  {
    id: "S9-unbounded",
    law: "S9",
    why: "the buffer of a watch that nobody reads grows for ever",
    file: source("WatchBuffer"),
    find: "  return self.events.length < self.size\n",
    replace: "  return self.size > 0\n",
    tests: [contract("S9")]
  },
  {
    id: "S10-not-frozen",
    law: "S10",
    why: "objects come out of the store unfrozen: a caller's edit is seen by all",
    file: source("internal/takeIn"),
    find: "  return walk.freeze ? Object.freeze(copy) : copy\n",
    replace: "  return copy\n",
    tests: [contract("S10")]
  },
  {
    id: "S11-no-conflict",
    law: "S11",
    why: "an apply takes fields over from other managers without force",
    file: source("Apply"),
    find: "if (conflicts.length > 0 && !options.force)",
    replace: "if (conflicts.length < 0 && !options.force)",
    tests: [contract("S11")]
  },
  {
    id: "S11-keeps-fields",
    law: "S11",
    why: "fields that a manager no longer sets stay",
    file: source("Apply"),
    find: "    if (!stillOwned) merged = removed(",
    replace: "    if (!stillOwned && wanted === undefined) merged = removed(",
    tests: [contract("S11")]
  },
  {
    id: "S12-stops-at-bad-object",
    law: "S12",
    why: "a list ends at the first object that does not decode",
    file: source("Store"),
    find: "    if (Result.isSuccess(decoded)) items.push(decoded.success)\n",
    replace: "    if (undecodable.length > 0) break\n    if (Result.isSuccess(decoded)) items.push(decoded.success)\n",
    tests: [contract("S12")]
  },
  {
    id: "S13-drops-unknown",
    law: "S13",
    why: "fields that the Schema does not know are lost by an update",
    file: source("internal/retain"),
    find: "      if (!isKnown) merged[name] = raw[name]\n",
    replace: "      if (isKnown) merged[name] = raw[name]\n",
    tests: [contract("S13")]
  },
  {
    id: "fence-forgotten",
    law: "fence",
    why: "a write with a higher epoch does not raise the one below which writes are refused",
    file: source("internal/memoryStore"),
    find: "if (highest !== epoch) state.fences.set(lease, epoch)",
    replace: "if (highest === undefined) state.fences.set(lease, epoch)",
    tests: [{ ...test("MemoryStore"), titles: "Fenced" }]
  }
]
