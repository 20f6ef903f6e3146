/**
 * Requests: what a reconciler is asked to reconcile. A key, never an object: a pass reads the world anew.
 *
 * @since 0.1.0
 */
import { type KeyInput, keyText } from "./Resource.ts"

/**
 * The object to reconcile: `kind` is `Kind.group` without a version (`Website.example.dev`), `namespace` is `""` for
 * cluster kinds, `store` is the name of the store the registration belongs to.
 *
 * The engine interns requests, one a live key of a registration, so within a registration they compare by identity.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  readonly store: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/**
 * Which object of the registration's own kind shall be reconciled: what mapping functions return and what
 * `Controller.enqueue` takes.
 *
 * @category models
 * @since 0.1.0
 */
export type Target = KeyInput

/**
 * `Website.example.dev default/blog`: for logs, spans and messages.
 *
 * @category getters
 * @since 0.1.0
 */
export const text = (request: Request): string => `${request.kind} ${keyText(request)}`
