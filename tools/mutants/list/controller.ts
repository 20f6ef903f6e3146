/** Faults in the Controller and its informers (E1 to E11). */
import { type Mutant, simulator, source, test } from "../mutant.ts"

export const controller: ReadonlyArray<Mutant> = [
  {
    id: "E1-later-time",
    law: "E1",
    why: "a pass's own time replaces an earlier one that came during the pass",
    file: source("internal/workQueue"),
    find: "timing.delayDue = Math.min(timing.delayDue, now + delay)",
    replace: "timing.delayDue = now + delay",
    tests: [test("WorkQueue", "E1")]
  },
  {
    id: "E2-backoff-not-reset",
    law: "E2",
    why: "a pass that is done does not forget the failures before it",
    file: source("internal/endPass"),
    find: "    case \"Done\":\n      counters.success++\n      WorkQueue.finishUnsafe(queue, ticket, undefined, now)",
    replace:
      "    case \"Done\":\n      counters.success++\n      WorkQueue.finishUnsafe(queue, ticket, { failures: \"keep\" }, now)",
    tests: [simulator("so does a pass that is done"), test("ControllerOutcome", "E2")]
  },
  {
    id: "E2-steps-early",
    law: "E2",
    why: "a pass that fails before its retry was due steps the backoff",
    file: source("internal/workQueue"),
    find: "  const isPending = memory.retryDue > now\n",
    replace: "  const isPending = memory.retryDue > now && memory.retryDue < 0\n",
    tests: [test("WorkQueue", "E2")]
  },
  {
    id: "E2-terminal-ignored",
    law: "E2",
    why: "redelivery runs a key that failed for good",
    file: source("internal/inputs"),
    find: "  if (!request.isTerminal) add(request, quiet.redelivery, 2)",
    replace: "  add(request, quiet.redelivery, 2)",
    tests: [test("ControllerOutcome", "E2")]
  },
  {
    id: "E2-conflict-at-once",
    law: "E2",
    why: "after a conflict the key runs again at once, on the same old view",
    file: source("internal/keyMemory"),
    find: "  memory.stale = stale\n  memory.holdUntil = now + longestHoldMillis\n",
    replace: "  memory.holdUntil = now + longestHoldMillis\n",
    tests: [test("ControllerOutcome", "E2")]
  },
  {
    id: "E2-defect-is-done",
    law: "E2",
    why: "a pass that dies is not retried",
    file: source("internal/endPass"),
    find: "      return fail(registration, ticket, end.error, 0, \"Panicked\")",
    replace:
      "      WorkQueue.finishUnsafe(queue, ticket, { failures: \"keep\" })\n      return { _tag: \"Panicked\", error: end.error }",
    tests: [test("ControllerOutcome", "E2")]
  },
  {
    id: "E3-gives-up-for-good",
    law: "E3",
    why: "a key that gave up is never looked at again",
    file: source("internal/endPass"),
    find: "  const orElse = slowRecheck(registration)\n",
    replace: "  const orElse = undefined\n",
    tests: [test("ControllerOutcome", "E3")]
  },
  {
    id: "E4-before-sync",
    law: "E4",
    why: "passes begin before the caches are synced",
    file: source("internal/engine"),
    find: "=> registration.isStarting || registration.unsynced.size > 0",
    replace: "=> registration.isStarting",
    tests: [test("ControllerLifecycle", "E4")]
  },
  {
    id: "E4-holds-others",
    law: "E4",
    why: "an optional input is waited for",
    file: source("internal/engine"),
    find: "  if (!optional && !Informer.isSynced(feed.informer)) registration.unsynced.add(feed)",
    replace: "  if (!Informer.isSynced(feed.informer)) registration.unsynced.add(feed)",
    tests: [test("ControllerLifecycle", "E4")]
  },
  {
    id: "E5-swap-forgets",
    law: "E5",
    why: "a swap does not run what exists",
    file: source("internal/engine"),
    find: "    for (const key of keys) Inputs.addKey(registration, key, registered, 2)\n",
    replace: "",
    tests: [test("ControllerLifecycle", "E5")]
  },
  {
    id: "E5-old-scope-closes",
    law: "E5",
    why: "the Scope of a reconciler that was swapped out closes the new one",
    file: source("internal/engine"),
    find: "return registration.owner === owner ? close(engine, registration, owner.drainMillis) : Effect.void",
    replace: "return close(engine, registration, owner.drainMillis)",
    tests: [test("ControllerLifecycle", "E5")]
  },
  {
    id: "E6-silent-relist",
    law: "E6",
    why: "a relist does not tell of what vanished in the gap",
    file: source("internal/informerCache"),
    find: "    differences.push({ entry, last: entry.raw, raw: undefined })\n",
    replace: "",
    tests: [simulator("comes back when somebody"), test("Informer", "E6")]
  },
  {
    id: "E6-last-targets",
    law: "E6",
    why: "whom an object concerned last is forgotten",
    file: source("internal/mapper"),
    find: "    const last = lastTargets?.get(entry) ?? none\n",
    replace: "    const last = none\n",
    tests: [test("ControllerWatches", "E6")]
  },
  {
    id: "E6-same-life",
    law: "E6",
    why: "a name that was deleted and created again in a gap is taken for the same object",
    file: source("internal/informer"),
    find: "raw !== undefined && last.metadata.uid === raw.metadata.uid\n",
    replace: "raw !== undefined\n",
    tests: [test("Informer", "E6")]
  },
  {
    id: "E7-own-status",
    law: "E7",
    why: "a status write wakes its own writer",
    file: source("internal/inputs"),
    find: "options.predicate ?? Predicate.intentChanged",
    replace: "options.predicate ?? Predicate.revisionChanged",
    tests: [test("ControllerWatches", "E7")]
  },
  {
    id: "E7-judges-relists",
    law: "E7",
    why: "predicates judge what a relist brings",
    file: source("internal/inputs"),
    find: "  change.via !== \"watch\" ||\n  passes(registration, input.predicate",
    replace: "  passes(registration, input.predicate",
    tests: [test("ControllerWatches", "E7")]
  },
  {
    id: "E8-no-drain",
    law: "E8",
    why: "a close drops what is ready instead of draining it",
    file: source("internal/engine"),
    find: "  else yield* WorkQueue.drain(registration.queue, { deadline: drainMillis })\n",
    replace: "  else yield* WorkQueue.shutdown(registration.queue)\n",
    tests: [test("ControllerLifecycle", "E8")]
  },
  {
    id: "E8-runs-on",
    law: "E8",
    why: "what still runs at the drain deadline goes on",
    file: source("internal/engine"),
    find: "  yield* interruptAll(registration)\n",
    replace: "",
    tests: [test("ControllerLifecycle", "E8")]
  },
  {
    id: "E9-no-deadline",
    law: "E9",
    why: "a pass past its deadline goes on",
    file: source("internal/runPass"),
    find: "behaviour.deadlineMillis === undefined ? work :",
    replace: "behaviour.deadlineMillis !== -1 ? work :",
    tests: [test("ControllerOutcome", "E9")]
  },
  {
    id: "E10-not-held",
    law: "E10",
    why: "a key is not held until its caches have seen what it wrote",
    file: source("internal/keyMemory"),
    find: "(!memory.readStore && memory.pending.some((write) => write.holds))",
    replace: "(memory.readStore && memory.pending.some((write) => write.holds))",
    tests: [simulator("makes nothing twice"), test("ControllerReads", "E10")]
  },
  {
    id: "E10-lost-reply",
    law: "E10",
    why: "after an unknown outcome the next pass believes its cache",
    file: source("internal/keyMemory"),
    find: "): void => {\n  memory.readStore = true\n}",
    replace: "): void => {\n  memory.readStore = false\n}",
    tests: [simulator("makes nothing twice"), test("ControllerReads", "E10")]
  },
  {
    id: "E10-found-forgotten",
    law: "E10",
    why: "what the store answered after an unknown outcome is not awaited: the next pass sees an older cache",
    file: source("internal/enginePass"),
    find: "const isAhead = this.#isInDoubt ||",
    replace: "const isAhead = (this.#isInDoubt && object === undefined) ||",
    tests: [simulator("makes nothing twice"), test("ControllerReads", "E10")]
  },
  {
    id: "E10-unsynced-cache",
    law: "E10",
    why: "a cache that is not synced answers: what it does not have yet is absent",
    file: source("internal/feeds"),
    find: "(informer.namespace === undefined || informer.namespace === namespace) &&\n  Informer.isSynced(informer)",
    replace: "(informer.namespace === undefined || informer.namespace === namespace)",
    tests: [test("ControllerReads", "E10")]
  },
  {
    id: "E10-own-writes",
    law: "E10",
    why: "a pass does not see what it wrote itself",
    file: source("internal/enginePass"),
    find: "return !this.#readsStore && (this.#wroteKinds === undefined || !this.#wroteKinds.has(kindKey))",
    replace: "return !this.#readsStore",
    tests: [test("ControllerReads", "E10")]
  },
  {
    id: "E11-never-spaced",
    law: "E11",
    why: "a hot loop is neither told nor spaced",
    file: source("internal/hotLoop"),
    find: "  if (state.selfCaused < limit) return calm\n",
    replace: "  if (state.selfCaused > 0) return calm\n",
    tests: [test("ControllerReads", "E11")]
  },
  {
    id: "E11-foreign-counts",
    law: "E11",
    why: "a pass that a foreign change causes counts towards a hot loop",
    file: source("internal/endPass"),
    find: "!KeyMemory.isOwnRevision(request.memory, cause.revision) : cause._tag !== \"Requeue\"",
    replace: "false : cause._tag !== \"Requeue\"",
    tests: [test("ControllerFeatures", "E11")]
  }
]
