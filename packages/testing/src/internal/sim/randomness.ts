/** Randomness that is a function of a seed. */
import type * as Random from "effect/Random"

/** mulberry32, a public-domain generator: numbers from 0 (inclusive) to 1 (exclusive). */
export const make = (seed: number): () => number => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export const service = (seed: number): Random.Random => {
  const next = make(seed)
  return { nextIntUnsafe: () => Math.floor(next() * Number.MAX_SAFE_INTEGER), nextDoubleUnsafe: next }
}

const prime = 0x01000193

/** FNV-1a of a text, going on from a hash. */
export const hash = (text: string, from = 0x811c9dc5): number => {
  let hash = from
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), prime)
  return hash >>> 0
}

export const seedOf = (text: string): number => hash(text)
