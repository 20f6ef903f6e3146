/**
 * What is tested here: a reminder is sent when it is due, once, and sending may fail.
 */
import { Clock, Context, Effect, Schema } from "effect"
import { Kind, Outcome, Reconciler, Store } from "setpoint"

export const Reminder = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Reminder",
  spec: Schema.Struct({ text: Schema.String, at: Schema.String }),
  status: Schema.Struct({ sent: Schema.Boolean })
})

export class CannotSend extends Schema.TaggedError<CannotSend>()("CannotSend", {}) {}

/** The outside world, behind a service, so that a test can put another in its place. */
export class Mail extends Context.Service<Mail, {
  /**
   * Sends what was not sent yet under this id. Nobody else can know: who dies after sending and before noting it, or hears
   * no answer, can only send again.
   */
  readonly send: (id: string, text: string) => Effect.Effect<void, CannotSend>
}>()("example/Mail") {}

export const reminders = Reconciler.make(Reminder, {
  reconcile: Effect.fn("Reminder.reconcile")(function*(request) {
    const reminder = yield* Store.get(Reminder, request)
    if (reminder.status?.sent) return
    const now = yield* Clock.currentTimeMillis
    const remaining = Date.parse(reminder.spec.at) - now
    if (remaining > 0) return Outcome.requeueAfter(remaining)
    const mail = yield* Mail
    yield* mail.send(reminder.metadata.uid, reminder.spec.text)
    yield* Store.updateStatus(Reminder, reminder, { sent: true })
  })
})
