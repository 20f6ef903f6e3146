/**
 * The limit of the memory store: frozen objects with fresh metadata in a Map by key, and watches that are arrays. No
 * validation, history, revisions to compare, or decoding.
 */
import type { Raw } from "setpoint/Resource"
import type { Subject } from "../bench.ts"
import { collect, type Figures, nowMillis, rate } from "../measure.ts"
import { keyAt, list, objects, random } from "../work.ts"

type Fields = { readonly [key: string]: string }
interface Input {
  readonly key: string
  readonly name: string
  readonly namespace: string
  readonly labels: Fields
  readonly spec: Fields
}

class PlainStore {
  readonly objects = new Map<string, Raw>()
  readonly watches: Array<Array<Raw>> = []
  revision = 0

  put(input: Input, uid: string): void {
    const { labels, name, namespace, spec } = input
    const object: Raw = Object.freeze({
      apiVersion: "bench.example.com/v1",
      kind: "Widget",
      metadata: Object.freeze({
        name,
        namespace,
        uid,
        resourceVersion: String(++this.revision),
        generation: 1,
        creationTimestamp: "2026-01-01T00:00:00Z",
        labels: Object.freeze(labels)
      }),
      spec: Object.freeze(spec)
    })
    this.objects.set(input.key, object)
    for (const watch of this.watches) watch.push(object)
  }
}

const textOf = ({ name, namespace }: { readonly name: string; readonly namespace: string }): string =>
  `${namespace}/${name}`

const inputs = (n: number): ReadonlyArray<Input> => {
  const make = objects("object")
  return list(n, (i) => {
    const key = keyAt(i)
    const object = make(i)
    return { key: textOf(key), ...key, labels: { ...object.metadata.labels }, spec: object["spec"] as Fields }
  })
}

const timed = (n: number, work: () => void): Figures => {
  collect()
  const start = nowMillis()
  work()
  return rate(nowMillis() - start, n)
}

export const onMemory: Subject = ({ n, variant = "" }) => {
  const store = new PlainStore()
  const all = inputs(n)
  const putAll = () => {
    for (const input of all) store.put(input, globalThis.crypto.randomUUID())
  }
  if (variant === "create") return timed(n, putAll)
  putAll()
  if (variant === "get") {
    const { below } = random(7)
    const keys = list(n, () => keyAt(below(n)))
    return timed(n, () => {
      for (const key of keys) if (store.objects.get(textOf(key)) === undefined) throw new Error("absent")
    })
  }
  if (variant === "list") {
    return timed(10 * n, () => {
      for (let i = 0; i < 10; i++) if (Array.from(store.objects.values()).length !== n) throw new Error("not all")
    })
  }
  const changed = all.map((input, i) => ({ ...input, spec: { ...input.spec, field0: `changed-${i}` } }))
  const watchers = variant.startsWith("watch-") ? Number(variant.slice("watch-".length)) : 0
  for (let i = 0; i < watchers; i++) store.watches.push([])
  let seen = 0
  return timed(n, () => {
    for (const [i, input] of changed.entries()) {
      store.put(input, "00000000-0000-4000-8000-000000000000")
      if (i % 500 !== 499) continue
      for (const watch of store.watches) seen += watch.splice(0).length
    }
  })
}
