/** All mutants: faults of published bugs first, then those of each family of laws. */
import { collector } from "./list/collector.ts"
import { controller } from "./list/controller.ts"
import { dynamic } from "./list/dynamic.ts"
import { queue } from "./list/queue.ts"
import { shapes } from "./list/shapes.ts"
import { store } from "./list/store.ts"
import type { Mutant } from "./mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [...shapes, ...store, ...queue, ...controller, ...dynamic, ...collector]
