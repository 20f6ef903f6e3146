import { assert, describe, it } from "@effect/vitest"
import * as Rules from "setpoint/internal/collector"
import type { Metadata, OwnerReference, Raw } from "setpoint/Resource"
import type { KindAddress, Propagation } from "setpoint/StoreDriver"
import { foregroundFinalizer, orphanFinalizer } from "setpoint/StoreRules"

describe("collector", () => {
  it("with random graphs and deletions: when it is quiet nothing dangles, and no living owner lost a dependent", () => {
    for (let seed = 1; seed <= 5_000; seed++) {
      const ops = randomOps(seed)
      const failure = failureOf(ops)
      if (failure === undefined) continue
      const least = shrink(ops)
      assert.fail(`seed ${seed}: ${failureOf(least)}\n${least.map((op) => JSON.stringify(op)).join("\n")}`)
    }
  })

  it("owners in a cycle, both deleted in the foreground, do not wait for each other", () => {
    const world = makeWorld()
    create(world, "a", ["b"])
    create(world, "b", ["a"])
    settle(world)
    remove(world, "a", "foreground")
    remove(world, "b", "foreground")
    settle(world)
    assert.deepStrictEqual([...world.objects.keys()], [])
  })

  it("an owner in another namespace counts as absent", () => {
    const world = makeWorld()
    create(world, "owner", [], { namespace: "one" })
    create(world, "dependent", ["owner"], { namespace: "two" })
    settle(world)
    assert.deepStrictEqual([...world.objects.keys()], ["owner"])
  })

  it("that an owner is absent in one namespace says nothing about another", () => {
    const world = makeWorld()
    const state = world.state
    Rules.confirmedAbsent(state, "two", "owner")
    const owner = referenceTo("owner")
    assert.strictEqual(Rules.standing(state, object("d", { namespace: "two" }), owner), "absent")
    assert.strictEqual(Rules.standing(state, object("d", { namespace: "one" }), owner), "unknown")
    Rules.newTimeline(state)
    assert.strictEqual(Rules.standing(state, object("d", { namespace: "two" }), owner), "unknown")
  })

  it("what a new list of a kind lacks has vanished", () => {
    const state = Rules.make(settings)
    Rules.observed(state, things, object("d", { ownerReferences: [referenceTo("owner")] }))
    Rules.observed(state, things, object("owner"))
    assert.deepStrictEqual(Rules.relisted(state, things, new Set(["d"])), ["d"])
    assert.deepStrictEqual([...state.nodes.keys()], ["d"])
  })

  it("of objects without owners and dependents nothing is kept, and nothing is due when they change", () => {
    const state = Rules.make(settings)
    assert.deepStrictEqual(Rules.observed(state, things, object("plain")), [])
    const owned = object("d", { ownerReferences: [referenceTo("owner")] })
    assert.deepStrictEqual(Rules.observed(state, things, owned), ["d"])
    const labelled = object("d", { ...owned.metadata, ownerReferences: [referenceTo("owner")], labels: { a: "b" } })
    assert.deepStrictEqual(Rules.observed(state, things, labelled), [])
    assert.deepStrictEqual([...state.nodes.keys()], ["d"])
  })

  it("a read that may have missed that its owner went is not believed", () => {
    const owner = object("owner")
    const afterwards: ReadonlyArray<(state: Rules.State) => void> = [
      (state) => Rules.vanished(state, "owner"),
      (state) => Rules.relisted(state, things, new Set()),
      (state) => Array.from({ length: 1_001 }, (_, i) => Rules.vanished(state, `other-${i}`))
    ]
    for (const happens of afterwards) {
      const state = Rules.make(settings)
      const before = Rules.moment(state)
      happens(state)
      assert.isFalse(Rules.learned(state, things, owner, before))
      assert.strictEqual(state.nodes.size, 0)
    }
    const state = Rules.make(settings)
    const before = Rules.moment(state)
    Rules.vanished(state, "another")
    assert.isTrue(Rules.learned(state, things, owner, before))
  })

  it("an empty graph keeps nothing", () => {
    const state = Rules.make(settings)
    const owned = object("d", { ownerReferences: [referenceTo("owner")] })
    for (const _ of [1, 2]) {
      Rules.observed(state, things, object("owner"))
      Rules.observed(state, things, owned)
      Rules.observed(state, events, event("e", 0))
    }
    for (const uid of ["owner", "d", "e", "never"]) Rules.vanished(state, uid)
    const sizes = [state.nodes, state.dependents, state.seen, state.kinds, state.events].map((map) => map.size)
    assert.deepStrictEqual(sizes, [0, 0, 0, 0, 0])
  })

  it("an Event is over its hour after it last happened, not after it first did", () => {
    const state = Rules.make(settings)
    const fresh = event("e", 50 * 60_000)
    assert.deepStrictEqual(Rules.observed(state, events, fresh), ["e"])
    const step = (nowMillis: number) => Rules.due(state, { at: events, object: fresh }, nowMillis)
    assert.deepStrictEqual(step(60 * 60_000), { _tag: "Later", millis: 50 * 60_000 })
    assert.deepStrictEqual(step(110 * 60_000), { _tag: "Delete", propagation: "background" })
  })

  it("an object has at most 100 Events: the oldest go", () => {
    const state = Rules.make(settings)
    const changed = Array.from({ length: 101 }, (_, i) => Rules.observed(state, events, event(`e${i}`, 200_000 - i)))
    assert.deepStrictEqual(changed.at(-2), ["e99"])
    assert.deepStrictEqual(changed.at(-1), ["e100", "e100"])
    const step = (uid: string) =>
      Rules.due(state, { at: events, object: state.nodes.get(uid)?.object ?? fail(uid) }, 200_000)
    assert.strictEqual(step("e100")._tag, "Delete")
    assert.strictEqual(step("e0")._tag, "Later")
  })
})

// The model: a store whose watch is never late, and which carries out every step at once

type Op =
  | { readonly _tag: "create"; readonly uid: string; readonly owners: ReadonlyArray<string>; readonly held: boolean }
  | { readonly _tag: "delete"; readonly uid: string; readonly propagation: Propagation }
  | { readonly _tag: "own"; readonly uid: string; readonly owner: string }
  | { readonly _tag: "release"; readonly uid: string }
  | { readonly _tag: "settle" }

interface World {
  readonly objects: Map<string, Raw>
  readonly state: Rules.State
  readonly due: Set<string>
  /** What the collector deleted although an owner of it lived. */
  readonly wrong: Array<string>
}

const settings: Rules.Settings = { eventMillis: 3_600_000, eventsPerObject: 100 }
const things: KindAddress = {
  group: "example.dev",
  version: "v1",
  kind: "Thing",
  plural: "things",
  scope: "Namespaced"
}
const events: KindAddress = { group: "", version: "v1", kind: "Event", plural: "events", scope: "Namespaced" }

const makeWorld = (): World => ({ objects: new Map(), state: Rules.make(settings), due: new Set(), wrong: [] })

const referenceTo = (uid: string): OwnerReference => ({
  apiVersion: "example.dev/v1",
  kind: "Thing",
  name: uid,
  uid,
  blockOwnerDeletion: true
})

const object = (uid: string, metadata: Partial<Metadata> = {}): Raw => ({
  apiVersion: "example.dev/v1",
  kind: "Thing",
  metadata: {
    name: uid,
    uid,
    namespace: "default",
    resourceVersion: "1",
    creationTimestamp: "1970-01-01T00:00:00Z",
    ...metadata
  }
})

const event = (uid: string, lastMillis: number): Raw => ({
  ...object(uid),
  involvedObject: { uid: "about" },
  lastTimestamp: new Date(lastMillis).toISOString()
})

const fail = (text: string): never => {
  throw new Error(text)
}

const put = (world: World, object: Raw): void => {
  const { deletionTimestamp, finalizers, uid } = object.metadata
  const isGone = deletionTimestamp !== undefined && (finalizers ?? []).length === 0
  if (isGone) world.objects.delete(uid)
  else world.objects.set(uid, object)
  const changed = isGone ? Rules.vanished(world.state, uid) : Rules.observed(world.state, things, object)
  for (const one of changed) world.due.add(one)
}

const change = (world: World, uid: string, metadata: (before: Metadata) => Partial<Metadata>): void => {
  const before = world.objects.get(uid)
  if (before !== undefined) put(world, { ...before, metadata: { ...before.metadata, ...metadata(before.metadata) } })
}

const create = (world: World, uid: string, owners: ReadonlyArray<string>, metadata: Partial<Metadata> = {}): void => {
  if (!world.objects.has(uid)) put(world, object(uid, { ownerReferences: owners.map(referenceTo), ...metadata }))
}

const remove = (world: World, uid: string, propagation: Propagation): void =>
  change(world, uid, ({ deletionTimestamp, finalizers = [] }) => {
    if (deletionTimestamp !== undefined) return {}
    const collectors = { background: [], foreground: [foregroundFinalizer], orphan: [orphanFinalizer] }
    return { deletionTimestamp: "1970-01-02T00:00:00Z", finalizers: [...finalizers, ...collectors[propagation]] }
  })

const carryOut = (world: World, object: Raw, step: Rules.Step): void => {
  const { uid } = object.metadata
  switch (step._tag) {
    case "Confirm": {
      for (const owner of step.owners) {
        const found = world.objects.get(owner.uid)
        const isInReach = found?.metadata.namespace === object.metadata.namespace
        if (found === undefined || !isInReach) {
          Rules.confirmedAbsent(world.state, object.metadata.namespace ?? "", owner.uid)
        } else if (!Rules.learned(world.state, things, found, Rules.moment(world.state))) {
          fail(`a read that missed nothing is not believed: ${owner.uid}`)
        }
      }
      world.due.add(uid)
      return
    }
    case "Delete": {
      const isOwned = (object.metadata.ownerReferences ?? []).some((owner) => lives(world, owner.uid, object))
      if (isOwned) world.wrong.push(uid)
      return remove(world, uid, step.propagation)
    }
    case "Cut":
      return change(world, uid, () => ({ ownerReferences: Rules.cut(object, step.owners) }))
    case "Finalize": {
      const dependents = [...world.objects.values()].filter((one) =>
        one.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true
      )
      if (step.finalizer === orphanFinalizer) {
        for (const dependent of dependents) {
          change(world, dependent.metadata.uid, () => ({ ownerReferences: Rules.cut(dependent, new Set([uid])) }))
        }
      }
      return change(
        world,
        uid,
        ({ finalizers = [] }) => ({ finalizers: finalizers.filter((_) => _ !== step.finalizer) })
      )
    }
  }
}

/** An owner that keeps its dependents: it is there, in reach, and not being deleted together with them. */
const lives = (world: World, uid: string, dependent: Raw): boolean => {
  const owner = world.objects.get(uid)
  return owner !== undefined && owner.metadata.namespace === dependent.metadata.namespace &&
    !(owner.metadata.deletionTimestamp !== undefined &&
      owner.metadata.finalizers?.includes(foregroundFinalizer) === true)
}

const settle = (world: World): void => {
  let steps = 0
  for (const uid of world.due) {
    world.due.delete(uid)
    if (++steps > 2_000) fail("the collector does not come to rest")
    const object = world.objects.get(uid)
    if (object !== undefined) carryOut(world, object, Rules.due(world.state, { at: things, object }, 0))
  }
}

const perform = (world: World, op: Op): void => {
  switch (op._tag) {
    case "create":
      return create(world, op.uid, op.owners, op.held ? { finalizers: ["user.dev/x"] } : {})
    case "delete":
      return remove(world, op.uid, op.propagation)
    case "release":
      return change(
        world,
        op.uid,
        ({ finalizers = [] }) => ({ finalizers: finalizers.filter((_) => _ !== "user.dev/x") })
      )
    case "settle":
      return settle(world)
  }
}

/** What is wrong in the end, once the users' finalizers are done; undefined where nothing is. */
const failureOf = (ops: ReadonlyArray<Op>): string | undefined => {
  const world = makeWorld()
  for (const op of ops) perform(world, op)
  settle(world)
  if (world.wrong.length > 0) return `${world.wrong.join()} was deleted although an owner lives`
  for (const uid of world.objects.keys()) perform(world, { _tag: "release", uid })
  settle(world)
  for (const { metadata } of world.objects.values()) {
    if (metadata.deletionTimestamp !== undefined) return `${metadata.uid} never goes`
    const dangling = metadata.ownerReferences?.find((owner) => !world.objects.has(owner.uid))
    if (dangling !== undefined) return `${metadata.uid} still refers to ${dangling.uid}`
  }
  return undefined
}

/** Each creation makes a new life (S7); references may name one that is gone, or that never was. */
const randomOps = (seed: number): ReadonlyArray<Op> => {
  let state = seed * 2_654_435_761 % 4_294_967_296
  const below = (n: number) => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return Math.floor(state / 4_294_967_296 * n)
  }
  const propagations = ["background", "foreground", "orphan"] as const
  let lives = 0
  const life = () => lives === 0 || below(8) === 0 ? "never" : `u${below(lives)}`
  return Array.from({ length: 4 + below(20) }, (): Op => {
    switch (below(9)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return {
          _tag: "create",
          owners: Array.from({ length: below(3) }, life),
          uid: `u${lives++}`,
          held: below(4) === 0
        }
      case 4:
      case 5:
        return { _tag: "delete", uid: life(), propagation: propagations[below(3)] ?? "background" }
      case 6:
        return { _tag: "release", uid: life() }
      case 7:
        return { _tag: "own", uid: life(), owner: life() }
      default:
        return { _tag: "settle" }
    }
  })
}

/** Drops one operation after the other while the failure stays. */
const shrink = (ops: ReadonlyArray<Op>): ReadonlyArray<Op> => {
  const smaller = ops.map((_, i) => ops.toSpliced(i, 1)).find((fewer) => failureOf(fewer) !== undefined)
  return smaller === undefined ? ops : shrink(smaller)
}
