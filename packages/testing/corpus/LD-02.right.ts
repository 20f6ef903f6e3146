/** A renewal that fails is tried again and again, and the loss of the lease is never told. kubernetes/kubernetes#23731 */
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Controller, Pass, Reconciler, Store } from "setpoint"
import { App, createApp, resizeApp } from "./kit.ts"
import { begin, elect, fakeLock, type Lock, Pod } from "./lock.ts"

const lock = fakeLock()

const appsOf = (epoch: number) =>
  Reconciler.make(App, {
    reconcile: Effect.fnUntraced(function*({ name }) {
      const { spec } = yield* Store.get(App, { name })
      yield* Store.ensure(Pod, { name }, (pod) => ({
        metadata: { name },
        spec: pod?.spec.size === spec.size ? pod.spec : { ...spec, epoch }
      }))
    })
  })

/** The lease is lost where another has it or had it meanwhile, or nobody answers in time. */
const lost = (hold: ReturnType<Lock["Service"]["hold"]>, epoch: number) =>
  Effect.sleep("5 seconds").pipe(
    Effect.andThen(Effect.timeoutOrElse(hold, { duration: "5 seconds", orElse: () => Effect.undefined })),
    Effect.catch(() => Effect.undefined),
    Effect.repeat({ while: (held) => held === epoch }),
    Effect.asVoid
  )

/** What an earlier leader has on its way is refused by the store. */
const lead = Effect.fnUntraced(function*(epoch: number) {
  const controller = yield* Controller.Controller
  yield* Store.fence("apps", epoch)
  yield* begin(epoch)
  yield* Effect.provideService(controller.register(appsOf(epoch)), Pass.Fence, { lease: "apps", epoch })
})

export const options: Sim.Options<App, Lock> = {
  controllers: Layer.effectDiscard(elect(lost, lead)).pipe(Layer.provide(Controller.layer())),
  workload: Sim.script([createApp(1), resizeApp(2), resizeApp(3)]),
  replicas: 2,
  external: [lock],
  matches: ({ metadata, spec }, world) => world.get(Pod, metadata.name)?.spec.size === spec.size,
  never: {
    "one that leads no more has written": (world, { by, object, type }) =>
      by.startsWith("ctl") && object.kind === "Pod" && type !== "removed" &&
      Pod.decode(object).pipe((pod) =>
        pod._tag === "Success" && pod.success.spec.epoch < world.external(lock).leader.epoch
      )
  }
}
