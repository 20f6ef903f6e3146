import { assert, describe, it } from "@effect/vitest"
import { Condition } from "setpoint"
import type { Process, Service } from "../src/Kinds.ts"
import { launchOf } from "../src/processRules.ts"
import * as Rules from "../src/serviceRules.ts"

const metadata = (name: string, uid = `uid-${name}`) => ({
  name,
  uid,
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z"
})

const service = (name: string, spec: Partial<Service["spec"]> = {}): Service => ({
  apiVersion: "fleet.example.dev/v1",
  kind: "Service",
  metadata: metadata(name),
  spec: {
    command: "node",
    args: [],
    env: {},
    stopTimeout: "5 seconds",
    replicas: 2,
    ports: { from: 10, to: 19 },
    ...spec
  }
})

const web = service("web")

const specOf = (owner: Service, ordinal: number, port: number): Process["spec"] => ({
  command: "node",
  args: [],
  env: {},
  stopTimeout: "5 seconds",
  service: owner.metadata.name,
  ordinal,
  port,
  state: "Running"
})

const process = (
  owner: Service,
  ordinal: number,
  port: number,
  options: {
    readonly ready?: boolean
    readonly deleted?: boolean
    readonly spec?: Partial<Process["spec"]>
    /** What it was started with, where that is another spec. */
    readonly started?: Partial<Process["spec"]>
  } = {}
): Process => ({
  apiVersion: "fleet.example.dev/v1",
  kind: "Process",
  metadata: {
    ...metadata(`${owner.metadata.name}-${ordinal}`),
    ownerReferences: [{
      apiVersion: owner.apiVersion,
      kind: owner.kind,
      name: owner.metadata.name,
      uid: owner.metadata.uid,
      controller: true
    }],
    ...(options.deleted === true ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {})
  },
  spec: { ...specOf(owner, ordinal, port), ...options.spec },
  status: {
    phase: {
      _tag: "Running",
      launch: launchOf({ ...specOf(owner, ordinal, port), ...options.spec, ...options.started }),
      identity: { pid: 1, began: "b" },
      since: "2026-01-01T00:00:00Z",
      failedChecks: 0
    },
    starts: 1,
    crashes: 0,
    conditions: [
      options.ready === false ? Condition.notReady({ reason: "Crashed", message: "exit code 1" }) : Condition.ready()
    ]
  }
})

const names = (plan: Rules.Plan) => ({
  create: plan.create.map(({ name, spec }) => `${name}:${spec.port}`),
  update: plan.update.map(({ metadata, spec }) => `${metadata.name}:${spec.port}`),
  remove: plan.remove.map(({ metadata }) => metadata.name)
})

const none = { create: [], update: [], remove: [] }

describe("the processes of a service", () => {
  it("are created with names and ports that depend on nothing but the service and what is held", () => {
    assert.deepStrictEqual(names(Rules.plan(web, [])), { ...none, create: ["web-0:10", "web-1:11"] })
    const other = process(service("api"), 0, 10)
    assert.deepStrictEqual(names(Rules.plan(web, [other])), { ...none, create: ["web-0:11", "web-1:12"] })
  })

  it("that are as they should be are left alone", () => {
    assert.deepStrictEqual(names(Rules.plan(web, [process(web, 0, 10), process(web, 1, 11)])), none)
  })

  it("are removed from the highest number on where fewer are wanted", () => {
    const all = [0, 1, 2, 3].map((ordinal) => process(web, ordinal, 10 + ordinal))
    assert.deepStrictEqual(names(Rules.plan(web, all)), { ...none, remove: ["web-2", "web-3"] })
  })

  it("of others are never touched", () => {
    const api = service("api")
    const foreign = [process(web, 0, 10), process(web, 1, 11), process(api, 0, 12), process(api, 7, 13)]
    assert.deepStrictEqual(names(Rules.plan(web, foreign)), none)
  })

  it("change one at a time, the next when all before are ready", () => {
    const next = service("web", { args: ["new"] })
    const before = [process(web, 0, 10), process(web, 1, 11)]
    assert.deepStrictEqual(names(Rules.plan(next, before)), { ...none, update: ["web-0:10"] })
    const asked = [process(web, 0, 10, { spec: { args: ["new"] }, started: { args: [] } }), process(web, 1, 11)]
    assert.deepStrictEqual(names(Rules.plan(next, asked)), none)
    const changing = [process(web, 0, 10, { ready: false, spec: { args: ["new"] } }), process(web, 1, 11)]
    assert.deepStrictEqual(names(Rules.plan(next, changing)), none)
    const changed = [process(web, 0, 10, { spec: { args: ["new"] } }), process(web, 1, 11)]
    assert.deepStrictEqual(names(Rules.plan(next, changed)), { ...none, update: ["web-1:11"] })
  })

  it("that are not ready change at once", () => {
    const next = service("web", { args: ["new"] })
    const broken = [process(web, 0, 10, { ready: false }), process(web, 1, 11, { ready: false })]
    assert.deepStrictEqual(names(Rules.plan(next, broken)), { ...none, update: ["web-0:10", "web-1:11"] })
  })

  it("that a supervisor stopped when it ended are set to run again", () => {
    const stopped = [0, 1].map((n) => process(web, n, 10 + n, { ready: false, spec: { state: "Stopped" } }))
    assert.deepStrictEqual(names(Rules.plan(web, stopped)), { ...none, update: ["web-0:10", "web-1:11"] })
  })

  it("wait for an earlier process of their name, and say so", () => {
    const former = { ...process(web, 0, 10), metadata: { ...process(web, 0, 10).metadata, ownerReferences: [] } }
    const plan = Rules.plan(web, [former, process(web, 1, 11, { deleted: true })])
    assert.deepStrictEqual(names(plan), none)
    assert.strictEqual(plan.waits.length, 2)
  })

  it("without a port are not created, and the service says so", () => {
    const small = service("web", { ports: { from: 10, to: 10 } })
    const plan = Rules.plan(small, [])
    assert.deepStrictEqual(names(plan), { ...none, create: ["web-0:10"] })
    const status = Rules.statusOf(small, [process(web, 0, 10)], plan.waits)
    assert.strictEqual(status.conditions[0]?.message, "web-1 finds no free port from 10 to 10")
  })
})

describe("the status of a service", () => {
  it("is ready when all of its processes are", () => {
    const all = [process(web, 0, 10), process(web, 1, 11)]
    assert.deepInclude(Rules.statusOf(web, all, []), { replicas: 2, ready: 2 })
    assert.isTrue(Condition.isTrue(Rules.statusOf(web, all, []).conditions, "Ready"))
  })

  it("is not ready while what runs is what the service was before", () => {
    const status = Rules.statusOf(service("web", { args: ["v2"] }), [process(web, 0, 10), process(web, 1, 11)], [])
    assert.isFalse(Condition.isTrue(status.conditions, "Ready"))
    assert.strictEqual(status.conditions[0]?.message, "processes are replaced one after the other")
  })

  it("says what is in the way where not", () => {
    const status = Rules.statusOf(web, [process(web, 0, 10), process(web, 1, 11, { ready: false })], [])
    assert.strictEqual(status.ready, 1)
    assert.strictEqual(status.conditions[0]?.message, "web-1 exit code 1")
  })
})
