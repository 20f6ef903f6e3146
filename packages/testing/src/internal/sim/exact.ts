/** A value as a text that only equal values have. `undefined`: JSON cannot tell it from others. */
export const exactText = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value, told)
  } catch {
    return undefined // what throws here, and cycles
  }
}

/** Maps and Sets are told by what is in them. */
const told = (_: string, value: unknown): unknown => {
  if (value instanceof Map || value instanceof Set) return [value.constructor.name, ...value]
  if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") throw new Error("not JSON")
  return value
}
