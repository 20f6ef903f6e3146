/**
 * Whose turn it is among queues that share workers (Q5). Members from which a key may be taken stand in a ring; the first
 * gives as many keys as its weight says, then goes to the end. So before a member's turn comes, the others give at most
 * the sum of their weights. A member with nothing to give, or with as many keys running as it may have, is not in the ring.
 */
import * as Line from "./line.ts"

export interface Member<M> extends Line.Linked<M> {
  weight: number
  /** How many keys it may still give in this turn. */
  turn: number
}

export type Ring<M> = Line.Line<M>

/** Puts a member into the ring, at its end, or takes it out. */
export const seat = <M extends Member<M>>(ring: Ring<M>, member: M, canGive: boolean): void => {
  if (canGive === (member.line !== undefined)) return
  if (canGive) joinEnd(ring, member)
  else Line.leave(member)
}

const joinEnd = <M extends Member<M>>(ring: Ring<M>, member: M): void => {
  member.turn = member.weight
  Line.join(ring, member)
}

/** The member gave a key: at the end of its turn it goes to the end of the ring. */
export const gave = <M extends Member<M>>(ring: Ring<M>, member: M, canGive: boolean): void => {
  member.turn--
  if (canGive && member.turn > 0) return
  Line.leave(member)
  if (canGive) joinEnd(ring, member)
}
