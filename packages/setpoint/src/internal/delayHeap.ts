/**
 * A heap of items by due time, four children a node. Items carry their own index, so that one is moved or taken out in
 * O(log n) without a search. Items due at the same time come out in the order in which they went in.
 */

/** What an item of a heap carries. Only this module writes `order` and `heapIndex`. */
export interface Due {
  /** Millis. Not to be changed while the item is in a heap. */
  due: number
  order: number
  /** Where the item is in the heap, or -1. */
  heapIndex: number
}

export interface DelayHeap<N extends Due> {
  readonly items: Array<N>
  inserted: number
}

export const make = <N extends Due>(): DelayHeap<N> => ({ items: [], inserted: 0 })

const isBefore = (a: Due, b: Due): boolean => a.due < b.due || (a.due === b.due && a.order < b.order)

const put = <N extends Due>(heap: DelayHeap<N>, item: N, index: number): void => {
  heap.items[index] = item
  item.heapIndex = index
}

const rise = <N extends Due>(heap: DelayHeap<N>, item: N, from: number): void => {
  let index = from
  while (index > 0) {
    const above = (index - 1) >> 2
    const parent = heap.items[above]
    if (parent === undefined || !isBefore(item, parent)) break
    put(heap, parent, index)
    index = above
  }
  put(heap, item, index)
}

const firstChild = <N extends Due>(heap: DelayHeap<N>, index: number): N | undefined => {
  const start = index * 4 + 1
  let first = heap.items[start]
  for (let i = start + 1; i < start + 4; i++) {
    const child = heap.items[i]
    if (child === undefined || first === undefined) break
    if (isBefore(child, first)) first = child
  }
  return first
}

const sink = <N extends Due>(heap: DelayHeap<N>, item: N, from: number): void => {
  let index = from
  for (;;) {
    const child = firstChild(heap, index)
    if (child === undefined || !isBefore(child, item)) break
    const below = child.heapIndex
    put(heap, child, index)
    index = below
  }
  put(heap, item, index)
}

/** Puts an item in. It is in no heap before. */
export const insert = <N extends Due>(heap: DelayHeap<N>, item: N): void => {
  item.order = heap.inserted++
  rise(heap, item, heap.items.length)
}

/** Takes an item out, if it is in. */
export const remove = <N extends Due>(heap: DelayHeap<N>, item: N): void => {
  const index = item.heapIndex
  if (index < 0) return
  item.heapIndex = -1
  const last = heap.items.pop()
  if (last === undefined || last === item) return
  if (isBefore(last, item)) rise(heap, last, index)
  else sink(heap, last, index)
}

export const first = <N extends Due>(heap: DelayHeap<N>): N | undefined => heap.items[0]
