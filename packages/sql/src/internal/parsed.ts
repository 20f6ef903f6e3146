/**
 * Objects that were lately written or read, by revision: a revision is one object for ever, so nothing goes stale.
 *
 * What comes from here is the same object as before, so a typed store decodes it once, and a write that changes nothing
 * of it is found by identity. Bounded by the text that the objects stand for; the ones unused for longest go first.
 */
import type { Raw } from "setpoint/Resource"

interface Entry {
  readonly object: Raw
  readonly textLength: number
}

export interface Parsed {
  readonly limit: number
  length: number
  /** In order of use. */
  readonly entries: Map<number, Entry>
}

/** `limit` in UTF-16 units of JSON text. */
export const make = (limit: number): Parsed => ({ limit, length: 0, entries: new Map() })

export const get = (self: Parsed, revision: number): Raw | undefined => {
  const entry = self.entries.get(revision)
  if (entry === undefined) return undefined
  self.entries.delete(revision)
  self.entries.set(revision, entry)
  return entry.object
}

export const set = (self: Parsed, revision: number, object: Raw, textLength: number): void => {
  if (textLength > self.limit) return
  remove(self, revision)
  self.entries.set(revision, { object, textLength })
  self.length += textLength
  for (const oldest of self.entries.keys()) {
    if (self.length <= self.limit) return
    remove(self, oldest)
  }
}

export const clear = (self: Parsed): void => {
  self.entries.clear()
  self.length = 0
}

const remove = (self: Parsed, revision: number): void => {
  const entry = self.entries.get(revision)
  if (entry === undefined) return
  self.entries.delete(revision)
  self.length -= entry.textLength
}
