/** A mutant: one fault planted in a copy of Setpoint's own sources, and the tests that must notice it. */

/** A test file, and which of its tests by a pattern of their titles; likely killers come first. */
export interface Tests {
  readonly file: string
  readonly titles?: string | undefined
}

/** A published bug whose shape the mutant has, and how it is found. */
export interface Shape {
  readonly reference: string
  /** How many deviations the catalogue says that it takes, and the simulator's check that should notice. */
  readonly predicted: string
  /** The least number of deviations with which the simulator finds it; none where a law's own test must do it. */
  readonly least?: number | undefined
}

export interface Mutant {
  readonly id: string
  /** The law that it breaks, or what has none: `collector`. */
  readonly law: string
  /** What is wrong, in one sentence. */
  readonly why: string
  /** From the root of the repository. */
  readonly file: string
  /** Stands there exactly once. */
  readonly find: string
  readonly replace: string
  readonly tests: ReadonlyArray<Tests>
  readonly shape?: Shape | undefined
}

/** The mutated text, or why the fault cannot be planted any more. */
export const plant = (
  { file, find, id, replace }: Mutant,
  text: string
): { readonly text: string } | { readonly flaw: string } => {
  const at = text.indexOf(find)
  const says = `${id}: what it changes in ${file}`
  if (at === -1) return { flaw: `${says} is not there any more. Plant the fault anew, in the text as it is now.` }
  if (text.includes(find, at + 1)) {
    return { flaw: `${says} is there more than once. Say more of what stands around it.` }
  }
  return { text: `${text.slice(0, at)}${replace}${text.slice(at + find.length)}` }
}

// ---------------------------------------------------------------------------------------------------------------------
// where things are
// ---------------------------------------------------------------------------------------------------------------------

/** A source of the engine: `internal/workQueue`. */
export const source = (name: string): string => `packages/setpoint/src/${name}.ts`

/** The simulator, turned on the engine: all scenarios, or some by name. */
export const simulator = (titles?: string): Tests => ({ file: "packages/testing/test/Engine.test.ts", titles })

/** A test file of the engine; its tests of one law where one is named. */
export const test = (name: string, law?: string): Tests => ({
  file: `packages/setpoint/test/${name}.test.ts`,
  titles: law === undefined ? undefined : `\\[${law}\\]`
})

/** The contract of stores, run against MemoryStore. */
export const contract = (law: string): Tests => test("MemoryStore", law)
