/** A first-in-first-out line whose items carry their own links: O(1) to join, to leave from anywhere, no allocation. */

/** What an item of a line carries. Only this module writes it. */
export interface Linked<N> {
  /** The line the item stands in, if any: an item stands in one at most. */
  line: Line<N> | undefined
  previous: N | undefined
  next: N | undefined
}

export interface Line<N> {
  head: N | undefined
  tail: N | undefined
  length: number
}

export const make = <N>(): Line<N> => ({ head: undefined, tail: undefined, length: 0 })

/** Joins the end of a line. The item stands in no line before. */
export const join = <N extends Linked<N>>(line: Line<N>, item: N): void => {
  item.line = line
  item.previous = line.tail
  if (line.tail === undefined) line.head = item
  else line.tail.next = item
  line.tail = item
  line.length++
}

/** Leaves the line in which the item stands, if it stands in one. */
export const leave = <N extends Linked<N>>(item: N): void => {
  const line = item.line
  if (line === undefined) return
  if (item.previous === undefined) line.head = item.next
  else item.previous.next = item.next
  if (item.next === undefined) line.tail = item.previous
  else item.next.previous = item.previous
  item.line = item.previous = item.next = undefined
  line.length--
}

export const toArray = <N extends Linked<N>>(line: Line<N>): Array<N> => {
  const items: Array<N> = []
  for (let item = line.head; item !== undefined; item = item.next) items.push(item)
  return items
}
