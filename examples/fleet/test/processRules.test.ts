import { assert, describe, it } from "@effect/vitest"
import { Condition } from "setpoint"
import type { Identity, Phase, Process } from "../src/Kinds.ts"
import * as Rules from "../src/processRules.ts"

const now = Date.parse("2026-01-01T00:00:00Z")
const at = (millis: number) => new Date(now + millis).toISOString()
const identity = { pid: 42, began: "boot/1" }
const spec: Process["spec"] = {
  command: "node",
  args: [],
  env: {},
  stopTimeout: "5 seconds",
  service: "web",
  ordinal: 0,
  port: 8080,
  state: "Running"
}
const me = { pid: 2, began: "boot/2" }
const launch = Rules.launchOf(spec)
const health = { path: "/", every: "1 second", timeout: "1 second", failures: 2 }

const process = (
  phase: Phase | undefined,
  options: {
    readonly spec?: Partial<Process["spec"]>
    readonly crashes?: number
    readonly supervisor?: Identity
    readonly ready?: boolean
    readonly deleted?: boolean
  } = {}
): Process => ({
  apiVersion: "fleet.example.dev/v1",
  kind: "Process",
  metadata: {
    name: "web-0",
    uid: "u",
    resourceVersion: "1",
    creationTimestamp: at(0),
    ...(options.deleted === true ? { deletionTimestamp: at(0) } : {})
  },
  spec: { ...spec, ...options.spec },
  ...(phase === undefined ? {} : {
    status: {
      phase,
      starts: 1,
      crashes: options.crashes ?? 0,
      supervisor: options.supervisor ?? me,
      conditions: [options.ready === true ? Condition.ready() : Condition.notReady({ reason: "Starting" })]
    }
  })
})

const up: Rules.Sight = { _tag: "Up", identity }
const down: Rules.Sight = { _tag: "Down", how: "exit code 1" }
const next = (process: Process, sight: Rules.Sight) => Rules.next(process, sight, me, now)

const phases = {
  starting: { _tag: "Starting", launch },
  running: { _tag: "Running", launch, identity, since: at(-1000), failedChecks: 0 },
  stopping: { _tag: "Stopping", launch, identity, killAt: at(1000), crashed: false },
  unasked: { _tag: "Stopping", launch, identity, crashed: false },
  overdue: { _tag: "Stopping", launch, identity, killAt: at(-1), crashed: false },
  crashStop: { _tag: "Stopping", launch, identity, killAt: at(1000), crashed: true },
  backoff: { _tag: "Backoff", launch, until: at(700) },
  backoffOver: { _tag: "Backoff", launch, until: at(0) },
  stopped: { _tag: "Stopped" }
} as const satisfies Record<string, Phase>

describe("the next step", () => {
  it.each([
    ["a new process is started", process(undefined), down, "Start"],
    ["a stopped one that is wanted is started", process(phases.stopped), down, "Start"],
    ["one that runs is asked for its health", process(phases.running), up, "Check"],
    ["one that ended by itself is started again after a while", process(phases.running), down, "BackOff"],
    ["a crashed one waits", process(phases.backoff), down, "Wait"],
    ["a crashed one that waited is started", process(phases.backoffOver), down, "Start"],
    [
      "a crashed one whose spec changed waits no longer",
      process(phases.backoff, { spec: { args: ["x"] } }),
      down,
      "Start"
    ],
    ["one of a changed spec is ended", process(phases.running, { spec: { args: ["x"] } }), up, "Terminate"],
    [
      "one whose stop timeout changed goes on",
      process(phases.running, { spec: { stopTimeout: "1 second" } }),
      up,
      "Check"
    ],
    ["one that should stop is ended", process(phases.running, { spec: { state: "Stopped" } }), up, "Terminate"],
    ["one whose object is deleted is ended", process(phases.running, { deleted: true }), up, "Terminate"],
    ["one that ends is waited for", process(phases.stopping, { deleted: true }), up, "Wait"],
    ["one that may not have been asked to end is asked", process(phases.unasked, { deleted: true }), up, "Ask"],
    ["one that does not end in time is killed", process(phases.overdue, { deleted: true }), up, "Kill"],
    ["one that ended and is wanted is started again", process(phases.stopping), down, "Start"],
    ["one that was ended as ill is started again after a while", process(phases.crashStop), down, "BackOff"],
    ["one that ended and is not wanted rests", process(phases.stopping, { deleted: true }), down, "Rest"],
    ["one that ended by itself while unwanted rests", process(phases.running, { deleted: true }), down, "Rest"],
    ["a crashed one that is deleted rests", process(phases.backoff, { deleted: true }), down, "Rest"],
    ["a stopped one that is not wanted rests", process(phases.stopped, { deleted: true }), down, "Rest"],
    [
      "one of an earlier supervisor is adopted",
      process(phases.running, { supervisor: { pid: 2, began: "boot/3" } }),
      up,
      "Adopt"
    ],
    [
      "one of an earlier supervisor that died is started again",
      process(phases.running, { supervisor: { pid: 2, began: "boot/3" } }),
      down,
      "BackOff"
    ],
    ["one that was started but not noted is adopted", process(phases.starting), up, "Adopt"],
    ["one that was decided on but not started is started", process(phases.starting), down, "Start"],
    ["one that was decided on and deleted meanwhile rests", process(phases.starting, { deleted: true }), down, "Rest"]
  ])("%s", (_, process, sight, expected) => {
    assert.strictEqual(next(process, sight)._tag, expected)
  })

  it("too many failed checks end a process, and the end counts as a crash", () => {
    const ill = { ...phases.running, failedChecks: 2 }
    const step = next(process(ill, { spec: { health } }), up)
    assert.isTrue(step._tag === "Terminate" && step.crashed)
    assert.strictEqual(next(process({ ...ill, failedChecks: 1 }, { spec: { health } }), up)._tag, "Check")
  })
})

describe("the back-off", () => {
  it("doubles with each crash in a row, up to a minute", () => {
    assert.deepStrictEqual([1, 2, 3, 4].map(Rules.backoffMillis), [500, 1000, 2000, 4000])
    assert.strictEqual(Rules.backoffMillis(1000), 60_000)
  })

  it("counts crashes in a row, and forgets them once a process ran for a while", () => {
    const young = Rules.backingOff(process(phases.running, { crashes: 3 }), launch, "x", now)
    assert.strictEqual(young.crashes, 4)
    const old = { ...phases.running, since: at(-Rules.settledMillis) }
    assert.strictEqual(Rules.backingOff(process(old, { crashes: 3 }), launch, "x", now).crashes, 1)
  })

  it("starts anew with a changed spec", () => {
    assert.strictEqual(Rules.starting(process(phases.backoff, { crashes: 5 }), me).crashes, 5)
    assert.strictEqual(Rules.starting(process(phases.backoff, { crashes: 5, spec: { args: ["x"] } }), me).crashes, 0)
  })
})

describe("health", () => {
  const checked = (phase: Phase, ready: boolean, failure: string | undefined) =>
    Rules.checked(process(phase, { spec: { health }, ready }), failure, now)

  it("a process with a check is ready once it answered, one without at once", () => {
    assert.isFalse(
      Condition.isTrue(
        Rules.started(process(undefined, { spec: { health } }), identity, launch, me, now).conditions,
        "Ready"
      )
    )
    assert.isTrue(Condition.isTrue(checked(phases.running, false, undefined)?.conditions ?? [], "Ready"))
    assert.isTrue(Condition.isTrue(Rules.started(process(undefined), identity, launch, me, now).conditions, "Ready"))
  })

  it("failures count in a row, once it was healthy or its time to become so is over", () => {
    const failed = (phase: Phase, ready: boolean) => {
      const after = checked(phase, ready, "no answer")?.phase
      return after?._tag === "Running" ? after.failedChecks : undefined
    }
    assert.strictEqual(failed(phases.running, false), 0)
    assert.strictEqual(failed(phases.running, true), 1)
    assert.strictEqual(failed({ ...phases.running, failedChecks: 1 }, false), 2)
    assert.strictEqual(failed({ ...phases.running, since: at(-Rules.graceMillis) }, false), 1)
  })

  it("nothing is written where nothing changed", () => {
    const calm = process(phases.running, { spec: { health }, ready: true })
    assert.deepStrictEqual(Rules.checked(calm, undefined, now), calm.status)
  })
})
