/**
 * One supervisor at a time: two over one state would each take the processes of the other for their own.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Store } from "setpoint"
import { Supervisor } from "./Kinds.ts"
import { Processes } from "./Processes.ts"

export class AlreadySupervised
  extends Schema.TaggedError<AlreadySupervised>()("AlreadySupervised", { pid: Schema.Int })
{
  override get message(): string {
    return `another supervisor (pid ${this.pid}) works on this state; end it first, or give another --state`
  }
}

const name = "supervisor"

/** Takes the state, unless the supervisor that has it lives. Of two that try at once, the store lets one through. */
const claim = Effect.gen(function*() {
  const processes = yield* Processes
  const spec = { identity: processes.self }
  const present = yield* Store.latest(Supervisor, { name }).pipe(
    Effect.catchReason("StoreError", "NotFound", () => Effect.undefined)
  )
  if (present === undefined) return yield* Store.create(Supervisor, { metadata: { name }, spec })
  const { identity } = present.spec
  const sight = yield* processes.look(identity)
  if (sight._tag === "Alive" && identity.pid !== processes.self.pid) {
    return yield* new AlreadySupervised({ pid: identity.pid })
  }
  return yield* Store.update(Supervisor, { ...present, spec })
})

/** Has the state as long as the Layer stands. One that was killed has it no longer, since it does not live. */
export const layer = Layer.effectDiscard(claim)
