/** A stand-in until MemoryStore is there: one object, its revision, uid and finalizers. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Kind } from "setpoint/Kind"
import type * as Resource from "setpoint/Resource"
import { type Service, Store } from "setpoint/Store"
import * as StoreError from "setpoint/StoreError"

const make = (): Pick<Service, "create" | "latest" | "patch" | "delete"> => {
  let revision = 0
  let lives = 0
  let current: Resource.Any | undefined
  const fail = (kind: Kind<never>, name: string, reason: StoreError.Reason) =>
    Effect.fail(
      StoreError.make({ operation: "test", kind: kind.groupKind, key: { namespace: "default", name } }, reason)
    )
  const put = (object: Resource.Any, metadata: object): Resource.Any => {
    const next = { ...object, metadata: { ...object.metadata, ...metadata, resourceVersion: String(++revision) } }
    const gone = next.metadata.deletionTimestamp !== undefined && (next.metadata.finalizers ?? []).length === 0
    current = gone ? undefined : next
    return next
  }
  return {
    create: (kind, input) =>
      Effect.sync(() =>
        put({ ...input, apiVersion: kind.apiVersion, kind: kind.address.kind } as never, {
          uid: `life-${++lives}`,
          namespace: "default"
        }) as never
      ),
    latest: (kind, key) =>
      Effect.suspend(() =>
        current === undefined
          ? fail(kind as never, key.name, new StoreError.NotFound())
          : Effect.succeed(current as never)
      ),
    patch: (kind, object, patch) =>
      Effect.suspend(() => {
        const { name, resourceVersion, uid } = object.metadata
        if (current === undefined) return fail(kind as never, name, new StoreError.NotFound())
        if (current.metadata.uid !== uid || current.metadata.resourceVersion !== resourceVersion) {
          return fail(kind as never, name, new StoreError.Conflict({ why: "stale" }))
        }
        return Effect.succeed(put(current, (patch as { merge: { metadata: object } }).merge.metadata) as never)
      }),
    delete: (_, object) =>
      Effect.sync(() => ({
        object: put(object, { deletionTimestamp: "2026-01-01T00:00:00Z" }) as never,
        removed: current === undefined
      }))
  }
}

export const layer = Layer.effect(Store, Effect.sync(() => make() as Service))
