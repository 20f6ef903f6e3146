/** The same reconciler where everything goes wrong that can: processes die, calls fail, replies are lost, events are late. */
import { describe } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import { it } from "@setpoint/testing/SimTest"
import { Clock, Effect, Layer } from "effect"
import { Controller } from "setpoint"
import { CannotSend, Mail, Reminder, reminders } from "../src/Reminder.ts"

const post = Sim.external(Mail, () => {
  const sent: Array<{ readonly id: string; readonly text: string; readonly at: number }> = []
  return {
    sent,
    send: (id: string, text: string) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        if (!sent.some((mail) => mail.id === id)) sent.push({ id, text, at })
      })
  }
}, { fails: () => new CannotSend() })

const tea = { name: "tea" }
// A simulated world begins at 2030-01-01T00:00:00Z, and its steps are 20 seconds apart: both are due while faults happen.
const remind = (text: string, at: string) => Sim.create(Reminder, { metadata: tea, spec: { text, at } })

const mailOf = (reminder: { readonly metadata: { readonly uid: string } }, world: Sim.World) =>
  world.external(post).sent.find(({ id }) => id === reminder.metadata.uid)

describe("a reminder", () => {
  it.sim("is sent once, and not before it is due", {
    controllers: Controller.layerFor(reminders).pipe(Layer.provide(Controller.layer())),
    workload: Sim.script([
      remind("tea is ready", "2030-01-01T00:02:00Z"),
      Sim.edit(Reminder, tea, () => ({ spec: { text: "tea is ready", at: "2030-01-01T00:00:50Z" } })),
      Sim.remove(Reminder, tea),
      Sim.soon(remind("tea is cold", "2030-01-01T00:01:10Z"))
    ]),
    external: [post],
    matches: (reminder, world) => {
      const mail = mailOf(reminder, world)
      return reminder.status?.sent === true && mail !== undefined && mail.at >= Date.parse(reminder.spec.at)
    },
    never: {
      "a mail was sent of a reminder that says another text": (world) =>
        world.list(Reminder).some((reminder) => {
          const mail = mailOf(reminder, world)
          return mail !== undefined && mail.text !== reminder.spec.text
        })
    },
    // The clock is put back, and the timer of the second one comes before it is due.
    tokens: ["workload=[[1,1],[2],[3,100],[4]],world/step/5=back"],
    depth: process.env["SETPOINT_NIGHTLY"] === "1" ? 2 : 1,
    maxRuns: 100_000,
    random: process.env["SETPOINT_NIGHTLY"] === "1" ? 1_000 : 50
  })
})
