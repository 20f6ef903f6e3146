/** How a write goes to the driver, and who hears of it. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type { Kind } from "../Kind.ts"
import * as Pass from "../Pass.ts"
import type { Any, Key, Raw } from "../Resource.ts"
import type { Revision } from "../Revision.ts"
import type * as StoreDriver from "../StoreDriver.ts"
import { make as storeError, type Reason, type StoreError, Unavailable } from "../StoreError.ts"
import * as ids from "./ids.ts"

/** Preconditions, and what the driver needs beside them. */
export interface Options {
  readonly uid?: string | undefined
  readonly revision?: Revision | undefined
  readonly dryRun?: boolean | undefined
  readonly admit?: ((raw: Raw) => Raw) | undefined
}

/** Sends writes with their id and fence, settles what is unknown, and tells the current pass. */
export const make = (store: string, driver: StoreDriver.Service) =>
<A extends Any>(
  fiber: Fiber.Fiber<unknown, unknown>,
  kind: Kind<A>,
  key: Key,
  write: StoreDriver.Write,
  options: Options
): Effect.Effect<StoreDriver.Written, StoreError> => {
  const { admit, dryRun, revision, uid } = options
  const writeId = ids.writeId(fiber.getRef(Random.Random))
  const fence = fiber.getRef(Pass.Fence)
  const sent = Effect.catchReason(
    driver.write(kind.address, write, { uid, revision, writeId, fence, dryRun, hasStatus: kind.hasStatus, admit }),
    "StoreError",
    "UnknownOutcome",
    (_, error) => driver.capabilities.writeIds ? settle(driver, kind, key, write, writeId, error) : Effect.fail(error)
  )
  const pass = fiber.getRef(Pass.Current)
  if (pass === undefined || dryRun === true) return sent
  return Effect.onExit(sent, (exit) => Effect.sync(() => tell(pass, store, kind.groupKind, key, revision, exit)))
}

/** Asks once what became of a write whose reply was lost. A delete's last state is lost with its reply. */
const settle = <A extends Any>(
  driver: StoreDriver.Service,
  kind: Kind<A>,
  key: Key,
  write: StoreDriver.Write,
  writeId: string,
  error: StoreError
): Effect.Effect<StoreDriver.Written, StoreError> => {
  const unknown = Effect.fail(error)
  return Effect.flatMap(Effect.catch(driver.outcome(writeId), () => unknown), (outcome) => {
    if (outcome === "notApplied") {
      return Effect.fail(failure(error.operation, kind, key, new Unavailable({ why: "the request was lost" })))
    }
    if (outcome === "forgotten" || write.op === "delete") return unknown
    const object = Effect.catch(driver.get(kind.address, key, mostRecent), () => unknown)
    return Effect.map(object, (object) => ({ object, changed: true, removed: false }))
  })
}

const tell = (
  pass: Pass.Pass,
  store: string,
  groupKind: string,
  key: Key,
  revision: Revision | undefined,
  exit: Exit.Exit<StoreDriver.Written, StoreError>
): void => {
  if (Exit.isSuccess(exit)) return pass.writes.acknowledged(store, groupKind, key, exit.value)
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (error === undefined || error.applied === "unknown") return pass.writes.unknown(store, groupKind, key)
  if (error.reason._tag === "Conflict") pass.writes.conflicted(store, groupKind, key, revision)
}

/** The error of a call about an object of a kind. */
export const failure = <A extends Any>(operation: string, kind: Kind<A>, key: Key, reason: Reason): StoreError =>
  storeError(
    { operation, kind: kind.groupKind, key: { namespace: String(key.namespace), name: String(key.name) } },
    reason
  )

const mostRecent: StoreDriver.ReadOptions = { consistency: "mostRecent" }
