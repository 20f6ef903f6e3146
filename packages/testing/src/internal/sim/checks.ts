/** What must hold, whatever happened: each check reads the world and names the first thing that is wrong. */
import { MemoryStore, Resource } from "setpoint"
import { rivalAnnotation } from "./driver.ts"
import type { Change } from "./story.ts"
import * as World from "./world.ts"

// ---------------------------------------------------------------------------------------------------------------------
// at each change
// ---------------------------------------------------------------------------------------------------------------------

/** P6 and P8, after every change. */
export const onChange = (world: World.World, change: Change): void => {
  for (const [name, breaks] of Object.entries(world.spec.never)) {
    const broke = guarded(world, `never "${name}"`, () => breaks(world.view, change))
    if (broke === true) World.violate(world, "P6", `never: ${name}`)
  }
  always(world)
  observedGeneration(world, change)
  if (world.spec.matches !== undefined && !world.wasUnmatched) {
    world.wasUnmatched = guarded(world, "matches", () => unmatched(world)) !== undefined
  }
}

/** P6, also where nothing changed but what is outside of the store. */
export const always = (world: World.World): void => {
  for (const [name, holds] of Object.entries(world.spec.always)) {
    const held = guarded(world, `always "${name}"`, () => holds(world.view))
    if (held === false) World.violate(world, "P6", `it does not always hold: ${name}`)
  }
}

/** A predicate of the user's that throws is the test's own fault, and said so. */
const guarded = <A>(world: World.World, what: string, f: () => A): A | undefined => {
  try {
    return f()
  } catch (error) {
    World.violate(world, "input", `${what} threw: ${String(error)}`)
    return undefined
  }
}

const observedGenerationOf = (object: Resource.Raw): number | undefined => {
  const { status } = object
  if (typeof status !== "object" || status === null || !("observedGeneration" in status)) return undefined
  return typeof status.observedGeneration === "number" ? status.observedGeneration : undefined
}

/** P8: never falls, never above the generation. */
const observedGeneration = (world: World.World, { object, type }: Change): void => {
  const observed = observedGenerationOf(object)
  if (observed === undefined || type === "removed") return
  const before = world.observed.get(object.metadata.uid)
  const about = `observedGeneration of ${object.kind} ${World.keyText(object)}`
  if (before !== undefined && observed < before) {
    World.violate(world, "P8", `${about} fell from ${before} to ${observed}`)
  }
  if (observed > (object.metadata.generation ?? observed)) {
    World.violate(world, "P8", `${about} is ${observed}, above its generation ${object.metadata.generation}`)
  }
  world.observed.set(object.metadata.uid, observed)
}

// ---------------------------------------------------------------------------------------------------------------------
// at rest
// ---------------------------------------------------------------------------------------------------------------------

/** Once faults and users have stopped, and nothing is left to do. `plain`: how the plain run ended, where it is known. */
export const atRest = (world: World.World, plain: string | undefined): void => {
  endlessPasses(world)
  noLostWakeUp(world)
  nothingLeaks(world)
  converged(world, plain)
  for (const object of objects(world)) {
    const observed = observedGenerationOf(object)
    if (observed === undefined || observed === object.metadata.generation) continue
    const about = `observedGeneration of ${object.kind} ${World.keyText(object)}`
    World.violate(world, "P8", `${about} stays at ${observed}, its generation is ${object.metadata.generation}`)
  }
}

/** A pass that nothing in the world will ever wake. */
const endlessPasses = (world: World.World): void => {
  for (const [name, pass] of world.running) {
    const key = name.slice(name.indexOf(" ") + 1)
    const calls = pass.calls === 0 ? "before its first call" : `after its call ${pass.calls}`
    World.violate(
      world,
      "leak",
      `pass ${pass.number} of ${key} never ended: ${calls} it waits for what the simulator does not run ` +
        "(a promise, a real timer, native I/O), or for ever"
    )
  }
}

/** P11: what others wanted last was seen by a pass that began after it. */
const noLostWakeUp = (world: World.World): void => {
  for (const object of objects(world)) {
    const about = `${object.kind}/${World.keyText(object)}`
    const wanted = world.wanted.get(about)
    const started = [...world.started].filter(([key]) => key.endsWith(` ${about}`)).map(([, at]) => at)
    if (wanted === undefined || started.length === 0 || Math.max(...started) >= wanted) continue
    World.violate(world, "P11", `${object.kind} ${World.keyText(object)} changed, and no pass began after it`)
  }
}

/** P1 where there is a predicate, else P2: the same end as the plain run's. */
const converged = (world: World.World, plain: string | undefined): void => {
  for (const [name, holds] of Object.entries(world.spec.atRest)) {
    if (guarded(world, `atRest "${name}"`, () => holds(world.view)) === false) {
      World.violate(world, "P1", `at rest it does not hold: ${name}`)
    }
  }
  if (world.spec.matches !== undefined) {
    const object = guarded(world, "matches", () => unmatched(world))
    if (object !== undefined) {
      World.violate(world, "P1", `${object.kind} ${World.keyText(object)} came to rest, and does not match`)
    }
  } else if (plain !== undefined) {
    const end = endState(world)
    if (end !== plain) World.violate(world, "P2", `another end than without deviations: ${difference(plain, end)}`)
  }
}

/** An object of the workload that does not match, of those that nobody wants gone. */
const unmatched = (world: World.World): Resource.Any | undefined => {
  const { kinds, matches } = world.spec
  if (matches === undefined) return undefined
  const kindNames = new Set(kinds.map(({ groupKind }) => groupKind))
  for (const kind of kinds) {
    if (!kindNames.has(kind.groupKind)) continue
    for (const raw of objects(world)) {
      if (raw.kind !== kind.address.kind || Resource.isMarkedForDeletion(raw)) continue
      const object = kind.decode(raw)
      if (object._tag === "Success" && !matches(object.success, world.view)) return object.success
    }
  }
  return undefined
}

/** P4: nothing that is owned outlives its owners, and nothing waits for ever to be deleted. */
const nothingLeaks = (world: World.World): void => {
  const uids = new Set(objects(world).map(({ metadata }) => metadata.uid))
  for (const object of objects(world)) {
    const owners = object.metadata.ownerReferences ?? []
    if (owners.length > 0 && owners.every(({ uid }) => !uids.has(uid))) {
      const names = owners.map(({ kind, name }) => `${kind} ${name}`).join(", ")
      World.violate(world, "P4", `${object.kind} ${World.keyText(object)} outlives its owner ${names}`)
    }
    if (Resource.isMarkedForDeletion(object)) {
      const held = object.metadata.finalizers?.join(", ") ?? ""
      World.violate(world, "P4", `${object.kind} ${World.keyText(object)} is never deleted: ${held} stays`)
    }
  }
}

const objects = (world: World.World): ReadonlyArray<Resource.Raw> =>
  MemoryStore.Core.exported(world.core).filter((object) => !World.isEvent(object))

// ---------------------------------------------------------------------------------------------------------------------
// P2
// ---------------------------------------------------------------------------------------------------------------------

const timestamp = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g

/** Everything that is there, one line an object, without what differs from run to run: uids, revisions, times. */
export const endState = (world: World.World): string => {
  const all = objects(world)
  const names = new Map(all.map((object) => [object.metadata.uid, `<uid of ${object.kind} ${World.keyText(object)}>`]))
  const lines = all.map((object) => {
    const { annotations, finalizers, generateName, labels, name, namespace, ownerReferences } = object.metadata
    const metadata = {
      name: generateName === undefined ? name : `${generateName}*`,
      namespace,
      labels,
      annotations: Object.fromEntries(Object.entries(annotations ?? {}).filter(([key]) => key !== rivalAnnotation)),
      finalizers,
      deleted: Resource.isMarkedForDeletion(object),
      owners: ownerReferences?.map(({ kind, name }) => `${kind} ${name}`)
    }
    const fields = Object.entries(object).filter(([key]) =>
      key !== "metadata" && key !== "apiVersion" && key !== "kind"
    )
    const text = `${object.kind} ${canonical({ metadata, ...Object.fromEntries(fields) })}`
    return text.replaceAll(timestamp, "<time>").replaceAll(
      /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g,
      (uid) => names.get(uid) ?? "<uid>"
    )
  })
  return lines.toSorted().join("\n")
}

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner)

/** The first line that only one of the two has. */
const difference = (plain: string, end: string): string => {
  const before = new Set(plain.split("\n"))
  const after = new Set(end.split("\n"))
  const missing = [...before].find((line) => line !== "" && !after.has(line))
  const extra = [...after].find((line) => line !== "" && !before.has(line))
  const parts = [
    missing === undefined ? [] : [`not there: ${shortened(missing)}`],
    extra === undefined ? [] : [`instead: ${shortened(extra)}`]
  ]
  return parts.flat().join("; ")
}

const shortened = (text: string): string => text.length > 160 ? `${text.slice(0, 160)}…` : text
