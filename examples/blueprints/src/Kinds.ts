/**
 * The kinds that are known now: those of definitions, those of CustomResourceDefinitions in the store, and, for all
 * others, kinds without a schema.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { Kind, type Resource } from "setpoint"
import * as Crd from "./crd.ts"
import * as Names from "./names.ts"
import type { JsonSchema } from "./simpleSchema.ts"

export type AnyObject = Resource.Raw
export type ObjectKind = Kind.Kind<AnyObject>

export class Kinds extends Context.Service<Kinds, {
  /** Fails where the names are none of a kind. */
  readonly of: (apiVersion: string, kind: string) => Effect.Effect<ObjectKind, Kind.InvalidKind>
  readonly schemaOf: (groupKind: string) => JsonSchema | undefined
  readonly declare: (declared: Crd.Declared) => Effect.Effect<void, Kind.InvalidKind>
  readonly forget: (groupKind: string) => Effect.Effect<void>
}>()("blueprints/Kinds") {}

interface Known {
  readonly kind: ObjectKind
  readonly schema: JsonSchema | undefined
}

export const layer: Layer.Layer<Kinds> = Layer.sync(Kinds, () => {
  const known = new Map<string, Known>()
  return Kinds.of({
    of: (apiVersion, kind) =>
      Effect.suspend(() => {
        const found = known.get(Names.groupKind(apiVersion, kind))
        if (found !== undefined) return Effect.succeed(found.kind)
        const scope = Names.isClusterScoped(apiVersion, kind) ? "Cluster" : "Namespaced"
        const group = Names.groupOf(apiVersion)
        return Effect.fromResult(make(known, { group, version: Names.versionOf(apiVersion), kind, scope }, undefined))
      }),
    schemaOf: (groupKind) => known.get(groupKind)?.schema,
    declare: (declared) =>
      Effect.suspend(() => Effect.asVoid(Effect.fromResult(make(known, declared, declared.schema)))),
    forget: (groupKind) => Effect.sync(() => void known.delete(groupKind))
  })
})

const make = (
  known: Map<string, Known>,
  declared: Omit<Crd.Declared, "plural" | "schema"> & { readonly plural?: string | undefined },
  schema: JsonSchema | undefined
): Result.Result<ObjectKind, Kind.InvalidKind> =>
  Result.map(
    Kind.fromJsonSchema({ ...declared, schema: schema ?? Crd.anything, hasStatus: true }),
    (kind) => {
      known.set(kind.groupKind, { kind, schema })
      return kind
    }
  )
