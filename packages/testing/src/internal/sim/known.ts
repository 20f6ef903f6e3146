/** Starts that are known, as a run carries them: see `starts.ts` for what makes two of them one. */

/** Where runs started that ended well: the key of each, and how many alternatives came after it. */
export type Known = Map<number, number>

/** More are not kept. */
const knownAtMost = 200_000

/** What a run knows of starts; changed by the functions of this module alone. */
export interface Starts {
  readonly known: Known | undefined
  /** Deviations of the run's list, all of which must have been taken; `undefined`: of phase two alone nothing is to come. */
  readonly deviations: number | undefined
  /** Whether the run may end where it is known; it may not where what is left out of a key is asked for later. */
  readonly mayCut: boolean
  readonly met: Array<{ readonly key: number; readonly points: number }>
  /** The key where the run was cut. */
  cutAt: number | undefined
}

export const make = (known: Known | undefined, deviations: number | undefined, mayCut: boolean): Starts => ({
  known,
  deviations,
  mayCut,
  met: [],
  cutAt: undefined
})

/** A run ended well: where it started is known from now on. */
export const learn = (starts: Starts, points: ReadonlyArray<{ readonly alternatives: ReadonlyArray<string> }>) => {
  const { known, met } = starts
  if (known === undefined) return
  for (const { key, points: from } of met) {
    if (known.size >= knownAtMost) return
    let after = afterCut(starts)
    for (let i = from; i < points.length; i++) after += points[i]?.alternatives.length ?? 0
    known.set(key, after)
  }
}

/** Alternatives that come after the start where a run was cut. */
export const afterCut = ({ cutAt, known }: Starts): number => (cutAt === undefined ? 0 : known?.get(cutAt) ?? 0)
