/** The least that plain JavaScript needs for B6: one `Map` by name and one by the value of the one label, no selectors. */
import type { Subject } from "../bench.ts"
import { halfSecond, label, nameAt, nameEvent, namespaceAt, podEvent, type World } from "../route.ts"
import { list } from "../work.ts"

interface Watch {
  readonly namespace: string
  readonly instance: { readonly name: string }
}

const make = (n: number, layout: string): World => {
  const byName = new Map<string, Watch>()
  const byLabel = new Map<string, Watch>()
  for (let i = 0; i < n; i++) {
    const instance = { name: nameAt(i) }
    byName.set(nameAt(i), { namespace: "ns", instance })
    byLabel.set(nameAt(i), { namespace: namespaceAt(i, layout), instance })
  }
  const count = (watch: Watch | undefined, namespace: string | undefined): number =>
    watch?.namespace === namespace ? 1 : 0
  return {
    n,
    name: (i) => {
      const { metadata: { name, namespace } } = nameEvent(i)
      return count(byName.get(name), namespace)
    },
    selector: (i) => {
      const { metadata: { labels, namespace } } = podEvent(i, layout)
      const { metadata: { labels: old } } = podEvent(i, layout)
      const watch = byLabel.get(labels?.[label] ?? "")
      return count(watch, namespace) || count(byLabel.get(old?.[label] ?? ""), namespace)
    }
  }
}

export const routing = (by: "name" | "selector"): Subject => ({ n, variant = "one" }) => {
  const world = make(n, variant)
  const few = make(1000, variant)
  halfSecond(few, by, 1)
  const small: Array<number> = []
  const many = list(5, () => {
    small.push(halfSecond(few, by, 1))
    return halfSecond(world, by, 1)
  })
  return {
    ns_per_op: many.toSorted((a, b) => a - b)[2] ?? Number.NaN,
    min_ns_per_op: Math.min(...many),
    few_ns_per_op: Math.min(...small),
    times_1000: Math.min(...many) / Math.min(...small)
  }
}
