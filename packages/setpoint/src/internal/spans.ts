/**
 * The spans of passes by the revisions that they made: so that the pass which an event causes links back to the pass that
 * wrote. Kept only where a tracer listens, and bounded.
 */
import type * as Tracer from "effect/Tracer"

/** Revisions that are remembered: the oldest is forgotten first. */
const capacity = 1024

export type Spans = Map<string, Tracer.AnySpan>

export const make = (): Spans => new Map()

const keyOf = (store: string, revision: string): string => `${store} ${revision}`

export const wrote = (self: Spans, store: string, revision: string, span: Tracer.AnySpan): void => {
  const oldest = self.size >= capacity ? self.keys().next() : undefined
  if (oldest?.done === false) self.delete(oldest.value)
  self.set(keyOf(store, revision), span)
}

export const of = (self: Spans, store: string, revision: string): Tracer.AnySpan | undefined =>
  self.size === 0 ? undefined : self.get(keyOf(store, revision))
