/**
 * A map by name that never stops the world to grow: one JavaScript `Map`, and from `splitAt` names on sixteen of them. A
 * `Map` grows by copying itself, which takes tens of milliseconds at half a million entries.
 */

/** Names that one `Map` holds before it is split. */
export const splitAt = 1 << 13

const shardCount = 16

export interface NameMap<A> {
  size: number
  /** One, or `shardCount`. A split leaves the map it took from as it is, for those who are going through it. */
  shards: ReadonlyArray<Map<string, A>>
}

export const make = <A>(): NameMap<A> => ({ size: 0, shards: [new Map()] })

/** By the last characters, which differ where names are numbered. */
const shardOf = <A>(self: NameMap<A>, name: string): Map<string, A> => {
  let hash = 0
  if (self.shards.length > 1) {
    for (let i = Math.max(0, name.length - 4); i < name.length; i++) hash = hash * 31 + name.charCodeAt(i)
  }
  const shard = self.shards[hash % self.shards.length]
  if (shard === undefined) throw new Error("a name map has a shard for every hash")
  return shard
}

export const get = <A>(self: NameMap<A>, name: string): A | undefined => shardOf(self, name).get(name)

export const set = <A>(self: NameMap<A>, name: string, value: A): void => {
  const shard = shardOf(self, name)
  const before = shard.size
  shard.set(name, value)
  self.size += shard.size - before
  if (self.size > splitAt && self.shards.length === 1) split(self)
}

const split = <A>(self: NameMap<A>): void => {
  const before = self.shards
  self.shards = Array.from({ length: shardCount }, () => new Map())
  for (const shard of before) for (const [name, value] of shard) shardOf(self, name).set(name, value)
}

export const remove = <A>(self: NameMap<A>, name: string): boolean => {
  const removed = shardOf(self, name).delete(name)
  if (removed) self.size--
  return removed
}

export function* values<A>(self: NameMap<A>): IterableIterator<A> {
  for (const shard of self.shards) yield* shard.values()
}
