/**
 * P18: the engine's caches. At rest each holds what the store holds, no more and no less; and on the way it tells of each
 * object a life that makes sense: added once, changed to later revisions of the same life, deleted once.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { Informer, MemoryStore, type Resource, Revision } from "setpoint"
import * as World from "../world.ts"

const cachesOf = (world: World.World): ReadonlyArray<Informer.Informer> =>
  (world.notes.probes.get(world.current?.process.label ?? "") ?? []).flatMap((probe) => probe.caches())

export const atRest = (world: World.World): void => {
  for (const cache of cachesOf(world)) {
    const difference = differenceOf(world, cache)
    if (difference !== undefined) World.violate(world, "P18", `the cache of ${cache.kind} ${difference}`)
  }
}

/** Whether the caches have seen all there is. */
export const areCurrent = (world: World.World): boolean =>
  cachesOf(world).every((cache) => differenceOf(world, cache) === undefined)

const differenceOf = (world: World.World, cache: Informer.Informer): string | undefined => {
  if (!Informer.isSynced(cache)) return `is not synced: ${Informer.why(cache) ?? "nobody knows why"}`
  const { namespace, selector } = cache
  const page = MemoryStore.Core.list(world.core, cache.at, { namespace, selector })
  if (Result.isFailure(page)) return undefined
  const stored = new Map(page.success.items.map((object) => [World.keyText(object), object]))
  for (const object of Informer.list(cache)) {
    const key = World.keyText(object)
    const there = stored.get(key)
    stored.delete(key)
    if (there === undefined) return `holds ${key}, which is gone`
    if (versionOf(there) === versionOf(object)) continue
    const has = object.metadata.resourceVersion
    return `holds ${key} at revision ${has}, and the store has ${there.metadata.resourceVersion}`
  }
  const [missing] = stored.keys()
  return missing === undefined ? undefined : `lacks ${missing}`
}

const versionOf = ({ metadata }: Resource.Raw): string => `${metadata.uid}/${metadata.resourceVersion}`

/** Follows the caches that run by now. */
export const follow = (world: World.World): void => {
  for (const cache of cachesOf(world)) {
    if (world.notes.followed.has(cache)) continue
    world.notes.followed.add(cache)
    // Never closed, and held by nobody: what listens ends with its cache.
    const listening = Informer.subscribe(cache, listener(world, cache))
    World.at(world, Effect.provideService(listening, Scope.Scope, Scope.makeUnsafe()))
  }
}

const listener = (world: World.World, cache: Informer.Informer): Informer.Handler => {
  const known = new Map<string, Resource.Metadata>()
  return {
    onNewTimeline: () => known.clear(),
    onChange: ({ object, type, via }) => {
      const key = World.keyText(object)
      const flaw = via === "newTimeline" ? undefined : flawIn(type, known.get(key), object.metadata)
      if (flaw !== undefined) World.violate(world, "P18", `the cache of ${cache.kind} told ${type} of ${key}: ${flaw}`)
      if (type === "Deleted") known.delete(key)
      else known.set(key, object.metadata)
    }
  }
}

/** What is wrong with a change, after what was told before. */
export const flawIn = (
  type: Informer.Change["type"],
  before: Resource.Metadata | undefined,
  now: Resource.Metadata
): string | undefined => {
  if (type === "Added") return before === undefined ? undefined : "it had been told already"
  if (before === undefined) return "it had never been told"
  if (before.uid !== now.uid) return "it is of another life than the one that was told"
  const order = Revision.compare(before.resourceVersion, now.resourceVersion)
  return order === "after" || (order === "same" && type === "Modified")
    ? `after revision ${before.resourceVersion} comes ${now.resourceVersion}`
    : undefined
}
