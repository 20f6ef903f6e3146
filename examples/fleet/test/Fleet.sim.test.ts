/** The fleet in a simulated world: both reconcilers and the claim as in production, on a machine that is a fake. */
import { describe } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import { it } from "@setpoint/testing/SimTest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Claim from "../src/Claim.ts"
import * as Fleet from "../src/Fleet.ts"
import { Process, Service } from "../src/Kinds.ts"
import { machine, processes } from "./utils/Machine.ts"
import type { World } from "./utils/World.ts"

const supervisor = (options: Fleet.Options) =>
  Fleet.layer(options).pipe(Layer.provideMerge(Claim.layer), Layer.provide(processes))

const web = { name: "web" }
const declared = (version: string, replicas: number): Service["spec"] => ({
  command: "node",
  args: [version],
  env: {},
  stopTimeout: "5 seconds",
  replicas,
  ports: { from: 10, to: 19 },
  health: { path: "/", every: "20 seconds", timeout: "1 second", failures: 2 }
})
const declare = (version: string, replicas: number) =>
  Sim.create(Service, { metadata: web, spec: declared(version, replicas) })
const change = (version: string, replicas: number) =>
  Sim.edit(Service, web, () => ({ spec: declared(version, replicas) }))

const onMachine = (title: string, f: (world: World) => void) =>
  Sim.act(title, (world) => Effect.sync(() => f(world.external(machine).world)))

const living = (world: Sim.World) =>
  world.external(machine).world.living.map(({ launch, name }) => `${name} ${launch?.args.join()}`).toSorted()

const runs = (service: Service, world: Sim.World): boolean => {
  const { args, replicas } = service.spec
  const wanted = Array.from({ length: replicas }, (_, ordinal) => `${service.metadata.name}-${ordinal} ${args.join()}`)
  return living(world).join() === wanted.join() && world.list(Process).length === replicas
}

const common = {
  external: [machine],
  matches: runs,
  atRest: {
    "services say how many are ready": (world: Sim.World) =>
      world.list(Service).every(({ spec, status }) => status?.ready === spec.replicas)
  },
  always: {
    "no two processes of one name live": (world: Sim.World) => {
      const names = world.external(machine).world.living.map(({ name }) => name)
      return new Set(names).size === names.length
    },
    "a process that ends when it is asked to is not killed": (world: Sim.World) =>
      !world.external(machine).world.signals.some((signal) => signal.startsWith("SIGKILL"))
  },
  except: { P19: "each supervisor notes that it is the one that supervises now" },
  depth: 1,
  random: process.env["SETPOINT_NIGHTLY"] === "1" ? 1_000 : 10,
  seed: Number(process.env["SETPOINT_SEED"] ?? 1)
}

describe("a fleet", () => {
  it.sim("that is killed at any time is followed by one that adopts what runs", {
    ...common,
    controllers: supervisor({ leave: true }),
    workload: Sim.script([
      declare("v1", 2),
      change("v2", 1),
      onMachine("web-0 dies", (world) => world.named("web-0").forEach((fake) => world.end(fake, "signal SIGKILL")))
    ])
  }, 1_000_000)

  it.sim("leaves nothing behind of a service that is deleted", {
    ...common,
    controllers: supervisor({ leave: true }),
    workload: Sim.script([declare("v1", 2), Sim.remove(Service, web)]),
    atRest: {
      ...common.atRest,
      "nothing lives": (world) => living(world).length === 0 && world.list(Process).length === 0
    }
  }, 1_000_000)

  it.sim("ends its processes when it ends, and starts them again when it comes back", {
    ...common,
    controllers: supervisor({}),
    workload: Sim.script([declare("v1", 2), change("v2", 2)]),
    faults: ["stop", "restart", "kill", "kill-after"]
  }, 1_000_000)
})
