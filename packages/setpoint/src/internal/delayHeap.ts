/**
 * A heap of items by due time, four children a node. Items carry their own index, so that one is moved or taken out in
 * O(log n) without a search. Items due at the same time come out in the order in which they went in.
 *
 * The times stand beside the items in an array of their own: four children are compared in one line of memory, and only the
 * items that move are touched.
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
  /** `dues[i]` is `items[i].due`. */
  readonly dues: Array<number>
  inserted: number
}

export const make = <N extends Due>(): DelayHeap<N> => ({ items: [], dues: [], inserted: 0 })

/** Whether what stands at `index` comes before an item. */
const isBefore = <N extends Due>({ dues, items }: DelayHeap<N>, index: number, item: Due): boolean => {
  const due = dues[index]
  return due < item.due || (due === item.due && items[index].order < item.order)
}

const put = <N extends Due>(heap: DelayHeap<N>, item: N, index: number): void => {
  heap.items[index] = item
  heap.dues[index] = item.due
  item.heapIndex = index
}

const rise = <N extends Due>(heap: DelayHeap<N>, item: N, from: number): void => {
  let index = from
  while (index > 0) {
    const above = (index - 1) >> 2
    if (isBefore(heap, above, item)) break
    put(heap, heap.items[above], index)
    index = above
  }
  put(heap, item, index)
}

/** The child that comes first, or -1 where there is none. */
const firstChild = <N extends Due>({ dues, items }: DelayHeap<N>, index: number): number => {
  const start = index * 4 + 1
  const end = Math.min(start + 4, dues.length)
  if (start >= end) return -1
  let first = start
  for (let i = start + 1; i < end; i++) {
    const due = dues[i]
    if (due < dues[first] || (due === dues[first] && items[i].order < items[first].order)) first = i
  }
  return first
}

const sink = <N extends Due>(heap: DelayHeap<N>, item: N, from: number): void => {
  let index = from
  for (;;) {
    const child = firstChild(heap, index)
    if (child < 0 || !isBefore(heap, child, item)) break
    put(heap, heap.items[child], index)
    index = child
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
  heap.dues.pop()
  if (last === undefined || last === item) return
  // it may have to go up: it comes from another branch
  if (index > 0 && !isBefore(heap, (index - 1) >> 2, last)) rise(heap, last, index)
  else sink(heap, last, index)
}

export const first = <N extends Due>(heap: DelayHeap<N>): N | undefined => heap.items[0]

/** When the first is due, or Infinity. */
export const firstDue = <N extends Due>({ dues }: DelayHeap<N>): number => dues.length === 0 ? Infinity : dues[0]
