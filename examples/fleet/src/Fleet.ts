/**
 * The fleet: both reconcilers over a store and a machine, and the way it ends.
 *
 * The order of the Layers is the order of ending, last built first closed: the folder is followed no longer, services
 * are reconciled no longer, then the processes are ended one after the other by the reconciler that started them, and
 * then that one ends too.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Controller, Store } from "setpoint"
import { Process } from "./Kinds.ts"
import { processes } from "./ProcessReconciler.ts"
import { services } from "./ServiceReconciler.ts"

export interface Options {
  /** Leave the processes to the next supervisor, which adopts them. Default: end them. */
  readonly leave?: boolean | undefined
}

/** Asks for the end of each process, the last replicas first, and waits for each. */
const endProcesses = Effect.gen(function*() {
  const { items } = yield* Store.list(Process, { consistency: "mostRecent" })
  const inOrder = items.toSorted((a, b) =>
    b.spec.ordinal - a.spec.ordinal || (a.spec.service < b.spec.service ? 1 : -1)
  )
  yield* Effect.forEach(inOrder, endProcess, { discard: true })
  yield* Effect.logInfo("every process has ended")
}).pipe(
  Effect.catch((error) => Effect.logError(`not every process was ended: ${error.message}`))
)

const endProcess = Effect.fnUntraced(
  function*(process: Process) {
    const { name } = process.metadata
    const ended = yield* Deferred.make<void>()
    yield* Store.watch(Process).pipe(
      Stream.runForEach((events) =>
        events.some((event) =>
            event._tag === "Deleted" ? event.last.metadata.name === name : "object" in event &&
              event.object.metadata.name === name && event.object.spec.state === "Stopped" &&
              event.object.status?.phase._tag === "Stopped"
          )
          ? Deferred.succeed(ended, undefined)
          : Effect.void
      ),
      Effect.raceFirst(Deferred.await(ended)),
      Effect.forkScoped({ startImmediately: true })
    )
    yield* Store.patchUnconditionally(Process, { name }, { merge: { spec: { state: "Stopped" } } })
    yield* Deferred.await(ended)
  },
  Effect.scoped,
  Effect.catchReason("StoreError", "NotFound", () => Effect.void)
)

const ending = (options: Options) =>
  Layer.effectDiscard(Effect.gen(function*() {
    if (options.leave === true) return
    const context = yield* Effect.context<Store.Store>()
    yield* Effect.addFinalizer(() => Effect.provide(endProcesses, context))
  }))

/** Everything but the folder, the store and the machine. */
export const layer = (options: Options = {}) =>
  Controller.layerFor(services).pipe(
    Layer.provideMerge(ending(options)),
    Layer.provideMerge(Controller.layerFor(processes)),
    Layer.provideMerge(Controller.layer({ workers: 64 }))
  )
