/** YAML documents to objects in the store: definitions are compiled before, so that a wrong one is refused with its place. */
import type * as Manifest from "@setpoint/example-manifests"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { type Resource, Store } from "setpoint"
import * as Definition from "./definition.ts"
import { Kinds } from "./Kinds.ts"
import * as Names from "./names.ts"

/** What is wrong with a document, without asking the store. */
export const problems = (manifest: Manifest.Manifest): Effect.Effect<ReadonlyArray<Manifest.Problem>, never, Kinds> =>
  Effect.map(Kinds, (kinds) => {
    const { apiVersion, kind, metadata } = manifest.value
    if (typeof apiVersion !== "string") return [manifest.problem("apiVersion", "must be a text such as apps/v1")]
    if (typeof kind !== "string") return [manifest.problem("kind", "must be a text such as Deployment")]
    if (typeof metadata !== "object" || metadata === null) return [manifest.problem("metadata", "must be a mapping")]
    if (Names.groupKind(apiVersion, kind) !== "ResourceGraphDefinition.kro.run") return []
    const compiled = Definition.compile(manifest.value, kinds.schemaOf)
    return Result.isSuccess(compiled)
      ? []
      : compiled.failure.map(({ field, why }) => manifest.problem(field, why))
  })

/** Makes the objects of documents as they say: what an earlier document said and this one does not is taken away. */
export const apply = Effect.fn("Documents.apply")(function*(manifest: Manifest.Manifest, namespace?: string) {
  const { apiVersion, kind: name, metadata, ...fields } = manifest.value
  const kind = yield* Effect.flatMap(Kinds, (kinds) => kinds.of(String(apiVersion), String(name)))
  const given = metadata as Resource.MetadataInput
  const placed = kind.address.scope === "Cluster" ? {} : { namespace: given.namespace ?? namespace ?? "default" }
  return yield* Store.apply(kind, { ...fields, metadata: { ...given, ...placed } }, { manager: "documents" })
})
