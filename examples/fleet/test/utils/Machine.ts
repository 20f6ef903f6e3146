/** The machine of a simulated world: it outlives every supervisor, and each of its calls is a point where faults happen. */
import { Sim } from "@setpoint/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import * as Stream from "effect/Stream"
import type { Identity, Launch } from "../../src/Kinds.ts"
import { type Mark, Processes, type Service } from "../../src/Processes.ts"
import { type Fake, World } from "./World.ts"

export class Machine extends Context.Service<Machine, {
  /** A supervisor begins. The one before has ended, since its process has. */
  readonly enter: Effect.Effect<Identity>
  readonly start: (by: Identity, name: string, mark: Mark, launch: Launch) => ReturnType<Service["start"]>
  readonly look: Service["look"]
  readonly find: Service["find"]
  readonly signal: Service["signal"]
  readonly probe: Service["probe"]
  /** As an operating system does, it tells a supervisor of the ends of its own children alone. */
  readonly endsOf: (supervisor: Identity) => Stream.Stream<string>
}>()("fleet/Machine") {}

export const machine = Sim.external(Machine, () => {
  const world = new World()
  const ends = new Map<Identity, PubSub.PubSub<string>>()
  const parents = new Map<number, Identity>()
  let entered = 0
  world.listeners.add(({ identity, name }: Fake) => {
    const parent = parents.get(identity.pid)
    const told = parent === undefined ? undefined : ends.get(parent)
    if (told !== undefined) PubSub.publishUnsafe(told, name)
  })
  return {
    world,
    enter: Effect.sync(() => {
      world.supervisors.length = 0
      return world.enter(`supervisor ${++entered}`)
    }),
    start: (by: Identity, name: string, mark: Mark, launch: Launch) =>
      Effect.tap(world.start(name, mark, launch), ({ pid }) => Effect.sync(() => void parents.set(pid, by))),
    look: (identity: Identity) => world.look(identity),
    find: (owner: string) => world.marked(owner),
    signal: (identity: Identity, signal: "SIGTERM" | "SIGKILL") => world.signal(identity, signal),
    probe: (port: number) => world.probe(port),
    endsOf: (supervisor: Identity) =>
      Stream.unwrap(Effect.map(PubSub.unbounded<string>(), (told) => {
        ends.set(supervisor, told)
        return Stream.fromPubSub(told)
      }))
  }
}, { reads: ["look", "find", "probe"] })

/** Processes as a supervisor sees them on that machine. */
export const processes: Layer.Layer<Processes, never, Machine> = Layer.effect(
  Processes,
  Effect.gen(function*() {
    const machine = yield* Machine
    const self = yield* machine.enter
    return Processes.of({
      self,
      start: (name, mark, launch) => machine.start(self, name, mark, launch),
      look: machine.look,
      find: machine.find,
      signal: machine.signal,
      probe: machine.probe,
      ends: machine.endsOf(self)
    })
  })
)
