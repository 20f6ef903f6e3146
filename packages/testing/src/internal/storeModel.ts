/**
 * A store so simple that it is seen to be right: one immutable map of objects a revision, all of them kept. The contract
 * suite runs it beside the real store.
 */

export interface ModelObject {
  readonly life: number
  readonly generation: number
  readonly host: string
  readonly ready: number | undefined
  readonly tier: string | undefined
  readonly held: boolean
  readonly marked: boolean
  /** When it was written last. */
  readonly revision: number
}

export type Snapshot = ReadonlyMap<string, ModelObject>

/** `snapshots[r]` is the store at revision r, counted from 0 at the model's begin. */
export interface Model {
  readonly snapshots: Array<Snapshot>
  lives: number
}

export const empty = (): Model => ({ snapshots: [new Map()], lives: 0 })

export const revision = (model: Model): number => model.snapshots.length - 1

export const now = (model: Model): Snapshot => model.snapshots[revision(model)] ?? new Map()

export type Answer = "NotFound" | "AlreadyExists" | "Conflict" | "Invalid" | "unchanged" | "changed" | "removed"

const commit = (model: Model, key: string, object: ModelObject | undefined): Answer => {
  const next = new Map(now(model))
  if (object === undefined) next.delete(key)
  else next.set(key, { ...object, revision: revision(model) + 1 })
  model.snapshots.push(next)
  return object === undefined ? "removed" : "changed"
}

export const create = (model: Model, key: string, given: Pick<ModelObject, "host" | "tier" | "held">): Answer => {
  if (now(model).has(key)) return "AlreadyExists"
  model.lives++
  const born = { life: model.lives, generation: 1, ready: undefined, marked: false, revision: 0 }
  return commit(model, key, { ...given, ...born })
}

/** Replaces some of the fields; `read` is the object as the writer had read it. */
export const change = (
  model: Model,
  key: string,
  read: ModelObject | undefined,
  change: Partial<Pick<ModelObject, "host" | "tier" | "held" | "ready">>
): Answer => {
  const stored = now(model).get(key)
  if (stored === undefined) return "NotFound"
  if (read !== undefined && (read.life !== stored.life || read.revision !== stored.revision)) return "Conflict"
  const next = { ...stored, ...change }
  const isEqual = next.host === stored.host && next.tier === stored.tier && next.held === stored.held &&
    next.ready === stored.ready
  if (isEqual) return "unchanged"
  if (stored.marked && next.held && !stored.held) return "Invalid"
  if (stored.marked && !next.held) return commit(model, key, undefined)
  return commit(model, key, { ...next, generation: stored.generation + (next.host === stored.host ? 0 : 1) })
}

export const remove = (model: Model, key: string, read: ModelObject | undefined): Answer => {
  const stored = now(model).get(key)
  if (stored === undefined) return "NotFound"
  if (read !== undefined && (read.life !== stored.life || read.revision !== stored.revision)) return "Conflict"
  if (stored.marked) return "unchanged"
  if (!stored.held) return commit(model, key, undefined)
  return commit(model, key, { ...stored, marked: true, generation: stored.generation + 1 })
}

export type Filter = (key: string, object: ModelObject) => boolean

/** `Added east/a 12`, as a watch from one revision to another delivers them. */
export const events = (model: Model, from: number, to: number, filter: Filter): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (let r = from + 1; r <= to; r++) {
    const before = model.snapshots[r - 1] ?? new Map<string, ModelObject>()
    const after = model.snapshots[r] ?? new Map<string, ModelObject>()
    for (const key of new Set([...before.keys(), ...after.keys()])) {
      const was = before.get(key)
      const is = after.get(key)
      if (was === is) continue
      const did = was !== undefined && filter(key, was)
      const does = is !== undefined && filter(key, is)
      if (does) found.push(`${did ? "Modified" : "Added"} ${key} ${r}`)
      else if (did) found.push(`Deleted ${key} ${r}`)
    }
  }
  return found
}

/** In the order of bytes: the keys of the model are ASCII. */
export const keys = (snapshot: Snapshot, filter: Filter): ReadonlyArray<string> =>
  [...snapshot].filter(([key, object]) => filter(key, object)).map(([key]) => key).toSorted((a, b) => a < b ? -1 : 1)
