/** The work that every bench of every language does alike: keys, objects, draws. */
import { readFileSync } from "node:fs"
import type { Raw } from "setpoint/Resource"

/** xorshift32. `below(n)` draws a whole number from 0 to n - 1. */
export const random = (seed: number): { readonly below: (n: number) => number } => {
  let x = seed
  return {
    below: (n) => {
      x ^= x << 13
      x ^= x >>> 17
      x ^= x << 5
      return (x >>> 0) % n
    }
  }
}

const digits = (n: number, width: number): string => String(n).padStart(width, "0")

export interface Key {
  readonly namespace: string
  readonly name: string
}

export const keyAt = (i: number): Key => ({ namespace: `ns-${digits(i % 10, 2)}`, name: `obj-${digits(i, 6)}` })

/** Key i as a queue of texts knows it. Joined, so that no look-up pays for flattening. */
export const textAt = (i: number): string => [keyAt(i).namespace, keyAt(i).name].join("/")

export const list = <A>(n: number, make: (i: number) => A): Array<A> => Array.from({ length: n }, (_, i) => make(i))

/** `object` is a 1 KB widget, `pod` a 4 KB Pod with managedFields. */
export type Fixture = "object" | "pod"

const template = (fixture: Fixture): string =>
  readFileSync(new URL(`../peers/fixtures/${fixture}.json`, import.meta.url), "utf8").trim()

/** Makes object i by decoding JSON of its own, so that no two objects share a string. */
export const objects = (fixture: Fixture): (i: number) => Raw => {
  const text = template(fixture)
  return (i) => JSON.parse(text.replaceAll("__I__", digits(i, 6)).replaceAll("__N__", digits(i % 10, 2)))
}

/** A new version of an object: resourceVersion, generation and one field of spec differ, the rest is shared. */
export const updated = (object: Raw, version: number): Raw => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(version), generation: version },
  spec: { ...(object["spec"] as object), field0: `updated-${version}` }
})

/** Versions of updates begin here, above every version of a listed object. */
export const firstUpdate = 10_000_000

/** n updates of objects drawn with seed 7, and the version that each object ends with. */
export const updates = (from: ReadonlyArray<Raw>, n: number): {
  readonly events: ReadonlyArray<{ readonly index: number; readonly object: Raw }>
  readonly last: ReadonlyMap<number, string>
} => {
  const { below } = random(7)
  const last = new Map<number, string>()
  const events = list(n, (j) => {
    const index = below(from.length)
    const object = updated(from[index] as Raw, firstUpdate + j)
    last.set(index, object.metadata.resourceVersion)
    return { index, object }
  })
  return { events, last }
}

/** The index in the name of an object or request: `obj-000042` is 42. */
export const indexOf = (name: string): number => Number(name.slice("obj-".length))
