/** What writes do to the tables. Each runs in a commit; where it refuses, it has changed nothing. */
import * as Result from "effect/Result"
import type { Raw } from "setpoint/Resource"
import type * as Driver from "setpoint/StoreDriver"
import { Conflict, Invalid, type Reason } from "setpoint/StoreError"
import * as StoreRules from "setpoint/StoreRules"
import * as Parsed from "./parsed.ts"
import type { Statements } from "./statements.ts"
import {
  endAll,
  ensureKind,
  imported,
  kindOf,
  type KindRow,
  newest,
  present,
  revisionOf,
  type State,
  textOf
} from "./tables.ts"

export const fence = (state: State, lease: string, epoch: number): Result.Result<void, Reason> => {
  const row = state.sql.fence.get(lease)
  const highest = row === undefined ? undefined : Number(row.epoch)
  const refused = StoreRules.fenced(lease, epoch, highest)
  if (refused !== undefined) return Result.fail(refused)
  if (highest !== epoch) state.sql.setFence.run(lease, epoch)
  return Result.succeed(undefined)
}

/** What a write needs of the world. */
export interface Given {
  readonly nowText: string
  /** Called for writes that create an object. */
  readonly uid: () => string
}

export const write = (
  state: State,
  at: Driver.KindAddress,
  write: Driver.Write,
  options: Driver.WriteOptions,
  given: Given
): Result.Result<Driver.Written, Reason> => {
  const fenced = options.fence === undefined ? undefined : fence(state, options.fence.lease, options.fence.epoch)
  if (fenced !== undefined && Result.isFailure(fenced)) return Result.fail(fenced.failure)
  const key = StoreRules.keyOf(write)
  const text = textOf(key)
  const kind = kindOf(state, at)
  const previous = kind === undefined ? undefined : revisionOf(state, kind, text)
  const stored = previous === undefined ? undefined : present(state, previous)
  if (stored === undefined && write.op !== "create") {
    const flaws = StoreRules.checkKey(at, key)
    if (flaws.length > 0) return Result.fail(new Invalid({ fields: flaws }))
  }
  const revision = newest(state).revision + 1
  const decision = StoreRules.decide(stored, write, options, {
    at,
    nowText: given.nowText,
    uid: stored === undefined && (write.op === "create" || write.op === "apply") ? given.uid() : "",
    revision: String(revision),
    maxObjectBytes: state.options.maxObjectBytes,
    freeze: state.options.freeze
  })
  const { dryRun, writeId } = options
  switch (decision._tag) {
    case "Refused":
      return Result.fail(decision.reason)
    case "Unchanged":
      return Result.succeed({ object: decision.object, changed: false, removed: false })
    case "Put":
      if (dryRun !== true) put(state, ensureKind(state, at), text, previous, stored, decision.object, revision, writeId)
      return Result.succeed({ object: decision.object, changed: true, removed: false })
    case "Remove":
      if (dryRun !== true && stored !== undefined && previous !== undefined) {
        remove(state, ensureKind(state, at), text, previous, stored, decision.last, revision, writeId)
      }
      return Result.succeed({ object: decision.last, changed: true, removed: true })
  }
}

const put = (
  { parsed, pending, sql }: State,
  kind: KindRow,
  key: string,
  previous: number | undefined,
  before: Raw | undefined,
  after: Raw,
  revision: number,
  writeId: string
): void => {
  const text = JSON.stringify(after)
  sql.addVersion.run(revision, kind.id, key, writeId, previous ?? null, 0, text)
  if (previous === undefined) sql.addObject.run(kind.id, key, revision)
  else sql.setObject.run(revision, kind.id, key)
  index(sql, kind, key, before, after)
  Parsed.set(parsed, revision, after, text.length)
  pending.push({ kind: kind.name, before, after, last: undefined, revision, writeId })
}

const remove = (
  { pending, sql }: State,
  kind: KindRow,
  key: string,
  previous: number,
  before: Raw,
  last: Raw,
  revision: number,
  writeId: string
): void => {
  sql.addVersion.run(revision, kind.id, key, writeId, previous, 1, last === before ? null : JSON.stringify(last))
  sql.removeObject.run(kind.id, key)
  index(sql, kind, key, before, undefined)
  pending.push({ kind: kind.name, before, after: undefined, last, revision, writeId })
}

/** Keeps the indexes of labels and owners. What did not change kept its identity. */
const index = (
  sql: Statements,
  { id }: KindRow,
  key: string,
  before: Raw | undefined,
  after: Raw | undefined
): void => {
  const labels = after?.metadata.labels
  const oldLabels = before?.metadata.labels
  if (labels !== oldLabels) {
    for (const [label, value] of Object.entries(oldLabels ?? {})) sql.removeLabel.run(id, label, value, key)
    for (const [label, value] of Object.entries(labels ?? {})) sql.addLabel.run(id, label, value, key)
  }
  const owners = after?.metadata.ownerReferences
  const oldOwners = before?.metadata.ownerReferences
  if (owners !== oldOwners) {
    for (const { uid } of oldOwners ?? []) sql.removeOwner.run(id, uid, key)
    for (const { uid } of owners ?? []) sql.addOwner.run(id, uid, key)
  }
}

/**
 * Takes exported objects into an empty store, all or none: each gets a new revision, in the old order, in a new timeline
 * (S5). `gap` is random, at least 1: the new revisions begin so far above the old ones that no revision of the old
 * timeline fits an object of the new one.
 */
export const importAll = (
  state: State,
  inputs: ReadonlyArray<unknown>,
  given: { readonly birthId: string; readonly gap: number; readonly writeId: () => string }
): Result.Result<void, Reason> => {
  if (state.sql.hasObjects.get() !== undefined) {
    return Result.fail(new Conflict({ why: "the store has objects; import into an empty one" }))
  }
  const read = StoreRules.importAll(inputs, state.options)
  if (Result.isFailure(read)) return Result.fail(read.failure)
  const birth = Math.max(newest(state).revision, read.success.highest) + given.gap
  endAll(state, imported())
  state.sql.removeVersions.run()
  state.sql.setTimeline.run(birth, given.birthId, birth)
  state.birth = { revision: birth, writeId: given.birthId }
  state.floor = birth
  state.latest = state.birth
  state.pending = []
  for (const [i, { at, key, object }] of read.success.objects.entries()) {
    const revision = birth + 1 + i
    const next: Raw = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } }
    if (state.options.freeze) Object.freeze(Object.freeze(next).metadata)
    const writeId = given.writeId()
    put(state, ensureKind(state, at), textOf(key), undefined, undefined, next, revision, writeId)
  }
  return Result.succeed(undefined)
}
