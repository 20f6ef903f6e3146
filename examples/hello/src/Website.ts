import { Effect, Schema } from "effect"
import { Kind, Reconciler, Store } from "setpoint"

export const Website = Kind.make({
  group: "example.dev",
  version: "v1",
  kind: "Website",
  spec: Schema.Struct({ host: Schema.String }),
  status: Schema.Struct({ url: Schema.String })
})

export const websites = Reconciler.make(Website, {
  reconcile: Effect.fn("Website.reconcile")(function*(request) {
    const site = yield* Store.get(Website, request)
    // …make the world match site.spec, then say so:
    yield* Store.updateStatus(Website, site, { url: `https://${site.spec.host}` })
  })
})
