/**
 * Watch sets: what each instance asked for, over all sources. Pure rules over one state record; only they write it.
 *
 * The committed requests of an instance stand before those first asked for in this pass. A pass mostly asks for what the
 * last one did, in the same order: so a request is first compared with the one that followed then, and only else looked
 * up on its board.
 */
import * as Board from "./watchBoard.ts"

/** The requests on one source. */
export interface Source<I, S> extends Board.State<I, Request<I, S>> {
  readonly coordinator: State<I, S>
  readonly source: S
}

/** What one instance asked for: at least one thing, or nothing is kept of it. */
export interface WatchSet<I, S> {
  requests: Array<Request<I, S>>
  /** So many of `requests` were committed. */
  committed: number
  /** Numbers the passes of this set. */
  pass: number
  /** Where the request stands that is expected next. */
  next: number
}

export interface Request<I, S> {
  readonly instance: I
  readonly board: Source<I, S>
  readonly target: Board.Target
  /** The pass that asked for it last. */
  asked: number
}

export interface State<I, S> {
  readonly groupOf: (instance: I) => unknown
  /** By group, then by instance. */
  readonly groups: Map<unknown, Map<I, WatchSet<I, S>>>
  /** What was found last: a pass asks many times for one instance. */
  last: { readonly instance: I; readonly set: WatchSet<I, S> } | undefined
}

export const make = <I, S>(groupOf: (instance: I) => unknown): State<I, S> => ({
  groupOf,
  groups: new Map(),
  last: undefined
})

export const makeBoard = <I, S>(coordinator: State<I, S>, source: S, indexes: Board.Indexes): Source<I, S> => ({
  coordinator,
  source,
  ...Board.make<I, Request<I, S>>(indexes)
})

export const find = <I, S>(state: State<I, S>, instance: I): WatchSet<I, S> | undefined => {
  if (state.last?.instance === instance) return state.last.set
  const set = state.groups.get(state.groupOf(instance))?.get(instance)
  if (set !== undefined) state.last = { instance, set }
  return set
}

const makeSet = <I, S>(): WatchSet<I, S> => ({ requests: [], committed: 0, pass: 0, next: 0 })

const remember = <I, S>({ groupOf, groups }: State<I, S>, instance: I, set: WatchSet<I, S>): void => {
  const key = groupOf(instance)
  const group = groups.get(key)
  if (group === undefined) groups.set(key, new Map([[instance, set]]))
  else group.set(instance, set)
}

const forget = <I, S>(state: State<I, S>, instance: I): void => {
  const { groups } = state
  const key = state.groupOf(instance)
  state.last = undefined
  const group = groups.get(key)
  if (group?.delete(instance) !== true) throw new Error("D2 is broken: a watch set is not in its group")
  if (group.size === 0) groups.delete(key)
}

/** [D1] The request routes when this returns. */
export const watch = <I, S>(board: Source<I, S>, instance: I, target: Board.Target): "new" | "known" => {
  const set = find(board.coordinator, instance) ?? makeSet<I, S>()
  const expected = isExpected(set, board, target)
  if (expected !== undefined) return askAgain(set, expected)
  const posting = Board.postingOf(board, target)
  const known = Board.requestOf(posting, instance)
  if (known !== undefined) return askAgain(set, known)
  const request: Request<I, S> = { instance, board, target, asked: set.pass }
  Board.add(board, posting, request)
  if (set.requests.length === 0) remember(board.coordinator, instance, set)
  set.requests.push(request)
  return "new"
}

/** Asks again for what the instance has asked for before; `false`, and nothing is done, where it has not. */
export const watchAgain = <I, S>(board: Source<I, S>, instance: I, sought: Board.Sought): boolean => {
  const set = find(board.coordinator, instance)
  if (set === undefined) return false
  const known = isExpected(set, board, sought) ?? Board.requestOf(Board.postingOf(board, sought), instance)
  if (known === undefined) return false
  askAgain(set, known)
  return true
}

/** How many requests in a row a pass may leave out, and those that follow are still expected. */
const skippedAtMost = 3

const isExpected = <I, S>(
  set: WatchSet<I, S>,
  board: Source<I, S>,
  target: Board.Sought
): Request<I, S> | undefined => {
  for (let at = set.next; at <= set.next + skippedAtMost && at < set.committed; at++) {
    const request = set.requests[at]
    if (request.board !== board || !Board.same(request.target, target)) continue
    set.next = at + 1
    return request
  }
}

const askAgain = <I, S>(set: WatchSet<I, S>, request: Request<I, S>): "known" => {
  request.asked = set.pass
  return "known"
}

/** [D2] What was asked for in this pass is the committed set. */
export const commit = <I, S>(state: State<I, S>, instance: I): ReadonlyArray<S> =>
  endPass(state, instance, (request, _, set) => request.asked === set.pass)

/** [D2] What was committed before stays the committed set. */
export const abort = <I, S>(state: State<I, S>, instance: I): ReadonlyArray<S> =>
  endPass(state, instance, (_, at, set) => at < set.committed)

export const remove = <I, S>(state: State<I, S>, instance: I): ReadonlyArray<S> => endPass(state, instance, never)

const never = (): boolean => false
const nothing: ReadonlyArray<never> = []

const endPass = <I, S>(
  state: State<I, S>,
  instance: I,
  stays: (request: Request<I, S>, at: number, set: WatchSet<I, S>) => boolean
): ReadonlyArray<S> => {
  const set = find(state, instance)
  if (set === undefined) return nothing
  const { committed, requests } = set
  let unused: Array<S> | undefined
  let kept = 0
  for (let at = 0; at < requests.length; at++) {
    const request = requests[at]
    if (stays(request, at, set)) kept++
    else if (leave(request)) (unused ??= []).push(request.board.source)
  }
  if (kept === 0) forget(state, instance)
  else if (kept !== committed || kept !== requests.length) {
    set.requests = requests.filter((request, at) => stays(request, at, set)).slice() // without room that nobody needs
  }
  set.committed = kept
  set.pass++
  set.next = 0
  return unused ?? nothing
}

/** Takes a request off its board. Whether it was the last there. */
const leave = <I, S>(request: Request<I, S>): boolean => {
  Board.remove(request.board, request)
  return Board.size(request.board) === 0
}

/** [D4] [D5] Tells each instance once. How many were told. */
export const route = <I, S>(board: Source<I, S>, change: Board.Change, tell: (instance: I) => void): number => {
  const found = Board.matching(board, change)
  for (const instance of found) tell(instance)
  return found.length
}
