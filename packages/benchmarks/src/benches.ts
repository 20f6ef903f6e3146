/** All benches, in the order of the table of goals. */
import type { Bench, Case, Goal, PeerRun } from "./bench.ts"
import * as PlainEngine from "./limit/engine.ts"
import * as PlainQueue from "./limit/queue.ts"
import * as PlainRoute from "./limit/route.ts"
import * as PlainSqlite from "./limit/sqlite.ts"
import * as PlainStore from "./limit/store.ts"
import * as OurDynamic from "./ours/dynamic.ts"
import * as OurEngine from "./ours/engine.ts"
import * as OurInformer from "./ours/informer.ts"
import * as OurQueue from "./ours/queue.ts"
import * as OurRest from "./ours/rest.ts"
import * as OurRoute from "./ours/route.ts"
import * as OurSim from "./ours/sim.ts"
import * as OurSqlite from "./ours/sqlite.ts"
import * as OurStore from "./ours/store.ts"
import { layouts } from "./route.ts"

const go = (bench: string, peer: string, { n, workers }: Case, ...more: ReadonlyArray<string>): PeerRun => ({
  peer,
  program: "go",
  args: ["-bench", bench, "-peer", peer, "-n", String(n), "-workers", String(workers), ...more]
})

const rust = (bench: string, peer: string, { n, workers }: Case, ...more: ReadonlyArray<string>): PeerRun => ({
  peer,
  program: "rust",
  args: ["--bench", bench, "--peer", peer, "--n", String(n), "--workers", String(workers), ...more]
})

const goQueues = ["client-go", "client-go-ratelimiting", "controller-runtime"]

const queuePeers = (bench: string, kube = "kube-scheduler") => (of: Case): ReadonlyArray<PeerRun> => [
  ...goQueues.map((peer) => go(bench, peer, of)),
  rust(bench, kube, of)
]

const controllerPeers = (bench: string) => (of: Case): ReadonlyArray<PeerRun> => [
  go(bench, "controller-runtime", of),
  go(bench, "controller-runtime-classic-queue", of),
  rust(bench, "kube-controller", of),
  ...(of.workers === 1 ? [{ ...rust(bench, "kube-controller", { ...of, workers: 0 }), peer: "kube-unbounded" }] : [])
]

const memoryPeers = (bench: string) => (of: Case): ReadonlyArray<PeerRun> => {
  const managed = of.variant === "stripped" ? "stripped" : "present"
  const kinds = ["typed", "unstructured"]
  return [
    ...kinds.map((kind) => ({
      ...go(bench, "client-go", of, "-kind", kind, "-managed-fields", managed),
      peer: `client-go-${kind}`
    })),
    ...kinds.map((kind) => ({
      ...rust(bench, "kube-store", of, "--kind", kind, "--managed-fields", managed),
      peer: `kube-${kind}`
    })),
    { peer: "client-node", program: "node", args: [bench, "unstructured", managed, String(of.n)] }
  ]
}

const routePeers = (bench: string) => ({ n, variant = "one" }: Case): ReadonlyArray<PeerRun> =>
  n > 100_000 || variant === "mixed"
    ? []
    : [{ peer: "kro", program: "kro", args: ["-bench", bench, "-n", String(n), "-layout", variant] }]

const routeCases = (layouts: ReadonlyArray<string>): ReadonlyArray<Case> =>
  layouts.flatMap((variant) => [1000, 10_000, 100_000, 1_000_000].map((n) => ({ n, workers: 1, variant })))

const routeFigures = ["ns_per_op", "times_1000", "register_us", "bytes_per_instance"]

const routeGoals: ReadonlyArray<Goal> = [
  { figure: "times_1000", factor: 1.5, of: "absolute" },
  { figure: "register_us", factor: 10, of: "absolute" },
  { figure: "bytes_per_instance", factor: 1024, of: "absolute" }
]

const at100k = (of: Case) => of.n === 100_000

export const benches: ReadonlyArray<Bench> = [
  {
    name: "queue-add-get-done",
    id: "B1a",
    what: "n distinct keys are added, then each is taken and its pass ended",
    cases: [1000, 10_000, 100_000, 1_000_000].map((n) => ({ n, workers: 1 })),
    quick: [{ n: 100_000, workers: 1 }],
    figures: ["ns_per_op"],
    subjects: { ...OurQueue.addTakeDone, limit: PlainQueue.addTakeDone },
    peers: (of) => of.n < 10_000 ? [] : queuePeers("queue-add-get-done")(of),
    goals: [
      { figure: "ns_per_op", factor: 0.7, of: "client-go-ratelimiting", when: at100k },
      { figure: "ns_per_op", factor: 2, of: "limit", subject: "setpoint-no-metrics", when: at100k }
    ]
  },
  {
    name: "queue-duplicate-add",
    id: "B1b",
    what: "one key waits, and is added n times more",
    cases: [{ n: 1_000_000, workers: 1 }],
    figures: ["ns_per_op"],
    subjects: { ...OurQueue.duplicateAdd, limit: PlainQueue.duplicateAdd },
    peers: queuePeers("queue-duplicate-add"),
    goals: [{ figure: "ns_per_op", factor: 2, of: "client-go" }]
  },
  {
    name: "queue-steady",
    id: "B1c",
    what: "n adds of keys drawn from 10,000 while workers take and end passes",
    cases: [{ n: 1_000_000, workers: 4 }],
    figures: ["ns_per_op"],
    subjects: { ...OurQueue.steady, limit: PlainQueue.steady },
    peers: queuePeers("queue-steady", "kube-applier"),
    goals: [{ figure: "ns_per_op", factor: 1, of: "kube-applier" }]
  },
  {
    name: "delayed",
    id: "B2",
    what: "n keys are added with delays of 0 to 500 ms; CPU until the last was delivered, and how late they came",
    cases: [{ n: 100_000, workers: 1 }],
    figures: ["cpu_s", "p99_us"],
    subjects: { ...OurQueue.delayed, limit: PlainQueue.delayed },
    peers: queuePeers("delayed"),
    goals: [
      { figure: "cpu_s", factor: 1, of: "kube-scheduler" },
      ...[...goQueues, "kube-scheduler"].map((of) => ({ figure: "p99_us", factor: 1, of }))
    ]
  },
  {
    name: "engine",
    id: "B3",
    what: "n listed objects are reconciled once; then 200,000 updates go through the watch as fast as it takes them",
    cases: [10_000, 100_000].flatMap((n) => [1, 4].map((workers) => ({ n, workers }))),
    quick: [{ n: 100_000, workers: 1 }],
    figures: ["ns_per_op", "events_per_s"],
    subjects: { ...OurEngine.engine, limit: PlainEngine.engine },
    peers: controllerPeers("engine"),
    goals: [
      { figure: "ns_per_op", factor: 0.5, of: "controller-runtime", when: at100k },
      { figure: "ns_per_op", factor: 1, of: "controller-runtime-classic-queue", when: at100k },
      { figure: "events_per_s", factor: 1.5, of: "controller-runtime", when: at100k }
    ]
  },
  {
    name: "informer",
    what: "the informer alone: n listed objects into the cache; then 200,000 updates through the watch to one handler",
    cases: [{ n: 100_000, workers: 1 }],
    figures: ["ns_per_op", "events_per_s"],
    subjects: { setpoint: OurInformer.events, limit: PlainEngine.cache }
  },
  {
    name: "latency",
    id: "B4",
    what: "at rest, one update each 2 ms: from the event to the reconciler",
    cases: [{ n: 10_000, workers: 1 }],
    figures: ["p50_us", "p99_us"],
    subjects: { setpoint: OurEngine.latency, limit: PlainEngine.latency },
    peers: (of) => [
      go("latency", "controller-runtime", of, "-updates", "2000"),
      go("latency", "controller-runtime-classic-queue", of, "-updates", "2000"),
      rust("latency", "kube-controller", of, "--updates", "2000")
    ],
    goals: [
      { figure: "p50_us", factor: 0.7, of: "controller-runtime" },
      { figure: "p99_us", factor: 1, of: "controller-runtime" }
    ]
  },
  {
    name: "memory-object",
    id: "B5",
    what: "live heap of a cached object of 1 KB",
    cases: [{ n: 100_000, workers: 1 }],
    figures: ["bytes_per_object"],
    subjects: { setpoint: OurInformer.cached, limit: PlainEngine.cached },
    peers: memoryPeers("memory-object"),
    goals: [{ figure: "bytes_per_object", factor: 0.7, of: "client-go-typed" }]
  },
  {
    name: "memory-pod",
    id: "B5",
    what: "live heap of a cached Pod of 4 KB, managedFields present or stripped",
    cases: ["present", "stripped"].map((variant) => ({ n: 50_000, workers: 1, variant })),
    quick: [{ n: 50_000, workers: 1, variant: "stripped" }],
    figures: ["bytes_per_object"],
    subjects: { setpoint: OurInformer.cached, limit: PlainEngine.cached },
    peers: memoryPeers("memory-pod"),
    goals: [{
      figure: "bytes_per_object",
      factor: 0.65,
      of: "client-go-typed",
      when: ({ variant }) => variant === "stripped"
    }]
  },
  {
    name: "route-scalar",
    id: "B6",
    what: "n instances watch one object by name and one by selector; events by name, each of one instance",
    cases: routeCases(layouts.filter((layout) => layout !== "mixed")),
    quick: [{ n: 100_000, workers: 1, variant: "one" }],
    figures: routeFigures,
    subjects: { setpoint: OurRoute.routing("name"), limit: PlainRoute.routing("name") },
    peers: routePeers("scalar"),
    goals: [{ figure: "ns_per_op", factor: 1, of: "kro" }, ...routeGoals],
    flags: ["--max-old-space-size=8192"]
  },
  {
    name: "route-selector",
    id: "B6",
    what: "n instances watch one object by name and one by selector; events by labels, each of one instance",
    cases: routeCases(layouts),
    quick: ["one", "mixed"].map((variant) => ({ n: 100_000, workers: 1, variant })),
    figures: routeFigures,
    subjects: { setpoint: OurRoute.routing("selector"), limit: PlainRoute.routing("selector") },
    peers: routePeers("selector"),
    goals: [{ figure: "ns_per_op", factor: 2000, of: "absolute" }, ...routeGoals],
    flags: ["--max-old-space-size=8192"]
  },
  {
    name: "watch-again",
    id: "B6",
    what: "what a pass pays for 20 watch requests that the last one of its instance made too",
    cases: [{ n: 10_000, workers: 1 }],
    figures: ["pass_us"],
    subjects: { setpoint: OurRoute.again },
    goals: [{ figure: "pass_us", factor: 5, of: "absolute" }]
  },
  {
    name: "watch-start",
    id: "B6",
    what: "n instances make 10 watch requests each, and a million events are routed to them",
    cases: [{ n: 100_000, workers: 1 }],
    figures: [
      "register_s",
      "route_s",
      "peak_rss_mb",
      "longest_pause_ms",
      "longest_pause_without_gc_ms",
      "longest_busy_ms"
    ],
    subjects: { setpoint: OurRoute.start },
    goals: [{ figure: "longest_pause_ms", factor: 50, of: "absolute" }],
    flags: ["--max-old-space-size=8192"]
  },
  {
    name: "pass-watches",
    id: "B6",
    what: "what a pass of the engine pays for 20 watch requests that the last one of its instance made too",
    cases: OurDynamic.watchVariants.map((variant) => ({ n: 10_000, workers: 1, variant })),
    figures: ["more_us", "pass_us"],
    subjects: { setpoint: OurDynamic.watches },
    goals: [{ figure: "more_us", factor: 5, of: "absolute" }]
  },
  {
    name: "tracked-read",
    id: "B6",
    what: "what each of 20 reads of a pass, answered by the cache, costs more where it is tracked",
    cases: OurDynamic.readVariants.map((variant) => ({ n: 10_000, workers: 1, variant })),
    figures: ["more_ns_per_op"],
    subjects: { setpoint: OurDynamic.tracked },
    goals: [{ figure: "more_ns_per_op", factor: 1000, of: "absolute" }]
  },
  {
    name: "dynamic-start",
    id: "B6",
    what:
      "n instances start in the engine with ten watches each, and ten times as many events are routed to their passes",
    cases: [{ n: 100_000, workers: 4 }],
    quick: [{ n: 10_000, workers: 4 }],
    figures: [
      "register_s",
      "route_s",
      "peak_rss_mb",
      "longest_pause_ms",
      "longest_pause_without_gc_ms",
      "longest_busy_ms"
    ],
    subjects: { setpoint: OurDynamic.start },
    goals: [{ figure: "longest_pause_without_gc_ms", factor: 50, of: "absolute" }],
    flags: ["--max-old-space-size=8192"]
  },
  {
    name: "memory-store",
    what:
      "MemoryStore through Store: n objects created, updated, read by key, listed; n updates to 1, 10 and 100 watches",
    cases: OurStore.variants.map((variant) => ({
      n: variant.startsWith("watch") ? 10_000 : 100_000,
      workers: 1,
      variant
    })),
    figures: ["ns_per_op"],
    subjects: { setpoint: OurStore.onMemory, limit: PlainStore.onMemory }
  },
  {
    name: "million",
    what: "n objects are listed and reconciled once: time, memory, and how long the event loop stood still",
    cases: [{ n: 1_000_000, workers: 4 }],
    quick: [{ n: 100_000, workers: 4 }],
    figures: ["wall_s", "peak_rss_mb", "longest_pause_ms", "longest_pause_without_gc_ms", "longest_busy_ms"],
    subjects: { setpoint: OurEngine.million },
    goals: [{ figure: "longest_pause_without_gc_ms", factor: 50, of: "absolute" }],
    flags: ["--max-old-space-size=8192"]
  },
  {
    name: "sqlite-store",
    what: "updates of 1 KB objects in a SqliteStore by 1, 16 and 256 writers, durable to a power cut or to a crash",
    cases: OurSqlite.variants.map((variant) => ({ n: 4096, workers: 1, variant })),
    quick: ["power-1", "power-256"].map((variant) => ({ n: 4096, workers: 1, variant })),
    figures: ["writes_per_s"],
    subjects: { ...OurSqlite.subjects, limit: PlainSqlite.onSqlite },
    goals: [{ figure: "writes_per_s", factor: 1 / 1.5, of: "limit" }]
  },
  {
    name: "idle-keys",
    what: "heap that a key leaves behind which was added, taken and done",
    cases: [{ n: 100_000, workers: 1 }],
    figures: ["bytes_per_key"],
    subjects: { setpoint: OurRest.idleKeys },
    goals: [{ figure: "bytes_per_key", factor: 1, of: "absolute" }]
  },
  {
    name: "waiting-keys",
    what: "take, done and add while n keys wait, beside the same while 1,000 wait",
    cases: [{ n: 1_000_000, workers: 1 }],
    figures: ["ns_per_op", "times_1000"],
    subjects: { setpoint: OurRest.waitingKeys },
    goals: [{ figure: "times_1000", factor: 1.5, of: "absolute" }]
  },
  {
    name: "start-kinds",
    what: "from nothing to a Controller with n kinds on a MemoryStore, all caches synced",
    cases: [{ n: 50, workers: 4 }],
    figures: ["start_ms"],
    subjects: { setpoint: OurRest.startKinds }
  },
  {
    name: "at-rest",
    what: "CPU of a Controller while n reconciled objects are at rest, as a share of one core",
    cases: [{ n: 100_000, workers: 4 }],
    figures: ["cpu_share", "bytes_per_object"],
    subjects: { setpoint: OurRest.atRest },
    goals: [{ figure: "cpu_share", factor: 0.01, of: "absolute" }]
  },
  {
    name: "sim-shape",
    id: "SIM",
    what: "a shape's right twin: all single deviations; all pairs and 500 random runs; a run",
    cases: OurSim.shapes.map((variant) => ({ n: 1, workers: 1, variant })),
    quick: ["IS-01", "ST-12"].map((variant) => ({ n: 1, workers: 1, variant })),
    limitMinutes: 30,
    figures: ["single_s", "pairs_random_s", "run_p50_ms", "run_p99_ms"],
    subjects: { setpoint: OurSim.shape },
    goals: [
      { figure: "single_s", factor: 2, of: "absolute" },
      { figure: "pairs_random_s", factor: 60, of: "absolute" },
      { figure: "run_p50_ms", factor: 2, of: "absolute" },
      { figure: "run_p99_ms", factor: 10, of: "absolute" }
    ]
  },
  {
    name: "sim-corpus",
    id: "SIM",
    what: "both twins of every shape, as deep as CI tries them",
    cases: [{ n: OurSim.shapes.length, workers: 1 }],
    figures: ["corpus_s", "found_s"],
    subjects: { setpoint: OurSim.all },
    goals: [{ figure: "corpus_s", factor: 300, of: "absolute" }]
  },
  {
    name: "sim-pairs",
    id: "SIM",
    what: "n random runs of a shape, each made again from its list: one that differs ends the bench",
    cases: [{ n: 100_000, workers: 1, variant: "UN-02" }],
    quick: [{ n: 1_000, workers: 1, variant: "UN-02" }],
    limitMinutes: 60,
    figures: ["mismatches", "wall_s"],
    subjects: { setpoint: OurSim.pairs },
    goals: [{ figure: "mismatches", factor: 0, of: "absolute" }]
  },
  {
    name: "sim-memory",
    id: "SIM",
    what: "live heap over n random runs of a small shape, since the first 10,000",
    cases: [{ n: 1_000_000, workers: 1, variant: "ST-12" }],
    quick: [{ n: 20_000, workers: 1, variant: "ST-12" }],
    limitMinutes: 120,
    figures: ["grown_mb", "heap_last_mb"],
    subjects: { setpoint: OurSim.heap },
    goals: [{ figure: "grown_mb", factor: 5, of: "absolute" }]
  },
  {
    name: "sim-blind",
    id: "SIM",
    what: "a store that refuses a quarter of all calls at random, n runs a twin: wrong twins found, right ones blamed",
    cases: [{ n: 200, workers: 1 }],
    quick: [{ n: 2, workers: 1 }],
    figures: ["plain", "found", "alarms"],
    subjects: { random: OurSim.blind }
  }
]
