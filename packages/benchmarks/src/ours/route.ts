/** B6 on boards of a WatchCoordinator: n instances, each with one watch by name and one by selector. */
import { setImmediate } from "node:timers/promises"
import * as Selector from "setpoint/Selector"
import * as WatchCoordinator from "setpoint/WatchCoordinator"
import type { Subject } from "../bench.ts"
import { collect, type Figures, memory, nowMillis, settle } from "../measure.ts"
import { watchPauses } from "../pauses.ts"
import { event, halfSecond, label, nameAt, nameEvent, namespaceAt, podEvent, type World } from "../route.ts"
import { list, random } from "../work.ts"

/** As the engine interns its requests: told apart by identity. */
interface Instance {
  readonly name: string
}

const selectorOf = (requirements: ReadonlyArray<Selector.Requirement>): Selector.Selector => {
  const made = Selector.fromRequirements(requirements)
  if (made._tag === "Failure") throw made.failure
  return made.success
}

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

/** What one instance more asks for in layout `mixed`: each of them matches every event. */
const general: ReadonlyArray<ReadonlyArray<Selector.Requirement>> = [
  [],
  [{ key: "canary", operator: "DoesNotExist", values: [] }],
  [{ key: "zone", operator: "NotIn", values: ["d"] }]
]

interface Ours extends World {
  readonly register: () => void
}

const make = (n: number, layout: string): Ours => {
  const coordinator = WatchCoordinator.make<Instance, string>()
  const configMaps = WatchCoordinator.makeBoard(coordinator, "configmaps")
  const pods = list(layout === "gvr" ? 100 : 1, (i) => WatchCoordinator.makeBoard(coordinator, `pods${i}`))
  const boardOf = (i: number) => pods[i % pods.length] as typeof configMaps
  const instances = list(n, (i): Instance => ({ name: nameAt(i) }))
  const select = (i: number, instance: Instance, requirements: ReadonlyArray<Selector.Requirement>): void => {
    const selector = selectorOf(requirements)
    WatchCoordinator.watch(boardOf(i), instance, { _tag: "Selector", namespace: namespaceAt(i, layout), selector })
  }
  const nobody = (): void => {}
  return {
    n,
    register: () => {
      instances.forEach((instance, i) => {
        WatchCoordinator.watch(configMaps, instance, { _tag: "Name", namespace: "ns", name: nameAt(i) })
        select(i, instance, forms[layout === "mixed" ? i % forms.length : 0]?.(i) ?? [])
        WatchCoordinator.commit(coordinator, instance)
      })
      if (layout !== "mixed") return
      const instance: Instance = { name: "general" }
      for (const requirements of general) select(0, instance, requirements)
    },
    name: (i) => WatchCoordinator.route(configMaps, { object: nameEvent(i), old: undefined }, nobody),
    selector: (i) => {
      const change = { object: podEvent(i, layout), old: podEvent(i, layout) }
      return WatchCoordinator.route(boardOf(i), change, nobody)
    }
  }
}

/** `few_ns_per_op` and `times_1000` are of the same with 1,000 instances, interleaved. */
export const routing = (by: "name" | "selector"): Subject => async ({ n, variant = "one" }) => {
  make(1000, variant).register() // compiled, as the peer is
  const world = make(n, variant)
  await settle()
  const before = memory().heapBytes
  const start = nowMillis()
  world.register()
  const registered = nowMillis() - start
  await settle()
  const bytes = memory().heapBytes - before
  const few = make(1000, variant)
  few.register()
  const matches = variant === "mixed" && by === "selector" ? 2 : 1
  halfSecond(few, by, matches)
  const small: Array<number> = []
  const many = list(5, () => {
    small.push(halfSecond(few, by, matches))
    return halfSecond(world, by, matches)
  })
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
