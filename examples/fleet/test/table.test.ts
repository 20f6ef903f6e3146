import { assert, describe, it } from "@effect/vitest"
import { Condition } from "setpoint"
import type { Process, Service } from "../src/Kinds.ts"
import * as Table from "../src/table.ts"

const now = Date.parse("2026-01-01T00:01:00Z")
const metadata = (name: string) => ({
  name,
  uid: name,
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z"
})
const template = { command: "node", args: [], env: {}, stopTimeout: "5 seconds" }

const service = (name: string, replicas: number, ready: number): Service => ({
  apiVersion: "fleet.example.dev/v1",
  kind: "Service",
  metadata: metadata(name),
  spec: { ...template, replicas, ports: { from: 10, to: 19 } },
  status: { replicas, ready, conditions: [Condition.notReady({ reason: "NotAllReady", message: "on their way" })] }
})

const process = (owner: string, ordinal: number, starts: number, message: string): Process => ({
  apiVersion: "fleet.example.dev/v1",
  kind: "Process",
  metadata: metadata(`${owner}-${ordinal}`),
  spec: { ...template, service: owner, ordinal, port: 10 + ordinal, state: "Running" },
  status: {
    phase: {
      _tag: "Running",
      launch: { command: "node", args: [], env: {}, port: 10 },
      identity: { pid: 100 + ordinal, began: "b" },
      since: "2026-01-01T00:00:00Z",
      failedChecks: 0
    },
    starts,
    crashes: 0,
    conditions: [Condition.ready({ message })]
  }
})

const view = {
  services: [service("web", 2, 1), service("api", 1, 0)],
  processes: [
    process("web", 1, 3, "is healthy"),
    process("web", 0, 1, "was adopted (pid 100)"),
    process("old", 0, 1, "ends")
  ]
}

describe("the table", () => {
  it("has a row for each process, under the name of its service, and one for a service that has none yet", () => {
    assert.deepStrictEqual(Table.lines(Table.rows(view, now), 200), [
      "SERVICE  READY  PROCESS  PID  PORT  RESTARTS  AGE  LAST REASON",
      "api      0/1                                       on their way",
      "old      ends   old-0    100  10    0         60s  ends",
      "web      1/2    web-0    100  10    0         60s  was adopted (pid 100)",
      "                web-1    101  11    2         60s  is healthy"
    ])
  })

  it("is cut to the width of the screen", () => {
    for (const line of Table.lines(Table.rows(view, now), 20)) assert.isAtMost(line.length, 20)
  })

  it("ages are told in the unit that fits", () => {
    assert.deepStrictEqual([0, 119_999, 120_000, 7_200_000, 172_800_000, -5].map(Table.ageText), [
      "0s",
      "119s",
      "2m",
      "2h",
      "2d",
      "0s"
    ])
  })

  it("without a terminal each change is a line of its own, and what did not change is none", () => {
    const after = { ...view, processes: [process("web", 1, 4, "is healthy"), ...view.processes.slice(1, 2)] }
    assert.deepStrictEqual(Table.news(view, after), [
      "web-1  pid 101  port 11  restarts 3  is healthy",
      "old-0 is gone"
    ])
    assert.deepStrictEqual(Table.news(view, view), [])
  })
})
