/**
 * What a slow reader of an informer has not taken yet: one change a life of an object, so at most two a key. Changes of
 * one life merge, in the place of the first; changes of two lives never do. A life that came and went unread leaves
 * nothing.
 */
import type { Change } from "./informer.ts"

/** By uid, in the order in which the first untaken change of each came. */
export type Buffer = Map<string, Change>

export const make = (): Buffer => new Map()

export const add = (buffer: Buffer, next: Change): void => {
  const { uid } = next.object.metadata
  const before = buffer.get(uid)
  if (before === undefined) buffer.set(uid, next)
  else if (before.type === "Added" && next.type === "Deleted") buffer.delete(uid)
  else buffer.set(uid, merge(before, next))
}

const merge = (before: Change, next: Change): Change => {
  // Left a filter and came back: the reader knows the object as it was.
  const type = before.type === "Deleted" ? "Modified" : next.type === "Deleted" ? "Deleted" : before.type
  return {
    ...next,
    type,
    via: next.via === "redelivery" ? before.via : next.via, // news stays news
    old: type === "Added" ? undefined : before.old ?? next.old
  }
}

export const takeAll = (buffer: Buffer): ReadonlyArray<Change> => {
  const changes = Array.from(buffer.values())
  buffer.clear()
  return changes
}
