/** The whole: definitions in, kinds and their reconcilers out. Needs a store and a Controller. */
import * as Layer from "effect/Layer"
import { DynamicController, EventRecorder } from "setpoint"
import * as CrdReconciler from "./CrdReconciler.ts"
import * as DefinitionReconciler from "./DefinitionReconciler.ts"
import * as Kinds from "./Kinds.ts"

export const layer = Layer.mergeAll(CrdReconciler.layer, DefinitionReconciler.layer).pipe(
  Layer.provideMerge(DynamicController.layer),
  Layer.provideMerge(EventRecorder.layer({ component: "blueprints" })),
  Layer.provideMerge(Kinds.layer)
)
