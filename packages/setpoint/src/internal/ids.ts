/** Random identities, drawn from Effect's `Random`, so that a run with a seed makes the same ones again. */
import type * as Random from "effect/Random"

type Source = typeof Random.Random.Service

const bytes: ReadonlyArray<string> = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0"))

/** Eight digits; by table, since every write draws some. */
const hex = (random: Source): string => {
  const n = Math.floor(random.nextDoubleUnsafe() * 0x1_0000_0000)
  return bytes[n >>> 24] + bytes[(n >>> 16) & 255] + bytes[(n >>> 8) & 255] + bytes[n & 255]
}

/** Sixteen hexadecimal digits: finds one write among those that a store remembers. */
export const writeId = (random: Source): string => hex(random) + hex(random)

/** A version 4 UUID. */
export const uuid = (random: Source): string => {
  const [a, b, c, d] = [hex(random), hex(random), hex(random), hex(random)]
  const variant = (8 + (Number.parseInt(c.charAt(0), 16) & 3)).toString(16)
  return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-${variant}${c.slice(1, 4)}-${c.slice(4)}${d}`
}

/** A whole number from 0 to `n - 1`. */
export const below = (random: Source) => (n: number): number => Math.floor(random.nextDoubleUnsafe() * n)
