/** B6, what ours and the limit do alike: names, events, and half seconds of routing. */
import type { Raw } from "setpoint/Resource"
import { nowMillis } from "./measure.ts"
import { random } from "./work.ts"

/**
 * Where the selectors stand. `one`: all on one source and namespace; `ns`: a namespace for each instance; `gvr`: 100
 * sources, and a namespace for each instance; `mixed`: as `one`, with set-based, absence and empty selectors among them.
 */
export const layouts = ["one", "ns", "gvr", "mixed"] as const

const digits = (i: number): string => String(i).padStart(6, "0")
export const nameAt = (i: number): string => `obj-${digits(i)}`
export const namespaceAt = (i: number, layout: string): string =>
  layout === "one" || layout === "mixed" ? "ns" : `ns-${digits(i)}`

export const label = "app.kubernetes.io/instance"

const uid = "5d8ab2d1-63a5-4d0b-8c4c-6b0a2d6a3f10"
const creationTimestamp = "2026-01-01T00:00:00Z"

/** What a driver hands out, as far as routing reads it; its name is a string that nobody has seen. */
export const event = (namespace: string, name: string, labels: { readonly [key: string]: string }): Raw => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { namespace, name, labels, uid, resourceVersion: "1", generation: 1, creationTimestamp }
})

const noLabels = {}

/** An event that nothing is known of but its name, as kro's bench by name has it. */
export const nameEvent = (i: number): Raw => event("ns", nameAt(i), noLabels)

export const podEvent = (i: number, layout: string): Raw =>
  event(namespaceAt(i, layout), nameAt(i), {
    "app.kubernetes.io/name": "web",
    [label]: nameAt(i),
    team: "a",
    tier: "b",
    zone: "c"
  })

/** n instances, and the routing of an event of instance i. Both return how many were told. */
export interface World {
  readonly n: number
  readonly name: (i: number) => number
  readonly selector: (i: number) => number
}

/** Nanoseconds an event, in half a second of events of random instances, each told to so many as it should be. */
export const halfSecond = (world: World, by: "name" | "selector", matches: number): number => {
  const { below } = random(7)
  const route = world[by]
  const start = nowMillis()
  let events = 0
  let told = 0
  let end = start
  while (end - start < 500) {
    for (let i = 0; i < 100; i++) told += route(below(world.n))
    events += 100
    end = nowMillis()
  }
  if (told !== events * matches) throw new Error("an event was not told to whom it should be")
  return ((end - start) * 1e6) / events
}
