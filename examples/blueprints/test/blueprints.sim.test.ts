/** Definitions and their instances in a simulated world: the dynamic controller and all that it starts, as it runs in production. */
import { describe } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import { it } from "@setpoint/testing/SimTest"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { Controller, Kind, type Resource } from "setpoint"
import * as Blueprints from "../src/Blueprints.ts"
import * as Crd from "../src/crd.ts"
import { ResourceGraphDefinition } from "../src/DefinitionReconciler.ts"
import type { AnyObject } from "../src/Kinds.ts"

const kind = (group: string, kind: string) =>
  Result.getOrThrow(Kind.fromJsonSchema({ group, version: "v1", kind, schema: Crd.anything, hasStatus: true }))

const Garden = kind("example.dev", "Garden")
const ConfigMap = kind("", "ConfigMap")

const configMap = (id: string, data: Resource.JsonObject, more: Resource.JsonObject = {}): Resource.JsonObject => ({
  id,
  template: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `\${schema.metadata.name}-${id}` }, data },
  ...more
})

/** A garden has a bed, a label made of the bed, and a fence where one is asked for. */
const spec: Resource.JsonObject = {
  schema: {
    apiVersion: "v1",
    group: "example.dev",
    kind: "Garden",
    spec: { plant: "string", fenced: "boolean | default=false" },
    status: { label: "${label.data.text}" }
  },
  resources: [
    configMap("bed", { plant: "${schema.spec.plant}" }),
    configMap("label", { text: "${bed.data.plant}!" }),
    configMap("fence", { around: "${label.metadata.name}" }, { includeWhen: ["${schema.spec.fenced}"] })
  ]
}

const gardens = { name: "gardens" }
const west = { name: "west" }

const define = Sim.create(ResourceGraphDefinition, { metadata: gardens, spec })
const plant = Sim.create<AnyObject>(Garden, { metadata: west, spec: { plant: "moss", fenced: true } })
const replant = Sim.edit<AnyObject>(Garden, west, () => ({ spec: { plant: "fern", fenced: false } }))

const text = (object: AnyObject | undefined, ...path: ReadonlyArray<string>) =>
  path.reduce<unknown>((value, key) => Object(value)[key], object)

const made = (garden: AnyObject, world: Sim.World, id: string) => world.get(ConfigMap, `${garden.metadata.name}-${id}`)

/** What both definitions make. */
const hasBed = (garden: AnyObject, world: Sim.World): boolean => {
  const { plant } = garden["spec"] as { readonly plant: string }
  return text(made(garden, world, "bed"), "data", "plant") === plant &&
    text(made(garden, world, "label"), "data", "text") === `${plant}!` &&
    text(garden, "status", "label") === `${plant}!`
}

const isAsDefined = (garden: AnyObject, world: Sim.World): boolean => {
  const { fenced } = garden["spec"] as { readonly fenced?: boolean }
  return hasBed(garden, world) && (made(garden, world, "fence") !== undefined) === (fenced === true)
}

/** Another bed, and no fence any more, whatever gardens ask for. */
const redefine = Sim.edit(ResourceGraphDefinition, gardens, () => ({
  spec: {
    ...spec,
    resources: [
      configMap("bed", { plant: "${schema.spec.plant}", soil: "peat" }),
      configMap("label", { text: "${bed.data.plant}!" })
    ]
  }
}))

const controllers = Blueprints.layer.pipe(Layer.provide(Controller.layer()))

const isNightly = process.env["SETPOINT_NIGHTLY"] === "1"
const effort = { depth: 1, random: isNightly ? 2_000 : 10, seed: Number(process.env["SETPOINT_SEED"] ?? 1) }

describe("blueprints", () => {
  it.sim("a garden is as its definition makes it, whatever happens on the way", {
    controllers,
    workload: Sim.script([define, plant, replant]),
    matches: (object, world) => object.kind !== "Garden" || isAsDefined(object as AnyObject, world),
    ...effort
  }, 1_000_000)

  it.sim("a garden that is made before its definition is known, by two processes, is there and stays", {
    controllers,
    workload: Sim.script([Sim.soon(define), Sim.soon(plant), replant]),
    matches: (object, world) => object.kind !== "Garden" || isAsDefined(object as AnyObject, world),
    faults: ["overlap", "delete", "restart", "stop", "kill-after", "lose", "behind", "rival"],
    tokens: [
      // A pass that failed was woken at once by its own watch, which the next one opened anew: at full speed.
      "world/step/1=overlap,ctl/Garden.example.dev/west/1/patch:Garden/west#2=rival,ctl@2/Garden.example.dev/west/1/apply:ConfigMap/west-bed=lose"
    ],
    ...effort
  }, 1_000_000)

  it.sim("a definition that changes takes away what it no longer makes, and goes after its last garden", {
    controllers,
    workload: Sim.script([
      define,
      plant,
      redefine,
      Sim.remove(ResourceGraphDefinition, gardens),
      Sim.remove(Garden, west)
    ]),
    matches: (object, world) => object.kind !== "Garden" || hasBed(object as AnyObject, world),
    never: {
      // One that goes before it was ever taken up has no finalizer yet: nobody can hold it.
      "a definition that was taken up went before its garden": (world, { before, object, type }) =>
        type === "removed" && object.kind === "ResourceGraphDefinition" && world.list(Garden).length > 0 &&
        (before?.metadata.finalizers ?? []).length > 0
    },
    atRest: {
      "nothing is left": (world) =>
        [Garden, ConfigMap].every((kind) => world.list(kind).length === 0) &&
        world.list(ResourceGraphDefinition).length === 0
    },
    tokens: [
      // The process stood still, and the definition went before it was taken up.
      "workload=[[1],[2],[3],[4,5000],[5]],ctl/resourcegraphdefinitions/gardens/1/patch:ResourceGraphDefinition/gardens=pause",
      // A cache was behind: it had no garden yet, and the definition went.
      "workload=[[1],[2],[3,15],[4,100],[5]],ctl/informer/Garden.example.dev/event:Garden/west=late"
    ],
    ...effort
  }, 1_000_000)
})
