/**
 * Health: whether the process is live, whether it is ready, and why not, a part.
 *
 * Parts of the engine (an informer of a kind, a registration, a collector) contribute how they are for as long as their
 * Scope lives. They are asked when somebody looks, and cost nothing otherwise.
 *
 * - *live*: no part is broken for good. A process that is not live should be started anew.
 * - *ready*: every part that is not optional works. A kind that cannot sync makes the process not ready, and no more
 *   than that: it fails alone (E4).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

/**
 * How a part is. `NotReady` may pass; `Broken` does not pass without a new start.
 *
 * @category models
 * @since 0.1.0
 */
export type Status =
  | { readonly _tag: "Ready" }
  | { readonly _tag: "NotReady"; readonly why: string }
  | { readonly _tag: "Broken"; readonly why: string }

/**
 * @category constructors
 * @since 0.1.0
 */
export const ready: Status = { _tag: "Ready" }

/**
 * Not yet, or not at the moment: `why` is for the person who looks.
 *
 * @category constructors
 * @since 0.1.0
 */
export const notReady = (why: string): Status => ({ _tag: "NotReady", why })

/**
 * For good: only a new start can help.
 *
 * @category constructors
 * @since 0.1.0
 */
export const broken = (why: string): Status => ({ _tag: "Broken", why })

/**
 * A part of the engine, or of yours.
 *
 * @category models
 * @since 0.1.0
 */
export interface Part {
  /** `informer Website.example.dev`, `collector`, … A later part of the same name takes the place of an earlier. */
  readonly name: string
  /** The kind that it serves, as `Website.example.dev`. Default: none. */
  readonly kind?: string | undefined
  /** Whether readiness goes without it. Default `false`. */
  readonly optional?: boolean | undefined
  /** How it is now. Asked when somebody looks: fast, and without effects. */
  readonly status: () => Status
}

/**
 * What {@link report} says of one part.
 *
 * @category models
 * @since 0.1.0
 */
export interface PartReport {
  readonly name: string
  readonly kind: string | undefined
  readonly optional: boolean
  readonly status: Status
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Report {
  readonly live: boolean
  readonly ready: boolean
  /** By name. */
  readonly parts: ReadonlyArray<PartReport>
}

/**
 * @category services
 * @since 0.1.0
 */
export class Health extends Context.Service<Health, {
  readonly register: (part: Part) => Effect.Effect<void, never, Scope.Scope>
  readonly report: Effect.Effect<Report>
}>()("setpoint/Health") {}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Health> = Layer.sync(Health, () => {
  const parts = new Map<string, Part>()
  return Health.of({
    register: (part) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          parts.set(part.name, part)
        }),
        () =>
          Effect.sync(() => {
            if (parts.get(part.name) === part) parts.delete(part.name)
          })
      ),
    report: Effect.sync(() => reportOf(parts.values()))
  })
})

const reportOf = (all: Iterable<Part>): Report => {
  const parts = Array.from(all, (part): PartReport => ({
    name: part.name,
    kind: part.kind,
    optional: part.optional ?? false,
    status: part.status()
  })).toSorted((a, b) => a.name < b.name ? -1 : 1)
  return {
    live: parts.every((part) => part.status._tag !== "Broken"),
    ready: parts.every((part) => part.optional || part.status._tag === "Ready"),
    parts
  }
}

/**
 * Contributes a part until the Scope closes.
 *
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import { Health } from "setpoint"
 *
 * export const program = Effect.gen(function*() {
 *   let connected = false
 *   yield* Health.register({
 *     name: "database",
 *     status: () => connected ? Health.ready : Health.notReady("no connection yet")
 *   })
 *   connected = true
 *   return yield* Health.isReady // true
 * })
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const register = (part: Part): Effect.Effect<void, never, Health | Scope.Scope> =>
  Effect.flatMap(Health, (health) => health.register(part))

/**
 * How every part is, and what that means for the whole.
 *
 * @category getters
 * @since 0.1.0
 */
export const report: Effect.Effect<Report, never, Health> = Effect.flatMap(Health, (health) => health.report)

/**
 * Whether no part is broken.
 *
 * @category getters
 * @since 0.1.0
 */
export const isLive: Effect.Effect<boolean, never, Health> = Effect.map(report, (report) => report.live)

/**
 * Whether every part that is not optional works.
 *
 * @category getters
 * @since 0.1.0
 */
export const isReady: Effect.Effect<boolean, never, Health> = Effect.map(report, (report) => report.ready)

/**
 * The report as text, a line a part, what is wrong first: for a probe's answer and for people.
 *
 * @category getters
 * @since 0.1.0
 */
export const text = (report: Report): string => {
  const line = ({ name, optional, status }: PartReport): string =>
    `${status._tag === "Ready" ? "[+]" : "[-]"} ${name}${optional ? " (optional)" : ""}` +
    (status._tag === "Ready" ? "" : `: ${status.why}`)
  const wrong = report.parts.filter((part) => part.status._tag !== "Ready")
  const right = report.parts.filter((part) => part.status._tag === "Ready")
  return [
    `live: ${report.live ? "yes" : "no"}, ready: ${report.ready ? "yes" : "no"}`,
    ...[...wrong, ...right].map(line)
  ].join("\n")
}
