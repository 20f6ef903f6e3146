import type { Mutant } from "../mutant.ts"
export const dynamic: ReadonlyArray<Mutant> = []
