/**
 * What a process that is killed at rest meets when it is back: an old view of everything or of one kind (X05), or one
 * cache whose first list takes long while all others are there (X19).
 */
import * as Effect from "effect/Effect"
import type { StoreDriver } from "setpoint"
import type { Alternative } from "./choices.ts"
import * as World from "./world.ts"

/** Longer than all else at a start, and shorter than what a cache is given to sync. */
const lateListMillis = 10_000

/** `old:7`, `old-kind:Pod@7`, `unsynced:Pod`. */
export const alternatives = (world: World.World): ReadonlyArray<Alternative> => {
  const revisions = [...world.commits.keys()].slice(0, -1)
  const kinds = [...world.informed]
  return [
    ...revisions.map((revision) => `old:${revision}`),
    ...kinds.flatMap((kind) => oldRevisionsOf(world, kind).map((revision) => `old-kind:${kind}@${revision}`)),
    ...kinds.map((kind) => `unsynced:${kind}`)
  ]
}

/** After each of its changes but the last a kind was as it is no more. */
const oldRevisionsOf = (world: World.World, kind: string): ReadonlyArray<number> => {
  const changes = [...world.commits].flatMap(([revision, commit]) => commit.kind === kind ? [revision] : [])
  return changes.length === 0 ? [] : [0, ...changes.slice(0, -1)]
}

/** What the next start meets; nothing where the fault is another. */
export const prepare = (world: World.World, fault: string, argument: string): void => {
  if (fault === "old") world.oldView = { revision: Number(argument), kind: undefined }
  if (fault === "old-kind") {
    const [kind = "", revision] = argument.split("@")
    world.oldView = { revision: Number(revision), kind }
  }
  if (fault === "unsynced") world.lateList = argument
}

/** What a start tells of it. */
export const inWords = ({ lateList, oldView }: World.World): string => {
  if (lateList !== undefined) return `; the first list of ${lateList} takes ${lateListMillis / 1000} s`
  if (oldView === undefined) return ""
  return `; lists${oldView.kind === undefined ? "" : ` of ${oldView.kind}`} are served at revision ${oldView.revision}`
}

/** The options of a list as the store is to judge them. */
export const listOptions = (
  { commits, oldView }: World.World,
  at: StoreDriver.KindAddress,
  options: StoreDriver.ListOptions
): StoreDriver.ListOptions => {
  if (oldView === undefined || (oldView.kind !== undefined && oldView.kind !== at.kind)) return options
  const commit = commits.get(oldView.revision)
  if (commit === undefined || options.page !== undefined || options.ownerUid !== undefined) return options
  return { ...options, page: JSON.stringify([oldView.revision, commit.writeId, ""]) }
}

/** The first list of an informer: late where it was chosen. */
export const firstList = <A, E>(
  world: World.World,
  at: StoreDriver.KindAddress,
  list: Effect.Effect<A, E>
): Effect.Effect<A, E> => {
  if (!World.isEventKind(at)) world.informed.add(at.kind)
  if (world.lateList !== at.kind) return list
  world.lateList = undefined
  return Effect.delay(list, lateListMillis)
}
