/**
 * The part of an API server that the example needs: CustomResourceDefinitions in the store become known kinds, and are
 * told that they are established.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Controller, Reconciler, Store } from "setpoint"
import * as Crd from "./crd.ts"
import { Kinds } from "./Kinds.ts"
import * as Names from "./names.ts"

export const layer = Layer.effectDiscard(Effect.gen(function*() {
  const controller = yield* Controller.Controller
  const kinds = yield* Kinds
  const kind = yield* kinds.of(Crd.apiVersion, Crd.kind)
  yield* controller.register(Reconciler.make(kind, {
    reconcile: Effect.fnUntraced(function*(request) {
      const object = yield* Store.get(kind, request)
      const declared = Crd.declared(object)
      if (declared === undefined) return
      // What a definition made is declared by the definition itself, which may be newer.
      const isMade = object.metadata.labels?.[Names.labels.definition] !== undefined
      if (!isMade) yield* kinds.declare(declared)
      yield* Store.updateStatus(kind, object, Crd.established(object))
    })
  }))
}))
