// A tiny API server for peers.mjs: lists n objects made from ../fixtures and serves one watch. It runs in a process of its
// own, so that its memory and CPU are not the client's. Prints its port. mode: idle (no events), flood (`updates` events as
// fast as the client reads them) or tick (one event every 2 ms). Events carry the time they were written (hrtime, which on
// Linux is comparable between processes) in metadata.annotations.sent; the last one has resourceVersion "last".
import { readFileSync } from "node:fs"
import { createServer } from "node:http"

const [, , bench, nText, mode, updatesText] = process.argv
const n = Number(nText), updates = Number(updatesText)
const pods = bench === "memory-pod"
const template = readFileSync(new URL(`../fixtures/${pods ? "pod" : "object"}.json`, import.meta.url), "utf8").trim()
const fill = (i) => template.replaceAll("__I__", String(i).padStart(6, "0")).replaceAll("__N__", String(i % 10).padStart(2, "0"))

let x = 7
const below = (m) => {
  x ^= x << 13
  x ^= x >>> 17
  x ^= x << 5
  return (x >>> 0) % m
}

const event = (i, version) => {
  const object = JSON.parse(fill(i))
  object.metadata.resourceVersion = version
  object.metadata.annotations = { sent: String(process.hrtime.bigint()) }
  object.spec.field0 = `updated-${version}`
  return JSON.stringify({ type: "MODIFIED", object }) + "\n"
}

const list = async (res) => {
  res.write(`{"kind":"${pods ? "PodList" : "WidgetList"}","apiVersion":"${pods ? "v1" : "bench.example.com/v1"}","metadata":{"resourceVersion":"1"},"items":[`)
  for (let i = 0; i < n; i++) {
    if (!res.write((i === 0 ? "" : ",") + fill(i))) await new Promise((go) => res.once("drain", go))
  }
  res.end("]}")
}

const watch = async (res) => {
  res.flushHeaders()
  if (mode === "idle") return
  await new Promise((go) => setTimeout(go, 500))
  for (let i = 0; i < updates; i++) {
    if (mode === "tick") await new Promise((go) => setTimeout(go, 2))
    const last = i === updates - 1
    const written = res.write(event(last ? n - 1 : below(n - 1), last ? "last" : String(10_000_000 + i)))
    if (!written) await new Promise((go) => res.once("drain", go))
  }
}

const server = createServer((req, res) => {
  res.setHeader("content-type", "application/json")
  return req.url.includes("watch=true") ? watch(res) : list(res)
}).listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`))
