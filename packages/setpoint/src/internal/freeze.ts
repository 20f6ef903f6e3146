/** Freezing of decoded values: plain objects and arrays only, since instances of classes may change themselves. */

/** Freezes the value and the plain parts of it that are not frozen yet. */
export const freezePlain = <A>(value: A): A => {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value
  const prototype: unknown = Object.getPrototypeOf(value)
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return value
  Object.freeze(value)
  for (const part of Object.values(value)) freezePlain(part)
  return value
}
