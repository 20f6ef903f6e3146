/**
 * A driver whose watches can be held back, whose replies can be lost, and that counts what passes ask of it.
 */
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { MemoryStore, Pass, Store, StoreDriver, StoreError } from "setpoint"

const groupKind = (at: StoreDriver.KindAddress): string => (at.group === "" ? at.kind : `${at.kind}.${at.group}`)

export interface Gate {
  /** Reads that reached the store from inside a pass: `get Website default/blog`. */
  readonly reads: Array<string>
  /** Holds the watch events of a kind back, until {@link Gate.release}. */
  readonly hold: (kind: string) => void
  readonly release: (kind: string) => Effect.Effect<void>
  /** The reply of the next write of a kind is lost after it was applied. */
  readonly loseReply: (kind: string) => void
  /** Ends the watches of a kind with an error. */
  readonly breakWatches: (kind: string, reason: StoreError.Reason) => Effect.Effect<void>
  readonly driver: StoreDriver.Service
}

export const make = Effect.gen(function*() {
  const inner = yield* MemoryStore.make()
  const gates = new Map<string, Latch.Latch>()
  const lost = new Set<string>()
  const breakers = new Map<string, { latch: Latch.Latch; reason: StoreError.Reason }>()
  const reads: Array<string> = []
  const gateOf = (kind: string): Latch.Latch => {
    const known = gates.get(kind) ?? Latch.makeUnsafe(true)
    gates.set(kind, known)
    return known
  }
  const breakerOf = (kind: string) => {
    const known = breakers.get(kind) ?? {
      latch: Latch.makeUnsafe(false),
      reason: new StoreError.Unavailable({ why: "broken by the test" })
    }
    breakers.set(kind, known)
    return known
  }
  const note = (operation: string, kind: string, key: string) =>
    Effect.map(Pass.Current, (pass) => {
      if (pass !== undefined) reads.push(`${operation} ${kind} ${key}`)
    })
  const driver: StoreDriver.Service = {
    ...inner,
    get: (at, key, options) =>
      Effect.andThen(note("get", at.kind, `${key.namespace}/${key.name}`), inner.get(at, key, options)),
    list: (at, options) => Effect.andThen(note("list", at.kind, options.namespace ?? "*"), inner.list(at, options)),
    write: (at, write, options) =>
      Effect.gen(function*() {
        const written = yield* inner.write(at, write, options)
        if (lost.delete(at.kind)) {
          return yield* StoreError.make(
            { operation: write.op, kind: groupKind(at), key: { namespace: "", name: "" } },
            new StoreError.UnknownOutcome({ why: "lost by the test" })
          )
        }
        return written
      }),
    outcome: () => Effect.succeed("forgotten" as const),
    watch: (at, options) => {
      const breaker = breakerOf(at.kind)
      const subject = { operation: "watch", kind: groupKind(at), key: { namespace: "", name: "" } }
      return inner.watch(at, options).pipe(
        Stream.mapEffect((batch) => Effect.as(gateOf(at.kind).await, batch)),
        Stream.merge(Stream.fromEffect(Effect.andThen(
          breaker.latch.await,
          Effect.suspend(() => Effect.fail(StoreError.make(subject, breaker.reason)))
        )))
      )
    }
  }
  const gate: Gate = {
    reads,
    hold: (kind) => void gateOf(kind).closeUnsafe(),
    release: (kind) => Effect.asVoid(gateOf(kind).open),
    loseReply: (kind) => void lost.add(kind),
    breakWatches: (kind, reason) =>
      Effect.suspend(() => {
        const breaker = breakerOf(kind)
        breaker.reason = reason
        breakers.delete(kind)
        return Effect.asVoid(breaker.latch.open)
      }),
    driver
  }
  return gate
})

/** The Store over a gate's driver. */
export const layer = (gate: Gate): Layer.Layer<Store.Store> =>
  Layer.provide(Store.layer, Layer.succeed(StoreDriver.StoreDriver, gate.driver))
