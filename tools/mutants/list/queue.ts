import type { Mutant } from "../mutant.ts"
export const queue: ReadonlyArray<Mutant> = []
