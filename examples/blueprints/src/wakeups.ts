/** Which changes wake an instance: those of its own objects, and those of what its definition refers to. */
import * as Effect from "effect/Effect"
import { type Kind, Reconciler, type Resource, Store } from "setpoint"
import type { Definition } from "./definition.ts"
import { Kinds } from "./Kinds.ts"
import * as Names from "./names.ts"

export const of = Effect.fnUntraced(function*(definition: Definition) {
  const kinds = yield* Kinds
  const byName = new Map<string, { readonly kind: Kind.Kind<Resource.Raw>; isExternal: boolean }>()
  for (const { apiVersion, kind, source } of definition.nodes) {
    const found = yield* kinds.of(apiVersion, kind)
    const entry = byName.get(found.groupKind) ?? { kind: found, isExternal: false }
    entry.isExternal ||= source._tag !== "Own"
    byName.set(found.groupKind, entry)
  }
  return Array.from(byName.values(), ({ isExternal, kind }) =>
    Reconciler.watch(kind, (object) => {
      const own = instanceOf(definition, object)
      if (own !== undefined) return Effect.succeed([own])
      return isExternal ? everyInstance(definition) : Effect.succeed([])
    }, { optional: true }))
})

const instanceOf = (definition: Definition, { metadata }: Resource.Any) => {
  const labels = metadata.labels ?? {}
  const { group, kind } = definition.kind.address
  if (labels[Names.labels.instanceKind] !== kind || labels[Names.labels.instanceGroup] !== group) return undefined
  return { name: labels[Names.labels.instanceName], namespace: labels[Names.labels.instanceNamespace] }
}

const everyInstance = (definition: Definition) =>
  Effect.map(
    Store.list(definition.kind),
    ({ items }) => items.map(({ metadata: { name, namespace } }) => ({ name, namespace }))
  )
