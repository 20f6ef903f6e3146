// Measures @kubernetes/client-node's informer (makeInformer) against a local HTTP server in another process: B5, and what
// comes closest to B3 and B4. Unlike the other peers it goes through HTTP and JSON, since its informer cannot do without.
// It has no work queue and no controller: B1 and B2 do not apply, and "reconcile" is the informer's update callback.
// One bench:  node --expose-gc peers.mjs memory-pod typed present 50000
// All, each in a process of its own:  node peers.mjs all 5
import { CoreV1Api, CustomObjectsApi, KubeConfig, makeInformer } from "@kubernetes/client-node"
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { once } from "node:events"
import { fileURLToPath } from "node:url"

const installed = new URL("node_modules/@kubernetes/client-node/package.json", import.meta.url)
const version = JSON.parse(readFileSync(installed, "utf8")).version
const quantile = (xs, q) => xs.toSorted((a, b) => a - b)[Math.floor((xs.length - 1) * q)]
const status = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync("/proc/self/status", "utf8"))[1]) / 1024
const settle = async () => {
  for (let i = 0; i < 4; i++) {
    gc()
    await new Promise((go) => setTimeout(go, 50))
  }
}

if (process.argv[2] === "all") {
  const repeat = Number(process.argv[3] ?? 1)
  const runs = [
    ["memory-object", "unstructured", "present", "100000"], ["memory-pod", "typed", "present", "50000"],
    ["memory-pod", "typed", "stripped", "50000"], ["memory-pod", "unstructured", "present", "50000"],
    ["memory-pod", "unstructured", "stripped", "50000"], ["flood", "unstructured", "present", "10000"],
    ["tick", "unstructured", "present", "10000"],
  ]
  for (const run of runs) {
    for (let i = 0; i < repeat; i++) {
      const child = spawn(process.execPath, ["--expose-gc", fileURLToPath(import.meta.url), ...run], { stdio: "inherit" })
      await once(child, "exit")
    }
  }
  process.exit(0)
}

const [, , bench, kind, managed, nText] = process.argv
const n = Number(nText), updates = bench === "tick" ? 2_000 : 200_000
const server = spawn(process.execPath, [fileURLToPath(new URL("server.mjs", import.meta.url)), bench, nText,
  bench === "flood" || bench === "tick" ? bench : "idle", String(updates)], { stdio: ["ignore", "pipe", "inherit"] })
const port = String((await once(server.stdout, "data"))[0]).trim()

const config = new KubeConfig()
config.loadFromOptions({
  clusters: [{ name: "c", server: `http://127.0.0.1:${port}`, skipTLSVerify: true }],
  users: [{ name: "u" }],
  contexts: [{ name: "x", cluster: "c", user: "u" }],
  currentContext: "x",
})
const custom = { group: "bench.example.com", version: "v1", plural: "widgets" }
const listed = bench === "memory-pod" && kind === "typed"
  ? () => config.makeApiClient(CoreV1Api).listPodForAllNamespaces()
  : () => config.makeApiClient(CustomObjectsApi).listClusterCustomObject(custom)
// The informer has no transform; the nearest is to strip in the list function.
const strip = async () => {
  const list = await listed()
  for (const o of list.items) delete o.metadata.managedFields
  return list
}
const informer = makeInformer(config, bench === "memory-pod" ? "/api/v1/pods" : "/apis/bench.example.com/v1/widgets",
  managed === "stripped" ? strip : listed)
informer.on("error", (e) => {
  process.stderr.write(`${e}\n`)
  process.exit(1)
})

const base = { peer: "@kubernetes/client-node", version, bench, n, workers: 1, kind, managed_fields: managed, node: process.version }
const done = (out) => {
  server.kill()
  process.stdout.write(`${JSON.stringify({ ...base, ...out })}\n`, () => process.exit(0))
}

if (bench.startsWith("memory")) {
  await settle()
  const heap0 = process.memoryUsage().heapUsed, rss0 = status("VmRSS")
  await informer.start()
  await settle()
  const heap1 = process.memoryUsage().heapUsed, rss1 = status("VmRSS")
  if (informer.list().length !== n) throw new Error(`listed ${informer.list().length}`)
  done({ bytes_per_object: (heap1 - heap0) / n, rss_bytes_per_object: ((rss1 - rss0) * 1024 * 1024) / n, rss_mb: rss1,
    peak_rss_mb: status("VmHWM") })
} else {
  const late = []
  let first, seen = 0
  informer.on("update", (o) => {
    const now = process.hrtime.bigint()
    first ??= now
    seen++
    late.push(Number(now - BigInt(o.metadata.annotations.sent)) / 1e3)
    if (o.metadata.resourceVersion === "last") {
      const seconds = Number(now - first) / 1e9
      done(bench === "flood"
        ? { updates, seen, ns_per_op: (seconds * 1e9) / updates, events_per_s: updates / seconds }
        : { updates, seen, p50_us: quantile(late, 0.5), p99_us: quantile(late, 0.99), max_us: quantile(late, 1) })
    }
  })
  await informer.start()
}
