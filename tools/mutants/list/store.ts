import type { Mutant } from "../mutant.ts"
export const store: ReadonlyArray<Mutant> = []
