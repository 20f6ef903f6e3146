import type { Mutant } from "../mutant.ts"
export const controller: ReadonlyArray<Mutant> = []
