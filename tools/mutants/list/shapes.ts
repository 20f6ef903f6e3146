/**
 * The shapes of published bugs of engines (EN-*) and of watches and caches (WA-*), planted in ours. Where a shape has two
 * forms here, one in the reader and one in the store, or in two places of the reader, each is a mutant.
 *
 * Three are found by their laws' own tests alone. What WA-04 repeats, in the reader as in the store, the informer refuses and
 * lists anew: no reconciler sees it. What WA-03-synced claims lasts until the relist, and is true of all that a pass acts on
 * at rest.
 */
import { contract, type Mutant, simulator, source, test } from "../mutant.ts"

export const shapes: ReadonlyArray<Mutant> = [
  {
    id: "EN-01",
    law: "Q2",
    why: "a pass whose object the cache does not hold returns early, and its key runs for ever",
    shape: { reference: "operator-framework/java-operator-sdk#3416", predicted: "P11, k=1", least: 0 },
    file: source("internal/workers"),
    find: "    const order = Echo.orderOf(request)\n",
    replace: "    if (request.object === undefined) continue\n    const order = Echo.orderOf(request)\n",
    tests: [simulator("no change is lost")]
  },
  {
    id: "EN-02",
    law: "E1",
    why: "what drops the event of a pass's own write drops every event that comes during the pass",
    shape: { reference: "operator-framework/java-operator-sdk#1006", predicted: "P11, k=1", least: 1 },
    file: source("internal/inputs"),
    find: "    const order = orderOf(registration, change)\n",
    replace: "    if (request.running !== undefined) return\n    const order = orderOf(registration, change)\n",
    tests: [simulator("a change between")]
  },
  {
    id: "EN-03",
    law: "E1",
    why: "a change made between a pass's read and its own write is taken for older than the read, and dropped",
    shape: {
      reference: "operator-framework/java-operator-sdk#3398, kroxylicious PR#4076",
      predicted: "P11 and P8, k=1",
      least: 1
    },
    file: source("internal/inputs"),
    find: "    const order = orderOf(registration, change)\n",
    replace: "    const written = Array.from(request.memory?.ownRevisions ?? [], Number)\n" +
      "    if (written.some((own) => Number(change.revision) < own)) return\n" +
      "    const order = orderOf(registration, change)\n",
    tests: [simulator("a change between")]
  },
  {
    id: "EN-04",
    law: "E2",
    why: "a timed requeue does not forget the failures, so that one later error waits long",
    shape: { reference: "kubernetes-sigs/controller-runtime#392", predicted: "P12, k=1", least: 0 },
    file: source("internal/endPass"),
    find: "WorkQueue.finishUnsafe(queue, ticket, { next: { delayMillis: end.delayMillis",
    replace: "WorkQueue.finishUnsafe(queue, ticket, { failures: \"keep\", next: { delayMillis: end.delayMillis",
    tests: [simulator("a timed requeue forgets")]
  },
  {
    id: "EN-05",
    law: "Q3",
    why: "a ready key does not age: first-list keys starve while timed requeues keep coming",
    shape: { reference: "controller-runtime#3496, home-operations/miroir PR#122", predicted: "P11, k=0", least: 1 },
    file: source("internal/workQueue"),
    find: "  Math.min(entry.lane, Math.floor((now - entry.since) / state.settings.ageAfterMillis))",
    replace: "  0",
    tests: [simulator("keys of a first list")]
  },
  {
    id: "EN-06",
    law: "E2",
    why: "a failed key is marked done and not queued again",
    shape: { reference: "kubernetes-sigs/external-dns PR#6285, kubebuilder#224", predicted: "P11, k=1", least: 1 },
    file: source("internal/endPass"),
    find:
      "const retried = WorkQueue.failUnsafe(queue, ticket, error, { notBefore: notBeforeMillis, reason: retry, orElse })",
    replace: "const retried: string = \"stepped\"\n  WorkQueue.finishUnsafe(queue, ticket)",
    tests: [simulator("a change between")]
  },
  {
    id: "EN-08",
    law: "E2",
    why: "the delay that an error asks for is dropped",
    shape: { reference: "kubean-io/kubean PR#765", predicted: "P12, k=1", least: 0 },
    file: source("internal/passEnd"),
    find: "notBeforeMillis: error.reason.retryAfterMillis ?? 0",
    replace: "notBeforeMillis: 0",
    tests: [simulator("an error that asks")]
  },
  {
    id: "EN-09",
    law: "Q4",
    why: "a direct add leaves the delayed one pending, and the key runs twice",
    shape: { reference: "kubernetes/kubernetes#110642", predicted: "P3 or P12, k=1", least: 0 },
    file: source("internal/workQueue"),
    find: "    entry.timing.delayDue = Infinity\n    entry.timing.settle = undefined",
    replace:
      "    if (entry.timing.delayDue <= now) entry.timing.delayDue = Infinity\n    entry.timing.settle = undefined",
    tests: [simulator("an event absorbs")]
  },
  {
    id: "WA-01",
    law: "E6",
    why: "what was deleted while the watch was down stays in the cache after the relist",
    shape: { reference: "kubernetes-client/javascript#494", predicted: "P18, k=1", least: 1 },
    file: source("internal/informerCache"),
    find: "=== undefined) staged.gone.push(entry)",
    replace: "=== undefined) include(staged.content, entry)",
    tests: [simulator("comes back when somebody")]
  },
  {
    id: "WA-02",
    law: "S9",
    why: "an outage is met by a tight loop of reconnects",
    shape: { reference: "kubernetes-client/javascript#1933", predicted: "P12, k=1", least: 0 },
    file: source("internal/informerMachine"),
    find: "return delay * (0.8 + 0.4 * random)",
    replace: "return 0 * delay",
    tests: [simulator("out of reach")]
  },
  {
    id: "WA-03",
    law: "S5",
    why: "after Expired the watch is begun again at the same revision, for ever",
    shape: {
      reference: "fabric8 kubernetes-client#1943 and PR#1800, kubernetes_asyncio PR#327",
      predicted: "P18 and P11, k=1",
      least: 1
    },
    file: source("internal/informerMachine"),
    find: ": listing(machine, machine.otherTimeline ? \"otherTimeline\" : \"expired\")",
    replace: ": again",
    tests: [simulator("no change is lost")]
  },
  {
    id: "WA-03-synced",
    law: "E10",
    why: "after Expired the cache says that it is synced, while nobody knows what the gap held",
    shape: {
      reference: "fabric8 kubernetes-client#1943 and PR#1800, kubernetes_asyncio PR#327",
      predicted: "P18 and P11, k=1"
    },
    file: source("internal/informerMachine"),
    find: "      if (place._tag === \"Watching\") machine.synced = false",
    replace: "      if (place._tag === \"Idle\") machine.synced = false",
    tests: [test("Informer", "C158")]
  },
  {
    id: "WA-04",
    law: "S3",
    why: "the cursor stays where the list left it: a resumed watch gives old events again and again",
    shape: { reference: "kubernetes/client-go#338", predicted: "P18, k=1" },
    file: source("internal/informerMachine"),
    find: "  machine.cursor = cursor\n  if (machine.revision === undefined",
    replace: "  machine.cursor ??= cursor\n  if (machine.revision === undefined",
    tests: [test("Informer", "C156")]
  },
  {
    id: "WA-04-store",
    law: "S3",
    why: "the store begins a resumed watch two changes too early",
    shape: { reference: "kubernetes/client-go#338", predicted: "P18, k=1" },
    file: source("internal/memoryStore"),
    find: "for (const change of Timeline.after(state.timeline, revision)) {\n      const event",
    replace: "for (const change of Timeline.after(state.timeline, Math.max(0, revision - 2))) {\n      const event",
    tests: [contract("S3")]
  },
  {
    id: "WA-05",
    law: "S3",
    why: "the cache follows a watch that goes back in time",
    shape: { reference: "etcd#15271", predicted: "P18, k=1", least: 1 },
    file: source("internal/informer"),
    find: "  if (Machine.isPast(machine, resourceVersion)) return refuse(state)\n",
    replace: "",
    tests: [simulator("goes back in time")]
  },
  {
    id: "WA-06",
    law: "S9",
    why: "events beyond the buffer of a slow watch are lost, and the watch goes on",
    shape: { reference: "etcd#17529", predicted: "P18, k=1", least: 0 },
    file: source("WatchBuffer"),
    find: "      end(watch, new Lagged({ bufferSize: watch.size }))\n      watches.delete(watch)\n",
    replace: "      continue\n",
    tests: [simulator("follows a burst")]
  },
  {
    id: "WA-08",
    law: "S3",
    why: "a watch that resumes from the history misses the deletions",
    shape: { reference: "etcd#18089, #19179", predicted: "P18, k=1", least: 1 },
    file: source("internal/memoryStore"),
    find: "if (event !== undefined) events.push(event)",
    replace: "if (event !== undefined && event._tag !== \"Deleted\") events.push(event)",
    tests: [simulator("comes back when somebody")]
  }
]
