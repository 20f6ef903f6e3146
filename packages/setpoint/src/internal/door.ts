/**
 * The door between typed objects and stored ones: decoding at most once a revision, encoding with defaults filled in,
 * and keeping what a Schema does not know (S13). No Effect, no clock.
 */
import * as Result from "effect/Result"
import type { Kind, Status } from "../Kind.ts"
import type { Any, Metadata, Raw } from "../Resource.ts"
import { type DecodeError, Invalid } from "../StoreError.ts"
import * as conditions from "./conditions.ts"
import { freezePlain } from "./freeze.ts"
import { isObject, type Json, type JsonObject } from "./json.ts"
import { retain } from "./retain.ts"

/** What an object was decoded to, as which kind; `next` where it was read as another version of its kind too. */
interface Memo {
  readonly raw: Raw
  readonly kind: object
  readonly result: Result.Result<unknown, DecodeError>
  readonly next: Memo | undefined
}

/**
 * Memos of one store, by metadata: what a caller keeps of an object when the rest of it is changed. In many small maps by
 * uid, since a WeakMap that grows enters all its keys anew: with a million in one, nothing else runs for 70 ms.
 */
export interface Door {
  readonly memos: Array<WeakMap<object, Memo> | undefined>
}

const shards = 64

export const make = (): Door => ({ memos: Array.from({ length: shards }, () => undefined) })

const memosOf = (self: Door, { uid }: Metadata): WeakMap<object, Memo> => {
  const { length } = uid
  const shard = (31 * uid.charCodeAt(length - 2) + uid.charCodeAt(length - 1)) % shards || 0
  return self.memos[shard] ??= new WeakMap()
}

/** The typed object of a stored one: the same one each time. */
export const decode = <A extends Any>(self: Door, kind: Kind<A>, raw: Raw): Result.Result<A, DecodeError> => {
  const memos = memosOf(self, raw.metadata)
  const known = memos.get(raw.metadata)
  const same = known?.raw === raw ? known : undefined
  for (let memo = same; memo !== undefined; memo = memo.next) {
    if (memo.kind === kind) return memo.result as Result.Result<A, DecodeError> // put there below, for this kind
  }
  const result = kind.decode(raw)
  if (Result.isSuccess(result) && !kind.plain && Object.isFrozen(raw)) freezePlain(result.success)
  memos.set(raw.metadata, { raw, kind, result, next: same })
  return result
}

/** The stored object that a typed one was read as, where it still carries that one's metadata. */
export const baseOf = (self: Door, object: Any): Raw | undefined => {
  for (let memo = memosOf(self, object.metadata).get(object.metadata); memo !== undefined; memo = memo.next) {
    if (Result.isSuccess(memo.result)) return memo.raw
  }
  return undefined
}

/** A typed object in stored form, with the Schema's defaults, and with what `base` has beyond the Schema. */
export const encode = <A extends Any>(
  self: Door,
  kind: Kind<A>,
  object: A,
  base: Raw | undefined
): Result.Result<Raw, Invalid> => Result.flatMap(encodeKnown(kind, object), (mine) => retained(self, kind, mine, base))

/** What an applier sets: without the defaults that the Schema would fill in, which nobody owns (S11). */
export const encodeApplied = <A extends Any>(kind: Kind<A>, object: A): Result.Result<Raw, Invalid> =>
  kind.encodeSparse(withoutUndefinedStatus(kind, object))

/** The same with another status, stamped: times, generations. */
export const encodeStatus = <A extends Any>(
  self: Door,
  kind: Kind<A>,
  object: A,
  status: Status<A>,
  base: Raw | undefined,
  nowText: string
): Result.Result<Raw, Invalid> =>
  Result.flatMap(kind.encode({ ...object, status }), (encoded) => {
    if (encoded.status === undefined) return Result.succeed(encoded)
    const old = json(base ?? encoded).status
    const stamped = conditions.stampStatus(
      base === undefined ? undefined : old,
      json(encoded).status,
      nowText,
      object.metadata.generation
    )
    return Result.flatMap(normalized(kind, { ...encoded, status: stamped }), (mine) => retained(self, kind, mine, base))
  })

/** What a patch or an apply made of a stored object, with defaults; fields that the Schema does not know stay. */
export const admit = <A extends Any>(kind: Kind<A>, raw: Raw): Result.Result<Raw, Invalid> =>
  Result.map(normalized(kind, raw), (mine) => merged(mine, mine, raw))

const encodeKnown = <A extends Any>(kind: Kind<A>, object: A): Result.Result<Raw, Invalid> => {
  const encoded = kind.encode(withoutUndefinedStatus(kind, object))
  return kind.plain ? encoded : Result.flatMap(encoded, (raw) => normalized(kind, raw))
}

/** `status: undefined` is no status. */
const withoutUndefinedStatus = <A extends Any>(kind: Kind<A>, object: A): A => {
  if (!kind.hasStatus || !("status" in object) || object.status !== undefined) return object
  const { status: _, ...rest } = object
  return rest as unknown as A // status is optional wherever it is declared
}

/** What a stored object is after defaulting and conversion (S2). */
const normalized = <A extends Any>(kind: Kind<A>, raw: Raw): Result.Result<Raw, Invalid> =>
  Result.flatMap(
    Result.mapError(kind.decode(raw), (error) => new Invalid({ fields: error.fields })),
    (object) => kind.encode(object)
  )

const retained = <A extends Any>(
  self: Door,
  kind: Kind<A>,
  mine: Raw,
  base: Raw | undefined
): Result.Result<Raw, Invalid> => {
  if (base === undefined) return Result.succeed(mine)
  const typed = decode(self, kind, base)
  if (Result.isFailure(typed)) return Result.succeed(mine)
  return Result.map(encodeKnown(kind, typed.success), (known) => merged(mine, known, base))
}

/** Metadata has no Schema: the caller's is taken as it is. */
const merged = (mine: Raw, known: Raw, raw: Raw): Raw => {
  const { metadata: ofMine, ...fields } = mine
  const { metadata: _, ...knownFields } = known
  const { metadata: __, ...rawFields } = raw
  const all = retain(fields as unknown as Json, knownFields as unknown as Json, rawFields as unknown as Json)
  return { ...(isObject(all) ? all : {}), apiVersion: mine.apiVersion, kind: mine.kind, metadata: ofMine }
}

/** An encoded object is JSON. */
const json = (raw: Raw): JsonObject => raw as unknown as JsonObject
