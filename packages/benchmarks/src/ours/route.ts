/**
 * B6: n instances, each with one watch by name and one by selector, on boards of a WatchCoordinator. Events are made as
 * they are routed, as kro's program does it. Layout `one`: all selectors on one board and namespace; `ns`: a namespace
 * for each instance; `gvr`: 100 boards, and a namespace for each instance; `mixed`: as `one`, with set-based, absence and
 * empty selectors among them.
 */
import { setImmediate } from "node:timers/promises"
import type { Raw } from "setpoint/Resource"
import * as Selector from "setpoint/Selector"
import * as WatchCoordinator from "setpoint/WatchCoordinator"
import type { Subject } from "../bench.ts"
import { collect, type Figures, memory, nowMillis, settle } from "../measure.ts"
import { watchPauses } from "../pauses.ts"
import { list, random } from "../work.ts"

export const layouts = ["one", "ns", "gvr"] as const

/** As the engine interns its requests: told apart by identity. */
interface Instance {
  readonly name: string
}

type Board = WatchCoordinator.Board<Instance, string>

const digits = (i: number): string => String(i).padStart(6, "0")
const nameAt = (i: number): string => `obj-${digits(i)}`

const selectorOf = (requirements: ReadonlyArray<Selector.Requirement>): Selector.Selector => {
  const made = Selector.fromRequirements(requirements)
  if (made._tag === "Failure") throw made.failure
  return made.success
}

const label = "app.kubernetes.io/instance"
const is = (i: number): Selector.Requirement => ({ key: label, operator: "In", values: [nameAt(i)] })

/** Four forms that ask for the one instance. */
const forms: ReadonlyArray<(i: number) => ReadonlyArray<Selector.Requirement>> = [
  (i) => [is(i)],
  (i) => [{ key: label, operator: "In", values: [nameAt(i), `${nameAt(i)}-canary`] }],
  (i) => [is(i), { key: "canary", operator: "DoesNotExist", values: [] }],
  (
    i
  ) => [is(i), { key: "tier", operator: "NotIn", values: ["x", "y"] }, { key: "team", operator: "Exists", values: [] }]
]

/** What is asked for in layout `mixed` by three instances more, and matches every event. */
const general: ReadonlyArray<ReadonlyArray<Selector.Requirement>> = [
  [],
  [{ key: "canary", operator: "DoesNotExist", values: [] }],
  [{ key: "zone", operator: "NotIn", values: ["d"] }]
]

const event = (namespace: string, name: string, labels: Selector.Labels | undefined): Raw => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    namespace,
    name,
    uid: name,
    resourceVersion: "1",
    generation: 1,
    creationTimestamp: "2026-01-01T00:00:00Z",
    ...(labels === undefined ? {} : { labels })
  }
})

/** n instances on a coordinator, and how an event of one of them is routed. */
class World {
  readonly coordinator = WatchCoordinator.make<Instance, string>()
  readonly configMaps = WatchCoordinator.makeBoard(this.coordinator, "configmaps")
  readonly pods: ReadonlyArray<Board>
  readonly instances: ReadonlyArray<Instance>
  readonly layout: string
  readonly random = random(7)
  told = 0

  constructor(n: number, layout: string) {
    this.layout = layout
    this.pods = list(layout === "gvr" ? 100 : 1, (i) => WatchCoordinator.makeBoard(this.coordinator, `pods${i}`))
    this.instances = list(n, (i) => ({ name: nameAt(i) }))
  }

  namespaceOf(i: number): string {
    return this.layout === "one" || this.layout === "mixed" ? "ns" : `ns-${digits(i)}`
  }

  boardOf(i: number): Board {
    return this.pods[i % this.pods.length] as Board
  }

  register(): void {
    this.instances.forEach((instance, i) => {
      WatchCoordinator.watch(this.configMaps, instance, { _tag: "Name", namespace: "ns", name: nameAt(i) })
      const form = this.layout === "mixed" ? forms[i % forms.length] : forms[0]
      this.select(i, instance, form?.(i) ?? [])
      WatchCoordinator.commit(this.coordinator, instance)
    })
    if (this.layout === "mixed") { for (const one of general) this.select(0, { name: "general" }, one) }
  }

  select(i: number, instance: Instance, requirements: ReadonlyArray<Selector.Requirement>): void {
    const selector = selectorOf(requirements)
    WatchCoordinator.watch(this.boardOf(i), instance, { _tag: "Selector", namespace: this.namespaceOf(i), selector })
  }

  readonly tell = (): void => void this.told++

  byName(): void {
    const name = nameAt(this.random.below(this.instances.length))
    WatchCoordinator.route(this.configMaps, { object: event("ns", name, undefined), old: undefined }, this.tell)
  }

  bySelector(): void {
    const i = this.random.below(this.instances.length)
    WatchCoordinator.route(this.boardOf(i), { object: this.pod(i), old: this.pod(i) }, this.tell)
  }

  pod(i: number): Raw {
    const labels = { "app.kubernetes.io/name": "web", [label]: nameAt(i), team: "a", tier: "b", zone: "c" }
    return event(this.namespaceOf(i), nameAt(i), labels)
  }

  readonly routes = { name: () => this.byName(), selector: () => this.bySelector() }
}

/** Nanoseconds an event in half a second. */
const halfSecond = (world: World, by: "name" | "selector"): number => {
  const { told } = world
  const route = world.routes[by]
  const start = nowMillis()
  let events = 0
  let end = start
  while (end - start < 500) {
    for (let i = 0; i < 100; i++) route()
    events += 100
    end = nowMillis()
  }
  const matches = world.layout === "mixed" ? 1 + general.length : 1
  if (world.told - told !== events * matches) throw new Error("an event was not told to whom it should be")
  return ((end - start) * 1e6) / events
}

/** `few_ns_per_op` and `times_1000` are of the same with 1,000 instances, interleaved. */
export const routing = (by: "name" | "selector"): Subject => async ({ n, variant = "one" }) => {
  new World(1000, variant).register() // compiled, as the peer is
  const world = new World(n, variant)
  await settle()
  const before = memory().heapBytes
  const start = nowMillis()
  world.register()
  const registered = nowMillis() - start
  await settle()
  const bytes = memory().heapBytes - before
  const few = new World(1000, variant)
  few.register()
  const many: Array<number> = []
  const small: Array<number> = []
  halfSecond(few, by)
  for (let round = 0; round < 5; round++) {
    small.push(halfSecond(few, by))
    many.push(halfSecond(world, by))
  }
  return {
    ...ratesOf(many),
    few_ns_per_op: Math.min(...small),
    times_1000: Math.min(...many) / Math.min(...small),
    register_us: (registered * 1000) / n,
    bytes_per_instance: bytes / n
  }
}

/** As the peer reports it: the median of five half seconds. */
const ratesOf = (ns: ReadonlyArray<number>): Figures => ({
  ns_per_op: ns.toSorted((a, b) => a - b)[Math.floor(ns.length / 2)] ?? Number.NaN,
  min_ns_per_op: Math.min(...ns)
})

/** What a pass pays for 20 requests that the last one made too, in instances drawn at random. */
export const again: Subject = ({ n }) => {
  const coordinator = WatchCoordinator.make<Instance, string>()
  const board = WatchCoordinator.makeBoard(coordinator, "configmaps")
  const instances = list(n, (i) => ({ name: nameAt(i) }))
  const pass = (instance: Instance): void => {
    for (let i = 0; i < 20; i++) {
      WatchCoordinator.watch(board, instance, { _tag: "Name", namespace: instance.name, name: names[i] as string })
    }
    WatchCoordinator.commit(coordinator, instance)
  }
  for (const instance of instances) pass(instance)
  collect()
  const { below } = random(7)
  const micros = list(5, () => {
    const start = nowMillis()
    for (let i = 0; i < 100_000; i++) pass(instances[below(n)] as Instance)
    return (nowMillis() - start) / 100
  })
  return { pass_us: Math.min(...micros) }
}

const names = list(20, (i) => `config-${i}`)

/** n instances ask for five names and five selections each, and a million events are routed. */
export const start: Subject = async ({ n }) => {
  const coordinator = WatchCoordinator.make<Instance, string>()
  const board = WatchCoordinator.makeBoard(coordinator, "pods")
  const instances = list(n, (i) => ({ name: nameAt(i) }))
  const pauses = watchPauses()
  const started = nowMillis()
  const register = (i: number): void => {
    const instance = instances[i] as Instance
    for (let j = 0; j < 5; j++) {
      WatchCoordinator.watch(board, instance, { _tag: "Name", namespace: "ns", name: `${instance.name}-${j}` })
      const selector = selectorOf([{ key: label, operator: "In", values: [`${instance.name}-${j}`] }])
      WatchCoordinator.watch(board, instance, { _tag: "Selector", namespace: "ns", selector })
    }
    WatchCoordinator.commit(coordinator, instance)
  }
  const { below } = random(7)
  let told = 0
  const route = (): void => {
    const name = `${nameAt(below(n))}-${below(5)}`
    const object = event("ns", name, { "app.kubernetes.io/name": "web", [label]: name })
    WatchCoordinator.route(board, { object, old: undefined }, () => void told++)
  }
  await inTurns(n, register)
  const registered = nowMillis()
  await inTurns(1_000_000, route)
  const end = nowMillis()
  if (told !== 1_000_000) throw new Error("an event was not told to whom it should be")
  const { peakMegabytes } = memory()
  return {
    register_s: (registered - started) / 1000,
    route_s: (end - registered) / 1000,
    peak_rss_mb: peakMegabytes,
    ...await pauses.stop()
  }
}

/** A hundred at a time, and then what else the event loop has to do. */
const inTurns = async (n: number, one: (i: number) => void): Promise<void> => {
  for (let i = 0; i < n; i++) {
    one(i)
    if (i % 100 === 99) await setImmediate()
  }
}
