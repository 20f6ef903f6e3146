import type { Mutant } from "../mutant.ts"
export const collector: ReadonlyArray<Mutant> = []
