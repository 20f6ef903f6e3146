/** Faults in dynamic watches (D1 to D6). */
import { type Mutant, simulator, source, test } from "../mutant.ts"

export const dynamic: ReadonlyArray<Mutant> = [
  {
    id: "D1-no-comparison",
    law: "D1",
    why: "what was read before the first sync is not compared with the cache when it has synced",
    file: source("internal/dynamic"),
    find: "  if (source.reads.size === 0) return\n",
    replace: "  if (source.reads.size >= 0) return\n",
    tests: [simulator("before its cache has synced"), test("DynamicWatches", "D1")]
  },
  {
    id: "D1-by-uid-alone",
    law: "D1",
    why: "a read before the sync is compared by uid, without the revision",
    file: source("internal/dynamic"),
    find: "`${raw.metadata.uid} ${raw.metadata.resourceVersion}`",
    replace: "raw.metadata.uid",
    tests: [simulator("before its cache has synced"), test("DynamicWatches", "D1")]
  },
  {
    id: "D2-failure-commits",
    law: "D2",
    why: "a pass that fails commits what it asked for so far, and drops the rest",
    file: source("internal/runPass"),
    find: "Dynamic.commit(host.dynamic, request) : Dynamic.abort(host.dynamic, request)",
    replace: "Dynamic.commit(host.dynamic, request) : Dynamic.commit(host.dynamic, request)",
    tests: [test("InstanceWatcher", "D2")]
  },
  {
    id: "D2-woken-by-own-watch",
    law: "D2",
    why: "a pass that fails after its first watch has synced is woken by it at once, without its delay",
    file: source("internal/dynamic"),
    find: "      if (request.running === undefined) compare(self, source, informer, request)\n" +
      "      else meanwhile(self, request).add(source)\n",
    replace: "      compare(self, source, informer, request)\n",
    tests: [test("DynamicWatches", "D2")]
  },
  {
    id: "D2-gone-keeps",
    law: "D2",
    why: "an object that is gone keeps its watches",
    file: source("internal/runPass"),
    find: "      return Dynamic.release(host.dynamic, request)\n",
    replace: "      return Dynamic.commit(host.dynamic, request)\n",
    tests: [test("DynamicWatches", "D2")]
  },
  {
    id: "D3-owner-not-counted",
    law: "D3",
    why: "the first owner that lets go stops the informer of all",
    file: source("WatchManager"),
    find: "    known.owners++\n",
    replace: "",
    tests: [test("WatchManager", "D3")]
  },
  {
    id: "D3-shares-too-much",
    law: "D3",
    why: "informers of different namespaces are taken for one",
    file: source("WatchManager"),
    find: "    namespace ?? null,\n    selector ?? null,",
    replace: "    null,\n    selector ?? null,",
    tests: [test("WatchManager", "D3")]
  },
  {
    id: "D3-no-cooldown",
    law: "D3",
    why: "who asks in the cooldown of an informer waits for it as if there were none",
    file: source("WatchManager"),
    find: "          if (cooling !== undefined) return yield* new NotSynced(",
    replace: "          if (cooling === null) return yield* new NotSynced(",
    tests: [test("WatchManager", "D3")]
  },
  {
    id: "D4-tries-all",
    law: "D4",
    why: "an event tries every selector",
    file: source("internal/selectorIndex"),
    find: "  const hook = hookOf(many, selector)\n",
    replace: "  const hook = hookOf(many, { ...selector, requirements: [] })\n",
    tests: [test("WatchCoordinator", "D4"), test("Selector", "D4")]
  },
  {
    id: "D5-old-labels",
    law: "D5",
    why: "an object that leaves a selection is not told to who selected it",
    file: source("internal/watchBoard"),
    find: "    lookUp(state, old, foundAll, object === undefined || !sameLabels(object, old))\n",
    replace: "    lookUp(state, old, foundAll, object === undefined)\n",
    tests: [simulator("by what it read"), test("WatchCoordinator", "D5")]
  },
  {
    id: "D5-told-twice",
    law: "D5",
    why: "an event that two requests of an instance match tells it twice",
    file: source("internal/watchBoard"),
    find: "    else if (few.includes(instance)) return\n",
    replace: "",
    tests: [test("WatchCoordinator", "D5")]
  },
  {
    id: "D6-own-object",
    law: "D6",
    why: "the requested object is in the watch set",
    file: source("internal/dynamic"),
    find: "  if (isOwn(request, store, kind, key)) return undefined\n",
    replace: "",
    tests: [test("DynamicWatches", "D6")]
  },
  {
    id: "D6-own-event",
    law: "D6",
    why: "an event of the requested object, read as one of a list, wakes it past its predicate",
    file: source("internal/dynamic"),
    find: "if (!isOwn(request, source.store.name, source.kind, change.entry)) self.add(",
    replace: "self.add(",
    tests: [test("DynamicWatches", "D6")]
  },
  {
    id: "D6-absence-untracked",
    law: "D6",
    why: "a read of what is not there is not tracked",
    file: source("internal/dynamic"),
    find: "  if (source !== undefined) ask(self, request, source, { _tag: \"Name\"",
    replace: "  if (source?.open !== undefined) ask(self, request, source, { _tag: \"Name\"",
    tests: [test("InstanceWatcher", "D6")]
  }
]
