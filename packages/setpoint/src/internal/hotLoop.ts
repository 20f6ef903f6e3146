/**
 * Hot loops (E11): passes of a key that are caused by nothing but the key's own writes.
 *
 * After `limit` self-caused passes in a row that each made a revision the key is in a loop: it is reported once, and its
 * passes are spaced by a growing delay, until a pass with another cause or without a write.
 */

/** Self-caused passes in a row after which a key is in a loop. */
export const limit = 10

export interface State {
  selfCaused: number
}

export const make = (): State => ({ selfCaused: 0 })

/** What follows a pass: the delay before the next, and whether the loop is to be reported. */
export interface Verdict {
  readonly report: boolean
  readonly spacingMillis: number
}

const calm: Verdict = { report: false, spacingMillis: 0 }

const firstSpacingMillis = 1_000
const longestSpacingMillis = 60_000

/** Counts a pass that ended. */
export const passEnded = (state: State, pass: { readonly selfCaused: boolean; readonly wrote: boolean }): Verdict => {
  if (!pass.selfCaused || !pass.wrote) {
    state.selfCaused = 0
    return calm
  }
  state.selfCaused++
  if (state.selfCaused < limit) return calm
  const doublings = Math.min(state.selfCaused - limit, 16)
  return {
    report: state.selfCaused === limit,
    spacingMillis: Math.min(firstSpacingMillis * 2 ** doublings, longestSpacingMillis)
  }
}
