/**
 * The breaker: a key that runs more often than it may is slowed to the rate it may have, and never dropped.
 *
 * A bucket of `passes` tokens a key, refilled over `perMillis`. Each pass takes one; a key without tokens waits until one
 * is there again.
 */

export interface Limits {
  readonly passes: number
  readonly perMillis: number
}

export interface State {
  tokens: number
  atMillis: number
}

export const make = (limits: Limits, now: number): State => ({ tokens: limits.passes, atMillis: now })

/** Takes a pass's token. Gives how long the key is to wait: 0 where it may run. */
export const passBegan = (state: State, limits: Limits, now: number): number => {
  const refill = (now - state.atMillis) * limits.passes / limits.perMillis
  state.tokens = Math.min(limits.passes, state.tokens + refill) - 1
  state.atMillis = now
  return state.tokens >= 0 ? 0 : Math.ceil(-state.tokens * limits.perMillis / limits.passes)
}
