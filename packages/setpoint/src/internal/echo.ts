/**
 * Echoes: what the engine itself says in the status of an object, where the kind declares the field.
 *
 * - `lastHandledReconcileAt`: the last value of the reconcile-now annotation that a pass has handled.
 * - `paused`: whether the paused annotation stops the object's passes.
 */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type { JsonObject } from "../Resource.ts"
import * as Ids from "./ids.ts"
import * as Inputs from "./inputs.ts"
import * as Registrations from "./registration.ts"

export const handledField = "lastHandledReconcileAt"
export const pausedField = "paused"

const statusValue = (request: Registrations.EngineRequest, field: string): unknown => {
  const status = Registrations.cached(request)?.["status"]
  return typeof status === "object" && status !== null ? Reflect.get(status, field) : undefined
}

/** Writes one field of status, if it is declared and has another value. A write that fails is logged: it is an echo. */
const echo = (
  request: Registrations.EngineRequest,
  field: string,
  value: string | boolean
): Effect.Effect<void> | undefined => {
  const { kind, store } = request.registration
  if (!kind.statusFields.includes(field)) return undefined
  const known = statusValue(request, field)
  if (known === value || (value === false && known === undefined)) return undefined
  const patch: JsonObject = { status: { [field]: value } }
  return Effect.gen(function*() {
    const { name, namespace } = request
    yield* store.driver.write(
      kind.address,
      { op: "patch", key: { namespace, name }, type: "merge", patch, subresource: "status" },
      { writeId: Ids.writeId(yield* Random.Random), hasStatus: true }
    )
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.logWarning(`${field} could not be written to the status of ${request.name}`, cause)
    )
  )
}

/** The value of the reconcile-now annotation, where the kind can say that it was handled. */
export const orderOf = (request: Registrations.EngineRequest): string | undefined =>
  request.registration.kind.statusFields.includes(handledField)
    ? Registrations.cached(request)?.metadata.annotations?.[Inputs.reconcileNowAnnotation]
    : undefined

/** After a pass that began when the annotation had this value, whatever caused it: nobody waits for an echo in vain. */
export const handled = (
  request: Registrations.EngineRequest,
  order: string | undefined
): Effect.Effect<void> | undefined => order === undefined ? undefined : echo(request, handledField, order)

/** Says whether the paused annotation stops the object: also after a start, where the status is from before. */
export const paused = (request: Registrations.EngineRequest, isPaused: boolean): Effect.Effect<void> | undefined =>
  echo(request, pausedField, isPaused)
